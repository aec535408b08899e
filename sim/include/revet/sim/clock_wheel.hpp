#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace revet::sim {

/// Tells which places have come to a clock of their own, without looking at each at every clock.
/// Each of 64 slots holds the places to look at when its clock comes; a place whose clock was
/// changed since, or is farther than that, is put off again.
template <unsigned places>
class ClockWheel {
 public:
  static_assert(places <= 32);
  using Clock = std::int64_t;

  explicit ClockWheel(Clock all) { at_.fill(all); }
  Clock now() const { return now_; }
  Clock at(unsigned place) const { return at_[place]; }
  /// A mask of the places whose clock is not later than that of the last `advance`.
  std::uint32_t reached() const { return reached_; }

  void set(unsigned place, Clock at) {
    at_[place] = at;
    wait(place);
  }
  void advance(Clock now) {
    const Clock before = std::exchange(now_, now);
    std::uint64_t due = occupied_;
    if (due == 0) return;
    // The slots of the clocks that passed.
    if (now - before < 64)
      due &= std::rotl((std::uint64_t{1} << (now - before)) - 1, static_cast<int>(before + 1) & 63);
    occupied_ &= ~due;
    for (; due != 0; due &= due - 1) {
      std::uint32_t& slot = slots_[static_cast<unsigned>(std::countr_zero(due))];
      for (std::uint32_t left = std::exchange(slot, 0); left != 0; left &= left - 1)
        wait(static_cast<unsigned>(std::countr_zero(left)));
    }
  }

 private:
  /// Sees to it that the place is looked at when its clock comes; sooner, if that is far.
  void wait(unsigned place) {
    const std::uint32_t bit = std::uint32_t{1} << place;
    if (at_[place] <= now_) {
      reached_ |= bit;
      return;
    }
    reached_ &= ~bit;
    const auto slot = static_cast<unsigned>(std::min(at_[place], now_ + 63) & 63);
    slots_[slot] |= bit;
    occupied_ |= std::uint64_t{1} << slot;
  }

  Clock now_ = 0;
  std::uint32_t reached_ = (std::uint64_t{1} << places) - 1;
  std::uint64_t occupied_ = 0;  ///< slots
  std::array<std::uint32_t, 64> slots_{};
  std::array<Clock, places> at_;
};

}  // namespace revet::sim
