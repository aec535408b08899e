/// The op `example_op.average`: the mean of two integers of one type, rounded down, exact for all
/// values (a + b cannot overflow because it is never computed).
///
///   %m = example_op.average(%a, %b) : (i32, i32) -> (i32)
///
/// Operands and result have one type of i8 i16 i32 u8 u16 u32. The result is floor((a + b) / 2) in
/// unbounded integers, so of -3 and 0 it is -2.
///
/// Before a backend sees it, it becomes core ops (`expand`), here by a + b = 2 (a & b) + (a ^ b):
///
///   %both = arith.and(%a, %b)
///   %differ = arith.xor(%a, %b)
///   %half = arith.shr(%differ, %one)        arithmetic for signed types: it rounds down
///   %m = arith.add(%both, %half)
#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"

namespace {

using namespace revet;

void verify(const Op& op, VerifyReport& report) {
  const Type type = op.operand(0)->type();
  if (!type.is_integer() || type == type_i1)
    return report.fail(op, "averages integers of 8, 16 or 32 bits, not " + type.str());
  for (const Type other : {op.operand(1)->type(), op.result()->type()})
    if (other != type)
      report.fail(op,
                  "operands and result have one type, not " + type.str() + " and " + other.str());
}

/// The mean of two constants, and of a value with itself.
std::optional<Folded> fold(const Op& op, std::span<const Attr* const> constants) {
  if (op.operand(0) == op.operand(1)) return Folded{op.operand(0)};
  if (!constants[0] || !constants[1]) return std::nullopt;
  const std::int64_t sum = *constants[0]->as_int() + *constants[1]->as_int();
  return Folded{Attr(sum >> 1)};
}

std::vector<Value*> expand(Op& op) {
  Builder builder = Builder::before(op);
  Value* const a = op.operand(0);
  Value* const b = op.operand(1);
  Value* const both = builder.binary(ops::arith_and, a, b);
  Value* const differ = builder.binary(ops::arith_xor, a, b);
  Value* const half = builder.binary(ops::arith_shr, differ, builder.constant(a->type(), 1));
  return {builder.binary(ops::arith_add, both, half)};
}

OpInfo average_info() {
  OpInfo info;
  info.name = "example_op.average";
  info.summary = "(a + b) / 2 rounded down, without overflow";
  info.operands = exactly(2);
  info.operand_help = "a, b";
  info.results = exactly(1);
  info.result_help = "mean";
  info.effects = [](const Op&, std::vector<Effect>&) {};  // none: passes may move and merge it
  info.verify = verify;
  info.fold = fold;
  info.expand = expand;
  return info;
}

/// Ops are told apart by the addresses of their descriptions: one object, for the whole run.
const OpInfo average = average_info();

void register_plugin(Registry& registry) { registry.add_op(average); }

}  // namespace

REVET_PLUGIN("example-op", "An op for the mean of two integers", register_plugin)
