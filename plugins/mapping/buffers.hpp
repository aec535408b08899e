/// Buffers that a mapped graph needs: for what can wait in a loop, and for paths of different
/// length.
#pragma once

#include <cstdint>

#include "mapping/assign.hpp"

namespace revet::mapping {

struct BufferCounts {
  std::int64_t back_edges = 0;  ///< streams whose back edge is in a memory unit
  std::int64_t retiming = 0;    ///< streams that wait for another path
  std::int64_t units = 0;       ///< memory units for both
};

inline constexpr unsigned default_burst_latency = 400, default_hops = 4;

/// `burst_latency`: cycles that an answer of DRAM is assumed to take. `hops`: of a link, as long as
/// it is not placed. Units must be assigned. True if something changed.
bool insert_buffers(Op& graph, const Machine& machine, unsigned burst_latency, unsigned hops,
                    BufferCounts& counts);

/// The memory units on the back edge of a loop's header, one per data stream; empty where the
/// buffers of the inputs do.
std::vector<std::uint32_t> back_units(const Op& header);
/// The unit on the back edge of stream `index`, or no_unit.
std::uint32_t back_unit(const Op& header, unsigned index);

}  // namespace revet::mapping
