/// The same HBM2 channel as revet/sim/dram.hpp written the plain way: every clock is visited and
/// every queue searched. What the fast one must agree with, clock by clock.
#pragma once

#include <deque>

#include "revet/sim/dram.hpp"

namespace revet::sim {

class NaiveChannel {
 public:
  NaiveChannel(const DramTiming& timing, unsigned read_queue, unsigned write_queue);
  bool offer(std::uint64_t id, const DramPlace& place, bool write);
  void tick(std::vector<std::uint64_t>& done);
  std::uint64_t now() const { return static_cast<std::uint64_t>(now_); }
  bool idle() const;
  const DramCounts& counts() const { return counts_; }

 private:
  using Clock = std::int64_t;
  static constexpr unsigned banks_in_group = DramChannel::banks_in_group,
                            groups = DramChannel::groups,
                            pseudo_channels = DramChannel::pseudo_channels;

  struct Request {
    std::uint64_t id;
    std::uint64_t age;
    unsigned bank;
    std::uint32_t row;
    std::uint32_t column;
    bool write;
    bool started = false;
  };
  struct Bank {
    bool open = false;
    std::uint32_t row = 0;
    unsigned owners = 0;  ///< requests whose ACT was issued and whose column command was not
    Clock activated, may_precharge;
    Clock precharged, activated_again, refreshed;  ///< least clocks of an ACT by tRP, tRC, tRFC
  };
  struct PseudoChannel {
    std::array<Clock, 4> activates;
    unsigned next = 0;
    Clock last_activate;
    unsigned last_activate_group = 0;
    Clock last_read, last_write;
    unsigned last_read_group = 0, last_write_group = 0;
  };

  static unsigned pseudo_channel(unsigned bank) { return bank / (groups * banks_in_group); }
  static unsigned group(unsigned bank) { return bank / banks_in_group % groups; }
  static Clock may_activate(const Bank& b);
  bool may_column(const Request& r) const;
  bool activates_are_apart(unsigned bank) const;
  bool column_slot(std::vector<std::uint64_t>& done);
  void row_slot();
  bool refresh();
  bool hit_waits(const Request& older_than) const;
  void issue_column(Request r, std::vector<std::uint64_t>& done);
  void activate(unsigned bank, std::uint32_t row);
  void choose_mode();
  bool otherwise_ready(const Request& r) const;
  bool ready(const Request& r) const;
  void classify();

  const DramTiming t_;
  const std::size_t read_limit_, write_limit_;
  Clock now_ = 0;
  std::uint64_t arrivals_ = 0;
  std::vector<Request> reads_, writes_, active_;
  bool writing_ = false;
  std::array<Bank, pseudo_channels * groups * banks_in_group> banks_;
  std::array<PseudoChannel, pseudo_channels> pcs_;
  Clock row_bus_free_ = 0;
  Clock next_refresh_;
  std::deque<unsigned> refreshes_;
  std::vector<std::uint64_t> forwarded_;
  std::deque<std::pair<Clock, std::uint64_t>> returning_;
  DramCounts counts_;
};

}  // namespace revet::sim
