// While loops, nested loops, exits, foreach and fork in loops against plain C++, under random
// schedules, channels of 1 to 4 tokens, both spellings, and reordering memories.
#include <catch2/catch.hpp>

#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

const std::vector<Kind> two_values(2, Kind::u32);

/// while (n > 1) { n = n odd ? 3n+1 : n/2; k++; }
Bundle collatz(Graph& g, const Bundle& in) {
  const Cond above_one = [](Graph& graph, const Bundle& x) {
    return graph.context(test_of(2, 0, Scalar::gt, 1), x, "above_one")[0];
  };
  return while_loop(g, in, above_one, compute(program(two_values, [](Program& p) {
                      const auto n = p.input(0);
                      const auto one = p.constant(Kind::u32, 1);
                      const auto tripled =
                          p.op(Scalar::add, p.op(Scalar::mul, n, p.constant(Kind::u32, 3)), one);
                      const auto odd = p.cast(Kind::i1, p.op(Scalar::and_, n, one));
                      p.output(p.select(odd, tripled, p.op(Scalar::shr, n, one)));
                      p.output(p.op(Scalar::add, p.input(1), one));
                    })));
}
std::vector<Values> plain_collatz(Values v) {
  while (v[0] > 1) v = {v[0] & 1 ? 3 * v[0] + 1 : v[0] / 2, v[1] + 1};
  return {v};
}

/// for (; i; i--) {
///   if (i % 3 == 0) { if ((acc + tag) % 7 == 3) exit; }
///   else for (j = i & 3; j; j--) acc += i * j;
/// }
std::vector<Values> plain_nested(Values v) {
  for (; v[0] != 0; --v[0])
    if (v[0] % 3 == 0) {
      if ((v[1] + v[2]) % 7 == 3) return {};
    } else {
      for (std::uint32_t j = v[0] & 3; j != 0; --j) v[1] += v[0] * j;
    }
  return {v};
}

Bundle nested(Graph& g, const Bundle& in, std::uint32_t back_capacity) {
  const std::vector<Kind> three(3, Kind::u32);
  const Build inner = [=](Graph& graph, const Bundle& x) {
    // i, acc, tag, j
    Bundle with_j = x;
    with_j.push_back(graph.context(
        program(
            {Kind::u32},
            [](Program& p) { p.output(p.op(Scalar::and_, p.input(0), p.constant(Kind::u32, 3))); }),
        {x[0]}, "j")[0]);
    const std::vector<Kind> four(4, Kind::u32);
    Bundle out = while_loop(
        graph, with_j, not_zero(4, 3),
        compute(program(four,
                        [](Program& p) {
                          p.output(p.input(0));
                          p.output(p.op(Scalar::add, p.input(1),
                                        p.op(Scalar::mul, p.input(0), p.input(3))));
                          p.output(p.input(2));
                          p.output(p.op(Scalar::sub, p.input(3), p.constant(Kind::u32, 1)));
                        })),
        "inner", back_capacity);
    graph.unused(out.back());
    out.pop_back();
    return out;
  };
  const Build body = [=](Graph& graph, const Bundle& x) {
    const StreamId by_three = graph.context(
        program(three,
                [](Program& p) {
                  const auto r = p.op(Scalar::rem, p.input(0), p.constant(Kind::u32, 3));
                  p.output(p.op(Scalar::eq, r, p.constant(Kind::u32, 0)));
                }),
        x, "by_three")[0];
    const Bundle then = graph.filter(by_three, true, x, "then");
    const StreamId leaves =
        graph.context(program(three,
                              [](Program& p) {
                                const auto sum = p.op(Scalar::add, p.input(1), p.input(2));
                                const auto r = p.op(Scalar::rem, sum, p.constant(Kind::u32, 7));
                                p.output(p.op(Scalar::eq, r, p.constant(Kind::u32, 3)));
                              }),
                      then, "leaves")[0];
    const Bundle stays = graph.filter(leaves, false, then, "stays");
    const Bundle other = inner(graph, graph.filter(by_three, false, x, "else"));
    const Bundle merged = graph.merge(stays, other, "join");
    return graph.context(
        program(three,
                [](Program& p) {
                  p.output(p.op(Scalar::sub, p.input(0), p.constant(Kind::u32, 1)));
                  p.output(p.input(1));
                  p.output(p.input(2));
                }),
        merged, "next");
  };
  return while_loop(g, in, not_zero(3), body, "outer", back_capacity);
}

/// while (n) { s += foreach (n) reduce(+) { i => if (i & 1) exit; return i; }; n -= min(n, 2); }
std::vector<Values> plain_foreach(Values v) {
  while (v[0] != 0) {
    for (std::uint32_t i = 0; i < v[0]; ++i) v[1] += i & 1 ? 0 : i;
    v[0] -= std::min(v[0], 2u);
  }
  return {v};
}

Bundle foreach_in_loop(Graph& g, const Bundle& in) {
  const Build body = [](Graph& graph, const Bundle& x) {
    const StreamId index =
        graph.counter(constant(graph, x[0], 0), x[0], constant(graph, x[0], 1), "foreach");
    const StreamId odd = graph.context(
        program({Kind::u32},
                [](Program& p) {
                  p.output(
                      p.cast(Kind::i1, p.op(Scalar::and_, p.input(0), p.constant(Kind::u32, 1))));
                }),
        {index}, "odd")[0];
    const StreamId even = graph.filter(odd, false, {index}, "even")[0];
    const StreamId sum = graph.reduce(even, reduction_of("+", Kind::u32), "sum");
    return graph.context(program(std::vector<Kind>(3, Kind::u32),
                                 [](Program& p) {
                                   const auto less =
                                       p.op(Scalar::min, p.input(0), p.constant(Kind::u32, 2));
                                   p.output(p.op(Scalar::sub, p.input(0), less));
                                   p.output(p.op(Scalar::add, p.input(1), p.input(2)));
                                 }),
                         {x[0], x[1], sum}, "next");
  };
  return while_loop(g, in, not_zero(2), body);
}

/// while (depth) { i = fork(k); depth--; path = path * 4 + i; }
std::vector<Values> plain_fork(Values v) {
  if (v[0] == 0) return {v};
  std::vector<Values> all;
  for (std::uint32_t i = 0; i < v[1]; ++i)
    for (Values& t : plain_fork({v[0] - 1, v[1], v[2] * 4 + i})) all.push_back(std::move(t));
  return all;
}

Bundle fork_in_loop(Graph& g, const Bundle& in) {
  const Build body = [](Graph& graph, const Bundle& x) {
    const Program next = program(std::vector<Kind>(4, Kind::u32), [](Program& p) {
      p.output(p.op(Scalar::sub, p.input(0), p.constant(Kind::u32, 1)));
      p.output(p.input(1));
      p.output(
          p.op(Scalar::add, p.op(Scalar::mul, p.input(2), p.constant(Kind::u32, 4)), p.input(3)));
    });
    return graph.context(next, fork(graph, x, 1), "next");
  };
  return while_loop(g, in, not_zero(3), body);
}

template <class Make>
void random_rounds(unsigned rounds, const Make& make) {
  Random random(rounds);
  for (unsigned i = 0; i < rounds; ++i) make(random, 1 + random.below(3));
}

}  // namespace

TEST_CASE("The example of engine.hpp runs") {
  Graph g;
  const StreamId x = g.source(Kind::u32, 1000, "x");
  const Graph::Header loop = g.fb_merge({x}, "while");
  Program test({Kind::u32});
  test.output(test.op(Scalar::gt, test.input(0), test.constant(Kind::u32, 1)));
  const StreamId more = g.context(test, loop.out, "test")[0];
  Program half({Kind::u32});
  half.output(half.op(Scalar::div, half.input(0), half.constant(Kind::u32, 2)));
  const Bundle body = g.filter(more, true, loop.out, "stay");
  g.close_loop(loop, g.context(half, body, "half"));
  const Bundle left = g.filter(more, false, loop.out, "leave");
  const Bundle result = g.strip(left, "result");
  g.sink(result[0], "end");
  Trace trace(g);
  RunOptions options;
  options.trace = &trace;
  CHECK(run(g, {}, options).outcome == Outcome::finished);
  CHECK(notation(trace.of(result[0]), Kind::u32) == "1 Ω1");
}

TEST_CASE("A while loop computes what it does in C") {
  random_rounds(100, [](Random& random, unsigned depth) {
    const Tensor t = random_tensor(random, depth, [](Random& r) {
      static constexpr std::uint32_t starts[] = {0, 1, 1, 2, 7, 27};
      const std::uint32_t i = r.below(7);
      return Values{i < 6 ? starts[i] : 1 + r.below(59), 0};
    });
    expect_through(collatz, t, depth, 2, map(t, depth, plain_collatz), depth, 3);
  });
}

TEST_CASE("Nested loops with an if and an exit compute what they do in C") {
  random_rounds(100, [](Random& random, unsigned depth) {
    std::uint32_t tag = 0;
    const Tensor t = random_tensor(random, depth, [&](Random& r) {
      static constexpr std::uint32_t starts[] = {0, 0, 1, 2, 3, 6, 9};
      return Values{starts[r.below(7)], 0, ++tag};
    });
    expect_through([](Graph& g, const Bundle& x) { return nested(g, x, 0); }, t, depth, 3,
                   map(t, depth, plain_nested), depth, 3);
  });
}

TEST_CASE("A foreach with exits and a reduction inside a loop computes what it does in C") {
  random_rounds(100, [](Random& random, unsigned depth) {
    const Tensor t = random_tensor(random, depth, [](Random& r) { return Values{r.below(9), 0}; });
    expect_through(foreach_in_loop, t, depth, 2, map(t, depth, plain_foreach), depth, 3);
  });
}

TEST_CASE("A fork inside a loop computes what it does in C") {
  random_rounds(100, [](Random& random, unsigned depth) {
    const Tensor t = random_tensor(random, depth, [](Random& r) {
      return Values{r.below(4), r.below(4), 0};
    });
    expect_through(fork_in_loop, t, depth, 3, map(t, depth, plain_fork), depth, 3);
  });
}

TEST_CASE("With the back-edge rule nested loops never deadlock, without it they do") {
  Random random(5);
  unsigned dead = 0;
  constexpr unsigned rounds = 20;
  for (unsigned i = 0; i < rounds; ++i) {
    Tensor t;
    for (std::uint32_t k = 0; k < 60; ++k) t.items.push_back(leaf({30 + random.below(30), 0, k}));
    for (const bool rule : {true, false}) {
      Graph g;
      Bundle in;
      for (std::size_t lane = 0; lane < 3; ++lane)
        in.push_back(g.source(Kind::u32, 1, expand(t, 1, lane), "x"));
      const Bundle out = nested(g, in, 0);
      for (const StreamId s : out) g.sink(s, "end");
      RunOptions options;
      options.seed = i;
      options.min_depth = options.max_depth = 1;
      options.back_edge_rule = rule;
      Trace trace(g);
      options.trace = &trace;
      const Result result = run(g, {}, options);
      INFO("seed " << i << (rule ? ", with the rule" : ", without") << '\n' << result.diagnosis);
      if (rule) {
        REQUIRE(result.outcome == Outcome::finished);
        const std::vector<std::vector<Token>> got{trace.of(out[0]), trace.of(out[1]),
                                                  trace.of(out[2])};
        REQUIRE(sorted(tensor_of(got, 1), 1) == sorted(map(t, 1, plain_nested), 1));
      } else if (result.outcome == Outcome::deadlock) {
        ++dead;
        REQUIRE(result.deadlock.cycle);
      }
    }
  }
  CHECK(dead > rounds / 2);
}

TEST_CASE("A back edge that is smaller than the rule says is refused") {
  Graph g;
  const Bundle in{g.source(Kind::u32, 5, "x"), g.source(Kind::u32, 0, "k")};
  const Bundle out = while_loop(
      g, in, not_zero(2),
      compute(program(two_values,
                      [](Program& p) {
                        p.output(p.op(Scalar::sub, p.input(0), p.constant(Kind::u32, 1)));
                        p.output(p.op(Scalar::add, p.input(1), p.input(0)));
                      })),
      "count", 3);
  for (const StreamId s : out) g.sink(s, "end");
  RunOptions options;
  options.min_depth = options.max_depth = 1;
  // Header to not_zero (2), to the filter (3); filter to the body (2); and two barriers.
  REQUIRE_THROWS_WITH(run(g, {}, options),
                      "the back edge 'compute.0' of fb_merge 'count' holds 3 tokens; what its "
                      "loop can hold needs 9");
  for (StreamId s = 0; s < g.streams().size(); ++s)
    if (g.stream(s).capacity != 0) g.set_capacity(s, 9);
  CHECK(run(g, {}, options).outcome == Outcome::finished);
}
