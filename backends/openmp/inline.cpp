// Chooses the ops that are written as part of an expression. See plan.hpp.
#include "plan.hpp"

namespace revet::openmp {
namespace {

using namespace ops;

constexpr unsigned largest_expression = 12;  ///< operations in one expression

bool is_arith(const Op& op) { return op.name().starts_with("arith."); }

class Inliner {
 public:
  Inliner(const Adapters& adapters, Plan& plan) : adapters_(adapters), plan_(plan) {}

  void block(const Block& block) {
    // Backwards, so that an op's user is decided before it.
    for (Op* op = block.last(); op; op = op->prev()) {
      for (const auto& region : op->regions()) this->block(region->front());
      if (op->is(thread_if) && both_are_expressions(*op)) plan_.expressions[op] = true;
      decide(*op);
    }
  }

 private:
  unsigned uses(const Value& v) const {
    const auto n = static_cast<unsigned>(v.uses().size());
    const auto it = extra_.find(&v);
    return n + (it == extra_.end() ? 0 : it->second);
  }

  void decide(Op& op) {
    if (const Value* v = extra_use(op, adapters_)) ++extra_[v];
    if (op.num_results() != 1 || !op.result()->type().is_scalar()) return;
    const bool expression_if = plan_.is_expression_if(op);
    if (op.is(arith_constant)) {
      plan_.inlined[&op] = true;
      return;
    }
    if (!is_arith(op) && !is_load(op) && !expression_if) return;
    if (is_trivial_cast(op) && !passed_on(op) && cheap(*op.operand(0))) {
      plan_.inlined[&op] = true;
      return;
    }
    if (uses(*op.result()) != 1 || op.result()->uses().size() != 1) return;
    const Use use = op.result()->uses()[0];
    if (use.op->block() != op.block()) return;
    if (use.op->is(thread_condition) && use.index > 0) return;
    const Op* root = use.op;
    if (const auto it = root_.find(root); it != root_.end()) root = it->second;
    const unsigned size = 1 + size_of(op);
    if (size_[root] + size > largest_expression && !is_trivial_cast(op)) return;
    if (!is_arith(op) || expression_if) {
      if (changes_between(op, *root)) return;
    }
    size_[root] += size;
    root_[&op] = root;
    plan_.inlined[&op] = true;
  }

  /// Operations in the arms of an if.
  unsigned size_of(const Op& op) const {
    unsigned n = 0;
    for (const auto& region : op.regions())
      for (const Op& inner : region->front())
        if (!inner.is(arith_constant)) n += 1 + size_of(inner);
    return n;
  }

  /// The value is carried by a loop or an if.
  static bool passed_on(const Op& op) {
    for (const Use& use : op.result()->uses())
      if (use.op->info().terminator && !(use.op->is(thread_condition) && use.index == 0))
        return true;
    return false;
  }

  /// A name or a constant.
  bool cheap(const Value& v) const {
    const Op* def = v.def();
    if (!def || def->is(arith_constant)) return true;
    // Not decided yet, for it comes before; a value with several uses will have a name.
    return v.uses().size() > 1 && !is_trivial_cast(*def);
  }

  bool both_are_expressions(const Op& op) const {
    if (op.num_results() != 1 || op.result()->unused()) return false;
    unsigned size = 0;
    for (unsigned r = 0; r < 2; ++r) {
      const Block& arm = op.body(r);
      const Op* end = arm.terminator();
      if (!end->is(thread_yield)) return false;
      for (const Op& inner : arm) {
        if (&inner == end) continue;
        if (!plan_.is_inlined(inner)) return false;
        if (!inner.is(arith_constant)) size += 1 + size_of(inner);
      }
    }
    if (op.result()->type() == type_i1) return size <= 2 * largest_expression;
    return size <= largest_expression && !is_update(op);
  }

  /// One arm keeps a variable as it is: `if (c) n = n + 1;` says more than a conditional
  /// expression.
  static bool is_update(const Op& op) {
    bool keeps = false;
    for (unsigned r = 0; r < 2; ++r) {
      const Value* v = op.body(r).terminator()->operand(0);
      if (!constant_op(v) && v->block() != &op.body(r)) keeps = true;
    }
    if (!keeps) return false;
    for (const Use& use : op.result()->uses())
      if (use.op->info().terminator || use.op->is(thread_while)) return true;
    return false;
  }

  /// The memories that the expression of `op` reads.
  void memories(const Op& op, std::vector<const Value*>& out) const {
    if (is_load(op)) out.push_back(op.operand(0));
    for (const auto& region : op.regions())
      for (const Op& inner : region->front()) memories(inner, out);
  }

  /// Something after `op` and before `root` may change what `op` reads.
  bool changes_between(const Op& op, const Op& root) const {
    std::vector<const Value*> read;
    memories(op, read);
    if (read.empty()) return false;
    for (const Op* other = op.next(); other && other != &root; other = other->next()) {
      if (is_pure(*other) || is_load(*other)) continue;
      if (other->is(thread_fork)) return true;
      const auto effects = effects_of(*other);
      if (!effects) return true;
      for (const Effect& e : *effects) {
        if (e.kind == Effect::read || e.kind == Effect::allocate) continue;
        if (!e.memory) return true;
        for (const Value* m : read)
          if (base_memory(m) == base_memory(e.memory)) return true;
      }
    }
    return false;
  }

  const Adapters& adapters_;
  Plan& plan_;
  std::unordered_map<const Value*, unsigned> extra_;
  std::unordered_map<const Op*, const Op*> root_;  ///< the op in whose expression an op stands
  std::unordered_map<const Op*, unsigned> size_;   ///< operations in the expressions of an op
};

}  // namespace

bool is_load(const Op& op) {
  return (op.is(mem_dram_load) || op.is(mem_sram_load) || op.is(mem_view_load) ||
          op.is(mem_iter_load) || op.is(mem_iter_peek)) &&
         !op.flag("checked");
}

bool is_trivial_cast(const Op& op) {
  if (!op.is(arith_cast)) return false;
  const Type from = op.operand(0)->type();
  const Type to = op.result()->type();
  return from.is_integer() && to.is_integer() && to.bits() == 32;
}

Value* extra_use(const Op& op, const Adapters& adapters) {
  if (!is_view_open(op)) return nullptr;
  Value* count = adapters.at(&op).count;
  return count && !constant_op(count) ? count : nullptr;
}

void plan_expressions(const Op& main, const Adapters& adapters, Plan& plan) {
  Inliner(adapters, plan).block(main.body());
}

}  // namespace revet::openmp
