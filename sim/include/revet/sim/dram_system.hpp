/// All channels of off-chip memory behind the core's clock.
///
/// A request is for one 64-byte burst or half of it. Its accesses of 32 bytes go to the queues of
/// their channels; it is done when all of them are. A read of a burst that is on its way shares
/// what is asked for already. Time is exact: clock n of the channels happens in the core cycle that
/// contains its time, n times the memory clock, with the memory clock in whole picoseconds and the
/// core clock in whole MHz.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "revet/machine.hpp"
#include "revet/sim/dram.hpp"

namespace revet::sim {

/// The two clocks. Clocks and cycles count from 0, which start together.
class DramClock {
 public:
  /// Throws std::invalid_argument where one rounds to 0.
  DramClock(double core_ghz, double memory_ns);
  /// The last memory clock that happens in this core cycle or earlier.
  std::uint64_t last_clock(std::uint64_t cycle) const {
    return ((cycle + 1) * cycles_ + clocks_ - 1) / clocks_ - 1;
  }
  /// The core cycle in which a memory clock happens.
  std::uint64_t cycle_of(std::uint64_t clock) const { return clock * clocks_ / cycles_; }

 private:
  std::uint64_t clocks_, cycles_;  ///< a memory clock is clocks_ / cycles_ core cycles
};

struct DramSystemCounts {
  /// That moved between the channels and the memory; all that were asked for if memory is ideal.
  std::uint64_t bytes_read = 0, bytes_written = 0;
  std::uint64_t row_hits = 0, activates = 0, refreshes = 0;
  std::uint64_t forwarded = 0;  ///< accesses read from a write that waited
  std::uint64_t shared = 0;     ///< read requests that started no access

  /// Of all channels; each clock of a channel is one of the kinds of DramCounts.
  std::uint64_t clocks = 0;
  std::uint64_t idle_clocks = 0, column_clocks = 0, refresh_clocks = 0, activation_clocks = 0,
                younger_activation_clocks = 0, waiting_clocks = 0;
  /// Clocks in which a request waited for a command.
  std::uint64_t pending_clocks() const { return clocks - idle_clocks; }

  bool operator==(const DramSystemCounts&) const = default;
};

class DramSystem {
 public:
  /// Throws std::invalid_argument where the mapping does not fit the channels.
  explicit DramSystem(const Machine& machine);

  /// A request for part of one burst: `address` is aligned to 64 bytes, bit h of `halves` asks for
  /// the 32 bytes at 32 * h. Accepted in the core cycle after the last tick; false, and nothing is
  /// taken, if a queue that it needs is full. `id` comes back once, when all its accesses are done:
  /// of a read with its data, of a write when it is acknowledged.
  bool offer(std::uint64_t id, std::uint64_t address, unsigned halves, bool write);
  /// Advances to the end of the core cycle. Appends the ids that are done in it, by memory clock,
  /// channel and order in the channel. Cycles may be left out, but who offers in a cycle ticks to
  /// the one before it first.
  void tick(std::uint64_t cycle, std::vector<std::uint64_t>& done);
  bool idle() const { return pending_ == 0; }
  /// The first core cycle in which anything can happen to a request if nothing is offered;
  /// `never` when idle.
  std::uint64_t next_event() const;
  static constexpr std::uint64_t never = UINT64_MAX;

  DramSystemCounts counts() const;
  const std::vector<DramChannel>& channels() const { return channels_; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// Half h of request r is known as 2 * r + h.
  struct Request {
    std::uint64_t id = 0, burst = 0;
    unsigned left = 0;  ///< halves
    bool read = false;
    /// Of each half: the halves of other requests that share it, in order, and the next of those
    /// that share with it.
    std::array<std::uint32_t, 2> first{none, none}, last{none, none}, next{none, none};
  };

  /// The halves that are on their way and may be shared, by burst. Open addressing; a mapping that
  /// holds neither half is removed.
  class Bursts {
   public:
    struct Entry {
      std::uint64_t burst = 0;
      std::array<std::uint32_t, 2> halves{none, none};
      bool empty() const { return halves[0] == none && halves[1] == none; }
    };
    Bursts();
    Entry* find(std::uint64_t burst);
    /// Finds or adds; a new entry is to be filled.
    Entry& at(std::uint64_t burst);
    void erase(Entry* entry);

   private:
    std::size_t home(std::uint64_t burst) const;
    void grow();
    std::vector<Entry> entries_;
    std::size_t used_ = 0;
    unsigned shift_;
  };

  std::uint32_t take(std::uint64_t id, std::uint64_t burst, unsigned halves, bool write);
  bool share(std::uint64_t id, std::uint64_t burst, unsigned halves);
  bool fits(const std::array<DramPlace, 2>& places, unsigned halves, bool write) const;
  void visit(std::uint32_t channel, std::uint64_t clock, std::vector<std::uint64_t>& done);
  void finish(std::uint32_t half, std::vector<std::uint64_t>& done);
  void finish_half(std::uint32_t request, std::vector<std::uint64_t>& done);

  const DramClock clock_;
  const bool ideal_, coalescing_;
  const DramDecoder decoder_;
  const bool together_;  ///< the halves of a burst are neighbours in a row
  std::vector<DramChannel> channels_;
  std::vector<std::uint64_t> due_;  ///< of each channel, the clock to visit it; `never` if idle
  std::uint64_t next_due_ = never;
  std::uint64_t now_ = 0;    ///< memory clock
  std::uint64_t cycle_ = 0;  ///< core cycle after the last tick
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_;
  std::uint64_t pending_ = 0;  ///< requests
  Bursts bursts_;
  std::vector<std::uint64_t> finished_;             ///< halves, in one visit
  std::vector<std::uint64_t> offered_, finishing_;  ///< if ideal: ids of this cycle, the last
  DramSystemCounts counts_;                         ///< what the channels do not count
};

}  // namespace revet::sim
