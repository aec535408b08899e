// The timed engine against the naive one, cycle for cycle and token for token, and against the
// untimed engine in what is computed, on random graphs.
//
// REVET_RANDOM_GRAPHS=FIRST:COUNT chooses other seeds.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "naive_timed.hpp"
#include "random_graphs.hpp"
#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

struct TimedRun {
  TimedResult result;
  Trace trace;
  std::vector<std::vector<std::uint8_t>> arrays;
  std::string error;
};

template <typename Run>
TimedRun timed(const RandomCase& c, Run run) {
  TimedRun t{{}, Trace(c.graph), c.arrays, {}};
  TimedOptions options;
  options.trace = &t.trace;
  options.max_cycles = 4'000'000;
  try {
    t.result = run(c.graph, c.mapping, c.machine, bind(c.graph, t.arrays), options);
  } catch (const std::exception& e) {
    t.error = e.what();
  }
  return t;
}

std::string differences(const RandomCase& c, const TimedRun& a, const TimedRun& b) {
  std::string text;
  const auto compare = [&](const std::string& what, const auto& x, const auto& y) {
    if (x != y) text += fmt::format("{}: {} and {}\n", what, x, y);
  };
  const TimedResult &r = a.result, &s = b.result;
  compare("error", a.error, b.error);
  compare("outcome", static_cast<int>(r.outcome), static_cast<int>(s.outcome));
  if (!text.empty()) return text;
  compare("cycles", r.cycles, s.cycles);
  compare("last result", r.last_result, s.last_result);
  compare("last progress", r.last_progress, s.last_progress);
  compare("threads", r.threads, s.threads);
  compare("firings", r.firings, s.firings);
  compare("pointers leaked", r.pointers_leaked, s.pointers_leaked);
  static constexpr const char* states[] = {"busy", "starved", "blocked", "idle"};
  for (std::size_t u = 0; u < r.units.size(); ++u) {
    for (int i = 0; i < 4; ++i)
      compare(fmt::format("{} cycles of {}", states[i], c.mapping.units[u].name),
              r.units[u].cycles[i], s.units.at(u).cycles[i]);
    compare("conflict cycles of " + c.mapping.units[u].name, r.conflict_cycles[u],
            s.conflict_cycles.at(u));
  }
  for (std::size_t l = 0; l < r.links.size(); ++l) {
    const LinkCounts &x = r.links[l], &y = s.links.at(l);
    compare(fmt::format("waits for input {}", l), r.input_waits[l], s.input_waits.at(l));
    compare(fmt::format("waits for room of {}", l), r.output_waits[l], s.output_waits.at(l));
    compare(fmt::format("vectors of link {}", l), x.vectors, y.vectors);
    compare(fmt::format("lanes of link {}", l), x.lanes, y.lanes);
    compare(fmt::format("lanes received of link {}", l), x.lanes_received, y.lanes_received);
    compare(fmt::format("barriers of link {}", l), x.barriers, y.barriers);
    compare(fmt::format("barriers received of link {}", l), x.barriers_received,
            y.barriers_received);
  }
  compare("bytes read", r.dram.bytes_read, s.dram.bytes_read);
  compare("bytes written", r.dram.bytes_written, s.dram.bytes_written);
  compare("bursts issued", r.dram.bursts_issued, s.dram.bursts_issued);
  compare("bursts completed", r.dram.bursts_completed, s.dram.bursts_completed);
  compare("reads shared", r.dram.reads_shared, s.dram.reads_shared);
  compare("row hits", r.dram.row_hits, s.dram.row_hits);
  for (StreamId i = 0; i < c.graph.streams().size(); ++i)
    if (a.trace.of(i) != b.trace.of(i)) text += "traces of " + c.graph.stream(i).name + '\n';
  if (a.arrays != b.arrays) text += "arrays\n";
  return text;
}

/// Lists at every level without their order.
Tensor unordered(Tensor t, unsigned depth) {
  if (depth == 0) return t;
  for (Tensor& item : t.items) item = unordered(std::move(item), depth - 1);
  const auto less = [](const Tensor& a, const Tensor& b, const auto& self) -> bool {
    if (a.leaf != b.leaf) return a.leaf < b.leaf;
    return std::lexicographical_compare(
        a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
        [&](const Tensor& x, const Tensor& y) { return self(x, y, self); });
  };
  std::sort(t.items.begin(), t.items.end(),
            [&](const Tensor& a, const Tensor& b) { return less(a, b, less); });
  return t;
}

/// What of a stream is the same in every correct run.
Tensor essence(const RandomCase& c, const Trace& trace, StreamId s) {
  std::vector<Token> tokens = trace.of(s);
  const Stream& stream = c.graph.stream(s);
  if (stream.element == Kind::ptr)
    for (Token& t : tokens) t.bits = 0;
  if (c.same[s] == RandomCase::lists)
    return unordered(tensor_of({tokens}, stream.depth), stream.depth);
  Tensor content;
  if (c.same[s] == RandomCase::content)
    for (const Token t : tokens)
      if (t.is_data()) content.items.push_back(leaf({t.bits}));
  return unordered(content, 1);
}

void check_case(std::uint64_t seed) {
  const RandomCase c = random_case(seed);
  INFO("seed " << seed << ", " << c.graph.nodes().size() << " nodes");
  const TimedRun fast = timed(c, run_timed);
  INFO(fast.result.diagnosis << fast.error);
  const TimedRun naive = timed(c, run_naive);
  REQUIRE(differences(c, fast, naive) == "");
  REQUIRE(fast.error == "");
  REQUIRE(fast.result.outcome == TimedOutcome::finished);
  REQUIRE(fast.result.pointers_leaked == 0);
  const std::vector<std::string> faults = check_barriers(c.graph, fast.trace);
  REQUIRE((faults.empty() ? "" : faults[0]) == "");

  Trace trace(c.graph);
  std::vector<std::vector<std::uint8_t>> arrays = c.arrays;
  RunOptions options = setting(seed, seed % 2 == 0);
  options.trace = &trace;
  const Result untimed = run(c.graph, bind(c.graph, arrays), options);
  REQUIRE(untimed.outcome == Outcome::finished);
  REQUIRE(untimed.threads == fast.result.threads);
  REQUIRE(arrays == fast.arrays);
  for (StreamId s = 0; s < c.graph.streams().size(); ++s) {
    INFO("stream " << c.graph.stream(s).name);
    if (essence(c, trace, s) != essence(c, fast.trace, s)) FAIL("traces differ");
  }
}

}  // namespace

TEST_CASE("The timed engine equals the naive one on random graphs", "[random]") {
  std::uint64_t first = 0, count = 1000;
  if (const char* chosen = std::getenv("REVET_RANDOM_GRAPHS")) {
    char* end = nullptr;
    first = std::strtoull(chosen, &end, 10);
    count = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 1;
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) check_case(seed);
}
