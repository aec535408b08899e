#include "revet/sim/dram_system.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace revet::sim {
namespace {

constexpr unsigned access_bytes = 32;

unsigned bits_of(const DramMapping& mapping, DramMapping::Field field) {
  unsigned out = 0;
  for (const auto& [of, bits] : mapping.fields)
    if (of == field) out += bits;
  return out;
}

}  // namespace

DramClock::DramClock(double core_ghz, double memory_ns) {
  const auto megahertz = std::llround(core_ghz * 1000);
  const auto picoseconds = std::llround(memory_ns * 1000);
  if (megahertz <= 0 || picoseconds <= 0)
    throw std::invalid_argument("the clock of the machine or of its DRAM is not positive");
  const auto product = static_cast<std::uint64_t>(megahertz * picoseconds);
  constexpr std::uint64_t picoseconds_by_megahertz = 1'000'000;
  const std::uint64_t common = std::gcd(product, picoseconds_by_megahertz);
  clocks_ = product / common;
  cycles_ = picoseconds_by_megahertz / common;
}

// The table of bursts.

DramSystem::Bursts::Bursts() : entries_(1024), shift_(64 - 10) {}

std::size_t DramSystem::Bursts::home(std::uint64_t burst) const {
  return static_cast<std::size_t>(burst * 0x9E3779B97F4A7C15u >> shift_);
}

DramSystem::Bursts::Entry* DramSystem::Bursts::find(std::uint64_t burst) {
  for (std::size_t i = home(burst);; i = (i + 1) & (entries_.size() - 1)) {
    if (entries_[i].empty()) return nullptr;
    if (entries_[i].burst == burst) return &entries_[i];
  }
}

DramSystem::Bursts::Entry& DramSystem::Bursts::at(std::uint64_t burst) {
  if (2 * used_ >= entries_.size()) grow();
  std::size_t i = home(burst);
  while (!entries_[i].empty()) {
    if (entries_[i].burst == burst) return entries_[i];
    i = (i + 1) & (entries_.size() - 1);
  }
  ++used_;
  entries_[i].burst = burst;
  return entries_[i];
}

void DramSystem::Bursts::erase(Entry* entry) {
  // What follows moves up, if it is not nearer to its home then.
  const std::size_t mask = entries_.size() - 1;
  auto hole = static_cast<std::size_t>(entry - entries_.data());
  for (std::size_t i = (hole + 1) & mask; !entries_[i].empty(); i = (i + 1) & mask) {
    const std::size_t wanted = home(entries_[i].burst);
    if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
    entries_[hole] = entries_[i];
    hole = i;
  }
  entries_[hole] = {};
  --used_;
}

void DramSystem::Bursts::grow() {
  std::vector<Entry> old(2 * entries_.size());
  old.swap(entries_);
  --shift_;
  used_ = 0;
  for (const Entry& e : old)
    if (!e.empty()) at(e.burst) = e;
}

// Requests.

DramSystem::DramSystem(const Machine& machine)
    : clock_(machine.clock_ghz, machine.dram.timing.clock_ns),
      ideal_(machine.dram.ideal),
      coalescing_(machine.address.coalescing),
      decoder_(machine.dram.mapping),
      together_(!machine.dram.mapping.fields.empty() &&
                machine.dram.mapping.fields[0].first == DramMapping::column &&
                machine.dram.mapping.fields[0].second != 0),
      due_(machine.dram.channels, never) {
  if (ideal_) return;
  const auto check = [&](DramMapping::Field field, std::uint64_t places, const char* what) {
    if (std::uint64_t{1} << bits_of(machine.dram.mapping, field) != places)
      throw std::invalid_argument(std::string("the mapping of DRAM does not fit its ") + what);
  };
  check(DramMapping::channel, machine.dram.channels, "channels");
  check(DramMapping::pseudo_channel, DramChannel::pseudo_channels, "pseudo-channels");
  check(DramMapping::bank_group, DramChannel::groups, "bank groups");
  check(DramMapping::bank, DramChannel::banks_in_group, "banks");
  channels_.assign(machine.dram.channels, DramChannel(machine.dram.timing, machine.dram.read_queue,
                                                      machine.dram.write_queue));
}

std::uint32_t DramSystem::take(std::uint64_t id, std::uint64_t burst, unsigned halves, bool write) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const std::uint32_t out = free_.back();
  free_.pop_back();
  requests_[out] = {id,          burst,        static_cast<unsigned>(std::popcount(halves)),
                    !write,      {none, none}, {none, none},
                    {none, none}};
  ++pending_;
  return out;
}

/// Has the request wait for the halves that are on their way, if all are.
bool DramSystem::share(std::uint64_t id, std::uint64_t burst, unsigned halves) {
  const Bursts::Entry* entry = bursts_.find(burst);
  if (entry == nullptr) return false;
  for (unsigned h = 0; h < 2; ++h)
    if ((halves >> h & 1) != 0 && entry->halves[h] == none) return false;
  const std::uint32_t r = take(id, burst, halves, false);
  for (unsigned h = 0; h < 2; ++h) {
    if ((halves >> h & 1) == 0) continue;
    Request& of = requests_[entry->halves[h] / 2];
    const std::uint32_t half = 2 * r + h;
    (of.first[h] == none ? of.first[h] : requests_[of.last[h] / 2].next[h]) = half;
    of.last[h] = half;
  }
  ++counts_.shared;
  return true;
}

bool DramSystem::fits(const std::array<DramPlace, 2>& places, unsigned halves, bool write) const {
  unsigned before = 0;
  for (unsigned h = 0; h < 2; ++h) {
    if ((halves >> h & 1) == 0) continue;
    const DramChannel& channel = channels_[places[h].channel];
    const unsigned room = channel.room(write);
    if (room < 2 && (write || !channel.forwards(places[h]))) {
      const unsigned taken = places[0].channel == places[1].channel ? before : 0;
      if (room <= taken) return false;
      ++before;
    }
  }
  return true;
}

bool DramSystem::offer(std::uint64_t id, std::uint64_t address, unsigned halves, bool write) {
  if (ideal_) {
    const auto bytes = access_bytes * static_cast<std::uint64_t>((halves & 1) + (halves >> 1));
    (write ? counts_.bytes_written : counts_.bytes_read) += bytes;
    offered_.push_back(id);
    ++pending_;
    return true;
  }
  const std::uint64_t burst = address / (2 * access_bytes);
  if (coalescing_ && !write && share(id, burst, halves)) return true;
  const DramChannel& near = channels_[decoder_.channel(address)];
  const unsigned needed = (halves & 1) + (halves >> 1);
  const bool room = near.room(write) >= needed;
  // What is often refused is refused soon.
  if (together_ && !room && (write || !near.may_forward())) return false;
  std::array<DramPlace, 2> places;
  places[0] = places[1] = decoder_.place(address);
  if (together_)
    places[1].column |= 1;
  else
    places[1] = decoder_.place(address + access_bytes);
  if (!(together_ && room) && !fits(places, halves, write)) return false;
  if (coalescing_ && write)
    if (Bursts::Entry* entry = bursts_.find(burst)) bursts_.erase(entry);
  const std::uint32_t r = take(id, burst, halves, write);
  for (unsigned h = 0; h < 2; ++h) {
    if ((halves >> h & 1) == 0) continue;
    const std::uint32_t c = places[h].channel;
    DramChannel& channel = channels_[c];
    // An idle channel is not kept up to date; nothing can be done in it.
    channel.advance(now_, finished_);
    const bool forwards = !write && channel.forwards(places[h]);
    channel.offer(2 * r + h, places[h], write);
    if (coalescing_ && !write && !forwards) bursts_.at(burst).halves[h] = 2 * r + h;
    due_[c] = channel.wake();
    next_due_ = std::min(next_due_, due_[c]);
  }
  return true;
}

void DramSystem::finish_half(std::uint32_t request, std::vector<std::uint64_t>& done) {
  Request& r = requests_[request];
  if (--r.left != 0) return;
  done.push_back(r.id);
  free_.push_back(request);
  --pending_;
}

/// An access is done, and so is what shares it.
void DramSystem::finish(std::uint32_t half, std::vector<std::uint64_t>& done) {
  const unsigned h = half % 2;
  Request& r = requests_[half / 2];
  if (coalescing_ && r.read) {
    Bursts::Entry* entry = bursts_.find(r.burst);
    if (entry != nullptr && entry->halves[h] == half) {
      if (entry->halves[1 - h] == none)
        bursts_.erase(entry);
      else
        entry->halves[h] = none;
    }
  }
  std::uint32_t sharing = r.first[h];
  finish_half(half / 2, done);
  while (sharing != none) {
    const std::uint32_t next = requests_[sharing / 2].next[h];
    finish_half(sharing / 2, done);
    sharing = next;
  }
}

void DramSystem::visit(std::uint32_t channel, std::uint64_t clock,
                       std::vector<std::uint64_t>& done) {
  DramChannel& c = channels_[channel];
  c.advance(clock, finished_);
  for (const std::uint64_t half : finished_) finish(static_cast<std::uint32_t>(half), done);
  finished_.clear();
  due_[channel] = c.idle() ? never : c.wake();
}

void DramSystem::tick(std::uint64_t cycle, std::vector<std::uint64_t>& done) {
  if (ideal_) {
    // Without a memory clock, but what is offered in a cycle is done in the next.
    if (cycle > cycle_) {
      finishing_.insert(finishing_.end(), offered_.begin(), offered_.end());
      offered_.clear();
    }
    done.insert(done.end(), finishing_.begin(), finishing_.end());
    pending_ -= finishing_.size();
    finishing_.clear();
    finishing_.swap(offered_);
    cycle_ = cycle + 1;
    return;
  }
  const std::uint64_t last = clock_.last_clock(cycle);
  while (next_due_ <= last) {
    const std::uint64_t clock = next_due_;
    next_due_ = never;
    for (std::uint32_t c = 0; c < due_.size(); ++c) {
      if (due_[c] <= clock) visit(c, clock, done);
      next_due_ = std::min(next_due_, due_[c]);
    }
  }
  now_ = last;
  cycle_ = cycle + 1;
}

std::uint64_t DramSystem::next_event() const {
  if (ideal_) return !finishing_.empty() ? cycle_ : !offered_.empty() ? cycle_ + 1 : never;
  return next_due_ == never ? never : clock_.cycle_of(next_due_);
}

DramSystemCounts DramSystem::counts() const {
  DramSystemCounts out = counts_;
  std::vector<std::uint64_t> nothing;
  for (DramChannel channel : channels_) {
    channel.advance(now_, nothing);
    const DramCounts c = channel.counts();
    out.bytes_read += access_bytes * c.reads;
    out.bytes_written += access_bytes * c.writes;
    out.row_hits += c.row_hits;
    out.activates += c.activates;
    out.refreshes += c.refreshes;
    out.forwarded += c.forwarded;
    out.clocks += now_;
    out.idle_clocks += c.idle_clocks;
    out.column_clocks += c.column_clocks;
    out.refresh_clocks += c.refresh_clocks;
    out.activation_clocks += c.activation_clocks;
    out.younger_activation_clocks += c.younger_activation_clocks;
    out.waiting_clocks += c.waiting_clocks;
  }
  assert(out.clocks == out.idle_clocks + out.column_clocks + out.refresh_clocks +
                           out.activation_clocks + out.younger_activation_clocks +
                           out.waiting_clocks);
  return out;
}

}  // namespace revet::sim
