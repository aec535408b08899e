/// A link in time: what one writer sends to one reader, vector by vector.
#pragma once

#include <algorithm>
#include <array>
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

class Channel {
 public:
  static constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();
  static constexpr Cycle never = std::numeric_limits<Cycle>::max();

  Channel(const Mapping::Input& input, bool carries_data)
      : input_(input), data_(carries_data), entries_(4) {
    if (data_) lanes_.resize(entries_.size() * lanes_per_vector);
  }

  /// What a reader can take now: the lanes that wait, gathered over several vectors, up to the next
  /// barrier. A scalar link gives one element.
  View peek(Cycle now) const {
    View view;
    for (std::uint32_t i = 0; i < size_; ++i) {
      const Entry& e = entries_[(head_ + i) & mask()];
      if (e.arrival > now) break;
      const unsigned lanes = i == 0 ? e.count - offset_ : e.count;
      if (view.lanes + lanes > width()) {
        view.lanes = width();
        break;
      }
      view.lanes += lanes;
      if (e.level != 0) {
        view.level = e.level;
        break;
      }
      if (view.lanes == width() && input_.scalar) break;
    }
    return view;
  }

  /// The first of the lanes that wait; there is one.
  std::uint32_t first() const { return lanes_[std::size_t{head_} * lanes_per_vector + offset_]; }
  /// The contents of the first lanes that wait.
  void copy(unsigned lanes, std::uint32_t* to) const {
    unsigned from = offset_;
    for (std::uint32_t i = 0; lanes != 0; ++i) {
      const std::uint32_t entry = (head_ + i) & mask();
      const unsigned n = std::min(lanes, entries_[entry].count - from);
      std::memcpy(to, lanes_.data() + std::size_t{entry} * lanes_per_vector + from, n * sizeof *to);
      to += n;
      lanes -= n;
      from = 0;
    }
  }

  /// Removes lanes, and the barrier behind them; `to` gets the lanes' contents, and may be null.
  void take(View what, Cycle now, std::uint32_t* to) {
    lanes_received_ += what.lanes;
    unsigned left = what.lanes;
    while (left != 0) {
      const Entry& e = entries_[head_];
      const unsigned n = std::min(left, e.count - offset_);
      if (to) {
        std::memcpy(to, lanes_of(head_) + offset_, n * sizeof *to);
        to += n;
      }
      left -= n;
      offset_ += n;
      if (offset_ == e.count && e.level == 0) pop(now);
    }
    if (what.level != 0) {
      ++barriers_received_;
      // Vectors without content do not exist: the barrier is the head's own.
      pop(now);
    }
  }

  bool room(Cycle now) {
    while (!credits_.empty() && credits_.front().first <= now) {
      used_ -= credits_.front().second;
      credits_.pop();
    }
    while (!starts_.empty() && starts_.front() <= now) starts_.pop();
    return used_ < input_.capacity && starts_.size() <= input_.pipeline;
  }
  /// When a writer that found no room should look again; `never` if only a reader can make it so.
  Cycle room_at(Cycle now) const {
    if (!starts_.empty() && starts_.front() > now && used_ < input_.capacity)
      return starts_.front();
    return credits_.empty() ? never : credits_.front().first;
  }
  /// When a reader that found nothing should look again.
  Cycle next_arrival(Cycle now) const {
    for (std::uint32_t i = 0; i < size_; ++i)
      if (const Cycle at = entries_[(head_ + i) & mask()].arrival; at > now) return at;
    return never;
  }

  /// There is room. Gives the arrival of the first element.
  Cycle push(View what, const std::uint32_t* from, Cycle now, Cycle extra) {
    vectors_ += 1;
    lanes_sent_ += what.lanes;
    barriers_ += what.level != 0;
    const Cycle at = std::max(now + input_.latency + extra, last_arrival_);
    if (!input_.scalar) {
      used_ += cost(what);
      append(at, what.lanes, what.level, from);
      last_arrival_ = at;
      return at;
    }
    const unsigned elements = std::max(1u, what.lanes);
    for (unsigned i = 0; i < elements; ++i)
      append(at + i, what.lanes == 0 ? 0 : 1, i + 1 == elements ? what.level : 0,
             from ? from + i : nullptr);
    used_ += elements;
    last_arrival_ = at + elements;
    // Until its first element goes a vector waits in a stage of the pipeline, the last in a skid.
    starts_.push(at + elements - (input_.latency - input_.pipeline));
    return at;
  }

  bool empty() const { return size_ == 0; }
  bool is_scalar() const { return input_.scalar; }
  bool has_arrived(Cycle now) const { return size_ != 0 && entries_[head_].arrival <= now; }
  std::uint32_t capacity() const { return input_.capacity; }
  void set_capacity(std::uint32_t capacity) { input_.capacity = capacity; }
  std::uint32_t used() const { return used_; }
  std::uint64_t tokens() const {
    return lanes_sent_ - lanes_received_ + barriers_ - barriers_received_;
  }
  LinkCounts counts() const {
    return {vectors_, lanes_sent_, lanes_received_, barriers_, barriers_received_};
  }

  bool reader_waits = false;  ///< for an arrival
  bool writer_waits = false;  ///< for room

  /// Of the last vector that was removed: when its room is known to the writer.
  Cycle last_credit() const { return credits_.empty() ? never : credits_.back().first; }

 private:
  struct Entry {
    Cycle arrival;
    std::uint8_t count;
    std::uint8_t level;
  };

  unsigned width() const { return input_.scalar ? 1 : lanes_per_vector; }
  std::uint32_t mask() const { return static_cast<std::uint32_t>(entries_.size()) - 1; }
  std::uint32_t* lanes_of(std::uint32_t entry) { return lanes_.data() + entry * lanes_per_vector; }
  /// Of the capacity, for one entry.
  std::uint32_t cost(View what) const {
    return input_.counts_lanes && !input_.scalar ? what.lanes + (what.level != 0) : 1;
  }

  void append(Cycle at, unsigned count, unsigned level, const std::uint32_t* from) {
    if (size_ == entries_.size()) grow();
    const std::uint32_t i = (head_ + size_) & mask();
    entries_[i] = {at, static_cast<std::uint8_t>(count), static_cast<std::uint8_t>(level)};
    if (data_ && count != 0) std::memcpy(lanes_of(i), from, count * sizeof *from);
    ++size_;
  }

  void pop(Cycle now) {
    const Entry& e = entries_[head_];
    credits_.push({now + input_.credit, cost({e.count, e.level})});
    head_ = (head_ + 1) & mask();
    --size_;
    offset_ = 0;
  }

  void grow() {
    std::vector<Entry> entries(entries_.size() * 2);
    std::vector<std::uint32_t> lanes(data_ ? entries.size() * lanes_per_vector : 0);
    for (std::uint32_t i = 0; i < size_; ++i) {
      const std::uint32_t from = (head_ + i) & mask();
      entries[i] = entries_[from];
      if (data_)
        std::memcpy(lanes.data() + i * lanes_per_vector, lanes_of(from),
                    lanes_per_vector * sizeof(std::uint32_t));
    }
    entries_ = std::move(entries);
    lanes_ = std::move(lanes);
    head_ = 0;
  }

  Mapping::Input input_;
  bool data_;                   ///< void links carry none
  std::vector<Entry> entries_;  ///< a ring; its size is a power of two
  std::vector<std::uint32_t> lanes_;
  std::uint32_t head_ = 0, size_ = 0;
  std::uint32_t offset_ = 0;                       ///< lanes of the first vector that were taken
  std::uint32_t used_ = 0;                         ///< of the capacity, as the writer knows it
  Ring<std::pair<Cycle, std::uint32_t>> credits_;  ///< room on its way to the writer
  Cycle last_arrival_ = 0;
  Ring<Cycle> starts_;  ///< scalar: when vectors that are in the pipeline have been sent
  std::uint64_t vectors_ = 0, lanes_sent_ = 0, lanes_received_ = 0;
  std::uint64_t barriers_ = 0, barriers_received_ = 0;
};

}  // namespace revet::sim
