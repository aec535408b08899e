/// Inlines ifs that lack inner loops: selects take the place of their results, predicates guard
/// their memory operations (Section V-B: "we inline all if statements that lack inner loops,
/// replacing them with conditional moves and predicating memory operations").
///
/// Before:                                    After:
///   %r = thread.if(%c) (                       %v = mem.dram_load(%a, %i, %c) {predicated}
///     {%v = mem.dram_load(%a, %i)              %off = arith.cmp(%c, %false) {pred = "eq"}
///      thread.yield(%v)},                      mem.dram_store(%b, %i, %n, %off) {predicated}
///     {mem.dram_store(%b, %i, %n)              %r = arith.select(%c, %v, %n)
///      thread.yield(%n)})
///
/// Algorithm: if-conversion. One walk from the inside out marks what can go: both arms end in a
/// yield of scalars and hold only pure ops, ops with an optional predicate, and ifs that go. A
/// second walk moves the ops of a nest of such ifs in front of the outermost, in program order, the
/// first arm before the second. A predicate is the conjunction of the conditions on the way in and
/// of what the op was predicated by; it is made at its first use and shared by the arm. Nothing in
/// the language is undefined, so that arithmetic may run where its result is not wanted; an access
/// that is predicated off is none, its bounds are not checked and its result is 0. Linear.
///
/// Why here: behind `lower-adapters`, whose buffers and transfers can be predicated while opening
/// a view cannot; before `fuse-allocations`, which then sees more allocations in one block. It
/// requires `inlined`, since `inline` reads off the closes in front of an exit what is open there.
///
/// An if that is marked `unlikely` stays one, as a branch around what is rare and slow; in an arm
/// that goes, its condition gets the predicate.
///
/// Does not handle: arms with while, foreach, replicate, fork, exit, a call, or an op of a plugin
/// that has effects and takes no predicate.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

bool takes_predicate(const Op& op) {
  const auto& attrs = op.info().attrs;
  return std::any_of(attrs.begin(), attrs.end(),
                     [](const AttrSpec& spec) { return spec.name == "predicated"; });
}

/// What keeps an op with its arm, as a statistic; null where nothing does. Not for ifs.
const char* obstacle_of(const Op& op) {
  if (op.is(ops::thread_while)) return "kept: while";
  if (op.is(ops::thread_foreach)) return "kept: foreach";
  if (op.is(ops::thread_replicate)) return "kept: replicate";
  if (op.is(ops::thread_fork)) return "kept: fork";
  if (op.is(ops::thread_exit)) return "kept: exit";
  if (takes_predicate(op) || (op.num_regions() == 0 && is_pure(op))) return nullptr;
  return "kept: op without predicate";
}

/// Whether nothing happens where the condition of an if does not hold.
bool guards(const Op& op) { return op.body(1).first()->is(ops::thread_yield); }

/// The condition of being in an arm.
class Path {
 public:
  Path(Path* outer, Value* condition, bool first)
      : outer_(outer), condition_(condition), first_(first) {}

  /// Made at the first use, which comes before all others in program order.
  Value* predicate(Builder& b) {
    if (!made_) {
      Value* const before = outer_ ? outer_->predicate(b) : nullptr;
      made_ = b.both(before, first_ ? condition_ : b.negated(condition_));
    }
    return made_;
  }

 private:
  Path* outer_;
  Value* condition_;
  bool first_;
  Value* made_ = nullptr;
};

class Conversion {
 public:
  explicit Conversion(PassContext& context)
      : context_(context), max_ops_(context.options.integer("max-ops")) {}

  bool run(Op& place) {
    mark(place);
    convert(place);
    return !going_.empty();
  }

 private:
  /// Of an arm, with the ifs in it.
  struct Arm {
    const char* obstacle = nullptr;
    std::int64_t ops = 0;  ///< but constants, which are no work
  };

  // --- which ifs go ---

  Arm mark(Op& op) {
    context_.visit();
    Arm both;
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks()) add(both, mark(*block));
    if (!op.is(ops::thread_if))
      return {obstacle_of(op), both.ops + (op.is(ops::arith_constant) ? 0 : 1)};
    if (op.flag("unlikely")) {
      context_.count("kept: unlikely");
      return {guards(op) ? nullptr : "kept: unlikely", 1};
    }
    const auto& results = op.results();
    if (!both.obstacle && max_ops_ != 0 && both.ops > max_ops_) both.obstacle = "kept: max-ops";
    if (std::any_of(results.begin(), results.end(),
                    [](const auto& r) { return !r->type().is_scalar(); }))
      both.obstacle = "kept: result is no scalar";
    if (both.obstacle) {
      context_.count(both.obstacle);
    } else if (context_.spend()) {
      going_.insert(&op);
      context_.count("converted");
    } else {
      both.obstacle = "kept: fuel";
    }
    return both;
  }

  Arm mark(Block& block) {
    Arm arm;
    for (Op& op : block) {
      if (op.info().terminator && !op.is(ops::thread_exit)) break;
      add(arm, mark(op));
    }
    return arm;
  }

  static void add(Arm& sum, const Arm& arm) {
    if (!sum.obstacle) sum.obstacle = arm.obstacle;
    sum.ops += arm.ops;
  }

  // --- their ops ---

  /// Converts the ifs that go at `op` and inside it; those outermost among them first.
  void convert(Op& op) {
    if (going_.count(&op) != 0) {
      flatten(op, op, nullptr);
      op.erase();
      return;
    }
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks())
        for (Op *inner = block->first(), *next; inner; inner = next) {
          next = inner->next();
          convert(*inner);
        }
  }

  /// Moves the ops of both arms before `before` and replaces the results.
  void flatten(Op& op, Op& before, Path* outer) {
    Builder b = Builder::before(before);
    b.set_loc(op.loc());
    Value* const condition = op.operand(0);
    std::array<Op*, 2> yields{};
    for (unsigned r = 0; r < 2; ++r) {
      Path path(outer, condition, r == 0);
      Op* inner = op.body(r).first();
      for (Op* next; !inner->info().terminator; inner = next) {
        next = inner->next();
        if (going_.count(inner) != 0) {
          flatten(*inner, before, &path);
          inner->erase();
          continue;
        }
        if (inner->is(ops::thread_if))
          inner->set_operand(0, b.both(path.predicate(b), inner->operand(0)));
        else if (takes_predicate(*inner))
          predicate(*inner, path.predicate(b), b);
        inner->move_before(before);
      }
      yields[r] = inner;
    }
    for (unsigned i = 0; i < op.num_results(); ++i) {
      Value* const first = yields[0]->operand(i);
      Value* const second = yields[1]->operand(i);
      Value* result = first;
      if (first != second) {
        result = b.select(condition, first, second);
        result->set_name(op.result(i)->name());
      }
      op.result(i)->replace_all_uses_with(result);
    }
  }

  void predicate(Op& op, Value* path, Builder& b) {
    context_.count("predicated");
    if (Value* const own = ops::predicate(op)) {
      op.set_operand(op.num_operands() - 1, b.both(path, own));
    } else {
      op.add_operand(path);
      op.set_attr("predicated", true);
    }
  }

  PassContext& context_;
  const std::int64_t max_ops_;
  std::unordered_set<const Op*> going_;
};

PassResult run_at(Op& place, PassContext& context) {
  context.visit(0);
  return PassResult::of(Conversion(context).run(place));
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "if-to-select";
  info.summary = "Turns ifs without inner loops into selects and predicated memory operations";
  info.requires_ = {"inlined"};
  info.options = {{"max-ops", OptionType::integer, "0",
                   "most ops in both arms of an if together, constants aside; 0: any number", 0,
                   1000000000}};
  info.run_at = run_at;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("if-to-select", "If-conversion", revet::register_)
