#include "revet/sim/dram.hpp"

namespace revet::sim {
namespace {

constexpr std::int64_t long_ago = -1'000'000;
constexpr std::uint64_t youngest = UINT64_MAX;

unsigned lowest(std::uint32_t mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

}  // namespace

DramChannel::DramChannel(const DramTiming& timing, unsigned read_queue, unsigned write_queue)
    : t_(timing),
      late_(static_cast<Clock>(timing.act) - 1),
      requests_(read_queue + write_queue + banks),
      row_command_(long_ago),
      column_command_{ClockWheel<banks>(long_ago), ClockWheel<banks>(long_ago)},
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
  may_activate_.fill(long_ago);
  precharged_.fill(long_ago);
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
  if (waiting_writes_ == 0) return false;
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
  waiting_writes_ += write;
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
  wake_ = now_ + 1;
  if (column_wake_ <= wake_ || !forwarded_.empty() || mode_changes()) return;
  Clock wake = std::min(column_wake_, std::max(row_wake_, row_bus_free_));
  wake = std::min(wake, next_refresh_);
  if (returning_ != 0) wake = std::min(wake, data_[first_data_].first);
  wake_ = std::max(wake_, wake);
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
  row_command_.advance(now_);
  for (auto& kind : column_command_) kind.advance(now_);
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
  if (!forwarded_.empty()) {
    done.insert(done.end(), forwarded_.begin(), forwarded_.end());
    forwarded_.clear();
  }
  while (returning_ != 0 && data_[first_data_].first <= now_) {
    done.push_back(data_[first_data_].second);
    first_data_ = (first_data_ + 1) & static_cast<unsigned>(data_.size() - 1);
    --returning_;
  }
  rest();
}

// Column commands.

DramChannel::Clock DramChannel::column_clock(unsigned bank, bool write) const {
  const Group& g = groups_[group_of(bank)];
  return std::max(column_command_[write].at(bank), write ? g.write : g.read);
}

/// Banks in which one can issue now, if their row is asked for.
std::uint32_t DramChannel::column_ready(bool write) const {
  const auto apart = write ? of_groups([&](const Group& g) { return g.write <= now_; })
                           : of_groups([&](const Group& g) { return g.read <= now_; });
  return column_command_[write].reached() & apart;
}

bool DramChannel::column_slot(std::vector<std::uint64_t>& done) {
  const std::uint32_t active_reads = active_ & ~active_writes_;
  std::uint32_t ready = 0;
  if (active_reads != 0) ready |= active_reads & column_ready(false);
  if (active_writes_ != 0) ready |= active_writes_ & column_ready(true);
  Queue& q = queues_[writing_];
  if (ready != 0) {
    const auto age = [&](unsigned b) { return requests_[owner_[b]].age; };
    unsigned oldest = lowest(ready);
    for (std::uint32_t left = ready & (ready - 1); left != 0; left &= left - 1)
      if (age(lowest(left)) < age(oldest)) oldest = lowest(left);
    active_ &= ~bit(oldest);
    active_writes_ &= ~bit(oldest);
    issue_column(owner_[oldest], done);
    owner_[oldest] = none;
    // What the bank groups ask of the others may be less now.
    column_wake_ = q.hits == 0 ? soonest_owner() : now_ + 1;
    return true;
  }
  ready = refreshes_ == 0 ? q.hits : 0;
  if (ready != 0) ready &= column_ready(writing_);
  if (ready != 0) {
    unsigned oldest = lowest(ready);
    for (std::uint32_t left = ready & (ready - 1); left != 0; left &= left - 1)
      if (q.hit_age[lowest(left)] < q.hit_age[oldest]) oldest = lowest(left);
    const Slot best = q.hit[oldest];
    const Request& r = requests_[best];
    remove(q, best);
    find_hit(q, oldest, r.younger);
    if (!r.started) ++counts_.row_hits;
    issue_column(best, done);
    column_wake_ = q.hits == 0 ? soonest_owner() : now_ + 1;
    return true;
  }
  column_wake_ = never;
  for (std::uint32_t left = active_; left != 0; left &= left - 1)
    column_wake_ = std::min(column_wake_,
                            column_clock(lowest(left), (active_writes_ & bit(lowest(left))) != 0));
  if (refreshes_ == 0)
    for (std::uint32_t left = q.hits; left != 0; left &= left - 1)
      column_wake_ = std::min(column_wake_, column_clock(lowest(left), writing_));
  return false;
}

/// No column command of a row's owner can issue earlier.
DramChannel::Clock DramChannel::soonest_owner() const {
  Clock out = never;
  for (std::uint32_t left = active_; left != 0; left &= left - 1) {
    const unsigned b = lowest(left);
    out = std::min(out, column_command_[(active_writes_ & bit(b)) != 0].at(b));
  }
  return std::max(out, now_ + 1);
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
    row_command_.set(b, std::max(row_command_.at(b), now_ + t_.cwl + t_.burst + t_.wr));
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
    row_command_.set(b, std::max(row_command_.at(b), now_ + t_.rtp));
    data_[(first_data_ + returning_) & (data_.size() - 1)] = {now_ + t_.cl + t_.burst, r.id};
    ++returning_;
  }
  --waiting_;
  waiting_writes_ -= r.write;
  free_.push_back(slot);
  // The row may be closed now.
  if (refreshes_ != 0)
    row_wake_ = now_;
  else if ((queues_[writing_].misses & bit(b)) != 0)
    row_wake_ = std::min(row_wake_, row_command_.at(b));
}

// Row commands.

/// The least clock of the row command that the bank needs.
DramChannel::Clock DramChannel::row_clock(unsigned bank) const {
  const Clock at = std::max(row_bus_free_, row_command_.at(bank));
  return is_open(bank) ? at : std::max(at, groups_[group_of(bank)].activate - late_);
}

/// Banks in which it can issue now, if the row bus is free.
std::uint32_t DramChannel::row_ready() const {
  const auto apart = of_groups([&](const Group& g) { return g.activate - late_ <= now_; });
  return row_candidates() & row_command_.reached() & (open_ | apart);
}

void DramChannel::row_slot() {
  if (refreshes_ != 0) {
    refresh();
    return;
  }
  const Queue& q = queues_[writing_];
  const std::uint32_t ready = row_ready();
  if (ready == 0) {
    row_wake_ = never;
    for (std::uint32_t left = row_candidates(); left != 0; left &= left - 1)
      row_wake_ = std::min(row_wake_, row_clock(lowest(left)));
    return;
  }
  unsigned oldest = lowest(ready);
  for (std::uint32_t left = ready & (ready - 1); left != 0; left &= left - 1)
    if (q.miss_age[lowest(left)] < q.miss_age[oldest]) oldest = lowest(left);
  const Slot best = q.miss[oldest];
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
  if (r.write) active_writes_ |= bit(b);
  owner_[b] = slot;
  row_[b] = r.row;
  for (Queue& q : queues_) {
    // Of a closed bank, all requests are misses.
    if ((q.misses & bit(b)) == 0) continue;
    find_hit(q, b, q.first[b]);
    find_miss(q, b, q.first[b]);
  }
  column_command_[0].set(b, at + t_.rcd_rd);
  column_command_[1].set(b, at + t_.rcd_wr);
  row_command_.set(b, at + t_.ras);
  again_ &= ~bit(b);
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
  if (may_activate_[bank] > precharged_[bank])
    again_ |= bit(bank);
  else
    may_activate_[bank] = precharged_[bank];
  row_command_.set(bank, may_activate_[bank] - late_);
  for (Queue& q : queues_) {
    if (((q.hits | q.misses) & bit(bank)) == 0) continue;
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
      at = std::max(at, row_command_.at(b));
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
  again_ &= ~mask;
  for (unsigned b = first; b < last; ++b) {
    may_activate_[b] = now_ + t_.rfc;
    row_command_.set(b, may_activate_[b] - late_);
  }
  pcs_[refreshing_].refreshed = now_ + t_.rfc;
  row_bus_free_ = now_ + 1;
  refreshing_ = (refreshing_ + 1) % pseudo_channels;
  --refreshes_;
}

}  // namespace revet::sim
