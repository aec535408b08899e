/// A process that compiles many programs does not grow with them.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "frontend.hpp"

using namespace revet;

namespace {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void compile(int i) {
  SourceManager sources;
  Diagnostics diagnostics;
  // Every program has other names, literals and shapes, so that nothing can be shared by chance.
  std::string text =
      fmt::format("DRAM<int> a{0};\nvoid main(int n{0}) {{\n  foreach (n{0}) {{ int i =>\n", i);
  for (int k = 0; k < 40; ++k)
    text +=
        fmt::format("    if (a{0}[i] > {1}) {{ a{0}[i] = (i + {1}) * {2} - a{0}[i] % {3}; }};\n", i,
                    k * i, k + i, k + 1);
  text += "  };\n}\n";
  REQUIRE(compile_source(sources.add(fmt::format("p{}.rvt", i), text), sources, diagnostics));
}

}  // namespace

TEST_CASE("compiling a thousand programs in one process needs no more memory than some") {
  for (int i = 0; i < 200; ++i) compile(i);
  const std::size_t after_some = resident_bytes();
  for (int i = 200; i < 1000; ++i) compile(i);
  CHECK(resident_bytes() < after_some + (std::size_t{4} << 20));
}
