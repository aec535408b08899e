/// What cfg-to-flow knows about the blocks before it writes nodes: depths, threads, what arrives
/// with a thread and what is broadcast to it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "revet/dependence.hpp"
#include "revet/ops.hpp"

namespace revet {

struct BlockInfo {
  unsigned depth = 0;         ///< of its streams: 1 + foreachs and whiles around
  const Op* enter = nullptr;  ///< the cfg.foreach_enter whose children run it; null: main
  /// Values of other blocks of the thread that are needed from here on; of srams those that own
  /// their pointer.
  std::vector<Value*> live;
  std::vector<Value*> outer;  ///< values of enclosing threads that the block itself needs
  /// Classes of memory whose accesses wait for the thread's void: touched before, and touched from
  /// here on.
  std::vector<unsigned> classes;
  unsigned edges = 0;      ///< forward edges that must have arrived before it is written
  bool is_header = false;  ///< of a loop with a back edge
};

class Blocks {
 public:
  /// Copies constants to the blocks that use them (they are attributes of contexts, not streams),
  /// and so what goes round a loop but depends on enclosing threads alone; then looks. `func` is
  /// main at the cfg level.
  explicit Blocks(Op& func);

  const BlockInfo& of(const Block& block) const { return info_.at(&block); }
  /// See MemoryClasses::of.
  std::vector<unsigned> classes_of(const Op& op) const { return memories_.of(op); }
  /// True if a child of the foreach, or a child of a child, accesses the class.
  bool touches(const Op& enter, unsigned c) const { return inside_.at(&enter).count(c) != 0; }
  /// Values of the thread of `enter` that children need: broadcast from there.
  const std::vector<Value*>& broadcast_at(const Op& enter) const { return broadcast_.at(&enter); }
  /// The foreach, of the thread that defines `v`, in which `block` is.
  const Op& foreach_below(const Value& v, const Block& block) const;

 private:
  using Numbers = std::map<const Value*, unsigned>;  ///< in order of the text
  using Classes = std::set<unsigned>;

  static void copy_constants(Region& region);
  void find_threads(Region& region);
  void find_depths(Region& region);
  void find_outer(Region& region, const Numbers& numbers);
  void find_live(Region& region, const Numbers& numbers);
  /// True if a value of the thread depends on values of enclosing threads alone, by no more than
  /// `ops` cheap ops.
  bool is_of_enclosing(const Value& v, const Op* thread, unsigned& ops) const;
  /// A value of the thread that does, as it is computed in a block.
  Value* computed_in(Block& block, Op& before, Value& v, const Op* thread,
                     std::map<const Value*, Value*>& known) const;
  /// True if some value goes round no loop any more.
  bool recompute(Region& region);
  void find_classes(Region& region);
  /// Blocks that control or children may come to behind `block`.
  std::vector<const Block*> after(const Block& block) const;

  MemoryClasses memories_;
  std::map<const Block*, BlockInfo> info_;
  std::map<const Op*, std::vector<Value*>> broadcast_;
  std::map<const Op*, Classes> inside_;
};

/// The blocks that a terminator leads to with data of the thread or of a child: of a foreach, its
/// body and what is behind it.
std::vector<Block*> successors(const Op& terminator);

/// The sram whose pointer a mem.pointer_load brings, which is defined anew there; null for other
/// ops.
Value* loaded_pointer(const Op& op);

}  // namespace revet
