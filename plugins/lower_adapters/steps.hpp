/// How far a read iterator moves between two dereferences, and how far ahead it is read.
#pragma once

#include <cstdint>

#include "revet/ops.hpp"

namespace revet {

/// An iterator with small steps needs no flag: a local pointer of the tile's size and more says
/// that the tile is left, and by how much.
enum class Steps : std::uint8_t {
  any,
  small,  ///< by constants, each behind a dereference; the pointer stays within 8 bits
  exact,  ///< small, and the tile is never left but to the one behind it
};

struct Stride {
  Steps steps = Steps::any;
  /// Divides the tile's size and every step; 1 where steps are not small.
  std::int64_t unit = 1;
  /// The furthest element that is read ahead; beyond the tile where that is not known.
  std::int64_t furthest = 0;

  /// Whether nothing behind the tile is read.
  bool stays_in_tile() const { return furthest < unit; }
};

/// Of the iterator that `open` gives.
Stride stride_of(const Op& open, std::int64_t tile);

}  // namespace revet
