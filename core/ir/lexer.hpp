/// Tokens of the text form of the IR.
#pragma once

#include <fmt/format.h>

#include <cctype>
#include <string>
#include <string_view>

#include "revet/diagnostics.hpp"

namespace revet::rir {

struct Token {
  enum Kind { end, word, number, string, value, label, punct, arrow } kind = end;
  std::string text;  ///< without the sigil; strings unescaped
  Loc loc;
};

/// Thrown to leave the parser after the first error, which is already in the diagnostics.
struct Stop {};

class Lexer {
 public:
  Lexer(FileId file, std::string_view text, Diagnostics& diagnostics)
      : file_(file), text_(text), diagnostics_(diagnostics) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  [[noreturn]] void fail(Loc loc, std::string message) {
    diagnostics_.error(loc, std::move(message));
    throw Stop();
  }

  Token next() {
    skip_space();
    Token t;
    t.loc = here();
    if (at_ == text_.size()) return t;
    const char c = text_[at_];
    const auto is_word = [](char ch) {
      return std::isalnum(static_cast<unsigned char>(ch)) || ch == '_' || ch == '.' || ch == '$';
    };
    if (c == '"') return string(t);
    if (c == '-' && peek(1) == '>') {
      advance(2);
      t.kind = Token::arrow;
      t.text = "->";
    } else if (std::isdigit(static_cast<unsigned char>(c)) || c == '-') {
      t.kind = Token::number;
      std::size_t n = 1;
      while (is_word(peek(n)) || ((peek(n) == '+' || peek(n) == '-') && peek(n - 1) == 'e')) ++n;
      t.text = take(n);
    } else if (c == '%' || c == '^' || is_word(c)) {
      t.kind = c == '%' ? Token::value : c == '^' ? Token::label : Token::word;
      if (t.kind != Token::word) advance(1);
      std::size_t n = 0;
      while (is_word(peek(n))) ++n;
      if (n == 0) fail(t.loc, fmt::format("expected a name after '{}'", c));
      t.text = take(n);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte >= 0x7F) fail(t.loc, fmt::format("unexpected byte {:#04x}", byte));
      t.kind = Token::punct;
      t.text = take(1);
    }
    t.loc.length = static_cast<std::uint32_t>(t.text.size()) + (t.kind == Token::value ? 1 : 0);
    return t;
  }

 private:
  char peek(std::size_t n) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }
  Loc here() const { return {file_, line_, col_, 1}; }
  void advance(std::size_t n) {
    for (; n-- > 0 && at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        col_ = 1;
      } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {
        ++col_;
      }
    }
  }
  std::string take(std::size_t n) {
    std::string out(text_.substr(at_, n));
    advance(n);
    return out;
  }
  void skip_space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        advance(1);
      } else if (text_[at_] == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') advance(1);
      } else {
        break;
      }
    }
  }
  Token string(Token t) {
    t.kind = Token::string;
    advance(1);
    for (;;) {
      if (at_ == text_.size() || text_[at_] == '\n') fail(t.loc, "unterminated string");
      const char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        advance(1);
        const char e = peek(0);
        if (e == 'x' && std::isxdigit(static_cast<unsigned char>(peek(1))) &&
            std::isxdigit(static_cast<unsigned char>(peek(2)))) {
          t.text +=
              static_cast<char>(std::stoi(std::string(text_.substr(at_ + 1, 2)), nullptr, 16));
          advance(3);
        } else if (e == '"' || e == '\\') {
          t.text += e;
          advance(1);
        } else {
          fail(here(), "unknown escape in a string");
        }
      } else {
        t.text += c;
        advance(1);
      }
    }
    advance(1);
    t.loc.length = static_cast<std::uint32_t>(t.text.size()) + 2;
    return t;
  }

  FileId file_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t col_ = 1;
};

}  // namespace revet::rir
