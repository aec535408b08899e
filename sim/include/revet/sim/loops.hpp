/// The while loops of a graph, and the rule that keeps them from deadlock (docs, "Never deadlock").
///
/// The rule: the back edge of a loop can hold everything that the buffers of the loop's body,
/// nested loops included, can hold, plus two barriers. Since the header prefers its back edge,
/// whatever is in the loop can then always reach the back edge, however full the rest is. Around a
/// fork, which makes threads, no bound is enough: the back edge is unlimited.
#pragma once

#include <span>

#include "revet/sim/fifo.hpp"
#include "revet/sim/graph.hpp"

namespace revet::sim {

struct Loop {
  NodeId header;
  /// The nodes on paths from the header's outputs to its back edge, in order; without the header.
  std::vector<NodeId> body;
  /// A fork in the body makes threads of this loop.
  bool forks = false;
  /// Per stream of the back edge: it is written in the body or by the header.
  std::vector<bool> back_from_header;
};

/// All loops of a graph whose streams are connected; inner loops come before outer ones. A body is
/// bounded by depth: everything in it is deeper than what enters, and a strip leaves it.
std::vector<Loop> loops_of(const Graph& graph);

/// FIFOs are numbered by the inputs that they feed: those of node 0, then those of node 1, ..
/// This gives the number of every node's first one, and their number.
std::vector<std::uint32_t> first_inputs(const Graph& graph);

/// What each FIFO of the loop's back edge has to hold, given the capacities of all FIFOs and of the
/// queue of each memory node; Fifo::unlimited around a fork.
std::uint32_t back_edge_capacity(const Graph& graph, const Loop& loop,
                                 std::span<const std::uint32_t> capacities,
                                 std::uint32_t memory_queue);

}  // namespace revet::sim
