/// Runs the ANTLR parser. With its two private headers, the one file that sees ANTLR.
///
/// Parsing is done twice only where the text is wrong: the first time with SLL prediction and
/// stopping at the first error, the second time with LL prediction, reports and recovery. What
/// broken text may have declared is kept, so that sema does not complain about it again.
#include "parse.hpp"

#include <fmt/core.h>

#include "build_tree.hpp"
#include "literals.hpp"
#include "parse_errors.hpp"

namespace revet {
namespace {

// --- tokens -------------------------------------------------------------------------------------

std::size_t type_of(Mark mark) {
  switch (mark) {
    case Mark::else_if: return P::ELSE_IF;
    case Mark::foreach_value: return P::FOREACH_VALUE;
    case Mark::cast_open: return P::CAST_OPEN;
    case Mark::cast_type: return P::CAST_TYPE;
    case Mark::to: return P::TO;
    case Mark::by: return P::BY;
    case Mark::reduce: return P::REDUCE;
    case Mark::none: break;
  }
  return antlr4::Token::INVALID_TYPE;
}

std::string stray_message(std::string_view text, bool open_character) {
  if (open_character) return unterminated_character;
  if (text == "\"") return "there are no strings in the language";
  auto c = static_cast<unsigned char>(text[0]);
  return c < 0x20 || c == 0x7F ? fmt::format("unexpected character '\\x{:02x}'", c)
                               : fmt::format("unexpected character '{}'", text);
}

/// Applies the marks; false where nesting is too deep.
bool prepare_tokens(FileId file, std::string_view text, antlr4::CommonTokenStream& stream,
                    Diagnostics& diagnostics) {
  std::vector<Token> tokens;
  std::vector<antlr4::WritableToken*> originals;
  antlr4::Token* quote = nullptr;  // of a string that is open
  for (antlr4::Token* t : stream.getTokens()) {
    auto* token = dynamic_cast<antlr4::WritableToken*>(t);
    if (t->getType() == antlr4::Token::EOF) continue;
    std::string_view s = text_of(text, t);
    bool in_string = quote && quote->getLine() == t->getLine();
    if (!in_string) quote = nullptr;
    bool open_character =
        s.front() == '\'' && parse_literal(s, false).error == unterminated_character;
    if (in_string) {
      if (s == "\"") quote = nullptr;
      token->setType(P::STRAY);
    } else if (t->getType() == P::STRAY || open_character) {
      if (s == "\"") quote = t;
      token->setType(P::STRAY);
      diagnostics.error(loc_of(file, t), stray_message(s, open_character));
    }
    tokens.push_back({s, loc_of(file, t), Mark::none});
    originals.push_back(token);
  }
  mark_tokens(tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].mark != Mark::none) originals[i]->setType(type_of(tokens[i].mark));
  }
  return check_nesting(tokens, diagnostics);
}

}  // namespace

std::unique_ptr<ast::Ast> parse(FileId file, std::string source, Diagnostics& diagnostics) {
  auto ast = std::make_unique<ast::Ast>();
  ast->file = file;
  ast->text = std::move(source);
  std::size_t errors_before = diagnostics.error_count();

  antlr4::ANTLRInputStream input(ast->text);
  RevetLexer lexer(&input);
  lexer.removeErrorListeners();
  antlr4::CommonTokenStream tokens(&lexer);
  tokens.fill();
  if (!prepare_tokens(file, ast->text, tokens, diagnostics) || diagnostics.full()) return nullptr;
  tokens.seek(0);

  GuardedParser parser(&tokens, file, diagnostics);
  parser.removeErrorListeners();
  auto* simulator = parser.getInterpreter<antlr4::atn::ParserATNSimulator>();
  ParserRuleContext* tree = nullptr;
  try {
    simulator->setPredictionMode(antlr4::atn::PredictionMode::SLL);
    parser.setErrorHandler(std::make_shared<Strategy>(file, ast->text, nullptr));
    tree = parser.file();
  } catch (Stop) {
    if (parser.too_deep) return nullptr;
    try {
      parser.reset();
      simulator->setPredictionMode(antlr4::atn::PredictionMode::LL);
      parser.setErrorHandler(std::make_shared<Strategy>(file, ast->text, &diagnostics));
      tree = parser.file();
    } catch (Stop) {
      return nullptr;
    }
  }
  TreeBuilder(*ast, file, tokens, diagnostics).file(tree);
  ast->broken = diagnostics.error_count() > errors_before;
  return ast;
}

}  // namespace revet
