// Memory nodes in time: ports and banks of memory units, pointers, and the bursts of address
// generators. An access has its effect when the unit takes it, in any order that voids allow; its
// result leaves when the memory has answered.
#include <algorithm>
#include <array>
#include <bit>

#include "stepping.hpp"
#include "timed_instance.hpp"

namespace revet::sim {
namespace {

constexpr std::uint64_t burst = 64;  ///< bytes

bool acted(const Attempt& a) { return a.kind == Attempt::fired; }

/// What the lanes of an access bring. `on` has the lanes whose predicate holds.
struct Access {
  View view;
  std::uint32_t operands[5][lanes_per_vector];
  std::size_t count = 0;  ///< operands
  std::uint32_t on = 0;

  void of_lane(unsigned lane, std::uint32_t* out) const {
    for (std::size_t i = 0; i < count; ++i) out[i] = operands[i][lane];
  }
  bool is_on(unsigned lane) const { return (on >> lane & 1) != 0; }
};

void read_access(const TimedInstance& g, const TimedNode& n, Access& a) {
  const bool predicated = n.node->predicated;
  a.count = 0;
  for (std::size_t i = 0; i < n.inputs && a.count < 5; ++i) {
    if (g.graph.stream(n.node->in[i]).element == Kind::none) break;  // voids are last
    g.input(n, i).copy(a.view.lanes, a.operands[a.count++]);
  }
  a.on = (1u << a.view.lanes) - 1;
  if (n.node->length_predicates)
    for (unsigned k = 0; k < a.view.lanes; ++k)
      if (static_cast<std::int32_t>(a.operands[n.node->length_input()][k]) < 0) a.on &= ~(1u << k);
  if (!predicated) return;
  std::uint32_t pred[lanes_per_vector];
  g.input(n, n.inputs - 1u).copy(a.view.lanes, pred);
  for (unsigned k = 0; k < a.view.lanes; ++k)
    if (pred[k] == 0) a.on &= ~(1u << k);
}

void take_inputs(TimedInstance& g, const TimedNode& n, View view) {
  for (std::size_t i = 0; i < n.inputs; ++i) g.take(n, i, view, nullptr);
}

/// The results of loads and atomics, and the voids.
void give(TimedInstance& g, const TimedNode& n, View view, const std::uint32_t* results,
          Cycle extra) {
  for (std::size_t o = 0; o < n.outputs; ++o)
    g.put(n, o, view, n.outputs == 2 && o == 0 ? results : nullptr, extra);
}

// --- on chip

enum class Uses : std::uint8_t { read, write, both };

Uses uses(NodeKind kind) {
  if (kind == NodeKind::sram_load) return Uses::read;
  return kind == NodeKind::sram_atomic ? Uses::both : Uses::write;
}

/// The port is free, and no other node has waited for it longer than this one. Who waits can act
/// as soon as it has its ports, so none is kept idle for it in vain.
bool may_claim(const MemoryPort& port, std::uint32_t me, Cycle now) {
  return port.free <= now && (port.waiting.empty() || port.waiting.front() == me);
}

void claim(MemoryPort& port, Cycle until) {
  port.free = until;
  if (!port.waiting.empty()) port.waiting.erase(port.waiting.begin());
}

void wait_for_port(MemoryPort& port, std::uint32_t me, Attempt& out) {
  if (std::find(port.waiting.begin(), port.waiting.end(), me) == port.waiting.end())
    port.waiting.push_back(me);
  out.again = std::max(out.again, port.free);
}

/// The unit that holds the buffer of a pointer.
std::uint32_t unit_of(const TimedInstance& g, std::uint32_t sram, std::uint32_t pointer) {
  const std::vector<std::uint32_t>& units = g.mapping.memories[sram];
  if (units.size() == 1) return units[0];
  const std::uint64_t pointers = g.graph.srams()[sram].pointers;
  const std::uint64_t i =
      std::uint64_t{pointer} * units.size() / std::max<std::uint64_t>(1, pointers);
  return units[std::min<std::size_t>(i, units.size() - 1)];
}

/// Which of so many banks has a word. Where they are a power of two, without division, which takes
/// more time than all else here.
class Banks {
 public:
  explicit Banks(std::uint64_t count)
      : count_(count), power_(std::has_single_bit(count)), shift_(std::countr_zero(count)) {}
  std::uint64_t of(std::uint64_t row) const { return power_ ? row & (count_ - 1) : row % count_; }
  std::uint64_t hash(std::uint64_t word) const {
    std::uint64_t row = word;
    for (std::uint64_t high = above(word); high != 0; high = above(high)) row ^= high;
    return row;
  }

 private:
  std::uint64_t above(std::uint64_t row) const { return power_ ? row >> shift_ : row / count_; }
  std::uint64_t count_;
  bool power_;
  int shift_;
};

/// Lets the banks work on the lanes of an access: lanes that go to one bank take turns, but for
/// those that go to the same word of it. Gives the cycle in which the last is served.
Cycle serve(TimedInstance& g, const TimedNode& n, const Access& a, bool reads) {
  const Machine& m = g.machine;
  if (m.memory.ideal) return g.now + 1;
  const bool combines = n.kind != NodeKind::sram_atomic || m.memory.combining;
  const SramDecl& sram = g.graph.srams()[n.node->sram];
  const unsigned bytes = Type{sram.element}.bytes();
  std::uint64_t words[lanes_per_vector];
  unsigned count = 0;
  std::uint64_t asked = 0;  // a bit for each bank, or for several where there are more than 64
  Cycle last = g.now + 1;
  const Banks in_banks(m.memory.banks);
  for (std::uint32_t left = a.on; left != 0; left &= left - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(left));
    const std::uint64_t word =
        (std::uint64_t{a.operands[0][k]} * sram.size + a.operands[1][k]) * bytes / 4;
    const std::uint64_t row = m.memory.bank_hash ? in_banks.hash(word) : word;
    const std::uint64_t number = in_banks.of(row);
    // Only lanes that go to one bank can go to one word.
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    const bool known = (asked & bit) != 0 && std::find(words, words + count, word) != words + count;
    asked |= bit;
    words[count++] = word;
    if (known && combines) continue;
    MemoryPorts& ports = g.ports(unit_of(g, n.node->sram, a.operands[0][k]));
    Cycle& bank = (reads ? ports.read : ports.write).banks[number];
    bank = std::max(bank, g.now) + 1;
    last = std::max(last, bank);
  }
  return last;
}

Attempt step_sram(TimedInstance& g, TimedNode& n) {
  Access a;
  if (const Attempt z = zip(g, n, 0, n.inputs, a.view); !acted(z)) return z;
  Attempt out;
  if (!g.room(n, out)) return out;
  read_access(g, n, a);
  if (a.on == 0) {
    take_inputs(g, n, a.view);
    const std::uint32_t none[lanes_per_vector] = {};
    give(g, n, a.view, none, 0);
    return {};
  }
  const std::uint32_t unit = unit_of(g, n.node->sram, a.operands[0][std::countr_zero(a.on)]);
  MemoryPorts& ports = g.ports(unit);
  const std::uint32_t me = g.number(n);
  const Uses use = uses(n.kind);
  const bool reads = use != Uses::write, writes = use != Uses::read;
  if ((reads && !may_claim(ports.read, me, g.now)) ||
      (writes && !may_claim(ports.write, me, g.now))) {
    // Who needs both queues for both at once, so no two wait for each other.
    out = {Attempt::no_memory, 0, 0, g.now + 1};
    if (reads) wait_for_port(ports.read, me, out);
    if (writes) wait_for_port(ports.write, me, out);
    return out;
  }
  const SramDecl& sram = g.graph.srams()[n.node->sram];
  // When the port is free again, and when the last lane is served.
  Cycle free = g.now + 1, served = g.now + 1;
  if (n.kind == NodeKind::sram_fill) {
    const std::uint64_t bytes = std::uint64_t{sram.size} * Type{sram.element}.bytes();
    free = served =
        g.now + (bytes * static_cast<unsigned>(std::popcount(a.on)) + burst - 1) / burst;
  } else {
    served = serve(g, n, a, !writes);
    const Cycle queue = g.machine.memory.queue;
    if (served > free + queue) free = served - queue;
    ports.conflict_cycles += free - g.now - 1;
  }
  if (reads) claim(ports.read, free);
  if (writes) claim(ports.write, free);
  n.working_until = free;
  std::uint32_t results[lanes_per_vector] = {};
  perform_lanes(g.memories, *n.node, n.element, a.operands, a.count, a.on, results);
  take_inputs(g, n, a.view);
  give(g, n, a.view, results, served - g.now - 1);
  return {};
}

/// Its input's channel is the buffer. Vectors that share a memory unit take turns at its ports;
/// what is written is what is read, so one of them stands for both.
Attempt step_buffer(TimedInstance& g, TimedNode& n) {
  View v;
  if (const Attempt a = zip(g, n, 0, 1, v); !acted(a)) return a;
  Attempt out;
  if (!g.room(n, out)) return out;
  const bool data = g.graph.stream(n.node->out[0]).element != Kind::none;
  if (data && !g.input(n, 0).is_scalar() && !n.units.empty()) {
    MemoryPort& port = g.ports(n.units[0]).read;
    const std::uint32_t me = g.number(n);
    if (!may_claim(port, me, g.now)) {
      out = {Attempt::no_memory, 0, 0, g.now + 1};
      wait_for_port(port, me, out);
      return out;
    }
    claim(port, g.now + 1);
  }
  std::uint32_t lanes[lanes_per_vector];
  g.take(n, 0, v, data ? lanes : nullptr);
  g.put(n, 0, v, lanes);
  return {};
}

/// As many lanes as there are free pointers.
Attempt step_alloc(TimedInstance& g, TimedNode& n) {
  Access a;
  if (const Attempt z = zip(g, n, 0, n.inputs, a.view); !acted(z)) return z;
  Attempt out;
  if (!g.room(n, out)) return out;
  read_access(g, n, a);
  Pool& pool = g.memories.pool(n.node->pool);
  std::uint32_t pointers[lanes_per_vector] = {};
  View view{0, a.view.level};
  for (; view.lanes < a.view.lanes; ++view.lanes) {
    if (!a.is_on(view.lanes)) continue;
    if (pool.empty()) break;
    pointers[view.lanes] = pool.take();
  }
  if (view.lanes < a.view.lanes) view.level = 0;
  if (view.empty()) return {Attempt::no_memory, 0, 0, Channel::never};
  take_inputs(g, n, view);
  give(g, n, view, pointers, 0);
  return {};
}

Attempt step_free(TimedInstance& g, TimedNode& n) {
  Access a;
  if (const Attempt z = zip(g, n, 0, n.inputs, a.view); !acted(z)) return z;
  Attempt out;
  if (!g.room(n, out)) return out;
  read_access(g, n, a);
  for (unsigned k = 0; k < a.view.lanes; ++k)
    if (a.is_on(k)) g.free_pointer(n.node->pool, a.operands[0][k]);
  take_inputs(g, n, a.view);
  give(g, n, a.view, nullptr, 0);
  return {};
}

// --- off chip

bool writes(NodeKind kind) { return kind == NodeKind::dram_store || kind == NodeKind::bulk_store; }

/// The bursts of a bulk transfer's vector. An AG compares what a lane wants with the last bursts of
/// the lanes before: threads that stand side by side in memory share one.
class BulkBursts {
 public:
  explicit BulkBursts(DramQueue& q) : q_(q) {}

  /// Those that bytes from .. to-1 of an array lie in; gives their number.
  std::uint32_t add(Burst command, std::uint32_t unit, std::uint64_t from, std::uint64_t to) {
    std::uint32_t count = 0;
    for (std::uint64_t at = from / burst * burst; at < to; at += burst, ++count) {
      const unsigned low = from < at + burst / 2 ? 1 : 0, high = to > at + burst / 2 ? 2 : 0;
      const std::uint64_t bytes = std::min(to, at + burst) - std::max(from, at);
      command.address = at;
      command.halves = static_cast<std::uint8_t>(low | high);
      Kept& place = kept_of(command, unit);
      place.bytes += bytes;
      Burst& shared = q_.commands[place.index];
      shared.halves |= command.halves;
      shared.rows = static_cast<std::uint8_t>((place.bytes + burst - 1) / burst);
    }
    return count;
  }
  std::uint32_t count() const { return added_; }

 private:
  struct Kept {
    std::uint64_t address;
    std::uint32_t unit;
    std::uint32_t index;  ///< in the queue
    std::uint64_t bytes;  ///< of all lanes
  };

  Kept& kept_of(const Burst& command, std::uint32_t unit) {
    const std::uint32_t known = std::min(added_, lanes_per_vector);
    for (std::uint32_t i = 0; i < known; ++i)
      if (kept_[i].address == command.address && kept_[i].unit == unit) return kept_[i];
    q_.commands.push(command);
    Kept& place = kept_[added_++ % lanes_per_vector];
    return place = {command.address, unit, q_.commands.size() - 1, 0};
  }

  DramQueue& q_;
  std::array<Kept, lanes_per_vector> kept_;
  std::uint32_t added_ = 0;
};

/// One burst for all lanes that meet in it.
void add_elements(const TimedInstance& g, const TimedNode& n, DramQueue& q, std::uint64_t request,
                  const Access& a, Pending& pending) {
  const unsigned bytes = Type{g.graph.drams()[n.node->dram].element}.bytes();
  const std::uint64_t base = g.array_base(n.node->dram);
  std::uint64_t at[lanes_per_vector];
  std::uint8_t halves[lanes_per_vector];
  unsigned count = 0;
  for (unsigned k = 0; k < a.view.lanes; ++k) {
    if (!a.is_on(k)) continue;
    const std::uint64_t byte =
        base + static_cast<std::uint64_t>(exact_index(n.element, a.operands[0][k])) * bytes;
    const auto half = static_cast<std::uint8_t>(1u << (byte / (burst / 2) % 2));
    unsigned i = 0;
    while (i < count && at[i] != byte / burst * burst) ++i;
    if (i == count) {
      at[count] = byte / burst * burst;
      halves[count++] = 0;
    }
    halves[i] |= half;
  }
  // An atomic reads its bursts and writes them back.
  for (unsigned i = 0; i < count; ++i) {
    if (!writes(n.kind)) {
      q.commands.push({at[i], request, 0, 1, halves[i], false});
      ++pending.open;
    }
    if (n.kind != NodeKind::dram_load) {
      q.commands.push({at[i], request, 0, 1, halves[i], true});
      ++pending.open;
    }
  }
}

void accept(TimedInstance& g, TimedNode& n, const Access& a) {
  DramQueue& q = g.queue(n);
  const std::uint64_t number = q.first + q.requests.size();
  Pending& p = q.requests.push({});
  p.what = a.view;
  p.ready = g.now;
  std::uint32_t operands[5] = {};
  const bool store = n.kind == NodeKind::bulk_store;
  const bool bulk = store || n.kind == NodeKind::bulk_load;
  BulkBursts bursts(q);
  std::uint64_t moved[lanes_per_vector] = {};  // through the port of that lane's unit
  for (unsigned k = 0; k < a.view.lanes; ++k) {
    if (!a.is_on(k)) continue;
    a.of_lane(k, operands);
    p.results[k] = perform(g.memories, *n.node, n.element, operands);
    if (!bulk) continue;
    const BulkRange r = bulk_range(g.memories, *n.node, n.element, operands);
    const SramDecl& sram = g.graph.srams()[n.node->sram];
    const std::uint64_t bytes = Type{g.graph.drams()[n.node->dram].element}.bytes();
    const std::uint64_t from =
        g.array_base(n.node->dram) +
        static_cast<std::uint64_t>(r.base + static_cast<std::int64_t>(r.first)) * bytes;
    const std::uint64_t to = from + (r.last - r.first) * bytes;
    const std::uint32_t unit = p.units[k] = unit_of(g, n.node->sram, operands[0]);
    const Burst command{0, number, static_cast<std::uint8_t>(k), 1, 0, store};
    const std::uint32_t brought = from == to ? 0 : bursts.add(command, unit, from, to);
    // A store reads its bytes from the buffer; a load writes rows of zeros that no burst brings.
    const std::uint64_t whole =
        (std::uint64_t{sram.size} * Type{sram.element}.bytes() + burst - 1) / burst;
    const auto first =
        std::find_if(p.units, p.units + k, [&](std::uint32_t u) { return u == unit; });
    moved[first - p.units] += store ? to - from : whole - std::min<std::uint64_t>(whole, brought);
  }
  for (unsigned k = 0; k < a.view.lanes; ++k) {
    if (moved[k] == 0) continue;
    MemoryPort& port = store ? g.ports(p.units[k]).read : g.ports(p.units[k]).write;
    port.free = std::max(port.free, g.now) + (store ? (moved[k] + burst - 1) / burst : moved[k]);
    p.ready = std::max(p.ready, port.free);
  }
  p.open += bursts.count();
  if (!bulk) add_elements(g, n, q, number, a, p);
}

/// An AG issues one burst, takes one vector and gives one back in a cycle.
Attempt step_dram(TimedInstance& g, TimedNode& n) {
  DramQueue& q = g.queue(n);
  const unsigned limit = g.machine.address.outstanding;
  bool did = false;
  Attempt why{Attempt::no_answer, 0, 0, Channel::never};
  if (!q.commands.empty()) {
    const Burst& b = q.commands.front();
    if (q.outstanding < limit && g.issue(n, b)) {
      ++q.outstanding;
      q.commands.pop();
      did = true;
    } else {
      why = {Attempt::no_memory, 0, 0, q.outstanding < limit ? g.now + 1 : Channel::never};
    }
  }
  if (!q.requests.empty() && q.requests.front().open == 0) {
    Attempt out;
    if (q.requests.front().ready > g.now) {
      why.again = std::min(why.again, q.requests.front().ready);
    } else if (g.room(n, out)) {
      const Pending& p = q.requests.front();
      give(g, n, p.what, p.results, 0);
      q.requests.pop();
      ++q.first;
      did = true;
    } else {
      // What it can do first counts, whatever it names as the reason.
      const Cycle again = std::min(why.again, out.again);
      if (why.kind == Attempt::no_answer) why = out;
      why.again = again;
    }
  }
  if (q.commands.empty() && q.requests.size() < limit) {
    Access a;
    const Attempt z = zip(g, n, 0, n.inputs, a.view);
    if (acted(z)) {
      read_access(g, n, a);
      accept(g, n, a);
      take_inputs(g, n, a.view);
      did = true;
    } else {
      const Cycle again = std::min(why.again, z.again);
      if (why.kind == Attempt::no_answer) why = z;
      why.again = again;
    }
  }
  return did ? Attempt{} : why;
}

}  // namespace

Attempt attempt_memory(TimedInstance& g, TimedNode& n) {
  switch (n.kind) {
    case NodeKind::alloc: return step_alloc(g, n);
    case NodeKind::free: return step_free(g, n);
    case NodeKind::sram_load:
    case NodeKind::sram_store:
    case NodeKind::sram_atomic:
    case NodeKind::sram_fill: return step_sram(g, n);
    case NodeKind::buffer: return step_buffer(g, n);
    default: return step_dram(g, n);
  }
}

}  // namespace revet::sim
