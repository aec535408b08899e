/// Decides by their neighbours what the grammar should not have to look ahead for, and guards
/// parser and later walks against deep nesting.
#include "tokens.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace revet {
namespace {

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 14> type_words = {
    "int",  "uint", "short", "ushort", "char",  "bool",   "float",
    "void", "int8", "int16", "int32",  "uint8", "uint16", "uint32"};
constexpr std::array<std::string_view, 9> memory_words = {
    "DRAM",   "SRAM",       "ReadView", "WriteView",    "ModifyView",
    "ReadIt", "PeekReadIt", "WriteIt",  "ManualWriteIt"};
constexpr std::array<std::string_view, 14> other_words = {
    "const",    "if",     "else", "while",   "do",        "for",  "break",
    "continue", "return", "exit", "foreach", "replicate", "true", "false"};

bool is_word(std::string_view text) {
  char c = text.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_number_or_character(std::string_view text) {
  char c = text.front();
  return (c >= '0' && c <= '9') || c == '\'' || (c == '.' && text.size() > 1);
}

/// An open bracket, while tokens are marked.
struct Open {
  char bracket;
  bool foreach_header = false;
  bool cast = false;
};

}  // namespace

bool is_type_word(std::string_view word) { return one_of(word, type_words); }
bool is_memory_word(std::string_view word) { return one_of(word, memory_words); }
bool is_reserved(std::string_view word) {
  return is_type_word(word) || is_memory_word(word) || one_of(word, other_words);
}

void mark_tokens(std::vector<Token>& tokens) {
  std::vector<Open> open;
  bool ends_operand = false;        // the previous token can end an operand
  bool statement_may_begin = true;  // a statement can begin at this token
  bool closed_header = false;       // the previous token closed the header of a foreach
  auto text = [&](std::size_t i) {
    return i < tokens.size() ? tokens[i].text : std::string_view();
  };

  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Token& t = tokens[i];
    std::string_view s = t.text;
    bool was_operand = ends_operand;
    bool could_begin = statement_may_begin;
    bool after_header = closed_header;
    ends_operand = statement_may_begin = closed_header = false;

    if (s == "(" || s == "[" || s == "{") {
      Open o{s.front()};
      if (s == "(") {
        o.foreach_header = i > 0 && tokens[i - 1].text == "foreach";
        // `reduce(int)` is no cast, and neither is an argument list, but neither can be right.
        o.cast = !was_operand && is_type_word(text(i + 1)) && text(i + 2) == ")";
        if (o.cast) t.mark = Mark::cast_open;
      }
      open.push_back(o);
      statement_may_begin = s == "{";
    } else if (s == ")" || s == "]" || s == "}") {
      char opener = s == ")" ? '(' : s == "]" ? '[' : '{';
      bool cast = false;
      if (!open.empty() && open.back().bracket == opener) {
        cast = open.back().cast;
        closed_header = open.back().foreach_header;
        open.pop_back();
      }
      ends_operand = !cast;
      // After `)`: the body of if, while, for.
      statement_may_begin = !cast && s != "]";
    } else if (is_word(s)) {
      bool in_header = !open.empty() && open.back().foreach_header;
      if (s == "else") {
        if (text(i + 1) == "if") t.mark = Mark::else_if;
        statement_may_begin = true;
      } else if (s == "do") {
        statement_may_begin = true;
      } else if (s == "foreach") {
        if (!could_begin) t.mark = Mark::foreach_value;
      } else if (is_type_word(s)) {
        if (text(i + 1) == "(") t.mark = Mark::cast_type;
      } else if ((s == "to" || s == "by") && in_header && was_operand) {
        t.mark = s == "to" ? Mark::to : Mark::by;
      } else if (s == "reduce" && after_header && text(i + 1) == "(") {
        t.mark = Mark::reduce;
      } else {
        ends_operand = !is_reserved(s) || s == "true" || s == "false";
      }
    } else if (is_number_or_character(s)) {
      ends_operand = true;
    } else if (s == "++" || s == "--") {
      ends_operand = was_operand;  // postfix after an operand, prefix elsewhere
    } else {
      statement_may_begin = s == ";" || s == "=>";
    }
  }
}

namespace {

/// The nesting of what stands between two brackets, reset where a new expression begins.
struct Level {
  unsigned choices = 0;      ///< `?`: each nests what follows
  unsigned assignments = 0;  ///< likewise
  unsigned heads = 0;        ///< `if`, `while`, .. that wait for the end of their statement
};

bool is_assignment(std::string_view s) {
  return s.back() == '=' && s != "==" && s != "!=" && s != "<=" && s != ">=";
}

}  // namespace

bool check_nesting(const std::vector<Token>& tokens, Diagnostics& diagnostics) {
  std::vector<Level> levels(1);
  unsigned parentheses = 0;
  unsigned blocks = 0;
  unsigned unary = 0;
  bool ends_operand = false;
  // A function's own block is not nested in one.
  constexpr unsigned block_limit = nesting_limit + 1;

  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    std::string_view s = t.text;
    unsigned depth = 0;
    bool prefix = !ends_operand && (s == "-" || s == "+" || s == "!" || s == "~" || s == "*" ||
                                    s == "++" || s == "--" || t.mark == Mark::cast_open);
    if (prefix) {
      depth = ++unary;
      if (t.mark == Mark::cast_open) i += 2;
    } else {
      unary = 0;
      ends_operand = (s == "++" || s == "--") && ends_operand;
      if (s == "(" || s == "[") {
        depth = ++parentheses;
        levels.emplace_back();
      } else if (s == "{") {
        if (++blocks > block_limit) depth = blocks;
        levels.emplace_back();
      } else if (s == ")" || s == "]" || s == "}") {
        ends_operand = s != "}";
        unsigned& count = s == "}" ? blocks : parentheses;
        if (count > 0) --count;
        if (levels.size() > 1) levels.pop_back();
        if (s == "}") levels.back() = {};
      } else if (s == ";") {
        levels.back() = {};
      } else if (s == ",") {
        levels.back().choices = levels.back().assignments = 0;
      } else if (s == "?") {
        depth = ++levels.back().choices;
      } else if (is_assignment(s)) {
        depth = levels.back().assignments++;  // the first is nested in none
      } else if (s == "if" || s == "while" || s == "for" || s == "do") {
        depth = ++levels.back().heads;
      } else {
        ends_operand = !is_reserved(s) && (is_word(s) || is_number_or_character(s));
      }
    }
    if (depth > nesting_limit) {
      diagnostics.error(t.loc, fmt::format("nested too deeply (limit {})", nesting_limit));
      return false;
    }
  }
  return true;
}

}  // namespace revet
