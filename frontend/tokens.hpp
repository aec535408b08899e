/// What must be known about the tokens before they are parsed.
#pragma once

#include <string_view>
#include <vector>

#include "revet/diagnostics.hpp"

namespace revet {

/// Types of token that depend on the neighbours; see `tokens` in Revet.g4.
enum class Mark : std::uint8_t {
  none,
  else_if,
  foreach_value,
  cast_open,
  cast_type,
  to,
  by,
  reduce,
};

struct Token {
  std::string_view text;
  Loc loc;
  Mark mark = Mark::none;
};

bool is_type_word(std::string_view word);
bool is_memory_word(std::string_view word);
bool is_reserved(std::string_view word);

/// Gives tokens their marks. `tokens` does not hold the end of the file.
void mark_tokens(std::vector<Token>& tokens);

/// The same number limits each kind of nesting: parentheses and brackets, blocks in a function,
/// runs of unary operators, statements without braces, `?:` and chained assignments.
inline constexpr unsigned nesting_limit = 1000;

/// Reports the first token that nests too deeply; true where there is none. Needs the marks.
bool check_nesting(const std::vector<Token>& tokens, Diagnostics& diagnostics);

}  // namespace revet
