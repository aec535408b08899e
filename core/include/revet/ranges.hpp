/// What values an integer can have, from its definition alone: enough to see that indices do not
/// wrap and that loops are short.
#pragma once

#include <unordered_map>

#include "revet/ops.hpp"

namespace revet {

/// From lo to hi, as numbers.
struct Range {
  std::int64_t lo, hi;
  bool within(std::int64_t a, std::int64_t b) const { return lo >= a && hi <= b; }
};

Range range_of_type(Type t);
/// The number that a constant is.
std::int64_t number_of(Kind k, std::uint32_t bits);
/// The arith.constant that defines the value, or null.
const Op* constant_op(const Value* v);
/// True if v is an integer constant; then `n` is its value.
bool is_constant(const Value* v, std::int64_t& n);

/// Interval analysis on demand. Keeps what it found: the values it was asked about must not change
/// meanwhile.
class Ranges {
 public:
  Range of(const Value* v) { return of(v, 0); }
  /// True if the result of an add, sub, mul, shl or neg is what it is without wrapping.
  bool exact(const Op& op);
  /// The result of an add, sub, mul, shl or neg on numbers.
  Range unwrapped(const Op& op) { return unwrapped(op, 0); }

 private:
  Range of(const Value* v, unsigned depth);
  Range compute(const Value* v, unsigned depth);
  Range unwrapped(const Op& op, unsigned depth);
  std::unordered_map<const Value*, Range> known_;
};

}  // namespace revet
