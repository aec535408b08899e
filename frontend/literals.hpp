/// Values of number and character literals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "revet/type.hpp"

namespace revet {

struct Literal {
  Type type;
  std::uint32_t bits = 0;
  std::string error;      ///< empty where the literal is right
  unsigned error_at = 0;  ///< the character that is wrong, from its start
};

inline constexpr const char* unterminated_character = "unterminated character literal";

/// `text` is a NUMBER or CHARACTER of the grammar. A decimal literal without suffix just after a
/// minus sign may be 2147483648, the int.
Literal parse_literal(std::string_view text, bool after_minus);

}  // namespace revet
