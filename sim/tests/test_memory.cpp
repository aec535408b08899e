#include <catch2/catch.hpp>

#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

/// The host memory of an array of 32-bit elements.
struct Words {
  std::vector<std::uint32_t> words;
  HostArray array() { return {reinterpret_cast<std::uint8_t*>(words.data()), words.size()}; }
};
struct Bytes {
  std::vector<std::uint8_t> bytes;
  HostArray array() { return {bytes.data(), bytes.size()}; }
};

Loc line(std::uint32_t n) { return {intern_file("a.rvt"), n, 7, 1}; }

StreamId numbers(Graph& g, const char* text, Kind kind = Kind::u32, const char* name = "in") {
  return g.source(kind, 1, tokens(text), name);
}

/// The message and place that a run ends with.
std::string failure(const Graph& g, const std::vector<HostArray>& arrays) {
  try {
    run(g, arrays, {});
  } catch (const Error& e) {
    REQUIRE(e.exit == Exit::program);
    return std::string(e.what()) + " " + place_text(e.diagnostic.loc);
  } catch (const InternalError& e) {
    return std::string("internal: ") + e.what();
  }
  return "none";
}

/// Runs under many schedules, each with the arrays as they were at first.
template <class Check>
void run_fresh(const Graph& g, const std::vector<Words*>& arrays, const Check& check) {
  std::vector<std::vector<std::uint32_t>> before;
  std::vector<HostArray> bound;
  for (Words* w : arrays) {
    before.push_back(w->words);
    bound.push_back(w->array());
  }
  run_everywhere(g, bound, 8, [&](const Trace& t) {
    check(t);
    for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i]->words = before[i];
  });
}

}  // namespace

TEST_CASE("A load gives the element and a void, a predicated one that is off gives 0") {
  Graph g;
  const std::uint32_t a = g.dram("a", Kind::u32);
  const StreamId index = numbers(g, "2 0 9 Ω1");
  const StreamId pred = numbers(g, "1 1 0 Ω1", Kind::i1);
  const StreamId after = numbers(g, "_ _ _ Ω1", Kind::none);
  const Graph::Answer loaded = g.dram_load(a, index, {pred, {after}}, "load");
  g.sink(loaded.result, "result");
  g.sink(loaded.done, "done");
  Words w{{10, 11, 12}};
  run_fresh(g, {&w}, [&](const Trace& t) {
    CHECK(notation(t.of(loaded.result), Kind::u32) == "12 10 0 Ω1");
    CHECK(notation(t.of(loaded.done), Kind::none) == "_ _ _ Ω1");
  });
}

TEST_CASE("A store writes the element and gives a void; elements next to it stay") {
  Graph g;
  const std::uint32_t a = g.dram("a", Kind::u8);
  const StreamId done = g.dram_store(a, numbers(g, "1 0 3 Ω1"), numbers(g, "7 8 9 Ω1", Kind::u8),
                                     {numbers(g, "1 0 1 Ω1", Kind::i1), {}}, "store");
  g.sink(done, "end");
  Bytes b{{100, 101, 102, 103}};
  const Result r = run(g, {b.array()}, {});
  CHECK(r.outcome == Outcome::finished);
  CHECK(b.bytes == std::vector<std::uint8_t>{100, 7, 102, 9});
}

TEST_CASE("Elements of every kind are extended to a register") {
  const auto first = [](Kind kind, std::vector<std::uint8_t> bytes) {
    Graph g;
    const std::uint32_t a = g.dram("a", kind);
    const Graph::Answer loaded = g.dram_load(a, numbers(g, "0 Ω1"), {}, "load");
    g.unused(loaded.done);
    g.sink(loaded.result, "end");
    Trace t(g);
    RunOptions options;
    options.trace = &t;
    run(g, {{bytes.data(), 1}}, options);
    return t.of(loaded.result)[0].bits;
  };
  CHECK(first(Kind::i8, {0xFF}) == ~0u);
  CHECK(first(Kind::u8, {0xFF}) == 255);
  CHECK(first(Kind::i16, {0xFE, 0xFF}) == ~1u);
  CHECK(first(Kind::u16, {0xFE, 0xFF}) == 0xFFFE);
  CHECK(first(Kind::i1, {5}) == 1);
}

TEST_CASE("Accesses outside an array end the run with array, index, size and place") {
  const auto load_at = [](const char* index, Kind kind) {
    Graph g;
    const std::uint32_t a = g.dram("data", Kind::u32);
    const Graph::Answer l = g.dram_load(a, numbers(g, index, kind), {}, {"load", line(3)});
    g.unused(l.result);
    g.sink(l.done, "end");
    Words w{{1, 2, 3}};
    return failure(g, {w.array()});
  };
  CHECK(load_at("2 Ω1", Kind::i32) == "none");
  CHECK(load_at("3 Ω1", Kind::i32) ==
        "index 3 is outside array 'data' of size 3 (read) (a.rvt:3:7)");
  CHECK(load_at("-1 Ω1", Kind::i32) ==
        "index -1 is outside array 'data' of size 3 (read) (a.rvt:3:7)");
  CHECK(load_at("-1 Ω1", Kind::u32) ==
        "index 4294967295 is outside array 'data' of size 3 (read) (a.rvt:3:7)");
  Graph g;
  const std::uint32_t s = g.sram("buffer", Kind::i16, 4, 2);
  const StreamId pointer = numbers(g, "1 Ω1", Kind::ptr);
  g.sink(g.sram_store(s, pointer, numbers(g, "4 Ω1"), numbers(g, "1 Ω1", Kind::i16), {},
                      {"store", line(9)}),
         "end");
  CHECK(failure(g, {}) == "index 4 is outside array 'buffer' of size 4 (write) (a.rvt:9:7)");
  Graph h;
  const std::uint32_t c = h.dram("cells", Kind::i32);
  const Graph::Answer old = h.dram_atomic(c, Atomic::add, numbers(h, "5 Ω1"),
                                          {numbers(h, "1 Ω1", Kind::i32)}, {}, {"add", line(4)});
  h.sink(old.done, "end");
  h.unused(old.result);
  Words w{{0}};
  CHECK(failure(h, {w.array()}) ==
        "index 5 is outside array 'cells' of size 1 (atomic) (a.rvt:4:7)");
}

TEST_CASE("Atomics give the old value and store the new one") {
  struct Row {
    Atomic op;
    std::int32_t before, value, after;
  };
  const Row rows[] = {{Atomic::add, 5, 3, 8},  {Atomic::sub, 5, 7, -2},    {Atomic::and_, 6, 3, 2},
                      {Atomic::or_, 6, 3, 7},  {Atomic::xor_, 6, 3, 5},    {Atomic::min, 5, -3, -3},
                      {Atomic::max, 5, -3, 5}, {Atomic::exchange, 5, 9, 9}};
  for (const Row& r : rows) {
    Graph g;
    const std::uint32_t a = g.dram("a", Kind::i32);
    const Graph::Answer old = g.dram_atomic(
        a, r.op, numbers(g, "0 Ω1"),
        {g.source(Kind::i32, static_cast<std::uint32_t>(r.value), "v")}, {}, "atomic");
    g.sink(old.result, "old");
    g.unused(old.done);
    Words w{{static_cast<std::uint32_t>(r.before)}};
    Trace t(g);
    RunOptions options;
    options.trace = &t;
    run(g, {w.array()}, options);
    CHECK(static_cast<std::int32_t>(w.words[0]) == r.after);
    CHECK(static_cast<std::int32_t>(t.of(old.result)[0].bits) == r.before);
  }
  Graph g;
  const std::uint32_t a = g.dram("a", Kind::u32);
  const Graph::Answer old = g.dram_atomic(a, Atomic::cas, numbers(g, "0 1 Ω1"),
                                          {numbers(g, "5 5 Ω1"), numbers(g, "8 8 Ω1")}, {}, "cas");
  g.sink(old.result, "old");
  g.unused(old.done);
  Words w{{5, 6}};
  run(g, {w.array()}, {});
  CHECK(w.words == std::vector<std::uint32_t>{8, 6});
}

TEST_CASE("An SRAM has a buffer for each pointer") {
  Graph g;
  const std::uint32_t s = g.sram("s", Kind::u32, 3, 2);
  const StreamId pointer = numbers(g, "0 1 Ω1", Kind::ptr);
  const StreamId index = numbers(g, "2 0 Ω1");
  const StreamId stored = g.sram_store(s, pointer, index, numbers(g, "7 8 Ω1"), {}, "store");
  const Graph::Answer same = g.sram_load(s, pointer, index, {no_stream, {stored}}, "same");
  const StreamId swapped =
      g.context(program({Kind::ptr},
                        [](Program& p) {
                          p.output(p.op(Scalar::xor_, p.cast(Kind::u32, p.input(0)),
                                        p.constant(Kind::u32, 1)));
                        }),
                {pointer}, "other")[0];
  const Graph::Answer other = g.sram_load(s, swapped, index, {no_stream, {same.done}}, "other");
  const Graph::Answer added =
      g.sram_atomic(s, Atomic::add, pointer, index, {index}, {no_stream, {other.done}}, "add");
  const Graph::Answer last = g.sram_load(s, pointer, index, {no_stream, {added.done}}, "last");
  for (const Graph::Answer& l : {same, other, added, last}) g.sink(l.result, "end");
  g.sink(last.done, "end");
  run_everywhere(g, {}, 8, [&](const Trace& t) {
    CHECK(notation(t.of(same.result), Kind::u32) == "7 8 Ω1");
    CHECK(notation(t.of(added.result), Kind::u32) == "7 8 Ω1");
    CHECK(notation(t.of(last.result), Kind::u32) == "9 8 Ω1");
    // The other buffer, as it was before anything was stored: bytes of 1.
    CHECK(notation(t.of(other.result), Kind::u32) == "16843009 16843009 Ω1");
  });
}

TEST_CASE("Bulk transfers copy the valid elements: zeros around a load, nothing around a store") {
  constexpr std::uint32_t n = 4;
  const std::vector<std::uint32_t> array{10, 11, 12, 13, 14, 15};
  struct Row {
    Kind base_kind;
    std::int64_t base;
    std::int32_t valid;
  };
  const Row rows[] = {{Kind::i32, 1, 4},  {Kind::i32, 1, 2},
                      {Kind::i32, 1, 0},  {Kind::i32, 1, -5},
                      {Kind::i32, 1, 99}, {Kind::i32, -2, 4},
                      {Kind::i32, -2, 3}, {Kind::i32, -9, 4},
                      {Kind::i32, 4, 4},  {Kind::i32, 6, 4},
                      {Kind::i32, 60, 4}, {Kind::u32, 4294967294, 4},
                      {Kind::i32, -2, 1}, {Kind::i32, std::numeric_limits<std::int32_t>::min(), 4}};
  for (const Row& r : rows)
    for (const bool wide : {false, true}) {
      std::vector<std::uint32_t> loaded(n, 0);
      std::vector<std::uint32_t> stored = array;
      for (std::int64_t k = 0; k < std::min<std::int64_t>(n, std::max(0, r.valid)); ++k) {
        const std::int64_t at = r.base + k;
        if (at < 0 || at >= static_cast<std::int64_t>(array.size())) continue;
        loaded[static_cast<std::size_t>(k)] = array[static_cast<std::size_t>(at)];
        stored[static_cast<std::size_t>(at)] = array[static_cast<std::size_t>(at)] + 100;
      }
      Graph g;
      const std::uint32_t a = g.dram("a", Kind::u32);
      const std::uint32_t seen = g.dram("seen", Kind::u32);
      const std::uint32_t s = g.sram("s", Kind::u32, n, 1);
      Bundle base{g.source(r.base_kind, static_cast<std::uint32_t>(r.base), "base")};
      if (wide)
        base.push_back(g.source(Kind::i32, static_cast<std::uint32_t>(r.base >> 32), "high"));
      const StreamId valid = g.source(Kind::i32, static_cast<std::uint32_t>(r.valid), "valid");
      const StreamId pointer = g.source(Kind::ptr, 0, "pointer");
      // What the buffer held before does not show.
      StreamId order = g.source(Kind::none, 0, "begin");
      for (std::uint32_t k = 0; k < n; ++k)
        order = g.sram_store(s, pointer, g.source(Kind::u32, k, "k"),
                             g.source(Kind::u32, 55, "old"), {no_stream, {order}}, "old");
      order = g.bulk_load(a, s, pointer, base, valid, {no_stream, {order}}, "load");
      for (std::uint32_t k = 0; k < n; ++k) {
        const StreamId index = g.source(Kind::u32, k, "k");
        const Graph::Answer l = g.sram_load(s, pointer, index, {no_stream, {order}}, "read");
        order = g.dram_store(seen, index, l.result, {no_stream, {l.done}}, "show");
        const StreamId more = g.context(with_constant(Scalar::add, 100), {l.result}, "more")[0];
        order = g.sram_store(s, pointer, index, more, {no_stream, {order}}, "write");
      }
      g.sink(g.bulk_store(a, s, pointer, base, valid, {no_stream, {order}}, "store"), "end");
      Words memory{array};
      Words shown{std::vector<std::uint32_t>(n, 77)};
      INFO("base " << r.base << ", valid " << r.valid << ", wide " << wide);
      run_fresh(g, {&memory, &shown}, [&](const Trace&) {
        REQUIRE(shown.words == loaded);
        REQUIRE(memory.words == stored);
      });
    }
}

TEST_CASE("A bulk load of bools keeps them 0 or 1") {
  Graph g;
  const std::uint32_t a = g.dram("a", Kind::i1);
  const std::uint32_t s = g.sram("s", Kind::i1, 2, 1);
  const StreamId pointer = g.source(Kind::ptr, 0, "pointer");
  const Bundle base{g.source(Kind::i32, 0, "base")};
  const StreamId two = g.source(Kind::i32, 2, "valid");
  const StreamId loaded = g.bulk_load(a, s, pointer, base, two, {}, "load");
  g.sink(g.bulk_store(a, s, pointer, base, two, {no_stream, {loaded}}, "store"), "end");
  Bytes b{{5, 0}};
  run(g, {b.array()}, {});
  CHECK(b.bytes == std::vector<std::uint8_t>{1, 0});
}

TEST_CASE("Threads share few pointers: alloc waits, fill zeroes, free gives back") {
  // foreach (n) { i => SRAM<u32, 2> s; s[1] += i; out[i] = s[1]; }
  for (const std::uint32_t pointers : {1u, 2u, 5u}) {
    Graph g;
    const std::uint32_t out = g.dram("out", Kind::u32);
    const std::uint32_t s = g.sram("s", Kind::u32, 2, pointers);
    const std::uint32_t pool = g.pool("s", pointers);
    const StreamId n = g.source(Kind::u32, 20, "n");
    const StreamId i = g.counter(constant(g, n, 0), n, constant(g, n, 1), "foreach");
    const StreamId begin =
        g.context(program({Kind::u32}, [](Program& p) { p.output_void(); }), {i}, "begin")[0];
    const auto [p, allocated] = g.alloc(pool, {no_stream, {begin}}, "alloc");
    const StreamId zeroed = g.sram_fill(s, p, {no_stream, {allocated}}, "fill");
    const StreamId one = constant(g, i, 1);
    const Graph::Answer added =
        g.sram_atomic(s, Atomic::add, p, one, {i}, {no_stream, {zeroed}}, "add");
    g.unused(added.result);
    const Graph::Answer sum = g.sram_load(s, p, one, {no_stream, {added.done}}, "sum");
    const StreamId stored = g.dram_store(out, i, sum.result, {no_stream, {sum.done}}, "store");
    const StreamId freed = g.free(pool, p, {no_stream, {stored}}, "free");
    g.sink(g.reduce_void(freed, "join"), "end");
    Words w{std::vector<std::uint32_t>(20, 99)};
    run_fresh(g, {&w}, [&](const Trace&) {
      for (std::uint32_t k = 0; k < 20; ++k) REQUIRE(w.words[k] == k);
    });
  }
}

TEST_CASE("A predicated alloc that is off takes no pointer, and its free gives none back") {
  Graph g;
  const std::uint32_t pool = g.pool("p", 2);
  const StreamId pred = numbers(g, "0 1 0 0 Ω1", Kind::i1);
  const Graph::Answer p = g.alloc(pool, {pred, {}}, "alloc");
  g.sink(p.done, "allocated");
  const StreamId freed = g.free(pool, p.result, {pred, {}}, "free");
  g.sink(freed, "end");
  run_everywhere(g, {}, 4, [&](const Trace& t) {
    CHECK(notation(t.of(p.result), Kind::ptr) == "0 0 0 0 Ω1");
    CHECK(notation(t.of(p.done), Kind::none) == "_ _ _ _ Ω1");
    CHECK(notation(t.of(freed), Kind::none) == "_ _ _ _ Ω1");
  });
}

TEST_CASE("Pointers that are not freed, freed twice or out of range are found") {
  Graph leak;
  const std::uint32_t pool = leak.pool("p", 3);
  const Graph::Answer kept =
      leak.alloc(pool, {no_stream, {numbers(leak, "_ _ Ω1", Kind::none)}}, "alloc");
  leak.sink(kept.result, "end");
  leak.unused(kept.done);
  CHECK(run(leak, {}, {}).pointers_leaked == 2);

  Graph twice;
  const std::uint32_t q = twice.pool("q", 3);
  twice.sink(twice.free(q, numbers(twice, "1 Ω1", Kind::ptr), {}, "free"), "end");
  CHECK(failure(twice, {}) == "internal: pointer 1 of pool 'q' is freed but was not allocated");

  Graph outside;
  const std::uint32_t s = outside.sram("s", Kind::u32, 4, 2);
  outside.sink(outside.sram_fill(s, numbers(outside, "2 Ω1", Kind::ptr), {}, "fill"), "end");
  CHECK(failure(outside, {}) == "internal: pointer 2 of SRAM 's' is not below 2");
}

TEST_CASE("Requests complete in any order unless voids order them") {
  // Ten threads exchange one cell; with a queue, the old values come in other orders, too.
  Graph g;
  const std::uint32_t a = g.dram("cell", Kind::u32);
  const StreamId index = numbers(g, "0 0 0 0 0 0 Ω1");
  const Graph::Answer old =
      g.dram_atomic(a, Atomic::exchange, index, {numbers(g, "1 2 3 4 5 6 Ω1")}, {}, "exchange");
  g.sink(old.result, "old");
  g.sink(old.done, "done");
  bool reordered = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Words w{{0}};
    Trace t(g);
    RunOptions options;
    options.seed = seed;
    options.memory_queue = 4;
    options.trace = &t;
    REQUIRE(run(g, {w.array()}, options).outcome == Outcome::finished);
    // A permutation: every value was in the cell once.
    std::vector<std::uint32_t> values{w.words[0]};
    for (const Token x : t.of(old.result))
      if (x.is_data()) values.push_back(x.bits);
    reordered = reordered || values[1] != 0;
    std::sort(values.begin(), values.end());
    REQUIRE(values == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6});
  }
  CHECK(reordered);
}

TEST_CASE("Arrays of a launch are bound in order") {
  Launch launch;
  launch.arrays.resize(1);
  launch.arrays[0].name = "a";
  launch.arrays[0].element = type_u32;
  launch.arrays[0].count = 3;
  Graph g;
  const std::uint32_t a = g.dram("a", Kind::u32);
  g.sink(g.dram_store(a, numbers(g, "1 Ω1"), numbers(g, "5 Ω1"), {}, "store"), "end");
  CHECK(run(g, bind(launch), {}).outcome == Outcome::finished);
  CHECK(load_element(launch.arrays[0].data(), Kind::u32, 1) == 5);
  CHECK_THROWS_WITH(run(g, {}, {}), "the graph has 1 arrays, the launch 0");
}
