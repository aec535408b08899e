// Each node against its row in the table of nodes.
#include <catch2/catch.hpp>
#include <set>

#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

constexpr Kind u32 = Kind::u32;
constexpr Kind i32 = Kind::i32;
constexpr Kind i1 = Kind::i1;
constexpr Kind none = Kind::none;

/// What a run of the streams ends with.
std::string failure(const Build& build, const std::vector<Input>& in) {
  Graph g;
  Bundle sources;
  for (const Input& i : in) sources.push_back(g.source(i.element, i.depth, tokens(i.text), "in"));
  for (const StreamId s : build(g, sources)) g.sink(s, "end");
  try {
    run(g, {}, {});
  } catch (const std::exception& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("source and sink: a value and Ω1") {
  Graph g;
  const StreamId x = g.source(u32, 7, "x");
  g.sink(x, "end");
  run_everywhere(g, {}, 2, [&](const Trace& t) { CHECK(notation(t.of(x), u32) == "7 Ω1"); });
}

TEST_CASE("context: one element from each input, equal barriers pass") {
  const Build sub = compute(program({u32, u32}, [](Program& p) {
    p.output(p.op(Scalar::sub, p.input(0), p.input(1)));
    p.output_void();
  }));
  expect_streams(sub, {{u32, 2, "5 6 Ω1 Ω1 9 Ω1 Ω2"}, {u32, 2, "1 2 Ω1 Ω1 3 Ω1 Ω2"}},
                 {"4 4 Ω1 Ω1 6 Ω1 Ω2", "_ _ Ω1 Ω1 _ Ω1 Ω2"});
  for (const char* empty : {"Ω1 Ω2", "Ω1 Ω1 Ω2", "Ω2"})
    expect_streams(sub, {{u32, 2, empty}, {u32, 2, empty}}, {empty, empty});
  CHECK(failure(sub, {{u32, 2, "5 Ω1 Ω2"}, {u32, 2, "Ω1 Ω2"}}) ==
        "context 'compute': input 'x1' (stream 'in') has Ω1 where 5 belongs");
}

TEST_CASE("context: operations follow the scalar rules") {
  const Build p = compute(program({Kind::i8, Kind::f32}, [](Program& c) {
    c.output(c.op(Scalar::add, c.input(0), c.constant(Kind::i8, 127)));
    c.output(c.op(Scalar::popcount, c.input(0)));
    c.output(c.cast(u32, c.input(0)));
    c.output(c.cast(i32, c.input(1)));
    c.output(c.select(c.op(Scalar::lt, c.input(0), c.constant(Kind::i8, 0)), c.input(0),
                      c.constant(Kind::i8, 3)));
  }));
  const std::string f = std::to_string(as_bits(-2.75f));
  expect_streams(p, {{Kind::i8, 1, "1 -1 Ω1"}, {Kind::f32, 1, f + " " + f + " Ω1"}},
                 {"-128 126 Ω1", "1 32 Ω1", "1 4294967295 Ω1", "-2 -2 Ω1", "3 -1 Ω1"});
}

TEST_CASE("broadcast: repeats the parent's element along the child's lists") {
  const auto build = [](unsigned levels) -> Build {
    return [=](Graph& g, const Bundle& x) {
      return g.broadcast(Bundle(x.begin() + 1, x.end()), x[0], levels, "broadcast");
    };
  };
  expect_streams(build(1),
                 {{u32, 2, "0 1 Ω1 Ω1 2 Ω1 Ω2"}, {u32, 1, "7 8 9 Ω1"}, {none, 1, "_ _ _ Ω1"}},
                 {"7 7 Ω1 Ω1 9 Ω1 Ω2", "_ _ Ω1 Ω1 _ Ω1 Ω2"});
  expect_streams(build(1), {{u32, 3, "0 Ω1 Ω2 Ω2 Ω1 Ω2 Ω3"}, {u32, 2, "7 Ω1 Ω1 8 Ω1 Ω2"}},
                 {"7 Ω1 Ω2 Ω2 Ω1 Ω2 Ω3"});
  // Over a while loop and the foreach around it.
  expect_streams(build(2), {{u32, 3, "0 1 Ω1 2 Ω1 Ω2 Ω2 Ω1 Ω2 Ω3"}, {u32, 1, "7 8 9 Ω1"}},
                 {"7 7 Ω1 7 Ω1 Ω2 Ω2 Ω1 Ω2 Ω3"});
  expect_streams(build(1), {{u32, 2, "Ω2"}, {u32, 1, "Ω1"}}, {"Ω2"});
  CHECK(failure(build(1), {{u32, 2, "0 Ω1 1 Ω1 Ω2"}, {u32, 1, "7 Ω1"}}) ==
        "broadcast 'broadcast': input 'a0' (stream 'in') has Ω1 where data belongs");
  CHECK(failure(build(1), {{u32, 2, "0 Ω1 Ω2"}, {u32, 1, "7 8 Ω1"}}) ==
        "broadcast 'broadcast': input 'a0' (stream 'in') has 8 where Ω1 belongs");
}

TEST_CASE("counter: the range of each element, then Ω1; barriers rise") {
  const Build build = [](Graph& g, const Bundle& x) {
    return Bundle{g.counter(x[0], x[1], x[2], "counter")};
  };
  expect_streams(build, {{i32, 1, "0 5 -2 Ω1"}, {i32, 1, "3 0 -2 Ω1"}, {i32, 1, "1 -2 1 Ω1"}},
                 {"0 1 2 Ω1 5 3 1 Ω1 Ω1 Ω2"});
  expect_streams(build, {{i32, 2, "Ω1 0 Ω1 Ω2"}, {i32, 2, "Ω1 1 Ω1 Ω2"}, {i32, 2, "Ω1 1 Ω1 Ω2"}},
                 {"Ω2 0 Ω1 Ω2 Ω3"});
  expect_streams(build, {{i32, 1, "Ω1"}, {i32, 1, "Ω1"}, {i32, 1, "Ω1"}}, {"Ω2"});
  // Without overflow at the ends of the type.
  expect_streams(build, {{i32, 1, "2147483645 Ω1"}, {i32, 1, "2147483647 Ω1"}, {i32, 1, "2 Ω1"}},
                 {"2147483645 Ω1 Ω2"});
  expect_streams(build, {{u32, 1, "4294967290 Ω1"}, {u32, 1, "4294967295 Ω1"}, {u32, 1, "4 Ω1"}},
                 {"4294967290 4294967294 Ω1 Ω2"});
  CHECK(failure(build, {{i32, 1, "0 Ω1"}, {i32, 1, "0 Ω1"}, {i32, 1, "0 Ω1"}}) ==
        "foreach step is 0");
}

TEST_CASE("reduce: one element for each list, the identity for an empty one") {
  const auto build = [](const std::string& op, Kind kind) -> Build {
    return [=](Graph& g, const Bundle& x) {
      return Bundle{g.reduce(x[0], reduction_of(op, kind), "reduce")};
    };
  };
  expect_streams(build("+", u32), {{u32, 2, "1 2 Ω1 Ω1 3 Ω1 Ω2"}}, {"3 0 3 Ω1"});
  expect_streams(build("+", u32), {{u32, 3, "1 Ω1 Ω2 Ω2 Ω1 Ω2 Ω3"}}, {"1 Ω1 Ω1 0 Ω1 Ω2"});
  const std::pair<const char*, const char*> identities[] = {{"+", "0"},
                                                            {"*", "1"},
                                                            {"&", "-1"},
                                                            {"|", "0"},
                                                            {"^", "0"},
                                                            {"min", "2147483647"},
                                                            {"max", "-2147483648"}};
  for (const auto& [op, identity] : identities) {
    const std::string one = identity;
    expect_streams(build(op, i32), {{i32, 2, "Ω1 Ω2"}}, {one + " Ω1"});
    expect_streams(build(op, i32), {{i32, 2, "Ω1 Ω1 Ω2"}}, {one + " " + one + " Ω1"});
    expect_streams(build(op, i32), {{i32, 2, "Ω2"}}, {"Ω1"});
  }
  expect_streams(build("&&", i1), {{i1, 2, "Ω1 1 0 Ω1 Ω2"}}, {"1 0 Ω1"});
  expect_streams(build("||", i1), {{i1, 2, "Ω1 1 0 Ω1 Ω2"}}, {"0 1 Ω1"});
  expect_streams(build("min", i32), {{i32, 2, "3 -7 Ω1 Ω2"}}, {"-7 Ω1"});
  const Build join = [](Graph& g, const Bundle& x) { return Bundle{g.reduce_void(x[0], "join")}; };
  expect_streams(join, {{none, 2, "_ _ Ω1 Ω1 Ω2"}}, {"_ _ Ω1"});
  expect_streams(join, {{none, 2, "Ω2"}}, {"Ω1"});
}

TEST_CASE("reduce: floats are added in the blocks that every target follows") {
  const std::uint32_t n = 2 * reduction_block + 10;
  std::vector<Token> in;
  float total = 0;
  float block = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const float x = 1.0f / static_cast<float>(3 * i + 1);
    if (i % reduction_block == 0 && i != 0) {
      total += block;
      block = 0;
    }
    block += x;
    in.push_back(data_token(as_bits(x)));
  }
  in.push_back(barrier(1));
  in.push_back(barrier(2));
  Graph g;
  const StreamId x = g.source(Kind::f32, 2, in, "x");
  const StreamId sum = g.reduce(x, reduction_of("+", Kind::f32), "sum");
  g.sink(sum, "end");
  run_everywhere(g, {}, 1,
                 [&](const Trace& t) { CHECK(as_float(t.of(sum)[0].bits) == total + block); });
}

TEST_CASE("flatten and strip: Ω1 vanishes, barriers fall") {
  const Build flatten = [](Graph& g, const Bundle& x) { return g.flatten(x, "f"); };
  const Build strip = [](Graph& g, const Bundle& x) { return g.strip(x, "s"); };
  for (const Build& build : {flatten, strip}) {
    expect_streams(build, {{u32, 2, "1 2 Ω1 Ω1 3 Ω1 Ω2"}}, {"1 2 3 Ω1"});
    expect_streams(build, {{u32, 3, "1 Ω1 2 Ω1 Ω2 Ω2 Ω1 Ω2 Ω3"}}, {"1 2 Ω1 Ω1 Ω1 Ω2"});
    expect_streams(build, {{u32, 2, "Ω2"}}, {"Ω1"});
    expect_streams(build, {{u32, 2, "1 Ω1 Ω1 2 Ω1 Ω2"}, {none, 2, "_ Ω1 Ω1 _ Ω1 Ω2"}},
                   {"1 2 Ω1", "_ _ Ω1"});
  }
}

TEST_CASE("filter: elements by predicate, barriers always") {
  const auto build = [](bool polarity) -> Build {
    return [=](Graph& g, const Bundle& x) {
      return g.filter(x[0], polarity, {x[1], x[2]}, "filter");
    };
  };
  const std::vector<Input> in{
      {i1, 2, "1 0 Ω1 Ω1 0 Ω1 Ω2"}, {u32, 2, "5 6 Ω1 Ω1 7 Ω1 Ω2"}, {none, 2, "_ _ Ω1 Ω1 _ Ω1 Ω2"}};
  expect_streams(build(true), in, {"5 Ω1 Ω1 Ω1 Ω2", "_ Ω1 Ω1 Ω1 Ω2"});
  expect_streams(build(false), in, {"6 Ω1 Ω1 7 Ω1 Ω2", "_ Ω1 Ω1 _ Ω1 Ω2"});
}

TEST_CASE("merge: elements of a list in any order, bundles stay together, barriers wait") {
  Graph g;
  const StreamId a0 = g.source(u32, 2, tokens("1 2 Ω1 Ω1 3 Ω1 Ω2"), "a0");
  const StreamId a1 = g.source(u32, 2, tokens("11 12 Ω1 Ω1 13 Ω1 Ω2"), "a1");
  const StreamId b0 = g.source(u32, 2, tokens("4 Ω1 5 Ω1 Ω1 Ω2"), "b0");
  const StreamId b1 = g.source(u32, 2, tokens("14 Ω1 15 Ω1 Ω1 Ω2"), "b1");
  const Bundle out = g.merge({a0, a1}, {b0, b1}, "merge");
  for (const StreamId s : out) g.sink(s, "end");
  std::vector<std::string> orders;
  run_everywhere(g, {}, 40, [&](const Trace& t) {
    const Tensor got = tensor_of({t.of(out[0]), t.of(out[1])}, 2);
    const Tensor all = list({list({leaf({1, 11}), leaf({2, 12}), leaf({4, 14})}),
                             list({leaf({5, 15})}), list({leaf({3, 13})})});
    REQUIRE(sorted(got, 2) == all);
    orders.push_back(show(got, 2));
  });
  std::sort(orders.begin(), orders.end());
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  CHECK(orders.size() == 3);
  const Build merge = [](Graph& graph, const Bundle& x) {
    return graph.merge({x[0]}, {x[1]}, "merge");
  };
  CHECK(failure(merge, {{u32, 2, "1 Ω1 Ω2"}, {u32, 2, "Ω2"}}) ==
        "merge 'merge': input 'b0' (stream 'in') has Ω2 where Ω1 belongs");
}

TEST_CASE("merge: with elements on both sides, either may go first") {
  Graph g;
  const StreamId a = g.source(u32, 1, {}, "a");
  const StreamId b = g.source(u32, 1, {}, "b");
  const StreamId out = g.merge({a}, {b}, "merge")[0];
  g.sink(out, "end");
  const NodeId merge = g.stream(out).writer.node;
  bool first[2] = {false, false};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Instance instance(g, {}, setting(seed, false));
    const Unit& u = instance.unit(merge);
    instance.input(u, 0).push(data_token(1));
    instance.input(u, 1).push(data_token(2));
    REQUIRE(step(instance, merge).stall == Stall::none);
    first[instance.input(u, 0).empty() ? 0 : 1] = true;
  }
  CHECK(first[0]);
  CHECK(first[1]);
}

TEST_CASE("deal: keys in turn, across barriers") {
  expect_streams(
      [](Graph& g, const Bundle& x) {
        const Graph::Dealt dealt = g.deal(x, 3, "deal");
        return Bundle{dealt.out[0], dealt.out[1], dealt.key};
      },
      {{u32, 2, "1 2 Ω1 3 4 Ω1 Ω1 Ω2"}, {none, 2, "_ _ Ω1 _ _ Ω1 Ω1 Ω2"}},
      {"1 2 Ω1 3 4 Ω1 Ω1 Ω2", "_ _ Ω1 _ _ Ω1 Ω1 Ω2", "0 1 Ω1 2 0 Ω1 Ω1 Ω2"});
}

TEST_CASE("buffer and void join") {
  expect_streams([](Graph& g, const Bundle& x) { return Bundle{g.buffer(x[0], 4, "buffer")}; },
                 {{u32, 2, "1 2 Ω1 Ω1 Ω2"}}, {"1 2 Ω1 Ω1 Ω2"});
  expect_streams([](Graph& g, const Bundle& x) { return Bundle{g.void_join(x, "join")}; },
                 {{none, 2, "_ Ω1 Ω1 Ω2"}, {u32, 2, "7 Ω1 Ω1 Ω2"}}, {"_ Ω1 Ω1 Ω2"});
}

TEST_CASE("buffer: holds as many tokens as it says, whatever the channels hold") {
  Graph g;
  const StreamId x = g.source(u32, 1, tokens("1 2 3 4 5 Ω1"), "x");
  const StreamId y = g.buffer(x, 5, "buffer");
  g.sink(y, "end");
  const Instance instance(g, {}, setting(0, false));
  CHECK(instance.fifo(0).capacity() == 5);
  CHECK(instance.fifo(1).capacity() == 1);
}

TEST_CASE("fb_merge: the tokens of the paper's loop header") {
  // Both threads go round once. Those that come back after the list's Ω1 are followed by another.
  Graph g;
  const StreamId x = g.source(u32, 1, tokens("1 1 Ω1"), "x");
  const Graph::Header h = g.fb_merge({x}, "while");
  const StreamId more = g.context(test_of(1, 0, Scalar::ne, 0), h.out, "more")[0];
  const Bundle stay = g.filter(more, true, h.out, "stay");
  g.close_loop(h, g.context(with_constant(Scalar::sub, 1), stay, "less"));
  const StreamId out = g.strip(g.filter(more, false, h.out, "leave"), "strip")[0];
  g.sink(out, "end");
  const std::set<std::string> legal{"1 1 0 0 Ω1 Ω2", "1 0 1 0 Ω1 Ω2", "1 1 0 Ω1 0 Ω1 Ω2",
                                    "1 0 1 Ω1 0 Ω1 Ω2", "1 1 Ω1 0 0 Ω1 Ω2"};
  std::set<std::string> seen;
  run_everywhere(g, {}, 20, [&](const Trace& t) {
    const std::string header = notation(t.of(h.out[0]), u32);
    INFO(header);
    REQUIRE(legal.count(header) == 1);
    seen.insert(header);
    REQUIRE(notation(t.of(out), u32) == "0 0 Ω1");
  });
  CHECK(seen.size() > 1);
}

TEST_CASE("fb_merge: a higher barrier goes round once") {
  Graph g;
  const StreamId x = g.source(u32, 3, tokens("Ω1 Ω2 Ω2 Ω3"), "x");
  const Graph::Header h = g.fb_merge({x}, "while");
  const StreamId more = g.context(test_of(1, 0, Scalar::ne, 0), h.out, "more")[0];
  g.close_loop(h, g.filter(more, true, h.out, "stay"));
  const StreamId out = g.strip(g.filter(more, false, h.out, "leave"), "strip")[0];
  g.sink(out, "end");
  run_everywhere(g, {}, 6, [&](const Trace& t) {
    REQUIRE(notation(t.of(h.out[0]), u32) == "Ω1 Ω2 Ω3 Ω3 Ω4");
    REQUIRE(notation(t.of(out), u32) == "Ω1 Ω2 Ω2 Ω3");
  });
}

TEST_CASE("fb_merge: with a back element and a forward element waiting, back goes first") {
  Graph g;
  const StreamId x = g.source(u32, 1, tokens("1 Ω1"), "x");
  const Graph::Header h = g.fb_merge({x}, "while");
  const StreamId more = g.context(test_of(1, 0, Scalar::ne, 0), h.out, "more")[0];
  g.close_loop(h, g.filter(more, true, h.out, "stay"));
  g.sink(g.strip(g.filter(more, false, h.out, "leave"), "strip")[0], "end");
  Instance instance(g, {}, {});
  const Unit& header = instance.unit(h.node);
  instance.input(header, 0).push(data_token(5));
  instance.input(header, 1).push(data_token(6));
  REQUIRE(step(instance, h.node).stall == Stall::none);
  CHECK(instance.input(header, 1).empty());
  CHECK(!instance.input(header, 0).empty());
}
