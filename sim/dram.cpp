#include "revet/sim/dram.hpp"

#include <algorithm>

namespace revet::sim {
namespace {

constexpr std::int64_t long_ago = -1'000'000;

}  // namespace

DramPlace place_of(const DramMapping& mapping, std::uint64_t address) {
  DramPlace out;
  std::uint32_t* const fields[] = {&out.column,     &out.channel, &out.pseudo_channel,
                                   &out.bank_group, &out.bank,    &out.row};
  unsigned filled[6] = {};
  std::uint64_t rest = address >> 5;
  for (const auto& [field, bits] : mapping.fields) {
    *fields[field] |= static_cast<std::uint32_t>(rest & ((std::uint64_t{1} << bits) - 1))
                      << filled[field];
    filled[field] += bits;
    rest >>= bits;
  }
  return out;
}

DramChannel::DramChannel(const DramTiming& timing, unsigned read_queue, unsigned write_queue)
    : t_(timing), read_limit_(read_queue), write_limit_(write_queue), next_refresh_(timing.refi) {
  for (Bank& b : banks_) b.activated = b.may_activate = b.may_precharge = long_ago;
  for (PseudoChannel& p : pcs_) {
    p.activates.fill(long_ago);
    p.last_activate = p.last_read = p.last_write = long_ago;
  }
}

bool DramChannel::offer(std::uint64_t id, const DramPlace& place, bool write) {
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
      returning_.emplace_front(now_ + 1, id);
      return true;
    }
  }
  if (queue.size() >= (write ? write_limit_ : read_limit_)) return false;
  ++arrivals_;
  queue.push_back(r);
  return true;
}

bool DramChannel::idle() const {
  return reads_.empty() && writes_.empty() && active_.empty() && returning_.empty();
}

void DramChannel::tick(std::vector<std::uint64_t>& done) {
  // What was accepted at this clock issues its first command at the next.
  ++now_;
  if (!idle()) ++counts_.pending_clocks;
  if (t_.refi != 0 && now_ >= next_refresh_) {
    for (unsigned p = 0; p < pseudo_channels; ++p) refreshes_.push_back(p);
    next_refresh_ += t_.refi;
  }
  choose_mode();
  column_slot(done);
  if (now_ >= row_bus_free_) row_slot();
  while (!returning_.empty() && returning_.front().first <= now_) {
    done.push_back(returning_.front().second);
    returning_.pop_front();
  }
}

void DramChannel::choose_mode() {
  if (writing_) {
    if (static_cast<double>(writes_.size()) < 0.2 * static_cast<double>(write_limit_) &&
        !reads_.empty())
      writing_ = false;
  } else if (static_cast<double>(writes_.size()) > 0.8 * static_cast<double>(write_limit_) ||
             reads_.empty()) {
    writing_ = true;
  }
}

bool DramChannel::may_column(const Request& r) const {
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

void DramChannel::column_slot(std::vector<std::uint64_t>& done) {
  for (std::size_t i = 0; i < active_.size(); ++i)
    if (may_column(active_[i])) {
      const Request r = active_[i];
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
      --banks_[r.bank].owners;
      issue_column(r, done);
      return;
    }
  if (!refreshes_.empty()) return;
  std::vector<Request>& queue = writing_ ? writes_ : reads_;
  for (std::size_t i = 0; i < queue.size(); ++i)
    if (may_column(queue[i])) {
      const Request r = queue[i];
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
      if (!r.started) ++counts_.row_hits;
      issue_column(r, done);
      return;
    }
}

void DramChannel::issue_column(Request r, std::vector<std::uint64_t>& done) {
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

bool DramChannel::may_activate(unsigned bank) const {
  // An ACT counts from its last clock on the bus.
  const Clock at = now_ + t_.act - 1;
  const PseudoChannel& p = pcs_[pseudo_channel(bank)];
  const unsigned rrd = group(bank) == p.last_activate_group ? t_.rrd_l : t_.rrd_s;
  return at >= banks_[bank].may_activate && at >= p.last_activate + rrd &&
         at >= p.activates[p.next] + t_.faw;
}

void DramChannel::activate(unsigned bank, std::uint32_t row) {
  ++counts_.activates;
  const Clock at = now_ + t_.act - 1;
  Bank& b = banks_[bank];
  PseudoChannel& p = pcs_[pseudo_channel(bank)];
  b.open = true;
  b.row = row;
  b.activated = at;
  b.may_precharge = at + t_.ras;
  b.may_activate = at + t_.rc;
  p.last_activate = at;
  p.last_activate_group = group(bank);
  p.activates[p.next] = at;
  p.next = (p.next + 1) % 4;
  row_bus_free_ = now_ + t_.act;
}

void DramChannel::precharge(unsigned bank) {
  ++counts_.precharges;
  Bank& b = banks_[bank];
  b.open = false;
  b.may_activate = std::max(b.may_activate, now_ + static_cast<Clock>(t_.rp));
  row_bus_free_ = now_ + 1;
}

/// True if a request that came no later waits for the row that is open in the bank.
bool DramChannel::hit_waits(const Request& older_than) const {
  const Bank& b = banks_[older_than.bank];
  const std::vector<Request>& queue = writing_ ? writes_ : reads_;
  return std::any_of(queue.begin(), queue.end(), [&](const Request& r) {
    return r.age <= older_than.age && r.bank == older_than.bank && r.row == b.row;
  });
}

bool DramChannel::refresh() {
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
      banks_[i].may_activate = std::max(banks_[i].may_activate, now_ + static_cast<Clock>(t_.rp));
    }
    row_bus_free_ = now_ + 1;
    return true;
  }
  for (unsigned i = first; i < last; ++i)
    if (now_ < banks_[i].may_activate) return true;
  ++counts_.refreshes;
  for (unsigned i = first; i < last; ++i) banks_[i].may_activate = now_ + t_.rfc;
  refreshes_.pop_front();
  row_bus_free_ = now_ + 1;
  return true;
}

void DramChannel::row_slot() {
  if (refresh()) return;
  std::vector<Request>& queue = writing_ ? writes_ : reads_;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    Request& r = queue[i];
    const Bank& b = banks_[r.bank];
    if (!b.open) {
      if (!may_activate(r.bank)) continue;
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
    precharge(r.bank);
    r.started = true;
    return;
  }
}

}  // namespace revet::sim
