#include "revet/sim/timed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "revet/diagnostics.hpp"
#include "revet/sim/loops.hpp"
#include "revet/sim/node.hpp"
#include "timed_instance.hpp"

namespace revet::sim {

namespace {

/// Arrays begin at pages of their own.
constexpr std::uint64_t page = 4096;

std::uint64_t dram_bytes(const Machine& machine) {
  unsigned bits = 5;
  for (const auto& [field, width] : machine.dram.mapping.fields) bits += width;
  return std::uint64_t{1} << std::min(bits, 63u);
}

}  // namespace

TimedInstance::TimedInstance(const Graph& graph_, const Mapping& mapping_, const Machine& machine_,
                             const std::vector<HostArray>& arrays, const TimedOptions& options_)
    : graph(graph_),
      mapping(mapping_),
      machine(machine_),
      options(options_),
      memories(graph.drams(), graph.srams(), graph.pools(), arrays),
      dram(machine),
      wheel_(graph.nodes().size()) {
  std::uint64_t end = 0;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    array_bases_.push_back(end);
    end += (arrays[a].count * Type{graph.drams()[a].element}.bytes() + page - 1) / page * page;
  }
  if (end > dram_bytes(machine))
    throw Error(Exit::unfinished,
                fmt::format("the arrays need {} bytes of DRAM; machine '{}' has {}", end,
                            machine.name, dram_bytes(machine)));
  make_channels();
  make_nodes();
}

void TimedInstance::make_channels() {
  for (NodeId n = 0; n < graph.nodes().size(); ++n)
    for (const StreamId s : graph.node(n).in) {
      const Stream& stream = graph.stream(s);
      channels_.emplace_back(mapping.inputs[channels_.size()], stream.element != Kind::none);
    }
}

void TimedInstance::make_nodes() {
  const std::vector<std::uint32_t> first = first_inputs(graph);
  node_of_.resize(graph.nodes().size());
  for (std::uint32_t i = 0; i < mapping.order.size(); ++i) node_of_[mapping.order[i]] = i;
  readers_.resize(channels_.size());
  writers_.resize(channels_.size());
  allocators_.resize(graph.pools().size());
  ports_.resize(mapping.units.size());
  for (MemoryPorts& p : ports_) {
    p.read.banks.assign(machine.memory.banks, 0);
    p.write.banks.assign(machine.memory.banks, 0);
  }
  units_.resize(mapping.units.size());
  input_waits_.resize(channels_.size());
  output_waits_.resize(channels_.size());
  for (std::uint32_t i = 0; i < mapping.order.size(); ++i) {
    const NodeId id = mapping.order[i];
    const Node& node = graph.node(id);
    TimedNode n{};
    n.node = &node;
    n.kind = node.kind;
    n.step = timed_step(node.kind);
    n.inputs = static_cast<std::uint16_t>(node.in.size());
    n.outputs = static_cast<std::uint16_t>(node.out.size());
    n.first_in = first[id];
    n.first_out = static_cast<std::uint32_t>(first_target_.size());
    n.units = mapping.units_of[id];
    n.element = main_kind(graph, node);
    if (node.kind == NodeKind::reduce) n.value = node.reduction.identity;
    if (node.kind == NodeKind::alloc) allocators_[node.pool].push_back(i);
    if (node.kind == NodeKind::context) {
      n.scratch = static_cast<std::uint32_t>(registers_.size());
      const std::vector<std::uint32_t> initial = node.program.initial_lanes();
      registers_.insert(registers_.end(), initial.begin(), initial.end());
    }
    if (node.kind == NodeKind::source) {
      n.scratch = static_cast<std::uint32_t>(sources_.size());
      sources_.push_back(decode(node.tokens));
    }
    if (goes_to_dram(node.kind)) {
      n.scratch = static_cast<std::uint32_t>(queues_.size());
      queues_.emplace_back();
      queue_nodes_.push_back(i);
    }
    for (std::size_t in = 0; in < node.in.size(); ++in) {
      readers_[first[id] + in] = i;
      writers_[first[id] + in] = node_of_[graph.stream(node.in[in]).writer.node];
    }
    for (const StreamId s : node.out) {
      first_target_.push_back(static_cast<std::uint32_t>(targets_.size()));
      for (const Port& reader : graph.stream(s).readers)
        targets_.push_back(first[reader.node] + reader.index);
    }
    for (const std::uint32_t u : n.units) ++units_[u].in_state[UnitCycles::idle];
    nodes_.push_back(n);
  }
  first_target_.push_back(static_cast<std::uint32_t>(targets_.size()));
}

void TimedInstance::free_pointer(std::uint32_t pool, std::uint32_t pointer) {
  freed_.emplace_back(pool, pointer);
  for (const std::uint32_t n : allocators_[pool]) wake(n, now + 1);
}

/// The id of a burst names the queue, the lane, the rows but one, and the request.
constexpr std::uint64_t request_mask = (std::uint64_t{1} << 36) - 1;

bool TimedInstance::issue(const TimedNode& n, const Burst& b) {
  const std::uint64_t id = std::uint64_t{n.scratch} << 44 | std::uint64_t{b.lane} << 40 |
                           std::uint64_t{b.rows - 1u} << 36 | (b.request & request_mask);
  if (!dram.offer(id, b.address, b.halves, b.write)) return false;
  ++bursts_issued_;
  return true;
}

void TimedInstance::finish_dram() {
  if (now == 0) return;
  done_.clear();
  dram.tick(now - 1, done_);
  for (const std::uint64_t id : done_) {
    ++bursts_completed_;
    DramQueue& q = queues_[id >> 44];
    const std::uint32_t node = queue_nodes_[id >> 44];
    Pending& p = q.requests[static_cast<std::uint32_t>((id - q.first) & request_mask)];
    --p.open;
    --q.outstanding;
    p.ready = std::max(p.ready, now);
    if (nodes_[node].kind == NodeKind::bulk_load) {
      // The burst is written into the buffers, 64 bytes per cycle.
      MemoryPort& port = ports_[p.units[id >> 40 & (lanes_per_vector - 1)]].write;
      port.free = std::max(port.free, now) + 1 + (id >> 36 & (lanes_per_vector - 1));
      p.ready = std::max(p.ready, port.free);
    }
    wake(node, now);
  }
}

void TimedInstance::record(const TimedNode& n, std::size_t output, View what,
                           const std::uint32_t* lanes) {
  const StreamId s = n.node->out[output];
  const bool data = graph.stream(s).element != Kind::none;
  for (unsigned k = 0; k < what.lanes; ++k)
    options.trace->record(s, data_token(data ? lanes[k] : 0));
  if (what.level != 0) options.trace->record(s, barrier(what.level));
}

// --- accounts

UnitCycles::State TimedInstance::state_of(const TimedNode& n, const Attempt& a) const {
  if (a.kind == Attempt::no_output || a.kind == Attempt::no_memory) return UnitCycles::blocked;
  if (a.kind == Attempt::ended) return UnitCycles::idle;
  if (goes_to_dram(n.kind) && !queues_[n.scratch].requests.empty()) return UnitCycles::starved;
  if (n.phase != 0) return UnitCycles::starved;
  for (std::size_t i = 0; i < n.inputs; ++i)
    if (input(n, i).has_arrived(now)) return UnitCycles::starved;
  return UnitCycles::idle;
}

/// Nothing is at any input; what comes first makes the node starve for the others.
void TimedInstance::watch_inputs(TimedNode& n) {
  for (std::size_t i = 0; i < n.inputs; ++i) {
    Channel& c = input(n, i);
    if (const Cycle at = c.next_arrival(now); at == Channel::never)
      c.reader_waits = true;
    else
      n.last.again = std::min(n.last.again, at);
  }
}

void TimedInstance::change_state(TimedNode& n, UnitCycles::State state) {
  for (const std::uint32_t unit : n.units) {
    UnitState& u = units_[unit];
    --u.in_state[n.state];
    ++u.in_state[state];
    UnitCycles::State now_in = UnitCycles::idle;
    for (const UnitCycles::State s : {UnitCycles::busy, UnitCycles::blocked, UnitCycles::starved})
      if (u.in_state[s] != 0) {
        now_in = s;
        break;
      }
    if (now_in == u.state) continue;
    u.spent.cycles[u.state] += now - u.since;
    if (options.on_interval && !quiet_ && now != u.since)
      options.on_interval(unit, u.state, u.since, now);
    u.state = now_in;
    u.since = now;
  }
  n.state = state;
}

/// What a node waits for does not change before it looks again.
void TimedInstance::note_wait(const TimedNode& n) {
  if (n.last.kind == Attempt::no_input) input_waits_[n.first_in + n.last.port] += now - n.since;
  if (n.last.kind == Attempt::no_output) output_waits_[n.last.channel] += now - n.since;
}

void TimedInstance::close_accounts() {
  for (const TimedNode& n : nodes_)
    if (n.since < now) note_wait(n);
  for (std::uint32_t i = 0; i < units_.size(); ++i) {
    UnitState& u = units_[i];
    u.spent.cycles[u.state] += now - u.since;
    if (options.on_interval && now != u.since) options.on_interval(i, u.state, u.since, now);
    u.since = now;
  }
}

// --- the run

bool TimedInstance::throttled(const TimedNode& n) const {
  if (machine.throttled_region < 0 || n.units.empty() ||
      mapping.units[n.units[0]].copy != machine.throttled_region)
    return false;
  const auto millionths = static_cast<std::uint64_t>(machine.throttle_rate * 1e6 + 0.5);
  return (now + 1) * millionths / 1'000'000 == now * millionths / 1'000'000;
}

void TimedInstance::fire(std::uint32_t i) {
  TimedNode& n = nodes_[i];
  if (n.working_until > now) {
    n.last = {Attempt::working, 0, 0, n.working_until};
    return wake(i, n.working_until);
  }
  if (throttled(n)) {
    // Blocked, if anything is there.
    const bool idle = state_of(n, {Attempt::no_input}) == UnitCycles::idle;
    if (n.state == UnitCycles::busy) settle(n, idle ? UnitCycles::idle : UnitCycles::blocked);
    return wake(i, now + 1);
  }
  note_wait(n);
  n.last = n.step(*this, n);
  n.since = now;
  if (n.last.kind == Attempt::fired) {
    ++firings_;
    settle(n, UnitCycles::busy);
    active_until_ = std::max({active_until_, now + 1, n.working_until});
    if (n.kind == NodeKind::sink) last_result_ = now;
    return wake(i, std::max(now + 1, n.working_until));
  }
  settle(n, state_of(n, n.last));
  if (n.state == UnitCycles::idle && n.last.kind == Attempt::no_input) watch_inputs(n);
  if (n.last.again != Channel::never) wake(i, n.last.again);
}

TimedResult TimedInstance::run() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) wheel_.add(i, 0, 0);
  TimedOutcome outcome = loop(options.max_cycles);
  if (outcome == TimedOutcome::finished && !finished()) outcome = TimedOutcome::deadlock;
  // The last look at the nodes found nothing to do.
  if (outcome == TimedOutcome::finished) now = active_until_;
  close_accounts();
  return result(outcome);
}

TimedOutcome TimedInstance::loop(Cycle limit) {
  constexpr Cycle beat = 1 << 16;
  Cycle next_beat = now + beat;
  const bool samples = options.on_sample && options.sample_every != 0 && !quiet_;
  Cycle next_sample = samples ? now + options.sample_every : Channel::never;
  while (true) {
    finish_dram();
    for (const auto& [pool, pointer] : freed_) memories.pool(pool).give_back(pointer);
    freed_.clear();
    const std::span<std::uint64_t> due = wheel_.at(now);
    for (std::size_t w = 0; w < due.size(); ++w) {
      // Stages of one unit set bits for later ones in the same cycle.
      while (due[w] != 0) {
        const auto bit = static_cast<unsigned>(std::countr_zero(due[w]));
        due[w] &= due[w] - 1;
        fire(static_cast<std::uint32_t>(w * 64 + bit));
      }
    }
    wheel_.done(now);
    Cycle next = Channel::never;
    wheel_.next(now, next);
    if (!dram.idle()) next = std::min(next, std::max(now + 1, dram.next_event() + 1));
    if (next == Channel::never) {
      ++now;
      return TimedOutcome::finished;
    }
    now = next;
    if (limit != 0 && now >= limit) {
      now = limit;
      return active_until_ <= limit && finished() ? TimedOutcome::finished : TimedOutcome::limit;
    }
    if (options.no_progress != 0 && !quiet_ && now - last_progress > options.no_progress) {
      now = last_progress + options.no_progress + 1;
      return TimedOutcome::no_progress;
    }
    if (options.heartbeat && !quiet_ && now >= next_beat) {
      options.heartbeat(now, threads_ended);
      next_beat = now + beat;
    }
    if (now >= next_sample) {
      const DramSystemCounts moved = dram.counts();
      options.on_sample(now, moved.bytes_read, moved.bytes_written);
      next_sample = now + options.sample_every;
    }
  }
}

std::uint64_t TimedInstance::tokens() const {
  std::uint64_t n = 0;
  for (const Channel& c : channels_) n += c.tokens();
  for (const DramQueue& q : queues_)
    for (std::uint32_t i = 0; i < q.requests.size(); ++i)
      n += q.requests[i].what.lanes + (q.requests[i].what.level != 0);
  return n;
}

bool TimedInstance::finished() const {
  if (tokens() != 0) return false;
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const TimedNode& n) {
    switch (n.kind) {
      case NodeKind::source: return n.progress == tokens_of(n).size();
      case NodeKind::sink: return n.phase == 1;
      case NodeKind::counter:
      case NodeKind::fb_merge: return n.phase == 0;
      case NodeKind::reduce: return n.progress == 0;
      default: return true;
    }
  });
}

TimedResult TimedInstance::result(TimedOutcome outcome) {
  TimedResult r;
  r.outcome = outcome;
  r.cycles = now;
  r.last_result = last_result_;
  r.last_progress = last_progress;
  r.threads = threads;
  r.firings = firings_;
  for (std::size_t p = 0; p < graph.pools().size(); ++p)
    r.pointers_leaked +=
        graph.pools()[p].pointers - memories.pool(static_cast<std::uint32_t>(p)).free_count();
  for (std::size_t u = 0; u < units_.size(); ++u) {
    r.units.push_back(units_[u].spent);
    Cycle sum = 0;
    for (const Cycle c : units_[u].spent.cycles) sum += c;
    if (sum != now)
      throw InternalError(fmt::format("the cycles of unit '{}' add up to {} of {}",
                                      mapping.units[u].name, sum, now));
    r.conflict_cycles.push_back(ports_[u].conflict_cycles);
  }
  r.input_waits = input_waits_;
  r.output_waits = output_waits_;
  for (const Channel& c : channels_) {
    r.links.push_back(c.counts());
    if (outcome == TimedOutcome::finished && c.tokens() != 0)
      throw InternalError("a link has sent more than was received in a run that finished");
  }
  const DramSystemCounts d = dram.counts();
  r.dram.bytes_read = d.bytes_read;
  r.dram.bytes_written = d.bytes_written;
  r.dram.bursts_issued = bursts_issued_;
  r.dram.bursts_completed = bursts_completed_;
  r.dram.reads_shared = d.shared;
  r.dram.row_hits = d.row_hits;
  r.dram.accesses = (d.bytes_read + d.bytes_written) / 32;
  r.dram.activates = d.activates;
  r.dram.refreshes = d.refreshes;
  r.dram.clocks = d.clocks;
  r.dram.pending_clocks = d.pending_clocks();
  r.dram.activation_clocks = d.activation_clocks;
  if (outcome == TimedOutcome::finished && bursts_issued_ != bursts_completed_)
    throw InternalError(
        fmt::format("{} bursts were issued and {} completed", bursts_issued_, bursts_completed_));
  if (outcome != TimedOutcome::finished) r.diagnosis = diagnose(*this, outcome);
  return r;
}

TimedResult run_timed(const Graph& graph, const Mapping& mapping, const Machine& machine,
                      const std::vector<HostArray>& arrays, const TimedOptions& options) {
  return TimedInstance(graph, mapping, machine, arrays, options).run();
}

}  // namespace revet::sim
