// isipv4 by hand (apps/FORMATS.md, section 2).
#include "harness.hpp"
#ifndef REVET_BENCH_BASELINE_ONLY
#include "isipv4.h"
#endif

namespace {

bool is_address(const uint8_t* p) {
  for (int octet = 0; octet < 4; octet++) {
    if (octet > 0 && *p++ != '.') return false;
    unsigned digit = *p - unsigned{'0'};
    if (digit > 9) return false;
    unsigned value = digit;
    p++;
    // Nothing may follow a 0 but a dot or the end, which is what comes next here anyway.
    for (int k = 0; k < 2 && value != 0; k++) {
      digit = *p - unsigned{'0'};
      if (digit > 9) break;
      value = value * 10 + digit;
      p++;
    }
    if (value > 255) return false;
  }
  return *p == 0;
}

void isipv4(int count, const uint8_t* text, const uint32_t* offsets, uint8_t* valid) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++) valid[i] = is_address(text + offsets[i]);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Session session(argc, argv);
  const auto count = session.arg<int>("count");
  const auto* text = session.input<uint8_t>("text");
  const auto* offsets = session.input<uint32_t>("offsets");
  auto* valid = session.output<uint8_t>("valid");
  return session.compare([&] { isipv4(count, text, offsets, valid); },
                         REVET_BENCH_EMITTED(isipv4, session, count, session.buffer("text"),
                                             session.buffer("offsets"), session.buffer("valid")));
}
