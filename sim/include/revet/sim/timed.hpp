/// The timed engine: a mapped graph on the machine, cycle by cycle (paper, section VI-A; docs,
/// machine.md).
///
/// In one cycle a node takes at most one vector from each input and gives at most one to each
/// output: up to 16 lanes and, behind them, at most one barrier. What it gives is at a reader after
/// the latency of its unit and of the route between them; the room that a reader makes is known to
/// the writer after the way back. Links of scalars carry one element per cycle. What a node
/// computes is what node.hpp says; only time is new.
///
/// Nodes of one unit that follow each other are stages of its pipeline: a vector passes them in one
/// cycle, and the unit's latency counts where it leaves. Everything that has to be decided between
/// units (ports of a memory, pointers, DRAM) is decided in the order of the nodes, so a run is the
/// same every time.
#pragma once

#include <functional>
#include <memory>

#include "revet/machine.hpp"
#include "revet/sim/deadlock.hpp"
#include "revet/sim/graph.hpp"
#include "revet/sim/trace.hpp"

namespace revet::sim {

using Cycle = std::uint64_t;

using revet::LinkKind;
using revet::UnitKind;

/// What mapping decides about a graph.
struct Mapping {
  struct UnitInfo {
    UnitKind kind = UnitKind::compute;
    std::string name;
    Loc loc;
    std::string role;           ///< "inner", "outer", "distribution", ..
    int row = -1, column = -1;  ///< below 0: not placed
    int copy = -1;              ///< of a replicate region
  };
  /// How an input gets its vectors.
  struct Input {
    unsigned latency = 1;        ///< from the writer's firing to the arrival; 0: within a unit
    unsigned credit = 1;         ///< from taking a vector to room at the writer
    std::uint32_t capacity = 2;  ///< vectors, elements of a scalar link, under way and waiting
    bool scalar = false;         ///< one element per cycle
    unsigned pipeline = 0;       ///< of the latency: before a vector meets what sends its elements
    bool counts_lanes = false;   ///< capacity is in lanes: a buffer that compacts (back edges)
  };

  std::vector<UnitInfo> units;
  /// Per node: the units that it is spread over, its memory's first; none for sources and sinks.
  std::vector<std::vector<std::uint32_t>> units_of;
  std::vector<std::uint32_t> order;  ///< of nodes: a unit's nodes follow those that feed them
  std::vector<Input> inputs;         ///< numbered as by first_inputs (loops.hpp)
  /// Per SRAM: the memory units that hold its buffers, an equal share of the pointers each.
  std::vector<std::vector<std::uint32_t>> memories;
};

/// Void tokens travel on control links; `stream`'s own kind is that of its values.
LinkKind link_kind(const Stream& stream);

/// The timing of a link of that many hops from a unit with that latency.
Mapping::Input link_timing(const Machine& machine, unsigned latency, unsigned hops, LinkKind kind);
/// Gives the back edges of loops what the rule of loops.hpp says, in lanes.
void size_back_edges(const Graph& graph, const Machine& machine, Mapping& mapping);

/// Every node is a unit of its own, one hop from the next: how a graph that was not mapped is run.
Mapping unmapped(const Graph& graph, const Machine& machine);

struct TimedOptions {
  Cycle max_cycles = 0;   ///< 0: no limit
  Cycle no_progress = 0;  ///< give up after so many cycles in which no thread ended; 0: never
  Trace* trace = nullptr;
  /// Called now and then; may be empty.
  std::function<void(Cycle cycle, std::uint64_t threads_ended)> heartbeat;
  /// Called when a unit's state changes, with the interval that ended; may be empty.
  std::function<void(std::uint32_t unit, int state, Cycle from, Cycle to)> on_interval;
  /// Called in the first cycle that something happens in after so many cycles, with what DRAM has
  /// moved until then; 0: never.
  Cycle sample_every = 0;
  std::function<void(Cycle cycle, std::uint64_t bytes_read, std::uint64_t bytes_written)> on_sample;
};

enum class TimedOutcome : std::uint8_t { finished, deadlock, no_progress, limit };

/// How the cycles of a unit were spent; they add up to the cycles of the run.
struct UnitCycles {
  enum State : std::uint8_t { busy, starved, blocked, idle };
  /// busy: it acted. blocked: a result has no room, or a memory port, pointer or burst is not to be
  /// had. starved: it waits for an input while another is there. idle: nothing is there.
  Cycle cycles[4] = {};
};

/// What one input's link carried.
struct LinkCounts {
  std::uint64_t vectors = 0;         ///< sent
  std::uint64_t lanes = 0;           ///< elements sent
  std::uint64_t lanes_received = 0;  ///< by the reader
  std::uint64_t barriers = 0;
  std::uint64_t barriers_received = 0;
};

struct DramReport {
  std::uint64_t bytes_read = 0, bytes_written = 0;  ///< over the bus
  std::uint64_t bursts_issued = 0, bursts_completed = 0;
  std::uint64_t reads_shared = 0;  ///< bursts that were on their way already
  std::uint64_t row_hits = 0, accesses = 0, activates = 0, refreshes = 0;
  std::uint64_t clocks = 0;             ///< of all channels
  std::uint64_t pending_clocks = 0;     ///< with a request
  std::uint64_t activation_clocks = 0;  ///< see DramSystem
};

struct TimedResult {
  TimedOutcome outcome = TimedOutcome::finished;
  Cycle cycles = 0;         ///< until nothing was under way
  Cycle last_result = 0;    ///< until main ended
  Cycle last_progress = 0;  ///< in which a thread ended
  std::uint64_t threads = 0;
  std::uint64_t firings = 0;
  std::uint64_t pointers_leaked = 0;
  std::vector<UnitCycles> units;
  std::vector<LinkCounts> links;    ///< numbered as the inputs
  std::vector<Cycle> input_waits;   ///< numbered as the inputs: cycles its node waited for it
  std::vector<Cycle> output_waits;  ///< numbered as the inputs: cycles its writer waited for room
  std::vector<std::uint64_t> conflict_cycles;  ///< per unit: lost to bank conflicts
  DramReport dram;
  std::string diagnosis;  ///< empty if finished; ends with a newline
};

/// Throws Error for errors of the program, InternalError for those of the graph or the mapping.
TimedResult run_timed(const Graph& graph, const Mapping& mapping, const Machine& machine,
                      const std::vector<HostArray>& arrays, const TimedOptions& options);

}  // namespace revet::sim
