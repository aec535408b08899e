/// The edges between the blocks of a function at the cfg level, kept up to date while they are
/// redirected and dropped.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "revet/ops.hpp"

namespace revet {

/// From the block that ends in `from`, by its successor `index`.
struct Edge {
  Op* from;
  unsigned index;
};

class Edges {
 public:
  explicit Edges(Region& region);

  /// Those that arrive at a block, back edges included.
  const std::vector<Edge>& into(const Block& block) const;
  /// A back edge does not keep its loop alive.
  static bool is_back(const Edge& edge) {
    return edge.from->is(ops::cfg_loop_br) && edge.from->flag("back");
  }

  /// True if the thread still reaches its end, and every loop that it can enter goes round, when
  /// the edges are gone.
  bool may_drop(std::span<const Edge> edges) const;

  /// Position of a block in the order in which they were made: order that does not depend on
  /// addresses.
  std::size_t number(const Block& block) const { return numbers_.at(&block); }
  bool is_reached(const Block& block) const;

  Block& add_block();
  /// Ends a block.
  void finish(Block& block, std::unique_ptr<Op> terminator);
  /// Replaces the terminator of a block. Blocks that nothing leads to any more give up their own
  /// edges; `erase_unreachable` removes them.
  void replace(Op& terminator, std::unique_ptr<Op> by);
  /// Changes the explicit arguments of every edge into `to`.
  void edit(Block& to, const std::function<void(const Edge&, std::vector<Value*>&)>& change);
  void erase_arg(Block& block, unsigned index);
  /// The edge goes to a block with the same arguments instead.
  void redirect(const Edge& edge, Block& to);
  /// Appends the one block that `block` goes to.
  void merge_next(Block& block);
  /// Also removes blocks that `merge_next` has emptied.
  void erase_unreachable();

 private:
  void add(Op& terminator);
  void remove(Op& terminator);

  Region& region_;
  std::map<const Block*, std::vector<Edge>> into_;
  std::map<const Block*, std::size_t> numbers_;
};

/// The value of an arith.constant; null for another value.
const Attr* constant_of(const Value& v);
/// The truth of a constant condition.
bool is_true(const Attr& condition);
/// The mark of the replicate regions around a block, for a terminator like this one.
AttrMap region_mark(const Op& terminator);
/// True if both end blocks of the same replicate regions.
bool same_regions(const Op& a, const Op& b);

/// A copy of a terminator with other arguments for its successors, and other targets.
std::unique_ptr<Op> terminator_like(const Op& op,
                                    std::span<const std::pair<Block*, std::vector<Value*>>> to);
/// The arguments that an edge gives explicitly; the first of the target's may be given by the
/// terminator itself (an index, reduced values).
std::vector<Value*> arguments(const Edge& edge);
/// How many of the target's first arguments the terminator itself gives.
unsigned implicit_arguments(const Edge& edge);

}  // namespace revet
