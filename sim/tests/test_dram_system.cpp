// All channels of DRAM behind the core's clock: sharing, halves, back-pressure, accounting, clocks.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "revet/sim/dram_system.hpp"

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
  m.dram.mapping.fields = {
      {DramMapping::column, 1},     {DramMapping::channel, 5}, {DramMapping::pseudo_channel, 1},
      {DramMapping::bank_group, 2}, {DramMapping::column, 4},  {DramMapping::bank, 2},
      {DramMapping::row, 14}};
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
