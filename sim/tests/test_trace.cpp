// Traces, their checker, and what a seed decides.
#include <catch2/catch.hpp>
#include <set>

#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

constexpr Kind u32 = Kind::u32;

/// Twelve threads that a merge and a loop bring out of order.
Graph unordered(Bundle& out) {
  Graph g;
  const StreamId x = g.source(u32, 2, tokens("5 1 8 2 9 3 Ω1 Ω1 7 4 6 1 2 3 Ω1 Ω2"), "x");
  const StreamId low = g.context(test_of(1, 0, Scalar::lt, 5), {x}, "low")[0];
  const Bundle joined =
      g.merge(g.filter(low, true, {x, x}, "then"), g.filter(low, false, {x, x}, "else"), "join");
  out = while_loop(g, joined, not_zero(2), compute(program({u32, u32}, [](Program& p) {
                     p.output(p.op(Scalar::sub, p.input(0), p.constant(u32, 1)));
                     p.output(p.input(1));
                   })));
  for (const StreamId s : out) g.sink(s, "end");
  return g;
}

/// The first fault of a hand-made trace of a graph with the given streams, in their order.
std::string first_fault(const std::function<void(Graph&)>& build,
                        const std::vector<const char*>& streams) {
  Graph g;
  build(g);
  Trace trace(g);
  REQUIRE(streams.size() == g.streams().size());
  for (StreamId s = 0; s < streams.size(); ++s)
    for (const Token t : tokens(streams[s])) trace.record(s, t);
  const std::vector<std::string> faults = check_barriers(g, trace);
  return faults.empty() ? "" : faults[0];
}

StreamId in(Graph& g, unsigned depth, Kind kind = u32) { return g.source(kind, depth, {}, "in"); }

}  // namespace

TEST_CASE("A run is the same for a seed, and differs between seeds") {
  Bundle out;
  const Graph g = unordered(out);
  const auto trace_of = [&](std::uint64_t seed, std::uint64_t& firings) {
    RunOptions options = setting(1, false);
    options.seed = seed;
    Trace trace(g);
    options.trace = &trace;
    firings = run(g, {}, options).firings;
    return trace.text(g, Trace::Form::expanded);
  };
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    const std::string text = trace_of(seed, first);
    REQUIRE(text == trace_of(seed, second));
    REQUIRE(first == second);
    orders.insert(text);
  }
  CHECK(orders.size() > 5);
}

TEST_CASE("A run counts its threads and firings") {
  Graph g;
  const StreamId n = g.source(u32, 5, "n");
  const StreamId i = g.counter(constant(g, n, 0), n, constant(g, n, 1), "foreach");
  g.sink(g.reduce(i, reduction_of("+", u32), "sum"), "end");
  const Result r = run(g, {}, {});
  CHECK(r.threads == 6);
  // source 2, two constants 2 each, counter 5 + 2, reduce 7, sink 2
  CHECK(r.firings == 22);
}

TEST_CASE("A fork of n adds n - 1 threads") {
  for (const std::uint32_t n : {0u, 1u, 7u}) {
    Graph g;
    const Bundle threads = fork(g, {g.source(u32, n, "n")}, 0);
    g.sink(threads[0], "n");
    g.sink(threads[1], "i");
    CHECK(run(g, {}, {}).threads == n);
  }
}

TEST_CASE("A trace prints each stream in the paper's notation") {
  Graph g;
  const StreamId x = g.source(Kind::i32, 2, tokens("0 -1 Ω1 2 Ω2"), "x");
  const StreamId f = g.flatten({x}, "flat")[0];
  const StreamId v =
      g.context(program({Kind::i32}, [](Program& p) { p.output_void(); }), {f}, "void")[0];
  g.sink(v, "end");
  Trace trace(g);
  RunOptions options;
  options.trace = &trace;
  run(g, {}, options);
  CHECK(trace.text(g, Trace::Form::expanded) ==
        "x (depth 2, i32): 0 -1 Ω1 2 Ω1 Ω2\n"
        "flat.0 (depth 1, i32): 0 -1 2 Ω1\n"
        "void.0 (depth 1, void): _ _ _ Ω1\n");
  CHECK(trace.text(g, Trace::Form::link) ==
        "x (depth 2, i32): 0 -1 Ω1 2 Ω2\n"
        "flat.0 (depth 1, i32): 0 -1 2 Ω1\n"
        "void.0 (depth 1, void): _ _ _ Ω1\n");
  Trace some(g);
  some.only({f});
  options.trace = &some;
  run(g, {}, options);
  CHECK(some.text(g, Trace::Form::link) == "flat.0 (depth 1, i32): 0 -1 2 Ω1\n");
}

TEST_CASE("The checker finds streams that are no tensor") {
  const auto fault = [](const char* text) {
    return first_fault([](Graph& g) { g.sink(in(g, 2), "end"); }, {text});
  };
  CHECK(fault("1 Ω1 Ω1 Ω2").empty());
  CHECK(fault("1 Ω2").empty());  // link form is legal
  CHECK(fault("Ω3") == "stream 'in', token 0: a barrier above the stream's depth");
  CHECK(fault("1 Ω1 Ω2 2") == "stream 'in', token 3: a token after the closing barrier");
  CHECK(fault("1 Ω1") == "stream 'in', token 2: the closing barrier is missing");
  CHECK(fault("") == "stream 'in', token 0: the closing barrier is missing");
}

TEST_CASE("The checker finds nodes whose outputs do not have their inputs' lists") {
  const auto add = [](Graph& g) {
    const StreamId a = in(g, 2);
    g.sink(g.context(with_constant(Scalar::add, 1), {a}, "add")[0], "end");
  };
  CHECK(first_fault(add, {"1 Ω1 Ω1 Ω2", "2 Ω1 Ω1 Ω2"}).empty());
  CHECK(first_fault(add, {"1 Ω1 Ω1 Ω2", "2 Ω1 Ω2"}) ==
        "context 'add': the outputs' lists are not the inputs'");

  const auto filter = [](Graph& g) {
    const StreamId p = in(g, 2, Kind::i1);
    const StreamId a = in(g, 2);
    g.sink(g.filter(p, true, {a}, "filter")[0], "end");
  };
  CHECK(first_fault(filter, {"1 0 Ω1 Ω2", "5 6 Ω1 Ω2", "5 Ω1 Ω2"}).empty());
  CHECK(first_fault(filter, {"1 0 Ω1 Ω2", "5 6 Ω1 Ω2", "Ω2"}) ==
        "filter 'filter': barriers differ");
  CHECK(first_fault(filter, {"1 Ω1 Ω2", "5 Ω1 Ω2", "5 5 Ω1 Ω2"}) ==
        "filter 'filter': elements were added");
  CHECK(first_fault(filter, {"1 Ω1 Ω2", "5 6 Ω1 Ω2", "5 Ω1 Ω2"}) ==
        "filter 'filter': inputs of a bundle have different lists");

  const auto merge = [](Graph& g) {
    const StreamId a = in(g, 2);
    const StreamId b = in(g, 2);
    g.sink(g.merge({a}, {b}, "merge")[0], "end");
  };
  CHECK(first_fault(merge, {"1 Ω1 Ω1 Ω2", "2 Ω1 3 Ω1 Ω2", "2 1 Ω1 3 Ω1 Ω2"}).empty());
  CHECK(first_fault(merge, {"1 Ω1 Ω1 Ω2", "2 Ω1 3 Ω1 Ω2", "2 Ω1 1 3 Ω1 Ω2"}) ==
        "merge 'merge': an element changed its list, or was lost");
  CHECK(first_fault(merge, {"1 Ω1 Ω2", "2 Ω1 3 Ω1 Ω2", "2 1 Ω1 3 Ω1 Ω2"}) ==
        "merge 'merge': barriers differ");

  const auto counter = [](Graph& g) {
    const StreamId a = in(g, 1);
    g.sink(g.counter(a, a, a, "foreach"), "end");
  };
  CHECK(first_fault(counter, {"2 0 Ω1", "0 1 Ω1 Ω1 Ω2"}).empty());
  CHECK(first_fault(counter, {"2 0 Ω1", "0 1 Ω1 Ω2"}) ==
        "counter 'foreach': the output has not one list for each element");

  const auto reduce = [](Graph& g) { g.sink(g.reduce(in(g, 2), {}, "sum"), "end"); };
  CHECK(first_fault(reduce, {"1 2 Ω1 Ω1 Ω2", "3 0 Ω1"}).empty());
  CHECK(first_fault(reduce, {"1 2 Ω1 Ω1 Ω2", "3 Ω1"}) ==
        "reduce 'sum': the output has not one element for each list");

  const auto strip = [](Graph& g) { g.sink(g.strip({in(g, 2)}, "strip")[0], "end"); };
  CHECK(first_fault(strip, {"1 2 Ω1 3 Ω1 Ω2", "1 2 3 Ω1"}).empty());
  CHECK(first_fault(strip, {"1 2 Ω1 3 Ω1 Ω2", "1 2 Ω1"}) ==
        "strip 'strip': the output is not one level less");

  const auto broadcast = [](Graph& g) {
    const StreamId b = in(g, 2);
    const StreamId a = in(g, 1);
    g.sink(g.broadcast({a}, b, 1, "broadcast")[0], "end");
  };
  CHECK(first_fault(broadcast, {"0 1 Ω1 Ω1 Ω2", "7 8 Ω1", "7 7 Ω1 Ω1 Ω2"}).empty());
  CHECK(first_fault(broadcast, {"0 1 Ω1 Ω1 Ω2", "7 Ω1", "7 7 Ω1 Ω1 Ω2"}) ==
        "broadcast 'broadcast': a has not one element for each list of b");
  CHECK(first_fault(broadcast, {"0 1 Ω1 Ω1 Ω2", "7 8 Ω1", "7 Ω1 Ω1 Ω2"}) ==
        "broadcast 'broadcast': the outputs' lists are not those of b");
}

TEST_CASE("The checker finds headers that do not drain their loop") {
  // Streams: x, header, back.
  const auto loop = [](Graph& g) {
    const Graph::Header h = g.fb_merge({in(g, 1)}, "while");
    g.close_loop(h, {g.buffer(h.out[0], 1, "back")});
  };
  const auto fault = [&](const char* x, const char* header, const char* back) {
    Graph g;
    loop(g);
    Trace trace(g);
    const char* const texts[] = {x, header, back};
    for (StreamId s = 0; s < 3; ++s)
      for (const Token t : tokens(texts[s])) trace.record(s, t);
    for (const std::string& f : check_barriers(g, trace))
      if (f.starts_with("fb_merge")) return f;
    return std::string();
  };
  CHECK(fault("5 Ω1", "5 Ω1 Ω2", "Ω1 Ω2").empty());
  CHECK(fault("5 Ω1", "5 Ω1 4 Ω1 Ω2", "4 Ω1 Ω1 Ω2").empty());
  CHECK(fault("5 Ω1", "5 Ω1 Ω1 Ω2", "Ω1 Ω2") ==
        "fb_merge 'while': the barriers that came back are not those that were sent");
  CHECK(fault("5 Ω1", "5 Ω1 Ω2", "4 Ω1 Ω2") == "fb_merge 'while': an element was lost");
  CHECK(fault("5 Ω1", "5 Ω1 Ω2 Ω2", "Ω1 Ω2 Ω2") ==
        "fb_merge 'while': the lists of the loop are not those that entered it");
}

TEST_CASE("A copy of an instance runs on by itself") {
  Bundle out;
  const Graph g = unordered(out);
  Instance first(g, {}, setting(4, true));
  const auto fire = [](Instance& i) {
    const NodeId n = i.ready.take(i.random);
    if (step(i, n).stall == Stall::none) i.ready.add(n);
  };
  for (int i = 0; i < 60; ++i) fire(first);
  Instance second = first;
  const auto finish = [&](Instance& i) {
    while (!i.ready.empty()) fire(i);
    return i.finished();
  };
  CHECK_FALSE(first.finished());
  CHECK(finish(second));
  CHECK_FALSE(first.finished());
  CHECK(finish(first));
}
