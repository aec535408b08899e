/// Takes the one pointer that a replicate region allocates in front of the region, from a queue for
/// all of its copies (Section V-B: "If a replicate region contains one allocation after fusion, we
/// can increase its range, using the low bits to point to a specific region and the high bits to
/// address an SRAM buffer within that region").
///
/// Before:                                     After:
///   thread.replicate() {n = 4} ({               %a = mem.sram_alloc() {regions = 4}
///     %a = mem.sram_alloc()                     %b = mem.sram_alloc(%a) {regions = 4}
///     %b = mem.sram_alloc(%a)                   thread.replicate() {n = 4} ({
///     thread.if(%c) (                             thread.if(%c) (
///       {mem.sram_free(%a, %b)                      {mem.sram_free(%a, %b)
///        thread.exit()}, ..)                         thread.exit()}, ..)
///     mem.sram_free(%a, %b)                       thread.yield()
///     thread.yield()                            })
///   })                                          mem.sram_free(%a, %b)
///
/// Algorithm: regions from the inside out. Where a region, with everything in it, has one
/// allocation with a pointer of its own, and that in its outermost block, it moves in front with
/// those that share the pointer; the frees that were there go, and the pointer is freed behind the
/// region and in front of each exit of the thread inside. Each memory says in how many copies it
/// stands. Linear in the nesting of the regions.
///
/// No deadlock comes of it: in the region there is no other pool to wait for, so that a thread that
/// holds the pointer goes on to where it is freed. For that reason a region with a second
/// allocation anywhere in it, also of a child, keeps both.
///
/// Why here: behind `fuse-allocations`, which leaves one allocation in most regions; before
/// `bufferize-replicate`, which uses the pointer, and `structure-to-cfg`.
///
/// Does not handle: a second level. A pointer that was hoisted out of an inner region stays between
/// the two, since its low bits are taken; forks in the region, whose threads would free it each.
#include <algorithm>

#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

/// Calls `f` on `op` and what is inside it, as far as it belongs to the same thread.
template <typename F>
void walk_thread(Op& op, const F& f) {
  f(op);
  if (op.is(ops::thread_foreach)) return;
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op& inner : *block) walk_thread(inner, f);
}

class Hoisting {
 public:
  Hoisting(Op& replicate, PassContext& context) : replicate_(replicate), context_(context) {}

  bool run() {
    if (const char* reason = obstacle()) {
      if (*reason) context_.count(reason);
      return false;
    }
    if (!context_.spend()) return false;
    hoist();
    context_.count("hoisted");
    return true;
  }

 private:
  /// What keeps the allocation in the region, as a statistic; "" where there is none.
  const char* obstacle() {
    std::vector<Op*> owners;
    walk(replicate_, [&](Op& op) {
      if (op.is(ops::mem_sram_alloc) && ops::pointer_owner(op.result()) == op.result())
        owners.push_back(&op);
    });
    if (owners.empty()) return "";
    if (owners.size() > 1) return "kept: several allocations";
    owner_ = owners[0];
    if (owner_->has_attr("regions")) return "kept: points to an inner region";
    if (owner_->block() != &replicate_.body()) return "kept: not in the region's block";
    if (is_inside(ops::predicate(*owner_))) return "kept: predicate of the region";
    for (Op& op : replicate_.body())
      if (op.is(ops::mem_sram_alloc) && &op != owner_) sharing_.push_back(&op);
    const auto uses = owner_->result()->uses();
    const auto shares = std::count_if(
        uses.begin(), uses.end(), [](const Use& use) { return use.op->is(ops::mem_sram_alloc); });
    if (static_cast<std::size_t>(shares) != sharing_.size())
      return "kept: not in the region's block";
    // Without its predicate a buffer that shares the pointer is one that nobody uses.
    if (ops::predicate(*owner_) && std::any_of(sharing_.begin(), sharing_.end(), [&](const Op* op) {
          return is_inside(ops::predicate(*op));
        }))
      return "kept: predicate of the region";
    bool forks = false;
    walk_thread(replicate_, [&](const Op& op) { forks |= op.is(ops::thread_fork); });
    return forks ? "kept: fork in the region" : nullptr;
  }

  bool is_inside(const Value* v) const {
    return v && is_ancestor(&replicate_, v->block()->parent_op());
  }

  void hoist() {
    const auto uses = owner_->result()->uses();
    const std::vector<Use> before(uses.begin(), uses.end());
    for (const Use& use : before)
      if (use.op->is(ops::mem_sram_free)) use.op->erase();

    const Attr regions = *replicate_.attr("n");
    move(*owner_, regions);
    for (Op* op : sharing_) {
      if (is_inside(ops::predicate(*op))) {
        op->erase_operand(op->num_operands() - 1);
        op->remove_attr("predicated");
      }
      move(*op, regions);
    }

    std::vector<Op*> exits;
    walk_thread(replicate_, [&](Op& op) {
      if (op.is(ops::thread_exit)) exits.push_back(&op);
    });
    for (Op* exit : exits) free(Builder::before(*exit));
    Builder behind = Builder::after(replicate_);
    behind.set_loc(replicate_.body().last()->loc());
    free(behind);
  }

  void move(Op& alloc, const Attr& regions) {
    alloc.move_before(replicate_);
    alloc.set_attr("regions", regions);
  }

  void free(Builder b) const {
    std::vector<Value*> operands = {owner_->result()};
    for (const Op* op : sharing_) operands.push_back(op->result());
    AttrMap attrs;
    if (Value* const predicate = ops::predicate(*owner_)) {
      operands.push_back(predicate);
      attrs.emplace("predicated", true);
    }
    b.create(ops::mem_sram_free, operands, {}, std::move(attrs));
  }

  Op& replicate_;
  PassContext& context_;
  Op* owner_ = nullptr;
  std::vector<Op*> sharing_;
};

bool visit(Op& op, PassContext& context) {
  bool changed = false;
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op *inner = block->first(), *next; inner; inner = next) {
        next = inner->next();
        changed |= visit(*inner, context);
      }
  context.visit();
  if (!op.is(ops::thread_replicate)) return changed;
  return Hoisting(op, context).run() || changed;
}

PassResult run(Module& module, PassContext& context) {
  context.visit(0);
  bool changed = false;
  for (Op& op : module.body()) changed |= visit(op, context);
  return PassResult::of(changed);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "hoist-allocations";
  info.summary = "Takes the one pointer of a replicate region in front of it";
  info.requires_ = {"inlined"};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("hoist-allocations", "Hoisting of allocations", revet::register_)
