// Interval analysis on demand. Loop-carried values have the range of their type, so nothing here
// iterates; the depth is bounded, so it is linear.
#include "revet/ranges.hpp"

#include <algorithm>

#include "revet/scalar.hpp"

namespace revet {

Range range_of_type(Type t) {
  const unsigned bits = t.bits();
  if (t.is_signed()) return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  return {0, (std::int64_t{1} << bits) - 1};
}

std::int64_t number_of(Kind k, std::uint32_t bits) {
  return Type{k}.is_signed() ? std::int64_t{static_cast<std::int32_t>(bits)} : std::int64_t{bits};
}

const Op* constant_op(const Value* v) {
  const Op* def = v->def();
  return def && def->is(ops::arith_constant) ? def : nullptr;
}

bool is_constant(const Value* v, std::int64_t& n) {
  const Op* def = constant_op(v);
  if (!def || !v->type().is_integer()) return false;
  n = number_of(v->type().kind, constant_bits(*def));
  return true;
}

namespace {

Range held_by(Type t, Range r) {
  const Range all = range_of_type(t);
  return r.within(all.lo, all.hi) ? r : all;
}

Range product(Range a, Range b) {
  const auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
  return {lo, hi};
}

}  // namespace

Range Ranges::of(const Value* v, unsigned depth) {
  const auto it = known_.find(v);
  if (it != known_.end()) return it->second;
  if (!v->type().is_integer() || depth > 12) return {INT32_MIN, INT64_C(0xFFFFFFFF)};
  const Range r = compute(v, depth);
  known_[v] = r;
  return r;
}

/// The result of an operation on numbers; no 32-bit operands can make this overflow.
Range Ranges::unwrapped(const Op& op, unsigned depth) {
  const Range a = of(op.operand(0), depth + 1);
  if (op.is(ops::arith_neg)) return {-a.hi, -a.lo};
  const Range b = of(op.operand(1), depth + 1);
  if (op.is(ops::arith_add)) return {a.lo + b.lo, a.hi + b.hi};
  if (op.is(ops::arith_sub)) return {a.lo - b.hi, a.hi - b.lo};
  if (op.is(ops::arith_mul)) {
    // 2^32 * 2^32 would not fit.
    const bool small = a.within(INT32_MIN, INT32_MAX) && b.within(INT32_MIN, INT32_MAX);
    return small ? product(a, b) : Range{INT64_MIN, INT64_MAX};
  }
  std::int64_t n = 0;
  if (op.is(ops::arith_shl) && is_constant(op.operand(1), n))
    return {a.lo * (std::int64_t{1} << (n & 31)), a.hi * (std::int64_t{1} << (n & 31))};
  if (op.is(ops::arith_shl) && a.lo >= 0 && b.within(0, 31)) return {a.lo << b.lo, a.hi << b.hi};
  return {INT64_MIN, INT64_MAX};
}

bool Ranges::exact(const Op& op) {
  const Type t = op.result()->type();
  if (!t.is_integer()) return false;
  const Range all = range_of_type(t);
  return unwrapped(op, 0).within(all.lo, all.hi);
}

Range Ranges::compute(const Value* v, unsigned depth) {
  const Type t = v->type();
  const Range all = range_of_type(t);
  const Op* def = v->def();
  if (!def) {
    const Op* parent = v->block()->parent_op();
    if (!parent || !parent->is(ops::thread_foreach)) return all;
    const Range lo = of(parent->operand(0), depth + 1);
    const Range hi = of(parent->operand(1), depth + 1);
    const Range step = of(parent->operand(2), depth + 1);
    if (step.lo > 0) return {lo.lo, std::max(lo.lo, hi.hi - 1)};
    if (step.hi < 0) return {std::min(lo.hi, hi.lo + 1), lo.hi};
    return all;
  }
  std::int64_t n = 0;
  if (is_constant(v, n)) return {n, n};
  if (def->is(ops::arith_cast)) {
    if (!def->operand(0)->type().is_integer() || t == type_i1) return all;
    return held_by(t, of(def->operand(0), depth + 1));
  }
  if (def->is(ops::arith_add) || def->is(ops::arith_sub) || def->is(ops::arith_mul) ||
      def->is(ops::arith_shl) || def->is(ops::arith_neg))
    return held_by(t, unwrapped(*def, depth));
  const auto operand = [&](unsigned i) { return of(def->operand(i), depth + 1); };
  if (def->is(ops::arith_min)) {
    const Range a = operand(0), b = operand(1);
    return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  }
  if (def->is(ops::arith_max)) {
    const Range a = operand(0), b = operand(1);
    return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  if (def->is(ops::arith_select)) {
    const Range a = operand(1), b = operand(2);
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  if (def->is(ops::arith_and)) {
    // One operand that is not negative bounds the result from both sides.
    const Range a = operand(0), b = operand(1);
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0 || b.lo >= 0) return {0, a.lo >= 0 ? a.hi : b.hi};
  }
  if (def->is(ops::arith_shr) && is_constant(def->operand(1), n)) {
    const Range a = operand(0);
    return {a.lo >> (n & 31), a.hi >> (n & 31)};
  }
  if (def->is(ops::arith_shr)) {
    const Range a = operand(0);
    if (a.lo >= 0) return {0, a.hi};
  }
  if (def->is(ops::arith_popcount) || def->is(ops::arith_clz) || def->is(ops::arith_ctz))
    return {0, 32};
  return all;
}

}  // namespace revet
