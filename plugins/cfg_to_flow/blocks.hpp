/// What cfg-to-flow knows about the blocks before it writes nodes: depths, live values, classes of
/// memory.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "revet/ops.hpp"

namespace revet {

struct BlockInfo {
  unsigned depth = 0;        ///< of its streams: 1 + foreachs and whiles around
  std::vector<Value*> live;  ///< values of other blocks that are needed here, in order; of srams
                             ///< those that own their pointer
  unsigned edges = 0;        ///< forward edges that must have arrived before it is written
  bool is_header = false;    ///< of a loop with a back edge
};

class Blocks {
 public:
  /// Copies constants to the blocks that use them (they are attributes of contexts, not streams),
  /// then looks. `func` is main at the cfg level.
  explicit Blocks(Op& func);

  const BlockInfo& of(const Block& block) const { return info_.at(&block); }
  /// Memories whose accesses must stay in the order of the thread: every array that is written,
  /// every on-chip buffer. Gives the position of the memory's void in a bundle, or -1.
  int memory_class(const Value* memory) const;
  unsigned classes() const { return static_cast<unsigned>(classes_.size()); }
  /// The cfg.foreach_enter whose children end in `block`.
  const Op& foreach_of(const Block& block) const { return *enters_.at(&block); }

 private:
  void copy_constants(Region& region);
  void find_depths(Region& region);
  void find_live(Region& region);
  void find_classes(Region& region);
  void find_enters(Region& region);

  std::map<const Block*, BlockInfo> info_;
  std::map<const Value*, int> classes_;
  std::map<const Block*, const Op*> enters_;
};

/// The blocks that a terminator leads to with data of the thread or of a child: of a foreach, its
/// body and what is behind it.
std::vector<Block*> successors(const Op& terminator);

}  // namespace revet
