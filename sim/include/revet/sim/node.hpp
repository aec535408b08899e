/// What every kind of node does (docs, "Nodes"; paper, section III-B, Figures 2 to 4). The one
/// definition that all engines share.
#pragma once

#include "revet/sim/instance.hpp"

namespace revet::sim {

/// Why a unit could not act.
enum class Stall : std::uint8_t {
  none,     ///< it acted
  input,    ///< `port` has no token
  output,   ///< a reader of `port` has no room
  pointer,  ///< its pool has no free pointer
  ended,    ///< a source has sent everything
};

struct Step {
  Stall stall = Stall::none;
  std::uint32_t port = 0;
};

/// Lets a unit act once: it takes at most one expanded token per input and puts at most one per
/// output, or does nothing and says why. A merge with nothing to take names one side; it would take
/// the other as well (see waits_for_either).
/// Throws Error for errors of the program, InternalError where streams do not match.
Step step(Instance& instance, NodeId node);

/// The inputs any of which would let a unit act that is stalled on one of them.
std::vector<std::uint32_t> waits_for_either(const Instance& instance, NodeId node, Step stalled);

/// Performs the access of a memory node other than alloc and free; gives its result. `element`: of
/// its index or base; `operands`: as in Request.
std::uint32_t perform(Memories& memories, const Node& node, Kind element,
                      const std::uint32_t* operands);

/// The same for the lanes that are on, in order: operand i of lane k is x[i][k].
void perform_lanes(Memories& memories, const Node& node, Kind element, const std::uint32_t (*x)[16],
                   std::size_t operands, std::uint32_t on, std::uint32_t* results);

/// What a bulk node moves: elements base + first .. base + last - 1 of its array.
struct BulkRange {
  std::int64_t base;
  std::uint64_t first, last;
};
BulkRange bulk_range(Memories& memories, const Node& node, Kind element,
                     const std::uint32_t* operands);
/// The kind of a node's main input: behind the pointer, the index or base; else the first. It is
/// what counters, reductions and memory nodes compute with.
Kind main_kind(const Graph& graph, const Node& node);
/// The index of an access to DRAM or SRAM, exactly.
std::int64_t exact_index(Kind element, std::uint32_t bits);

}  // namespace revet::sim
