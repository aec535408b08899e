#include "support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

namespace revet::sim::test {

// --- tensors ------------------------------------------------------------------------------------

Tensor leaf(Values values) { return {{}, std::move(values)}; }
Tensor list(std::vector<Tensor> items) { return {std::move(items), {}}; }
Tensor row(const Values& values) {
  Tensor t;
  for (const std::uint32_t v : values) t.items.push_back(leaf({v}));
  return t;
}

Tensor random_tensor(Random& random, unsigned depth, const std::function<Values(Random&)>& value) {
  if (depth == 0) return leaf(value(random));
  static constexpr unsigned sizes[] = {0, 0, 1, 2, 3, 5};
  Tensor t;
  for (unsigned n = sizes[random.below(6)]; n != 0; --n)
    t.items.push_back(random_tensor(random, depth - 1, value));
  return t;
}

std::vector<Token> expand(const Tensor& t, unsigned depth, std::size_t lane) {
  if (depth == 0) return {data_token(t.leaf.empty() ? 0 : t.leaf.at(lane))};
  std::vector<Token> tokens;
  for (const Tensor& item : t.items) {
    const std::vector<Token> part = expand(item, depth - 1, lane);
    tokens.insert(tokens.end(), part.begin(), part.end());
  }
  tokens.push_back(barrier(depth));
  return tokens;
}

Tensor tensor_of(const std::vector<std::vector<Token>>& lanes, unsigned depth) {
  std::vector<Tensor> open(depth + 1);
  for (std::size_t i = 0; i < lanes.at(0).size(); ++i) {
    const Token t = lanes[0][i];
    if (t.is_data()) {
      Values values;
      for (const std::vector<Token>& lane : lanes) values.push_back(lane.at(i).bits);
      open[1].items.push_back(leaf(values));
      continue;
    }
    REQUIRE(t.level <= depth);
    Tensor done = std::move(open[t.level]);
    open[t.level] = {};
    if (t.level == depth) {
      REQUIRE(i + 1 == lanes[0].size());
      return done;
    }
    open[t.level + 1u].items.push_back(std::move(done));
  }
  FAIL("the stream is not closed");
  return {};
}

Tensor map(const Tensor& t, unsigned depth, const std::function<std::vector<Values>(Values)>& f) {
  Tensor mapped;
  for (const Tensor& item : t.items)
    if (depth > 1)
      mapped.items.push_back(map(item, depth - 1, f));
    else
      for (Values& values : f(item.leaf)) mapped.items.push_back(leaf(std::move(values)));
  return mapped;
}

Tensor sorted(Tensor t, unsigned depth) {
  if (depth > 1)
    for (Tensor& item : t.items) item = sorted(std::move(item), depth - 1);
  else
    std::sort(t.items.begin(), t.items.end(),
              [](const Tensor& a, const Tensor& b) { return a.leaf < b.leaf; });
  return t;
}

std::string show(const Tensor& t, unsigned depth) {
  if (depth != 0) {
    std::vector<std::string> items;
    for (const Tensor& item : t.items) items.push_back(show(item, depth - 1));
    return fmt::format("[{}]", fmt::join(items, ","));
  }
  const std::string values = fmt::format("{}", fmt::join(t.leaf, ","));
  return t.leaf.size() == 1 ? values : fmt::format("({})", values);
}

// --- programs -----------------------------------------------------------------------------------

Program program(std::vector<Kind> inputs, const std::function<void(Program&)>& body) {
  Program p(std::move(inputs));
  body(p);
  return p;
}

Program with_constant(Scalar op, std::uint32_t constant) {
  return program({Kind::u32}, [&](Program& p) {
    p.output(p.op(op, p.input(0), p.constant(Kind::u32, constant)));
  });
}

Program test_of(std::size_t inputs, std::size_t input, Scalar op, std::uint32_t constant) {
  return program(std::vector<Kind>(inputs, Kind::u32), [&](Program& p) {
    p.output(p.op(op, p.input(input), p.constant(Kind::u32, constant)));
  });
}

// --- running ------------------------------------------------------------------------------------

RunOptions setting(std::uint64_t seed, bool link_form) {
  RunOptions options;
  options.seed = seed;
  // Every third schedule has the tightest channels that a correct graph has to bear.
  options.min_depth = 1;
  options.max_depth = seed % 3 == 0 ? 1 : 4;
  options.link_form = link_form;
  options.memory_queue = seed % 2 == 0 ? 0 : 3;
  return options;
}

void run_everywhere(const Graph& graph, const std::vector<HostArray>& arrays, unsigned rounds,
                    const std::function<void(const Trace&)>& check) {
  for (const bool link_form : {false, true})
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
      Trace trace(graph);
      RunOptions options = setting(seed, link_form);
      options.trace = &trace;
      const Result result = run(graph, arrays, options);
      INFO("seed " << seed << (link_form ? ", link form" : ", expanded"));
      INFO(result.diagnosis);
      REQUIRE(result.outcome == Outcome::finished);
      REQUIRE(result.pointers_leaked == 0);
      const std::vector<std::string> faults = check_barriers(graph, trace);
      INFO((faults.empty() ? std::string() : faults[0]));
      REQUIRE(faults.empty());
      check(trace);
    }
}

std::vector<Token> tokens(const std::string& text) {
  static const std::string omega = "Ω";
  std::vector<Token> made;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (word == "_")
      made.push_back(data_token(0));
    else if (word.starts_with(omega))
      made.push_back(barrier(static_cast<unsigned>(std::stoul(word.substr(omega.size())))));
    else
      made.push_back(data_token(static_cast<std::uint32_t>(std::stoll(word))));
  return made;
}

void expect_streams(const Build& build, const std::vector<Input>& in,
                    const std::vector<std::string>& expected) {
  Graph g;
  Bundle sources;
  for (const Input& i : in)
    sources.push_back(
        g.source(i.element, i.depth, tokens(i.text), fmt::format("in{}", sources.size())));
  const Bundle out = build(g, sources);
  REQUIRE(out.size() == expected.size());
  for (const StreamId s : out) g.sink(s, "end");
  run_everywhere(g, {}, 6, [&](const Trace& trace) {
    for (std::size_t i = 0; i < out.size(); ++i)
      REQUIRE(notation(trace.of(out[i]), g.stream(out[i]).element) == expected[i]);
  });
}

void expect_through(const Build& build, const Tensor& in, unsigned depth, std::size_t lanes,
                    const Tensor& expected, unsigned out_depth, unsigned rounds) {
  Graph g;
  Bundle sources;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    sources.push_back(
        g.source(Kind::u32, depth, expand(in, depth, lane), fmt::format("x{}", lane)));
  const Bundle out = build(g, sources);
  for (const StreamId s : out) g.sink(s, "end");
  INFO("in " << show(in, depth));
  run_everywhere(g, {}, rounds, [&](const Trace& trace) {
    std::vector<std::vector<Token>> got;
    for (const StreamId s : out) got.push_back(trace.of(s));
    const Tensor result = sorted(tensor_of(got, out_depth), out_depth);
    INFO("got " << show(result, out_depth));
    INFO("expected " << show(sorted(expected, out_depth), out_depth));
    REQUIRE(result == sorted(expected, out_depth));
  });
}

// --- building blocks ----------------------------------------------------------------------------

Bundle while_loop(Graph& g, Bundle in, const Cond& cond, const Build& body, const std::string& name,
                  std::uint32_t back_capacity) {
  const Graph::Header header = g.fb_merge(in, name);
  const StreamId more = cond(g, header.out);
  const Bundle back = body(g, g.filter(more, true, header.out, name + ".stay"));
  if (back_capacity != 0)
    for (const StreamId s : back) g.set_capacity(s, back_capacity);
  g.close_loop(header, back);
  return g.strip(g.filter(more, false, header.out, name + ".leave"), name + ".result");
}

Cond not_zero(std::size_t lanes, std::size_t input) {
  return [=](Graph& g, const Bundle& x) {
    return g.context(test_of(lanes, input, Scalar::ne, 0), x, "not_zero")[0];
  };
}

Build compute(Program p, const std::string& name) {
  return [p = std::move(p), name](Graph& g, const Bundle& x) { return g.context(p, x, name); };
}

StreamId constant(Graph& g, StreamId like, std::uint32_t value, Kind kind) {
  return g.context(
      program({g.stream(like).element}, [&](Program& p) { p.output(p.constant(kind, value)); }),
      {like}, "constant")[0];
}

Bundle fork(Graph& g, Bundle in, std::size_t count) {
  const StreamId index = g.counter(constant(g, in[0], 0), in[count], constant(g, in[0], 1), "fork");
  Bundle threads = g.broadcast(in, index, 1, "fork.live");
  threads.push_back(index);
  return g.flatten(threads, "fork.flat");
}

}  // namespace revet::sim::test
