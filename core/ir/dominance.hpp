/// Which blocks of a region dominate which.
#pragma once

#include <unordered_map>
#include <vector>

#include "revet/ir.hpp"

namespace revet {

/// The dominator tree of one region (Cooper, Harvey and Kennedy, "A simple, fast dominance
/// algorithm"): near linear to build, constant per question.
class Dominance {
 public:
  explicit Dominance(const Region& region);

  /// True if every path from the entry to `b` passes `a`; also where there is no path.
  bool dominates(const Block& a, const Block& b) const;

 private:
  struct Node {
    std::size_t first = 0;  ///< of the blocks of its subtree, in preorder
    std::size_t last = 0;
  };
  std::unordered_map<const Block*, Node> tree_;  ///< of the blocks that are reached
};

}  // namespace revet
