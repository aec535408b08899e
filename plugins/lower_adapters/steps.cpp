#include "steps.hpp"

#include <algorithm>
#include <numeric>

#include "revet/ranges.hpp"

namespace revet {
namespace {

constexpr std::int64_t largest_pointer = 255;

/// A constant's value that is not negative, else -1.
std::int64_t constant_of(const Value& v) {
  std::int64_t n = 0;
  return is_constant(&v, n) ? std::max<std::int64_t>(n, -1) : -1;
}

/// Walks the structured code behind an iterator's opening. The state is whether the tile is filled
/// on every way to the place.
class Walk {
 public:
  Walk(const Op& open, std::int64_t tile) : unit(tile), iterator_(open.result()), tile_(tile) {}

  void block(const Op* op, bool& filled) {
    for (; op; op = op->next()) visit(*op, filled);
  }

  bool small = true;
  std::int64_t unit, longest = 0, furthest = 0;

 private:
  void visit(const Op& op, bool& filled) {
    const auto& operands = op.operands();
    const bool uses = std::find(operands.begin(), operands.end(), iterator_) != operands.end();
    if (uses && (op.is(ops::mem_iter_load) || op.is(ops::mem_iter_peek))) {
      const std::int64_t ahead = op.is(ops::mem_iter_peek) ? constant_of(*op.operand(1)) : 0;
      furthest = std::max(furthest, ahead < 0 ? tile_ : ahead);
      filled |= ops::predicate(op) == nullptr;
    } else if (uses && op.is(ops::mem_iter_next)) {
      const std::int64_t step = constant_of(*op.operand(1));
      small &= filled && step >= 0 && tile_ - 1 + step <= largest_pointer;
      if (step >= 0) unit = std::gcd(unit, step);
      longest = std::max(longest, step);
      filled = false;
    } else if (op.is(ops::thread_if)) {
      bool first = filled, second = filled;
      block(op.body(0).first(), first);
      block(op.body(1).first(), second);
      filled = first && second;
    } else if (op.is(ops::thread_while)) {
      // A second round from the state in which the first one ends, if that is worse.
      for (bool entry = filled, again = true; again;) {
        bool state = entry;
        block(op.body(0).first(), state);
        filled = state;
        block(op.body(1).first(), state);
        again = entry && !state;
        entry = entry && state;
      }
    } else if (op.is(ops::thread_replicate)) {
      block(op.body(0).first(), filled);
    }
  }

  const Value* iterator_;
  std::int64_t tile_;
};

}  // namespace

Stride stride_of(const Op& open, std::int64_t tile) {
  Walk walk(open, tile);
  bool filled = false;
  walk.block(open.next(), filled);
  Stride out;
  out.furthest = walk.furthest;
  if (!walk.small || tile > largest_pointer) return out;
  out.unit = walk.unit;
  // All steps are the unit, of which the tile is a multiple.
  out.steps = walk.longest <= walk.unit ? Steps::exact : Steps::small;
  return out;
}

}  // namespace revet
