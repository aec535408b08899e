// A channel that visits only clocks at which something can happen against one that visits all:
// the same acceptances, completions and counts.
#include <catch2/catch.hpp>
#include <random>

#include "naive_dram.hpp"

using namespace revet::sim;

namespace {

struct Stream {
  unsigned read_queue, write_queue;
  unsigned writes;    ///< percent
  unsigned repeats;   ///< percent of requests near the last one
  unsigned banks;     ///< that are used
  unsigned burst;     ///< most offers at one clock
  unsigned gap;       ///< mean clocks between offers
  unsigned long_gap;  ///< every so many offers, a gap of several refreshes
};

using Done = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  ///< clock, id

struct Both {
  Both(const DramTiming& timing, const Stream& s)
      : naive(timing, s.read_queue, s.write_queue),
        ticked(timing, s.read_queue, s.write_queue),
        skipping(timing, s.read_queue, s.write_queue) {}

  void offer(std::uint64_t id, const DramPlace& place, bool write) {
    const bool taken = naive.offer(id, place, write);
    REQUIRE(ticked.offer(id, place, write) == taken);
    REQUIRE(skipping.offer(id, place, write) == taken);
  }

  void advance(std::uint64_t clock) {
    std::vector<std::uint64_t> done;
    const auto record = [&](Done& to, std::uint64_t now) {
      for (const std::uint64_t id : done) to.emplace_back(now, id);
      done.clear();
    };
    while (naive.now() < clock) {
      naive.tick(done);
      record(wanted, naive.now());
      ticked.tick(done);
      record(got_ticked, ticked.now());
    }
    while (skipping.wake() <= clock) {
      skipping.advance(skipping.wake(), done);
      record(got_skipping, skipping.now());
      ++visits;
    }
    skipping.advance(clock, done);
    REQUIRE(done.empty());
  }

  void compare() {
    REQUIRE(got_ticked == wanted);
    REQUIRE(got_skipping == wanted);
    REQUIRE(ticked.counts() == naive.counts());
    REQUIRE(skipping.counts() == naive.counts());
    REQUIRE(ticked.idle() == naive.idle());
    REQUIRE(skipping.idle() == naive.idle());
  }

  NaiveChannel naive;
  DramChannel ticked, skipping;
  Done wanted, got_ticked, got_skipping;
  std::uint64_t visits = 0;
};

void run(const DramTiming& timing, const Stream& s, unsigned seed, std::uint64_t offers) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
  Both both(timing, s);
  DramPlace place;
  std::uint64_t clock = 0;
  for (std::uint64_t id = 0; id < offers;) {
    for (unsigned n = 1 + below(s.burst); n != 0; --n, ++id) {
      if (below(100) < s.repeats) {
        place.column = (place.column + below(3)) % 32;
      } else {
        const unsigned bank = below(s.banks);
        place = {0, bank / 16, bank / 4 % 4, bank % 4, below(4), below(32)};
      }
      both.offer(id, place, below(100) < s.writes);
    }
    clock += s.gap == 0 ? 1 : below(2 * s.gap + 1);
    if (id % s.long_gap == 0) clock += 1 + below(30'000);
    both.advance(clock);
    if (below(64) == 0) both.compare();
  }
  both.advance(clock + 20'000);
  both.compare();
  const DramCounts& c = both.naive.counts();
  CHECK(c.idle_clocks + c.column_clocks + c.refresh_clocks + c.activation_clocks +
            c.younger_activation_clocks + c.waiting_clocks ==
        both.naive.now());
  CHECK(both.visits < both.naive.now());
}

}  // namespace

TEST_CASE("skipping quiet clocks changes nothing", "[dram]") {
  const DramTiming shipped;
  DramTiming other = {1, 14, 5,  2, 14, 12, 14, 34, 48,  2,   4,
                      4, 6,  40, 6, 8,  13, 16, 5,  160, 700, 3};
  const std::vector<Stream> streams = {
      {32, 32, 0, 0, 32, 1, 0, 100'000},    // saturated reads
      {32, 32, 30, 50, 32, 2, 1, 100'000},  // saturated, mixed
      {32, 32, 100, 70, 32, 1, 1, 5'000},   // writes
      {4, 4, 40, 20, 32, 8, 10, 1'000},     // small queues
      {1, 1, 50, 50, 3, 1, 4, 500},         // smallest queues
      {32, 32, 20, 80, 32, 40, 60, 200},    // bursts, with gaps
      {64, 48, 50, 0, 4, 3, 8, 2'000},      // few banks
      {32, 32, 50, 95, 2, 2, 3, 10'000},    // row hits, much forwarding
      {32, 32, 10, 30, 32, 1, 200, 40},     // nearly idle
  };
  for (const DramTiming& timing : {shipped, other})
    for (std::size_t i = 0; i < streams.size(); ++i)
      for (unsigned seed = 0; seed < 2; ++seed) {
        INFO("stream " << i << ", seed " << seed << ", refresh " << timing.refi);
        run(timing, streams[i], seed, i < 3 ? 20'000 : 6'000);
      }
  DramTiming unrefreshed;
  unrefreshed.refi = 0;
  run(unrefreshed, streams[1], 3, 5'000);
}

TEST_CASE("longer random streams through a channel", "[.][dram-all]") {
  std::mt19937 random(1);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  for (unsigned seed = 0; seed < 300; ++seed) {
    DramTiming t;
    for (unsigned* of : {&t.ccd_s, &t.ccd_l, &t.rrd_s, &t.rrd_l, &t.act, &t.cwl, &t.rtp})
      *of = 1 + below(6);
    for (unsigned* of : {&t.rcd_rd, &t.rcd_wr, &t.rp, &t.cl, &t.wr, &t.rtw, &t.wtr_s, &t.wtr_l})
      *of = 1 + below(20);
    t.ras = 10 + below(40);
    t.rc = t.ras + below(20);
    t.faw = 4 + below(50);
    t.rfc = 50 + below(200);
    t.refi = 600 + below(4000);
    const Stream s = {1 + below(48), 1 + below(48), below(101), below(101),
                      1 + below(32), 1 + below(20), below(40),  100 + below(5000)};
    INFO("seed " << seed);
    run(t, s, seed, 10'000);
  }
}
