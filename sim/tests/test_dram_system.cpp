// All channels of DRAM behind the core's clock: sharing, halves, back-pressure, accounting, clocks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "revet/sim/dram_system.hpp"
#include "shipped.hpp"

using namespace revet;
using namespace revet::sim;

namespace {

using Ids = std::vector<std::uint64_t>;

/// 32 channels with 64 bytes in each, core and memory at one GHz.
Machine machine_of() {
  Machine m;
  m.clock_ghz = 1;
  m.address.coalescing = true;
  m.dram.channels = 32;
  m.dram.read_queue = m.dram.write_queue = 32;
  m.dram.timing = {1, 14, 5, 2, 14, 12, 14, 34, 48, 2, 4, 4, 4, 15, 6, 8, 13, 16, 5, 160, 3900};
  m.dram.mapping = test::shipped_mapping();
  return m;
}

/// The cycle in which each id is done, once all are.
std::map<std::uint64_t, std::uint64_t> run(DramSystem& d, std::uint64_t& cycle) {
  std::map<std::uint64_t, std::uint64_t> out;
  for (Ids done; !d.idle(); ++cycle) {
    done.clear();
    d.tick(cycle, done);
    for (const std::uint64_t id : done) REQUIRE(out.emplace(id, cycle).second);
  }
  return out;
}

void check_identity(const DramSystemCounts& c) {
  CHECK(c.idle_clocks + c.column_clocks + c.refresh_clocks + c.activation_clocks +
            c.younger_activation_clocks + c.waiting_clocks ==
        c.clocks);
  CHECK(c.column_clocks * 32 == c.bytes_read + c.bytes_written);
}

}  // namespace

TEST_CASE("a burst takes two accesses, half of it one", "[dram]") {
  for (const unsigned halves : {1u, 2u, 3u}) {
    DramSystem d(machine_of());
    std::uint64_t cycle = 0;
    REQUIRE(d.offer(7, 64, halves, false));
    const auto done = run(d, cycle);
    // ACT at clock 1, RD 15 later, the second RD tCCD_L after it; 16 clocks to its last data.
    CHECK(done.at(7) == (halves == 3 ? 36 : 32));
    CHECK(d.counts().bytes_read == (halves == 3 ? 64 : 32));
    check_identity(d.counts());
  }
}

TEST_CASE("halves may lie in different channels", "[dram]") {
  Machine m = machine_of();
  m.dram.read_queue = 2;
  std::swap(m.dram.mapping.fields[0], m.dram.mapping.fields[1]);
  DramSystem d(m);
  std::uint64_t cycle = 0;
  // Channel 1 is full, so that a burst in channels 0 and 1 is refused as a whole.
  REQUIRE(d.offer(1, 0, 2, false));
  REQUIRE(d.offer(2, 1024, 2, false));
  CHECK_FALSE(d.offer(3, 2048, 3, false));
  CHECK_FALSE(d.offer(3, 2048, 2, false));
  REQUIRE(d.offer(3, 2048, 1, false));
  CHECK(run(d, cycle).size() == 3);
  CHECK(d.counts().bytes_read == 96);
  REQUIRE(d.offer(4, 4096, 3, false));
  CHECK(run(d, cycle).size() == 1);
  CHECK(d.counts().bytes_read == 160);
  check_identity(d.counts());
}

TEST_CASE("a read of what is on its way shares it", "[dram]") {
  DramSystem d(machine_of());
  std::uint64_t cycle = 0;
  Ids done;
  REQUIRE(d.offer(1, 64, 3, false));
  for (; cycle < 20; ++cycle) d.tick(cycle, done);
  REQUIRE(d.offer(2, 64, 3, false));
  REQUIRE(d.offer(3, 64, 1, false));
  REQUIRE(d.offer(4, 64, 2, false));
  REQUIRE(done.empty());
  for (; done.size() < 4; ++cycle) d.tick(cycle, done);
  // The first half comes first.
  CHECK(done == Ids{3, 1, 2, 4});
  CHECK(d.counts().shared == 3);
  CHECK(d.counts().bytes_read == 64);
  CHECK(d.idle());
  // What is done is not shared.
  REQUIRE(d.offer(5, 64, 3, false));
  run(d, cycle);
  CHECK(d.counts().shared == 3);
  CHECK(d.counts().bytes_read == 128);
}

TEST_CASE("a read shares only if all of it is on its way", "[dram]") {
  DramSystem d(machine_of());
  std::uint64_t cycle = 0;
  REQUIRE(d.offer(1, 64, 1, false));
  REQUIRE(d.offer(2, 64, 3, false));
  REQUIRE(d.offer(3, 64, 3, false));
  run(d, cycle);
  CHECK(d.counts().shared == 1);
  CHECK(d.counts().bytes_read == 96);
}

TEST_CASE("without coalescing each read has its accesses", "[dram]") {
  Machine m = machine_of();
  m.address.coalescing = false;
  DramSystem d(m);
  std::uint64_t cycle = 0;
  for (std::uint64_t id = 0; id < 3; ++id) REQUIRE(d.offer(id, 64, 3, false));
  run(d, cycle);
  CHECK(d.counts().shared == 0);
  CHECK(d.counts().bytes_read == 192);
}

TEST_CASE("a write ends the sharing of its burst", "[dram]") {
  DramSystem d(machine_of());
  std::uint64_t cycle = 0;
  Ids done;
  REQUIRE(d.offer(1, 64, 3, false));
  REQUIRE(d.offer(2, 64, 1, true));
  // Half of this is in the write, which waits.
  REQUIRE(d.offer(3, 64, 3, false));
  CHECK(d.counts().shared == 0);
  CHECK(d.counts().forwarded == 1);
  // The half that started again may be shared again; what was forwarded is forwarded again.
  REQUIRE(d.offer(4, 64, 2, false));
  REQUIRE(d.offer(5, 64, 1, false));
  CHECK(d.counts().shared == 1);
  CHECK(d.counts().forwarded == 2);
  run(d, cycle);
  CHECK(d.counts().bytes_read == 96);
  CHECK(d.counts().bytes_written == 32);

  // A write that is done while the read before it is on its way.
  const std::uint64_t other = 64 + (1u << 13);
  REQUIRE(d.offer(6, 64, 1, false));
  REQUIRE(d.offer(7, other, 1, false));
  for (done.clear(); done.empty(); ++cycle) d.tick(cycle, done);
  REQUIRE(done == Ids{6});
  for (; d.counts().bytes_read < 160; ++cycle) d.tick(cycle, done);
  REQUIRE(d.offer(8, other, 1, true));
  done.clear();
  for (; done.empty(); ++cycle) d.tick(cycle, done);
  REQUIRE(done.front() == 8);
  REQUIRE_FALSE(d.idle());
  REQUIRE(d.offer(9, other, 1, false));
  run(d, cycle);
  CHECK(d.counts().shared == 1);
  CHECK(d.counts().bytes_read == 192);
}

TEST_CASE("a request whose queue is full is refused and nothing of it taken", "[dram]") {
  Machine m = machine_of();
  m.dram.read_queue = m.dram.write_queue = 3;
  DramSystem d(m);
  std::uint64_t cycle = 0;
  REQUIRE(d.offer(1, 0, 3, false));
  CHECK_FALSE(d.offer(2, 2048, 3, false));
  REQUIRE(d.offer(3, 2048, 1, false));
  CHECK_FALSE(d.offer(4, 2048, 2, false));
  // What is shared or forwarded needs no entry; the other kind and other channels have their own.
  REQUIRE(d.offer(5, 0, 3, false));
  REQUIRE(d.offer(6, 4096, 3, true));
  CHECK_FALSE(d.offer(7, 8192, 3, true));
  REQUIRE(d.offer(8, 4096, 3, false));
  REQUIRE(d.offer(9, 64, 3, false));
  const auto done = run(d, cycle);
  CHECK(done.size() == 6);
  CHECK(d.counts().bytes_read == 160);
  CHECK(d.counts().bytes_written == 64);
  REQUIRE(d.offer(2, 2048, 3, false));
  CHECK(run(d, cycle).size() == 1);
  check_identity(d.counts());
}

TEST_CASE("ideal DRAM is done in the next cycle", "[dram]") {
  Machine m = machine_of();
  m.dram.ideal = true;
  DramSystem d(m);
  Ids done;
  CHECK(d.next_event() == DramSystem::never);
  for (std::uint64_t id = 0; id < 1000; ++id)
    REQUIRE(d.offer(id, 0, static_cast<unsigned>(id % 3) + 1, id % 2 != 0));
  CHECK(d.next_event() == 1);
  d.tick(0, done);
  CHECK(done.empty());
  CHECK(d.next_event() == 1);
  REQUIRE(d.offer(1000, 0, 3, false));
  d.tick(1, done);
  CHECK(done.size() == 1000);
  CHECK(std::is_sorted(done.begin(), done.end()));
  CHECK_FALSE(d.idle());
  CHECK(d.next_event() == 2);
  d.tick(2, done);
  CHECK(done.size() == 1001);
  REQUIRE(d.offer(1001, 0, 3, false));
  d.tick(70, done);
  CHECK(done.size() == 1002);
  CHECK(d.idle());
  CHECK(d.counts().bytes_read + d.counts().bytes_written == (333 * 4 + 1 + 2 * 2) * 32);
}

TEST_CASE("cycles without an event may be left out", "[dram]") {
  Machine m = machine_of();
  m.clock_ghz = 1.6;
  m.dram.timing = {};
  DramSystem ticked(m), skipping(m);
  std::mt19937 random(1);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  std::vector<std::pair<std::uint64_t, std::uint64_t>> wanted, got;
  std::set<std::uint64_t> pending;
  Ids done;
  std::uint64_t ticked_next = 0, cycle = 0, accepted = 0, reads = 0;
  for (std::uint64_t id = 0; id < 100'000; ++cycle) {
    // What was offered in a cycle is followed by no offers for a while.
    for (unsigned n = below(40); n != 0; --n, ++id) {
      const std::uint64_t address = below(4) == 0 ? below(64) * 64 : below(1u << 24) * 64;
      const unsigned halves = 1 + below(3);
      const bool write = below(4) == 0;
      const bool taken = ticked.offer(id, address, halves, write);
      REQUIRE(skipping.offer(id, address, halves, write) == taken);
      if (!taken) continue;
      pending.insert(id);
      accepted += halves == 3 ? 2 : 1;
      reads += !write;
    }
    const std::uint64_t until = cycle + (below(200) == 0 ? 20'000 : below(16));
    for (; ticked_next <= until; ++ticked_next) {
      done.clear();
      ticked.tick(ticked_next, done);
      for (const std::uint64_t one : done) {
        wanted.emplace_back(ticked_next, one);
        REQUIRE(pending.erase(one) == 1);
      }
    }
    for (; skipping.next_event() <= until;) {
      const std::uint64_t next = skipping.next_event();
      done.clear();
      skipping.tick(next, done);
      for (const std::uint64_t one : done) got.emplace_back(next, one);
    }
    done.clear();
    skipping.tick(until, done);
    REQUIRE(done.empty());
    REQUIRE(skipping.idle() == ticked.idle());
    cycle = until;
  }
  REQUIRE(got == wanted);
  CHECK(skipping.counts() == ticked.counts());
  run(ticked, ticked_next);
  const DramSystemCounts c = ticked.counts();
  CHECK(c.shared > 100);
  CHECK(c.forwarded > 100);
  CHECK(c.shared < reads);
  CHECK((c.bytes_read + c.bytes_written) / 32 + c.forwarded + c.shared <= accepted);
  CHECK((c.bytes_read + c.bytes_written) / 32 + c.forwarded + 2 * c.shared >= accepted);
  check_identity(c);
}

TEST_CASE("a sequential stream through 32 channels takes the clocks that were measured", "[dram]") {
  // Of the row, replayed by its rules: fields 10 to 12 are transactions, window and clocks.
  std::ifstream in(std::string(REVET_SIM_TEST_DATA) + "/dram_rows.csv");
  std::vector<std::string> cells;
  for (std::string line, cell; std::getline(in, line);) {
    if (!line.starts_with("K.C64.seq_read,32,2000,")) continue;
    std::istringstream row(line);
    while (std::getline(row, cell, ',')) cells.push_back(cell);
  }
  REQUIRE(cells.size() == 14);
  const std::uint64_t bursts = std::stoull(cells[10]) / 2, window = std::stoull(cells[11]) / 2;
  DramSystem d(machine_of());
  std::vector<std::deque<std::uint64_t>> waiting(32);
  Ids done;
  std::uint64_t next = 0, finished = 0, cycle = 0;
  for (; finished < bursts; ++cycle) {
    for (; next < bursts && next - finished < window; ++next) waiting[next % 32].push_back(next);
    for (auto& queue : waiting)
      while (!queue.empty() && d.offer(queue.front(), 64 * queue.front(), 3, false))
        queue.pop_front();
    done.clear();
    d.tick(cycle, done);
    finished += done.size();
  }
  CHECK(static_cast<double>(cycle) == Approx(std::stod(cells[12])).epsilon(0.01));
  check_identity(d.counts());
}

TEST_CASE("random accesses are bound by activations", "[dram]") {
  DramSystem d(machine_of());
  std::mt19937 random(1);
  Ids done;
  constexpr std::uint64_t cycles = 20'000;
  std::vector<std::uint64_t> wanted(32);
  for (std::uint64_t cycle = 0, id = 0; cycle < cycles; ++cycle) {
    for (std::uint64_t c = 0; c < 32; ++c) {
      if (wanted[c] == 0) wanted[c] = 1 + random();
      if (d.offer(id, (wanted[c] & 0xFFFFF) * 2048 + c * 64, 1, false)) wanted[c] = 0;
      ++id;
    }
    d.tick(cycle, done);
  }
  const DramSystemCounts c = d.counts();
  check_identity(c);
  CHECK(c.clocks == 32 * (cycles - 1));
  CHECK(c.activation_clocks + c.younger_activation_clocks > c.clocks / 2);
}

TEST_CASE("memory clocks fall into exact core cycles", "[dram]") {
  struct Clocks {
    double core_ghz, memory_ns;
    std::uint64_t cycle, clock;  ///< lengths in one unit
  };
  constexpr std::uint64_t cycles = 10'000'000;
  for (const Clocks& k : {Clocks{1.6, 1.143, 625, 1143}, Clocks{1, 1, 1, 1},
                          Clocks{1, 0.833, 1000, 833}, Clocks{3, 1.25, 4, 15}}) {
    const DramClock clock(k.core_ghz, k.memory_ns);
    std::uint64_t n = 0, wrong = 0;
    for (std::uint64_t c = 0; c < cycles; ++c) {
      for (; (n + 1) * k.clock < (c + 1) * k.cycle; ++n) wrong += clock.cycle_of(n + 1) != c;
      wrong += clock.last_clock(c) != n;
    }
    CHECK(wrong == 0);
  }
  Machine m = machine_of();
  m.clock_ghz = 1.6;
  m.dram.timing = {};
  DramSystem d(m);
  Ids done;
  d.tick(cycles - 1, done);
  CHECK(d.counts().clocks == 32 * ((cycles * 625 - 1) / 1143));
  CHECK(d.counts().idle_clocks == d.counts().clocks);
  CHECK(d.counts().refreshes == 32 * 2 * ((cycles * 625 - 1) / 1143 / 3413));
}

TEST_CASE("a machine whose DRAM does not fit is refused", "[dram]") {
  Machine m = machine_of();
  m.dram.channels = 16;
  CHECK_THROWS_AS(DramSystem(m), std::invalid_argument);
  m = machine_of();
  m.clock_ghz = 0;
  CHECK_THROWS_AS(DramSystem(m), std::invalid_argument);
}

TEST_CASE("addresses are decoded as the mapping says", "[dram]") {
  std::mt19937_64 random(1);
  Machine m = machine_of();
  auto& fields = m.dram.mapping.fields;
  for (unsigned i = 0; i < 100; ++i) {
    std::shuffle(fields.begin(), fields.end(), random);
    const DramDecoder decoder(m.dram.mapping);
    const std::uint64_t address = random();
    CHECK(decoder.place(address) == place_of(m.dram.mapping, address));
    CHECK(decoder.channel(address) == place_of(m.dram.mapping, address).channel);
  }
}
