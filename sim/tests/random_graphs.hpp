/// Random graphs with random mappings and machines. All of them end, and what they compute does
/// not depend on the order in which anything happens: arrays are read only, or get the same value
/// from everyone who writes an element, or are changed by operations that commute.
#pragma once

#include "revet/sim/random.hpp"
#include "revet/sim/timed.hpp"

namespace revet::sim::test {

/// A small machine with every field that the timed engine reads.
Machine test_machine();
Machine random_machine(Random& random);
/// Random latencies and capacities; some nodes share a unit.
Mapping random_mapping(const Graph& graph, const Machine& machine, Random& random);

struct RandomCase {
  Graph graph;
  Machine machine;
  Mapping mapping;
  std::vector<std::vector<std::uint8_t>> arrays;  ///< what they hold at first

  /// Of each stream, how much of what it carries is the same in every correct run.
  enum Same : std::uint8_t {
    lists,    ///< the tensor, but for the order in its lists
    content,  ///< the elements: in a loop, lists depend on when threads come back
    nothing,
  };
  std::vector<Same> same;
};
RandomCase random_case(std::uint64_t seed);
/// `arrays` as the graph wants them.
std::vector<HostArray> bind(const Graph& graph, std::vector<std::vector<std::uint8_t>>& arrays);

}  // namespace revet::sim::test
