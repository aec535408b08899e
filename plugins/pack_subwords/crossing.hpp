/// Which values of a thread cross a loop.
#pragma once

#include <unordered_map>
#include <vector>

#include "revet/ops.hpp"

namespace revet {

/// The blocks around a loop, out to the loop or thread around it. A value from further out would
/// stay alive for the next round of that loop, whatever is done about it here.
class Crossing {
 public:
  explicit Crossing(Op& loop);

  enum class Place { elsewhere, before, body, after, beyond };
  /// Where a use of a value of these blocks stands: in one of the loop's regions, behind it in its
  /// block, or behind an op around it; else elsewhere.
  Place place(const Use& use) const;
  /// Values defined in these blocks, in front of the loop, and used in it or after it, in program
  /// order. Without constants, and without those used behind an op around it, where no result of
  /// the loop could take their place.
  std::vector<Value*> live_through() const;

 private:
  Op& loop_;
  std::vector<Op*> around_;  ///< the loop and the ops around it, one in each block
  std::unordered_map<const Block*, std::size_t> levels_;
  std::unordered_map<const Op*, Place> behind_;  ///< ops of the blocks, behind the loop
};

}  // namespace revet
