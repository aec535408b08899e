/// What each file of tests/fuzz/targets is: one of Revet's readers, and what it promises of any
/// bytes. Linked with libfuzzer.cpp it is a libFuzzer target (tools/fuzz.sh); with mutations.cpp a
/// program that gives it a fixed number of mutations of its seeds, the same ones at every run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

namespace revet::fuzz {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

/// Gives the bytes to the reader; true where it takes them. Aborts where a promise is broken.
bool accepts(std::span<const std::uint8_t> bytes);

/// A change that hurts this format more than a random one would. A target may leave it out.
[[gnu::weak]] void mutate_format(Bytes& bytes, Random& random);

inline void require(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", text);
  std::abort();
}

}  // namespace revet::fuzz
