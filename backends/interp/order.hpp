/// The order in which the threads of a list run.
#pragma once

#include <bit>
#include <cstdint>

namespace revet::interp {

/// SplitMix64 (Steele, Lea, Flood, 2014).
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A permutation of 0..n-1 that needs no memory: a Feistel network over the next power of four,
/// walked until it lands inside (fewer than four steps on average). Key 0 is the identity.
class Order {
 public:
  Order() = default;
  Order(std::uint64_t n, std::uint64_t key)
      : n_(n),
        key_(n > 1 ? key : 0),
        half_(n > 1 ? (static_cast<unsigned>(std::bit_width(n - 1)) + 1) / 2 : 1) {}

  std::uint64_t operator()(std::uint64_t i) const {
    if (key_ == 0) return i;
    do i = scramble(i);
    while (i >= n_);
    return i;
  }

 private:
  std::uint64_t scramble(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = x >> half_;
    std::uint64_t right = x & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t next = left ^ (mix(key_ + (right << 3 | round)) >> 40 & mask);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  std::uint64_t n_ = 1;
  std::uint64_t key_ = 0;
  unsigned half_ = 1;
};

}  // namespace revet::interp
