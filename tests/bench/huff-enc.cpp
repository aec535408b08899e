// huff-enc by hand (apps/FORMATS.md, section 7.2).
#include "harness.hpp"
#ifndef REVET_BENCH_BASELINE_ONLY
#include "huff-enc.h"
#endif

namespace {

void huff_enc(int count, int block, int stride, const uint8_t* in, const uint32_t* code,
              const uint8_t* len, uint32_t* bits, uint32_t* nbits) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++) {
    uint32_t* word = bits + stride * i;
    uint32_t* const end = word + stride;
    uint32_t total = 0;
    uint64_t pending = 0;  // the low `waiting` bits
    int waiting = 0;
    for (int n = 0; n < block; n++) {
      const uint8_t symbol = in[block * i + n];
      pending = pending << len[symbol] | code[symbol];
      waiting += len[symbol];
      total += len[symbol];
      if (waiting >= 32) {
        waiting -= 32;
        *word++ = static_cast<uint32_t>(pending >> waiting);
      }
    }
    if (waiting > 0) *word++ = static_cast<uint32_t>(pending << (32 - waiting));
    while (word != end) *word++ = 0;
    nbits[i] = total;
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Session session(argc, argv);
  const auto count = session.arg<int>("count");
  const auto block = session.arg<int>("block");
  const auto stride = session.arg<int>("stride");
  const auto* in = session.input<uint8_t>("in");
  const auto* code = session.input<uint32_t>("code");
  const auto* len = session.input<uint8_t>("len");
  auto* bits = session.output<uint32_t>("bits");
  auto* nbits = session.output<uint32_t>("nbits");
  return session.compare(
      [&] { huff_enc(count, block, stride, in, code, len, bits, nbits); },
      REVET_BENCH_EMITTED(huff_enc, session, count, block, stride, session.buffer("in"),
                          session.buffer("code"), session.buffer("len"), session.buffer("bits"),
                          session.buffer("nbits")));
}
