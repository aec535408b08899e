/// The buffer between one writer and one reader of a stream. It takes tokens in any legal spelling
/// and hands out expanded ones, so a node on either side never sees an implied barrier.
#pragma once

#include <algorithm>
#include <limits>

#include "revet/sim/stream.hpp"

namespace revet::sim {

class Fifo {
 public:
  static constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();

  /// With `fuse`, a barrier that is pushed behind the barrier one level down, still in the buffer
  /// and closing a non-empty list, replaces it: what is stored is then link form.
  explicit Fifo(std::uint32_t capacity = 1, bool fuse = false)
      : capacity_(capacity), fuse_(fuse), ring_(std::bit_ceil(std::min(capacity, 4u))) {}

  bool empty() const { return size_ == 0; }
  bool full() const { return size_ >= capacity_; }
  /// Tokens stored, each of either spelling.
  std::uint32_t size() const { return size_; }
  std::uint32_t capacity() const { return capacity_; }
  void set_capacity(std::uint32_t capacity) { capacity_ = capacity; }
  /// The largest size since the last reset_peak.
  std::uint32_t peak() const { return peak_; }
  void reset_peak() { peak_ = size_; }

  /// The next expanded token; the buffer is not empty.
  Token head() const { return read_.first(ring_[head_]); }
  /// Removes what head() gives. True if the buffer was full and no longer is.
  bool pop() {
    const Token stored = ring_[head_];
    const Token t = read_.first(stored);
    read_.pass(t);
    if (t != stored) return false;
    const bool was_full = full();
    head_ = (head_ + 1) & mask();
    --size_;
    return was_full;
  }
  /// The buffer is not full. True if it was empty.
  bool push(Token t) {
    if (fuse_ && replaces_last(t)) return false;
    if (size_ == ring_.size()) grow();
    ring_[(head_ + size_) & mask()] = t;
    peak_ = std::max(peak_, ++size_);
    return size_ == 1;
  }
  /// The stored tokens, for messages.
  std::vector<Token> stored() const;

 private:
  std::uint32_t mask() const { return static_cast<std::uint32_t>(ring_.size()) - 1; }
  bool replaces_last(Token t);
  void grow();

  std::uint32_t capacity_;
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t peak_ = 0;
  OpenLists read_;
  OpenLists written_;
  std::uint8_t last_closing_ = 0;  ///< level of the last token if it closed a non-empty list
  bool fuse_;
  std::vector<Token> ring_;  ///< its size is a power of two and grows up to the capacity
};

}  // namespace revet::sim
