/// Which 32-bit values hold no more than 8 or 16 bits.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "revet/ranges.hpp"

namespace revet {

/// Interval analysis with loops: a loop-carried value is in a range if its first value is, and if,
/// given that, so is every next one. In a body, what its condition passes on satisfies the
/// condition. Asks for what it needs, each answer at most once per proof; proofs that are too large
/// fail.
class Narrowing {
 public:
  /// The narrowest of u8, i8, u16, i16 that holds the value, or the value's own type if that is
  /// narrow; nullopt for other types and values.
  std::optional<Type> type_of(Value* v);
  /// Forgets what it knows; for when the values have changed.
  void forget() { proven_.clear(); }

 private:
  bool holds(Value* v, Range range, bool carried_too);
  Range of(Value* v, unsigned depth);
  Range compute(Value* v, unsigned depth);
  Range of_argument(Value* v, unsigned depth);
  Range refined(Value* v, Range r, const Value* condition, unsigned depth);

  std::unordered_map<const Value*, Range> proven_;  ///< loop-carried values
  // Of the proof at hand:
  Range goal_{0, 0};
  bool carried_too_ = false;  ///< other loop-carried values have to be in the goal as well
  std::unordered_map<const Value*, Range> known_;
  std::vector<Value*> assumed_;
};

}  // namespace revet
