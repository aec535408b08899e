// huff-dec by hand (apps/FORMATS.md, section 7.1).
#include "harness.hpp"
#ifndef REVET_BENCH_BASELINE_ONLY
#include "huff-dec.h"
#endif

namespace {

void huff_dec(int count, int block, const uint32_t* bits, const uint32_t* starts,
              const uint32_t* first_code, const uint32_t* first_index, const uint32_t* count_len,
              const uint8_t* symbols, uint8_t* out) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++) {
    const uint32_t* next = bits + starts[i];
    uint32_t word = 0;
    int left = 0;
    for (int n = 0; n < block; n++) {
      uint32_t code = 0;
      int length = 0;
      uint32_t k;
      do {
        // Only when a bit is needed: there may be no word behind the last.
        if (left == 0) {
          word = *next++;
          left = 32;
        }
        code = code * 2 + (word >> 31);
        word <<= 1;
        left--;
        length++;
        k = code - first_code[length];
      } while (k >= count_len[length]);
      out[block * i + n] = symbols[first_index[length] + k];
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Session session(argc, argv);
  const auto count = session.arg<int>("count");
  const auto block = session.arg<int>("block");
  const auto* bits = session.input<uint32_t>("bits");
  const auto* starts = session.input<uint32_t>("starts");
  const auto* first_code = session.input<uint32_t>("first_code");
  const auto* first_index = session.input<uint32_t>("first_index");
  const auto* count_len = session.input<uint32_t>("count_len");
  const auto* symbols = session.input<uint8_t>("symbols");
  auto* out = session.output<uint8_t>("out");
  return session.compare(
      [&] {
        huff_dec(count, block, bits, starts, first_code, first_index, count_len, symbols, out);
      },
      REVET_BENCH_EMITTED(huff_dec, session, count, block, session.buffer("bits"),
                          session.buffer("starts"), session.buffer("first_code"),
                          session.buffer("first_index"), session.buffer("count_len"),
                          session.buffer("symbols"), session.buffer("out")));
}
