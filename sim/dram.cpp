#include "revet/sim/dram.hpp"

#include <algorithm>
#include <bit>

namespace revet::sim {
namespace {

constexpr std::int64_t long_ago = -1'000'000;
constexpr std::uint64_t youngest = UINT64_MAX;

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
    : t_(timing),
      late_(static_cast<Clock>(timing.act) - 1),
      requests_(read_queue + write_queue + banks),
      next_refresh_(timing.refi == 0 ? never : timing.refi),
      data_(std::bit_ceil(timing.cl + timing.burst + 1)) {
  const auto share = [&](double part) { return part * static_cast<double>(write_queue); };
  while (static_cast<double>(drain_until_) < share(0.2)) ++drain_until_;
  while (static_cast<double>(drain_at_) <= share(0.8)) ++drain_at_;
  queues_[0].limit = read_queue;
  queues_[1].limit = write_queue;
  for (Queue& q : queues_) {
    q.first.fill(none);
    q.last.fill(none);
    q.hit.fill(none);
    q.miss.fill(none);
    q.hit_age.fill(youngest);
    q.miss_age.fill(youngest);
  }
  for (auto* of_banks : {&may_activate_, &may_precharge_, &precharged_}) of_banks->fill(long_ago);
  for (auto& of_banks : may_column_) of_banks.fill(long_ago);
  owner_.fill(none);
  row_.fill(0);
  groups_.fill({long_ago, long_ago, long_ago, long_ago, long_ago, long_ago, long_ago});
  for (PseudoChannel& p : pcs_) {
    p.activates.fill(long_ago);
    p.refreshed = long_ago;
  }
  for (Slot s = static_cast<Slot>(requests_.size()); s-- > 0;) free_.push_back(s);
  rest();
}

// The queues.

void DramChannel::append(Queue& q, Slot slot) {
  Request& r = requests_[slot];
  const unsigned b = r.bank;
  r.previous = q.tail;
  r.next = none;
  (q.tail == none ? q.head : requests_[q.tail].next) = slot;
  q.tail = slot;
  r.older = q.last[b];
  r.younger = none;
  (q.last[b] == none ? q.first[b] : requests_[q.last[b]].younger) = slot;
  q.last[b] = slot;
  ++q.size;
  if (is_open(b) && r.row == row_[b]) {
    if (q.hit[b] == none) find_hit(q, b, slot);
  } else if (q.miss[b] == none) {
    find_miss(q, b, slot);
  }
}

void DramChannel::remove(Queue& q, Slot slot) {
  const Request& r = requests_[slot];
  const unsigned b = r.bank;
  (r.previous == none ? q.head : requests_[r.previous].next) = r.next;
  (r.next == none ? q.tail : requests_[r.next].previous) = r.previous;
  (r.older == none ? q.first[b] : requests_[r.older].younger) = r.younger;
  (r.younger == none ? q.last[b] : requests_[r.younger].older) = r.older;
  --q.size;
}

void DramChannel::update_held(Queue& q, unsigned bank) {
  q.held = (q.held & ~bit(bank)) | (q.hit_age[bank] < q.miss_age[bank] ? bit(bank) : 0);
}

/// The oldest request to the row that is open, from `from` on.
void DramChannel::find_hit(Queue& q, unsigned bank, Slot from) {
  while (from != none && requests_[from].row != row_[bank]) from = requests_[from].younger;
  q.hit[bank] = from;
  q.hit_age[bank] = from == none ? youngest : requests_[from].age;
  q.hits = (q.hits & ~bit(bank)) | (from == none ? 0 : bit(bank));
  update_held(q, bank);
}

/// The oldest request to a row that is not open, from `from` on.
void DramChannel::find_miss(Queue& q, unsigned bank, Slot from) {
  if (is_open(bank))
    while (from != none && requests_[from].row == row_[bank]) from = requests_[from].younger;
  q.miss[bank] = from;
  q.miss_age[bank] = from == none ? youngest : requests_[from].age;
  q.misses = (q.misses & ~bit(bank)) | (from == none ? 0 : bit(bank));
  update_held(q, bank);
}

bool DramChannel::forwards(const DramPlace& place) const {
  const unsigned bank = bank_of(place);
  const auto same = [&](const Request& w) {
    return w.write && w.row == place.row && w.column == place.column;
  };
  for (Slot s = queues_[1].first[bank]; s != none; s = requests_[s].younger)
    if (same(requests_[s])) return true;
  return (active_ & bit(bank)) != 0 && same(requests_[owner_[bank]]);
}

bool DramChannel::offer(std::uint64_t id, const DramPlace& place, bool write) {
  if (!write && forwards(place)) {
    settle(now_);
    ++counts_.forwarded;
    forwarded_.push_back(id);
    wake_ = now_ + 1;
    return true;
  }
  Queue& q = queues_[write];
  if (q.size >= q.limit) return false;
  settle(now_);
  const Slot slot = free_.back();
  free_.pop_back();
  const unsigned b = bank_of(place);
  requests_[slot] = {id,    arrivals_++, place.row, place.column, static_cast<std::uint8_t>(b),
                     write, false,       none,      none,         none,
                     none};
  append(q, slot);
  ++waiting_;
  if (write == writing_) {
    if (q.hit[b] == slot) column_wake_ = std::min(column_wake_, column_clock(b, write));
    if (q.miss[b] == slot) row_wake_ = std::min(row_wake_, row_clock(b));
  }
  rest();
  return true;
}

// Time.

bool DramChannel::mode_changes() const {
  if (writing_) return queues_[1].size < drain_until_ && queues_[0].size != 0;
  return queues_[1].size >= drain_at_ || queues_[0].size == 0;
}

/// Finds the next clock at which anything can happen.
void DramChannel::rest() {
  Clock wake = std::min(column_wake_, std::max(row_wake_, row_bus_free_));
  wake = std::min(wake, next_refresh_);
  if (returning_ != 0) wake = std::min(wake, data_[first_data_].first);
  if (!forwarded_.empty() || mode_changes()) wake = now_ + 1;
  wake_ = std::max(wake, now_ + 1);
}

void DramChannel::advance(std::uint64_t clock, std::vector<std::uint64_t>& done) {
  const auto until = static_cast<Clock>(clock);
  while (wake_ <= until) {
    now_ = wake_;
    step(done);
  }
  now_ = until;
}

void DramChannel::step(std::vector<std::uint64_t>& done) {
  settle(now_ - 1);
  if (now_ >= next_refresh_) {
    refreshes_ += pseudo_channels;
    next_refresh_ += t_.refi;
    row_wake_ = now_;
  }
  if (mode_changes()) {
    writing_ = !writing_;
    column_wake_ = row_wake_ = now_;
  }
  if (now_ >= column_wake_ && column_slot(done))
    ++counts_.column_clocks;
  else
    account(counts_, now_, now_);
  settled_ = now_;
  if (now_ >= row_wake_ && now_ >= row_bus_free_) row_slot();
  done.insert(done.end(), forwarded_.begin(), forwarded_.end());
  forwarded_.clear();
  while (returning_ != 0 && data_[first_data_].first <= now_) {
    done.push_back(data_[first_data_].second);
    first_data_ = (first_data_ + 1) & static_cast<unsigned>(data_.size() - 1);
    --returning_;
  }
  rest();
}

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
  const std::uint64_t younger =
      first > to || activation == all ? 0 : younger_held(first, to) - activation;
  counts.refresh_clocks += refresh;
  counts.activation_clocks += activation;
  counts.younger_activation_clocks += younger;
  counts.waiting_clocks += all - refresh - activation - younger;
}

/// Of these clocks, those in which activations hold back any request.
std::uint64_t DramChannel::younger_held(Clock from, Clock to) const {
  // A row command can issue in the last only. It is not held back, but what it goes before is.
  Clock first = never, second = never;
  bool issues = false;
  for (std::uint32_t left = row_candidates(); left != 0; left &= left - 1) {
    const auto b = static_cast<unsigned>(std::countr_zero(left));
    const Clock at = otherwise_clock(b);
    second = std::min(second, std::max(first, at));
    first = std::min(first, at);
    issues |= row_clock(b) <= to;
  }
  if (first > to) return 0;
  const auto held = static_cast<std::uint64_t>(to - std::max(from, first) + 1);
  return issues && second > to ? held - 1 : held;
}

void DramChannel::settle(Clock to) {
  if (settled_ < to) account(counts_, settled_ + 1, to);
  settled_ = to;
}

DramCounts DramChannel::counts() const {
  DramCounts out = counts_;
  if (settled_ < now_) account(out, settled_ + 1, now_);
  return out;
}

// Column commands.

DramChannel::Clock DramChannel::column_clock(unsigned bank, bool write) const {
  const Group& g = groups_[group_of(bank)];
  return std::max(may_column_[write][bank], write ? g.write : g.read);
}

bool DramChannel::column_slot(std::vector<std::uint64_t>& done) {
  Clock soonest = never;
  Slot best = none;
  std::uint64_t age = youngest;
  for (std::uint32_t left = active_; left != 0; left &= left - 1) {
    const auto b = static_cast<unsigned>(std::countr_zero(left));
    const Request& r = requests_[owner_[b]];
    const Clock at = column_clock(b, r.write);
    if (at > now_) {
      soonest = std::min(soonest, at);
    } else if (r.age < age) {
      age = r.age;
      best = owner_[b];
    }
  }
  if (best != none) {
    const unsigned b = requests_[best].bank;
    active_ &= ~bit(b);
    owner_[b] = none;
    issue_column(best, done);
    return true;
  }
  if (refreshes_ == 0) {
    Queue& q = queues_[writing_];
    for (std::uint32_t left = q.hits; left != 0; left &= left - 1) {
      const auto b = static_cast<unsigned>(std::countr_zero(left));
      const Clock at = column_clock(b, writing_);
      if (at > now_) {
        soonest = std::min(soonest, at);
      } else if (q.hit_age[b] < age) {
        age = q.hit_age[b];
        best = q.hit[b];
      }
    }
    if (best != none) {
      const Request& r = requests_[best];
      remove(q, best);
      find_hit(q, r.bank, r.younger);
      if (!r.started) ++counts_.row_hits;
      issue_column(best, done);
      return true;
    }
  }
  column_wake_ = soonest;
  return false;
}

void DramChannel::issue_column(Slot slot, std::vector<std::uint64_t>& done) {
  const Request& r = requests_[slot];
  const unsigned b = r.bank;
  const unsigned own = group_of(b);
  const unsigned first = pseudo_channel_of(b) * groups;
  if (r.write) {
    ++counts_.writes;
    for (unsigned i = first; i < first + groups; ++i) {
      Group& g = groups_[i];
      g.write_after_write = now_ + (i == own ? t_.ccd_l : t_.ccd_s);
      g.read_after_write = now_ + t_.cwl + t_.burst + (i == own ? t_.wtr_l : t_.wtr_s);
      g.write = std::max(g.write_after_read, g.write_after_write);
      g.read = std::max(g.read_after_read, g.read_after_write);
    }
    may_precharge_[b] = std::max(may_precharge_[b], now_ + t_.cwl + t_.burst + t_.wr);
    done.push_back(r.id);
  } else {
    ++counts_.reads;
    for (unsigned i = first; i < first + groups; ++i) {
      Group& g = groups_[i];
      g.read_after_read = now_ + (i == own ? t_.ccd_l : t_.ccd_s);
      g.write_after_read = now_ + t_.rtw;
      g.write = std::max(g.write_after_read, g.write_after_write);
      g.read = std::max(g.read_after_read, g.read_after_write);
    }
    may_precharge_[b] = std::max(may_precharge_[b], now_ + t_.rtp);
    data_[(first_data_ + returning_) & (data_.size() - 1)] = {now_ + t_.cl + t_.burst, r.id};
    ++returning_;
  }
  --waiting_;
  free_.push_back(slot);
  column_wake_ = now_ + 1;
  // The row may be closed now.
  if (refreshes_ != 0)
    row_wake_ = now_;
  else if ((queues_[writing_].misses & bit(b)) != 0)
    row_wake_ = std::min(row_wake_, may_precharge_[b]);
}

// Row commands.

DramChannel::Clock DramChannel::activate_clock(unsigned bank) const {
  return std::max(may_activate_[bank], groups_[group_of(bank)].activate) - late_;
}

/// Banks in which the oldest request without its row open may need a row command.
std::uint32_t DramChannel::row_candidates() const {
  const Queue& q = queues_[writing_];
  return q.misses & ~(open_ & (active_ | q.held));
}

/// The least clock of that command.
DramChannel::Clock DramChannel::row_clock(unsigned bank) const {
  return std::max(row_bus_free_, is_open(bank) ? may_precharge_[bank] : activate_clock(bank));
}

/// The same if activations held back nothing.
DramChannel::Clock DramChannel::otherwise_clock(unsigned bank) const {
  if (is_open(bank)) return may_precharge_[bank];
  return std::max(precharged_[bank], pcs_[pseudo_channel_of(bank)].refreshed) - late_;
}

void DramChannel::row_slot() {
  if (refreshes_ != 0) {
    refresh();
    return;
  }
  const Queue& q = queues_[writing_];
  Clock soonest = never;
  Slot best = none;
  std::uint64_t age = youngest;
  for (std::uint32_t left = row_candidates(); left != 0; left &= left - 1) {
    const auto b = static_cast<unsigned>(std::countr_zero(left));
    const Clock at = row_clock(b);
    if (at > now_) {
      soonest = std::min(soonest, at);
    } else if (q.miss_age[b] < age) {
      age = q.miss_age[b];
      best = q.miss[b];
    }
  }
  if (best == none) {
    row_wake_ = soonest;
    return;
  }
  Request& r = requests_[best];
  r.started = true;
  if (is_open(r.bank)) {
    ++counts_.precharges;
    precharge(r.bank);
  } else {
    activate(best);
  }
  row_wake_ = now_ + 1;
}

void DramChannel::activate(Slot slot) {
  ++counts_.activates;
  const Request& r = requests_[slot];
  const unsigned b = r.bank;
  const Clock at = now_ + late_;
  remove(queues_[r.write], slot);
  open_ |= bit(b);
  active_ |= bit(b);
  owner_[b] = slot;
  row_[b] = r.row;
  for (Queue& q : queues_) {
    find_hit(q, b, q.first[b]);
    find_miss(q, b, q.first[b]);
  }
  may_column_[0][b] = at + t_.rcd_rd;
  may_column_[1][b] = at + t_.rcd_wr;
  may_precharge_[b] = at + t_.ras;
  may_activate_[b] = at + t_.rc;
  PseudoChannel& p = pcs_[pseudo_channel_of(b)];
  p.activates[p.next] = at;
  p.next = (p.next + 1) % 4;
  const unsigned first = pseudo_channel_of(b) * groups;
  for (unsigned i = first; i < first + groups; ++i)
    groups_[i].activate =
        std::max(at + (i == group_of(b) ? t_.rrd_l : t_.rrd_s), p.activates[p.next] + t_.faw);
  row_bus_free_ = now_ + t_.act;
  column_wake_ = std::min(column_wake_, column_clock(b, r.write));
}

void DramChannel::precharge(unsigned bank) {
  open_ &= ~bit(bank);
  precharged_[bank] = now_ + t_.rp;
  may_activate_[bank] = std::max(may_activate_[bank], precharged_[bank]);
  for (Queue& q : queues_) {
    q.hit[bank] = none;
    q.hit_age[bank] = youngest;
    q.hits &= ~bit(bank);
    find_miss(q, bank, q.first[bank]);
  }
  row_bus_free_ = now_ + 1;
}

/// Closes all banks of the pseudo-channel at once, and refreshes it.
void DramChannel::refresh() {
  const unsigned first = refreshing_ * groups * banks_in_group;
  const unsigned last = first + groups * banks_in_group;
  const std::uint32_t mask = ((std::uint32_t{1} << (last - first)) - 1) << first;
  Clock at = now_;
  if ((active_ & mask) != 0) {
    row_wake_ = never;
    return;
  }
  const bool open = (open_ & mask) != 0;
  for (unsigned b = first; b < last; ++b)
    if (!open)
      at = std::max(at, may_activate_[b]);
    else if (is_open(b))
      at = std::max(at, may_precharge_[b]);
  if (at > now_) {
    row_wake_ = at;
    return;
  }
  row_wake_ = now_ + 1;
  if (open) {
    for (unsigned b = first; b < last; ++b) {
      if (is_open(b)) precharge(b);
      may_activate_[b] = std::max(may_activate_[b], now_ + t_.rp);
    }
    return;
  }
  ++counts_.refreshes;
  for (unsigned b = first; b < last; ++b) may_activate_[b] = now_ + t_.rfc;
  pcs_[refreshing_].refreshed = now_ + t_.rfc;
  row_bus_free_ = now_ + 1;
  refreshing_ = (refreshing_ + 1) % pseudo_channels;
  --refreshes_;
}

}  // namespace revet::sim
