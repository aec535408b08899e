// Memory nodes of the naive timed engine. An access has its effect when it is taken; its answer
// comes later.
#include <algorithm>
#include <optional>
#include <set>

#include "naive_engine.hpp"

namespace revet::sim::test {
namespace {

std::int64_t index_of(Kind k, std::uint32_t bits) {
  return Type{k}.is_signed() ? std::int64_t{static_cast<std::int32_t>(bits)} : std::int64_t{bits};
}

bool is_bulk(NodeKind k) { return k == NodeKind::bulk_load || k == NodeKind::bulk_store; }

/// Where a bulk transfer begins in the array, and how many elements are asked for.
std::pair<std::int64_t, std::int64_t> bulk_of(const Node& node, Kind base,
                                              const std::vector<std::uint32_t>& x) {
  if (!node.wide_base) return {index_of(base, x[1]), index_of(Kind::i32, x[2])};
  return {static_cast<std::int64_t>(std::uint64_t{x[2]} << 32 | x[1]), index_of(Kind::i32, x[3])};
}

std::uint64_t rows_of(const SramDecl& sram) {
  return (std::uint64_t{sram.size} * Type{sram.element}.bytes() + 63) / 64;
}

/// Tokens with contents: those of `t` where it has data.
Tokens with(const Tokens& t, const std::vector<std::uint32_t>& bits) {
  Tokens out = t;
  for (std::size_t k = 0; k < lanes_in(t); ++k) out[k].bits = bits[k];
  return out;
}

Tokens voids(const Tokens& t) { return with(t, std::vector<std::uint32_t>(t.size(), 0)); }

}  // namespace

bool is_off_chip(NodeKind kind) {
  return kind == NodeKind::dram_load || kind == NodeKind::dram_store ||
         kind == NodeKind::dram_atomic || is_bulk(kind);
}

std::vector<std::uint32_t> Naive::operands(const NaiveNode& n, std::size_t lane) const {
  std::vector<std::uint32_t> x;
  for (std::size_t i = 0; i < n.in.size() && carries_data(n.node->in[i]); ++i)
    x.push_back(n.in[i]->waiting(now)[lane].bits);
  x.resize(6);
  return x;
}

bool Naive::is_on(const NaiveNode& n, std::size_t lane) const {
  if (n.node->length_predicates) {
    const std::size_t length = n.node->wide_base ? 3 : 2;
    if (n.in[length]->waiting(now)[lane].bits >> 31 != 0) return false;
  }
  return !n.node->predicated || n.in.back()->waiting(now)[lane].bits != 0;
}

std::uint32_t Naive::perform(const NaiveNode& n, const std::vector<std::uint32_t>& x) {
  const Node& node = *n.node;
  const auto element = [&](std::size_t i) { return graph.stream(node.in[i]).element; };
  Memories& m = memories;
  switch (node.kind) {
    case NodeKind::dram_load:
      return m.load(m.dram(node.dram), index_of(element(0), x[0]), node.loc);
    case NodeKind::dram_store:
      m.store(m.dram(node.dram), index_of(element(0), x[0]), x[1], node.loc);
      return 0;
    case NodeKind::dram_atomic:
      return m.atomic(m.dram(node.dram), index_of(element(0), x[0]), node.atomic, x[1], x[2],
                      node.loc);
    case NodeKind::sram_load:
      return m.load(m.sram(node.sram, x[0]), index_of(element(1), x[1]), node.loc);
    case NodeKind::sram_store:
      m.store(m.sram(node.sram, x[0]), index_of(element(1), x[1]), x[2], node.loc);
      return 0;
    case NodeKind::sram_atomic:
      return m.atomic(m.sram(node.sram, x[0]), index_of(element(1), x[1]), node.atomic, x[2], x[3],
                      node.loc);
    case NodeKind::sram_fill: m.fill_zero(m.sram(node.sram, x[0])); return 0;
    default: break;
  }
  const auto [base, valid] = bulk_of(node, element(1), x);
  if (node.kind == NodeKind::bulk_load)
    m.bulk_load(m.dram(node.dram), m.sram(node.sram, x[0]), base, valid);
  else
    m.bulk_store(m.dram(node.dram), m.sram(node.sram, x[0]), base, valid);
  return 0;
}

// --- on chip ------------------------------------------------------------------------------------

std::uint32_t Naive::home(std::uint32_t sram, std::uint32_t pointer) const {
  const std::vector<std::uint32_t>& units = mapping.memories[sram];
  return units[std::uint64_t{pointer} * units.size() / graph.srams()[sram].pointers];
}

std::uint64_t Naive::bank_of(std::uint64_t word) const {
  const unsigned banks = machine.memory.banks;
  if (!machine.memory.bank_hash) return word % banks;
  // Digits of the address, each a bank, without carry.
  std::uint64_t bank = 0;
  for (; word != 0; word /= banks) bank ^= word % banks;
  return bank;
}

bool Naive::may_use(const NaivePort& port, NodeId n) const {
  return port.free <= now && (port.waiting.empty() || port.waiting.front() == n);
}

void Naive::use(NaivePort& port, Cycle until) const {
  port.free = until;
  if (!port.waiting.empty()) port.waiting.pop_front();
}

/// A vector that leaves a buffer takes the port of its memory unit for a cycle.
bool Naive::passes(NaiveNode& n) {
  const std::vector<std::uint32_t>& units = mapping.units_of[n.id];
  if (units.empty() || n.in[0]->timing.scalar || !carries_data(n.node->in[0])) return true;
  NaivePort& port = read_ports[units.front()];
  if (!may_use(port, n.id)) {
    if (std::find(port.waiting.begin(), port.waiting.end(), n.id) == port.waiting.end())
      port.waiting.push_back(n.id);
    return false;
  }
  use(port, now + 1);
  return true;
}

Did Naive::sram(NaiveNode& n) {
  const Tokens t = common(n, 0, n.in.size());
  if (t.empty()) return Did::no_input;
  if (!room(n)) return Did::no_room;
  const SramDecl& sram = graph.srams()[n.node->sram];
  std::vector<std::uint32_t> results(t.size(), 0);
  // Accesses of each bank of each unit; lanes that meet in a word share one.
  std::map<std::pair<std::uint32_t, std::uint64_t>, unsigned> turns;
  std::set<std::pair<std::uint32_t, std::uint64_t>> words;
  std::optional<std::uint32_t> unit;
  std::uint64_t fill = 0;  // bytes
  for (std::size_t k = 0; k < lanes_in(t); ++k) {
    if (!is_on(n, k)) continue;
    const std::vector<std::uint32_t> x = operands(n, k);
    const std::uint32_t at = home(n.node->sram, x[0]);
    if (!unit) unit = at;
    fill += std::uint64_t{sram.size} * Type{sram.element}.bytes();
    const std::uint64_t element = std::uint64_t{x[0]} * sram.size + x[1];
    const std::uint64_t word = element * Type{sram.element}.bytes() / 4;
    const bool known = !words.emplace(at, word).second;
    const bool shares = n.node->kind != NodeKind::sram_atomic || machine.memory.combining;
    if (!known || !shares) ++turns[{at, bank_of(word)}];
  }
  Cycle cycles = 1, served = now + 1;
  if (unit) {
    const bool reads = n.node->kind == NodeKind::sram_load || n.node->kind == NodeKind::sram_atomic;
    const bool writes = n.node->kind != NodeKind::sram_load;
    std::vector<NaivePort*> ports;
    if (reads) ports.push_back(&read_ports[*unit]);
    if (writes) ports.push_back(&write_ports[*unit]);
    if (!std::all_of(ports.begin(), ports.end(),
                     [&](const NaivePort* p) { return may_use(*p, n.id); })) {
      for (NaivePort* p : ports)
        if (std::find(p->waiting.begin(), p->waiting.end(), n.id) == p->waiting.end())
          p->waiting.push_back(n.id);
      return Did::no_memory;
    }
    if (n.node->kind == NodeKind::sram_fill) {
      cycles = (fill + 63) / 64;
      served = now + cycles;
    } else {
      // Each bank goes on with what waits for it; the port is held while a queue is over-full.
      if (!machine.memory.ideal)
        for (const auto& [bank, count] : turns) {
          Cycle& until = served_by[{writes, bank.first, bank.second}];
          until = std::max(until, now) + count;
          served = std::max(served, until);
        }
      if (served > now + 1 + machine.memory.queue) cycles = served - machine.memory.queue - now;
      result.conflict_cycles[*unit] += cycles - 1;
    }
    for (NaivePort* p : ports) use(*p, now + cycles);
    n.working_until = now + cycles;
  }
  for (std::size_t k = 0; k < lanes_in(t); ++k)
    if (is_on(n, k)) results[k] = perform(n, operands(n, k));
  take_all(n, t.size());
  if (n.out.size() == 2) send(n, 0, with(t, results), served - now - 1);
  send(n, n.out.size() - 1, voids(t), served - now - 1);
  return Did::acted;
}

/// Passes as many lanes as there are pointers, and the barrier behind them if none remains.
Did Naive::alloc(NaiveNode& n) {
  Tokens t = common(n, 0, n.in.size());
  if (t.empty()) return Did::no_input;
  if (!room(n)) return Did::no_room;
  Pool& pool = memories.pool(n.node->pool);
  std::vector<std::uint32_t> pointers(t.size(), 0);
  for (std::size_t k = 0; k < lanes_in(t); ++k) {
    if (!is_on(n, k)) continue;
    if (pool.empty()) {
      t.resize(k);
      break;
    }
    pointers[k] = pool.take();
  }
  if (t.empty()) return Did::no_memory;
  take_all(n, t.size());
  send(n, 0, with(t, pointers));
  send(n, 1, voids(t));
  return Did::acted;
}

Did Naive::free(NaiveNode& n) {
  const Tokens t = common(n, 0, n.in.size());
  if (t.empty()) return Did::no_input;
  if (!room(n)) return Did::no_room;
  for (std::size_t k = 0; k < lanes_in(t); ++k)
    if (is_on(n, k)) freed.emplace_back(n.node->pool, operands(n, k)[0]);
  take_all(n, t.size());
  send(n, 0, voids(t));
  return Did::acted;
}

// --- off chip -----------------------------------------------------------------------------------

/// In a cycle one burst is issued, one vector answered, and one taken, in this order; a vector is
/// taken once all bursts of the one before are issued.
Did Naive::off_chip(NaiveNode& n) {
  const unsigned limit = machine.address.outstanding;
  std::optional<Did> did;
  const auto stalls = [&](Did why) { did = did.value_or(why); };
  if (!n.bursts.empty()) {
    const NaiveBurst b = n.bursts.front();
    if (n.outstanding < limit && dram.offer(next_burst, b.address, b.halves, b.write)) {
      issued[next_burst++] = {&n, b.request, b.unit, b.bytes};
      ++n.outstanding;
      ++result.dram.bursts_issued;
      n.bursts.pop_front();
      did = Did::acted;
    } else {
      stalls(Did::no_memory);
    }
  }
  if (!n.requests.empty() && n.requests.front().open == 0 && n.requests.front().ready <= now) {
    if (room(n)) {
      const Tokens t = n.requests.front().results;
      if (n.out.size() == 2) send(n, 0, t);
      send(n, n.out.size() - 1, voids(t));
      n.requests.pop_front();
      ++n.first_request;
      did = Did::acted;
    } else {
      stalls(Did::no_room);
    }
  }
  if (n.bursts.empty() && n.requests.size() < limit) {
    if (const Tokens t = common(n, 0, n.in.size()); !t.empty()) {
      accept(n, t);
      take_all(n, t.size());
      did = Did::acted;
    } else {
      stalls(Did::no_input);
    }
  }
  return did.value_or(Did::no_answer);
}

void Naive::accept(NaiveNode& n, const Tokens& t) {
  const NodeKind kind = n.node->kind;
  const std::uint64_t number = n.first_request + n.requests.size();
  NaiveRequest r;
  r.ready = now;
  std::vector<std::uint32_t> results(t.size(), 0);
  std::vector<std::pair<std::uint64_t, unsigned>> bursts;  // address and halves, by first lane
  std::map<std::uint32_t, std::uint64_t> port_bytes;       // bulk: of each unit
  for (std::size_t k = 0; k < lanes_in(t); ++k) {
    if (!is_on(n, k)) continue;
    const std::vector<std::uint32_t> x = operands(n, k);
    results[k] = perform(n, x);
    if (is_bulk(kind)) {
      add_bulk(n, x, number, port_bytes);
      continue;
    }
    const std::uint64_t index =
        static_cast<std::uint64_t>(index_of(graph.stream(n.node->in[0]).element, x[0]));
    const std::uint64_t byte =
        array_base[n.node->dram] + index * Type{graph.drams()[n.node->dram].element}.bytes();
    auto burst = std::find_if(bursts.begin(), bursts.end(),
                              [&](const auto& b) { return b.first == byte / 64 * 64; });
    if (burst == bursts.end()) burst = bursts.insert(burst, {byte / 64 * 64, 0u});
    burst->second |= byte % 64 < 32 ? 1u : 2u;
  }
  for (const auto& [address, halves] : bursts)
    for (const bool write : {false, true}) {
      if (write ? kind == NodeKind::dram_load : kind == NodeKind::dram_store) continue;
      n.bursts.push_back({address, number, halves, write, 0, 0});
      ++r.open;
    }
  if (is_bulk(kind)) r.open = static_cast<unsigned>(n.bursts.size());
  for (const auto& [unit, bytes] : port_bytes) {
    if (bytes == 0) continue;
    NaivePort& port = kind == NodeKind::bulk_store ? read_ports[unit] : write_ports[unit];
    port.free = std::max(port.free, now) + (bytes + 63) / 64;
    r.ready = std::max(r.ready, port.free);
  }
  r.results = with(t, results);
  n.requests.push_back(std::move(r));
}

/// The bursts of one lane; those that are among the last 16 of the vector are there already. Bytes
/// go through the port of the buffer's memory unit: those that are stored, and for a load the rows
/// of 64 that no burst brings.
void Naive::add_bulk(NaiveNode& n, const std::vector<std::uint32_t>& x, std::uint64_t number,
                     std::map<std::uint32_t, std::uint64_t>& port_bytes) {
  const bool store = n.node->kind == NodeKind::bulk_store;
  const SramDecl& sram = graph.srams()[n.node->sram];
  const auto [base, valid] = bulk_of(*n.node, graph.stream(n.node->in[1]).element, x);
  const DramDecl& array = graph.drams()[n.node->dram];
  const unsigned width = Type{array.element}.bytes();
  const Memories::Extent e = Memories::valid_elements(
      memories.dram(n.node->dram).count,
      std::uint64_t{sram.size} * Type{sram.element}.bytes() / width, base, valid);
  const std::uint32_t unit = home(n.node->sram, x[0]);
  const std::uint64_t bytes = (e.last - e.first) * width;
  std::uint64_t bursts = 0;
  if (bytes != 0) {
    const std::uint64_t start =
        array_base[n.node->dram] +
        static_cast<std::uint64_t>(base + static_cast<std::int64_t>(e.first)) * width;
    const std::uint64_t end = start + bytes;
    for (std::uint64_t at = start / 64 * 64; at < end; at += 64, ++bursts) {
      const unsigned halves = (start < at + 32 ? 1u : 0u) | (end > at + 32 ? 2u : 0u);
      const std::size_t kept = std::min<std::size_t>(n.bursts.size(), 16);
      auto burst = n.bursts.end() - static_cast<std::ptrdiff_t>(kept);
      while (burst != n.bursts.end() && (burst->address != at || burst->unit != unit)) ++burst;
      if (burst == n.bursts.end()) burst = n.bursts.insert(burst, {at, number, 0, store, unit, 0});
      burst->halves |= halves;
      burst->bytes += std::min(end, at + 64) - std::max(start, at);
    }
  }
  const std::uint64_t rows = rows_of(sram);
  port_bytes[unit] += store ? bytes : 64 * (rows - std::min(rows, bursts));
}

void Naive::finish_bursts() {
  std::vector<std::uint64_t> done;
  dram.tick(now - 1, done);
  for (const std::uint64_t id : done) {
    ++result.dram.bursts_completed;
    const Issued burst = issued.extract(id).mapped();
    NaiveNode& n = *burst.node;
    NaiveRequest& r = n.requests[burst.request - n.first_request];
    --r.open;
    --n.outstanding;
    r.ready = std::max(r.ready, now);
    if (n.node->kind != NodeKind::bulk_load) continue;
    NaivePort& port = write_ports[burst.unit];
    port.free = std::max(port.free, now) + (burst.bytes + 63) / 64;
    r.ready = std::max(r.ready, port.free);
  }
}

Did Naive::act_memory(NaiveNode& n) {
  if (n.node->kind == NodeKind::alloc) return alloc(n);
  if (n.node->kind == NodeKind::free) return free(n);
  return is_off_chip(n.node->kind) ? off_chip(n) : sram(n);
}

}  // namespace revet::sim::test
