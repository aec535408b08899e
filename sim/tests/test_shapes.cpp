// Control-flow shapes that are easily got wrong, each as its graph (see also test_vectors.cpp).
#include <catch2/catch.hpp>

#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

constexpr Kind u32 = Kind::u32;

/// The bundle with value `input` changed by `op` with a constant.
Build change(std::size_t lanes, std::size_t input, Scalar op, std::uint32_t by) {
  return compute(program(std::vector<Kind>(lanes, u32), [=](Program& p) {
    for (std::size_t i = 0; i < lanes; ++i)
      p.output(i == input ? p.op(op, p.input(i), p.constant(u32, by)) : p.input(i));
  }));
}

StreamId compare(Graph& g, const Bundle& x, std::size_t input, Scalar op, std::uint32_t constant) {
  return g.context(test_of(x.size(), input, op, constant), x, "test")[0];
}

Tensor random_pairs(Random& random, unsigned depth) {
  return random_tensor(random, depth, [](Random& r) { return Values{r.below(9), r.below(5)}; });
}

/// Random tensors of pairs through `build` and `plain`.
void expect_pairs(const Build& build, const std::function<std::vector<Values>(Values)>& plain) {
  Random random(11);
  for (unsigned round = 0; round < 40; ++round) {
    const unsigned depth = 1 + random.below(3);
    const Tensor t = random_pairs(random, depth);
    expect_through(build, t, depth, 2, map(t, depth, plain), depth, 3);
  }
}

/// The words of an array for every run, and a check of them after it.
void run_on_words(const Graph& g, std::vector<std::uint32_t> words,
                  const std::function<void(const std::vector<std::uint32_t>&)>& check) {
  std::vector<std::uint32_t> memory = words;
  run_everywhere(g, {{reinterpret_cast<std::uint8_t*>(memory.data()), memory.size()}}, 12,
                 [&](const Trace&) {
                   check(memory);
                   memory = words;
                 });
}

StreamId list_of_values(Graph& g, const Values& values, Kind kind = u32) {
  return g.source(kind, 1, expand(row(values), 1), "values");
}
StreamId void_of(Graph& g, StreamId x) {
  return g.context(program({g.stream(x).element}, [](Program& p) { p.output_void(); }), {x},
                   "void")[0];
}

}  // namespace

TEST_CASE("Shape: break gives a loop two exits") {
  // while (n) { if (n % 4 == k) break; n--; }
  const Build build = [](Graph& g, const Bundle& in) {
    const Graph::Header h = g.fb_merge(in, "while");
    const StreamId more = compare(g, h.out, 0, Scalar::ne, 0);
    const Bundle stay = g.filter(more, true, h.out, "stay");
    const StreamId breaks =
        g.context(program({u32, u32},
                          [](Program& p) {
                            const auto low = p.op(Scalar::and_, p.input(0), p.constant(u32, 3));
                            p.output(p.op(Scalar::eq, low, p.input(1)));
                          }),
                  stay, "breaks")[0];
    const Bundle broken = g.filter(breaks, true, stay, "break");
    g.close_loop(h, change(2, 0, Scalar::sub, 1)(g, g.filter(breaks, false, stay, "go_on")));
    const Bundle left = g.merge(g.filter(more, false, h.out, "leave"), broken, "after");
    return g.strip(left, "strip");
  };
  expect_pairs(build, [](Values v) {
    while (v[0] != 0 && v[0] % 4 != v[1]) --v[0];
    return std::vector<Values>{v};
  });
}

TEST_CASE("Shape: continue gives a loop two back edges") {
  // while (n) { n--; if (n & 1) continue; k += n; }
  const Build build = [](Graph& g, const Bundle& in) {
    const Build body = [](Graph& graph, const Bundle& x) {
      const Bundle next = change(2, 0, Scalar::sub, 1)(graph, x);
      const StreamId odd = graph.context(
          program({u32, u32},
                  [](Program& p) {
                    p.output(p.cast(Kind::i1, p.op(Scalar::and_, p.input(0), p.constant(u32, 1))));
                  }),
          next, "odd")[0];
      const Bundle added =
          graph.context(program({u32, u32},
                                [](Program& p) {
                                  p.output(p.input(0));
                                  p.output(p.op(Scalar::add, p.input(1), p.input(0)));
                                }),
                        graph.filter(odd, false, next, "even"), "add");
      return graph.merge(graph.filter(odd, true, next, "continue"), added, "back");
    };
    return while_loop(g, in, not_zero(2), body);
  };
  expect_pairs(build, [](Values v) {
    while (v[0] != 0) {
      --v[0];
      if (!(v[0] & 1)) v[1] += v[0];
    }
    return std::vector<Values>{v};
  });
}

TEST_CASE("Shape: break out of the inner loop only") {
  // for (; n; n--) while (1) { k++; if (k % 3 == 0) break; }
  const Build inner = [](Graph& g, const Bundle& in) {
    const Graph::Header h = g.fb_merge(in, "inner");
    const Bundle next = change(2, 1, Scalar::add, 1)(g, h.out);
    const StreamId breaks =
        g.context(program({u32, u32},
                          [](Program& p) {
                            const auto r = p.op(Scalar::rem, p.input(1), p.constant(u32, 3));
                            p.output(p.op(Scalar::eq, r, p.constant(u32, 0)));
                          }),
                  next, "breaks")[0];
    g.close_loop(h, g.filter(breaks, false, next, "again"));
    const Bundle out = g.filter(breaks, true, next, "break");
    return change(2, 0, Scalar::sub, 1)(g, g.strip(out, "strip"));
  };
  expect_pairs(
      [=](Graph& g, const Bundle& x) { return while_loop(g, x, not_zero(2), inner, "outer"); },
      [](Values v) {
        for (; v[0] != 0; --v[0]) do
            ++v[1];
          while (v[1] % 3 != 0);
        return std::vector<Values>{v};
      });
}

TEST_CASE("Shape: nested diamonds with four arms") {
  const Build build = [](Graph& g, const Bundle& in) {
    const StreamId low = compare(g, in, 0, Scalar::lt, 4);
    const auto arm = [&](const Bundle& x, std::uint32_t add) {
      const StreamId few = compare(g, x, 1, Scalar::lt, 2);
      const Bundle a = change(2, 0, Scalar::add, add)(g, g.filter(few, true, x, "then"));
      // The other arm is a long way round.
      Bundle b = g.filter(few, false, x, "else");
      for (int i = 0; i < 5; ++i) b = change(2, 1, Scalar::add, 1)(g, b);
      return g.merge(a, b, "join");
    };
    const Bundle a = arm(g.filter(low, true, in, "low"), 100);
    const Bundle b = arm(g.filter(low, false, in, "high"), 200);
    return g.merge(a, b, "outer_join");
  };
  expect_pairs(build, [](Values v) {
    if (v[1] < 2) return std::vector<Values>{{v[0] + (v[0] < 4 ? 100 : 200), v[1]}};
    return std::vector<Values>{{v[0], v[1] + 5}};
  });
}

TEST_CASE("Shape: a foreach without a reduction, some of them empty") {
  // foreach (n) { i => atomic_add(sum[0], 1); }, and the parent goes on once.
  Graph g;
  const std::uint32_t sum = g.dram("sum", u32);
  const StreamId n = list_of_values(g, {0, 3, 0, 1, 5, 0});
  const StreamId i = g.counter(constant(g, n, 0), n, constant(g, n, 1), "foreach");
  const Graph::Answer added =
      g.dram_atomic(sum, Atomic::add, constant(g, i, 0), {constant(g, i, 1)}, {}, "add");
  g.unused(added.result);
  const StreamId joined = g.reduce_void(added.done, "join");
  g.sink(joined, "end");
  run_on_words(g, {0}, [](const std::vector<std::uint32_t>& w) { REQUIRE(w[0] == 9); });
}

TEST_CASE("Shape: a predicated store keeps the order for the load behind it") {
  // if (c) a[i] = 5; out = a[i], across two contexts and with reordering memories
  Graph g;
  const std::uint32_t a = g.dram("a", u32);
  const StreamId index = list_of_values(g, {0, 1, 2, 3});
  const StreamId condition = g.context(test_of(1, 0, Scalar::lt, 2), {index}, "c")[0];
  const StreamId stored = g.dram_store(a, index, constant(g, index, 5), {condition, {}}, "store");
  const Graph::Answer loaded = g.dram_load(a, index, {no_stream, {stored}}, "load");
  const Graph::Answer twice =
      g.dram_atomic(a, Atomic::exchange, index,
                    {g.context(with_constant(Scalar::add, 1), {loaded.result}, "more")[0]},
                    {no_stream, {loaded.done}}, "exchange");
  g.sink(twice.done, "end");
  g.unused(twice.result);
  run_on_words(g, {1, 2, 3, 4}, [](const std::vector<std::uint32_t>& w) {
    REQUIRE(w == std::vector<std::uint32_t>{6, 6, 4, 5});
  });
}

TEST_CASE("Shape: an allocation in one arm only, freed on its way out") {
  // if (n & 1) { SRAM<u32, 1> s; s[0] = n; n = s[0] * 10; }
  Graph g;
  const std::uint32_t out = g.dram("out", u32);
  const std::uint32_t s = g.sram("s", u32, 1, 2);
  const std::uint32_t pool = g.pool("s", 2);
  const Values values{0, 1, 2, 3, 4, 5, 7, 9};
  const StreamId n = list_of_values(g, values);
  const StreamId odd = g.context(
      program({u32},
              [](Program& p) {
                p.output(p.cast(Kind::i1, p.op(Scalar::and_, p.input(0), p.constant(u32, 1))));
              }),
      {n}, "odd")[0];
  const Bundle then = g.filter(odd, true, {n, n}, "then");
  const auto [p, allocated] = g.alloc(pool, {no_stream, {void_of(g, then[0])}}, "alloc");
  const StreamId zero = constant(g, then[0], 0);
  const StreamId stored = g.sram_store(s, p, zero, then[0], {no_stream, {allocated}}, "store");
  const Graph::Answer back = g.sram_load(s, p, zero, {no_stream, {stored}}, "load");
  const StreamId freed = g.free(pool, p, {no_stream, {back.done}}, "free");
  const StreamId ten = g.context(with_constant(Scalar::mul, 10), {back.result}, "ten")[0];
  const Bundle other = g.filter(odd, false, {n, n}, "else");
  const Bundle merged =
      g.merge({then[1], ten, freed}, {other[0], other[1], void_of(g, other[0])}, "join");
  const StreamId done = g.dram_store(out, merged[0], merged[1], {no_stream, {merged[2]}}, "out");
  g.sink(done, "end");
  run_on_words(g, std::vector<std::uint32_t>(10, 77), [&](const std::vector<std::uint32_t>& w) {
    for (const std::uint32_t v : values) REQUIRE(w[v] == (v & 1 ? 10 * v : v));
  });
}

TEST_CASE("Shape: scalar, vector, scalar: foreach in while in foreach") {
  // foreach (n) reduce(+) { i => s = 0; for (k = i; k; k--) s += foreach (k) reduce(+) { j => i };
  //                         return s; }
  const Build build = [](Graph& g, const Bundle& n) {
    const StreamId i = g.counter(constant(g, n[0], 0), n[0], constant(g, n[0], 1), "foreach");
    const Build body = [](Graph& h, const Bundle& x) {  // k, i, s
      const StreamId j = h.counter(constant(h, x[0], 0), x[0], constant(h, x[0], 1), "inner");
      const StreamId each = h.broadcast({x[1]}, j, 1, "i")[0];
      const StreamId sum = h.reduce(each, reduction_of("+", u32), "sum");
      return h.context(program(std::vector<Kind>(4, u32),
                               [](Program& p) {
                                 p.output(p.op(Scalar::sub, p.input(0), p.constant(u32, 1)));
                                 p.output(p.input(1));
                                 p.output(p.op(Scalar::add, p.input(2), p.input(3)));
                               }),
                       {x[0], x[1], x[2], sum}, "next");
    };
    Bundle out = while_loop(g, {i, i, constant(g, i, 0)}, not_zero(3), body);
    g.unused(out[0]);
    g.unused(out[1]);
    return Bundle{g.reduce(out[2], reduction_of("+", u32), "total")};
  };
  for (const Values& values : {Values{}, Values{0}, Values{1, 0, 5, 2, 0}, Values{0, 0, 7}}) {
    Values sums;
    for (const std::uint32_t n : values) {
      std::uint32_t s = 0;
      for (std::uint32_t i = 0; i < n; ++i) s += i * i * (i + 1) / 2;
      sums.push_back(s);
    }
    expect_through(build, row(values), 1, 1, row(sums), 1, 6);
  }
}

TEST_CASE("Shape: replicate deals threads to copies of a loop, also fewer than there are copies") {
  const Build build = [](Graph& g, const Bundle& in) {
    constexpr std::uint32_t copies = 4;
    const Graph::Dealt dealt = g.deal(in, copies, "deal");
    std::vector<Bundle> done;
    for (std::uint32_t c = 0; c < copies; ++c) {
      const StreamId mine = g.context(test_of(1, 0, Scalar::eq, c), {dealt.key}, "mine")[0];
      done.push_back(while_loop(g, g.filter(mine, true, dealt.out, "copy"), not_zero(2),
                                change(2, 0, Scalar::sub, 1)));
    }
    return g.merge(g.merge(done[0], done[1], "left"), g.merge(done[2], done[3], "right"), "all");
  };
  expect_pairs(build, [](Values v) { return std::vector<Values>{{0, v[1]}}; });
  for (const Values& few : {Values{}, Values{7}, Values{7, 3}}) {
    Tensor t;
    for (const std::uint32_t v : few) t.items.push_back(leaf({v, v}));
    expect_through(build, t, 1, 2,
                   map(t, 1,
                       [](Values v) {
                         return std::vector<Values>{{0, v[1]}};
                       }),
                   1);
  }
}

TEST_CASE("Shape: a foreach without hierarchy: fork, atomic decrement, the last one goes on") {
  Graph g;
  const std::uint32_t out = g.dram("out", u32);
  const std::uint32_t cell = g.sram("cell", u32, 1, 2);
  const std::uint32_t pool = g.pool("cell", 2);
  const Values counts{3, 0, 1, 7, 0, 2, 2, 5};
  Tensor parents;
  for (std::uint32_t i = 0; i < counts.size(); ++i) parents.items.push_back(leaf({counts[i], i}));
  const Bundle in{g.source(u32, 1, expand(parents, 1, 0), "n"),
                  g.source(u32, 1, expand(parents, 1, 1), "id")};
  const StreamId none = compare(g, in, 0, Scalar::eq, 0);
  const Bundle some = g.filter(none, false, in, "some");
  const auto [p, allocated] = g.alloc(pool, {no_stream, {void_of(g, some[0])}}, "alloc");
  const StreamId set =
      g.sram_store(cell, p, constant(g, some[0], 0), some[0], {no_stream, {allocated}}, "set");
  // n, id, pointer, void, i
  const Bundle child = fork(g, {some[0], some[1], p, set}, 0);
  g.unused(child[0]);
  const StreamId value = g.context(with_constant(Scalar::add, 1), {child[4]}, "value")[0];
  const Graph::Answer added =
      g.dram_atomic(out, Atomic::add, child[1], {value}, {no_stream, {child[3]}}, "add");
  g.unused(added.result);
  const Graph::Answer left =
      g.sram_atomic(cell, Atomic::sub, child[2], constant(g, child[1], 0),
                    {constant(g, child[1], 1)}, {no_stream, {added.done}}, "decrement");
  const StreamId last = g.context(test_of(1, 0, Scalar::eq, 1), {left.result}, "last")[0];
  const Bundle goes_on = g.filter(last, true, {child[1], child[2], left.done}, "goes_on");
  const StreamId freed = g.free(pool, goes_on[1], {no_stream, {goes_on[2]}}, "free");
  const Bundle skipped = g.filter(none, true, {in[1]}, "skip");
  const Bundle after = g.merge({goes_on[0], freed}, {skipped[0], void_of(g, skipped[0])}, "after");
  // The parent sees what its children did.
  const Graph::Answer seen = g.dram_load(out, after[0], {no_stream, {after[1]}}, "seen");
  const StreamId twice = g.context(with_constant(Scalar::mul, 2), {seen.result}, "twice")[0];
  const StreamId stored = g.dram_store(out, after[0], twice, {no_stream, {seen.done}}, "store");
  g.sink(stored, "end");
  run_on_words(g, std::vector<std::uint32_t>(counts.size(), 0),
               [&](const std::vector<std::uint32_t>& w) {
                 for (std::size_t i = 0; i < counts.size(); ++i)
                   REQUIRE(w[i] == counts[i] * (counts[i] + 1));
               });
}

TEST_CASE("Shape: many live values of several kinds cross a merge together") {
  Graph g;
  Bundle in;
  std::vector<Kind> kinds{u32, Kind::i8, Kind::u16, Kind::f32, Kind::i1, Kind::none, u32};
  for (const Kind k : kinds) in.push_back(g.source(k, 2, tokens("1 0 1 Ω1 Ω1 1 1 0 Ω1 Ω2"), "x"));
  const StreamId pred = compare(g, {in[0]}, 0, Scalar::ne, 0);
  const Bundle out =
      g.merge(g.filter(pred, true, in, "then"), g.filter(pred, false, in, "else"), "join");
  for (const StreamId s : out) g.sink(s, "end");
  run_everywhere(g, {}, 6, [&](const Trace& t) {
    for (std::size_t i = 1; i < out.size(); ++i) REQUIRE(t.of(out[i]) == t.of(out[0]));
  });
}

TEST_CASE("Shape: fifteen levels of loops and foreach") {
  // Seven nested foreach of 2 and seven whiles of 1 trip around them, on depth 1: depth 15.
  Graph g;
  StreamId x = g.source(u32, 1, "x");
  for (int i = 0; i < 7; ++i)
    x = g.counter(constant(g, x, 0), constant(g, x, 2), constant(g, x, 1), "foreach");
  const std::function<Bundle(Graph&, const Bundle&, int)> loops = [&](Graph& h, const Bundle& b,
                                                                      int levels) -> Bundle {
    if (levels == 0) return b;
    const Build body = [&](Graph& k, const Bundle& y) {
      return change(2, 0, Scalar::mul, 0)(k,
                                          loops(k, change(2, 1, Scalar::add, 1)(k, y), levels - 1));
    };
    return while_loop(h, b, not_zero(2), body);
  };
  const Bundle out = loops(g, {constant(g, x, 1), x}, 7);
  g.unused(out[0]);
  StreamId sum = out[1];
  for (int i = 0; i < 7; ++i) sum = g.reduce(sum, reduction_of("+", u32), "sum");
  g.sink(sum, "end");
  run_everywhere(g, {}, 3, [&](const Trace& t) {
    // Every loop's first trip adds 1, and each of the 128 threads has one trip in each loop.
    REQUIRE(notation(t.of(sum), u32) == "960 Ω1");
  });
}

TEST_CASE("Shape: independent components, one of which ends early") {
  Graph g;
  const Bundle quick =
      while_loop(g, {g.source(u32, 1, "quick")}, not_zero(1), change(1, 0, Scalar::sub, 1));
  const Bundle slow =
      while_loop(g, {g.source(u32, 500, "slow")}, not_zero(1), change(1, 0, Scalar::sub, 1));
  g.sink(quick[0], "quick_end");
  g.sink(slow[0], "slow_end");
  run_everywhere(g, {}, 3, [&](const Trace& t) {
    REQUIRE(notation(t.of(quick[0]), u32) == "0 Ω1");
    REQUIRE(notation(t.of(slow[0]), u32) == "0 Ω1");
  });
}
