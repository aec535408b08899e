// What the clocks of a channel of DRAM went to.
#include <algorithm>
#include <bit>

#include "revet/sim/dram.hpp"

namespace revet::sim {

/// Counts the clocks from `from` to `to`, in which the state is as it is and no column command
/// issues.
void DramChannel::account(DramCounts& counts, Clock from, Clock to) const {
  const auto all = static_cast<std::uint64_t>(to - from + 1);
  if (waiting_ == 0) {
    counts.idle_clocks += all;
    return;
  }
  if (refreshes_ != 0) {
    counts.refresh_clocks += all;
    return;
  }
  const Queue& q = queues_[writing_];
  if (q.head == none) {
    counts.waiting_clocks += all;
    return;
  }
  const auto overlap = [&](Clock begin, Clock end) {
    return static_cast<std::uint64_t>(
        std::max<Clock>(0, std::min(to + 1, end) - std::max(from, begin)));
  };
  const Request& r = requests_[q.head];
  const unsigned b = r.bank;
  const Clock refreshed = pcs_[pseudo_channel_of(b)].refreshed - late_;
  const std::uint64_t refresh = overlap(from, refreshed);
  std::uint64_t activation = 0;
  if ((row_candidates() & bit(b)) != 0 && q.miss[b] == q.head)
    activation = overlap(std::max(otherwise_clock(b), refreshed), row_clock(b));
  const Clock first = std::max(from, refreshed);
  std::uint64_t younger = 0;
  if (first <= to && activation != all) younger = younger_held(first, to) - activation;
  counts.refresh_clocks += refresh;
  counts.activation_clocks += activation;
  counts.younger_activation_clocks += younger;
  counts.waiting_clocks += all - refresh - activation - younger;
}

/// The least clock of the row command that the bank needs, if activations held back nothing.
DramChannel::Clock DramChannel::otherwise_clock(unsigned bank) const {
  return (again_ & bit(bank)) != 0 ? precharged_[bank] - late_ : row_command_.at(bank);
}

/// Of these clocks, those in which activations hold back any request.
std::uint64_t DramChannel::younger_held(Clock from, Clock to) const {
  if (from == row_command_.now()) return younger_held_now();
  // Nothing issues in clocks that are not visited.
  Clock first = from;
  if ((row_candidates() & row_command_.reached()) == 0) {
    first = never;
    for (std::uint32_t left = row_candidates(); left != 0; left &= left - 1)
      first = std::min(first, otherwise_clock(static_cast<unsigned>(std::countr_zero(left))));
  }
  return static_cast<std::uint64_t>(std::max<Clock>(0, to - std::max(from, first) + 1));
}

/// The same of the clock that is visited. A row command that issues is not held back, but what it
/// goes before is.
bool DramChannel::younger_held_now() const {
  const std::uint32_t candidates = row_candidates();
  std::uint32_t otherwise = candidates & row_command_.reached();
  for (std::uint32_t left = candidates & again_ & ~otherwise; left != 0; left &= left - 1)
    if (precharged_[static_cast<unsigned>(std::countr_zero(left))] - late_ <= now_)
      otherwise |= bit(static_cast<unsigned>(std::countr_zero(left)));
  if (now_ < row_wake_ || now_ < row_bus_free_ || row_ready() == 0) return otherwise != 0;
  return (otherwise & (otherwise - 1)) != 0;
}

DramCounts DramChannel::counts() const {
  DramCounts out = counts_;
  if (settled_ < now_) account(out, settled_ + 1, now_);
  return out;
}

}  // namespace revet::sim
