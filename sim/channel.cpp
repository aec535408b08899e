#include "channel.hpp"

namespace revet::sim {

void Channel::copy_parts(unsigned lanes, std::uint32_t* to) const {
  unsigned from = offset_;
  for (std::uint64_t i = head_; lanes != 0; ++i) {
    const unsigned n = std::min(lanes, entries_[i & mask_].view.lanes - from);
    std::memcpy(to, lanes_of(i) + from, n * sizeof *to);
    to += n;
    lanes -= n;
    from = 0;
  }
}

void Channel::take_parts(View what, Cycle now) {
  unsigned left = what.lanes;
  while (left != 0) {
    const View head = entries_[head_ & mask_].view;
    const unsigned n = std::min(left, head.lanes - offset_);
    left -= n;
    offset_ += n;
    if (offset_ == head.lanes && head.level == 0) pop(now);
  }
  // Vectors without content do not exist: the barrier is the head's own.
  if (what.level != 0) pop(now);
}

Cycle Channel::push_elements(View what, const std::uint32_t* from, Cycle at) {
  ++vectors_;
  const unsigned elements = std::max(1u, what.lanes);
  for (unsigned i = 0; i < elements; ++i) {
    append(at + i, {what.lanes == 0 ? 0u : 1u, i + 1 == elements ? what.level : 0});
    if (data_ && from) *lanes_of(tail_ - 1) = from[i];
  }
  used_ += elements;
  last_arrival_ = at + elements;
  // Until its first element goes a vector waits in a stage of the pipeline, the last in a skid.
  starts_.push(at + elements - (latency_ - pipeline_));
  return at;
}

void Channel::resize(std::uint64_t size) {
  std::vector<Entry> entries(size);
  std::vector<std::uint32_t> lanes(data_ ? size * lanes_per_vector : 0);
  for (std::uint64_t i = freed_; i != tail_; ++i) {
    const std::uint64_t to = i & (size - 1);
    entries[to] = entries_[i & mask_];
    if (data_) copy_vector(lanes.data() + to * lanes_per_vector, lanes_of(i));
  }
  entries_ = std::move(entries);
  lanes_ = std::move(lanes);
  mask_ = size - 1;
}

}  // namespace revet::sim
