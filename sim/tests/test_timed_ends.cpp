// Timed runs that do not end and what is said of them, and that runs are the same every time.
#include "timed_support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

constexpr Kind u32 = Kind::u32;

At at(const char* name, std::uint32_t line) { return {name, {intern_file("a.rvt"), line, 3, 1}}; }

/// Every element of a list meets the sum of its list: the list has to wait somewhere.
Graph sum_meets_list(std::uint32_t elements) {
  Graph g;
  std::vector<Token> list(elements, data_token(7));
  list.push_back(barrier(1));
  list.push_back(barrier(2));
  const StreamId x = g.source(u32, 2, list, at("list", 1));
  const StreamId sum = g.reduce(x, reduction_of("+", u32), at("sum", 2));
  g.sink(g.broadcast({sum}, x, 1, at("meet", 3))[0], at("end", 4));
  return g;
}

Mapping with_capacity(const Graph& g, const Machine& m, std::uint32_t capacity) {
  Mapping mapping = unmapped(g, m);
  for (Mapping::Input& in : mapping.inputs)
    if (!in.counts_lanes) in.capacity = capacity;
  size_back_edges(g, m, mapping);
  return mapping;
}

/// while (true) array[0] += 1;
Graph endless() {
  Graph g;
  const std::uint32_t array = g.dram("count", u32);
  const StreamId x = g.source(u32, 1, at("x", 1));
  const Graph::Header loop = g.fb_merge({x}, at("while", 2));
  const StreamId zero = constant(g, loop.out[0], 0);
  const auto [old, done] = g.dram_atomic(array, Atomic::add, zero, {loop.out[0]}, {}, at("add", 3));
  g.unused(done);
  const StreamId all = g.context(test_of(2, 0, Scalar::eq, 0), {zero, loop.out[0]}, "all")[0];
  const StreamId next = g.context(program({u32, u32}, [](Program& p) { p.output(p.input(1)); }),
                                  {old, loop.out[0]}, "next")[0];
  g.close_loop(loop, g.filter(all, true, {next}, "stay"));
  g.sink(g.strip(g.filter(all, false, loop.out, "leave"), "result")[0], at("end", 4));
  return g;
}

}  // namespace

TEST_CASE("Timed: a deadlock names the cycle, the units and the smallest buffer", "[timed]") {
  const Machine m = test_machine();
  const Graph g = sum_meets_list(100);
  TimedOptions options;
  const TimedResult r = run_timed(g, with_capacity(g, m, 2), m, {}, options);
  REQUIRE(r.outcome == TimedOutcome::deadlock);
  // Six full vectors and the rest, with Ω1, have to wait in front of the broadcast.
  CHECK(r.diagnosis ==
        "deadlock at cycle 10: no unit can act, 32 tokens remain\n"
        "each of these waits for the next, the last for the first:\n"
        "  source 'list' (a.rvt:1:3) waits for room on output 'x' (depth 2), to broadcast 'meet' "
        "(a.rvt:3:3); holds 70 tokens to send\n"
        "  broadcast 'meet' (a.rvt:3:3) waits for a token on input 'a0' (depth 1), from reduce "
        "'sum' (a.rvt:2:3); holds data and 31 more on input 'b'\n"
        "  reduce 'sum' (a.rvt:2:3) waits for a token on input 'x' (depth 2), from source 'list' "
        "(a.rvt:1:3); holds the sum of 32 elements\n"
        "the smallest buffer whose growth releases it: stream 'list' from source 'list' "
        "(a.rvt:1:3) to broadcast 'meet' (a.rvt:3:3): 7 tokens instead of 2\n");
  for (const UnitCycles& u : r.units)
    CHECK(u.cycles[0] + u.cycles[1] + u.cycles[2] + u.cycles[3] == r.cycles);
}

TEST_CASE("Timed: the buffer that is named is just large enough", "[timed]") {
  const Machine m = test_machine();
  for (const std::uint32_t vectors : {4u, 9u, 40u}) {
    const Graph g = sum_meets_list(16 * vectors);
    Mapping mapping = with_capacity(g, m, 3);
    TimedOptions options;
    const TimedResult r = run_timed(g, mapping, m, {}, options);
    REQUIRE(r.outcome == TimedOutcome::deadlock);
    CHECK(r.diagnosis.find(": " + std::to_string(vectors) + " tokens instead of 3\n") !=
          std::string::npos);
    const std::size_t b = input_of(g, 2, 1);
    mapping.inputs[b].capacity = vectors - 1;
    CHECK(run_timed(g, mapping, m, {}, options).outcome == TimedOutcome::deadlock);
    mapping.inputs[b].capacity = vectors;
    CHECK(run_timed(g, mapping, m, {}, options).outcome == TimedOutcome::finished);
  }
}

TEST_CASE("Timed: a deadlock that waits for a pointer says so", "[timed]") {
  Graph g;
  const std::uint32_t pool = g.pool("p", 3);
  const StreamId order =
      g.context(program({u32}, [](Program& p) { p.output_void(); }), {numbers(g, 5)}, "order")[0];
  const auto [pointer, got] = g.alloc(pool, {no_stream, {order}}, at("get", 7));
  g.sink(pointer, "end");
  g.unused(got);
  const Machine m = test_machine();
  TimedOptions options;
  const TimedResult r = run_timed(g, unmapped(g, m), m, {}, options);
  REQUIRE(r.outcome == TimedOutcome::deadlock);
  CHECK(r.diagnosis.find(
            "  alloc 'get' (a.rvt:7:3) waits for a free pointer on pool 'p' (depth 1)") !=
        std::string::npos);
  CHECK(r.diagnosis.find("no single buffer's growth releases it\n") != std::string::npos);
}

TEST_CASE("Timed: a run is cut off at the cycle limit, and not touched afterwards", "[timed]") {
  const Machine m = test_machine();
  const Graph g = endless();
  for (const Cycle limit : {500u, 501u, 777u}) {
    // The diagnosis must not let a node act once more: the arrays and the trace are the run's own.
    std::vector<std::uint32_t> count{0};
    const std::vector<HostArray> arrays{host(count)};
    Trace trace(g);
    TimedOptions options;
    options.max_cycles = limit;
    options.trace = &trace;
    const TimedResult r = run_timed(g, unmapped(g, m), m, arrays, options);
    REQUIRE(r.outcome == TimedOutcome::limit);
    CHECK(r.cycles == limit);
    CHECK(r.diagnosis.starts_with("the cycle limit was reached: " + std::to_string(limit) +
                                  " (option max-cycles); a thread ended last at cycle 0; "));
    CHECK(
        r.diagnosis.ends_with("  fb_merge 'while' (a.rvt:2:3) waits for the threads of its loop "
                              "to leave\n"));
    const std::size_t dram = input_of(g, 3, 0);
    CHECK(count[0] == r.links[dram].lanes_received);
    for (StreamId s = 0; s < g.streams().size(); ++s) {
      const Port reader = g.stream(s).readers.empty() ? Port{} : g.stream(s).readers[0];
      if (reader.node == no_node) continue;
      const LinkCounts& l = r.links[input_of(g, reader.node, reader.index)];
      CHECK(trace.of(s).size() == l.lanes + l.barriers);
    }
  }
}

TEST_CASE("Timed: a run that needs as many cycles as the limit finishes", "[timed]") {
  const Machine m = test_machine();
  Graph g;
  g.sink(numbers(g, 100), "end");
  TimedOptions options;
  const Cycle cycles = run_timed(g, unmapped(g, m), m, {}, options).cycles;
  options.max_cycles = cycles;
  CHECK(run_timed(g, unmapped(g, m), m, {}, options).outcome == TimedOutcome::finished);
  options.max_cycles = cycles - 1;
  CHECK(run_timed(g, unmapped(g, m), m, {}, options).outcome == TimedOutcome::limit);
}

TEST_CASE("Timed: a run without progress is given up", "[timed]") {
  const Machine m = test_machine();
  const Graph g = endless();
  std::vector<std::uint32_t> count{0};
  const std::vector<HostArray> arrays{host(count)};
  TimedOptions options;
  options.no_progress = 400;
  const TimedResult r = run_timed(g, unmapped(g, m), m, arrays, options);
  REQUIRE(r.outcome == TimedOutcome::no_progress);
  CHECK(r.cycles == 401);
  CHECK(r.diagnosis.starts_with(
      "no progress: no thread ended from cycle 0 to 401 (option no-progress = 400); "));
}

TEST_CASE("Timed: intervals of a unit's states cover the run", "[timed]") {
  const RandomCase c = random_case(3);
  std::vector<std::vector<std::uint8_t>> arrays = c.arrays;
  std::vector<UnitCycles> seen(c.mapping.units.size());
  std::vector<Cycle> until(c.mapping.units.size(), 0);
  TimedOptions options;
  options.on_interval = [&](std::uint32_t unit, int state, Cycle from, Cycle to) {
    CHECK(from == until[unit]);
    CHECK(to > from);
    until[unit] = to;
    seen[unit].cycles[state] += to - from;
  };
  const TimedResult r = run_timed(c.graph, c.mapping, c.machine, bind(c.graph, arrays), options);
  REQUIRE(r.outcome == TimedOutcome::finished);
  for (std::size_t u = 0; u < seen.size(); ++u)
    for (int s = 0; s < 4; ++s) CHECK(seen[u].cycles[s] == r.units[u].cycles[s]);
}

TEST_CASE("Timed: a run is the same every time", "[timed]") {
  for (const std::uint64_t seed : {11u, 42u}) {
    const RandomCase c = random_case(seed);
    std::string first;
    for (int i = 0; i < 20; ++i) {
      std::vector<std::vector<std::uint8_t>> arrays = c.arrays;
      Trace trace(c.graph);
      TimedOptions options;
      options.trace = &trace;
      const TimedResult r =
          run_timed(c.graph, c.mapping, c.machine, bind(c.graph, arrays), options);
      std::string text = std::to_string(r.cycles) + ' ' + std::to_string(r.firings) + ' ';
      for (const UnitCycles& u : r.units)
        for (const Cycle n : u.cycles) text += std::to_string(n) + ' ';
      text += trace.text(c.graph, Trace::Form::expanded);
      for (const auto& a : arrays) text.append(a.begin(), a.end());
      if (i == 0) first = text;
      CHECK(text == first);
    }
  }
}

namespace {

constexpr Kind kinds[] = {Kind::i1,  Kind::i8,  Kind::i16, Kind::i32, Kind::u8,
                          Kind::u16, Kind::u32, Kind::f32, Kind::ptr};

/// Operands at the edges of their kind, and others.
std::uint32_t operand(Random& random, Kind k) {
  static constexpr std::uint32_t edges[] = {
      0,      1,      2,      31,         32,         0x7F,       0x80,       0xFF,
      0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0xFFC00000};
  const std::uint32_t bits =
      random.below(2) == 0 ? edges[random.below(16)] : static_cast<std::uint32_t>(random.next());
  return wrap(k, bits);
}

/// All lanes at once give what each gives by itself.
void check_lanes(const Program& p, Random& random) {
  for (int round = 0; round < 20; ++round) {
    const unsigned lanes = round < 16 ? 16 - static_cast<unsigned>(round) : 16;
    std::vector<std::uint32_t> all = p.initial_lanes();
    std::vector<std::vector<std::uint32_t>> each(lanes, p.initial());
    for (std::size_t i = 0; i < p.input_count(); ++i)
      for (unsigned k = 0; k < lanes; ++k)
        all[i * 16 + k] = each[k][i] = operand(random, p.kind(p.input(i)));
    p.run_lanes(all.data(), lanes);
    for (unsigned k = 0; k < lanes; ++k) {
      p.run(each[k].data());
      for (std::size_t o = 0; o < p.output_count(); ++o)
        REQUIRE(p.lanes(o, all.data())[k] == p.output(o, each[k].data()));
    }
  }
}

bool has(Kind k, Scalar op) {
  if (k == Kind::f32)
    return op <= Scalar::div || op == Scalar::min || op == Scalar::max ||
           (op >= Scalar::eq && op <= Scalar::abs);
  return true;
}

}  // namespace

TEST_CASE("Programs: many lanes at once give what each lane gives", "[timed]") {
  Random random(1);
  for (const Kind k : kinds) {
    for (unsigned i = 0; i <= static_cast<unsigned>(Scalar::ctz); ++i) {
      const auto op = static_cast<Scalar>(i);
      INFO(Type{k}.str() << ", op " << i);
      if (!has(k, op)) continue;
      const bool unary = op >= Scalar::neg;
      check_lanes(
          program(unary ? std::vector{k} : std::vector{k, k},
                  [&](Program& p) {
                    p.output(unary ? p.op(op, p.input(0)) : p.op(op, p.input(0), p.input(1)));
                  }),
          random);
      if (unary) continue;
      check_lanes(
          program({k}, [&](Program& p) { p.output(p.op(op, p.input(0), p.constant(k, 3))); }),
          random);
    }
    check_lanes(program({Kind::i1, k, k},
                        [](Program& p) { p.output(p.select(p.input(0), p.input(1), p.input(2))); }),
                random);
    for (const Kind to : kinds)
      if (k != Kind::ptr && to != Kind::ptr)
        check_lanes(program({k}, [&](Program& p) { p.output(p.cast(to, p.input(0))); }), random);
    if (part_bits(k) == 0) continue;
    for (unsigned lo = 0; lo < 32; lo += part_bits(k)) {
      check_lanes(program({u32}, [&](Program& p) { p.output(p.extract(k, p.input(0), lo)); }),
                  random);
      check_lanes(
          program({u32, k}, [&](Program& p) { p.output(p.insert(p.input(0), p.input(1), lo)); }),
          random);
    }
  }
}
