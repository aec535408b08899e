/// A graph in execution: a FIFO per reader of a stream, the state of every unit, and the memories.
/// It knows no time and no order; an engine decides which unit acts when (see node.hpp).
///
/// An instance can be copied; the copies share the DRAM arrays. The graph outlives it.
#pragma once

#include <deque>

#include "revet/sim/fifo.hpp"
#include "revet/sim/graph.hpp"
#include "revet/sim/memory.hpp"
#include "revet/sim/random.hpp"
#include "revet/sim/trace.hpp"

namespace revet::sim {

struct InstanceOptions {
  std::uint64_t seed = 1;
  /// Tokens that a FIFO holds where the graph does not say: drawn from this range.
  std::uint32_t min_depth = 2;
  std::uint32_t max_depth = 2;
  /// FIFOs fuse barriers where they can, as physical links do.
  bool link_form = false;
  /// Requests that a memory node keeps open, performed in random order; 0: each is performed as
  /// it is taken.
  std::uint32_t memory_queue = 0;
  /// Back edges get the capacity of the back-edge rule (loops.hpp); one given in the graph that is
  /// smaller is an error. Without it, they are as given, or like any other FIFO.
  bool back_edge_rule = true;
  Trace* trace = nullptr;  ///< may be null
};

/// The units that may be able to act.
class ReadyList {
 public:
  explicit ReadyList(std::size_t units) : listed_(units, 0) {}
  void add(NodeId n) {
    if (listed_[n]) return;
    listed_[n] = 1;
    list_.push_back(n);
  }
  bool empty() const { return list_.empty(); }
  NodeId take(Random& random) {
    const std::uint32_t i = random.below(static_cast<std::uint32_t>(list_.size()));
    const NodeId n = list_[i];
    list_[i] = list_.back();
    list_.pop_back();
    listed_[n] = 0;
    return n;
  }

 private:
  std::vector<NodeId> list_;
  std::vector<std::uint8_t> listed_;
};

/// One element or barrier at a memory node.
struct Request {
  Token token;         ///< a barrier, or data
  bool active = true;  ///< the predicate held
  bool performed = false;
  std::uint32_t result = 0;
  std::uint32_t operands[4] = {};  ///< without the predicate: pointer, index, value, ..
};

/// The state of a node.
struct Unit {
  const Node* node;
  std::uint32_t first_in;   ///< number of its first FIFO
  std::uint32_t first_out;  ///< number of its first output port
  std::uint16_t inputs;
  std::uint16_t outputs;
  NodeKind kind;
  Kind element;  ///< counter, reduce: of the data; memory nodes: of the index or base

  /// counter: 1 while it counts. fb_merge: 0 takes threads from the forward side, 1 drains the
  /// list, 2 waits for a barrier that is on its way round. sink: 1 after the closing barrier.
  std::uint8_t phase = 0;
  std::uint8_t level = 0;      ///< fb_merge: of the barrier on its way round
  bool seen = false;           ///< fb_merge: data came back since the last Ω1
  std::uint32_t value = 0;     ///< counter: next index; reduce: accumulator; deal: next key
  std::uint32_t total = 0;     ///< reduce: of the float blocks before
  std::uint32_t scratch = 0;   ///< context: first register; memory nodes: number of the queue
  std::uint64_t progress = 0;  ///< source: next token; counter: indices left; reduce: elements
};

class Instance {
 public:
  /// Throws InternalError where the graph is not valid or its back edges are too small.
  Instance(const Graph& graph, const std::vector<HostArray>& arrays,
           const InstanceOptions& options);

  const Graph& graph() const { return *graph_; }
  Unit& unit(NodeId n) { return units_[n]; }
  const Unit& unit(NodeId n) const { return units_[n]; }
  std::size_t unit_count() const { return units_.size(); }

  /// FIFOs are numbered by the inputs that they feed (see first_inputs).
  Fifo& fifo(std::uint32_t number) { return fifos_[number]; }
  const Fifo& fifo(std::uint32_t number) const { return fifos_[number]; }
  std::size_t fifo_count() const { return fifos_.size(); }
  NodeId reader(std::uint32_t fifo) const { return readers_[fifo]; }
  NodeId writer(std::uint32_t fifo) const { return writers_[fifo]; }
  Fifo& input(const Unit& u, std::size_t i) { return fifos_[u.first_in + i]; }
  const Fifo& input(const Unit& u, std::size_t i) const { return fifos_[u.first_in + i]; }
  /// The FIFOs that an output port writes.
  std::span<const std::uint32_t> targets(const Unit& u, std::size_t output) const {
    const std::uint32_t* first = first_target_.data() + u.first_out + output;
    return {targets_.data() + first[0], targets_.data() + first[1]};
  }

  // --- what units do; each keeps `ready` up to date

  Token head(const Unit& u, std::size_t i) const { return input(u, i).head(); }
  void take(const Unit& u, std::size_t i) {
    if (input(u, i).pop()) ready.add(writers_[u.first_in + i]);
  }
  void put(const Unit& u, std::size_t output, Token t) {
    for (const std::uint32_t f : targets(u, output))
      if (fifos_[f].push(t)) ready.add(readers_[f]);
    if (trace) trace->record(u.node->out[output], t);
  }
  std::uint32_t take_pointer(std::uint32_t pool) { return memories.pool(pool).take(); }
  void give_back_pointer(std::uint32_t pool, std::uint32_t pointer);

  std::uint32_t* registers(const Unit& u) { return registers_.data() + u.scratch; }
  std::uint32_t memory_queue() const { return memory_queue_; }
  std::deque<Request>& queue(const Unit& u) { return queues_[u.scratch]; }
  const std::deque<Request>& queue(const Unit& u) const { return queues_[u.scratch]; }

  /// Nothing is in any FIFO, every unit is as it began, and every sink has its closing barrier.
  bool finished() const;
  /// The unit has begun something that it has not ended, or a sink is not closed.
  bool busy(NodeId n) const;
  /// Tokens in FIFOs and requests in memory nodes.
  std::uint64_t tokens() const;

  Memories memories;
  ReadyList ready;
  Random random;
  Trace* trace;
  /// Main is 1, each index of a counter 1 more, and each list that a flatten joins 1 less: a fork
  /// of n adds n - 1.
  std::uint64_t threads = 1;

 private:
  void make_fifos(const InstanceOptions& options);
  void size_back_edges(const InstanceOptions& options, std::vector<std::uint32_t>& capacities);
  void make_units();

  const Graph* graph_;
  std::uint32_t memory_queue_;
  std::vector<Fifo> fifos_;
  std::vector<NodeId> readers_;
  std::vector<NodeId> writers_;
  std::vector<std::uint32_t> targets_;
  std::vector<std::uint32_t> first_target_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> registers_;
  std::vector<std::deque<Request>> queues_;
  std::vector<std::vector<NodeId>> allocators_;  ///< per pool
};

}  // namespace revet::sim
