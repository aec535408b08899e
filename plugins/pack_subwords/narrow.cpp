#include "narrow.hpp"

#include <algorithm>

namespace revet {
namespace {

constexpr unsigned most_depth = 40;
constexpr std::size_t most_values = 300;  ///< looked at in one proof

Range joined(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Range held_by(Type t, Range r) {
  const Range all = range_of_type(t);
  return r.within(all.lo, all.hi) ? r : all;
}

/// The operand that the terminator of `block` passes on as value i, or null.
Value* passed(const Block& block, unsigned i) {
  const Op* last = block.terminator();
  if (!last || last->is(ops::thread_exit)) return nullptr;
  return last->operand(last->is(ops::thread_condition) ? i + 1 : i);
}

/// x op c and c op' x are the same.
const char* mirrored(const std::string& pred) {
  if (pred == "lt") return "gt";
  if (pred == "le") return "ge";
  if (pred == "gt") return "lt";
  if (pred == "ge") return "le";
  return pred == "eq" ? "eq" : "ne";
}

Range below(Range x, std::string_view pred, Range y) {
  if (pred == "lt") x.hi = std::min(x.hi, y.hi - 1);
  if (pred == "le") x.hi = std::min(x.hi, y.hi);
  if (pred == "gt") x.lo = std::max(x.lo, y.lo + 1);
  if (pred == "ge") x.lo = std::max(x.lo, y.lo);
  if (pred == "eq") x = {std::max(x.lo, y.lo), std::min(x.hi, y.hi)};
  return x;
}

}  // namespace

std::optional<Type> Narrowing::type_of(Value* v) {
  const Type t = v->type();
  if (!t.is_integer()) return std::nullopt;
  if (t.bits() < 32) return t;
  for (const Kind k : {Kind::u8, Kind::i8, Kind::u16, Kind::i16}) {
    const Range range = range_of_type(Type{k});
    if (holds(v, range, true) || holds(v, range, false)) return Type{k};
  }
  return std::nullopt;
}

bool Narrowing::holds(Value* v, Range range, bool carried_too) {
  goal_ = range;
  carried_too_ = carried_too;
  known_.clear();
  assumed_.clear();
  const Op* loop = v->is_argument() ? v->block()->parent_op() : nullptr;
  if (loop && loop->is(ops::thread_while) && v->block() == &loop->body(0)) {
    known_[v] = range;
    assumed_.push_back(v);
  } else if (!of(v, 0).within(range.lo, range.hi)) {
    return false;
  }
  // What was assumed grows meanwhile.
  for (std::size_t i = 0; i < assumed_.size(); ++i) {
    const Value* const arg = assumed_[i];
    const Op& op = *arg->block()->parent_op();
    if (!of(op.operand(arg->index()), 0).within(range.lo, range.hi)) return false;
    Value* const next = passed(op.body(1), arg->index());
    if (next && !of(next, 0).within(range.lo, range.hi)) return false;
    if (known_.size() > most_values) return false;
  }
  for (const Value* arg : assumed_) proven_[arg] = range;
  return true;
}

Range Narrowing::of(Value* v, unsigned depth) {
  const auto it = known_.find(v);
  if (it != known_.end()) return it->second;
  if (!v->type().is_integer()) return {INT32_MIN, INT64_C(0xFFFFFFFF)};
  if (depth > most_depth || known_.size() > most_values) return range_of_type(v->type());
  const Range r = v->is_argument() ? of_argument(v, depth) : compute(v, depth);
  known_[v] = held_by(v->type(), r);
  return known_[v];
}

Range Narrowing::of_argument(Value* v, unsigned depth) {
  const Range all = range_of_type(v->type());
  const Op* op = v->block()->parent_op();
  if (!op) return all;
  if (op->is(ops::thread_foreach)) {
    const Range lo = of(op->operand(0), depth + 1);
    const Range hi = of(op->operand(1), depth + 1);
    const Range step = of(op->operand(2), depth + 1);
    if (step.lo > 0) return {lo.lo, std::max(lo.lo, hi.hi - 1)};
    return all;
  }
  if (!op->is(ops::thread_while)) return all;
  if (v->block() == &op->body(1)) {
    Value* const from = passed(op->body(0), v->index());
    if (!from) return all;
    const Range r = of(from, depth + 1);
    return refined(from, r, op->body(0).terminator()->operand(0), depth + 1);
  }
  if (const auto it = proven_.find(v); it != proven_.end()) return it->second;
  if (!carried_too_ || v->type().bits() < 32) return all;
  assumed_.push_back(v);
  return goal_;
}

/// The range of v, where the condition is true.
Range Narrowing::refined(Value* v, Range r, const Value* condition, unsigned depth) {
  const Op* c = condition->def();
  if (!c || depth > most_depth) return r;
  if (c->is(ops::arith_and) && c->result()->type() == type_i1)
    return refined(v, refined(v, r, c->operand(0), depth + 1), c->operand(1), depth + 1);
  if (!c->is(ops::arith_cmp)) return r;
  const std::string& pred = c->str_attr("pred");
  if (c->operand(0) == v) return below(r, pred, of(c->operand(1), depth + 1));
  if (c->operand(1) == v) return below(r, mirrored(pred), of(c->operand(0), depth + 1));
  return r;
}

Range Narrowing::compute(Value* v, unsigned depth) {
  using namespace ops;
  const Type t = v->type();
  const Range all = range_of_type(t);
  const Op& op = *v->def();
  std::int64_t n = 0;
  if (is_constant(v, n)) return {n, n};
  const auto operand = [&](unsigned i) { return of(op.operand(i), depth + 1); };
  if (op.is(thread_if)) {
    std::optional<Range> both;
    for (unsigned r = 0; r < 2; ++r)
      if (Value* const from = passed(op.body(r), v->index())) {
        const Range one = of(from, depth + 1);
        both = both ? joined(*both, one) : one;
      }
    return both.value_or(all);
  }
  if (op.is(thread_while) || op.is(thread_replicate)) {
    Value* const from = passed(op.body(0), v->index());
    return from ? of(from, depth + 1) : all;
  }
  if (op.is(thread_fork)) return {0, std::max<std::int64_t>(0, operand(0).hi - 1)};
  if (op.is(arith_cast)) {
    if (!op.operand(0)->type().is_integer() || t == type_i1) return all;
    return operand(0);
  }
  if (op.is(arith_extract)) return all;
  if (op.is(arith_select))
    return joined(of(op.operand(1), depth + 1), of(op.operand(2), depth + 1));
  if (t == type_i1) return all;
  if (op.is(arith_add)) {
    const Range a = operand(0), b = operand(1);
    return {a.lo + b.lo, a.hi + b.hi};
  }
  if (op.is(arith_sub)) {
    const Range a = operand(0), b = operand(1);
    return {a.lo - b.hi, a.hi - b.lo};
  }
  if (op.is(arith_mul)) {
    const Range a = operand(0), b = operand(1);
    if (!a.within(INT16_MIN, UINT16_MAX) || !b.within(INT16_MIN, UINT16_MAX)) return all;
    const auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
    return {lo, hi};
  }
  if (op.is(arith_min)) {
    const Range a = operand(0), b = operand(1);
    return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  }
  if (op.is(arith_max)) {
    const Range a = operand(0), b = operand(1);
    return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  if (op.is(arith_and)) {
    const Range a = operand(0), b = operand(1);
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0 || b.lo >= 0) return {0, a.lo >= 0 ? a.hi : b.hi};
    return all;
  }
  if (op.is(arith_or) || op.is(arith_xor)) {
    const Range a = operand(0), b = operand(1);
    for (const std::int64_t most : {0xFF, 0xFFFF})
      if (a.within(0, most) && b.within(0, most)) return {0, most};
    return all;
  }
  if (t.bits() < 32) return all;  // counts are taken modulo another width
  if (op.is(arith_shl) && is_constant(op.operand(1), n)) {
    const Range a = operand(0);
    return {a.lo * (std::int64_t{1} << (n & 31)), a.hi * (std::int64_t{1} << (n & 31))};
  }
  if (op.is(arith_shr)) {
    const Range a = operand(0);
    if (is_constant(op.operand(1), n)) return {a.lo >> (n & 31), a.hi >> (n & 31)};
    return a.lo >= 0 ? Range{0, a.hi} : all;
  }
  if (op.is(arith_rem) && is_constant(op.operand(1), n) && n > 0)
    return {operand(0).lo >= 0 ? 0 : -(n - 1), n - 1};
  if (op.is(arith_div) && is_constant(op.operand(1), n) && n > 0) {
    const Range a = operand(0);
    return {a.lo / n, a.hi / n};
  }
  if (op.is(arith_popcount) || op.is(arith_clz) || op.is(arith_ctz)) return {0, 32};
  return all;
}

}  // namespace revet
