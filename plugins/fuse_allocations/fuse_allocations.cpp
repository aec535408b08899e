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
/// in front of it. The exception are forks with a join (`thread.fork {join = true}` up to the exit
/// with it, see `eliminate-hierarchy`): one thread comes out of them, so that a range may contain
/// all of it, whatever forks inside; the exits of the others free nothing. A range may also lie
/// between the two: it belongs to each of the threads. No group has buffers of both kinds. The
/// pointer is taken under the predicate that all allocations have in common, else always; zeroing
/// stays with each allocation. Linear in the nesting of the ops.
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

/// A pointer that has been hoisted out of a replicate region says which copy of it the thread goes
/// to, and is no other buffer's.
bool owns_pointer(const Op& op) {
  return op.is(ops::mem_sram_alloc) && ops::pointer_owner(op.result()) == op.result() &&
         !op.has_attr("regions");
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

/// From a fork with a join to the exit of all its threads but one, as positions in a block. The
/// block's own range of ops is the outermost.
struct Span {
  std::size_t fork;
  std::size_t exit;
};

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
      if (forks(*own)) {
        context_.count("kept: fork in its lifetime");
        continue;
      }
      const auto joined = std::find_if(groups.rbegin(), groups.rend(),
                                       [&](Group& group) { return join(group, *own); });
      if (joined == groups.rend()) groups.push_back(*own);
    }
    bool changed = false;
    // Their ranges are disjoint or one is between a fork and a join in the other, or one group
    // would have been joined by the other.
    for (Group& group : groups) {
      if (group.owners.size() < 2 || !context_.spend()) continue;
      fuse(group);
      changed = true;
    }
    return changed;
  }

 private:
  void number() {
    std::vector<std::size_t> open;  // spans whose exit is to come
    for (Op& op : block_) {
      const std::size_t at = ops_.size();
      position_[&op] = at;
      ops_.push_back(&op);
      if (op.is(ops::thread_fork) && op.flag("join")) {
        open.push_back(spans_.size());
        spans_.push_back({at, at});
      } else if (Op* const exit = join_exit(op); exit && !open.empty()) {
        spans_[open.back()].exit = at;
        joins_.insert(exit);
        open.pop_back();
      } else if (splits(op)) {
        forks_.push_back(at);
      }
    }
    // Without its exit such a fork is one like any other.
    for (const std::size_t span : open) forks_.push_back(spans_[span].fork);
    std::erase_if(spans_, [](const Span& s) { return s.exit == s.fork; });
  }

  /// The exit of an if that ends all threads but one, where it ends an arm.
  static Op* join_exit(const Op& op) {
    if (!op.is(ops::thread_if)) return nullptr;
    for (unsigned r = 0; r < 2; ++r)
      if (Op* const last = op.body(r).last();
          last && last->is(ops::thread_exit) && last->flag("join"))
        return last;
    return nullptr;
  }

  /// True if more than one thread may come out of the op. Notes the exits of joins inside.
  bool splits(Op& op) {
    if (op.is(ops::thread_fork)) return true;
    if (op.is(ops::thread_foreach)) return false;
    bool found = false;
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks()) {
        std::size_t open = 0;  // joins to come; forks in front of them do not matter out here
        for (Op& inner : *block) {
          if (inner.is(ops::thread_fork) && inner.flag("join") && has_join(inner)) {
            ++open;
          } else if (Op* const exit = join_exit(inner); exit && open != 0) {
            joins_.insert(exit);
            --open;
          } else if (splits(inner)) {
            found |= open == 0;
          }
        }
      }
    return found;
  }

  /// True if a fork's join follows it.
  static bool has_join(const Op& fork) {
    std::size_t open = 0;
    for (const Op* op = &fork; op; op = op->next()) {
      if (op->is(ops::thread_fork) && op->flag("join")) ++open;
      if (join_exit(*op) && --open == 0) return true;
    }
    return false;
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

  static bool contains(const Group& group, std::size_t at) {
    return group.first < at && at <= group.last;
  }
  static bool inside(std::size_t at, const Span& span) { return span.fork < at && at < span.exit; }

  /// True if more than one thread comes out of the group's range, or one that began in the middle.
  bool forks(const Group& group) const {
    for (const Span& span : spans_) {
      const bool has_fork = contains(group, span.fork);
      const bool has_exit = contains(group, span.exit);
      if (has_fork != has_exit) return true;
    }
    return std::any_of(forks_.begin(), forks_.end(), [&](std::size_t fork) {
      return contains(group, fork) &&
             std::none_of(spans_.begin(), spans_.end(), [&](const Span& span) {
               return inside(fork, span) && contains(group, span.fork);
             });
    });
  }

  /// True if some of the buffers are allocated between a fork with a join and the join, and some
  /// before: those belong to other threads.
  bool mixes_threads(const Group& group) const {
    return std::any_of(spans_.begin(), spans_.end(), [&](const Span& span) {
      return contains(group, span.fork) &&
             std::any_of(group.owners.begin(), group.owners.end(),
                         [&](const Op* op) { return inside(position_.at(op), span); });
    });
  }

  bool join(Group& group, const Group& other) const {
    Group both = group;
    both.last = std::max(group.last, other.last);
    both.owners.insert(both.owners.end(), other.owners.begin(), other.owners.end());
    both.members.insert(both.members.end(), other.members.begin(), other.members.end());
    if (forks(both) || mixes_threads(both)) return false;
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
          // What has been allocated before a fork stays for the last of its threads.
          if (op.is(ops::thread_exit) && joins_.count(&op) == 0) exits_.push_back({&op, i});
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
  std::vector<Op*> ops_;                 ///< of the block; null where a free was
  std::vector<std::size_t> forks_;       ///< ops out of which more than one thread may come
  std::vector<Span> spans_;              ///< of the block itself
  std::unordered_set<const Op*> joins_;  ///< exits of spans, of the block or inside
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
