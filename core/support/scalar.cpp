// One rule covers every integer type: operands arrive extended to 32 bits (scalar.hpp), the
// operation is the 32-bit one, and its result is wrapped to the type. So an 8-bit shift takes its
// count modulo 32 and clz of a `char` counts from bit 31, as they do after C's promotions. The
// results of popcount, clz and ctz have type int.
#include "revet/scalar.hpp"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "revet/diagnostics.hpp"
#include "revet/ops.hpp"

namespace revet {
namespace {

std::int32_t as_signed(std::uint32_t x) { return static_cast<std::int32_t>(x); }
std::uint32_t as_unsigned(std::int32_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t truth(bool b) { return b ? 1u : 0u; }
bool signed_kind(Kind k) { return k >= Kind::i8 && k <= Kind::i32; }

std::uint32_t compare(Scalar op, bool less, bool equal, bool greater) {
  switch (op) {
    case Scalar::eq: return truth(equal);
    case Scalar::ne: return truth(!equal);
    case Scalar::lt: return truth(less);
    case Scalar::le: return truth(less || equal);
    case Scalar::gt: return truth(greater);
    default: return truth(greater || equal);
  }
}

/// Operations that floats do not have (bits, shifts, remainder) give 0; the verifier refuses them.
std::uint32_t apply_float(Scalar op, std::uint32_t a, std::uint32_t b) {
  const float x = as_float(a);
  const float y = as_float(b);
  switch (op) {
    case Scalar::add: return as_bits(x + y);
    case Scalar::sub: return as_bits(x - y);
    case Scalar::mul: return as_bits(x * y);
    case Scalar::div: return as_bits(x / y);  // IEEE: x / 0 is an infinity or a NaN
    case Scalar::min: return y < x ? b : a;
    case Scalar::max: return x < y ? b : a;
    case Scalar::eq:
    case Scalar::ne:
    case Scalar::lt:
    case Scalar::le:
    case Scalar::gt:
    case Scalar::ge: return compare(op, x<y, x == y, x> y);
    default: return 0;
  }
}

std::uint32_t apply_signed(Scalar op, std::uint32_t ua, std::uint32_t ub) {
  const std::int32_t a = as_signed(ua);
  const std::int32_t b = as_signed(ub);
  switch (op) {
    case Scalar::div:
      if (b == 0) return ~0u;
      return b == -1 ? 0u - ua : as_unsigned(a / b);
    case Scalar::rem:
      if (b == 0) return ua;
      return b == -1 ? 0u : as_unsigned(a % b);
    case Scalar::shr: return as_unsigned(a >> (ub & 31u));
    case Scalar::min: return b < a ? ub : ua;
    case Scalar::max: return a < b ? ub : ua;
    case Scalar::mulhi:
      return static_cast<std::uint32_t>(
          static_cast<std::uint64_t>(std::int64_t{a} * std::int64_t{b}) >> 32);
    default: return compare(op, a<b, a == b, a> b);
  }
}

std::uint32_t apply_unsigned(Scalar op, std::uint32_t a, std::uint32_t b) {
  switch (op) {
    case Scalar::div: return b == 0 ? ~0u : a / b;
    case Scalar::rem: return b == 0 ? a : a % b;
    case Scalar::shr: return a >> (b & 31u);
    case Scalar::min: return b < a ? b : a;
    case Scalar::max: return a < b ? b : a;
    case Scalar::mulhi: return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32);
    default: return compare(op, a<b, a == b, a> b);
  }
}

std::uint32_t saturate(Kind to, float x) {
  if (std::isnan(x)) return 0;
  const Type type{to};
  const unsigned bits = type.bits();
  // Every bound is exact in double, and so is x.
  const double limit = std::ldexp(1.0, static_cast<int>(type.is_signed() ? bits - 1 : bits));
  const double low = type.is_signed() ? -limit : 0.0;
  const double high = limit - 1.0;
  const double value = std::trunc(static_cast<double>(x));
  const double held = value < low ? low : value > high ? high : value;
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(held));
}

float to_float(Kind from, std::uint32_t a) {
  return signed_kind(from) ? static_cast<float>(as_signed(a)) : static_cast<float>(a);
}

struct ReductionRow {
  const char* spelling;
  Scalar op;
};
constexpr std::array<ReductionRow, 9> reductions{{{"+", Scalar::add},
                                                  {"*", Scalar::mul},
                                                  {"&", Scalar::and_},
                                                  {"|", Scalar::or_},
                                                  {"^", Scalar::xor_},
                                                  {"min", Scalar::min},
                                                  {"max", Scalar::max},
                                                  {"&&", Scalar::and_},
                                                  {"||", Scalar::or_}}};

/// Register content of the largest or smallest value of a type.
std::uint32_t extreme(Kind k, bool largest) {
  const Type type{k};
  if (type.is_float()) return as_bits(largest ? INFINITY : -INFINITY);
  if (!type.is_signed()) return largest ? wrap(k, ~0u) : 0u;
  const std::uint32_t top = 1u << (type.bits() - 1);
  return wrap(k, largest ? top - 1 : top);
}

}  // namespace

std::uint32_t apply(Scalar op, Kind k, std::uint32_t a, std::uint32_t b) {
  if (k == Kind::f32) return apply_float(op, a, b);
  switch (op) {
    case Scalar::add: return wrap(k, a + b);
    case Scalar::sub: return wrap(k, a - b);
    case Scalar::mul: return wrap(k, a * b);
    case Scalar::and_: return wrap(k, a & b);
    case Scalar::or_: return wrap(k, a | b);
    case Scalar::xor_: return wrap(k, a ^ b);
    case Scalar::shl: return wrap(k, a << (b & 31u));
    case Scalar::rotl: return wrap(k, std::rotl(a, static_cast<int>(b & 31u)));
    case Scalar::rotr: return wrap(k, std::rotr(a, static_cast<int>(b & 31u)));
    case Scalar::div:
    case Scalar::rem:
    case Scalar::shr:
    case Scalar::min:
    case Scalar::max:
    case Scalar::mulhi:
      return wrap(k, signed_kind(k) ? apply_signed(op, a, b) : apply_unsigned(op, a, b));
    case Scalar::eq:
    case Scalar::ne:
    case Scalar::lt:
    case Scalar::le:
    case Scalar::gt:
    case Scalar::ge: return signed_kind(k) ? apply_signed(op, a, b) : apply_unsigned(op, a, b);
    default: return 0;  // unary operations, select and cast have functions of their own
  }
}

std::uint32_t apply(Scalar op, Kind k, std::uint32_t a) {
  constexpr std::uint32_t sign = 0x80000000u;
  if (k == Kind::f32) {
    if (op == Scalar::neg) return a ^ sign;
    return op == Scalar::abs ? a & ~sign : 0u;
  }
  switch (op) {
    case Scalar::neg: return wrap(k, 0u - a);
    case Scalar::abs: return wrap(k, signed_kind(k) && as_signed(a) < 0 ? 0u - a : a);
    case Scalar::popcount: return static_cast<std::uint32_t>(std::popcount(a));
    case Scalar::clz: return static_cast<std::uint32_t>(std::countl_zero(a));
    case Scalar::ctz: return static_cast<std::uint32_t>(std::countr_zero(a));
    default: return 0;
  }
}

std::uint32_t convert(Kind from, Kind to, std::uint32_t a) {
  if (from == Kind::f32) {
    if (to == Kind::f32) return a;
    return to == Kind::i1 ? truth(as_float(a) != 0.0f) : saturate(to, as_float(a));
  }
  if (to == Kind::f32) return as_bits(to_float(from, a));
  return to == Kind::i1 ? truth(a != 0) : wrap(to, a);
}

Scalar scalar_of(const Op& op) {
  using namespace ops;
  if (op.is(arith_cmp)) {
    static constexpr std::array<std::pair<const char*, Scalar>, 6> predicates{{{"eq", Scalar::eq},
                                                                               {"ne", Scalar::ne},
                                                                               {"lt", Scalar::lt},
                                                                               {"le", Scalar::le},
                                                                               {"gt", Scalar::gt},
                                                                               {"ge", Scalar::ge}}};
    for (const auto& [spelling, scalar] : predicates)
      if (op.str_attr("pred") == spelling) return scalar;
    throw InternalError("arith.cmp with the predicate '" + op.str_attr("pred") + "'");
  }
  static const std::array<std::pair<const OpInfo*, Scalar>, 22> table{
      {{&arith_add, Scalar::add},       {&arith_sub, Scalar::sub},
       {&arith_mul, Scalar::mul},       {&arith_div, Scalar::div},
       {&arith_rem, Scalar::rem},       {&arith_and, Scalar::and_},
       {&arith_or, Scalar::or_},        {&arith_xor, Scalar::xor_},
       {&arith_shl, Scalar::shl},       {&arith_shr, Scalar::shr},
       {&arith_min, Scalar::min},       {&arith_max, Scalar::max},
       {&arith_mulhi, Scalar::mulhi},   {&arith_rotl, Scalar::rotl},
       {&arith_rotr, Scalar::rotr},     {&arith_neg, Scalar::neg},
       {&arith_abs, Scalar::abs},       {&arith_popcount, Scalar::popcount},
       {&arith_clz, Scalar::clz},       {&arith_ctz, Scalar::ctz},
       {&arith_select, Scalar::select}, {&arith_cast, Scalar::cast}}};
  for (const auto& [info, scalar] : table)
    if (op.is(*info)) return scalar;
  throw InternalError("'" + op.name() + "' is no arithmetic operation");
}

std::uint32_t apply(Atomic op, Kind k, std::uint32_t old, std::uint32_t value,
                    std::uint32_t desired) {
  switch (op) {
    case Atomic::add: return apply(Scalar::add, k, old, value);
    case Atomic::sub: return apply(Scalar::sub, k, old, value);
    case Atomic::and_: return apply(Scalar::and_, k, old, value);
    case Atomic::or_: return apply(Scalar::or_, k, old, value);
    case Atomic::xor_: return apply(Scalar::xor_, k, old, value);
    case Atomic::min: return apply(Scalar::min, k, old, value);
    case Atomic::max: return apply(Scalar::max, k, old, value);
    case Atomic::exchange: return value;
    case Atomic::cas: return old == value ? desired : old;
  }
  return old;
}

std::optional<Atomic> atomic_named(std::string_view spelling) {
  for (std::size_t i = 0; i < std::size(atomic_names); ++i)
    if (atomic_names[i] == spelling) return static_cast<Atomic>(i);
  return std::nullopt;
}

Atomic atomic_of(const Op& op) {
  if (const auto atomic = atomic_named(op.str_attr("op"))) return *atomic;
  throw InternalError("'" + op.name() + "' with the operation '" + op.str_attr("op") + "'");
}

std::uint32_t constant_bits(const Op& op) {
  const Attr* value = op.attr("value");
  const Kind k = op.result()->type().kind;
  if (value && value->as_float()) return convert(Kind::f32, k, as_bits(*value->as_float()));
  if (value && value->as_bool()) return convert(Kind::i1, k, truth(*value->as_bool()));
  if (value && value->as_int()) {
    if (k == Kind::f32) return as_bits(static_cast<float>(*value->as_int()));
    return wrap(k, static_cast<std::uint32_t>(*value->as_int()));
  }
  throw InternalError("arith.constant without a number as its value");
}

bool is_reduction(const std::string& spelling) {
  for (const ReductionRow& row : reductions)
    if (spelling == row.spelling) return true;
  return false;
}

Reduction reduction_of(const std::string& spelling, Kind k) {
  for (const ReductionRow& row : reductions) {
    if (spelling != row.spelling) continue;
    switch (row.op) {
      case Scalar::mul: return {row.op, convert(Kind::i1, k, 1)};
      case Scalar::and_: return {row.op, spelling == "&" ? wrap(k, ~0u) : 1u};
      case Scalar::min: return {row.op, extreme(k, true)};
      case Scalar::max: return {row.op, extreme(k, false)};
      default: return {row.op, 0};
    }
  }
  throw InternalError("'" + spelling + "' is no reduction operator");
}

std::uint64_t trip_count(Kind k, std::uint32_t lo, std::uint32_t hi, std::uint32_t step) {
  const auto widen = [k](std::uint32_t x) {
    return signed_kind(k) ? std::int64_t{as_signed(x)} : std::int64_t{x};
  };
  const std::int64_t first = widen(lo);
  const std::int64_t end = widen(hi);
  const std::int64_t by = widen(step);
  if (by == 0) return 0;
  const std::int64_t distance = by > 0 ? end - first : first - end;
  if (distance <= 0) return 0;
  return static_cast<std::uint64_t>((distance - 1) / (by > 0 ? by : -by) + 1);
}

}  // namespace revet
