// ip2int by hand (apps/FORMATS.md, section 3).
#include "harness.hpp"
#ifndef REVET_BENCH_BASELINE_ONLY
#include "ip2int.h"
#endif

namespace {

void ip2int(int count, const uint8_t* text, const uint32_t* offsets, uint32_t* addr) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++) {
    uint32_t address = 0;
    uint32_t octet = 0;
    for (const uint8_t* p = text + offsets[i]; *p != 0; p++) {
      if (*p == '.') {
        address = address << 8 | octet;
        octet = 0;
      } else {
        octet = octet * 10 + (*p - '0');
      }
    }
    addr[i] = address << 8 | octet;
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Session session(argc, argv);
  const auto count = session.arg<int>("count");
  const auto* text = session.input<uint8_t>("text");
  const auto* offsets = session.input<uint32_t>("offsets");
  auto* addr = session.output<uint32_t>("addr");
  return session.compare([&] { ip2int(count, text, offsets, addr); },
                         REVET_BENCH_EMITTED(ip2int, session, count, session.buffer("text"),
                                             session.buffer("offsets"), session.buffer("addr")));
}
