/// Turns multiplications, divisions and remainders by powers of two into shifts and masks.
///
/// Before (%x: u32):                       After:
///   %p = arith.mul(%x, %eight)              %p = arith.shl(%x, %three)
///   %q = arith.div(%x, %eight)              %q = arith.shr(%x, %three)
///   %r = arith.rem(%x, %eight)              %r = arith.and(%x, %seven)
///
/// Algorithm: strength reduction, op by op. A product wraps as the shift does, so every integer
/// type will do. A signed quotient rounds towards 0 and a shift towards minus infinity, so division
/// and remainder need an operand that cannot be negative: its type or its range
/// (revet/ranges.hpp) says so. Linear, since the depth of the range analysis is bounded.
///
/// Why here: behind `canonicalize`, which makes the constants visible, and before code is emitted
/// or placed: a divider is the slowest unit there is.
///
/// Does not handle: signed operands that may be negative, other constants (multiplication by an
/// inverse), a dividend that is a quotient itself (until it is a shift, which has a range: a second
/// run finds it).
#include <bit>
#include <optional>

#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"
#include "revet/ranges.hpp"

namespace {

using namespace revet;

/// An op to replace: operand `x` of it times, by or modulo two to the power of `shift`.
struct Match {
  Op* op;
  unsigned x;
  unsigned shift;
};

/// The k for which the constant is two to the power of k, as a number of its type's width: the i8
/// constant -128 is one with k = 7.
std::optional<unsigned> power_of_two(const Value* constant) {
  std::int64_t n = 0;
  if (!is_constant(constant, n)) return std::nullopt;
  const auto width_mask = (std::uint64_t{1} << constant->type().bits()) - 1;
  const std::uint64_t bits = static_cast<std::uint64_t>(n) & width_mask;
  if (!std::has_single_bit(bits)) return std::nullopt;
  return static_cast<unsigned>(std::countr_zero(bits));
}

std::optional<Match> match(Op& op, Ranges& ranges) {
  if (op.is(ops::arith_mul)) {
    for (const unsigned i : {1u, 0u})
      if (const auto k = power_of_two(op.operand(i))) return Match{&op, 1 - i, *k};
  } else if (op.is(ops::arith_div) || op.is(ops::arith_rem)) {
    const bool positive = ranges.of(op.operand(0)).lo >= 0 && ranges.of(op.operand(1)).lo > 0;
    if (const auto k = power_of_two(op.operand(1)); k && positive) return Match{&op, 0, *k};
  }
  return std::nullopt;
}

void replace(const Match& match) {
  Op& op = *match.op;
  const Type type = op.result()->type();
  Value* const x = op.operand(match.x);
  Builder builder = Builder::before(op);
  Value* result = nullptr;
  if (op.is(ops::arith_rem)) {
    const std::int64_t mask = (std::int64_t{1} << match.shift) - 1;
    result = builder.binary(ops::arith_and, x, builder.constant(type, mask));
  } else {
    const OpInfo& shift = op.is(ops::arith_mul) ? ops::arith_shl : ops::arith_shr;
    result = builder.binary(shift, x, builder.constant(type, match.shift));
  }
  result->set_name(op.result()->name());
  op.result()->replace_all_uses_with(result);
  op.erase();
}

/// Finds everything first: the ranges hold only as long as the values that they are about.
PassResult run_at(Op& place, PassContext& context) {
  const auto max_shift = static_cast<unsigned>(context.options.integer("max-shift"));
  Ranges ranges;
  std::vector<Match> matches;
  context.visit(0);
  walk(place, [&](Op& op) {
    if (!op.is(ops::arith_mul) && !op.is(ops::arith_div) && !op.is(ops::arith_rem)) return;
    context.visit();
    const auto found = match(op, ranges);
    if (found && found->shift >= 1 && found->shift <= max_shift) matches.push_back(*found);
  });
  bool changed = false;
  for (const Match& match : matches) {
    if (!context.spend()) break;
    context.count(match.op->is(ops::arith_rem) ? "masks" : "shifts");
    replace(match);
    changed = true;
  }
  return PassResult::of(changed);
}

void register_plugin(Registry& registry) {
  PassInfo info;
  info.id = "example-pass";
  info.summary = "Turns arithmetic with powers of two into shifts and masks";
  info.options = {{.name = "max-shift",
                   .type = OptionType::integer,
                   .fallback = "31",
                   .help = "leave powers of two above 2 to this one as they are",
                   .min = 1,
                   .max = 31}};
  info.run_at = run_at;
  registry.add_pass(std::move(info));
}

}  // namespace

REVET_PLUGIN("example-pass", "Strength reduction by powers of two", register_plugin)
