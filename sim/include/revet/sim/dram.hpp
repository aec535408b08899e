/// Off-chip memory: one HBM2 channel, its controller and two pseudo-channels, clock by clock.
///
/// The protocol is that of the interface: an ACT takes two clocks of the row bus (more in other presets), every other
/// command one; one column and one row command in a clock, shared by the pseudo-channels; banks,
/// bank groups and pseudo-channels each have their distances. The controller is first-ready,
/// first-come first-served with an open page: the column slot goes to the oldest request whose own
/// row was opened, else to the oldest row hit; the row slot to a refresh, else to the oldest
/// request that needs a row, but a row that an older hit still waits for is not closed. Reads go
/// first; writes are drained when their queue is nearly full, or no read waits.
///
/// Validated against measurements of a public simulator (sim/tests/test_dram.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "revet/machine.hpp"

namespace revet::sim {

using revet::DramMapping;
using revet::DramTiming;

struct DramPlace {
  std::uint32_t channel = 0;
  std::uint32_t pseudo_channel = 0, bank_group = 0, bank = 0, row = 0, column = 0;
};
DramPlace place_of(const DramMapping& mapping, std::uint64_t address);

struct DramCounts {
  std::uint64_t reads = 0, writes = 0, activates = 0, precharges = 0, refreshes = 0;
  std::uint64_t row_hits = 0;        ///< requests whose row was open at their first command
  std::uint64_t forwarded = 0;       ///< reads answered from a write that waited
  std::uint64_t pending_clocks = 0;  ///< with a request in the controller
};

class DramChannel {
 public:
  static constexpr unsigned banks_in_group = 4, groups = 4, pseudo_channels = 2;

  explicit DramChannel(const DramTiming& timing, unsigned read_queue = 32,
                       unsigned write_queue = 32);

  /// Takes a request at this clock, before its tick; false where its queue is full. `id` is given
  /// back when it is done.
  bool offer(std::uint64_t id, const DramPlace& place, bool write);
  /// One clock. Ids of requests that are done in it are appended to `done`: a read when its last
  /// data is there, a write when its command issues.
  void tick(std::vector<std::uint64_t>& done);

  std::uint64_t now() const { return now_; }
  bool idle() const;
  const DramCounts& counts() const { return counts_; }

 private:
  using Clock = std::int64_t;

  struct Request {
    std::uint64_t id;
    std::uint64_t age;  ///< order of arrival
    unsigned bank;      ///< of all banks of the channel
    std::uint32_t row;
    std::uint32_t column;
    bool write;
    bool started = false;  ///< its first command was issued
  };
  struct Bank {
    bool open = false;
    std::uint32_t row = 0;
    unsigned owners = 0;  ///< requests whose ACT was issued and whose column command was not
    Clock activated, may_activate, may_precharge;
  };
  struct PseudoChannel {
    std::array<Clock, 4> activates;  ///< the last four, a ring
    unsigned next = 0;
    Clock last_activate;
    unsigned last_activate_group = 0;
    Clock last_read, last_write;
    unsigned last_read_group = 0, last_write_group = 0;
  };

  static unsigned pseudo_channel(unsigned bank) { return bank / (groups * banks_in_group); }
  static unsigned group(unsigned bank) { return bank / banks_in_group % groups; }
  bool may_column(const Request& r) const;
  bool may_activate(unsigned bank) const;
  void column_slot(std::vector<std::uint64_t>& done);
  void row_slot();
  bool refresh();
  bool hit_waits(const Request& older_than) const;
  void issue_column(Request r, std::vector<std::uint64_t>& done);
  void activate(unsigned bank, std::uint32_t row);
  void precharge(unsigned bank);
  void choose_mode();

  const DramTiming t_;
  const std::size_t read_limit_, write_limit_;
  Clock now_ = 0;
  std::uint64_t arrivals_ = 0;
  std::vector<Request> reads_, writes_;  ///< without a row of their own, the oldest first
  std::vector<Request> active_;          ///< whose own ACT was issued, the oldest first
  bool writing_ = false;
  std::array<Bank, pseudo_channels * groups * banks_in_group> banks_;
  std::array<PseudoChannel, pseudo_channels> pcs_;
  Clock row_bus_free_ = 0;
  Clock next_refresh_;
  std::deque<unsigned> refreshes_;                         ///< pseudo-channels that are due
  std::deque<std::pair<Clock, std::uint64_t>> returning_;  ///< reads, by the clock of their data
  DramCounts counts_;
};

}  // namespace revet::sim
