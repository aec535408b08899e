/// The table of `thread` ops: constraints and verify functions. revet/ops.hpp says what each means.
#include <fmt/format.h>

#include "op_table.hpp"
#include "revet/scalar.hpp"

namespace revet::ops {
namespace {

/// `terminator` yields values of the given types.
void expect_yield(const Op& op, const Block& block, const OpInfo& terminator,
                  const std::vector<Type>& types, VerifyReport& report) {
  const Op* last = block.terminator();
  if (!last) return;  // reported by the verifier
  if (last->is(thread_exit)) return;
  if (!last->is(terminator))
    return report.fail(
        *last, fmt::format("a region of {} ends in {} or thread.exit", op.name(), terminator.name));
  const unsigned skip = last->is(thread_condition) ? 1 : 0;
  if (last->num_operands() != types.size() + skip)
    return report.fail(
        *last, fmt::format("expects {} values, has {}", types.size() + skip, last->num_operands()));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (last->operand(static_cast<unsigned>(i) + skip)->type() != types[i])
      report.fail(*last, fmt::format("value {} has type {}, expected {}", i,
                                     last->operand(static_cast<unsigned>(i) + skip)->type().str(),
                                     types[i].str()));
}

std::vector<Type> types_of(const auto& values) {
  std::vector<Type> out;
  for (const auto& v : values) out.push_back(v->type());
  return out;
}

void verify_func(const Op& op, VerifyReport& report) {
  if (op.parent_op()) report.fail(op, "a function stands at module level");
  const Attr::Array* args = op.attr("args") ? op.attr("args")->as_array() : nullptr;
  expect(args && args->size() == op.body().num_args(), op, report,
         "`args` names each block argument");
  for (const auto& arg : op.body().args())
    expect(arg->type().is_scalar(), op, report, "parameters are scalars");
  const Type* result = op.attr("result") ? op.attr("result")->as_type() : nullptr;
  if (!result) return;
  std::vector<Type> types;
  if (result->kind != Kind::none) types.push_back(*result);
  // At the cfg level a function has many blocks, and one of them returns.
  for (const auto& block : op.region().blocks())
    if (op.region().size() == 1 || (block->terminator() && block->terminator()->is(thread_return)))
      expect_yield(op, *block, thread_return, types, report);
}

void verify_if(const Op& op, VerifyReport& report) {
  expect(op.operand(0)->type() == type_i1, op, report, "the condition must be i1");
  for (unsigned r = 0; r < 2; ++r) {
    expect(op.body(r).num_args() == 0, op, report, "regions of an if take no arguments");
    expect_yield(op, op.body(r), thread_yield, types_of(op.results()), report);
  }
}

void verify_while(const Op& op, VerifyReport& report) {
  const Block& before = op.body(0);
  const Block& body = op.body(1);
  expect(types_of(op.operands()) == types_of(before.args()), op, report,
         "the arguments of `before` must have the types of the operands");
  expect(types_of(op.results()) == types_of(body.args()), op, report,
         "the arguments of `body` must have the types of the results");
  expect_yield(op, before, thread_condition, types_of(op.results()), report);
  expect_yield(op, body, thread_yield, types_of(op.operands()), report);
}

void verify_condition(const Op& op, VerifyReport& report) {
  expect(op.operand(0)->type() == type_i1, op, report, "the condition must be i1");
  expect(op.parent_op() && op.parent_op()->is(thread_while), op, report,
         "stands only in a thread.while");
}

void verify_foreach(const Op& op, VerifyReport& report) {
  const Type t = op.operand(0)->type();
  expect(t.is_integer() && t != type_i1, op, report, "the range must be of an integer type");
  expect(op.operand(1)->type() == t && op.operand(2)->type() == t, op, report,
         "lo, hi and step must have one type");
  expect(op.body().num_args() == 1 && op.body().arg(0)->type() == t, op, report,
         "the body has one argument, the index, of the range's type");
  const Attr::Array none;
  const Attr* attr = op.attr("reduce");
  const Attr::Array& reduce = attr && attr->as_array() ? *attr->as_array() : none;
  expect(reduce.size() == op.num_results(), op, report, "`reduce` names one operator per result");
  for (unsigned i = 0; i < reduce.size() && i < op.num_results(); ++i) {
    const std::string* spelling = reduce[i].as_string();
    expect(spelling && is_reduction(*spelling), op, report, "unknown reduction operator");
    if (!spelling || !is_reduction(*spelling)) continue;
    const Type r = op.result(i)->type();
    const bool logical = *spelling == "&&" || *spelling == "||";
    const bool bitwise = *spelling == "&" || *spelling == "|" || *spelling == "^";
    expect(r.is_scalar() && logical == (r == type_i1) && !(bitwise && r.is_float()), op, report,
           "the result's type does not fit the reduction operator");
  }
  expect_yield(op, op.body(), thread_yield, types_of(op.results()), report);
}

void verify_replicate(const Op& op, VerifyReport& report) {
  expect(op.int_attr("n") >= 1, op, report, "`n` must be at least 1");
  expect_yield(op, op.body(), thread_yield, types_of(op.results()), report);
}

void verify_fork(const Op& op, VerifyReport& report) {
  expect(is_index(op.operand(0)->type()), op, report, "n must be i32 or u32");
  expect(op.result()->type() == op.operand(0)->type(), op, report, "the result has n's type");
}

void verify_yield(const Op& op, VerifyReport& report) {
  const Op* p = op.parent_op();
  expect(p && !p->is(thread_func), op, report, "stands in a region of a structured op");
}

void verify_return(const Op& op, VerifyReport& report) {
  expect(op.parent_op() && op.parent_op()->is(thread_func), op, report,
         "stands at the end of a thread.func");
}

OpInfo thread_op(const char* name, const char* summary, Count operands, Count results,
                 unsigned regions, std::vector<AttrSpec> attrs, Verify verify,
                 const char* operand_help = "", const char* result_help = "") {
  OpInfo info = make(name, summary, Level::thread, operands, results, operand_help, result_help);
  info.regions = exactly(regions);
  info.attrs = std::move(attrs);
  info.verify = std::move(verify);
  return info;
}

OpInfo with_control(OpInfo info) {
  info.control = true;
  return info;
}

OpInfo as_terminator(OpInfo info) {
  info.terminator = true;
  return info;
}

const AttrSpec link_attr{"link", AttrKind::string, false, "\"scalar\" or \"vector\" links"};
const AttrSpec join_attr{"join", AttrKind::boolean, false,
                         "all threads but one from a fork with it end at an exit with it"};
const AttrSpec unroll_attr{"unroll", AttrKind::integer, false, "unrolling asked for by pragma"};

}  // namespace

const OpInfo thread_func =
    thread_op("thread.func", "A function; main is the program", exactly(0), exactly(0), 1,
              {{"sym", AttrKind::string, true, "name"},
               {"args", AttrKind::array, true, "parameter names"},
               {"result", AttrKind::type, true, "result type, void for none"}},
              verify_func);
const OpInfo thread_call = [] {
  OpInfo info = thread_op("thread.call", "Calls a function", at_least(0), between(0, 1), 0,
                          {{"callee", AttrKind::string, true, "name of the function"}}, {},
                          "arguments", "the function's value");
  info.effects = nullptr;  // whatever the callee does
  info.control = true;
  return info;
}();
const OpInfo thread_return = as_terminator(thread_op(
    "thread.return", "Ends a function", between(0, 1), exactly(0), 0, {}, verify_return, "value"));
const OpInfo thread_if = thread_op(
    "thread.if", "Runs one of two regions", exactly(1), at_least(0), 2,
    {{"unlikely", AttrKind::boolean, false, "stays a branch: most threads do not take it"},
     link_attr},
    verify_if, "condition", "values of the region that ran");
const OpInfo thread_while = with_control(thread_op(
    "thread.while", "Loops while the condition of `before` holds", at_least(0), at_least(0), 2,
    {unroll_attr, link_attr}, verify_while, "initial values", "values of the condition"));
const OpInfo thread_condition =
    as_terminator(thread_op("thread.condition", "Ends the `before` region of a while", at_least(1),
                            exactly(0), 0, {}, verify_condition, "go on, values"));
const OpInfo thread_foreach = with_control(thread_op(
    "thread.foreach", "A child thread per index, then a join", exactly(3), at_least(0), 1,
    {{"reduce", AttrKind::array, false, "one operator per result"},
     {"eliminate_hierarchy", AttrKind::boolean, false, "pragma: may become forked threads"},
     {"threads", AttrKind::integer, false, "pragma: pointers of the SRAMs in the body"},
     unroll_attr,
     link_attr},
    verify_foreach, "lo, hi, step", "reduced values"));
const OpInfo thread_replicate = thread_op(
    "thread.replicate", "A region of which hardware has n copies", exactly(0), at_least(0), 1,
    {{"n", AttrKind::integer, true, "copies"},
     {"fixed", AttrKind::boolean, false, "pragma: n is not to be changed"},
     {"threads", AttrKind::integer, false, "pragma: pointers of the SRAMs in the region"},
     link_attr},
    verify_replicate, "", "values of the region");
const OpInfo thread_fork =
    with_control(thread_op("thread.fork", "The thread becomes n threads that go on from here",
                           exactly(1), exactly(1), 0, {join_attr}, verify_fork, "n", "0 .. n-1"));
const OpInfo thread_exit = with_control(as_terminator(
    thread_op("thread.exit", "Ends the thread", exactly(0), exactly(0), 0, {join_attr}, {})));
const OpInfo thread_yield =
    as_terminator(thread_op("thread.yield", "Ends a region, giving its values", at_least(0),
                            exactly(0), 0, {}, verify_yield, "values"));

}  // namespace revet::ops
