/// The timed engine once more, as a reader would write it from the rules in timed.hpp: every cycle,
/// every node is tried in the order of the mapping, and links hold single tokens. Slow, and shares
/// nothing with the engine but the description of graphs, what a context computes, and memory.
///
/// Rules, beyond those of timed.hpp:
/// - A link holds the vectors that were sent, each with the cycle of its arrival, which is never
///   earlier than that of the one before. A reader takes from the lanes that have arrived, over
///   several vectors, up to 16 and the barrier behind them; of a scalar link one element, and the
///   barrier that was sent with it.
/// - Room is counted in vectors, elements of a scalar link, or lanes and barriers; there is some
///   while less than the capacity is taken, so the last vector may exceed it. What a vector takes
///   is given back, `credit` cycles later, when its last token is taken.
/// - A scalar link sends an element per cycle; a vector that is not sent yet waits in one of the
///   `pipeline` stages before, or in one skid buffer.
/// - A memory port goes to the node that has waited longest for it.
/// - Pointers that are freed, and bursts that come back, count from the next cycle.
#pragma once

#include "revet/sim/timed.hpp"

namespace revet::sim::test {

/// `diagnosis` stays empty. A deadlock is a run without any act for a long time.
TimedResult run_naive(const Graph& graph, const Mapping& mapping, const Machine& machine,
                      const std::vector<HostArray>& arrays, const TimedOptions& options);

}  // namespace revet::sim::test
