#include "naive_timed.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "naive_engine.hpp"
#include "revet/diagnostics.hpp"

namespace revet::sim::test {

// --- links --------------------------------------------------------------------------------------

Tokens NaiveLink::waiting(Cycle now) const {
  Tokens all;
  for (const Sent& s : sent) {
    if (s.arrival > now) break;
    for (const Token t : s.tokens) {
      if (t.is_data() && all.size() == 16) return all;
      all.push_back(t);
      if (!t.is_data()) return all;
    }
    if (timing.scalar) return all;
  }
  return all;
}

void NaiveLink::take(std::size_t tokens, Cycle now) {
  for (; tokens != 0; --tokens) {
    Sent& s = sent.front();
    ++(s.tokens.front().is_data() ? counts.lanes_received : counts.barriers_received);
    s.tokens.pop_front();
    if (!s.tokens.empty()) continue;
    credits.emplace_back(now + timing.credit, s.room);
    sent.pop_front();
  }
}

bool NaiveLink::room(Cycle now) {
  while (!credits.empty() && credits.front().first <= now) {
    used -= credits.front().second;
    credits.pop_front();
  }
  const auto in_pipeline =
      std::count_if(ends.begin(), ends.end(), [&](Cycle e) { return e > now; });
  return used < timing.capacity && static_cast<std::size_t>(in_pipeline) <= timing.pipeline;
}

void NaiveLink::send(const Tokens& tokens, Cycle now, Cycle extra) {
  ++counts.vectors;
  for (const Token t : tokens) ++(t.is_data() ? counts.lanes : counts.barriers);
  Cycle arrival = std::max(now + timing.latency + extra, last_arrival);
  if (!timing.scalar) {
    const auto size = static_cast<std::uint32_t>(tokens.size());
    sent.push_back({arrival, {tokens.begin(), tokens.end()}, timing.counts_lanes ? size : 1});
    used += sent.back().room;
    last_arrival = arrival;
    return;
  }
  for (const Token t : tokens) {
    if (!t.is_data() && tokens.size() > 1) {
      sent.back().tokens.push_back(t);  // rides with the last element
      break;
    }
    sent.push_back({arrival++, {t}, 1});
    ++used;
  }
  last_arrival = arrival;
  ends.push_back(arrival - (timing.latency - timing.pipeline));
}

// --- what all nodes do --------------------------------------------------------------------------

Tokens Naive::common(const NaiveNode& n, std::size_t first, std::size_t count) const {
  Tokens same = n.in[first]->waiting(now);
  for (std::size_t i = first + 1; i < first + count; ++i) {
    const Tokens other = n.in[i]->waiting(now);
    same.resize(std::min(same.size(), other.size()));
    for (std::size_t k = 0; k < same.size(); ++k)
      if (same[k].level != other[k].level) throw InternalError("streams do not match");
  }
  return same;
}

Tokens Naive::of_input(const NaiveNode& n, std::size_t i, const Tokens& like) const {
  Tokens t = n.in[i]->waiting(now);
  t.resize(like.size());
  return t;
}

void Naive::take(NaiveNode& n, std::size_t i, std::size_t tokens) { n.in[i]->take(tokens, now); }

void Naive::take_all(NaiveNode& n, std::size_t tokens) {
  for (std::size_t i = 0; i < n.in.size(); ++i) take(n, i, tokens);
}

bool Naive::room(NaiveNode& n) {
  for (const std::vector<NaiveLink*>& readers : n.out)
    for (NaiveLink* link : readers)
      if (!link->room(now)) {
        n.without_room = link;
        return false;
      }
  return true;
}

std::optional<std::size_t> Naive::missing(const NaiveNode& n) const {
  const std::size_t half = n.out.size();
  std::vector<std::size_t> order;
  const auto look_at = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) order.push_back(first + i);
  };
  switch (n.node->kind) {
    case NodeKind::merge:
      look_at(n.from_second ? half : 0, half);
      look_at(n.from_second ? 0 : half, half);
      break;
    case NodeKind::fb_merge:
      if (n.phase == NaiveNode::forward) look_at(0, half);
      look_at(half, half);
      break;
    case NodeKind::broadcast:
      look_at(half, 1);
      look_at(0, half);
      break;
    default: look_at(0, n.in.size());
  }
  for (const std::size_t i : order)
    if (n.in[i]->waiting(now).empty()) return i;
  return {};
}

void Naive::send(NaiveNode& n, std::size_t output, const Tokens& tokens, Cycle extra) {
  if (tokens.empty()) return;
  for (NaiveLink* link : n.out[output]) link->send(tokens, now, extra);
  if (options.trace)
    for (const Token t : tokens) options.trace->record(n.node->out[output], t);
}

// --- the run ------------------------------------------------------------------------------------

namespace {

bool throttled(const Naive& g, const NaiveNode& n) {
  const std::vector<std::uint32_t>& units = g.mapping.units_of[n.id];
  if (g.machine.throttled_region < 0 || units.empty() ||
      g.mapping.units[units[0]].copy != g.machine.throttled_region)
    return false;
  // After t cycles it has had floor(t * rate) of them.
  const auto rate = static_cast<std::uint64_t>(g.machine.throttle_rate * 1e6 + 0.5);
  return (g.now + 1) * rate / 1'000'000 == g.now * rate / 1'000'000;
}

UnitCycles::State state_after(const Naive& g, const NaiveNode& n, Did did) {
  if (did == Did::acted) return UnitCycles::busy;
  if (did == Did::no_room || did == Did::no_memory) return UnitCycles::blocked;
  if (did == Did::no_answer) return UnitCycles::starved;
  if (!n.requests.empty() || n.counting || n.phase != NaiveNode::forward)
    return UnitCycles::starved;
  for (const NaiveLink* link : n.in)
    if (!link->waiting(g.now).empty()) return UnitCycles::starved;
  return UnitCycles::idle;
}

void try_node(Naive& g, NaiveNode& n, bool& active) {
  if (n.working_until > g.now) {
    active = true;
    return;
  }
  if (throttled(g, n)) {
    if (n.state == UnitCycles::busy)
      n.state = state_after(g, n, Did::no_input) == UnitCycles::idle ? UnitCycles::idle
                                                                     : UnitCycles::blocked;
    return;
  }
  const Did did = g.act(n);
  n.state = state_after(g, n, did);
  const auto number = [&](const NaiveLink* link) {
    return static_cast<std::size_t>(link - g.links.data());
  };
  n.waits_for_input = n.waits_for_room = {};
  if (did == Did::no_input)
    if (const std::optional<std::size_t> i = g.missing(n)) n.waits_for_input = number(n.in[*i]);
  if (did == Did::no_room) n.waits_for_room = number(n.without_room);
  if (did != Did::acted) return;
  active = true;
  ++g.result.firings;
}

void account(Naive& g) {
  using enum UnitCycles::State;
  std::vector<UnitCycles::State> of(g.mapping.units.size(), idle);
  const auto rank = [](UnitCycles::State s) {
    return s == busy ? 3 : s == blocked ? 2 : s == starved ? 1 : 0;
  };
  for (const NaiveNode& n : g.nodes) {
    if (n.waits_for_input) ++g.result.input_waits[*n.waits_for_input];
    if (n.waits_for_room) ++g.result.output_waits[*n.waits_for_room];
  }
  for (const NaiveNode& n : g.nodes)
    for (const std::uint32_t unit : g.mapping.units_of[n.id])
      if (rank(n.state) > rank(of[unit])) of[unit] = n.state;
  for (std::size_t u = 0; u < of.size(); ++u) ++g.result.units[u].cycles[of[u]];
}

bool finished(const Naive& g) {
  for (const NaiveLink& link : g.links)
    if (!link.sent.empty()) return false;
  for (const NaiveNode& n : g.nodes) {
    if (n.node->kind == NodeKind::sink && !n.closed) return false;
    if (n.position < n.to_send.size() || n.counting || n.phase != NaiveNode::forward ||
        !n.elements.empty() || !n.requests.empty() || n.working_until > g.now + 1)
      return false;
  }
  return g.dram.idle();
}

void build(Naive& g) {
  for (const Mapping::Input& in : g.mapping.inputs) g.links.emplace_back().timing = in;
  g.result.input_waits.resize(g.links.size());
  g.result.output_waits.resize(g.links.size());
  g.nodes.resize(g.graph.nodes().size());
  g.result.units.resize(g.mapping.units.size());
  g.result.conflict_cycles.resize(g.mapping.units.size());
  g.read_ports.resize(g.mapping.units.size());
  g.write_ports.resize(g.mapping.units.size());
  std::size_t link = 0;
  for (NodeId id = 0; id < g.nodes.size(); ++id) {
    NaiveNode& n = g.nodes[id];
    n.id = id;
    n.node = &g.graph.node(id);
    n.out.resize(n.node->out.size());
    n.to_send = decode(n.node->tokens);
    for (std::size_t i = 0; i < n.node->in.size(); ++i) n.in.push_back(&g.links[link++]);
  }
  for (NaiveNode& n : g.nodes)
    for (std::size_t o = 0; o < n.out.size(); ++o)
      for (const Port& reader : g.graph.stream(n.node->out[o]).readers)
        n.out[o].push_back(g.nodes[reader.node].in[reader.index]);
}

void fill(Naive& g) {
  TimedResult& r = g.result;
  r.cycles = g.now;
  for (std::uint32_t p = 0; p < g.graph.pools().size(); ++p)
    r.pointers_leaked += g.graph.pools()[p].pointers - g.memories.pool(p).free_count();
  for (const NaiveLink& link : g.links) r.links.push_back(link.counts);
  const DramSystemCounts d = g.dram.counts();
  r.dram.bytes_read = d.bytes_read;
  r.dram.bytes_written = d.bytes_written;
  r.dram.reads_shared = d.shared;
  r.dram.row_hits = d.row_hits;
  r.dram.activates = d.activates;
}

}  // namespace

TimedResult run_naive(const Graph& graph, const Mapping& mapping, const Machine& machine,
                      const std::vector<HostArray>& arrays, const TimedOptions& options) {
  constexpr Cycle patience = 5000;
  Naive g{graph,
          mapping,
          machine,
          options,
          Memories(graph.drams(), graph.srams(), graph.pools(), arrays),
          DramSystem(machine),
          0,
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          0};
  g.result.threads = 1;
  std::uint64_t end = 0;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    g.array_base.push_back(end);
    end += (arrays[a].count * Type{graph.drams()[a].element}.bytes() + 4095) / 4096 * 4096;
  }
  build(g);
  Cycle last_active = 0;
  while (true) {
    if (g.now != 0) g.finish_bursts();
    for (const auto& [pool, pointer] : g.freed) g.memories.pool(pool).give_back(pointer);
    g.freed.clear();
    bool active = !g.dram.idle();
    for (const NodeId id : mapping.order) try_node(g, g.nodes[id], active);
    account(g);
    if (active) last_active = g.now;
    const bool over = finished(g);
    ++g.now;
    if (over) break;
    if (options.max_cycles != 0 && g.now >= options.max_cycles) {
      g.result.outcome = TimedOutcome::limit;
      break;
    }
    if (options.no_progress != 0 && g.now - g.result.last_progress > options.no_progress) {
      g.result.outcome = TimedOutcome::no_progress;
      break;
    }
    if (g.now - last_active > patience) {
      g.result.outcome = TimedOutcome::deadlock;
      break;
    }
  }
  for (const auto& [pool, pointer] : g.freed) g.memories.pool(pool).give_back(pointer);
  fill(g);
  return g.result;
}

}  // namespace revet::sim::test
