/// Streams of tokens: how a ragged tensor travels over a link (paper, section III-A; docs,
/// "Streams").
///
/// A stream of depth d carries one tensor of d dimensions as data elements and barriers Ω1..Ωd; a
/// barrier Ωn ends the current list of dimension n. There are two spellings:
/// - expanded: every closing is a token of its own. `[[0,1],[2]]` is `0 1 Ω1 2 Ω1 Ω2`.
/// - link form: a barrier implies the closing of every non-empty open list below it, so the same
///   tensor may be spelt `0 1 Ω1 2 Ω2`. Empty lists are always closed explicitly. A stream has
///   several legal link spellings; the canonical one implies as much as possible.
/// An expanded stream is a legal link spelling of itself. Nodes are defined on expanded streams;
/// only the functions here know about implied barriers.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "revet/type.hpp"

namespace revet::sim {

/// Depths and barrier levels are 1..max_depth.
inline constexpr unsigned max_depth = 15;

struct Token {
  std::uint32_t bits = 0;  ///< register content (revet/scalar.hpp); 0 for void and barriers
  std::uint8_t level = 0;  ///< 0: data; n: barrier Ωn

  bool is_data() const { return level == 0; }
  friend bool operator==(const Token&, const Token&) = default;
};

inline Token data_token(std::uint32_t bits) { return {bits, 0}; }
inline Token barrier(unsigned level) { return {0, static_cast<std::uint8_t>(level)}; }

/// Which open lists of a stream have an element or sub-list so far: all that the two spellings
/// need to know of the past.
class OpenLists {
 public:
  /// The first expanded token that `link` stands for here.
  Token first(Token link) const {
    const std::uint32_t below = non_empty_ & (bit(link.level) - 1);
    return below == 0 ? link : barrier(static_cast<unsigned>(std::countr_zero(below)));
  }
  /// Follows a token of either spelling. True if it closes a non-empty list.
  bool pass(Token t) {
    if (t.is_data()) {
      non_empty_ |= bit(1);
      return false;
    }
    const std::uint32_t closed = (bit(t.level) << 1) - 1;
    const bool closes = (non_empty_ & closed) != 0;
    non_empty_ = (non_empty_ & ~closed) | bit(t.level + 1u);
    return closes;
  }

 private:
  static std::uint32_t bit(unsigned level) { return 1u << level; }
  std::uint32_t non_empty_ = 0;  ///< bit n: the open list of dimension n
};

/// The expanded spelling of a stream in any legal spelling.
std::vector<Token> decode(std::span<const Token> link);
/// The canonical link spelling of a complete expanded stream.
std::vector<Token> encode(std::span<const Token> expanded);

/// The paper's notation: `0 1 Ω1 2 Ω2`; void elements are `_`.
std::string notation(std::span<const Token> tokens, Kind element);
std::string notation(Token token, Kind element);

}  // namespace revet::sim
