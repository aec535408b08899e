/// A mapped graph in execution, as the timed engine keeps it.
#pragma once

#include <span>

#include "channel.hpp"
#include "revet/sim/dram_system.hpp"

namespace revet::sim {

inline bool goes_to_dram(NodeKind kind) {
  return kind == NodeKind::dram_load || kind == NodeKind::dram_store ||
         kind == NodeKind::dram_atomic || kind == NodeKind::bulk_load ||
         kind == NodeKind::bulk_store;
}

/// Sets of nodes by the cycle in which they are to be looked at: a wheel of bit sets.
class Wheel {
 public:
  explicit Wheel(std::size_t nodes)
      : words_((nodes + 63) / 64), bits_(words_ * slots), any_(slots, 0) {}

  /// A time past the horizon becomes the horizon: who is looked at too early finds nothing.
  void add(std::uint32_t node, Cycle at, Cycle now) {
    const Cycle slot = std::min(at, now + slots - 1) & (slots - 1);
    bits_[slot * words_ + node / 64] |= std::uint64_t{1} << (node % 64);
    any_[slot] = 1;
  }
  std::span<std::uint64_t> at(Cycle now) {
    return {bits_.data() + (now & (slots - 1)) * words_, words_};
  }
  void done(Cycle now) { any_[now & (slots - 1)] = 0; }
  /// The first cycle after `now` that has nodes; nothing if there is none.
  bool next(Cycle now, Cycle& at) const {
    for (Cycle i = 1; i < slots; ++i)
      if (any_[(now + i) & (slots - 1)] != 0) {
        at = now + i;
        return true;
      }
    return false;
  }

 private:
  static constexpr Cycle slots = 512;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint8_t> any_;
};

/// What a firing attempt came to.
struct Attempt {
  enum Kind : std::uint8_t {
    fired,
    no_input,   ///< `port` has nothing that can be taken
    no_output,  ///< a reader of `port` has no room
    no_memory,  ///< a port of the memory, a pointer or a burst is not to be had
    no_answer,  ///< bursts are under way, and no more requests fit
    working,    ///< busy with a firing that takes several cycles
    ended,      ///< a source has sent everything
  } kind = fired;
  std::uint32_t port = 0;
  std::uint32_t channel = 0;     ///< no_output: the one without room
  Cycle again = Channel::never;  ///< when to look again; never: when something happens
};

/// A vector's worth of requests at an AG, in the order of the stream.
struct Pending {
  View what;
  std::uint32_t open = 0;  ///< bursts that are not back
  Cycle ready = 0;         ///< when the last data was written into the memory
  std::uint32_t results[lanes_per_vector] = {};
  /// Bulk nodes: of each lane, the memory unit on the other side.
  std::uint32_t units[lanes_per_vector] = {};
};

struct Burst {
  std::uint64_t address;
  std::uint64_t request;  ///< number of its Pending
  std::uint8_t lane;      ///< bulk nodes: of the request, the first that wants it
  std::uint8_t rows;      ///< bulk nodes: cycles that its bytes take in the memory unit
  std::uint8_t halves;
  bool write;
};

struct TimedNode;
class TimedInstance;
/// One attempt of a node to act.
using TimedStep = Attempt(TimedInstance& instance, TimedNode& node);

struct TimedNode {
  const Node* node;
  TimedStep* step;  ///< of its kind
  NodeKind kind;
  Kind element = Kind::none;  ///< of the data, index or base, as Unit has it
  std::uint16_t inputs, outputs;
  std::uint32_t first_in, first_out;
  std::span<const std::uint32_t> units;
  std::uint8_t phase = 0, level = 0;
  bool seen = false;
  bool from_second = false;  ///< merge: the side that is taken first next time
  std::uint32_t value = 0;   ///< counter, reduce, deal: as Unit has it
  std::uint32_t total = 0;
  std::uint32_t scratch = 0;  ///< context: first register; source, AG: of its tokens, queue
  std::uint64_t progress = 0;
  Cycle working_until = 0;
  Attempt last;     ///< why it did not act
  Cycle since = 0;  ///< when that was
  UnitCycles::State state = UnitCycles::idle;
};

/// The requests of a node that goes to DRAM.
struct DramQueue {
  Ring<Pending> requests;
  std::uint64_t first = 0;  ///< number of the first request
  Ring<Burst> commands;     ///< not issued yet
  std::uint32_t outstanding = 0;
};

/// A port of a memory unit. A vector access takes it until `free`.
struct MemoryPort {
  Cycle free = 0;
  std::vector<Cycle> banks;            ///< when each has served what waits for it
  std::vector<std::uint32_t> waiting;  ///< nodes, by how long they wait
};
struct MemoryPorts {
  MemoryPort read, write;
  Cycle conflict_cycles = 0;
};

class TimedInstance {
 public:
  TimedInstance(const Graph& graph, const Mapping& mapping, const Machine& machine,
                const std::vector<HostArray>& arrays, const TimedOptions& options);

  TimedResult run();

  // --- what nodes use

  Cycle now = 0;
  const Graph& graph;
  const Mapping& mapping;
  const Machine& machine;
  const TimedOptions& options;
  Memories memories;
  DramSystem dram;
  std::uint64_t threads = 1;
  std::uint64_t threads_ended = 0;
  Cycle last_progress = 0;

  Channel& input(const TimedNode& n, std::size_t i) { return channels_[n.first_in + i]; }
  const Channel& input(const TimedNode& n, std::size_t i) const {
    return channels_[n.first_in + i];
  }
  std::span<const std::uint32_t> targets(const TimedNode& n, std::size_t output) const {
    const std::uint32_t* first = first_target_.data() + n.first_out + output;
    return {targets_.data() + first[0], targets_.data() + first[1]};
  }
  bool room(const TimedNode& n, Attempt& attempt) {
    const std::uint32_t* first = first_target_.data() + n.first_out;
    for (std::uint32_t t = first[0]; t != first[n.outputs]; ++t) {
      Channel& c = channels_[targets_[t]];
      if (c.room(now)) continue;
      std::uint32_t output = 0;
      while (first[output + 1] <= t) ++output;
      attempt = {Attempt::no_output, output, targets_[t], c.room_at(now)};
      if (attempt.again == Channel::never) c.writer_waits = true;
      return false;
    }
    return true;
  }
  /// See Channel::take.
  void take(const TimedNode& n, std::size_t i, View what, std::uint32_t* to) {
    if (what.empty()) return;
    Channel& c = input(n, i);
    c.take(what, now, to);
    if (c.writer_waits && c.last_credit() != Channel::never) {
      c.writer_waits = false;
      wheel_.add(writers_[n.first_in + i], c.last_credit(), now);
    }
  }
  /// There is room in all readers. `extra`: cycles more than the unit's latency. `lanes`: see
  /// Channel::push.
  void put(const TimedNode& n, std::size_t output, View what, const std::uint32_t* lanes,
           Cycle extra = 0) {
    for (const std::uint32_t t : targets(n, output)) {
      Channel& c = channels_[t];
      const Cycle at = c.push(what, lanes, now, extra);
      if (!c.reader_waits) continue;
      c.reader_waits = false;
      wheel_.add(readers_[t], at, now);
    }
    if (options.trace && !quiet_) record(n, output, what, lanes);
  }
  void wake(std::uint32_t node, Cycle at) { wheel_.add(node, at, now); }
  std::uint32_t number(const TimedNode& n) const {
    return static_cast<std::uint32_t>(&n - nodes_.data());
  }
  DramQueue& queue(const TimedNode& n) { return queues_[n.scratch]; }
  /// What a source sends, in the expanded spelling.
  const std::vector<Token>& tokens_of(const TimedNode& n) const { return sources_[n.scratch]; }
  std::uint32_t* registers(const TimedNode& n) { return registers_.data() + n.scratch; }
  MemoryPorts& ports(std::uint32_t unit) { return ports_[unit]; }
  /// Gives a burst to DRAM; false if it has no room.
  bool issue(const TimedNode& n, const Burst& b);
  std::uint64_t array_base(std::uint32_t array) const { return array_bases_[array]; }
  /// Pointers that were freed can be taken in the next cycle.
  void free_pointer(std::uint32_t pool, std::uint32_t pointer);
  /// A thread ended, or main did.
  void retire(std::uint64_t n) {
    threads_ended += n;
    last_progress = now;
  }
  [[noreturn]] void mismatch(const TimedNode& n, std::size_t input, View found,
                             const std::string& expected) const;

  std::uint64_t tokens() const;
  std::string describe(const TimedNode& n) const { return sim::describe(*n.node); }

 private:
  friend class TimedDiagnosis;
  /// Runs until nothing can act (`finished`), or as TimedOutcome says; `limit` 0: none.
  TimedOutcome loop(Cycle limit);
  void make_channels();
  void make_nodes();
  void fire(std::uint32_t node);
  void settle(TimedNode& n, UnitCycles::State state) {
    if (n.state != state) change_state(n, state);
  }
  void change_state(TimedNode& n, UnitCycles::State state);
  void watch_inputs(TimedNode& n);
  void close_accounts();
  void note_wait(const TimedNode& n);
  void finish_dram();
  bool throttled(const TimedNode& n) const;
  bool finished() const;
  UnitCycles::State state_of(const TimedNode& n, const Attempt& a) const;
  void record(const TimedNode& n, std::size_t output, View what, const std::uint32_t* lanes);
  TimedResult result(TimedOutcome outcome);

  std::vector<Channel> channels_;
  std::vector<std::uint32_t> readers_, writers_;  ///< of channels
  std::vector<std::uint32_t> targets_, first_target_;
  std::vector<TimedNode> nodes_;        ///< in the mapping's order
  std::vector<std::uint32_t> node_of_;  ///< graph's number -> ours
  std::vector<std::uint32_t> registers_;
  std::vector<std::vector<Token>> sources_;
  std::vector<DramQueue> queues_;
  std::vector<std::uint32_t> queue_nodes_;  ///< whose they are
  std::vector<MemoryPorts> ports_;          ///< per unit
  std::vector<std::vector<std::uint32_t>> allocators_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> freed_;  ///< pool, pointer: this cycle's
  std::vector<std::uint64_t> array_bases_;                      ///< bytes
  Wheel wheel_;
  std::vector<std::uint64_t> done_;

  struct UnitState {
    std::uint16_t in_state[4] = {};  ///< nodes
    UnitCycles::State state = UnitCycles::idle;
    Cycle since = 0;
    UnitCycles spent;
  };
  std::vector<UnitState> units_;
  bool quiet_ = false;  ///< a trial, of which nothing is told
  Cycle last_result_ = 0;
  Cycle active_until_ = 0;  ///< from this cycle on no node has acted, or is at work
  std::uint64_t firings_ = 0;
  std::vector<Cycle> input_waits_, output_waits_;  ///< see TimedResult
  std::uint64_t bursts_issued_ = 0, bursts_completed_ = 0;
};

TimedStep* timed_step(NodeKind kind);
TimedStep attempt_memory;

/// Takes what every one of inputs first .. first+count-1 has: lanes, and the barrier if all have
/// come to it. Gives no_input where one has nothing.
Attempt zip(TimedInstance& g, const TimedNode& n, std::size_t first, std::size_t count, View& view);
/// Says that the node waits for an input that has nothing yet.
Attempt wait_for(TimedInstance& g, const TimedNode& n, std::size_t input);

/// Why a run cannot go on.
std::string diagnose(TimedInstance& instance, TimedOutcome outcome);

}  // namespace revet::sim
