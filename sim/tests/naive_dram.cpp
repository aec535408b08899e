#include "naive_dram.hpp"

#include <algorithm>

namespace revet::sim {
namespace {

constexpr std::int64_t long_ago = -1'000'000;

}  // namespace

NaiveChannel::NaiveChannel(const DramTiming& timing, unsigned read_queue, unsigned write_queue)
    : t_(timing), read_limit_(read_queue), write_limit_(write_queue), next_refresh_(timing.refi) {
  for (Bank& b : banks_)
    b.activated = b.may_precharge = b.precharged = b.activated_again = b.refreshed = long_ago;
  for (PseudoChannel& p : pcs_) {
    p.activates.fill(long_ago);
    p.last_activate = p.last_read = p.last_write = long_ago;
  }
}

bool NaiveChannel::offer(std::uint64_t id, const DramPlace& place, bool write) {
  std::vector<Request>& queue = write ? writes_ : reads_;
  const unsigned bank =
      (place.pseudo_channel * groups + place.bank_group) * banks_in_group + place.bank;
  Request r{id, arrivals_, bank, place.row, place.column, write};
  if (!write) {
    const auto same = [&](const Request& w) {
      return w.write && w.bank == bank && w.row == place.row && w.column == place.column;
    };
    if (std::any_of(writes_.begin(), writes_.end(), same) ||
        std::any_of(active_.begin(), active_.end(), same)) {
      ++counts_.forwarded;
      forwarded_.push_back(id);
      return true;
    }
  }
  if (queue.size() >= (write ? write_limit_ : read_limit_)) return false;
  ++arrivals_;
  queue.push_back(r);
  return true;
}

bool NaiveChannel::idle() const {
  return reads_.empty() && writes_.empty() && active_.empty() && returning_.empty() &&
         forwarded_.empty();
}

void NaiveChannel::tick(std::vector<std::uint64_t>& done) {
  // What was accepted at this clock issues its first command at the next.
  ++now_;
  const bool waits = !reads_.empty() || !writes_.empty() || !active_.empty();
  if (t_.refi != 0 && now_ >= next_refresh_) {
    for (unsigned p = 0; p < pseudo_channels; ++p) refreshes_.push_back(p);
    next_refresh_ += t_.refi;
  }
  choose_mode();
  if (!waits)
    ++counts_.idle_clocks;
  else if (column_slot(done))
    ++counts_.column_clocks;
  else
    classify();
  if (now_ >= row_bus_free_) row_slot();
  done.insert(done.end(), forwarded_.begin(), forwarded_.end());
  forwarded_.clear();
  while (!returning_.empty() && returning_.front().first <= now_) {
    done.push_back(returning_.front().second);
    returning_.pop_front();
  }
}

void NaiveChannel::choose_mode() {
  if (writing_) {
    if (static_cast<double>(writes_.size()) < 0.2 * static_cast<double>(write_limit_) &&
        !reads_.empty())
      writing_ = false;
  } else if (static_cast<double>(writes_.size()) > 0.8 * static_cast<double>(write_limit_) ||
             reads_.empty()) {
    writing_ = true;
  }
}

bool NaiveChannel::may_column(const Request& r) const {
  const Bank& b = banks_[r.bank];
  if (!b.open || b.row != r.row) return false;
  const PseudoChannel& p = pcs_[pseudo_channel(r.bank)];
  const unsigned g = group(r.bank);
  if (now_ < b.activated + (r.write ? t_.rcd_wr : t_.rcd_rd)) return false;
  const auto apart = [&](unsigned other) { return g == other ? t_.ccd_l : t_.ccd_s; };
  if (r.write)
    return now_ >= p.last_write + apart(p.last_write_group) && now_ >= p.last_read + t_.rtw;
  const unsigned wtr = g == p.last_write_group ? t_.wtr_l : t_.wtr_s;
  return now_ >= p.last_read + apart(p.last_read_group) &&
         now_ >= p.last_write + t_.cwl + t_.burst + wtr;
}

bool NaiveChannel::column_slot(std::vector<std::uint64_t>& done) {
  for (std::size_t i = 0; i < active_.size(); ++i)
    if (may_column(active_[i])) {
      const Request r = active_[i];
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
      --banks_[r.bank].owners;
      issue_column(r, done);
      return true;
    }
  if (!refreshes_.empty()) return false;
  std::vector<Request>& queue = writing_ ? writes_ : reads_;
  for (std::size_t i = 0; i < queue.size(); ++i)
    if (may_column(queue[i])) {
      const Request r = queue[i];
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
      if (!r.started) ++counts_.row_hits;
      issue_column(r, done);
      return true;
    }
  return false;
}

void NaiveChannel::issue_column(Request r, std::vector<std::uint64_t>& done) {
  Bank& b = banks_[r.bank];
  PseudoChannel& p = pcs_[pseudo_channel(r.bank)];
  if (r.write) {
    ++counts_.writes;
    p.last_write = now_;
    p.last_write_group = group(r.bank);
    b.may_precharge =
        std::max(b.may_precharge, now_ + static_cast<Clock>(t_.cwl + t_.burst + t_.wr));
    done.push_back(r.id);
    return;
  }
  ++counts_.reads;
  p.last_read = now_;
  p.last_read_group = group(r.bank);
  b.may_precharge = std::max(b.may_precharge, now_ + static_cast<Clock>(t_.rtp));
  returning_.emplace_back(now_ + t_.cl + t_.burst, r.id);
}

NaiveChannel::Clock NaiveChannel::may_activate(const Bank& b) {
  return std::max({b.precharged, b.activated_again, b.refreshed});
}

/// From other ACTs of the pseudo-channel, by tRRD and tFAW.
bool NaiveChannel::activates_are_apart(unsigned bank) const {
  // An ACT counts from its last clock on the bus.
  const Clock at = now_ + t_.act - 1;
  const PseudoChannel& p = pcs_[pseudo_channel(bank)];
  const unsigned rrd = group(bank) == p.last_activate_group ? t_.rrd_l : t_.rrd_s;
  return at >= p.last_activate + rrd && at >= p.activates[p.next] + t_.faw;
}

/// The row command that the request needs could issue but for the row bus and other ACTs.
bool NaiveChannel::otherwise_ready(const Request& r) const {
  const Bank& b = banks_[r.bank];
  if (b.open) return b.row != r.row && b.owners == 0 && now_ >= b.may_precharge && !hit_waits(r);
  return now_ + t_.act - 1 >= std::max(b.precharged, b.refreshed);
}

bool NaiveChannel::ready(const Request& r) const {
  const Bank& b = banks_[r.bank];
  return otherwise_ready(r) && now_ >= row_bus_free_ &&
         (b.open || (now_ + t_.act - 1 >= b.activated_again && activates_are_apart(r.bank)));
}

/// The kind of a clock in which a request waits and no column command issues.
void NaiveChannel::classify() {
  const std::vector<Request>& queue = writing_ ? writes_ : reads_;
  if (!refreshes_.empty()) {
    ++counts_.refresh_clocks;
    return;
  }
  if (queue.empty()) {
    ++counts_.waiting_clocks;
    return;
  }
  const Request& oldest = queue.front();
  if (now_ + t_.act - 1 < banks_[oldest.bank].refreshed) {
    ++counts_.refresh_clocks;
    return;
  }
  if (otherwise_ready(oldest) && !ready(oldest)) {
    ++counts_.activation_clocks;
    return;
  }
  const auto issues =
      std::find_if(queue.begin(), queue.end(), [&](const Request& r) { return ready(r); });
  const bool held = std::any_of(queue.begin(), queue.end(), [&](const Request& r) {
    return otherwise_ready(r) && (issues == queue.end() || r.bank != issues->bank);
  });
  ++(held ? counts_.younger_activation_clocks : counts_.waiting_clocks);
}

void NaiveChannel::activate(unsigned bank, std::uint32_t row) {
  ++counts_.activates;
  const Clock at = now_ + t_.act - 1;
  Bank& b = banks_[bank];
  PseudoChannel& p = pcs_[pseudo_channel(bank)];
  b.open = true;
  b.row = row;
  b.activated = at;
  b.may_precharge = at + t_.ras;
  b.activated_again = at + t_.rc;
  p.last_activate = at;
  p.last_activate_group = group(bank);
  p.activates[p.next] = at;
  p.next = (p.next + 1) % 4;
  row_bus_free_ = now_ + t_.act;
}

/// True if a request that came no later waits for the row that is open in the bank.
bool NaiveChannel::hit_waits(const Request& older_than) const {
  const Bank& b = banks_[older_than.bank];
  const std::vector<Request>& queue = writing_ ? writes_ : reads_;
  return std::any_of(queue.begin(), queue.end(), [&](const Request& r) {
    return r.age <= older_than.age && r.bank == older_than.bank && r.row == b.row;
  });
}

bool NaiveChannel::refresh() {
  if (refreshes_.empty()) return false;
  const unsigned pc = refreshes_.front();
  const unsigned first = pc * groups * banks_in_group;
  const unsigned last = first + groups * banks_in_group;
  bool open = false;
  for (unsigned i = first; i < last; ++i) {
    const Bank& b = banks_[i];
    if (b.owners != 0) return true;
    open |= b.open;
  }
  if (open) {
    // All banks at once.
    for (unsigned i = first; i < last; ++i)
      if (banks_[i].open && now_ < banks_[i].may_precharge) return true;
    for (unsigned i = first; i < last; ++i) {
      banks_[i].open = false;
      banks_[i].precharged = now_ + static_cast<Clock>(t_.rp);
    }
    row_bus_free_ = now_ + 1;
    return true;
  }
  for (unsigned i = first; i < last; ++i)
    if (now_ < may_activate(banks_[i])) return true;
  ++counts_.refreshes;
  for (unsigned i = first; i < last; ++i) banks_[i].refreshed = now_ + t_.rfc;
  refreshes_.pop_front();
  row_bus_free_ = now_ + 1;
  return true;
}

void NaiveChannel::row_slot() {
  if (refresh()) return;
  std::vector<Request>& queue = writing_ ? writes_ : reads_;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    Request& r = queue[i];
    const Bank& b = banks_[r.bank];
    if (!b.open) {
      if (now_ + t_.act - 1 < may_activate(b) || !activates_are_apart(r.bank)) continue;
      activate(r.bank, r.row);
      ++banks_[r.bank].owners;
      r.started = true;
      active_.insert(
          std::upper_bound(active_.begin(), active_.end(), r,
                           [](const Request& x, const Request& y) { return x.age < y.age; }),
          r);
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (b.row == r.row || b.owners != 0 || now_ < b.may_precharge || hit_waits(r)) continue;
    ++counts_.precharges;
    banks_[r.bank].open = false;
    banks_[r.bank].precharged = now_ + static_cast<Clock>(t_.rp);
    row_bus_free_ = now_ + 1;
    r.started = true;
    return;
  }
}

}  // namespace revet::sim
