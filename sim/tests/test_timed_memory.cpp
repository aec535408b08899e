// Memory in time: ports, banks, pointers, bursts, and DRAM at its bounds.
#include "timed_support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

constexpr Kind u32 = Kind::u32;

/// Of links from compute units, memory units and address generators, one hop away.
constexpr unsigned hop = 6 + 1, memory_hop = 6 + 1, address_hop = 4 + 1;

enum class Access { load, store, atomic };

/// Accesses of 16 * `vectors` threads to elements stride * i of a buffer.
Graph strided(Access access, std::uint32_t stride, std::uint32_t vectors, Kind kind = u32) {
  Graph g;
  const std::uint32_t sram = g.sram("s", kind, 1 << 12, 1);
  const StreamId i = numbers(g, 16 * vectors);
  const StreamId index = g.context(with_constant(Scalar::mul, stride), {i}, "index")[0];
  const StreamId pointer = constant(g, i, 0);
  if (access == Access::load) {
    const auto [x, done] = g.sram_load(sram, pointer, index, {}, "access");
    g.unused(x);
    g.sink(done, "end");
  } else if (access == Access::store) {
    g.sink(g.sram_store(sram, pointer, index, constant(g, i, 1, kind), {}, "access"), "end");
  } else {
    const auto [x, done] = g.sram_atomic(sram, Atomic::add, pointer, index, {index}, {}, "access");
    g.unused(x);
    g.sink(done, "end");
  }
  return g;
}

/// Channels and core at 1 GHz, no refreshes.
Machine even_machine() {
  Machine m = test_machine();
  m.clock_ghz = 1;
  m.dram.timing = {1, 14, 5, 2, 14, 12, 14, 34, 48, 2, 4, 4, 4, 15, 6, 8, 13, 16, 5, 160, 0};
  return m;
}

/// Cycles to store `n` buffers of 1024 bytes to an ideal DRAM.
template <typename T>
Cycle bulk_stores(Kind kind, std::uint32_t n) {
  constexpr std::uint32_t size = 1024 / sizeof(T);
  Machine m = test_machine();
  m.dram.ideal = true;
  std::vector<T> data(std::size_t{size} * n);
  Graph g;
  const std::uint32_t array = g.dram("data", kind), sram = g.sram("s", kind, size, n);
  const StreamId i = numbers(g, n);
  const StreamId base = g.context(with_constant(Scalar::mul, size), {i}, "base")[0];
  const StreamId pointer =
      g.context(program({u32}, [](Program& p) { p.output(p.cast(Kind::ptr, p.input(0))); }), {i},
                "pointer")[0];
  const StreamId valid = constant(g, i, size, Kind::i32);
  g.sink(g.bulk_store(array, sram, pointer, {base}, valid, {}, "store"), "end");
  const TimedResult r = run_timed_graph(g, m, std::vector<HostArray>{host(data)});
  CHECK(r.dram.bytes_written == 1024 * n);
  return r.last_result;
}

}  // namespace

TEST_CASE("Timed: lanes that meet in a bank take turns", "[timed]") {
  struct Case {
    std::uint32_t stride;
    unsigned cycles;  ///< for a vector
  };
  constexpr std::uint32_t vectors = 5;
  for (const Access access : {Access::load, Access::store, Access::atomic})
    for (const Case c : {Case{1, 1}, Case{2, 2}, Case{4, 4}, Case{16, 16}, Case{17, 1}})
      for (const bool ideal : {false, true}) {
        Machine m = test_machine();
        m.memory.ideal = ideal;
        const unsigned cycles = ideal ? 1 : c.cycles;
        const TimedResult r = run_timed_graph(strided(access, c.stride, vectors), m);
        // Vectors follow each other as the banks are done with them; the answer comes with the last
        // bank's.
        CHECK(r.last_result == 2 * hop + vectors * cycles - 1 + memory_hop);
        CHECK(r.conflict_cycles.back() == vectors * (cycles - 1));
      }
}

TEST_CASE("Timed: lanes that meet in a word share it, atomics if the memory combines them",
          "[timed]") {
  for (const Access access : {Access::load, Access::store, Access::atomic})
    for (const bool combining : {false, true}) {
      Machine m = test_machine();
      m.memory.combining = combining;
      const TimedResult r = run_timed_graph(strided(access, 0, 3), m);
      const unsigned cycles = access == Access::atomic && !combining ? 16 : 1;
      CHECK(r.last_result == 2 * hop + 3 * cycles - 1 + memory_hop);
    }
  // Four bytes are a word.
  struct Case {
    std::uint32_t stride;
    unsigned cycles;
  };
  for (const Case c : {Case{1, 1}, Case{4, 1}, Case{8, 2}, Case{64, 16}, Case{68, 1}}) {
    const TimedResult r =
        run_timed_graph(strided(Access::load, c.stride, 3, Kind::u8), test_machine());
    CHECK(r.last_result == 2 * hop + 3 * c.cycles - 1 + memory_hop);
  }
}

TEST_CASE("Timed: banks of units side by side do not meet", "[timed]") {
  // Lane i goes to pointer i % 2, word 16 * i: one bank in each of two units.
  Graph g;
  const std::uint32_t sram = g.sram("s", u32, 256, 2);
  const StreamId i = numbers(g, 16);
  const StreamId pointer = g.context(with_constant(Scalar::and_, 1), {i}, "pointer")[0];
  const StreamId index = g.context(with_constant(Scalar::mul, 16), {i}, "index")[0];
  const auto [x, done] = g.sram_load(sram, pointer, index, {}, "load");
  g.unused(x);
  g.sink(done, "end");
  const Machine m = test_machine();
  Mapping mapping = unmapped(g, m);
  CHECK(run_timed_graph(g, m, mapping).last_result == 2 * hop + 15 + memory_hop);
  mapping.memories[sram].push_back(static_cast<std::uint32_t>(mapping.units.size()));
  mapping.units.push_back(mapping.units.back());
  CHECK(run_timed_graph(g, m, mapping).last_result == 2 * hop + 7 + memory_hop);
}

TEST_CASE("Timed: answers on a scalar link follow each other, however long each took", "[timed]") {
  // The first vector's lanes are in one bank, the second's in all.
  Graph g;
  const std::uint32_t sram = g.sram("s", u32, 256, 1);
  std::vector<Token> list;
  for (std::uint32_t i = 0; i < 32; ++i) list.push_back(data_token(i < 16 ? 16 * i : i));
  list.push_back(barrier(1));
  const StreamId index = g.source(u32, 1, list, "index");
  const auto [x, done] = g.sram_load(sram, constant(g, index, 0), index, {}, "load");
  g.unused(done);
  g.sink(x, "end");
  const Machine m = test_machine();
  Mapping mapping = unmapped(g, m);
  mapping.inputs.back().scalar = true;
  mapping.inputs.back().capacity = 32;
  CHECK(run_timed_graph(g, m, mapping).last_result == 2 * hop + 15 + memory_hop + 31);
}

TEST_CASE("Timed: a memory port goes round among those that want it", "[timed]") {
  constexpr std::uint32_t vectors = 60;
  for (const unsigned loads : {1u, 2u, 3u, 5u}) {
    Graph g;
    const std::uint32_t sram = g.sram("s", u32, 16 * vectors, 1);
    Bundle done;
    for (unsigned n = 0; n < loads; ++n) {
      const StreamId i = numbers(g, 16 * vectors);
      const auto [x, d] = g.sram_load(sram, constant(g, i, 0), i, {}, "load");
      g.unused(x);
      done.push_back(d);
      g.sink(d, "end");
    }
    // Stores have a port of their own.
    const StreamId i = numbers(g, 16 * vectors);
    const StreamId stored = g.sram_store(sram, constant(g, i, 0), i, i, {}, "store");
    g.sink(stored, "end");
    const Machine m = test_machine();
    Mapping mapping = unmapped(g, m);
    for (Mapping::Input& in : mapping.inputs) in.capacity = 64 * 16;  // vectors or lanes
    const TimedResult r = run_timed_graph(g, m, mapping);
    CHECK(r.last_result == 2 * hop + vectors * loads - 1 + memory_hop);
    const auto busy_and_blocked = [&](StreamId s) {
      const UnitCycles& u = r.units[mapping.units_of[writer_of(g, s)][0]];
      CHECK(u.cycles[UnitCycles::busy] == vectors);
      return u.cycles[UnitCycles::busy] + u.cycles[UnitCycles::blocked];
    };
    // All end within a round of each other.
    for (const StreamId d : done) {
      CHECK(busy_and_blocked(d) <= vectors * loads);
      CHECK(busy_and_blocked(d) > (vectors - 1) * loads);
    }
    CHECK(busy_and_blocked(stored) == vectors);
  }
}

TEST_CASE("Timed: a buffer is filled 64 bytes per cycle", "[timed]") {
  for (const std::uint32_t size : {1u, 16u, 17u, 256u}) {
    Graph g;
    const std::uint32_t sram = g.sram("s", u32, size, 8);
    const StreamId i = numbers(g, 5);
    const StreamId pointer =
        g.context(program({u32}, [](Program& p) { p.output(p.cast(Kind::ptr, p.input(0))); }), {i},
                  "pointer")[0];
    g.sink(g.sram_fill(sram, pointer, {}, "fill"), "end");
    const TimedResult r = run_timed_graph(g, test_machine());
    CHECK(r.last_result == 2 * hop + (5 * size + 15) / 16 - 1 + memory_hop);
  }
}

TEST_CASE("Timed: pointers that are freed can be taken in the next cycle", "[timed]") {
  // The round trip of a pointer is a hop: with p of them, p threads pass per hop.
  for (const std::uint32_t pointers : {1u, 5u, 16u, 100u}) {
    constexpr std::uint32_t threads = 80;
    Graph g;
    const std::uint32_t pool = g.pool("p", pointers);
    const StreamId i = numbers(g, threads);
    const StreamId order =
        g.context(program({u32}, [](Program& p) { p.output_void(); }), {i}, "order")[0];
    const auto [pointer, got] = g.alloc(pool, {no_stream, {order}}, "alloc");
    g.sink(g.free(pool, pointer, {no_stream, {got}}, "free"), "end");
    const TimedResult r = run_timed_graph(g, test_machine());
    CHECK(r.pointers_leaked == 0);
    // A batch of p threads, 16 in a cycle, every memory_hop + 1 cycles.
    const std::uint32_t last = threads - 1;
    const Cycle sent =
        pointers >= threads ? last / 16 : last / pointers * (memory_hop + 1) + last % pointers / 16;
    CHECK(r.last_result == 2 * hop + sent + 2 * memory_hop);
  }
}

TEST_CASE("Timed: a pointer chase takes a loop and a row activation per step", "[timed]") {
  const Machine m = even_machine();
  for (const std::uint32_t steps : {1u, 2u, 20u}) {
    // Element i leads to the next burst, which is in another channel.
    std::vector<std::uint32_t> next(16 * 64, 0);
    for (std::uint32_t b = 0; b < steps; ++b) next[16 * b] = b + 1 == steps ? 0 : 16 * (b + 1);
    Graph g;
    const std::uint32_t array = g.dram("next", u32);
    const StreamId start = g.source(u32, 0, "start"), more = constant(g, start, 1);
    const Bundle out = while_loop(g, {start, more}, not_zero(2, 1), [&](Graph& h, const Bundle& x) {
      const StreamId to = h.dram_load(array, x[0], {}, "load").result;
      return Bundle{to, h.context(test_of(1, 0, Scalar::ne, 0), {to}, "again")[0]};
    });
    for (const StreamId s : out) g.sink(s, "end");
    for (StreamId s = 0; s < g.streams().size(); ++s)
      if (g.stream(s).readers.empty()) g.unused(s);
    const std::vector<HostArray> arrays{host(next)};
    const TimedResult r = run_timed_graph(g, m, arrays);
    // Taken in one cycle, issued in the next; RD 15 clocks after ACT, CL of 14, two of data;
    // answered in the next; then the links to `again`, the header, the condition, the filter and
    // the AG.
    const Cycle step = 1 + (15 + 14 + 2) + 1 + address_hop + 4 * hop;
    // The header, condition, filter; steps; Ω1, which passes the AG in two cycles, comes back and
    // becomes Ω2, which leaves by the filter and the strip.
    const Cycle round = 1 + address_hop + 4 * hop;
    CHECK(r.last_result == 2 * hop + steps * step + round + 4 * hop);
    CHECK(r.dram.activates == steps);
    CHECK(r.dram.bytes_read == 32 * steps);
  }
}

TEST_CASE("Timed: ideal DRAM answers in the cycle after", "[timed]") {
  Machine m = test_machine();
  m.dram.ideal = true;
  std::vector<std::uint32_t> data(16 * 100, 5);
  Graph g;
  const std::uint32_t array = g.dram("data", u32);
  const auto [x, done] = g.dram_load(array, numbers(g, 1600), {}, "load");
  g.unused(x);
  g.sink(done, "end");
  const std::vector<HostArray> arrays{host(data)};
  const TimedResult r = run_timed_graph(g, m, arrays);
  // Taken, issued, done, answered; one vector per cycle.
  CHECK(r.last_result == 99 + hop + 3 + address_hop);
  CHECK(r.dram.bytes_read == 6400);
}

TEST_CASE("Timed: reads of arrays reach the peak of DRAM less refreshes", "[timed]") {
  // 16 AGs ask for a burst each per cycle, together for all in order; the peak is 8.75.
  constexpr std::uint32_t readers = 16, bursts = 12000;
  Graph g;
  const std::uint32_t array = g.dram("data", u32);
  for (std::uint32_t n = 0; n < readers; ++n) {
    std::vector<Token> list;
    for (std::uint32_t i = 0; i < 16 * bursts; ++i)
      list.push_back(data_token((i / 16 * readers + n) * 16 + i % 16));
    list.push_back(barrier(1));
    const auto [x, done] = g.dram_load(array, g.source(u32, 1, list, "index"), {}, "load");
    g.unused(x);
    g.sink(done, "end");
  }
  std::vector<std::uint32_t> data(16 * readers * bursts);
  const std::vector<HostArray> arrays{host(data)};
  const Machine m = test_machine();
  TimedOptions options;
  const TimedResult r = run_timed(g, unmapped(g, m), m, arrays, options);
  REQUIRE(r.outcome == TimedOutcome::finished);
  const double bytes = 64.0 * readers * bursts;
  CHECK(static_cast<double>(r.dram.bytes_read) == bytes);
  CHECK(r.dram.bursts_issued == r.dram.bursts_completed);
  const DramTiming& t = m.dram.timing;
  const double refreshed = 1.0 - static_cast<double>(t.rfc) / t.refi;
  const double rate = bytes / static_cast<double>(r.cycles) * m.clock_ghz;
  CHECK(rate < m.peak_gbps() * refreshed * 1.01);
  CHECK(rate > m.peak_gbps() * refreshed * 0.95);
}

TEST_CASE("Timed: random reads reach the bound of the row bus", "[timed]") {
  constexpr std::uint32_t readers = 64, reads = 1000;
  Graph g;
  std::vector<std::uint32_t> data(1 << 24);  // 64 MiB: 64 rows of each bank
  Random random(7);
  std::vector<HostArray> arrays;
  for (std::uint32_t n = 0; n < readers; ++n) {
    std::vector<Token> list;
    for (std::uint32_t i = 0; i < reads; ++i)
      list.push_back(data_token(random.below(static_cast<std::uint32_t>(data.size()))));
    list.push_back(barrier(1));
    const StreamId index = g.source(u32, 1, list, "index");
    if (n == 0) g.dram("data", u32);
    const auto [x, done] = g.dram_load(0, index, {}, "load");
    g.unused(x);
    g.sink(done, "end");
  }
  arrays.push_back(host(data));
  const Machine m = test_machine();
  TimedOptions options;
  const TimedResult r = run_timed(g, unmapped(g, m), m, arrays, options);
  REQUIRE(r.outcome == TimedOutcome::finished);
  // An access takes the row bus for an ACT, of two clocks, and a PRE; few find their row open.
  const DramTiming& t = m.dram.timing;
  const double commands = static_cast<double>(r.dram.activates) * (t.act + 1.0);
  const double clocks = static_cast<double>(r.cycles) / (m.clock_ghz * t.clock_ns);
  const double use = commands / (clocks * m.dram.channels);
  CHECK(use < 1.0);
  CHECK(use > 0.85);
  CHECK(static_cast<double>(r.dram.activates) > 0.9 * readers * reads);
}

TEST_CASE("Timed: bulk loads fill what no burst brings, buffer by buffer", "[timed]") {
  Machine m = test_machine();
  m.dram.ideal = true;
  std::vector<std::uint32_t> data(64, 9);
  Graph g;
  const std::uint32_t array = g.dram("data", u32), sram = g.sram("s", u32, 64, 4);
  const StreamId i = numbers(g, 4);
  // The first buffer gets its 256 bytes from DRAM; the others lie behind the array.
  const StreamId base = g.context(with_constant(Scalar::mul, 64), {i}, "base")[0];
  const StreamId pointer = g.context(with_constant(Scalar::and_, 3), {i}, "pointer")[0];
  const StreamId valid = constant(g, i, 64, Kind::i32);
  g.sink(g.bulk_load(array, sram, pointer, {base}, valid, {}, "load"), "end");
  const std::vector<HostArray> arrays{host(data)};
  const TimedResult r = run_timed_graph(g, m, arrays);
  CHECK(r.dram.bytes_read == 256);
  // 3 * 4 cycles of zeros from the cycle in which they are taken, then the four bursts.
  CHECK(r.last_result == 2 * hop + 12 + 4 + address_hop);
}

TEST_CASE("Timed: lanes of a bulk load share the bursts that they meet in", "[timed]") {
  // 64 threads that stand side by side want four words each, or as many bytes in words of four.
  for (const Kind element : {u32, Kind::u8}) {
    Machine m = test_machine();
    m.dram.ideal = true;
    std::vector<std::uint32_t> data(256);
    for (std::uint32_t k = 0; k < 256; ++k) data[k] = 0x01020304u * (k + 1);
    Graph g;
    const std::uint32_t array = g.dram("data", element);
    const std::uint32_t sram = g.sram("s", u32, element == u32 ? 4 : 1, 64);
    const StreamId i = numbers(g, 64);
    const StreamId base = g.context(with_constant(Scalar::mul, 4), {i}, "base")[0];
    const StreamId pointer = g.context(with_constant(Scalar::and_, 63), {i}, "pointer")[0];
    const StreamId valid = constant(g, i, 4, Kind::i32), zero = constant(g, i, 0, Kind::i32);
    const StreamId done = g.bulk_load(array, sram, pointer, {base}, valid, {}, "load");
    g.sink(g.sram_load(sram, pointer, zero, {no_stream, {done}}, "first").result, "first");
    const std::vector<HostArray> arrays{
        {reinterpret_cast<std::uint8_t*>(data.data()), 1024 / Type{element}.bytes()}};
    for (StreamId s = 0; s < g.streams().size(); ++s)
      if (g.stream(s).readers.empty()) g.unused(s);
    const TimedResult r = run_timed_graph(g, m, arrays);
    CHECK(r.dram.bursts_issued == 64 * 4 * Type{element}.bytes() / 64);
    CHECK(r.dram.bytes_read == 64 * 4 * Type{element}.bytes());
  }
}

TEST_CASE("Timed: bulk stores move 64 bytes per cycle, also of elements of 8 and 16 bits",
          "[timed]") {
  // The paper's bulk store of sub-words "can process 32 bits per cycle": four elements of 8 bits
  // a cycle rather than one. Here memory units and AGs move whole rows, whatever the elements are.
  const Cycle words = bulk_stores<std::uint32_t>(u32, 8);
  CHECK(words - bulk_stores<std::uint32_t>(u32, 4) == 4 * 1024 / 64);
  CHECK(bulk_stores<std::uint16_t>(Kind::u16, 8) == words);
  CHECK(bulk_stores<std::uint8_t>(Kind::u8, 8) == words);
}

TEST_CASE("Timed: the back edge of a loop holds what address generators hold", "[timed]") {
  // All threads wait in the AG at once, then go round past it: none of them fits but on the back
  // edge.
  Machine m = test_machine();
  m.address.outstanding = 64;
  std::vector<std::uint32_t> data(16, 1);
  Graph g;
  const std::uint32_t array = g.dram("data", u32);
  std::vector<Token> list(16 * 200, data_token(40));
  list.push_back(barrier(1));
  const StreamId x = g.source(u32, 1, list, "x");
  const Bundle out = while_loop(g, {x}, not_zero(1), [&](Graph& h, const Bundle& b) {
    const StreamId first = h.context(test_of(1, 0, Scalar::eq, 40), b, "first")[0];
    const Bundle then = h.filter(first, true, b, "then");
    const StreamId zero = constant(h, then[0], 0);
    const auto [one, done] = h.dram_load(array, zero, {}, "load");
    h.unused(done);
    const StreamId less =
        h.context(program({u32, u32},
                          [](Program& p) { p.output(p.op(Scalar::sub, p.input(0), p.input(1))); }),
                  {then[0], one}, "less")[0];
    const Bundle other =
        h.context(with_constant(Scalar::sub, 1), h.filter(first, false, b, "other"), "count");
    return h.merge({less}, other, "join");
  });
  g.sink(out[0], "end");
  Mapping mapping = unmapped(g, m);
  for (NodeId n = 0; n < g.nodes().size(); ++n)
    if (g.node(n).name == "less") mapping.inputs[input_of(g, n, 0)].capacity = 200;
  size_back_edges(g, m, mapping);
  const std::vector<HostArray> arrays{host(data)};
  const TimedResult r = run_timed_graph(g, m, mapping, arrays);
  CHECK(r.threads == 1);
}
