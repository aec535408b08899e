/// Lets all on-chip buffers of a block share one pointer (Section V-B: "we fuse all allocations in
/// a basic block, taking the intersection of valid pointers for the memories to be fused").
///
/// Before:                                     After:
///   %a = mem.sram_alloc()                       %a = mem.sram_alloc()
///   %b = mem.sram_alloc()                       %b = mem.sram_alloc(%a)
///   thread.if(%c) (                             thread.if(%c) (
///     {mem.sram_free(%b)                          {mem.sram_free(%a, %b)
///      mem.sram_free(%a)                           thread.exit()},
///      thread.exit()},                            {thread.yield()})
///     {thread.yield()})                         mem.sram_free(%a, %b)
///   mem.sram_free(%b)
///   mem.sram_free(%a)
///
/// Algorithm: per block, the buffers that have a pointer of their own form one group: the first
/// owns the pointer, the others share it. Its lifetime is one range of the block's ops, from the
/// first allocation to the last op that uses a buffer of the group. The only ways out of a range
/// are its end and the exits in it (break, continue and return are flags), so that the pointer is
/// freed behind the last op and before each exit of the thread, and the frees that were there go.
/// An op that forks the thread would free it once per copy: a range never contains one, groups end
/// in front of it. The pointer is taken under the predicate that all allocations have in common,
/// else always; zeroing stays with each allocation. Linear in the nesting of the ops.
///
/// Why here: behind `if-to-select`, which brings allocations of several arms into one block, and
/// before `structure-to-cfg`. A pointer is a live value of its thread, so each one less makes the
/// bundles at every merge narrower. It requires `inlined`: the exits of a callee are exits of the
/// range.
///
/// Does not handle: the number of pointers. A group has as many as its smallest memory has buffers,
/// which is known where memories are laid out; and blocks in sequence that never overlap keep a
/// pointer each.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

bool owns_pointer(const Op& op) {
  return op.is(ops::mem_sram_alloc) && ops::pointer_owner(op.result()) == op.result();
}

/// Calls `f` on `op` and what is inside it, as far as it belongs to the same thread.
template <typename F>
void walk_thread(Op& op, const F& f) {
  f(op);
  if (op.is(ops::thread_foreach)) return;
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op& inner : *block) walk_thread(inner, f);
}

/// Buffers with one pointer, and the range of the block's ops in which it is held.
struct Group {
  std::vector<Op*> owners;   ///< allocations with a pointer of their own, in program order
  std::vector<Op*> members;  ///< these and those that share their pointers
  std::size_t first = 0;
  std::size_t last = 0;
};

class Fusion {
 public:
  Fusion(Block& block, PassContext& context) : block_(block), context_(context) {}

  bool run() {
    std::vector<Op*> owners;
    for (Op& op : block_)
      if (owns_pointer(op)) owners.push_back(&op);
    if (owners.size() < 2) return false;
    number();
    std::vector<Group> groups;
    for (Op* owner : owners) {
      const std::optional<Group> own = group_of(*owner);
      if (!own) {
        context_.count("kept: used outside its block");
        continue;
      }
      if (forks(*own)) context_.count("kept: fork in its lifetime");
      if (groups.empty() || !join(groups.back(), *own)) groups.push_back(*own);
    }
    bool changed = false;
    // Their ranges are disjoint, or a group would have been joined by the one before.
    for (Group& group : groups) {
      if (group.owners.size() < 2 || !context_.spend()) continue;
      fuse(group);
      changed = true;
    }
    return changed;
  }

 private:
  void number() {
    for (Op& op : block_) {
      position_[&op] = ops_.size();
      ops_.push_back(&op);
      bool forks = false;
      walk_thread(op, [&](const Op& inner) { forks |= inner.is(ops::thread_fork); });
      forks_.push_back((forks_.empty() ? 0 : forks_.back()) + (forks ? 1 : 0));
    }
  }

  /// The position of the op of this block that `op` is or is in.
  std::optional<std::size_t> position(const Op& op) const {
    for (const Op* at = &op; at; at = at->parent_op())
      if (at->block() == &block_) return position_.at(at);
    return std::nullopt;
  }

  std::optional<Group> group_of(Op& owner) const {
    Group group{{&owner}, {&owner}, position_.at(&owner), position_.at(&owner)};
    for (const Use& use : owner.result()->uses())
      if (use.op->is(ops::mem_sram_alloc)) group.members.push_back(use.op);
    for (const Op* member : group.members)
      for (const Use& use : member->result()->uses()) {
        const auto at = position(*use.op);
        if (!at) return std::nullopt;
        group.last = std::max(group.last, *at);
      }
    return group;
  }

  bool forks(const Group& group) const { return forks_[group.last] != forks_[group.first]; }

  bool join(Group& group, const Group& other) const {
    Group both = group;
    both.last = std::max(group.last, other.last);
    if (forks(both)) return false;
    both.owners.insert(both.owners.end(), other.owners.begin(), other.owners.end());
    both.members.insert(both.members.end(), other.members.begin(), other.members.end());
    group = std::move(both);
    return true;
  }

  void fuse(Group& group) {
    Op& owner = *group.owners[0];
    Op* const behind = ops_[group.last]->next();
    const Loc end = ops_[group.last]->loc();
    remove_frees(group);

    Value* const predicate = ops::predicate(owner);
    const bool common = std::all_of(group.owners.begin(), group.owners.end(),
                                    [&](const Op* op) { return ops::predicate(*op) == predicate; });
    if (predicate && !common) {
      owner.erase_operand(0);
      owner.remove_attr("predicated");
    }
    for (Op* member : group.members) {
      if (member == &owner) continue;
      std::vector<Value*> operands = {owner.result()};
      if (Value* const own = ops::predicate(*member)) operands.push_back(own);
      member->set_operands(operands);
    }
    context_.count("fused", static_cast<std::int64_t>(group.owners.size()) - 1);

    for (std::size_t i = group.first; i <= group.last; ++i) {
      if (ops_[i])
        walk_thread(*ops_[i], [&](Op& op) {
          if (op.is(ops::thread_exit)) exits_.push_back({&op, i});
        });
    }
    Value* const held = common ? predicate : nullptr;
    for (const auto& [exit, at] : exits_) free(group, held, *exit, exit->loc(), at);
    exits_.clear();
    free(group, held, *behind, end, group.last + 1);
  }

  void remove_frees(const Group& group) {
    for (const Op* owner : group.owners) {
      const auto uses = owner->result()->uses();
      const std::vector<Use> before(uses.begin(), uses.end());
      for (const Use& use : before) {
        if (!use.op->is(ops::mem_sram_free)) continue;
        if (const auto at = position_.find(use.op); at != position_.end())
          ops_[at->second] = nullptr;
        use.op->erase();
      }
    }
  }

  /// Frees what has been allocated where the thread is at position `at`.
  void free(const Group& group, Value* predicate, Op& before, Loc loc, std::size_t at) {
    std::vector<Value*> operands = {group.owners[0]->result()};
    for (const Op* member : group.members)
      if (member != group.owners[0] && position_.at(member) < at)
        operands.push_back(member->result());
    AttrMap attrs;
    if (predicate) {
      operands.push_back(predicate);
      attrs.emplace("predicated", true);
    }
    Builder b = Builder::before(before);
    b.set_loc(loc);
    b.create(ops::mem_sram_free, operands, {}, std::move(attrs));
  }

  Block& block_;
  PassContext& context_;
  std::vector<Op*> ops_;            ///< of the block; null where a free was
  std::vector<std::size_t> forks_;  ///< up to and with each op, those with a fork in them
  std::unordered_map<const Op*, std::size_t> position_;
  std::vector<std::pair<Op*, std::size_t>> exits_;
};

bool visit(Op& op, PassContext& context) {
  bool changed = false;
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks()) {
      context.visit();
      for (Op& inner : *block) changed |= visit(inner, context);
      changed |= Fusion(*block, context).run();
    }
  return changed;
}

PassResult run_at(Op& place, PassContext& context) {
  context.visit(0);
  return PassResult::of(visit(place, context));
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "fuse-allocations";
  info.summary = "Lets all on-chip buffers of a block share one pointer";
  info.requires_ = {"inlined"};
  info.run_at = run_at;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("fuse-allocations", "Fusion of allocations", revet::register_)
