// search by hand (apps/FORMATS.md, section 6).
#include "harness.hpp"
#ifndef REVET_BENCH_BASELINE_ONLY
#include "search.h"
#endif

namespace {

void search(int count, int m, const uint8_t* text, const uint8_t* pattern, const int* bad_char,
            const int* good_suffix, int* matches) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++) {
    int found = 0;
    int s = 256 * i;
    const int end = s + 256;
    while (s < end) {
      int j = m - 1;
      while (j >= 0 && pattern[j] == text[s + j]) j--;
      if (j < 0) {
        found++;
        s += good_suffix[0];
      } else {
        s += std::max(good_suffix[j + 1], j - bad_char[text[s + j]]);
      }
    }
    matches[i] = found;
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Session session(argc, argv);
  const auto count = session.arg<int>("count");
  const auto m = session.arg<int>("m");
  const auto* text = session.input<uint8_t>("text");
  const auto* pattern = session.input<uint8_t>("pattern");
  const auto* bad_char = session.input<int>("bad_char");
  const auto* good_suffix = session.input<int>("good_suffix");
  auto* matches = session.output<int>("matches");
  return session.compare(
      [&] { search(count, m, text, pattern, bad_char, good_suffix, matches); },
      REVET_BENCH_EMITTED(search, session, count, m, session.buffer("text"),
                          session.buffer("pattern"), session.buffer("bad_char"),
                          session.buffer("good_suffix"), session.buffer("matches")));
}
