/// A link in time: what one writer sends to one reader, vector by vector.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "revet/sim/timed.hpp"

namespace revet::sim {

inline constexpr unsigned lanes_per_vector = 16;

/// Up to 16 lanes, and the barrier behind them (0: none).
struct View {
  unsigned lanes = 0;
  unsigned level = 0;
  bool empty() const { return lanes == 0 && level == 0; }
  bool operator==(const View&) const = default;
};

/// A queue in a ring that grows to what it ever held.
template <typename T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  T& front() { return items_[head_]; }
  const T& front() const { return items_[head_]; }
  const T& back() const { return items_[(head_ + size_ - 1) & mask()]; }
  T& operator[](std::uint32_t i) { return items_[(head_ + i) & mask()]; }
  const T& operator[](std::uint32_t i) const { return items_[(head_ + i) & mask()]; }
  void pop() {
    head_ = (head_ + 1) & mask();
    --size_;
  }
  T& push(T item) {
    if (size_ == items_.size()) {
      std::rotate(items_.begin(), items_.begin() + head_, items_.end());
      head_ = 0;
      items_.resize(items_.size() * 2);
    }
    T& place = items_[(head_ + size_++) & mask()];
    place = std::move(item);
    return place;
  }

 private:
  std::uint32_t mask() const { return static_cast<std::uint32_t>(items_.size()) - 1; }
  std::vector<T> items_ = std::vector<T>(4);
  std::uint32_t head_ = 0, size_ = 0;
};

/// The vectors of a link lie in a ring in three parts, each beginning where the one before ends:
/// those whose room the writer does not know of yet (`freed_`), those that the reader has not taken
/// (`head_`), and free places (`tail_`). The three only ever count up.
class Channel {
 public:
  static constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();
  static constexpr Cycle never = std::numeric_limits<Cycle>::max();

  Channel(const Mapping::Input& input, bool carries_data)
      : latency_(input.latency),
        credit_(input.credit),
        capacity_(input.capacity),
        pipeline_(input.pipeline),
        scalar_(input.scalar),
        counts_lanes_(input.counts_lanes && !input.scalar),
        data_(carries_data) {
    resize(4);
  }

  bool carries_data() const { return data_; }

  /// What a reader can take now: the lanes that wait, gathered over several vectors, up to the next
  /// barrier. A scalar link gives one element.
  View peek(Cycle now) const {
    if (head_ == tail_) return {};
    const Entry& first = entries_[head_ & mask_];
    if (first.at > now) return {};
    View view{first.view.lanes - offset_, first.view.level};
    if (view.level != 0 || scalar_) return view;
    for (std::uint64_t i = head_ + 1; i != tail_; ++i) {
      const Entry& e = entries_[i & mask_];
      if (e.at > now) break;
      if (view.lanes + e.view.lanes > lanes_per_vector) {
        view.lanes = lanes_per_vector;
        break;
      }
      view.lanes += e.view.lanes;
      view.level = e.view.level;
      if (view.level != 0) break;
    }
    return view;
  }

  /// The first of the lanes that wait; there is one.
  std::uint32_t first() const { return lanes_of(head_)[offset_]; }
  /// The contents of the first lanes that wait. `to` has room for a whole vector.
  void copy(unsigned lanes, std::uint32_t* to) const {
    if (offset_ == 0 && lanes <= entries_[head_ & mask_].view.lanes)
      return copy_vector(to, lanes_of(head_));
    copy_parts(lanes, to);
  }

  /// Removes lanes, and the barrier behind them. `to` gets the lanes' contents if the link carries
  /// any; it has room for a whole vector, or is null.
  void take(View what, Cycle now, std::uint32_t* to) {
    lanes_received_ += what.lanes;
    barriers_received_ += what.level != 0;
    if (to && data_) copy(what.lanes, to);
    if (offset_ == 0 && entries_[head_ & mask_].view == what) return pop(now);
    take_parts(what, now);
  }

  bool room(Cycle now) {
    for (; freed_ != head_ && entries_[freed_ & mask_].at <= now; ++freed_)
      used_ -= cost(entries_[freed_ & mask_].view);
    if (used_ >= capacity_) return false;
    if (!scalar_) return true;
    while (!starts_.empty() && starts_.front() <= now) starts_.pop();
    return starts_.size() <= pipeline_;
  }
  /// When a writer that found no room should look again; `never` if only a reader can make it so.
  Cycle room_at(Cycle now) const {
    if (!starts_.empty() && starts_.front() > now && used_ < capacity_) return starts_.front();
    return freed_ == head_ ? never : entries_[freed_ & mask_].at;
  }
  /// When a reader that found nothing should look again.
  Cycle next_arrival(Cycle now) const {
    for (std::uint64_t i = head_; i != tail_; ++i)
      if (const Cycle at = entries_[i & mask_].at; at > now) return at;
    return never;
  }

  /// There is room. Gives the arrival of the first element. `from` is a whole vector, or null where
  /// there are no lanes or the link carries no data.
  Cycle push(View what, const std::uint32_t* from, Cycle now, Cycle extra) {
    lanes_sent_ += what.lanes;
    barriers_ += what.level != 0;
    const Cycle at = std::max(now + latency_ + extra, last_arrival_);
    if (scalar_) return push_elements(what, from, at);
    used_ += cost(what);
    last_arrival_ = at;
    append(at, what);
    if (data_ && from) copy_vector(lanes_of(tail_ - 1), from);
    return at;
  }

  bool empty() const { return head_ == tail_; }
  bool is_scalar() const { return scalar_; }
  bool has_arrived(Cycle now) const { return !empty() && entries_[head_ & mask_].at <= now; }
  std::uint32_t capacity() const { return capacity_; }
  void set_capacity(std::uint32_t capacity) { capacity_ = capacity; }
  std::uint32_t used() const { return used_; }
  std::uint64_t tokens() const {
    return lanes_sent_ - lanes_received_ + barriers_ - barriers_received_;
  }
  LinkCounts counts() const {
    return {scalar_ ? vectors_ : tail_, lanes_sent_, lanes_received_, barriers_,
            barriers_received_};
  }

  bool reader_waits = false;  ///< for an arrival
  bool writer_waits = false;  ///< for room

  /// Of the last vector that was removed: when its room is known to the writer.
  Cycle last_credit() const { return freed_ == head_ ? never : entries_[(head_ - 1) & mask_].at; }

 private:
  struct Entry {
    Cycle at;  ///< when it arrives; once taken, when the writer knows
    View view;
  };

  /// A fixed size is two instructions; what is behind the lanes that count does no harm.
  static void copy_vector(std::uint32_t* to, const std::uint32_t* from) {
    std::memcpy(to, from, lanes_per_vector * sizeof *to);
  }
  std::uint32_t* lanes_of(std::uint64_t entry) {
    return lanes_.data() + (entry & mask_) * lanes_per_vector;
  }
  const std::uint32_t* lanes_of(std::uint64_t entry) const {
    return lanes_.data() + (entry & mask_) * lanes_per_vector;
  }
  /// Of the capacity.
  std::uint32_t cost(View what) const {
    return counts_lanes_ ? what.lanes + (what.level != 0 ? 1u : 0u) : 1;
  }

  void append(Cycle at, View what) {
    if (tail_ - freed_ > mask_) resize(2 * (mask_ + 1));
    entries_[tail_++ & mask_] = {at, what};
  }

  void pop(Cycle now) {
    entries_[head_++ & mask_].at = now + credit_;
    offset_ = 0;
  }

  // What is seldom needed is kept out of what is inlined.

  void copy_parts(unsigned lanes, std::uint32_t* to) const;
  void take_parts(View what, Cycle now);
  /// Sends a vector over a scalar link, the barrier with the last element.
  Cycle push_elements(View what, const std::uint32_t* from, Cycle at);
  /// `size`: a power of two.
  void resize(std::uint64_t size);

  std::uint64_t freed_ = 0, head_ = 0, tail_ = 0, mask_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> lanes_;
  std::uint32_t latency_, credit_, capacity_, pipeline_;  ///< as Mapping::Input has them
  std::uint32_t offset_ = 0;  ///< lanes of the first vector that were taken
  std::uint32_t used_ = 0;    ///< of the capacity, as the writer knows it
  bool scalar_, counts_lanes_;
  bool data_;  ///< void links carry none
  Cycle last_arrival_ = 0;
  std::uint64_t lanes_sent_ = 0, lanes_received_ = 0;
  std::uint64_t barriers_ = 0, barriers_received_ = 0;
  std::uint64_t vectors_ = 0;  ///< scalar: sent
  Ring<Cycle> starts_;         ///< scalar: when vectors that are in the pipeline have been sent
};

}  // namespace revet::sim
