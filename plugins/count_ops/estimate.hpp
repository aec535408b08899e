/// What a graph needs of a machine, before it is mapped.
#pragma once

#include "revet/plugin.hpp"

namespace revet {

/// Adds the estimate of one flow.graph to the statistics. Nodes of a replicate region count once
/// for each of its copies.
///
/// | statistic | counts |
/// |---|---|
/// | contexts | `flow.context`s and memory operations: each needs a context of its own (Section
/// V-D) | | values into merges | values, without voids, of each side of merges and loop headers |
/// | words through loops | values, without voids, in the bundles of loop headers |
/// | vector links, scalar links, void links | streams, by what they carry |
/// | memory units | 256 KiB each: buffers, and a queue of free pointers per allocator |
/// | allocators | queues of free pointers |
/// | address generators | operations on DRAM |
void estimate(const Op& graph, PassContext& context);

}  // namespace revet
