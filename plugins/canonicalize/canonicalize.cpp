/// Brings a module into its simplest form without adding work anywhere: folds constants, merges
/// equal computations, decides constant branches, removes dead code.
///
/// Before:                                        After:
///   %c = arith.cmp(%n, %n) {pred = "eq"}           %0 = arith.add(%n, %k)
///   %r = thread.if(%c) (                           %1 = arith.mul(%0, %0)
///     {%0 = arith.add(%n, %k); thread.yield(%0)},  mem.dram_store(%a, %n, %1)
///     {thread.yield(%n)})
///   %1 = arith.add(%n, %k)
///   %2 = arith.mul(%r, %1)
///   mem.dram_store(%a, %n, %2)
///
/// Algorithm: rounds of two linear sweeps until a round changes nothing. The first visits ops in
/// program order, so that a definition is simplified before its uses: the op's fold hook, common
/// subexpressions by hash tables nested like the regions (what dominates is found, what does not is
/// not), branches on constants, values that regions only pass on. The second is mark and sweep
/// (dead_code.cpp). It ends because every change lowers, in this order, the number of ops other
/// than constants, of conversions chained, of used results and arguments, or of constants. Two or
/// three rounds are usual; a further one needs a loop-carried value that turned out to be invariant
/// only by what the last round folded.
///
/// Why here: after `inline` and after any pass that leaves constants, copies or unused values. Ops
/// are known by their OpInfo alone (fold, effects, control), except those of the thread level whose
/// regions pass values; so it runs at every level.
///
/// Does not handle: memory (a load is neither merged nor removed, since it may be out of bounds),
/// loops (a while goes only if its condition is constant, for it might not end), if-conversion
/// (`if-to-select`), reassociation. Merging does not weigh the cost of keeping a value alive.
#include <bit>
#include <functional>
#include <unordered_map>

#include "casts.hpp"
#include "dead_code.hpp"
#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

std::size_t hash_of(const Attr& a) {
  if (const bool* b = a.as_bool()) return *b ? 1 : 2;
  if (const std::int64_t* i = a.as_int()) return std::hash<std::int64_t>{}(*i);
  if (const float* f = a.as_float()) return as_bits(*f);
  if (const std::string* s = a.as_string()) return std::hash<std::string>{}(*s);
  return 3;
}

std::size_t hash_of(const Op& op) {
  std::size_t h = std::hash<const void*>{}(&op.info());
  const auto mix = [&h](std::size_t x) { h = std::rotl(h, 5) * 0x9E3779B97F4A7C15u + x; };
  for (const Value* v : op.operands()) mix(std::hash<const void*>{}(v));
  for (const auto& [name, value] : op.attrs()) mix(std::hash<std::string>{}(name) ^ hash_of(value));
  for (const auto& r : op.results()) mix(static_cast<std::size_t>(r->type().kind));
  return h;
}

bool same_computation(const Op& a, const Op& b) {
  if (&a.info() != &b.info() || a.num_operands() != b.num_operands() ||
      a.num_results() != b.num_results() || a.attrs() != b.attrs())
    return false;
  for (unsigned i = 0; i < a.num_operands(); ++i)
    if (a.operand(i) != b.operand(i)) return false;
  for (unsigned i = 0; i < a.num_results(); ++i)
    if (a.result(i)->type() != b.result(i)->type()) return false;
  return true;
}

/// Pure ops that dominate the place a walk has reached, in scopes that nest like regions.
class AvailableOps {
 public:
  std::size_t open() const { return log_.size(); }
  void close(std::size_t mark) {
    for (; log_.size() > mark; log_.pop_back()) ops_[log_.back()].pop_back();
  }
  /// An op equal to `op`, or null; then `op` is available from here on.
  Op* find_or_add(Op& op) {
    const std::size_t h = hash_of(op);
    std::vector<Op*>& bucket = ops_[h];
    for (Op* other : bucket)
      if (same_computation(*other, op)) return other;
    bucket.push_back(&op);
    log_.push_back(h);
    return nullptr;
  }

 private:
  std::unordered_map<std::size_t, std::vector<Op*>> ops_;
  std::vector<std::size_t> log_;
};

const Attr* constant_of(const Value* v) {
  const Op* def = v->def();
  return def && def->is(ops::arith_constant) ? def->attr("value") : nullptr;
}

/// The truth of a constant i1; nullopt for other values.
std::optional<bool> truth_of(const Value* v) {
  if (!constant_of(v) || v->type() != type_i1) return std::nullopt;
  return constant_bits(*v->def()) != 0;
}

bool same_value(const Value* a, const Value* b) {
  if (a == b) return true;
  return constant_of(a) && constant_of(b) && a->type() == b->type() &&
         constant_bits(*a->def()) == constant_bits(*b->def());
}

Op* terminator_if(const Block& block, const OpInfo& info) {
  Op* last = block.terminator();
  return last && last->is(info) ? last : nullptr;
}

/// True if no thread goes on behind `op`.
bool ends_thread(const Op& op) {
  const auto exits = [&](unsigned r) { return terminator_if(op.body(r), ops::thread_exit); };
  if (op.is(ops::thread_if)) return exits(0) && exits(1);
  return (op.is(ops::thread_while) || op.is(ops::thread_replicate)) && exits(0);
}

/// One sweep over a module in program order.
class Sweep {
 public:
  explicit Sweep(PassContext& context) : context_(context) {}

  bool run(Region& region) {
    visit(region);
    return changed_;
  }

 private:
  void count(const char* statistic, std::int64_t n = 1) {
    context_.count(statistic, n);
    context_.spend();
    changed_ = true;
  }

  void visit(Region& region) {
    for (const auto& block : region.blocks()) {
      const std::size_t scope = available_.open();
      for (Op* op = block->first(); op;) op = visit(*op);
      available_.close(scope);
    }
  }

  /// Simplifies one op; gives the op to go on with.
  Op* visit(Op& op) {
    Op* const next = op.next();
    context_.visit();
    if (op.info().terminator || context_.fuel == 0) return next;
    if (op.num_regions() != 0) return visit_structured(op);
    if (decide_predicate(op)) return next;
    if (!is_pure(op) || op.num_results() == 0) return next;
    shorten_cast(op);
    if (fold(op)) return next;
    if (Op* same = available_.find_or_add(op)) {
      for (unsigned i = 0; i < op.num_results(); ++i) replace(op.result(i), same->result(i));
      op.erase();
      count("cse");
    }
    return next;
  }

  Op* visit_structured(Op& op) {
    if (op.is(ops::thread_if)) {
      if (const auto taken = truth_of(op.operand(0)); taken && can_splice(op.body(*taken ? 0 : 1)))
        return splice_arm(op, op.body(*taken ? 0 : 1));
    } else if (op.is(ops::thread_foreach)) {
      if (Op* next = op.next(); remove_empty_foreach(op)) return next;
    } else if (op.is(ops::thread_while)) {
      replace_invariants(op);
      if (never_iterates(op)) return splice_before(op);
    }
    for (const auto& region : op.regions()) visit(*region);

    Op* const next = op.next();
    if (op.is(ops::thread_while)) {
      replace_invariants(op);
      // What becomes of the spliced ops is for the next round, or nests would be walked repeatedly.
      if (never_iterates(op)) {
        splice_before(op);
        return next;
      }
    } else if (op.is(ops::thread_if) || op.is(ops::thread_replicate)) {
      replace_passed_values(op);
    }
    if (ends_thread(op) && next && !next->is(ops::thread_exit)) {
      cut_after(op);
      Builder::after(op).create(ops::thread_exit, {});
      return nullptr;
    }
    return next;
  }

  // --- single ops ---

  bool fold(Op& op) {
    if (!op.info().fold) return false;
    constants_.clear();
    for (const Value* v : op.operands()) constants_.push_back(constant_of(v));
    const std::optional<Folded> folded = op.info().fold(op, constants_);
    if (!folded) return false;
    for (const auto& f : *folded)
      if (const auto* v = std::get_if<Value*>(&f); v && (*v)->def() == &op) return false;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      Value* const r = op.result(i);
      const auto& f = (*folded)[i];
      if (r->unused()) continue;
      replace(r, std::holds_alternative<Value*>(f)
                     ? std::get<Value*>(f)
                     : constant(op, r->type(), std::get<Attr>(f), r->name()));
    }
    op.erase();
    count("folded");
    return true;
  }

  void shorten_cast(Op& op) {
    while (op.is(ops::arith_cast)) {
      const Op* inner = op.operand(0)->def();
      if (!inner || !inner->is(ops::arith_cast) || inner == &op ||
          !cast_is_direct(inner->operand(0)->type(), op.operand(0)->type(), op.result()->type()))
        return;
      op.set_operand(0, inner->operand(0));
      count("folded");
    }
  }

  /// Drops a predicate that is constantly true; removes an access whose predicate is false.
  bool decide_predicate(Op& op) {
    Value* const predicate = ops::predicate(op);
    const auto on = predicate ? truth_of(predicate) : std::nullopt;
    if (!on) return false;
    if (*on) {
      count("branches");
      op.erase_operand(op.num_operands() - 1);
      op.remove_attr("predicated");
      return false;
    }
    // A buffer that is never allocated goes when the accesses to it are gone.
    for (const auto& r : op.results())
      if (r->type().is_memory() && !r->unused()) return false;
    count("branches");
    for (const auto& r : op.results()) {
      const Attr zero = r->type().is_float() ? Attr(0.0f) : Attr(0);
      if (!r->unused()) replace(r.get(), constant(op, r->type(), zero, r->name()));
    }
    op.erase();
    return true;
  }

  // --- structured ops ---

  static bool can_splice(const Block& block) {
    return terminator_if(block, ops::thread_yield) || terminator_if(block, ops::thread_exit);
  }

  /// Puts the ops of the arm that is taken in place of the if; gives the first of them.
  Op* splice_arm(Op& op, Block& arm) {
    Block& block = *op.block();
    count("branches");
    if (Op* yield = terminator_if(arm, ops::thread_yield)) {
      for (unsigned i = 0; i < op.num_results(); ++i) replace(op.result(i), yield->operand(i));
      yield->erase();
    } else {
      cut_after(op);
    }
    Op* const next = arm.empty() ? op.next() : arm.first();
    block.splice(&op, arm);
    op.erase();
    return next;
  }

  static bool never_iterates(const Op& op) {
    const Op* condition = terminator_if(op.body(0), ops::thread_condition);
    return condition && truth_of(condition->operand(0)) == false;
  }

  /// Puts the ops of `before` in place of the while; gives the first of them.
  Op* splice_before(Op& op) {
    Block& before = op.body(0);
    Op* const condition = before.terminator();
    count("branches");
    for (unsigned i = 0; i < op.num_operands(); ++i) replace(before.arg(i), op.operand(i));
    for (unsigned i = 0; i < op.num_results(); ++i)
      replace(op.result(i), condition->operand(i + 1));
    condition->erase();
    Op* const next = before.empty() ? op.next() : before.first();
    op.block()->splice(&op, before);
    op.erase();
    return next;
  }

  bool remove_empty_foreach(Op& op) {
    for (const Value* v : op.operands())
      if (!constant_of(v)) return false;
    const auto bits = [&](unsigned i) { return constant_bits(*op.operand(i)->def()); };
    const Kind k = op.operand(0)->type().kind;
    if (bits(2) == 0 || trip_count(k, bits(0), bits(1), bits(2)) != 0) return false;
    Builder b = Builder::before(op);
    for (unsigned i = 0; i < op.num_results(); ++i) {
      const Type t = op.result(i)->type();
      const std::string& spelling = *(*op.attr("reduce")->as_array())[i].as_string();
      if (!op.result(i)->unused())
        replace(op.result(i), b.constant_of_bits(t, reduction_of(spelling, t.kind).identity));
    }
    op.erase();
    count("branches");
    return true;
  }

  /// A carried value that every iteration leaves as it was is its initial value; a value that the
  /// condition passes on from outside the loop, or a constant, is itself.
  void replace_invariants(Op& op) {
    Block& before = op.body(0);
    Block& body = op.body(1);
    const Op* condition = terminator_if(before, ops::thread_condition);
    if (!condition) return;
    const Op* yield = terminator_if(body, ops::thread_yield);
    const bool exits = terminator_if(body, ops::thread_exit);
    if (!yield && !exits) return;
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      Value* const arg = before.arg(i);
      const Value* next = exits ? arg : yield->operand(i);
      if (next->is_argument() && next->block() == &body)
        next = condition->operand(next->index() + 1);
      if (arg->unused() || (next != arg && !same_value(next, op.operand(i)))) continue;
      replace(arg, op.operand(i));
      count("folded");
    }
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (op.result(i)->unused() && body.arg(i)->unused()) continue;
      Value* const v = outside(op, condition->operand(i + 1));
      if (!v) continue;
      replace(op.result(i), v);
      replace(body.arg(i), v);
      count("folded");
    }
  }

  /// Results of an if or replicate that need no region: both arms give the same value from outside,
  /// or true and false.
  void replace_passed_values(Op& op) {
    const Op* first = terminator_if(op.body(0), ops::thread_yield);
    const Op* second = op.num_regions() > 1 ? terminator_if(op.body(1), ops::thread_yield) : first;
    if (!first) first = second;
    if (!second) second = first;
    if (!first) return;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      Value* const a = first->operand(i);
      Value* const b = second->operand(i);
      if (op.result(i)->unused()) continue;
      Value* v = nullptr;
      if (same_value(a, b))
        v = outside(op, a);
      else if (op.is(ops::thread_if) && truth_of(a) == true && truth_of(b) == false)
        v = op.operand(0);
      if (!v) continue;
      replace(op.result(i), v);
      count("folded");
    }
  }

  /// `v`, which a terminator of a region of `op` passes on, if it is defined before `op`; an equal
  /// constant before `op`; or null.
  Value* outside(Op& op, Value* v) {
    bool inside = false;
    for (const auto& region : op.regions()) inside |= v->block() == &region->front();
    if (!inside) return v;
    const Attr* c = constant_of(v);
    return c ? constant(op, v->type(), *c, v->name()) : nullptr;
  }

  /// Removes what follows `op` in its block.
  void cut_after(Op& op) {
    for (Block& block = *op.block(); block.last() != &op; count("dead")) block.last()->erase();
  }

  // --- values ---

  /// A constant that dominates `op`: one that is there, or a new one before it.
  Value* constant(Op& op, Type type, const Attr& value, const std::string& name) {
    Op* made = Builder::before(op).create(ops::arith_constant, {}, {type}, {{"value", value}});
    if (Op* same = available_.find_or_add(*made)) {
      made->erase();
      return same->result();
    }
    made->result()->set_name(name);
    return made->result();
  }

  /// A nameless value takes over the name of what it replaces; a constant that stands for several
  /// variables has the name of none.
  static void replace(Value* old, Value* by) {
    if (constant_of(by)) {
      if (by->name() != old->name()) by->set_name({});
    } else if (by->name().empty()) {
      by->set_name(old->name());
    }
    old->replace_all_uses_with(by);
  }

  PassContext& context_;
  AvailableOps available_;
  std::vector<const Attr*> constants_;
  bool changed_ = false;
};

/// Rounds over `where`, the module or one op; `regions` are what is inside.
template <typename Where>
PassResult simplify(Where& where, const std::vector<Region*>& regions, PassContext& context) {
  bool changed = false;
  context.visit(0);
  for (bool again = true; again; changed |= again) {
    again = false;
    Sweep sweep(context);
    for (Region* region : regions) again |= sweep.run(*region);
    if (context.fuel == 0) continue;
    if (const std::int64_t dead = remove_dead_code(where); dead != 0) {
      context.spend();
      context.count("dead", dead);
      again = true;
    }
  }
  return PassResult::of(changed);
}

PassResult run(Module& module, PassContext& context) {
  return simplify(module, {&module.region()}, context);
}

PassResult run_at(Op& place, PassContext& context) {
  std::vector<Region*> regions;
  for (const auto& region : place.regions()) regions.push_back(region.get());
  return simplify(place, regions, context);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "canonicalize";
  info.summary = "Folds constants, merges equal computations, removes dead code and branches";
  info.input = Level::any;
  info.output = Level::any;
  info.run = run;
  info.run_at = run_at;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("canonicalize",
             "Constant folding, common subexpressions, dead code, constant branches",
             revet::register_)
