/// Off-chip memory: one HBM2 channel, its controller and two pseudo-channels, exact to the clock.
///
/// The protocol is that of the interface: an ACT takes two clocks of the row bus (more in other
/// presets), every other command one; one column and one row command in a clock, shared by the
/// pseudo-channels; banks, bank groups and pseudo-channels each have their distances. The
/// controller is first-ready, first-come first-served with an open page: the column slot goes to
/// the oldest request whose own row was opened, else to the oldest row hit; the row slot to a
/// refresh, else to the oldest request that needs a row, but a row that an older hit still waits
/// for is not closed. Reads go first; writes are drained when their queue is nearly full, or no
/// read waits.
///
/// Validated against measurements of a public simulator (sim/tests/test_dram.cpp). Clocks at which
/// nothing can happen are not visited; a model that visits all, sim/tests/naive_dram.hpp, gives the
/// same completions and counts.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "revet/machine.hpp"
#include "revet/sim/clock_wheel.hpp"
#include "revet/sim/dram_place.hpp"

namespace revet::sim {

using revet::DramTiming;

struct DramCounts {
  std::uint64_t reads = 0, writes = 0, activates = 0, precharges = 0, refreshes = 0;
  std::uint64_t row_hits = 0;   ///< requests whose row was open at their first command
  std::uint64_t forwarded = 0;  ///< reads answered from a write that waited

  // Each clock is one of these, the first that holds. A request is held back by activations if its
  // ACT or PRE waits for the row bus, tRRD, tFAW or tRC, and for nothing else.
  std::uint64_t idle_clocks = 0;        ///< no request waits for a command
  std::uint64_t column_clocks = 0;      ///< a column command issues
  std::uint64_t refresh_clocks = 0;     ///< requests wait for a refresh
  std::uint64_t activation_clocks = 0;  ///< activations hold back the oldest request without a row
                                        ///< of its own that the present mode serves
  std::uint64_t younger_activation_clocks = 0;  ///< activations hold back another of them
  std::uint64_t waiting_clocks = 0;             ///< any other wait

  bool operator==(const DramCounts&) const = default;
};

class DramChannel {
 public:
  static constexpr unsigned banks_in_group = 4, groups = 4, pseudo_channels = 2;
  static constexpr unsigned banks = pseudo_channels * groups * banks_in_group;

  explicit DramChannel(const DramTiming& timing, unsigned read_queue = 32,
                       unsigned write_queue = 32);

  /// Takes a request at this clock, before the tick to the next; false where its queue is full.
  /// `id` is given back when it is done. What is accepted at a clock issues its first command at
  /// the next.
  bool offer(std::uint64_t id, const DramPlace& place, bool write);
  /// Entries that are free in the queue.
  unsigned room(bool write) const { return queues_[write].limit - queues_[write].size; }
  /// True if a read is answered from a write that waits, which needs no entry.
  bool forwards(const DramPlace& place) const;
  /// False if no read at all is answered so.
  bool may_forward() const { return waiting_writes_ != 0; }

  /// One clock. Ids of requests that are done in it are appended to `done`: a write when its
  /// command issues, a read when its last data is there.
  void tick(std::vector<std::uint64_t>& done) { advance(now() + 1, done); }
  /// All clocks up to this one.
  void advance(std::uint64_t clock, std::vector<std::uint64_t>& done);

  std::uint64_t now() const { return static_cast<std::uint64_t>(now_); }
  /// The first clock after now at which anything can happen if nothing is offered. Refreshes
  /// count.
  std::uint64_t wake() const { return static_cast<std::uint64_t>(wake_); }
  /// No request waits and no data is on its way.
  bool idle() const { return waiting_ == 0 && returning_ == 0 && forwarded_.empty(); }
  /// Of the clocks up to now.
  DramCounts counts() const;

 private:
  using Clock = std::int64_t;
  using Slot = std::uint32_t;
  static constexpr Slot none = 0xFFFFFFFF;
  static constexpr Clock never = INT64_MAX / 2;

  struct Request {
    std::uint64_t id = 0;
    std::uint64_t age = 0;  ///< order of arrival
    std::uint32_t row = 0, column = 0;
    std::uint8_t bank = 0;  ///< of all banks of the channel
    bool write = false;
    bool started = false;               ///< its first command was issued
    Slot next = none, previous = none;  ///< in its queue, by age
    Slot younger = none, older = none;  ///< of its bank in its queue
  };
  /// The requests of one kind that have no row of their own. Masks have a bit for each bank.
  struct Queue {
    unsigned limit = 0, size = 0;
    Slot head = none, tail = none;
    std::uint32_t hits = 0, misses = 0;
    std::uint32_t held = 0;  ///< a hit is older than every miss
    /// Of each bank: its requests, the oldest that finds its row open and the oldest that does not.
    std::array<Slot, banks> first, last, hit, miss;
    std::array<std::uint64_t, banks> hit_age, miss_age;
  };
  struct PseudoChannel {
    std::array<Clock, 4> activates;  ///< the last four, a ring
    unsigned next = 0;
    Clock refreshed;  ///< end of the refresh
  };
  /// The least clocks of commands to the banks of a group, by the bus and the pseudo-channel.
  struct Group {
    Clock activate, read, write;
    Clock read_after_read, read_after_write, write_after_read, write_after_write;
  };

  static unsigned group_of(unsigned bank) { return bank / banks_in_group; }
  static unsigned pseudo_channel_of(unsigned bank) { return bank / (groups * banks_in_group); }
  static std::uint32_t bit(unsigned bank) { return std::uint32_t{1} << bank; }
  bool is_open(unsigned bank) const { return (open_ & bit(bank)) != 0; }
  unsigned bank_of(const DramPlace& place) const {
    return (place.pseudo_channel * groups + place.bank_group) * banks_in_group + place.bank;
  }

  /// The banks of the groups of which `is` holds.
  template <typename Is>
  std::uint32_t of_groups(const Is& is) const {
    std::uint32_t out = 0;
    for (unsigned g = 0; g < groups_.size(); ++g)
      out |= static_cast<std::uint32_t>(is(groups_[g])) << (g * banks_in_group);
    return out * (bit(banks_in_group) - 1);
  }

  void append(Queue& q, Slot slot);
  void remove(Queue& q, Slot slot);
  void find_hit(Queue& q, unsigned bank, Slot from);
  void find_miss(Queue& q, unsigned bank, Slot from);
  void update_held(Queue& q, unsigned bank);

  void step(std::vector<std::uint64_t>& done);
  void rest();
  bool mode_changes() const;
  Clock column_clock(unsigned bank, bool write) const;
  std::uint32_t column_ready(bool write) const;
  Clock soonest_owner() const;
  bool column_slot(std::vector<std::uint64_t>& done);
  void issue_column(Slot slot, std::vector<std::uint64_t>& done);
  Clock row_clock(unsigned bank) const;
  Clock otherwise_clock(unsigned bank) const;
  /// Banks in which the oldest request without its row open may need a row command.
  std::uint32_t row_candidates() const {
    const Queue& q = queues_[writing_];
    return q.misses & ~(open_ & (active_ | q.held));
  }
  std::uint32_t row_ready() const;
  std::uint64_t younger_held(Clock from, Clock to) const;
  bool younger_held_now() const;
  void row_slot();
  void refresh();
  void activate(Slot slot);
  void precharge(unsigned bank);
  void account(DramCounts& counts, Clock from, Clock to) const;
  void settle(Clock to) {
    if (settled_ < to) account(counts_, settled_ + 1, to);
    settled_ = to;
  }

  DramTiming t_;
  Clock late_;                               ///< an ACT counts from its last clock on the bus
  unsigned drain_until_ = 0, drain_at_ = 0;  ///< writes below, from which the mode changes
  Clock now_ = 0, wake_ = 0;
  Clock settled_ = 0;  ///< the last clock in the counts
  /// No column, row command can issue earlier unless something is offered.
  Clock column_wake_ = 0, row_wake_ = 0;
  std::uint64_t arrivals_ = 0;
  std::vector<Request> requests_;
  std::vector<Slot> free_;
  unsigned waiting_ = 0, waiting_writes_ = 0;  ///< requests without a column command
  std::array<Queue, 2> queues_;                ///< reads, writes
  bool writing_ = false;

  // Banks with an open row; of them, whose row's owner waits; of them, those of writes.
  std::uint32_t open_ = 0, active_ = 0, active_writes_ = 0;
  std::array<Slot, banks> owner_;  ///< whose ACT was issued and whose column command was not
  std::array<std::uint32_t, banks> row_;
  std::array<Clock, banks> may_activate_, precharged_;  ///< by all that the bank asks, by tRP
  std::uint32_t again_ = 0;  ///< closed banks whose ACT tRC holds back longer than tRP
  /// The least clock of the row command that comes next, PRE or ACT, by what the bank asks.
  ClockWheel<banks> row_command_;
  std::array<ClockWheel<banks>, 2> column_command_;  ///< by tRCD, of reads, writes
  std::array<Group, pseudo_channels * groups> groups_;
  std::array<PseudoChannel, pseudo_channels> pcs_;

  Clock row_bus_free_ = 0;
  Clock next_refresh_;
  unsigned refreshes_ = 0, refreshing_ = 0;  ///< due, and the pseudo-channel of the first
  /// Reads by the clock of their data, a ring.
  std::vector<std::pair<Clock, std::uint64_t>> data_;
  unsigned first_data_ = 0, returning_ = 0;
  std::vector<std::uint64_t> forwarded_;  ///< done at the next clock
  DramCounts counts_;
};

}  // namespace revet::sim
