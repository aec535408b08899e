#include "timed_support.hpp"

#include "naive_timed.hpp"
#include "revet/sim/loops.hpp"

namespace revet::sim::test {

TimedResult run_timed_graph(const Graph& graph, const Machine& machine, const Mapping& mapping,
                            const std::vector<HostArray>& arrays, Trace* trace) {
  std::vector<std::vector<std::uint8_t>> before;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const std::size_t bytes = arrays[a].count * Type{graph.drams()[a].element}.bytes();
    before.emplace_back(arrays[a].data, arrays[a].data + bytes);
  }
  TimedOptions options;
  options.max_cycles = 1'000'000;
  const TimedResult naive = run_naive(graph, mapping, machine, bind(graph, before), options);
  options.trace = trace;
  const TimedResult r = run_timed(graph, mapping, machine, arrays, options);
  INFO(r.diagnosis);
  REQUIRE(r.outcome == TimedOutcome::finished);
  REQUIRE(r.cycles == naive.cycles);
  return r;
}

std::size_t input_of(const Graph& graph, NodeId node, std::size_t input) {
  return first_inputs(graph)[node] + input;
}

}  // namespace revet::sim::test
