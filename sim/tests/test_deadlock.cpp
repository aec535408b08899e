// Runs that do not end, and what is said about them.
#include <catch2/catch.hpp>

#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

At at(const char* name, std::uint32_t line) { return {name, {intern_file("a.rvt"), line, 3, 1}}; }

RunOptions tight() {
  RunOptions options;
  options.min_depth = options.max_depth = 1;
  return options;
}

/// Every element of a list meets the sum of its list: the list has to wait somewhere.
void add_sum_meets_list(Graph& g, unsigned elements) {
  std::string list;
  for (unsigned i = 0; i < elements; ++i) list += "7 ";
  const StreamId x = g.source(Kind::u32, 2, tokens(list + "Ω1 Ω2"), at("list", 1));
  const StreamId sum = g.reduce(x, reduction_of("+", Kind::u32), at("sum", 2));
  g.sink(g.broadcast({sum}, x, 1, at("meet", 3))[0], at("end", 4));
}
Graph sum_meets_list(unsigned elements) {
  Graph g;
  add_sum_meets_list(g, elements);
  return g;
}

}  // namespace

TEST_CASE("A deadlock names the cycle, what each unit waits for and holds, and the buffer") {
  const Result r = run(sum_meets_list(5), {}, tight());
  REQUIRE(r.outcome == Outcome::deadlock);
  CHECK(r.diagnosis ==
        "deadlock after 2 firings: no unit can act, 1 token remains\n"
        "each of these waits for the next, the last for the first:\n"
        "  source 'list' (a.rvt:1:3) waits for room on output 'x' (depth 2), to broadcast 'meet' "
        "(a.rvt:3:3); holds 6 tokens to send\n"
        "  broadcast 'meet' (a.rvt:3:3) waits for data on input 'a0' (depth 1), from reduce 'sum' "
        "(a.rvt:2:3); holds data 7 on input 'b'\n"
        "  reduce 'sum' (a.rvt:2:3) waits for a token on input 'x' (depth 2), from source 'list' "
        "(a.rvt:1:3); holds the sum of 1 elements\n"
        "the smallest buffer whose growth releases it: stream 'list' from source 'list' "
        "(a.rvt:1:3) to broadcast 'meet' (a.rvt:3:3): 6 tokens instead of 1\n");
  REQUIRE(r.deadlock.release);
  CHECK(r.deadlock.release->needed == 6);
  CHECK(r.deadlock.cycle);
  REQUIRE(r.deadlock.chain.size() == 3);
  CHECK(r.deadlock.chain[1].depth == 1);
  CHECK(r.deadlock.chain[1].loc.line == 3);
}

TEST_CASE("The buffer that is named is just large enough") {
  for (const unsigned n : {2u, 3u, 9u, 100u}) {
    Graph g = sum_meets_list(n);
    const Result r = run(g, {}, tight());
    REQUIRE(r.deadlock.release);
    CHECK(r.deadlock.release->needed == n + 1);
    // The list goes to two readers; a buffer in front of one of them holds it.
    for (const std::uint32_t depth : {n - 1, n}) {
      Graph h;
      std::string list;
      for (unsigned i = 0; i < n; ++i) list += "7 ";
      const StreamId x = h.source(Kind::u32, 2, tokens(list + "Ω1 Ω2"), "list");
      const StreamId sum = h.reduce(x, reduction_of("+", Kind::u32), "sum");
      const StreamId later = h.buffer(x, depth, "buffer");
      h.sink(h.broadcast({sum}, later, 1, "meet")[0], "end");
      CHECK(run(h, {}, tight()).outcome == (depth == n ? Outcome::finished : Outcome::deadlock));
    }
  }
}

TEST_CASE("Of several buffers the one that must grow least is named") {
  // The stream waits behind two units; only the full FIFO nearest to the broadcast and those
  // behind it can take the list up.
  Graph g;
  const StreamId x = g.source(Kind::u32, 2, tokens("1 2 3 4 5 6 Ω1 Ω2"), "list");
  const StreamId sum = g.reduce(x, reduction_of("+", Kind::u32), "sum");
  const StreamId again = g.context(with_constant(Scalar::add, 1), {x}, "again")[0];
  const StreamId more = g.context(with_constant(Scalar::add, 1), {again}, "more")[0];
  g.set_capacity(again, 3);
  g.sink(g.broadcast({sum}, more, 1, "meet")[0], "end");
  const Result r = run(g, {}, tight());
  REQUIRE(r.outcome == Outcome::deadlock);
  REQUIRE(r.deadlock.release);
  // 1 in front of 'again', 3 behind it and 1 behind 'more' hold five of seven tokens.
  CHECK(r.deadlock.release->needed - r.deadlock.release->capacity == 2);
}

TEST_CASE("One of several deadlocks is explained, with the buffer that it needs") {
  Graph g;
  for (const unsigned n : {5u, 5u, 9u}) add_sum_meets_list(g, n);
  const Result r = run(g, {}, tight());
  REQUIRE(r.outcome == Outcome::deadlock);
  CHECK(r.deadlock.chain.size() == 3);
  REQUIRE(r.deadlock.release);
  CHECK(r.deadlock.release->needed == 6);
}

TEST_CASE("Units that wait for each other's values: no buffer helps") {
  Graph g;
  const StreamId x = g.source(Kind::u32, 1, "x");
  const StreamId back = g.stream(Kind::u32, 1, "back");
  const Program add = program({Kind::u32, Kind::u32}, [](Program& p) {
    p.output(p.op(Scalar::add, p.input(0), p.input(1)));
  });
  const StreamId z = g.context(add, {x, back}, at("first", 5))[0];
  Node second;
  second.kind = NodeKind::buffer;
  second.name = "second";
  second.number = 2;
  second.in = {z};
  second.out = {back};
  g.add(second);
  g.sink(z, "end");
  const Result r = run(g, {}, tight());
  CHECK(r.diagnosis ==
        "deadlock after 1 firings: no unit can act, 1 token remains\n"
        "each of these waits for the next, the last for the first:\n"
        "  context 'first' (a.rvt:5:3) waits for data on input 'x1' (depth 1), from buffer "
        "'second'; holds data 1 on input 'x0'\n"
        "  buffer 'second' waits for a token on input 'x' (depth 1), from context 'first' "
        "(a.rvt:5:3)\n"
        "no single buffer's growth releases it\n");
}

TEST_CASE("A merge that waits for its barrier says which") {
  // Nothing closes the second side's list: a graph that loses a barrier.
  Graph g;
  const StreamId a = g.source(Kind::u32, 2, tokens("1 Ω1 Ω2"), "a");
  const StreamId b = g.source(Kind::u32, 2, tokens("2"), "b");
  g.sink(g.merge({a}, {b}, at("join", 8))[0], "end");
  const Result r = run(g, {}, {});
  REQUIRE(r.outcome == Outcome::deadlock);
  CHECK_FALSE(r.deadlock.cycle);
  CHECK(r.diagnosis.find("merge 'join' (a.rvt:8:3) waits for Ω1 on input 'b0' (depth 2), from "
                         "source 'b'; holds Ω1 and 1 more on input 'a0'\n"
                         "  source 'b' has sent everything\n") != std::string::npos);
}

TEST_CASE("An alloc without a free pointer names the pool") {
  Graph g;
  const std::uint32_t pool = g.pool("tiles", 1);
  const StreamId v = g.source(Kind::none, 1, tokens("_ _ Ω1"), "v");
  const Graph::Answer p = g.alloc(pool, {no_stream, {v}}, at("alloc", 6));
  g.sink(p.result, "end");
  g.unused(p.done);
  const Result r = run(g, {}, {});
  REQUIRE(r.outcome == Outcome::deadlock);
  CHECK(r.diagnosis.find("alloc 'alloc' (a.rvt:6:3) waits for a free pointer on pool 'tiles' "
                         "(depth 1); holds data and 1 more on input 'void0'") != std::string::npos);
}

TEST_CASE("A header that drains a loop which loses its barrier says so") {
  Graph g;
  const StreamId x = g.source(Kind::u32, 1, tokens("1 1 Ω1"), "x");
  const Graph::Header h = g.fb_merge({x}, at("while", 2));
  const StreamId more = g.context(test_of(1, 0, Scalar::ne, 0), h.out, "more")[0];
  const StreamId stay = g.filter(more, true, h.out, "stay")[0];
  // A barrier that never comes: the back edge meets a stream that ends early.
  const StreamId other = g.source(Kind::u32, 2, tokens("7"), "other");
  const Program first = program({Kind::u32, Kind::u32}, [](Program& p) {
    p.output(p.op(Scalar::and_, p.input(0), p.constant(Kind::u32, 0)));
  });
  g.close_loop(h, g.context(first, {stay, other}, "body"));
  g.sink(g.strip(g.filter(more, false, h.out, "leave"), "strip")[0], "end");
  const Result r = run(g, {}, {});
  REQUIRE(r.outcome == Outcome::deadlock);
  CHECK_FALSE(r.deadlock.cycle);
  CHECK(r.deadlock.chain.back().unit == "source 'other'");
}

TEST_CASE("Without the back-edge rule a buffer on the way back has to grow") {
  // One of the thread's values takes a longer way than the other.
  Graph g;
  const std::string twelve = "9 9 9 9 9 9 9 9 9 9 9 9 Ω1";
  const Bundle in{g.source(Kind::u32, 1, tokens(twelve), "x"),
                  g.source(Kind::u32, 1, tokens(twelve), "y")};
  const Build body = [](Graph& graph, const Bundle& x) {
    StreamId y = x[1];
    for (int i = 0; i < 6; ++i) y = graph.context(with_constant(Scalar::add, 1), {y}, "far")[0];
    return Bundle{graph.context(with_constant(Scalar::sub, 1), {x[0]}, "near")[0], y};
  };
  for (const StreamId s : while_loop(g, in, not_zero(2), body, "loop")) g.sink(s, "end");
  RunOptions options = tight();
  options.back_edge_rule = false;
  unsigned dead = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    options.seed = seed;
    const Result r = run(g, {}, options);
    if (r.outcome != Outcome::deadlock) continue;
    ++dead;
    INFO(r.diagnosis);
    REQUIRE(r.deadlock.cycle);
    REQUIRE(r.deadlock.release);
    // The short way has to hold what the long way does.
    const std::string& buffer = r.deadlock.release->stream;
    REQUIRE((buffer == "near.0" || buffer == "loop.stay.0"));
    REQUIRE(r.deadlock.release->needed <= 9);
    REQUIRE(r.diagnosis.find("fb_merge 'loop' waits for room") != std::string::npos);
  }
  CHECK(dead > 0);
  options.back_edge_rule = true;
  CHECK(run(g, {}, options).outcome == Outcome::finished);
}

TEST_CASE("Explaining a deadlock leaves arrays as they were") {
  Graph g;
  const std::uint32_t out = g.dram("out", Kind::u32);
  const StreamId x = g.source(Kind::u32, 2, tokens("0 1 2 Ω1 Ω2"), "x");
  const StreamId sum = g.reduce(x, reduction_of("+", Kind::u32), "sum");
  const StreamId total = g.broadcast({sum}, x, 1, "meet")[0];
  g.sink(g.dram_store(out, total, total, {}, "store"), "end");
  std::vector<std::uint32_t> words(4, 9);
  const Result r = run(g, {{reinterpret_cast<std::uint8_t*>(words.data()), words.size()}}, tight());
  REQUIRE(r.outcome == Outcome::deadlock);
  REQUIRE(r.deadlock.release);
  CHECK(words == std::vector<std::uint32_t>(4, 9));
}

TEST_CASE("A loop that does not end is stopped by the limit and named") {
  Graph g;
  const StreamId x = g.source(Kind::u32, 1, "x");
  const Bundle out =
      while_loop(g, {x}, not_zero(1), compute(with_constant(Scalar::or_, 1)), "forever");
  g.sink(out[0], "end");
  RunOptions options;
  options.max_firings = 10000;
  const Result r = run(g, {}, options);
  CHECK(r.outcome == Outcome::limit);
  CHECK(r.firings == 10000);
  CHECK(r.diagnosis.find("no end after 10000 firings; ") == 0);
  CHECK(r.diagnosis.find("fb_merge 'forever' waits for the threads of its loop to leave") !=
        std::string::npos);
}
