// murmur3 by hand (apps/FORMATS.md, section 4).
#include <bit>

#include "harness.hpp"
#ifndef REVET_BENCH_BASELINE_ONLY
#include "murmur3.h"
#endif

namespace {

uint32_t fmix32(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  h ^= h >> 16;
  return h;
}

void murmur3(int count, uint32_t seed, const uint32_t* data, uint32_t* hash) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++) {
    uint32_t h = seed;
    for (int k = 0; k < 16; k++) {
      uint32_t w = data[16 * i + k];
      w *= 0xcc9e2d51;
      w = std::rotl(w, 15);
      w *= 0x1b873593;
      h ^= w;
      h = std::rotl(h, 13);
      h = h * 5 + 0xe6546b64;
    }
    hash[i] = fmix32(h ^ 64);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Session session(argc, argv);
  const auto count = session.arg<int>("count");
  const auto seed = session.arg<uint32_t>("seed");
  const auto* data = session.input<uint32_t>("data");
  auto* hash = session.output<uint32_t>("hash");
  return session.compare([&] { murmur3(count, seed, data, hash); },
                         REVET_BENCH_EMITTED(murmur3, session, count, seed, session.buffer("data"),
                                             session.buffer("hash")));
}
