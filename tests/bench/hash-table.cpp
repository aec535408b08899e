// hash-table by hand (apps/FORMATS.md, section 5).
#include "harness.hpp"
#ifndef REVET_BENCH_BASELINE_ONLY
#include "hash-table.h"
#endif

namespace {

constexpr uint32_t empty = 0xffffffff;

uint32_t fmix32(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  h ^= h >> 16;
  return h;
}

void hash_table(int count, uint32_t mask, const uint32_t* table, const uint32_t* queries,
                uint32_t* result) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++) {
    const uint32_t key = queries[i];
    uint32_t slot = fmix32(key) & mask;
    // The value of an empty slot is what an absent key gives.
    while (table[2 * slot] != key && table[2 * slot] != empty) slot = (slot + 1) & mask;
    result[i] = table[2 * slot + 1];
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Session session(argc, argv);
  const auto count = session.arg<int>("count");
  const auto mask = session.arg<uint32_t>("mask");
  const auto* table = session.input<uint32_t>("table");
  const auto* queries = session.input<uint32_t>("queries");
  auto* result = session.output<uint32_t>("result");
  return session.compare(
      [&] { hash_table(count, mask, table, queries, result); },
      REVET_BENCH_EMITTED(hash_table, session, count, mask, session.buffer("table"),
                          session.buffer("queries"), session.buffer("result")));
}
