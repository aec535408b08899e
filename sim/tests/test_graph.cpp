// What the builder refuses: one test for each check of validate.cpp, by its number.
#include <catch2/catch.hpp>

#include "revet/sim/loops.hpp"
#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

At at(const char* name, std::uint32_t line) { return {name, {intern_file("a.rvt"), line, 3, 1}}; }

/// The messages, each with its place, one on a line.
std::string problems(const Graph& g) {
  Diagnostics diagnostics;
  g.validate(diagnostics);
  std::string text;
  for (const Diagnostic& d : diagnostics.all()) {
    text += d.message + place_text(d.loc) + "\n";
    for (const Note& note : d.notes) text += "note: " + note.message + "\n";
  }
  return text;
}

StreamId value(Graph& g, Kind kind = Kind::u32, unsigned depth = 1) {
  return g.source(kind, depth, {}, "value");
}

}  // namespace

TEST_CASE("A graph that is whole is accepted") {
  Graph g;
  const Bundle out = while_loop(g, {value(g)}, not_zero(1), compute(with_constant(Scalar::sub, 1)));
  g.sink(out[0], "end");
  CHECK(problems(g).empty());
}

TEST_CASE("[1] Depths above 15 are refused, 15 is not") {
  Graph g;
  StreamId x = value(g, Kind::u32, 13);
  x = g.counter(x, x, x, "c14");
  x = g.counter(x, x, x, "c15");
  g.sink(x, "end");
  CHECK(problems(g).empty());
  Graph h;
  x = value(h, Kind::u32, 15);
  h.sink(h.counter(x, x, x, at("c16", 4)), "end");
  CHECK(problems(h) == "stream 'c16' has depth 16, which is not 1..15 [1](a.rvt:4:3)\n");
  Graph k;
  x = value(k);
  const StreamId flat = k.flatten({x}, at("flat", 2))[0];
  k.unused(flat);
  CHECK(problems(k).find("stream 'flat.0' has depth 0, which is not 1..15 [1](a.rvt:2:3)\n") == 0);
}

TEST_CASE("[2] [4] [6] Streams and ports that are not connected") {
  Graph g;
  const StreamId never = g.stream(Kind::u32, 1, at("never", 7));
  g.sink(never, "end");
  value(g);
  const StreamId known = value(g);
  g.unused(known);
  const Graph::Header h = g.fb_merge({value(g)}, at("while", 8));
  g.unused(h.out[0]);
  CHECK(problems(g) ==
        "stream 'never' has no writer [2](a.rvt:7:3)\n"
        "stream 'value' has no reader and is not unused [4]\n"
        "fb_merge 'while' (a.rvt:8:3): input 'back0' is not connected [6](a.rvt:8:3)\n");
}

TEST_CASE("[3] A second writer") {
  Graph g;
  const StreamId x = value(g);
  Node second;
  second.kind = NodeKind::source;
  second.name = "second";
  second.loc = {intern_file("a.rvt"), 9, 1, 1};
  second.out = {x};
  g.add(second);
  g.sink(x, "end");
  CHECK(problems(g) ==
        "source 'second' (a.rvt:9:1) writes stream 'value', which has a writer [3](a.rvt:9:1)\n"
        "note: written by source 'value'\n");
}

TEST_CASE("[5] The wrong number of ports") {
  Graph g;
  Node merge;
  merge.kind = NodeKind::merge;
  merge.name = "join";
  merge.in = {value(g), value(g), value(g)};
  merge.out = {g.stream(Kind::u32, 1, "y0"), g.stream(Kind::u32, 1, "y1")};
  for (const StreamId s : merge.out) g.unused(s);
  g.add(merge);
  CHECK(problems(g) == "merge 'join': has 3 inputs and 2 outputs, not 4 and 2 [5]\n");
  Graph h;
  const std::uint32_t pool = h.pool("p", 1);
  Node alloc;
  alloc.kind = NodeKind::alloc;
  alloc.name = "alloc";
  alloc.pool = pool;
  alloc.out = {h.stream(Kind::ptr, 1, "p"), h.stream(Kind::none, 1, "v")};
  for (const StreamId s : alloc.out) h.unused(s);
  h.add(alloc);
  CHECK(problems(h) == "alloc 'alloc': has 0 inputs and 2 outputs, not 1 and 2 [5]\n");
}

TEST_CASE("[7] Depths that do not match") {
  const auto depth_problem = [](const std::function<void(Graph&)>& build) {
    Graph g;
    build(g);
    for (StreamId s = 0; s < g.streams().size(); ++s)
      if (g.stream(s).readers.empty()) g.unused(s);
    return problems(g);
  };
  CHECK(depth_problem([](Graph& g) {
          g.context(program({Kind::u32, Kind::u32}, [](Program& p) { p.output(p.input(0)); }),
                    {value(g), value(g, Kind::u32, 2)}, "add");
        }) == "context 'add': input 'x1' takes depth 1, stream 'value' has depth 2 [7]\n");
  CHECK(depth_problem([](Graph& g) {
          g.broadcast({value(g, Kind::u32, 1)}, value(g, Kind::u32, 2), 2, "b");
        }) == "broadcast 'b': input 'b' takes depth 3, stream 'value' has depth 2 [7]\n");
  CHECK(depth_problem([](Graph& g) {
          Node counter;
          counter.kind = NodeKind::counter;
          counter.name = "foreach";
          counter.in = {value(g), value(g), value(g)};
          counter.out = {g.stream(Kind::u32, 1, "index")};
          g.add(counter);
        }) == "counter 'foreach': output 'index' takes depth 2, stream 'index' has depth 1 [7]\n");
  CHECK(depth_problem([](Graph& g) {
          Node reduce;
          reduce.kind = NodeKind::reduce;
          reduce.name = "sum";
          reduce.in = {value(g, Kind::u32, 2)};
          reduce.out = {g.stream(Kind::u32, 2, "total")};
          g.add(reduce);
        }) == "reduce 'sum': output 'y' takes depth 1, stream 'total' has depth 2 [7]\n");
  CHECK(depth_problem([](Graph& g) {
          const Graph::Header h = g.fb_merge({value(g)}, "while");
          g.close_loop(h, g.strip(h.out, "strip"));
        }) == "fb_merge 'while': input 'back0' takes depth 2, stream 'strip.0' has depth 1 [7]\n");
}

TEST_CASE("[8] Kinds that do not match") {
  Graph g;
  const StreamId f = value(g, Kind::f32);
  const StreamId x = value(g);
  const std::uint32_t a = g.dram("a", Kind::u8);
  const std::uint32_t tile = g.sram("tile", Kind::u8, 4, 1);
  g.sink(g.filter(x, true, {f}, at("then", 1))[0], "end");
  g.sink(g.merge({x}, {f}, at("join", 2))[0], "end");
  g.sink(g.sram_fill(tile, x, {no_stream, {x}}, at("fill", 3)), "end");
  g.sink(g.counter(f, f, f, at("count", 4)), "end");
  g.sink(g.dram_store(a, x, x, {}, at("store", 5)), "end");
  g.sink(g.context(with_constant(Scalar::add, 1), {f}, at("add", 6))[0], "end");
  CHECK(problems(g) ==
        "filter 'then' (a.rvt:1:3): input 'pred' takes i1, stream 'value' carries u32 [8]"
        "(a.rvt:1:3)\n"
        "merge 'join' (a.rvt:2:3): input 'b0' takes u32, stream 'value' carries f32 [8]"
        "(a.rvt:2:3)\n"
        "sram_fill 'fill' (a.rvt:3:3): input 'void0' takes void, stream 'value' carries u32 [8]"
        "(a.rvt:3:3)\n"
        "counter 'count' (a.rvt:4:3): input 'min' takes an integer, stream 'value' carries f32 "
        "[8](a.rvt:4:3)\n"
        "dram_store 'store' (a.rvt:5:3): input 'value' takes u8, stream 'value' carries u32 [8]"
        "(a.rvt:5:3)\n"
        "context 'add' (a.rvt:6:3): input 'x0' takes u32, stream 'value' carries f32 [8]"
        "(a.rvt:6:3)\n");
}

TEST_CASE("[9] Parameters out of range") {
  Graph g;
  const StreamId x = value(g);
  const StreamId p = value(g, Kind::ptr);
  const StreamId valid = value(g, Kind::i32);
  const std::uint32_t bytes = g.dram("bytes", Kind::u8);
  const std::uint32_t words = g.sram("words", Kind::i32, 4, 1);
  g.sink(g.buffer(x, 0, "buffer"), "end");
  g.sink(g.deal({x}, 0, "deal").key, "end");
  g.sink(g.broadcast({x}, x, 0, "broadcast")[0], "end");
  g.sink(g.bulk_load(bytes, words, p, {x}, valid, {}, "bulk"), "end");
  const StreamId byte = value(g, Kind::u8);
  g.sink(g.dram_atomic(bytes, Atomic::add, x, {byte}, {}, "atomic").done, "end");
  Node fill;
  fill.kind = NodeKind::sram_fill;
  fill.name = "fill";
  fill.sram = 7;
  fill.in = {p};
  fill.out = {g.stream(Kind::none, 1, "filled")};
  g.add(fill);
  for (StreamId s = 0; s < g.streams().size(); ++s)
    if (g.stream(s).readers.empty()) g.unused(s);
  CHECK(problems(g) ==
        "buffer 'buffer': the depth is 0 [9]\n"
        "deal 'deal': the number of keys is 0 [9]\n"
        "broadcast 'broadcast': the number of levels is 0 [9]\n"
        "bulk_load 'bulk': array and SRAM have different elements [9]\n"
        "dram_atomic 'atomic': an atomic needs i32 or u32 elements [9]\n"
        "sram_fill 'fill': has no SRAM [9]\n");
}

TEST_CASE("[10] A back edge from elsewhere") {
  Graph g;
  const Graph::Header h = g.fb_merge({value(g)}, at("while", 6));
  g.unused(h.out[0]);
  g.close_loop(h, {value(g, Kind::u32, 2)});
  CHECK(problems(g) ==
        "fb_merge 'while' (a.rvt:6:3): back edge 0 does not come from the loop's own header [10]"
        "(a.rvt:6:3)\n");
}

TEST_CASE("A graph that is not valid does not run") {
  Graph g;
  value(g);
  CHECK_THROWS_WITH(run(g, {}, {}),
                    "the flow graph is not valid\n  stream 'value' has no reader and is not unused "
                    "[4] ");
}

TEST_CASE("A program's operands have one kind") {
  Program p({Kind::u32, Kind::i32, Kind::i1});
  CHECK_THROWS_AS(p.op(Scalar::add, p.input(0), p.input(1)), InternalError);
  CHECK_THROWS_AS(p.select(p.input(0), p.input(1), p.input(1)), InternalError);
  CHECK_NOTHROW(p.op(Scalar::shl, p.input(0), p.input(1)));
}

TEST_CASE("A loop is closed once, by as many streams as it has") {
  Graph g;
  const Graph::Header h = g.fb_merge({value(g)}, "while");
  CHECK_THROWS_WITH(g.close_loop(h, {}), "the back edge of fb_merge 'while' has 0 streams, not 1");
  const StreamId back = value(g, Kind::u32, 2);
  g.close_loop(h, {back});
  CHECK_THROWS_WITH(g.close_loop(h, {back}), "input 1 of fb_merge 'while' is connected twice");
}

TEST_CASE("Loops are found with their bodies, inner ones first") {
  Graph g;
  const StreamId x = value(g);
  StreamId inner_in = no_stream;
  const Bundle out = while_loop(
      g, {x}, not_zero(1),
      [&](Graph& graph, const Bundle& y) {
        inner_in = y[0];
        return while_loop(graph, y, not_zero(1), compute(with_constant(Scalar::sub, 1)), "inner");
      },
      "outer");
  // A fork after the loops makes no threads of theirs; one in the outer body does.
  g.sink(g.flatten({g.counter(out[0], out[0], out[0], "count")}, "flat")[0], "end");
  const std::vector<Loop> loops = loops_of(g);
  REQUIRE(loops.size() == 2);
  CHECK(g.node(loops[0].header).name == "inner");
  CHECK(g.node(loops[1].header).name == "outer");
  const auto names = [&](const Loop& l) {
    std::string text;
    for (const NodeId n : l.body) text += g.node(n).name + " ";
    return text;
  };
  CHECK(names(loops[0]) == "not_zero inner.stay compute ");
  CHECK(names(loops[1]) ==
        "not_zero outer.stay inner not_zero inner.stay compute inner.leave inner.result ");
  CHECK(!loops[0].forks);
  CHECK(!loops[1].forks);
}

TEST_CASE("A loop's body is only its own, though values of an outer loop reach into it") {
  // while (a) { s = foreach (a) { i => while (i) i -= min(i, a); } }
  Graph g;
  const Build body = [](Graph& graph, const Bundle& a) {
    const StreamId child =
        graph.counter(constant(graph, a[0], 0), a[0], constant(graph, a[0], 1), "foreach");
    const Build inner = [&](Graph& h, const Bundle& i) {
      const StreamId parent = h.broadcast(a, i[0], 2, "parent")[0];
      return h.context(program({Kind::u32, Kind::u32},
                               [](Program& p) {
                                 const auto less = p.op(Scalar::min, p.input(0), p.input(1));
                                 p.output(p.op(Scalar::sub, p.input(0), less));
                               }),
                       {i[0], parent}, "less");
    };
    const Bundle left = while_loop(graph, {child}, not_zero(1), inner, "inner");
    return Bundle{graph.reduce(left[0], reduction_of("+", Kind::u32), "sum")};
  };
  const Bundle out = while_loop(g, {value(g)}, not_zero(1), body, "outer");
  g.sink(out[0], "end");
  const std::vector<Loop> loops = loops_of(g);
  REQUIRE(loops.size() == 2);
  std::string names;
  for (const NodeId n : loops[0].body) names += g.node(n).name + " ";
  CHECK(g.node(loops[0].header).name == "inner");
  CHECK(names == "not_zero inner.stay parent less ");
}

TEST_CASE("A fork counts for the loops around it, up to the foreach that encloses it") {
  // while (a) { foreach (b) { while (c) { fork; } } }
  Graph g;
  const auto forking = [](Graph& graph, const Bundle& x) {
    Bundle threads = fork(graph, x, 0);
    graph.unused(threads.back());
    return Bundle{threads[0]};
  };
  const Build body = [&](Graph& graph, const Bundle& x) {
    const StreamId child = graph.counter(x[0], x[0], constant(graph, x[0], 1), "foreach");
    const Bundle c = while_loop(graph, {child}, not_zero(1), forking, "inner");
    return Bundle{graph.reduce(c[0], reduction_of("+", Kind::u32), "sum")};
  };
  g.sink(while_loop(g, {value(g)}, not_zero(1), body, "outer")[0], "end");
  const std::vector<Loop> loops = loops_of(g);
  REQUIRE(loops.size() == 2);
  CHECK(loops[0].forks);
  CHECK(!loops[1].forks);

  Graph h;
  const Build nested = [&](Graph& graph, const Bundle& x) {
    return while_loop(graph, x, not_zero(1), forking, "inner");
  };
  h.sink(while_loop(h, {value(h)}, not_zero(1), nested, "outer")[0], "end");
  for (const Loop& l : loops_of(h)) CHECK(l.forks);
}
