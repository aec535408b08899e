/// The table of `flow` ops, nodes of streaming-tensor graphs. revet/ops.hpp says what each means.
#include <fmt/format.h>

#include "op_table.hpp"
#include "revet/scalar.hpp"

namespace revet::ops {
namespace {

bool is_stream(const Value* v) { return v->type().kind == Kind::stream; }

/// Operand or result `v` is a stream of that element and depth.
void expect_stream(const Op& op, const Value* v, Kind element, unsigned depth, const char* what,
                   VerifyReport& report) {
  const Type want = stream_of({element}, depth);
  Type have = v->type();
  have.scalar_link = false;
  if (have != want)
    report.fail(op, fmt::format("{} has type {}, expected {}", what, have.str(), want.str()));
}

/// Depth of the first stream operand, 0 where there is none.
unsigned depth_of(const Op& op) {
  for (const Value* v : op.operands())
    if (is_stream(v)) return v->type().size;
  return 0;
}

Kind element(const Value* v) { return v->type().element; }

/// Result i carries the elements of operand `first` + i, at `depth`.
void expect_bundle(const Op& op, unsigned first, unsigned depth, VerifyReport& report) {
  for (unsigned i = 0; i < op.num_results(); ++i)
    expect_stream(op, op.result(i), element(op.operand(first + i)), depth, "a result", report);
}

/// Every operand is a stream, those from `first` on of depth `depth`.
bool all_streams(const Op& op, VerifyReport& report) {
  for (const Value* v : op.operands())
    if (!is_stream(v)) {
      report.fail(op, "every operand must be a stream");
      return false;
    }
  return true;
}

void expect_depth(const Op& op, unsigned first, unsigned count, unsigned depth,
                  VerifyReport& report) {
  for (unsigned i = first; i < first + count; ++i)
    if (op.operand(i)->type().size != depth)
      report.fail(op, fmt::format("operand {} has depth {}, expected {}", i,
                                  op.operand(i)->type().size, depth));
}

void verify_graph(const Op& op, VerifyReport& report) {
  expect(!op.parent_op(), op, report, "stands at module level");
  expect(op.body().num_args() == 0, op, report, "takes no block arguments");
  std::size_t sinks = 0;
  for (const Op& node : op.body()) sinks += node.is(flow_sink) ? 1 : 0;
  expect(sinks == 1, op, report, "has one flow.sink: the run ends when main's void arrives there");
}

void verify_source(const Op& op, VerifyReport& report) {
  const Type t = op.result()->type();
  expect(t.kind == Kind::stream && t.size == 1, op, report, "gives a stream of depth 1");
  expect((t.element == Kind::none) == !op.has_attr("arg"), op, report,
         "`arg` names the argument of main, unless the stream is void");
}

void verify_sink(const Op& op, VerifyReport& report) {
  if (!all_streams(op, report)) return;
  expect_stream(op, op.operand(0), Kind::none, 1, "the operand", report);
}

void verify_context(const Op& op, VerifyReport& report) {
  if (!all_streams(op, report)) return;
  const unsigned depth = depth_of(op);
  expect_depth(op, 0, op.num_operands(), depth, report);
  const Block& body = op.body();
  if (body.num_args() != op.num_operands())
    return report.fail(op, "the body has one argument per stream");
  for (unsigned i = 0; i < body.num_args(); ++i)
    expect(body.arg(i)->type().kind == element(op.operand(i)), op, report,
           "a body argument has the element type of its stream");
  const Op* last = body.terminator();
  if (!last || !last->is(flow_yield)) return report.fail(op, "the body ends in flow.yield");
  if (last->num_operands() != op.num_results())
    return report.fail(op, "the body yields one value per result");
  for (unsigned i = 0; i < op.num_results(); ++i)
    expect_stream(op, op.result(i), last->operand(i)->type().kind, depth, "a result", report);
  for (Op& inner : body) {
    if (inner.info().level != Level::any && &inner != last)
      report.fail(inner, "only element-wise ops stand in a context");
    for (const Value* v : inner.operands())
      if (v->block() != &body && v->type().kind != Kind::dram)
        report.fail(inner, "a context is isolated from what is around it");
  }
}

void verify_broadcast(const Op& op, VerifyReport& report) {
  if (op.num_operands() != op.num_results() + 1)
    return report.fail(op, "expects the values and one stream that gives the structure");
  if (!all_streams(op, report)) return;
  const unsigned depth = depth_of(op);
  const auto levels = static_cast<unsigned>(op.int_attr("levels"));
  expect(levels >= 1, op, report, "`levels` must be at least 1");
  expect_depth(op, 0, op.num_results(), depth, report);
  expect_depth(op, op.num_results(), 1, depth + levels, report);
  expect_bundle(op, 0, depth + levels, report);
}

void verify_counter(const Op& op, VerifyReport& report) {
  if (!all_streams(op, report)) return;
  const unsigned depth = depth_of(op);
  const Kind t = element(op.operand(0));
  expect_depth(op, 0, 3, depth, report);
  expect(scalar_type(t).is_integer(), op, report, "the range must be of an integer type");
  for (unsigned i = 1; i < 3; ++i)
    expect(element(op.operand(i)) == t, op, report, "min, max and step must have one type");
  expect_stream(op, op.result(), t, depth + 1, "the result", report);
}

void verify_reduce(const Op& op, VerifyReport& report) {
  if (!all_streams(op, report)) return;
  const std::string& spelling = op.str_attr("op");
  expect(element(op.operand(0)) == Kind::none ? spelling == "void" : is_reduction(spelling), op,
         report, "unknown reduction operator");
  expect(depth_of(op) >= 2, op, report, "needs a stream of depth 2 or more");
  expect_stream(op, op.result(), element(op.operand(0)), depth_of(op) - 1, "the result", report);
}

/// flatten and strip.
void verify_lower(const Op& op, VerifyReport& report) {
  if (op.num_operands() != op.num_results()) return report.fail(op, "expects a result per operand");
  if (!all_streams(op, report)) return;
  const unsigned depth = depth_of(op);
  expect(depth >= 2, op, report, "needs streams of depth 2 or more");
  expect_depth(op, 0, op.num_operands(), depth, report);
  expect_bundle(op, 0, depth - 1, report);
}

void verify_filter(const Op& op, VerifyReport& report) {
  if (op.num_operands() != op.num_results() + 1)
    return report.fail(op, "expects a predicate and a result per stream");
  if (!all_streams(op, report)) return;
  const unsigned depth = depth_of(op);
  expect_depth(op, 0, op.num_operands(), depth, report);
  expect(element(op.operand(0)) == Kind::i1, op, report, "the predicate must be i1");
  expect_bundle(op, 1, depth, report);
}

void verify_two_bundles(const Op& op, unsigned levels, VerifyReport& report) {
  if (op.num_operands() != 2 * op.num_results())
    return report.fail(op, "expects two streams per result");
  if (!all_streams(op, report)) return;
  const unsigned n = op.num_results();
  const unsigned depth = depth_of(op);
  expect_depth(op, 0, n, depth, report);
  expect_depth(op, n, n, depth + levels, report);
  for (unsigned i = 0; i < n; ++i)
    expect(element(op.operand(i)) == element(op.operand(n + i)), op, report,
           "both sides must carry the same elements");
  expect_bundle(op, 0, depth + levels, report);
}

/// Memory nodes: `fixed` operands, then `ordered` void streams, then a predicate.
struct MemoryShape {
  unsigned memories;          ///< operands 0.. that are memories, not streams
  std::vector<Kind> streams;  ///< elements; none: the memory's element, ptr: a pointer
  bool index = false;         ///< the last of `streams` but the values is an index
  bool gives = false;         ///< result 0 is an element
};

Verify memory_node(MemoryShape shape) {
  return [shape](const Op& op, VerifyReport& report) {
    const auto fixed = static_cast<unsigned>(shape.memories + shape.streams.size());
    const auto voids = static_cast<unsigned>(op.int_attr("ordered"));
    const unsigned wanted = fixed + voids + (op.flag("predicated") ? 1 : 0);
    if (op.num_operands() != wanted)
      return report.fail(op, fmt::format("expects {} operands, has {}", wanted, op.num_operands()));
    for (unsigned i = 0; i < shape.memories; ++i)
      if (!op.operand(i)->type().is_memory())
        return report.fail(op, fmt::format("operand {} must be a memory", i));
    const unsigned depth = depth_of(op);
    for (unsigned i = shape.memories; i < op.num_operands(); ++i)
      if (!is_stream(op.operand(i))) return report.fail(op, "expects streams behind the memory");
    expect_depth(op, shape.memories, op.num_operands() - shape.memories, depth, report);
    const Kind cell = op.operand(0)->type().element;
    for (std::size_t i = 0; i < shape.streams.size(); ++i) {
      const Kind have = element(op.operand(static_cast<unsigned>(shape.memories + i)));
      const Kind want = shape.streams[i] == Kind::none ? cell : shape.streams[i];
      const bool ok = want == Kind::i32 ? is_index({have}) : have == want;
      if (!ok)
        report.fail(op, fmt::format("operand {} has the wrong element type", shape.memories + i));
    }
    for (unsigned i = fixed; i < fixed + voids; ++i)
      expect(element(op.operand(i)) == Kind::none, op, report, "`ordered` operands must be void");
    if (op.flag("predicated"))
      expect(element(op.operand(wanted - 1)) == Kind::i1, op, report, "the predicate must be i1");
    if (op.is(flow_dram_atomic) || op.is(flow_sram_atomic)) {
      const auto atomic = atomic_named(op.str_attr("op"));
      expect(atomic && *atomic != Atomic::cas, op, report,
             "`op` is one of add sub and or xor min max exchange");
    }
    const unsigned last = op.num_results() - 1;
    if (shape.gives) expect_stream(op, op.result(0), cell, depth, "the element", report);
    expect_stream(op, op.result(last), Kind::none, depth, "the void", report);
  };
}

OpInfo flow_op(const char* name, const char* summary, Count operands, Count results,
               std::vector<AttrSpec> attrs, Verify verify, const char* operand_help = "",
               const char* result_help = "") {
  OpInfo info = make(name, summary, Level::flow, operands, results, operand_help, result_help);
  info.attrs = std::move(attrs);
  info.verify = std::move(verify);
  return info;
}

OpInfo memory_op(const char* name, const char* summary, MemoryShape shape, Effect::Kind effect,
                 std::vector<AttrSpec> attrs, const char* operand_help, const char* result_help) {
  attrs.push_back({"ordered", AttrKind::integer, false, "void operands"});
  attrs.push_back({"predicated", AttrKind::boolean, false, "the last operand is a predicate"});
  OpInfo info =
      flow_op(name, summary, at_least(static_cast<unsigned>(shape.memories + shape.streams.size())),
              exactly(shape.gives ? 2 : 1), std::move(attrs), memory_node(shape), operand_help,
              result_help);
  info.effects = [effect](const Op& op, std::vector<Effect>& out) {
    out.push_back({effect, op.operand(0), nullptr});
  };
  return info;
}

/// Between a buffer (operand 0) and an array (operand 1).
OpInfo bulk_op(const char* name, const char* summary, bool loads) {
  std::vector<AttrSpec> attrs;
  if (loads)
    attrs.push_back(
        {"length_predicates", AttrKind::boolean, false, "no access where the length is negative"});
  OpInfo info = memory_op(
      name, summary, {2, {Kind::ptr, Kind::i32, Kind::i32, Kind::i32}, false, false}, Effect::write,
      std::move(attrs), "memory, array, pointer, base, high, valid[, voids..][, pred]", "void");
  info.effects = [loads](const Op& op, std::vector<Effect>& out) {
    out.push_back({loads ? Effect::write : Effect::read, op.operand(0), nullptr});
    out.push_back({loads ? Effect::read : Effect::write, op.operand(1), nullptr});
  };
  return info;
}

const AttrSpec op_attr{"op", AttrKind::string, true, "add sub and or xor min max exchange"};

}  // namespace

const OpInfo flow_graph = [] {
  OpInfo info = flow_op("flow.graph", "A graph of nodes", exactly(0), exactly(0),
                        {{"sym", AttrKind::string, true, "name"},
                         {"args", AttrKind::array, true, "parameter names"},
                         {"types", AttrKind::array, true, "their types"}},
                        verify_graph);
  info.regions = exactly(1);
  info.graph = true;
  return info;
}();
const OpInfo flow_source =
    flow_op("flow.source", "An argument of main, or the void that starts it", exactly(0),
            exactly(1), {{"arg", AttrKind::string, false, "name of the argument"}}, verify_source,
            "", "stream of depth 1");
const OpInfo flow_sink = [] {
  OpInfo info =
      flow_op("flow.sink", "The end of main", exactly(1), exactly(0), {}, verify_sink, "void");
  info.control = true;  // what it waits for is what the graph is for
  return info;
}();
const OpInfo flow_context = [] {
  OpInfo info = flow_op("flow.context", "Element-wise ops as one pipelined unit", at_least(1),
                        at_least(0), {}, verify_context, "streams", "streams");
  info.regions = exactly(1);
  return info;
}();
const OpInfo flow_yield = [] {
  OpInfo info = flow_op("flow.yield", "Ends a context", at_least(0), exactly(0), {}, {}, "values");
  info.terminator = true;
  return info;
}();
const OpInfo flow_broadcast =
    flow_op("flow.broadcast", "Repeats each element along the lists of the last operand",
            at_least(2), at_least(1), {{"levels", AttrKind::integer, true, "levels added"}},
            verify_broadcast, "values.., structure", "values");
const OpInfo flow_counter = flow_op("flow.counter", "A list of indices per element", exactly(3),
                                    exactly(1), {}, verify_counter, "min, max, step", "indices");
const OpInfo flow_reduce =
    flow_op("flow.reduce", "One element per list", exactly(1), exactly(1),
            {{"op", AttrKind::string, true, "operator, or void"}}, verify_reduce, "a", "reduced");
const OpInfo flow_flatten = flow_op("flow.flatten", "Joins the lists of the lowest level",
                                    at_least(1), at_least(1), {}, verify_lower, "bundle", "bundle");
const OpInfo flow_strip = flow_op("flow.strip", "Leaves a loop: takes off the level of its header",
                                  at_least(1), at_least(1), {}, verify_lower, "bundle", "bundle");
const OpInfo flow_filter =
    flow_op("flow.filter", "Passes the elements for which the predicate is `polarity`", at_least(2),
            at_least(1),
            {{"polarity", AttrKind::boolean, true, "which elements pass"},
             {"unlikely", AttrKind::boolean, false, "few elements pass"}},
            verify_filter, "predicate, bundle", "bundle");
const OpInfo flow_deal = flow_op(
    "flow.deal", "Numbers the elements 0, 1, .., keys-1, 0, .. in turn", at_least(1), at_least(2),
    {{"keys", AttrKind::integer, true, "numbers"}},
    [](const Op& op, VerifyReport& report) {
      if (op.num_results() != op.num_operands() + 1)
        return report.fail(op, "expects a result per stream and the key");
      if (!all_streams(op, report)) return;
      const unsigned depth = depth_of(op);
      expect(op.int_attr("keys") >= 1, op, report, "`keys` must be at least 1");
      expect_depth(op, 0, op.num_operands(), depth, report);
      for (unsigned i = 0; i < op.num_operands(); ++i)
        expect_stream(op, op.result(i), element(op.operand(i)), depth, "a result", report);
      expect_stream(op, op.result(op.num_operands()), Kind::u32, depth, "the key", report);
    },
    "bundle", "bundle, key");
const OpInfo flow_merge = flow_op(
    "flow.merge", "Joins two bundles, list by list", at_least(2), at_least(1), {},
    [](const Op& op, VerifyReport& report) { verify_two_bundles(op, 0, report); },
    "bundle a, bundle b", "bundle");
const OpInfo flow_fb_merge = flow_op(
    "flow.fb_merge", "A loop header: one list at a time goes round", at_least(2), at_least(1), {},
    [](const Op& op, VerifyReport& report) { verify_two_bundles(op, 1, report); },
    "bundle from outside, bundle from the back edge", "bundle");
const OpInfo flow_buffer = flow_op(
    "flow.buffer", "A FIFO", exactly(1), exactly(1), {{"depth", AttrKind::integer, true, "tokens"}},
    [](const Op& op, VerifyReport& report) {
      expect(op.int_attr("depth") >= 1, op, report, "`depth` must be at least 1");
      expect(op.result()->type() == op.operand(0)->type(), op, report, "changes the type");
    },
    "a", "a");
const OpInfo flow_void_join = flow_op(
    "flow.void_join", "Waits for all", at_least(1), exactly(1), {},
    [](const Op& op, VerifyReport& report) {
      if (!all_streams(op, report)) return;
      expect_depth(op, 0, op.num_operands(), depth_of(op), report);
      expect_stream(op, op.result(), Kind::none, depth_of(op), "the result", report);
    },
    "streams", "void");

const OpInfo flow_sram = [] {
  OpInfo info = flow_op(
      "flow.sram", "An on-chip memory of buffers", between(0, 1), exactly(1),
      {{"name", AttrKind::string, false, "name in the source"},
       {"threads", AttrKind::integer, false, "buffers to have"},
       {"regions", AttrKind::integer, false, "copies of the replicate region with the memory"}},
      [](const Op& op, VerifyReport& report) {
        expect(op.result()->type().kind == Kind::sram, op, report, "the result is an sram");
        expect(op.int_attr("regions", 1) >= 1, op, report, "`regions` must be at least 1");
        if (op.num_operands() == 0) return;
        const Op* owner = op.operand(0)->def();
        expect(owner && owner->is(flow_sram) && owner->num_operands() == 0, op, report,
               "the owner must be a flow.sram without owner");
      },
      "[owner of its pointers]", "the memory");
  // Memories that look alike are not one.
  info.effects = [](const Op& op, std::vector<Effect>& out) {
    out.push_back({Effect::allocate, op.result(), nullptr});
  };
  return info;
}();
const OpInfo flow_alloc = [] {
  OpInfo info = flow_op(
      "flow.alloc", "A pointer per element; waits while there is none", between(2, 3), exactly(2),
      {{"predicated", AttrKind::boolean, false, "the last operand is a predicate"}},
      [](const Op& op, VerifyReport& report) {
        const unsigned wanted = 2 + (op.flag("predicated") ? 1 : 0);
        if (op.num_operands() != wanted)
          return report.fail(op,
                             fmt::format("expects {} operands, has {}", wanted, op.num_operands()));
        if (op.operand(0)->type().kind != Kind::sram || !is_stream(op.operand(1)))
          return report.fail(op, "expects a memory and a void");
        const unsigned depth = op.operand(1)->type().size;
        expect(element(op.operand(1)) == Kind::none, op, report, "expects a memory and a void");
        if (op.flag("predicated"))
          expect_stream(op, op.operand(2), Kind::i1, depth, "the predicate", report);
        expect_stream(op, op.result(0), Kind::ptr, depth, "the pointer", report);
        expect_stream(op, op.result(1), Kind::none, depth, "the void", report);
      },
      "memory, void[, pred]", "pointer, void");
  info.effects = [](const Op& op, std::vector<Effect>& out) {
    out.push_back({Effect::allocate, op.operand(0), nullptr});
  };
  return info;
}();
const OpInfo flow_free =
    memory_op("flow.free", "Gives a buffer back", {1, {Kind::ptr}, false, false}, Effect::release,
              {}, "memory, pointer[, voids..][, pred]", "void");
const OpInfo flow_sram_fill =
    memory_op("flow.sram_fill", "Zeroes a buffer", {1, {Kind::ptr}, false, false}, Effect::write,
              {}, "memory, pointer[, voids..][, pred]", "void");
const OpInfo flow_dram_load =
    memory_op("flow.dram_load", "Reads one element", {1, {Kind::i32}, true, true}, Effect::read, {},
              "array, index[, voids..][, pred]", "element, void");
const OpInfo flow_dram_store =
    memory_op("flow.dram_store", "Writes one element", {1, {Kind::i32, Kind::none}, true, false},
              Effect::write, {}, "array, index, value[, voids..][, pred]", "void");
const OpInfo flow_dram_atomic = memory_op(
    "flow.dram_atomic", "Changes one element atomically", {1, {Kind::i32, Kind::none}, true, true},
    Effect::atomic, {op_attr}, "array, index, value[, voids..][, pred]", "old element, void");
const OpInfo flow_dram_cas =
    memory_op("flow.dram_cas", "Compares and swaps one element",
              {1, {Kind::i32, Kind::none, Kind::none}, true, true}, Effect::atomic, {},
              "array, index, expected, desired[, voids..][, pred]", "old element, void");
const OpInfo flow_sram_load =
    memory_op("flow.sram_load", "Reads one element", {1, {Kind::ptr, Kind::i32}, true, true},
              Effect::read, {}, "memory, pointer, index[, voids..][, pred]", "element, void");
const OpInfo flow_sram_store = memory_op(
    "flow.sram_store", "Writes one element", {1, {Kind::ptr, Kind::i32, Kind::none}, true, false},
    Effect::write, {}, "memory, pointer, index, value[, voids..][, pred]", "void");
const OpInfo flow_sram_atomic =
    memory_op("flow.sram_atomic", "Changes one element atomically",
              {1, {Kind::ptr, Kind::i32, Kind::none}, true, true}, Effect::atomic, {op_attr},
              "memory, pointer, index, value[, voids..][, pred]", "old element, void");
const OpInfo flow_sram_cas =
    memory_op("flow.sram_cas", "Compares and swaps one element",
              {1, {Kind::ptr, Kind::i32, Kind::none, Kind::none}, true, true}, Effect::atomic, {},
              "memory, pointer, index, expected, desired[, voids..][, pred]", "old element, void");
const OpInfo flow_bulk_load = bulk_op(
    "flow.bulk_load", "Fills a buffer from an array, u32 also with several elements each", true);
const OpInfo flow_bulk_store = bulk_op("flow.bulk_store", "Stores a buffer to an array", false);

}  // namespace revet::ops
