#include "revet/sim/stream.hpp"

#include <fmt/format.h>

#include "revet/scalar.hpp"

namespace revet::sim {

std::vector<Token> decode(std::span<const Token> link) {
  std::vector<Token> expanded;
  OpenLists lists;
  for (const Token t : link) {
    Token next;
    do {
      next = lists.first(t);
      lists.pass(next);
      expanded.push_back(next);
    } while (next != t);
  }
  return expanded;
}

std::vector<Token> encode(std::span<const Token> expanded) {
  std::vector<Token> link;
  OpenLists lists;
  for (std::size_t i = 0; i < expanded.size(); ++i) {
    const Token t = expanded[i];
    const bool closes = lists.pass(t);
    const bool implied = closes && i + 1 < expanded.size() && expanded[i + 1].level == t.level + 1u;
    if (!implied) link.push_back(t);
  }
  return link;
}

std::string notation(Token token, Kind element) {
  if (!token.is_data()) return fmt::format("Ω{}", token.level);
  const Type type{element};
  if (element == Kind::none) return "_";
  if (type.is_float()) return fmt::format("{}", as_float(token.bits));
  if (type.is_signed()) return fmt::format("{}", static_cast<std::int32_t>(token.bits));
  return fmt::format("{}", token.bits);
}

std::string notation(std::span<const Token> tokens, Kind element) {
  std::string text;
  for (const Token t : tokens) {
    if (!text.empty()) text += ' ';
    text += notation(t, element);
  }
  return text;
}

}  // namespace revet::sim
