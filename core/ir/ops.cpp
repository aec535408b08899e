/// The table of core ops: constraints, effects and verify functions. revet/ops.hpp says what each op
/// means.
#include "revet/ops.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core_ops.hpp"
#include "folds.hpp"
#include "revet/diagnostics.hpp"
#include "revet/scalar.hpp"

namespace revet::ops {
namespace {

using Effects = std::function<void(const Op&, std::vector<Effect>&)>;
using Verify = std::function<void(const Op&, VerifyReport&)>;

// --- effects ------------------------------------------------------------------------------------

void no_effects(const Op&, std::vector<Effect>&) {}

/// An access to operand 0 at the element of operand 1.
Effects element(Effect::Kind kind) {
  return [kind](const Op& op, std::vector<Effect>& out) {
    out.push_back({kind, op.operand(0), op.operand(1)});
  };
}

/// An access to operand 0 (or the result, for what opens it) at an unknown place.
Effects whole(std::initializer_list<Effect::Kind> kinds) {
  return [kinds = std::vector(kinds)](const Op& op, std::vector<Effect>& out) {
    for (const Effect::Kind kind : kinds)
      out.push_back({kind, kind == Effect::allocate ? op.result() : op.operand(0), nullptr});
  };
}

/// Using or closing an adapter touches the adapter and the array behind it.
Effects adapter(std::initializer_list<Effect::Kind> own, std::initializer_list<Effect::Kind> array) {
  return [own = std::vector(own), array = std::vector(array)](const Op& op, std::vector<Effect>& out) {
    for (const Effect::Kind kind : own) out.push_back({kind, op.operand(0), nullptr});
    for (const Effect::Kind kind : array) out.push_back({kind, dram_of(op.operand(0)), nullptr});
  };
}

/// Moving a write iterator may store its tile; moving a reader changes the iterator alone.
void advance(const Op& op, std::vector<Effect>& out) {
  out.push_back({Effect::read, op.operand(0), nullptr});
  out.push_back({Effect::write, op.operand(0), nullptr});
  const Op* def = op.operand(0)->def();
  if (!def || !(def->is(mem_read_it) || def->is(mem_peek_read_it)))
    out.push_back({Effect::write, dram_of(op.operand(0)), nullptr});
}

// --- verification -------------------------------------------------------------------------------

void expect(bool ok, const Op& op, VerifyReport& report, const char* message) {
  if (!ok) report.fail(op, message);
}

bool is_index(Type t) { return t == type_i32 || t == type_u32; }

/// Checks a memory access: operand 0 has the kind, operand 1 is an index, then `values` operands of
/// the element type, then the predicate if the attribute says so.
Verify access(Kind memory, bool indexed, unsigned values, bool gives) {
  return [=](const Op& op, VerifyReport& report) {
    const unsigned fixed = 1 + (indexed ? 1 : 0) + values;
    const bool predicated = op.flag("predicated");
    if (op.num_operands() != fixed + (predicated ? 1 : 0))
      return report.fail(op, fmt::format("expects {} operands{}, has {}", fixed + (predicated ? 1 : 0),
                                         predicated ? " (predicated)" : "", op.num_operands()));
    const Type m = op.operand(0)->type();
    if (m.kind != memory) return report.fail(op, "operand 0 has type " + m.str());
    if (indexed) expect(is_index(op.operand(1)->type()), op, report, "the index must be i32 or u32");
    for (unsigned i = 0; i < values; ++i)
      expect(op.operand(fixed - values + i)->type() == m.element_type(), op, report,
             "a value operand must have the memory's element type");
    if (predicated)
      expect(op.operand(fixed)->type() == type_i1, op, report, "the predicate must be i1");
    if (gives)
      expect(op.result()->type() == m.element_type(), op, report,
             "the result must have the memory's element type");
  };
}

Verify atomic_access(Kind memory) {
  return [=](const Op& op, VerifyReport& report) {
    static const std::vector<std::string> names = {"add", "sub", "and", "or",      "xor",
                                                   "min", "max", "exchange", "cas"};
    const std::string& name = op.str_attr("op");
    if (std::find(names.begin(), names.end(), name) == names.end())
      return report.fail(op, fmt::format("unknown atomic operation \"{}\"{}", name,
                                         did_you_mean(name, names)));
    access(memory, true, name == "cas" ? 2 : 1, true)(op, report);
    if (op.num_operands() > 0)
      expect(is_index(op.operand(0)->type().element_type()), op, report,
             "an atomic needs elements of type i32 or u32");
  };
}

Verify open_adapter(Kind kind) {
  return [=](const Op& op, VerifyReport& report) {
    const Type d = op.operand(0)->type();
    const Type r = op.result()->type();
    if (d.kind != Kind::dram) return report.fail(op, "operand 0 has type " + d.str());
    for (unsigned i = 1; i < op.num_operands(); ++i)
      expect(is_index(op.operand(i)->type()), op, report, "positions and lengths are i32 or u32");
    if (r.kind != kind || r.element != d.element)
      return report.fail(op, "the result type does not fit the array's");
    if (kind == Kind::view)
      expect(r.size >= 1 && r.size <= 4096, op, report, "a view has 1 to 4096 elements");
    else
      expect(r.size >= 4 && r.size <= 256 && (r.size & (r.size - 1)) == 0, op, report,
             "an iterator's tile is a power of two from 4 to 256");
  };
}

/// `terminator` yields values of the given types.
void expect_yield(const Op& op, const Block& block, const OpInfo& terminator,
                  const std::vector<Type>& types, VerifyReport& report) {
  const Op* last = block.terminator();
  if (!last) return;  // reported by the verifier
  if (last->is(thread_exit)) return;
  if (!last->is(terminator))
    return report.fail(*last, fmt::format("a region of {} ends in {} or thread.exit", op.name(),
                                          terminator.name));
  const unsigned skip = last->is(thread_condition) ? 1 : 0;
  if (last->num_operands() != types.size() + skip)
    return report.fail(*last, fmt::format("expects {} values, has {}", types.size() + skip,
                                          last->num_operands()));
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
  expect_yield(op, op.body(), thread_return, types, report);
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

void verify_dram(const Op& op, VerifyReport& report) {
  expect(!op.parent_op(), op, report, "stands at module level");
  expect(op.result()->type().kind == Kind::dram, op, report, "the result is a dram");
}

void verify_next(const Op& op, VerifyReport& report) {
  const bool predicated = op.flag("predicated");
  if (op.num_operands() != 2u + (predicated ? 1 : 0))
    return report.fail(op, "has the wrong number of operands");
  expect(op.operand(0)->type().kind == Kind::iter, op, report, "operand 0 must be an iterator");
  expect(op.operand(1)->type() == (op.is(mem_iter_next) ? type_u32 : type_i1), op, report,
         "operand 1 must be u32 (iter_next) or i1 (iter_next_last)");
}

Verify closes(Kind kind) {
  return [=](const Op& op, VerifyReport& report) {
    expect(op.operand(0)->type().kind == kind, op, report, "closes another kind of memory");
  };
}

enum class Operands { any_scalar, numeric, integer, numeric_or_bool, integer_or_bool };

/// Operands and result of one type from the class.
Verify same_type(Operands allowed) {
  return [=](const Op& op, VerifyReport& report) {
    const Type t = op.operand(0)->type();
    for (Value* v : op.operands())
      expect(v->type() == t, op, report, "operands must have one type");
    expect(op.result()->type() == t, op, report, "the result must have the operands' type");
    const bool bool_ok = allowed == Operands::any_scalar || allowed == Operands::numeric_or_bool ||
                         allowed == Operands::integer_or_bool;
    const bool float_ok = allowed == Operands::any_scalar || allowed == Operands::numeric ||
                          allowed == Operands::numeric_or_bool;
    expect(t.is_scalar() && (bool_ok || t != type_i1) && (float_ok || !t.is_float()), op, report,
           "operands have an unsuitable type");
  };
}

void verify_count_bits(const Op& op, VerifyReport& report) {
  expect(op.operand(0)->type().is_integer(), op, report, "the operand must be an integer");
  expect(op.result()->type() == type_i32, op, report, "the result must be i32");
}

void verify_constant(const Op& op, VerifyReport& report) {
  const Type t = op.result()->type();
  const Attr* value = op.attr("value");
  if (!value) return;
  if (t.is_float()) return expect(value->as_float(), op, report, "an f32 needs a float value");
  if (!t.is_integer() || !value->as_int())
    return report.fail(op, "an integer type needs an integer value");
  const std::int64_t v = *value->as_int();
  const std::uint32_t bits = wrap(t.kind, static_cast<std::uint32_t>(v));
  const std::int64_t back = t.is_signed() ? std::int64_t{static_cast<std::int32_t>(bits)}
                                          : std::int64_t{bits};
  expect(back == v, op, report, "the value does not fit its type");
}

void verify_cmp(const Op& op, VerifyReport& report) {
  static const std::vector<std::string> names = {"eq", "ne", "lt", "le", "gt", "ge"};
  expect(std::find(names.begin(), names.end(), op.str_attr("pred")) != names.end(), op, report,
         "`pred` is one of eq ne lt le gt ge");
  expect(op.operand(0)->type() == op.operand(1)->type() && op.operand(0)->type().is_scalar(), op,
         report, "operands must have one scalar type");
  expect(op.result()->type() == type_i1, op, report, "the result must be i1");
}

void verify_select(const Op& op, VerifyReport& report) {
  expect(op.operand(0)->type() == type_i1, op, report, "the condition must be i1");
  const Type t = op.operand(1)->type();
  expect(t == op.operand(2)->type() && t == op.result()->type() && t.is_scalar(), op, report,
         "both values and the result must have one scalar type");
}

void verify_cast(const Op& op, VerifyReport& report) {
  expect(op.operand(0)->type().is_scalar() && op.result()->type().is_scalar(), op, report,
         "converts between scalar types");
}

// --- builders of table entries ------------------------------------------------------------------

OpInfo make(const char* name, const char* summary, Level level, Count operands, Count results,
            const char* operand_help, const char* result_help) {
  OpInfo info;
  info.name = name;
  info.summary = summary;
  info.level = level;
  info.operands = operands;
  info.results = results;
  info.operand_help = operand_help;
  info.result_help = result_help;
  info.effects = no_effects;
  return info;
}

OpInfo thread_op(const char* name, const char* summary, Count operands, Count results, unsigned regions,
                 std::vector<AttrSpec> attrs, Verify verify, const char* operand_help = "",
                 const char* result_help = "") {
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

const AttrSpec predicated_attr{"predicated", AttrKind::boolean, false,
                               "the last operand is a predicate"};
const AttrSpec checked_attr{"checked", AttrKind::boolean, false,
                            "emitted code verifies the bounds"};
const AttrSpec name_attr{"name", AttrKind::string, false, "name in the source"};
const AttrSpec link_attr{"link", AttrKind::string, false, "\"scalar\" or \"vector\" links"};
const AttrSpec unroll_attr{"unroll", AttrKind::integer, false, "unrolling asked for by pragma"};

OpInfo mem_op(const char* name, const char* summary, Count operands, Count results, Effects effects,
              Verify verify, std::vector<AttrSpec> attrs, const char* operand_help,
              const char* result_help = "") {
  OpInfo info = make(name, summary, Level::any, operands, results, operand_help, result_help);
  info.effects = std::move(effects);
  info.verify = std::move(verify);
  info.attrs = std::move(attrs);
  return info;
}

OpInfo arith_op(const char* name, const char* summary, unsigned operands, Verify verify,
                const char* operand_help, std::vector<AttrSpec> attrs = {}) {
  OpInfo info =
      make(name, summary, Level::any, exactly(operands), exactly(1), operand_help, "value");
  info.verify = std::move(verify);
  info.attrs = std::move(attrs);
  if (operands != 0) info.fold = fold_arith;
  return info;
}

}  // namespace

// --- thread -------------------------------------------------------------------------------------

const OpInfo thread_func = thread_op(
    "thread.func", "A function; main is the program", exactly(0), exactly(0), 1,
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
const OpInfo thread_return =
    as_terminator(thread_op("thread.return", "Ends a function", between(0, 1), exactly(0), 0, {},
                            verify_return, "value"));
const OpInfo thread_if =
    thread_op("thread.if", "Runs one of two regions", exactly(1), at_least(0), 2, {link_attr},
              verify_if, "condition", "values of the region that ran");
const OpInfo thread_while = with_control(
    thread_op("thread.while", "Loops while the condition of `before` holds", at_least(0), at_least(0),
              2, {unroll_attr, link_attr}, verify_while, "initial values", "values of the condition"));
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
const OpInfo thread_replicate =
    thread_op("thread.replicate", "A region of which hardware has n copies", exactly(0), at_least(0),
              1,
              {{"n", AttrKind::integer, true, "copies"},
               {"fixed", AttrKind::boolean, false, "pragma: n is not to be changed"},
               {"threads", AttrKind::integer, false, "pragma: pointers of the SRAMs in the region"},
               link_attr},
              verify_replicate, "", "values of the region");
const OpInfo thread_fork =
    with_control(thread_op("thread.fork", "The thread becomes n threads that go on from here",
                           exactly(1), exactly(1), 0, {}, verify_fork, "n", "0 .. n-1"));
const OpInfo thread_exit = with_control(as_terminator(
    thread_op("thread.exit", "Ends the thread", exactly(0), exactly(0), 0, {}, {})));
const OpInfo thread_yield = as_terminator(thread_op(
    "thread.yield", "Ends a region, giving its values", at_least(0), exactly(0), 0, {}, verify_yield,
    "values"));

// --- mem ----------------------------------------------------------------------------------------

const OpInfo mem_dram =
    mem_op("mem.dram", "Declares an off-chip array", exactly(0), exactly(1), no_effects, verify_dram,
           {{"sym", AttrKind::string, true, "name"},
            {"size", AttrKind::any, false, "elements, an expression over main's parameters"}},
           "", "the array");
const OpInfo mem_dram_load =
    mem_op("mem.dram_load", "Reads one element", between(2, 3), exactly(1), element(Effect::read),
           access(Kind::dram, true, 0, true), {predicated_attr, checked_attr}, "array, index[, pred]",
           "element");
const OpInfo mem_dram_store =
    mem_op("mem.dram_store", "Writes one element", between(3, 4), exactly(0), element(Effect::write),
           access(Kind::dram, true, 1, false), {predicated_attr, checked_attr},
           "array, index, value[, pred]");
const OpInfo mem_dram_atomic =
    mem_op("mem.dram_atomic", "Changes one element atomically", between(3, 5), exactly(1),
           element(Effect::atomic), atomic_access(Kind::dram),
           {{"op", AttrKind::string, true, "add sub and or xor min max exchange cas"},
            predicated_attr,
            checked_attr},
           "array, index, value[, desired][, pred]", "old element");
const OpInfo mem_sram_alloc =
    mem_op("mem.sram_alloc", "Allocates a zeroed on-chip buffer", exactly(0), exactly(1),
           whole({Effect::allocate}),
           [](const Op& op, VerifyReport& report) {
             expect(op.result()->type().kind == Kind::sram && op.result()->type().size >= 1, op,
                    report, "the result is an sram of at least one element");
           },
           {name_attr, {"threads", AttrKind::integer, false, "pragma: pointers to have"}}, "",
           "the buffer");
const OpInfo mem_sram_free = mem_op("mem.sram_free", "Frees an on-chip buffer", exactly(1), exactly(0),
                                    whole({Effect::release}), closes(Kind::sram), {}, "buffer");
const OpInfo mem_sram_load =
    mem_op("mem.sram_load", "Reads one element", between(2, 3), exactly(1), element(Effect::read),
           access(Kind::sram, true, 0, true), {predicated_attr, checked_attr}, "buffer, index[, pred]",
           "element");
const OpInfo mem_sram_store =
    mem_op("mem.sram_store", "Writes one element", between(3, 4), exactly(0), element(Effect::write),
           access(Kind::sram, true, 1, false), {predicated_attr, checked_attr},
           "buffer, index, value[, pred]");
const OpInfo mem_sram_atomic =
    mem_op("mem.sram_atomic", "Changes one element atomically", between(3, 5), exactly(1),
           element(Effect::atomic), atomic_access(Kind::sram),
           {{"op", AttrKind::string, true, "add sub and or xor min max exchange cas"},
            {"join", AttrKind::boolean, false, "reaching 0 orders the threads that counted down"},
            predicated_attr,
            checked_attr},
           "buffer, index, value[, desired][, pred]", "old element");

namespace {

OpInfo view_op(const char* name, const char* summary, bool reads) {
  return mem_op(name, summary, between(2, 3), exactly(1),
                reads ? whole({Effect::allocate, Effect::read}) : whole({Effect::allocate}),
                open_adapter(Kind::view), {name_attr}, "array, base[, valid]", "the view");
}

OpInfo iterator_op(const char* name, const char* summary) {
  return mem_op(name, summary, exactly(2), exactly(1), whole({Effect::allocate}),
                open_adapter(Kind::iter), {name_attr}, "array, position", "the iterator");
}

}  // namespace

const OpInfo mem_read_view = view_op("mem.read_view", "Opens a tile copied in", true);
const OpInfo mem_write_view =
    view_op("mem.write_view", "Opens a tile of zeros, stored when closed", false);
const OpInfo mem_modify_view =
    view_op("mem.modify_view", "Opens a tile copied in, stored when closed", true);
const OpInfo mem_view_load =
    mem_op("mem.view_load", "Reads an element of a view", between(2, 3), exactly(1),
           element(Effect::read), access(Kind::view, true, 0, true), {predicated_attr, checked_attr},
           "view, k[, pred]", "element");
const OpInfo mem_view_store =
    mem_op("mem.view_store", "Writes an element of a view", between(3, 4), exactly(0),
           element(Effect::write), access(Kind::view, true, 1, false), {predicated_attr, checked_attr},
           "view, k, value[, pred]");
const OpInfo mem_view_close =
    mem_op("mem.view_close", "Ends a view; stores it if it may be written", exactly(1), exactly(0),
           [](const Op& op, std::vector<Effect>& out) {
             out.push_back({Effect::release, op.operand(0), nullptr});
             const Op* def = op.operand(0)->def();
             if (!def || !def->is(mem_read_view))
               out.push_back({Effect::write, dram_of(op.operand(0)), nullptr});
           },
           closes(Kind::view), {}, "view");

const OpInfo mem_read_it = iterator_op("mem.read_it", "Opens a forward reader");
const OpInfo mem_peek_read_it =
    iterator_op("mem.peek_read_it", "Opens a forward reader with look-ahead");
const OpInfo mem_write_it = iterator_op("mem.write_it", "Opens a forward writer");
const OpInfo mem_manual_write_it =
    iterator_op("mem.manual_write_it", "Opens a forward writer that is told its last element");
const OpInfo mem_iter_load = mem_op(
    "mem.iter_load", "Reads the current element", between(1, 2), exactly(1),
    adapter({Effect::read, Effect::write}, {Effect::read}), access(Kind::iter, false, 0, true),
    {predicated_attr}, "iterator[, pred]", "element");
const OpInfo mem_iter_peek = mem_op(
    "mem.iter_peek", "Reads k elements ahead", between(2, 3), exactly(1),
    adapter({Effect::read, Effect::write}, {Effect::read}), access(Kind::iter, true, 0, true),
    {predicated_attr, checked_attr}, "iterator, k[, pred]", "element");
const OpInfo mem_iter_store =
    mem_op("mem.iter_store", "Sets the current element", between(2, 3), exactly(0),
           adapter({Effect::write}, {}), access(Kind::iter, false, 1, false), {predicated_attr},
           "iterator, value[, pred]");
const OpInfo mem_iter_next =
    mem_op("mem.iter_next", "Advances by k", between(2, 3), exactly(0), advance, verify_next, {predicated_attr},
           "iterator, k[, pred]");
const OpInfo mem_iter_next_last =
    mem_op("mem.iter_next_last", "Advances by one; says whether that was the last", between(2, 3),
           exactly(0), advance, verify_next,
           {predicated_attr}, "iterator, last[, pred]");
const OpInfo mem_iter_close =
    mem_op("mem.iter_close", "Ends an iterator; flushes a WriteIt", exactly(1), exactly(0),
           [](const Op& op, std::vector<Effect>& out) {
             out.push_back({Effect::release, op.operand(0), nullptr});
             const Op* def = op.operand(0)->def();
             if (!def || def->is(mem_write_it))
               out.push_back({Effect::write, dram_of(op.operand(0)), nullptr});
           },
           closes(Kind::iter), {}, "iterator");

// --- arith --------------------------------------------------------------------------------------

const OpInfo arith_constant = arith_op("arith.constant", "A constant", 0, verify_constant, "",
                                       {{"value", AttrKind::any, true, "the value"}});
const OpInfo arith_add =
    arith_op("arith.add", "a + b, wrapping", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_sub =
    arith_op("arith.sub", "a - b, wrapping", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_mul =
    arith_op("arith.mul", "a * b, wrapping", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_div = arith_op("arith.div", "a / b; all ones where b is 0", 2,
                                  same_type(Operands::numeric), "a, b");
const OpInfo arith_rem =
    arith_op("arith.rem", "a % b; a where b is 0", 2, same_type(Operands::integer), "a, b");
const OpInfo arith_and =
    arith_op("arith.and", "a & b", 2, same_type(Operands::integer_or_bool), "a, b");
const OpInfo arith_or =
    arith_op("arith.or", "a | b", 2, same_type(Operands::integer_or_bool), "a, b");
const OpInfo arith_xor =
    arith_op("arith.xor", "a ^ b", 2, same_type(Operands::integer_or_bool), "a, b");
const OpInfo arith_shl = arith_op("arith.shl", "a << (b mod width)", 2,
                                  same_type(Operands::integer), "a, b");
const OpInfo arith_shr = arith_op("arith.shr", "a >> (b mod width), arithmetic if signed", 2,
                                  same_type(Operands::integer), "a, b");
const OpInfo arith_min =
    arith_op("arith.min", "b < a ? b : a", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_max =
    arith_op("arith.max", "a < b ? b : a", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_mulhi = arith_op("arith.mulhi", "High half of the product", 2,
                                    same_type(Operands::integer), "a, b");
const OpInfo arith_rotl =
    arith_op("arith.rotl", "Rotates left", 2, same_type(Operands::integer), "a, b");
const OpInfo arith_rotr =
    arith_op("arith.rotr", "Rotates right", 2, same_type(Operands::integer), "a, b");
const OpInfo arith_neg = arith_op("arith.neg", "-a", 1, same_type(Operands::numeric), "a");
const OpInfo arith_abs =
    arith_op("arith.abs", "Absolute value, wrapping", 1, same_type(Operands::numeric), "a");
const OpInfo arith_popcount =
    arith_op("arith.popcount", "Number of one bits", 1, verify_count_bits, "a");
const OpInfo arith_clz =
    arith_op("arith.clz", "Leading zeros; the width for 0", 1, verify_count_bits, "a");
const OpInfo arith_ctz =
    arith_op("arith.ctz", "Trailing zeros; the width for 0", 1, verify_count_bits, "a");
const OpInfo arith_cmp = arith_op("arith.cmp", "Compares", 2, verify_cmp, "a, b",
                                  {{"pred", AttrKind::string, true, "eq ne lt le gt ge"}});
const OpInfo arith_select = arith_op("arith.select", "c ? a : b", 3, verify_select, "c, a, b");
const OpInfo arith_cast =
    arith_op("arith.cast", "Converts between scalar types", 1, verify_cast, "a");

// --- queries ------------------------------------------------------------------------------------

bool opens_scope(const Op& op) {
  return op.is(mem_read_view) || op.is(mem_write_view) || op.is(mem_modify_view) ||
         op.is(mem_read_it) || op.is(mem_peek_read_it) || op.is(mem_write_it) ||
         op.is(mem_manual_write_it) || op.is(mem_sram_alloc);
}

Value* dram_of(const Value* memory) {
  const Op* def = memory->def();
  if (!def || memory->type().kind == Kind::sram) return nullptr;
  if (memory->type().kind == Kind::dram) return const_cast<Value*>(memory);
  return def->num_operands() > 0 ? dram_of(def->operand(0)) : nullptr;
}

const std::string& memory_name(const Value* memory) {
  if (const Op* def = memory->def()) {
    if (def->has_attr("sym")) return def->str_attr("sym");
    if (def->has_attr("name")) return def->str_attr("name");
  }
  return memory->name();
}

Value* predicate(const Op& op) {
  return op.flag("predicated") ? op.operand(op.num_operands() - 1) : nullptr;
}

}  // namespace revet::ops

namespace revet {

std::vector<const OpInfo*> core_ops() {
  using namespace ops;
  return {&thread_func,     &thread_call,      &thread_return,       &thread_if,
          &thread_while,    &thread_condition, &thread_foreach,      &thread_replicate,
          &thread_fork,     &thread_exit,      &thread_yield,        &mem_dram,
          &mem_dram_load,   &mem_dram_store,   &mem_dram_atomic,     &mem_sram_alloc,
          &mem_sram_free,   &mem_sram_load,    &mem_sram_store,      &mem_sram_atomic,
          &mem_read_view,   &mem_write_view,   &mem_modify_view,     &mem_view_load,
          &mem_view_store,  &mem_view_close,   &mem_read_it,         &mem_peek_read_it,
          &mem_write_it,    &mem_manual_write_it, &mem_iter_load,    &mem_iter_peek,
          &mem_iter_store,  &mem_iter_next,    &mem_iter_next_last,  &mem_iter_close,
          &arith_constant,  &arith_add,        &arith_sub,           &arith_mul,
          &arith_div,       &arith_rem,        &arith_and,           &arith_or,
          &arith_xor,       &arith_shl,        &arith_shr,           &arith_min,
          &arith_max,       &arith_mulhi,      &arith_rotl,          &arith_rotr,
          &arith_neg,       &arith_abs,        &arith_popcount,      &arith_clz,
          &arith_ctz,       &arith_cmp,        &arith_select,        &arith_cast};
}

}  // namespace revet
