/// Reports and recovers from syntax errors. Private to parse.cpp, which keeps ANTLR to itself.
///
/// Recovery resumes at the end of the broken statement, or of the broken item at file level.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "RevetLexer.h"
#include "RevetParser.h"
#include "antlr4-runtime.h"
#include "expected.hpp"
#include "revet/diagnostics.hpp"
#include "tokens.hpp"

namespace revet {
namespace {

using antlr4::ParserRuleContext;
using revet_grammar::RevetLexer;
using revet_grammar::RevetParser;
using P = RevetParser;

inline Loc loc_of(FileId file, const antlr4::Token* t) {
  auto length = static_cast<std::uint32_t>(t->getStopIndex() - t->getStartIndex() + 1);
  bool end = t->getType() == antlr4::Token::EOF;
  return {file, static_cast<std::uint32_t>(t->getLine()),
          static_cast<std::uint32_t>(t->getCharPositionInLine()) + 1, end ? 1 : length};
}

inline std::string_view text_of(std::string_view text, const antlr4::Token* t) {
  if (t->getType() == antlr4::Token::EOF) return {};
  if (t->getTokenIndex() == INVALID_INDEX) {  // one that recovery put in
    return t->getType() == P::SEMICOLON ? ";" : t->getType() == P::RPAREN ? ")" : "}";
  }
  return text.substr(t->getStartIndex(), t->getStopIndex() - t->getStartIndex() + 1);
}

/// Ends a parse: the first error of the first try, or too many errors.
struct Stop {};

/// Stops runaway recursion that no count of tokens shows, such as `if .. else while .. if .. else`.
class GuardedParser : public RevetParser {
 public:
  GuardedParser(antlr4::TokenStream* input, FileId file, Diagnostics& diagnostics)
      : RevetParser(input), file_(file), diagnostics_(diagnostics) {}

  void enterRule(ParserRuleContext* context, std::size_t state, std::size_t rule) override {
    if (rule == RuleStatement) {
      auto* outer = dynamic_cast<ParserRuleContext*>(context->parent);
      while (outer && outer->getRuleIndex() != RuleStatement) {
        outer = dynamic_cast<ParserRuleContext*>(outer->parent);
      }
      while (!open_.empty() && open_.back() != outer) open_.pop_back();
      open_.push_back(context);
      // Blocks and statements without braces may both be nested up to the limit.
      if (open_.size() > 2 * nesting_limit + 2) {
        diagnostics_.error(loc_of(file_, getCurrentToken()),
                           fmt::format("nested too deeply (limit {})", nesting_limit));
        too_deep = true;
        throw Stop{};
      }
    }
    RevetParser::enterRule(context, state, rule);
  }

  bool too_deep = false;

 private:
  FileId file_;
  Diagnostics& diagnostics_;
  std::vector<ParserRuleContext*> open_;
};

inline bool begins_expression(std::size_t type) {
  switch (type) {
    case P::NUMBER:
    case P::CHARACTER:
    case P::TRUE:
    case P::FALSE:
    case P::IDENT:
    case P::CAST_TYPE:
    case P::CAST_OPEN:
    case P::FOREACH_VALUE: return true;
    default: return false;
  }
}

class Strategy : public antlr4::ANTLRErrorStrategy {
 public:
  Strategy(FileId file, std::string_view text, Diagnostics* diagnostics)
      : file_(file), text_(text), diagnostics_(diagnostics) {}

  void reset(antlr4::Parser*) override {}
  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser*) override {}

  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) override {
    if (!diagnostics_) throw Stop{};
    if (!reported_) report(parser, e.getOffendingToken());
    reported_ = true;
  }

  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    if (!diagnostics_) throw Stop{};
    antlr4::Token* found = parser->getCurrentToken();
    bool at_end = found->getType() == antlr4::Token::EOF;
    if (!(at_end && end_reported_)) report(parser, found);
    end_reported_ = end_reported_ || at_end;
    // Goes on as if it stood there, where that is plainly what was meant.
    antlr4::misc::IntervalSet wanted = parser->getExpectedTokens();
    if (wanted.contains(ssize_t{P::SEMICOLON}) &&
        (ends_line_before(parser, found) || found->getType() == P::RBRACE || at_end)) {
      return put_in(P::SEMICOLON, found);
    }
    if (wanted.contains(ssize_t{P::RPAREN}) && found->getType() == P::LBRACE) {
      return put_in(P::RPAREN, found);
    }
    if (wanted.contains(ssize_t{P::RBRACE}) && at_end) return put_in(P::RBRACE, found);
    reported_ = true;
    throw antlr4::InputMismatchException(parser);
  }

  void recover(antlr4::Parser* parser, std::exception_ptr e) override {
    std::size_t rule = parser->getContext()->getRuleIndex();
    if (rule == P::RuleStatement && !missing_brace_) {
      skip_statement(parser, parser->getContext()->getStart());
    } else if (rule == P::RuleItem) {
      skip_item(parser, parser->getContext()->getStart());
      missing_brace_ = false;
    } else if (rule != P::RuleFile) {
      std::rethrow_exception(e);
    }
    reported_ = false;
  }

  void sync(antlr4::Parser* parser) override {
    if (!diagnostics_) return;
    auto* context = parser->getContext();
    choice_ = {parser->getState(), parser->getCurrentToken()->getTokenIndex(), context};
    std::size_t rule = context->getRuleIndex();
    if (rule == P::RuleFile) {
      while (!begins_item(la(parser, 1)) && la(parser, 1) != antlr4::Token::EOF) {
        antlr4::Token* t = parser->getCurrentToken();
        if (t->getType() == P::RBRACE) {
          error(t, "'}' without a '{'");
        } else if (t->getType() != P::STRAY) {
          Expected expected;
          expected.declaration = true;
          error(t, expected_message(expected, {}, text_of(text_, t)));
        }
        skip_item(parser, t);
      }
    } else if (rule == P::RuleBlock || (rule == P::RuleForeachRest && in_statements(context))) {
      sync_statements(parser);
    }
  }

 private:
  static std::size_t la(antlr4::Parser* parser, ssize_t i) {
    return parser->getInputStream()->LA(i);
  }
  antlr4::Token* lt(antlr4::Parser* parser, ssize_t i) const {
    return parser->getTokenStream()->LT(i);
  }

  antlr4::Token* put_in(std::size_t type, antlr4::Token* before) {
    auto token = std::make_unique<antlr4::CommonToken>(type);
    token->setLine(before->getLine());
    token->setCharPositionInLine(before->getCharPositionInLine());
    token->setStartIndex(before->getStartIndex());
    token->setStopIndex(before->getStartIndex());
    put_in_.push_back(std::move(token));
    return put_in_.back().get();
  }

  void error(antlr4::Token* at, std::string message) {
    diagnostics_->error(loc_of(file_, at), std::move(message));
    if (diagnostics_->full()) throw Stop{};
  }

  Expected expected_at(antlr4::Parser* parser) const {
    Expected result;
    antlr4::misc::IntervalSet set = parser->getExpectedTokens();
    // What could have stood here but was optional counts too. (A block wants its end.)
    bool block_end = set.contains(ssize_t{P::RBRACE});
    if (!block_end && choice_.context == parser->getContext() &&
        choice_.token == parser->getCurrentToken()->getTokenIndex()) {
      set.addAll(parser->getATN().getExpectedTokens(choice_.state, choice_.context));
    }
    bool expression = set.contains(ssize_t{P::NUMBER});
    result.declaration = set.contains(ssize_t{P::CONST}) && !set.contains(ssize_t{P::IF});
    result.statement = set.contains(ssize_t{P::IF});
    result.expression = expression && !result.statement;
    if (result.declaration || result.statement) return result;
    for (ssize_t t : set.toList()) {
      auto token = static_cast<std::size_t>(t);
      std::string shown = vocabulary_.getDisplayName(token);
      if (token == P::TYPE) {
        result.type = true;
      } else if (token == P::MEMORY) {
        result.memory = true;
      } else if (expression &&
                 (begins_expression(token) ||
                  std::string("'(''-''+''!''~''*''++''--'").find(shown) != std::string::npos)) {
        continue;
      } else if (token == P::IDENT) {
        result.name = true;
      } else if (shown.front() == '\'') {
        result.tokens.push_back(shown);
      } else if (token == P::TO || token == P::BY || token == P::REDUCE) {
        result.tokens.emplace_back(token == P::TO ? "'to'" : token == P::BY ? "'by'" : "'reduce'");
      }
    }
    // Another declarator is possible, but hardly what is missing.
    auto has = [&](const char* t) {
      return std::find(result.tokens.begin(), result.tokens.end(), t) != result.tokens.end();
    };
    if (has("';'")) result = Expected{false, false, false, false, false, false, {"';'"}};
    return result;
  }

  /// What stands before the place of the error.
  std::string before(antlr4::Parser* parser) const {
    auto* context = parser->getContext();
    if (!context->children.empty()) {
      if (auto* last = dynamic_cast<ParserRuleContext*>(context->children.back())) {
        std::size_t rule = last->getRuleIndex();
        bool value = rule == P::RuleExpression || rule == P::RuleOperand ||
                     rule == P::RuleTemplateExpression ||
                     (rule == P::RuleDeclarator && last->children.size() > 1);
        if (value) return "expression";
      }
    }
    antlr4::Token* previous = lt(parser, -1);
    return previous ? fmt::format("'{}'", text_of(text_, previous)) : std::string();
  }

  bool ends_line_before(antlr4::Parser* parser, antlr4::Token* t) const {
    antlr4::Token* previous = lt(parser, -1);
    return previous && previous->getLine() < t->getLine();
  }

  void report(antlr4::Parser* parser, antlr4::Token* found) {
    if (found->getType() == P::STRAY) return;  // reported with the tokens
    Expected expected = expected_at(parser);
    auto* context = parser->getContext();
    std::string_view shown = text_of(text_, found);
    std::string message = expected_message(expected, before(parser), shown);
    Loc loc = loc_of(file_, found);
    antlr4::Token* previous = lt(parser, -1);
    if (context->getRuleIndex() == P::RuleParameters && is_memory_word(shown)) {
      message = "memory cannot be passed to a function; functions use DRAM arrays by their names";
    }
    if (context->getRuleIndex() == P::RuleForeachRest &&
        (expected.type || expected.name || expected.only("'=>'")) && !expected.expression) {
      message = fmt::format("expected the index of foreach, as in 'int i =>', found {}",
                            shown.empty() ? "end of file" : fmt::format("'{}'", shown));
    }
    bool reduction = context->getRuleIndex() == P::RuleForeachRest && lt(parser, -2) &&
                     lt(parser, -2)->getType() == P::REDUCE;
    if (reduction)
      message = fmt::format("'{}' is no reduction; there are + * & | ^ min max && ||", shown);
    bool at_end = found->getType() == antlr4::Token::EOF;
    if (previous && (at_end || (expected.only("';'") && ends_line_before(parser, found)))) {
      Loc end = loc_of(file_, previous);
      loc = {file_, end.line, end.col + end.length, 1};
    }
    Diagnostic& d = diagnostics_->error(loc, std::move(message));
    if (expected.name && is_reserved(shown)) {
      d.note(loc, fmt::format("'{}' is a reserved word", shown));
    }
    bool comparison = shown == "<" || shown == ">" || shown == "<=" || shown == ">=" ||
                      shown == "<<" || shown == ">>";
    if (context->getRuleIndex() == P::RuleMemory && comparison) {
      d.note(loc, "between '<' and '>', comparisons and shifts need parentheses");
    }
    for (const char* pair : {"()", "[]", "{}"}) {
      if (!expected.only(fmt::format("'{}'", pair[1]))) continue;
      auto& children = context->children;
      for (auto it = children.rbegin(); it != children.rend(); ++it) {
        auto* terminal = dynamic_cast<antlr4::tree::TerminalNode*>(*it);
        if (!terminal || text_of(text_, terminal->getSymbol()).front() != pair[0]) continue;
        d.note(loc_of(file_, terminal->getSymbol()), fmt::format("to match this '{}'", pair[0]));
        break;
      }
    }
    if (diagnostics_->full()) throw Stop{};
  }

  // --- recovery ---

  static bool begins_item(std::size_t t) {
    return t == P::CONST || t == P::TYPE || t == P::MEMORY || t == P::CAST_TYPE;
  }

  /// At the next token an item plainly begins: what a statement cannot be, or at the left margin.
  bool at_item(antlr4::Parser* parser) {
    std::size_t first = la(parser, 1);
    if (!begins_item(first)) return false;
    antlr4::Token* t = lt(parser, 1);
    antlr4::Token* previous = lt(parser, -1);
    if (t->getCharPositionInLine() == 0) return true;
    bool function = first == P::TYPE && la(parser, 2) == P::IDENT && la(parser, 3) == P::LPAREN;
    bool dram = first == P::MEMORY && text_of(text_, t) == "DRAM";
    std::string_view end = previous ? text_of(text_, previous) : ";";
    return (function || dram) && (end == ";" || end == "}" || ends_line_before(parser, t));
  }

  static bool begins_statement(std::size_t t) {
    switch (t) {
      case P::IF:
      case P::WHILE:
      case P::DO:
      case P::FOR:
      case P::FOREACH:
      case P::FOREACH_VALUE:
      case P::REPLICATE:
      case P::BREAK:
      case P::CONTINUE:
      case P::EXIT:
      case P::RETURN:
      case P::MEMORY:
      case P::CONST:
      case P::TYPE: return true;
      default: return false;
    }
  }

  bool in_statements(ParserRuleContext* context) {
    auto* last = context->children.back();
    if (auto* rule = dynamic_cast<ParserRuleContext*>(last)) {
      return rule->getRuleIndex() == P::RuleStatement;
    }
    auto* terminal = dynamic_cast<antlr4::tree::TerminalNode*>(last);
    return terminal && terminal->getSymbol()->getType() == P::ARROW;
  }

  void sync_statements(antlr4::Parser* parser) {
    const auto& atn = parser->getATN();
    auto statement = atn.nextTokens(atn.ruleToStartState[P::RuleStatement]);
    for (;;) {
      antlr4::Token* t = parser->getCurrentToken();
      std::size_t next = t->getType();
      if (next == antlr4::Token::EOF || next == P::RBRACE) return;
      if (t->getCharPositionInLine() == 0 && next == P::TYPE && la(parser, 2) == P::IDENT &&
          la(parser, 3) == P::LPAREN) {
        antlr4::Token* open = nullptr;
        for (auto* child : parser->getContext()->children) {
          auto* terminal = dynamic_cast<antlr4::tree::TerminalNode*>(child);
          if (terminal && text_of(text_, terminal->getSymbol()) == "{")
            open = terminal->getSymbol();
        }
        diagnostics_
            ->error(loc_of(file_, t), fmt::format("expected '}}' before the function '{}'",
                                                  text_of(text_, lt(parser, 2))))
            .note(loc_of(file_, open), "to match this '{'");
        if (diagnostics_->full()) throw Stop{};
        missing_brace_ = reported_ = true;
        throw antlr4::InputMismatchException(parser);
      }
      if (statement.contains(static_cast<ssize_t>(next))) return;
      if (next == P::ELSE || next == P::ELSE_IF) {
        antlr4::Token* previous = lt(parser, -1);
        Diagnostic& d = diagnostics_->error(loc_of(file_, t), "'else' without an 'if' before it");
        antlr4::Token* brace = lt(parser, -2);
        if (previous && text_of(text_, previous) == ";" && brace && text_of(text_, brace) == "}") {
          d.note(loc_of(file_, previous), "this ';' is an empty statement, which ends the 'if'");
        }
        if (diagnostics_->full()) throw Stop{};
      } else if (next != P::STRAY) {
        Expected expected;
        expected.statement = true;
        error(t, expected_message(expected, {}, text_of(text_, t)));
      }
      parser->consume();
      skip_statement(parser, t);
    }
  }

  /// Consumes a balanced `{ .. }`.
  void skip_braces(antlr4::Parser* parser) {
    unsigned depth = 0;
    do {
      std::size_t t = la(parser, 1);
      if (t == antlr4::Token::EOF) return;
      if (t == P::LBRACE) ++depth;
      if (t == P::RBRACE) --depth;
      parser->consume();
    } while (depth > 0);
  }

  /// Opening less closing brackets from `start` to the current token.
  static int open_since(antlr4::Parser* parser, antlr4::Token* start, std::size_t open,
                        std::size_t close) {
    int depth = 0;
    for (std::size_t i = start->getTokenIndex(); i < parser->getCurrentToken()->getTokenIndex();
         ++i) {
      std::size_t t = parser->getTokenStream()->get(i)->getType();
      depth += (t == open) - (t == close);
      if (open == P::LPAREN) depth += t == P::CAST_OPEN;
    }
    return depth;
  }

  /// Consumes what is left of a statement that began at `start`.
  void skip_statement(antlr4::Parser* parser, antlr4::Token* start) {
    bool is_for = start->getType() == P::FOR;
    bool is_do = start->getType() == P::DO;
    // Only in the header of a for does a `;` in parentheses not end the statement.
    int parentheses = is_for ? open_since(parser, start, P::LPAREN, P::RPAREN) : 0;
    int braces = open_since(parser, start, P::LBRACE, P::RBRACE);
    for (;;) {
      antlr4::Token* t = parser->getCurrentToken();
      std::size_t next = t->getType();
      if (next == antlr4::Token::EOF) return;
      if (next == P::RBRACE) {
        if (braces <= 0) return;
        --braces;
      } else if (braces <= 0 && begins_statement(next) && parentheses == 0 &&
                 ends_line_before(parser, t) && t != start) {
        return;
      }
      bool closed = next == P::RBRACE && braces == 0;
      if (next == P::LBRACE) {
        skip_braces(parser);
        closed = braces <= 0;
      } else {
        parser->consume();
      }
      if (is_for) parentheses += (next == P::LPAREN || next == P::CAST_OPEN) - (next == P::RPAREN);
      bool ended = closed || (next == P::SEMICOLON && parentheses <= 0 && braces <= 0);
      if (!ended) continue;
      if (la(parser, 1) == P::ELSE || la(parser, 1) == P::ELSE_IF) {
        parser->consume();
      } else if (!(closed && is_do && la(parser, 1) == P::WHILE)) {
        return;
      }
    }
  }

  void skip_item(antlr4::Parser* parser, antlr4::Token* start) {
    int depth = open_since(parser, start, P::LBRACE, P::RBRACE);
    for (;;) {
      antlr4::Token* t = parser->getCurrentToken();
      std::size_t next = t->getType();
      if (next == antlr4::Token::EOF) return;
      bool margin = t->getCharPositionInLine() == 0;
      if (t != start && at_item(parser) && (depth <= 0 || margin)) return;
      depth += (next == P::LBRACE) - (next == P::RBRACE);
      parser->consume();
    }
  }

  FileId file_;
  std::string_view text_;
  Diagnostics* diagnostics_;  ///< null in the first try
  antlr4::dfa::Vocabulary vocabulary_ = RevetLexer(nullptr).getVocabulary();
  std::vector<std::unique_ptr<antlr4::CommonToken>> put_in_;
  struct {
    std::size_t state = 0;
    std::size_t token = 0;
    ParserRuleContext* context = nullptr;
  } choice_;                    ///< the last place where something optional could stand
  bool reported_ = false;       ///< the error that is on its way was reported
  bool end_reported_ = false;   ///< the end of the file was reported as too early
  bool missing_brace_ = false;  ///< on the way out of a function that is not closed
};

}  // namespace
}  // namespace revet
