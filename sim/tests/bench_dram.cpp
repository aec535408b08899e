// bench_dram [CLOCKS [PATTERN]]: a system of 32 channels that is kept saturated for so many memory
// clocks, or is idle; prints the rate in memory clocks of all channels, by the time of the
// processor. Patterns: sequential, random64, random32, mixed, idle; without one, all.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "revet/sim/dram_system.hpp"
#include "shipped.hpp"

namespace {

using namespace revet;
using namespace revet::sim;

Machine machine_of() {
  Machine m;
  m.clock_ghz = 1.6;
  m.address.coalescing = true;
  m.dram.channels = 32;
  m.dram.read_queue = m.dram.write_queue = 32;
  m.dram.mapping = test::shipped_mapping();
  return m;
}

void bench(const std::string& pattern, std::uint64_t clocks) {
  const Machine machine = machine_of();
  DramSystem dram(machine);
  constexpr std::uint64_t window = 2048;  // halves of bursts
  struct Offer {
    std::uint64_t id, address;
    unsigned halves;
    bool write;
  };
  // Of each channel, so that one whose queue is full does not hold up the others.
  std::vector<std::vector<Offer>> backlog(machine.dram.channels);
  std::vector<std::size_t> first(machine.dram.channels);
  std::vector<std::uint64_t> done;
  std::uint64_t draw = 1, next = 0, outstanding = 0;
  const unsigned cost = pattern == "random32" ? 1 : 2;
  const auto cycles = static_cast<std::uint64_t>(static_cast<double>(clocks) *
                                                 machine.dram.timing.clock_ns * machine.clock_ghz);
  const std::clock_t start = std::clock();
  for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
    for (; pattern != "idle" && outstanding + cost <= window; ++next, outstanding += cost) {
      draw = 6364136223846793005u * draw + 1442695040888963407u;
      const std::uint64_t address = pattern == "sequential" ? 64 * next : draw >> 36 << 6;
      const unsigned halves = cost == 2 ? 3 : 1u << (draw >> 35 & 1);
      const bool write = pattern == "mixed" && (draw >> 34 & 3) == 0;
      backlog[address / 64 % machine.dram.channels].push_back({next, address, halves, write});
    }
    for (std::size_t c = 0; c < backlog.size(); ++c) {
      for (; first[c] < backlog[c].size(); ++first[c]) {
        const Offer& o = backlog[c][first[c]];
        if (!dram.offer(o.id, o.address, o.halves, o.write)) break;
      }
      if (first[c] == backlog[c].size()) {
        backlog[c].clear();
        first[c] = 0;
      }
    }
    done.clear();
    dram.tick(cycle, done);
    outstanding -= cost * done.size();
  }
  const double seconds =
      static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
  const DramSystemCounts c = dram.counts();
  const auto share = [&](std::uint64_t part) {
    return 100 * static_cast<double>(part) / static_cast<double>(c.clocks);
  };
  const double ticks = static_cast<double>(c.clocks) / machine.dram.channels;
  std::printf(
      "%-10s %9.0f kticks/s %8.1f ns a channel tick, %5.1f GB/s; column %.1f%%, activation %.1f%% "
      "+ %.1f%%, "
      "refresh %.1f%%, waiting %.1f%%, idle %.1f%%\n",
      pattern.c_str(), ticks / seconds / 1000, 1e9 * seconds / static_cast<double>(c.clocks),
      static_cast<double>(c.bytes_read + c.bytes_written) / (ticks * machine.dram.timing.clock_ns),
      share(c.column_clocks), share(c.activation_clocks), share(c.younger_activation_clocks),
      share(c.refresh_clocks), share(c.waiting_clocks), share(c.idle_clocks));
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t clocks = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 200'000;
  if (argc > 2)
    bench(argv[2], clocks);
  else
    for (const char* pattern : {"sequential", "random64", "random32", "mixed", "idle"})
      bench(pattern, clocks);
}
