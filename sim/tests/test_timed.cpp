// The timed engine against closed forms: pipelines, links, loops, merges, units, accounts.
#include "timed_support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

constexpr Kind u32 = Kind::u32;

/// Of a link between compute units, one hop apart, on the test machine.
constexpr unsigned hop = 6 + 1;
constexpr unsigned credit = 1 + 1;

/// x through `n` contexts that add one.
Graph pipeline(unsigned n, std::uint32_t elements) {
  Graph g;
  StreamId x = numbers(g, elements);
  for (unsigned i = 0; i < n; ++i) x = g.context(with_constant(Scalar::add, 1), {x}, "add")[0];
  g.sink(x, "end");
  return g;
}

/// Buffers in front of filters cover the way of their predicate.
Mapping retimed(const Graph& g, const Machine& m, std::uint32_t vectors = 2 * hop + credit) {
  Mapping mapping = unmapped(g, m);
  for (NodeId n = 0; n < g.nodes().size(); ++n)
    for (std::size_t i = 0; i < g.node(n).in.size(); ++i)
      if (g.node(n).kind == NodeKind::filter) mapping.inputs[input_of(g, n, i)].capacity = vectors;
  size_back_edges(g, m, mapping);
  return mapping;
}

/// while (i) i--;  `threads` threads of `trips` trips.
Graph countdown(std::uint32_t threads, std::uint32_t trips) {
  Graph g;
  std::vector<Token> list(threads, data_token(trips));
  list.push_back(barrier(1));
  const StreamId x = g.source(u32, 1, list, "x");
  const Bundle out =
      while_loop(g, {x}, not_zero(1), compute(with_constant(Scalar::sub, 1), "less"));
  g.sink(out[0], "end");
  return g;
}

Cycle sum(const UnitCycles& u) { return u.cycles[0] + u.cycles[1] + u.cycles[2] + u.cycles[3]; }

}  // namespace

TEST_CASE("Timed: vectors pass a pipeline of contexts one per cycle", "[timed]") {
  for (const unsigned n : {0u, 1u, 2u, 5u})
    for (const std::uint32_t vectors : {1u, 2u, 50u}) {
      const Graph g = pipeline(n, 16 * vectors);
      const TimedResult r = run_timed_graph(g, test_machine());
      // Vector i leaves the source in cycle i; the barrier goes with the last one.
      CHECK(r.last_result == (vectors - 1) + (n + 1) * hop);
      CHECK(r.cycles == r.last_result + 1);
      for (const UnitCycles& u : r.units) CHECK(u.cycles[UnitCycles::busy] == vectors);
      for (const LinkCounts& l : r.links) {
        CHECK(l.vectors == vectors);
        CHECK(l.lanes == 16 * vectors);
        CHECK(l.barriers == 1);
      }
    }
  // An element more is a vector more.
  CHECK(run_timed_graph(pipeline(1, 17), test_machine()).last_result == 1 + 2 * hop);
}

TEST_CASE("Timed: latencies of units and hops add up", "[timed]") {
  Machine m = test_machine();
  for (const unsigned latency : {1u, 6u, 9u})
    for (const unsigned each : {1u, 2u})
      for (const unsigned hops : {0u, 1u, 7u}) {
        m.compute.latency = latency;
        m.network.hop_latency = each;
        const Graph g = pipeline(3, 160);
        Mapping mapping = unmapped(g, m);
        for (Mapping::Input& in : mapping.inputs)
          in = link_timing(m, latency, hops, LinkKind::vector);
        const TimedResult r = run_timed_graph(g, m, mapping);
        // The buffers cover the way there and back: nothing but the latency is lost.
        CHECK(r.last_result == 9 + 4 * (latency + hops * each));
      }
}

TEST_CASE("Timed: a link of capacity c carries c vectors per round trip", "[timed]") {
  constexpr std::uint32_t vectors = 60;
  const Graph g = pipeline(0, 16 * vectors);
  const Machine m = test_machine();
  for (std::uint32_t c = 1; c <= hop + credit + 2; ++c) {
    Mapping mapping = unmapped(g, m);
    mapping.inputs[0].capacity = c;
    // Vector i waits for the room of vector i - c, which is known a round trip after it was sent.
    const Cycle sent =
        c < hop + credit ? (vectors - 1) / c * (hop + credit) + (vectors - 1) % c : vectors - 1;
    CHECK(run_timed_graph(g, m, mapping).last_result == sent + hop);
  }
}

TEST_CASE("Timed: a scalar link has a sixteenth of the rate", "[timed]") {
  const Machine m = test_machine();
  for (const std::uint32_t elements : {1u, 15u, 16u, 160u, 1600u}) {
    const Graph g = pipeline(0, elements);
    Mapping mapping = unmapped(g, m);
    mapping.inputs[0] = link_timing(m, m.compute.latency, 1, LinkKind::scalar);
    // One element per cycle; the barrier rides with the last.
    CHECK(run_timed_graph(g, m, mapping).last_result == elements - 1 + hop);
    CHECK(run_timed_graph(g, m).last_result == (elements + 15) / 16 - 1 + hop);
  }
  // The next vector is sent after 16 cycles if by then all but c - 1 of the elements are known to
  // be taken: element e is, in cycle e + hop + credit. So 16 - (16 - hop - credit + 1) < c.
  const Graph g = pipeline(0, 160);
  Mapping mapping = unmapped(g, m);
  mapping.inputs[0].scalar = true;
  mapping.inputs[0].capacity = hop + credit;
  CHECK(run_timed_graph(g, m, mapping).last_result == 159 + hop);
  mapping.inputs[0].capacity -= 1;
  CHECK(run_timed_graph(g, m, mapping).last_result == 159 + hop + 9);
}

TEST_CASE("Timed: a loop of latency L passes min(1, k / 16 L) vectors of k threads per cycle",
          "[timed]") {
  // Header, condition, filter, body, header.
  constexpr unsigned loop = 4 * hop;
  const Machine m = test_machine();
  for (const std::uint32_t trips : {0u, 1u, 10u})
    for (const std::uint32_t threads : {1u, 16u, 17u, 16 * (loop - 1), 16 * loop}) {
      const std::uint32_t vectors = (threads + 15) / 16;
      const Graph g = countdown(threads, trips);
      const TimedResult r = run_timed_graph(g, m, retimed(g, m));
      // Vector v passes the header for the j-th time in cycle hop + v + j L. Ω1 goes with the
      // last one, trips + 1 times, and once more alone; it becomes Ω2, which leaves the loop in
      // L cycles, as it comes back.
      CHECK(r.last_result == hop + (vectors - 1) + (trips + 2) * loop);
      CHECK(r.cycles == r.last_result + 1);
    }
  // More do not fit: the header has a vector in every cycle, and threads that left make room for
  // as many.
  for (const std::uint32_t batches : {2u, 5u}) {
    constexpr std::uint32_t trips = 10;
    const Graph g = countdown(16 * loop * batches, trips);
    const TimedResult r = run_timed_graph(g, m, retimed(g, m));
    CHECK(r.last_result ==
          hop + (batches - 1) * (trips + 1) * loop + (loop - 1) + (trips + 2) * loop);
    // Ω1 comes back alone and becomes Ω2; that comes back.
    const Cycle busy = batches * (trips + 1) * loop + 2;
    CHECK(r.units[0].cycles[UnitCycles::busy] == busy);
    // One vector less in front of the filters cannot hold what waits for the predicate.
    const TimedResult slow = run_timed_graph(g, m, retimed(g, m, 2 * hop + credit - 1));
    CHECK(slow.units[0].cycles[UnitCycles::busy] == busy);
    CHECK(slow.last_result > r.last_result + batches * trips);
  }
}

TEST_CASE("Timed: a header takes nothing from the forward side behind a full vector", "[timed]") {
  // 16 threads in a loop of one unit and one cycle; what follows them is a barrier by itself.
  for (const std::uint32_t trips : {0u, 1u, 9u}) {
    Graph g;
    std::vector<Token> list(16, data_token(trips));
    list.push_back(data_token(99));
    list.push_back(barrier(1));
    const StreamId x = g.source(u32, 1, list, "x");
    const StreamId is_thread = g.context(test_of(1, 0, Scalar::ne, 99), {x}, "is_thread")[0];
    const NodeId first = static_cast<NodeId>(g.nodes().size()) + 1;
    const Bundle out = while_loop(g, g.filter(is_thread, true, {x}, "threads"), not_zero(1),
                                  compute(with_constant(Scalar::sub, 1), "less"));
    g.sink(out[0], "end");
    const Machine m = test_machine();
    Mapping mapping = unmapped(g, m);
    for (NodeId n = first; g.node(n).kind != NodeKind::sink; ++n) {
      mapping.units_of[n] = mapping.units_of[first];
      for (std::size_t i = 0; i < g.node(n).in.size(); ++i)
        if (n != first) mapping.inputs[input_of(g, n, i)] = {0, 1, 2, false, false, 0};
    }
    mapping.inputs[input_of(g, first, 1)].latency = 1;
    const TimedResult r = run_timed_graph(g, m, mapping);
    // The threads pass the header trips + 1 times; then Ω1, which becomes Ω2 in the next cycle.
    CHECK(r.last_result == 3 * hop + trips + 2 + hop);
  }
}

TEST_CASE("Timed: nodes of one unit are stages of its pipeline", "[timed]") {
  const Machine m = test_machine();
  const Graph g = pipeline(4, 16 * 20);
  Mapping mapping = unmapped(g, m);
  for (const NodeId n : {2u, 3u, 4u}) {
    mapping.units_of[n] = mapping.units_of[1];
    mapping.inputs[input_of(g, n, 0)] = {0, 1, 1, false, false, 0};
  }
  const TimedResult r = run_timed_graph(g, m, mapping);
  CHECK(r.last_result == 19 + 2 * hop);
  CHECK(r.units[mapping.units_of[1][0]].cycles[UnitCycles::busy] == 20);
}

TEST_CASE("Timed: two vector merges of one unit both take a vector per cycle", "[timed]") {
  const Machine m = test_machine();
  for (const std::uint32_t lanes : {16u, 8u}) {
    Graph g;
    std::vector<NodeId> merges;
    for (int i = 0; i < 2; ++i) {
      // Sides of `lanes` in a vector: a filter drops the rest.
      Bundle sides;
      for (int s = 0; s < 2; ++s) {
        const StreamId x = numbers(g, 16 * 40);
        sides.push_back(g.filter(
            g.context(program({u32},
                              [&](Program& p) {
                                const auto k = p.op(Scalar::and_, p.input(0), p.constant(u32, 15));
                                p.output(p.op(Scalar::lt, k, p.constant(u32, lanes)));
                              }),
                      {x}, "keep")[0],
            true, {x}, "side")[0]);
      }
      const Bundle out = g.merge({sides[0]}, {sides[1]}, "merge");
      merges.push_back(writer_of(g, out[0]));
      g.sink(out[0], "end");
    }
    Mapping mapping = retimed(g, m);
    mapping.units_of[merges[1]] = mapping.units_of[merges[0]];
    const TimedResult r = run_timed_graph(g, m, mapping);
    // Two full vectors take two cycles, two halves one.
    const Cycle busy = lanes == 16 ? 80 : 40;
    CHECK(r.units[mapping.units_of[merges[0]][0]].cycles[UnitCycles::busy] == busy);
    CHECK(r.last_result == 3 * hop + busy - 1 + hop);
  }
}

TEST_CASE("Timed: a counter gives 16 indices per cycle and a broadcast a list per cycle",
          "[timed]") {
  const Machine m = test_machine();
  struct Case {
    std::uint32_t trips, vectors;
  };
  for (const Case c : {Case{0, 1}, Case{1, 1}, Case{16, 1}, Case{17, 2}, Case{160, 10}}) {
    Graph g;
    constexpr std::uint32_t parents = 20;
    const StreamId x = numbers(g, parents);
    const StreamId index =
        g.counter(constant(g, x, 0), constant(g, x, c.trips), constant(g, x, 1), "foreach");
    const Bundle out = g.broadcast({x}, index, 1, "live");
    g.sink(out[0], "end");
    const TimedResult r = run_timed_graph(g, m);
    // Ω1 goes with the last indices; Ω2 is by itself.
    const Cycle counted = parents * c.vectors;
    CHECK(r.units[unmapped(g, m).units_of[writer_of(g, index)][0]].cycles[UnitCycles::busy] ==
          counted + 1);
    CHECK(r.last_result == 4 * hop + counted);
    CHECK(r.threads == 1 + parents * c.trips);
  }
}

TEST_CASE("Timed: what a source sends in link form is what it means", "[timed]") {
  for (const char* text : {"0 1 Ω1 2 Ω2", "Ω1 Ω2", "3 Ω2", "Ω2", "1 Ω1 Ω2"}) {
    Graph g;
    const StreamId x = g.source(u32, 2, tokens(text), "x");
    const StreamId sum = g.reduce(x, reduction_of("+", u32), "sum");
    g.sink(sum, "end");
    Trace trace(g);
    run_timed_graph(g, test_machine(), {}, &trace);
    CHECK(trace.of(x) == decode(tokens(text)));
    CHECK(check_barriers(g, trace).empty());
  }
}

TEST_CASE("Timed: a float reduction adds up blocks", "[timed]") {
  for (const std::uint32_t n : {0u, 1u, 1024u, 1025u, 5000u}) {
    Graph g;
    std::vector<Token> list;
    for (std::uint32_t i = 0; i < n; ++i)
      list.push_back(data_token(as_bits(0.1f * static_cast<float>(i % 77) - 1.5f)));
    list.push_back(barrier(1));
    list.push_back(barrier(2));
    const StreamId sum =
        g.reduce(g.source(Kind::f32, 2, list, "x"), reduction_of("+", Kind::f32), "sum");
    g.sink(sum, "end");
    Trace timed(g), untimed(g);
    run_timed_graph(g, test_machine(), {}, &timed);
    RunOptions options;
    options.trace = &untimed;
    run(g, {}, options);
    CHECK(timed.of(sum) == untimed.of(sum));
  }
}

TEST_CASE("Timed: a buffer behind a scalar link gives back what it took", "[timed]") {
  Graph g;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "1 2 3 Ω1 ";
  const StreamId x = g.source(u32, 2, tokens(text + "Ω2"), "x");
  g.sink(g.buffer(x, 5, "buffer"), "end");
  g.set_scalar(x, true);
  const Machine m = test_machine();
  const TimedResult r = run_timed_graph(g, m);
  // One element, or a barrier by itself, per cycle.
  CHECK(r.last_result == 300 + 2 * hop);
}

TEST_CASE("Timed: the accounts of units and links add up", "[timed]") {
  const Machine m = test_machine();
  Graph g;
  const StreamId x = numbers(g, 64);
  const StreamId y = g.context(with_constant(Scalar::add, 1), {x}, "y")[0];
  const StreamId z = g.context(
      program({u32, u32}, [](Program& p) { p.output(p.op(Scalar::mul, p.input(0), p.input(1))); }),
      {x, y}, "z")[0];
  g.sink(z, "end");
  Mapping mapping = unmapped(g, m);
  const TimedResult r = run_timed_graph(g, m, mapping);
  for (const UnitCycles& u : r.units) CHECK(sum(u) == r.cycles);
  for (const LinkCounts& l : r.links) {
    CHECK(l.lanes == l.lanes_received);
    CHECK(l.barriers == l.barriers_received);
  }
  // z has x from the cycle in which y has it, and waits for y.
  const UnitCycles& of_z = r.units[mapping.units_of[writer_of(g, z)][0]];
  CHECK(of_z.cycles[UnitCycles::idle] == hop + hop);
  CHECK(of_z.cycles[UnitCycles::starved] == hop);
  CHECK(of_z.cycles[UnitCycles::busy] == 4);
  CHECK(of_z.cycles[UnitCycles::blocked] == 0);
  const std::size_t x_of_z = input_of(g, writer_of(g, z), 0);
  CHECK(r.input_waits[x_of_z] == hop + hop);  // before the first vector and after the last
  CHECK(r.input_waits[x_of_z + 1] == hop);
  // A link that is too small to cover its round trip blocks who writes it.
  mapping.inputs[input_of(g, writer_of(g, z) + 1, 0)].capacity = 1;
  const TimedResult slow = run_timed_graph(g, m, mapping);
  CHECK(slow.units[mapping.units_of[writer_of(g, z)][0]].cycles[UnitCycles::blocked] ==
        3 * (hop + credit - 1));
  CHECK(slow.output_waits.back() == 3 * (hop + credit - 1));
}

TEST_CASE("Timed: a throttled copy of a region acts in its share of the cycles", "[timed]") {
  Machine m = test_machine();
  const Graph g = pipeline(1, 16 * 700);
  Mapping mapping = unmapped(g, m);
  mapping.units[0].copy = 3;
  const Cycle full = run_timed_graph(g, m, mapping).cycles;
  m.throttled_region = 3;
  m.throttle_rate = 0.7;
  const Cycle throttled = run_timed_graph(g, m, mapping).cycles;
  CHECK(full == 700 + 2 * hop);
  CHECK(throttled >= 1000 + 2 * hop - 3);
  CHECK(throttled <= 1000 + 2 * hop + 3);
}
