// The vectors that every implementation of a node must pass, on every tensor of depth 1 to 3 with
// at most two items in a list: [], [[]], [[],[]], [[[]]], [[],[[]]], ..
#include <catch2/catch.hpp>

#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

constexpr Kind u32 = Kind::u32;

std::vector<Tensor> shapes(unsigned depth) {
  if (depth == 0) return {leaf({0})};
  const std::vector<Tensor> items = shapes(depth - 1);
  std::vector<Tensor> all{list({})};
  for (const Tensor& a : items) all.push_back(list({a}));
  for (const Tensor& a : items)
    for (const Tensor& b : items) all.push_back(list({a, b}));
  return all;
}

/// Gives every element the values that `value` makes of its number.
Tensor filled(Tensor t, unsigned depth, const std::function<Values(std::uint32_t)>& value,
              std::uint32_t& next) {
  if (depth == 0) return leaf(value(next++));
  for (Tensor& item : t.items) item = filled(std::move(item), depth - 1, value, next);
  return t;
}

using PerThread = std::function<std::vector<Values>(Values)>;

/// `build` does for every thread what `plain` does.
void expect_everywhere(const Build& build, std::size_t lanes,
                       const std::function<Values(std::uint32_t)>& value, const PerThread& plain) {
  for (unsigned depth = 1; depth <= 3; ++depth)
    for (const Tensor& shape : shapes(depth)) {
      std::uint32_t next = 0;
      const Tensor t = filled(shape, depth, value, next);
      expect_through(build, t, depth, lanes, map(t, depth, plain), depth, 2);
    }
}

Values number(std::uint32_t i) { return {i}; }

StreamId predicate(Graph& g, StreamId x, Scalar op, std::uint32_t constant) {
  return g.context(test_of(1, 0, op, constant), {x}, "test")[0];
}

/// The threads that leave the program: a filter that passes barriers only.
Bundle leaving(Graph& g, const Bundle& x) {
  return g.filter(constant(g, x[0], 0, Kind::i1), true, x, "exit");
}

/// `x` less one.
Bundle less(Graph& g, const Bundle& x) {
  return g.context(with_constant(Scalar::sub, 1), x, "less");
}

/// foreach (n) { body } with a reduction: gives the sum of the bodies' values.
StreamId foreach_sum(Graph& g, StreamId n, const Build& body, const std::string& op = "+") {
  const StreamId index = g.counter(constant(g, n, 0), n, constant(g, n, 1), "foreach");
  return g.reduce(body(g, {index})[0], reduction_of(op, u32), "sum");
}

}  // namespace

TEST_CASE("Vectors: element-wise operations on empty tensors of each level") {
  expect_everywhere(compute(with_constant(Scalar::add, 5)), 1, number,
                    [](Values v) { return std::vector<Values>{{v[0] + 5}}; });
}

TEST_CASE("Vectors: a filter that removes everything, or all of some lists") {
  for (const Scalar op : {Scalar::lt, Scalar::ge, Scalar::eq, Scalar::ne})
    for (const std::uint32_t k : {0u, 1u, 2u, 100u}) {
      const Build build = [=](Graph& g, const Bundle& x) {
        return g.filter(predicate(g, x[0], op, k), true, x, "filter");
      };
      expect_everywhere(build, 1, number, [=](Values v) {
        return apply(op, u32, v[0], k) ? std::vector<Values>{v} : std::vector<Values>{};
      });
    }
  // The first, the middle and the last of three lists.
  for (std::uint32_t gone = 0; gone < 3; ++gone) {
    const Tensor t = list({row({0, 0}), row({1}), row({2, 2, 2})});
    const Build build = [=](Graph& g, const Bundle& x) {
      return g.filter(predicate(g, x[0], Scalar::eq, gone), false, x, "filter");
    };
    expect_through(build, t, 2, 1,
                   map(t, 2,
                       [=](Values v) {
                         return v[0] == gone ? std::vector<Values>{} : std::vector<Values>{v};
                       }),
                   2);
  }
}

TEST_CASE("Vectors: a filter through a reduction keeps the lists that it emptied") {
  const Build build = [](Graph& g, const Bundle& x) {
    const StreamId kept = g.filter(constant(g, x[0], 0, Kind::i1), true, x, "filter")[0];
    return Bundle{g.reduce(kept, reduction_of("+", u32), "sum")};
  };
  expect_through(build, list({row({0, 1}), row({2})}), 2, 1, row({0, 0}), 1);
  expect_through(build, list({row({})}), 2, 1, row({0}), 1);
  expect_through(build, list({row({}), row({})}), 2, 1, row({0, 0}), 1);
  expect_through(build, list({}), 2, 1, row({}), 1);
}

TEST_CASE("Vectors: a merge whose sides agree expanded but are spelt otherwise") {
  struct Row {
    const char* a;
    const char* b;
    const char* merged;
  };
  // The same barriers expanded; a or b implies what the other spells.
  const Row rows[] = {
      {"1 Ω2", "Ω1 Ω2", "1 Ω1 Ω2"},          {"Ω1 2 Ω2", "3 Ω1 Ω1 Ω2", "3 Ω1 2 Ω1 Ω2"},
      {"Ω1 Ω2", "4 Ω2", "4 Ω1 Ω2"},          {"5 Ω3", "Ω1 Ω3", "5 Ω1 Ω2 Ω3"},
      {"6 Ω2 Ω3", "Ω1 Ω2 Ω3", "6 Ω1 Ω2 Ω3"}, {"Ω1 Ω3", "Ω1 Ω2 Ω3", "Ω1 Ω2 Ω3"}};
  for (const Row& r : rows) {
    const unsigned depth = std::string(r.merged).find("Ω3") != std::string::npos ? 3 : 2;
    expect_streams([](Graph& g, const Bundle& x) { return g.merge({x[0]}, {x[1]}, "merge"); },
                   {{u32, depth, r.a}, {u32, depth, r.b}}, {r.merged});
  }
  // If and else.
  const Build build = [](Graph& g, const Bundle& x) {
    const StreamId low = predicate(g, x[0], Scalar::le, 1);
    const Bundle a = g.context(with_constant(Scalar::mul, 10), g.filter(low, true, x, "a"), "ten");
    return g.merge(a, g.filter(low, false, x, "b"), "merge");
  };
  expect_everywhere(build, 1, number,
                    [](Values v) { return std::vector<Values>{{v[0] <= 1 ? v[0] * 10 : v[0]}}; });
}

TEST_CASE("Vectors: a while whose threads all leave at once, all run, or one of which runs long") {
  const Build loop = [](Graph& g, const Bundle& x) {
    return while_loop(g, x, not_zero(2), compute(program({u32, u32}, [](Program& p) {
                        const auto one = p.constant(u32, 1);
                        p.output(p.op(Scalar::sub, p.input(0), one));
                        p.output(p.op(Scalar::add, p.input(1), one));
                      })));
  };
  const PerThread plain = [](Values v) { return std::vector<Values>{{0, v[0] + v[1]}}; };
  expect_everywhere(
      loop, 2,
      [](std::uint32_t i) {
        return Values{0, i};
      },
      plain);
  expect_everywhere(
      loop, 2,
      [](std::uint32_t i) {
        return Values{3, i};
      },
      plain);
  for (const std::uint32_t runner : {0u, 1u, 2u})
    expect_everywhere(
        loop, 2,
        [=](std::uint32_t i) {
          return Values{i == runner ? 40u : 0u, i};
        },
        plain);
}

TEST_CASE("Vectors: a while that no thread enters") {
  const Build build = [](Graph& g, const Bundle& x) {
    return while_loop(g, leaving(g, x), not_zero(1), less);
  };
  expect_everywhere(build, 1, number, [](Values) { return std::vector<Values>{}; });
}

TEST_CASE("Vectors: a while in a while with 0, 1 and many inner trips") {
  // for (; a; a--) for (i = b; i; i--) c += a;
  const Build inner = [](Graph& g, const Bundle& x) {
    Bundle with_i = x;
    with_i.push_back(x[1]);
    Bundle out =
        while_loop(g, with_i, not_zero(4, 3),
                   compute(program(std::vector<Kind>(4, u32),
                                   [](Program& p) {
                                     p.output(p.input(0));
                                     p.output(p.input(1));
                                     p.output(p.op(Scalar::add, p.input(2), p.input(0)));
                                     p.output(p.op(Scalar::sub, p.input(3), p.constant(u32, 1)));
                                   })),
                   "inner");
    g.unused(out.back());
    out.pop_back();
    return g.context(program(std::vector<Kind>(3, u32),
                             [](Program& p) {
                               p.output(p.op(Scalar::sub, p.input(0), p.constant(u32, 1)));
                               p.output(p.input(1));
                               p.output(p.input(2));
                             }),
                     out, "next");
  };
  const Build loop = [=](Graph& g, const Bundle& x) {
    return while_loop(g, x, not_zero(3), inner, "outer");
  };
  for (const std::uint32_t trips : {0u, 1u, 7u})
    expect_everywhere(
        loop, 3,
        [=](std::uint32_t i) {
          return Values{i % 3, trips, 100 * i};
        },
        [](Values v) {
          return std::vector<Values>{{0, v[1], v[2] + v[1] * v[0] * (v[0] + 1) / 2}};
        });
}

TEST_CASE("Vectors: a foreach of zero trips inside a while") {
  const Build body = [](Graph& g, const Bundle& x) {
    const StreamId sum =
        foreach_sum(g, constant(g, x[0], 0), [](Graph&, const Bundle& index) { return index; });
    return g.context(program({u32, u32},
                             [](Program& p) {
                               const auto less_one =
                                   p.op(Scalar::sub, p.input(0), p.constant(u32, 1));
                               p.output(p.op(Scalar::add, less_one, p.input(1)));
                             }),
                     {x[0], sum}, "next");
  };
  expect_everywhere([=](Graph& g, const Bundle& x) { return while_loop(g, x, not_zero(1), body); },
                    1, number, [](Values) { return std::vector<Values>{{0}}; });
}

TEST_CASE("Vectors: every thread of a list exits before a reduction") {
  for (const char* op : {"+", "*", "&", "|", "^", "min", "max"}) {
    const Build build = [=](Graph& g, const Bundle& x) {
      return Bundle{foreach_sum(g, x[0], leaving, op)};
    };
    const std::uint32_t identity = reduction_of(op, u32).identity;
    expect_everywhere(build, 1, number, [=](Values) { return std::vector<Values>{{identity}}; });
  }
  // exit inside a while inside the foreach: one strip for the loop that it leaves.
  const Build body = [](Graph& g, const Bundle& x) {
    const Graph::Header h = g.fb_merge(x, "while");
    const StreamId more = not_zero(1)(g, h.out);
    const Bundle stay = g.filter(more, true, h.out, "stay");
    const StreamId out = g.strip(leaving(g, stay), "exit.strip")[0];
    g.close_loop(h, g.filter(constant(g, stay[0], 0, Kind::i1), true, stay, "none"));
    const StreamId done = g.strip(g.filter(more, false, h.out, "leave"), "strip")[0];
    return g.merge({done}, {out}, "end");
  };
  const Build foreach_body = [=](Graph& g, const Bundle& x) {
    return Bundle{foreach_sum(g, x[0], [=](Graph& h, const Bundle& i) {
      return body(h, h.context(with_constant(Scalar::add, 1), i, "i"));
    })};
  };
  expect_everywhere(foreach_body, 1, number, [](Values) { return std::vector<Values>{{0}}; });
}

TEST_CASE("Vectors: a loop body that always exits") {
  const Build build = [](Graph& g, const Bundle& x) {
    const Graph::Header h = g.fb_merge(x, "while");
    const StreamId more = not_zero(1)(g, h.out);
    const Bundle stay = g.filter(more, true, h.out, "stay");
    const StreamId out = g.strip(leaving(g, stay), "exit.strip")[0];
    g.close_loop(h, leaving(g, stay));
    const StreamId done = g.strip(g.filter(more, false, h.out, "leave"), "strip")[0];
    return g.merge({done}, {out}, "end");
  };
  expect_everywhere(build, 1, number, [](Values v) {
    return v[0] == 0 ? std::vector<Values>{v} : std::vector<Values>{};
  });
}

TEST_CASE("Vectors: fork(0), fork(1) and fork(n) as the last statement of a loop body") {
  // while (trips) { trips--; fork(n); }
  const Build body = [](Graph& g, const Bundle& x) {
    const Bundle next =
        g.context(program(std::vector<Kind>(3, u32),
                          [](Program& p) {
                            p.output(p.op(Scalar::sub, p.input(0), p.constant(u32, 1)));
                            p.output(p.input(1));
                            p.output(p.input(2));
                          }),
                  x, "next");
    Bundle threads = fork(g, next, 1);
    g.unused(threads.back());
    threads.pop_back();
    return threads;
  };
  const Build loop = [=](Graph& g, const Bundle& x) { return while_loop(g, x, not_zero(3), body); };
  for (const std::uint32_t n : {0u, 1u, 3u})
    expect_everywhere(
        loop, 3,
        [=](std::uint32_t i) {
          return Values{i % 3, n, i};
        },
        [](Values v) {
          std::size_t threads = 1;
          for (std::uint32_t i = 0; i < v[0]; ++i) threads *= v[1];
          return std::vector<Values>(threads, Values{0, v[1], v[2]});
        });
}

TEST_CASE("Vectors: a fork outside of loops") {
  const Build build = [](Graph& g, const Bundle& x) { return fork(g, x, 0); };
  expect_everywhere(build, 1, number, [](Values v) {
    std::vector<Values> all;
    for (std::uint32_t i = 0; i < v[0]; ++i) all.push_back({v[0], i});
    return all;
  });
}

TEST_CASE("Vectors: a broadcast over two loops") {
  // foreach (2) reduce(+) { i => for (k = 3; k; k--) for (j = 2; j; j--) i += parent; return i; }
  // The parent's value is used three levels below it: the foreach and two loops.
  const Build build = [](Graph& g, const Bundle& parent) {
    const StreamId two = constant(g, parent[0], 2);
    const StreamId index = g.counter(constant(g, two, 0), two, constant(g, two, 1), "foreach");
    const Build inner_body = [=](Graph& h, const Bundle& x) {
      // j, acc: acc += parent
      const StreamId p = h.broadcast(parent, x[0], 3, "broadcast")[0];
      return h.context(program(std::vector<Kind>(4, u32),
                               [](Program& c) {
                                 c.output(c.op(Scalar::sub, c.input(0), c.constant(u32, 1)));
                                 c.output(c.op(Scalar::add, c.input(1), c.input(3)));
                                 c.output(c.input(2));
                               }),
                       {x[0], x[1], x[2], p}, "add");
    };
    const Build outer_body = [=](Graph& h, const Bundle& x) {
      // acc, k: for (j = 2; j; j--) acc += parent; k--
      const Bundle in{constant(h, x[0], 2), x[0], x[1]};
      Bundle out = while_loop(h, in, not_zero(3), inner_body, "inner");
      h.unused(out[0]);
      return h.context(program(std::vector<Kind>(2, u32),
                               [](Program& c) {
                                 c.output(c.input(0));
                                 c.output(c.op(Scalar::sub, c.input(1), c.constant(u32, 1)));
                               }),
                       {out[1], out[2]}, "next");
    };
    const Bundle out =
        while_loop(g, {index, constant(g, index, 3)}, not_zero(2, 1), outer_body, "outer");
    g.unused(out[1]);
    return Bundle{g.reduce(out[0], reduction_of("+", u32), "sum")};
  };
  expect_everywhere(build, 1, number, [](Values v) {
    return std::vector<Values>{{1 + 2 * 3 * 2 * v[0]}};  // 0 + 1, and six times the parent in each
  });
}

TEST_CASE("Vectors: reductions over every operator of empty lists") {
  for (const char* op : {"+", "*", "&", "|", "^", "min", "max"})
    for (const Kind kind : {Kind::i8, Kind::u16, Kind::i32, u32, Kind::f32}) {
      if (kind == Kind::f32 && std::string("&|^").find(op) != std::string::npos) continue;
      const Build build = [=](Graph& g, const Bundle& x) {
        return Bundle{g.reduce(x[0], reduction_of(op, kind), "reduce")};
      };
      const std::string one = notation(data_token(reduction_of(op, kind).identity), kind);
      expect_streams(build, {{kind, 2, "Ω1 Ω2"}}, {one + " Ω1"});
      expect_streams(build, {{kind, 2, "Ω1 Ω1 Ω2"}}, {one + " " + one + " Ω1"});
      expect_streams(build, {{kind, 2, "Ω2"}}, {"Ω1"});
      expect_streams(build, {{kind, 3, "Ω2 Ω1 Ω2 Ω3"}}, {"Ω1 " + one + " Ω1 Ω2"});
    }
}
