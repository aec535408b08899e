/// The table of `cfg` ops, terminators of the blocks that a function has at the cfg level.
/// revet/ops.hpp says what each means.
#include <fmt/format.h>

#include "op_table.hpp"
#include "revet/scalar.hpp"

namespace revet::ops {
namespace {

OpInfo terminator(const char* name, const char* summary, Count operands, Count successors,
                  std::vector<AttrSpec> attrs, Verify verify, const char* operand_help = "") {
  OpInfo info = make(name, summary, Level::cfg, operands, exactly(0), operand_help, "");
  info.successors = successors;
  info.attrs = std::move(attrs);
  info.verify = std::move(verify);
  info.terminator = true;
  info.control = true;
  return info;
}

/// Successor `i` takes the successor's arguments, after `given` of its own.
void expect_args(const Op& op, unsigned i, const std::vector<Type>& given, VerifyReport& report) {
  const Block& to = *op.successor(i);
  const auto args = op.successor_args(i);
  if (to.num_args() != given.size() + args.size())
    return report.fail(op, fmt::format("successor {} takes {} arguments, gets {}", i, to.num_args(),
                                       given.size() + args.size()));
  for (unsigned k = 0; k < to.num_args(); ++k) {
    const Type t = k < given.size() ? given[k] : args[k - given.size()]->type();
    if (to.arg(k)->type() != t)
      report.fail(op, fmt::format("argument {} of successor {} has type {}, gets {}", k, i,
                                  to.arg(k)->type().str(), t.str()));
  }
}

void verify_branch(const Op& op, VerifyReport& report) {
  for (unsigned i = 0; i < op.num_successors(); ++i) expect_args(op, i, {}, report);
}

void verify_cond_br(const Op& op, VerifyReport& report) {
  expect(op.own_operands().size() == 1 && op.operand(0)->type() == type_i1, op, report,
         "the condition must be i1");
  verify_branch(op, report);
}

void verify_enter(const Op& op, VerifyReport& report) {
  if (op.own_operands().size() != 3) return report.fail(op, "expects lo, hi, step");
  const Type t = op.operand(0)->type();
  expect(t.is_integer() && op.operand(1)->type() == t && op.operand(2)->type() == t, op, report,
         "lo, hi and step must have one integer type");
  expect_args(op, 0, {t}, report);
  expect(op.successor_args(1).empty(), op, report,
         "the block behind a foreach takes the reduced values only");
}

void verify_fork(const Op& op, VerifyReport& report) {
  if (op.own_operands().size() != 1) return report.fail(op, "expects n");
  expect(is_index(op.operand(0)->type()), op, report, "n must be i32 or u32");
  expect_args(op, 0, {op.operand(0)->type()}, report);
}

void verify_reduce(const Op& op, VerifyReport& report) {
  const Attr* attr = op.attr("reduce");
  const Attr::Array none;
  const Attr::Array& reduce = attr && attr->as_array() ? *attr->as_array() : none;
  expect(reduce.size() == op.num_operands(), op, report, "`reduce` names one operator per value");
  for (const Attr& a : reduce)
    expect(a.as_string() && is_reduction(*a.as_string()), op, report, "unknown reduction operator");
}

}  // namespace

namespace {
const AttrSpec link_attr{"link", AttrKind::string, false, "\"scalar\" or \"vector\" links"};
}  // namespace

const OpInfo cfg_br = terminator("cfg.br", "Goes to a block; paths meet there in a forward merge",
                                 at_least(0), exactly(1), {link_attr}, verify_branch, "arguments");
const OpInfo cfg_cond_br =
    terminator("cfg.cond_br", "Goes to one of two blocks", at_least(1), exactly(2),
               {{"unlikely", AttrKind::boolean, false, "few threads go to the first"}, link_attr},
               verify_cond_br, "condition, arguments");
const OpInfo cfg_loop_br =
    terminator("cfg.loop_br", "Goes to a loop header, a forward-backward merge", at_least(0),
               exactly(1), {{"back", AttrKind::boolean, false, "from inside the loop"}, link_attr},
               verify_branch, "arguments");
const OpInfo cfg_loop_exit = terminator(
    "cfg.loop_exit", "Leaves loops: barriers go down a level for each", at_least(0), exactly(1),
    {{"loops", AttrKind::integer, true, "loops left"}}, verify_branch, "arguments");
const OpInfo cfg_foreach_enter = terminator(
    "cfg.foreach_enter", "Starts a child per index at the first block; goes on at the second",
    at_least(3), exactly(2),
    {{"eliminate_hierarchy", AttrKind::boolean, false, "pragma"},
     {"threads", AttrKind::integer, false, "pragma: pointers of the SRAMs in the body"},
     {"unroll", AttrKind::integer, false, "pragma"},
     link_attr},
    verify_enter, "lo, hi, step, arguments");
const OpInfo cfg_reduce = terminator(
    "cfg.reduce", "Ends a child; the parent gets the reduced values", at_least(0), exactly(0),
    {{"reduce", AttrKind::array, false, "one operator per value"}}, verify_reduce, "values");
const OpInfo cfg_fork = terminator("cfg.fork", "The thread becomes n threads that go on there",
                                   at_least(1), exactly(1), {}, verify_fork, "n, arguments");
const OpInfo cfg_exit = terminator(
    "cfg.exit", "Ends the thread: only barriers go on to the end of the child or of main",
    exactly(0), exactly(1), {{"loops", AttrKind::integer, true, "loops left"}}, {});

}  // namespace revet::ops
