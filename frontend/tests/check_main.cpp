// Development driver: frontend_check [--ir] FILE
#include <fstream>
#include <iostream>
#include <sstream>
#include <cstring>
#include <chrono>
#include "frontend.hpp"
#include "revet/text.hpp"
using namespace revet;
int main(int argc, char** argv) {
  bool ir = false; const char* path = nullptr;
  Diagnostics d; d.disabled.clear();
  for (int i = 1; i < argc; ++i) if (!strcmp(argv[i], "--ir")) ir = true; else path = argv[i];
  std::ifstream in(path, std::ios::binary); std::stringstream ss; ss << in.rdbuf();
  SourceManager sm; FileId f = sm.add(path, ss.str());
  auto t0 = std::chrono::steady_clock::now();
  auto m = compile_source(f, sm, d);
  if (getenv("TIME")) std::cerr << "compile " << std::chrono::duration<double>(std::chrono::steady_clock::now()-t0).count() << "\n";
  if (m && !verify(*m, d)) std::cerr << "VERIFY FAILED\n";
  if (getenv("TIME")) std::cerr << "verified " << std::chrono::duration<double>(std::chrono::steady_clock::now()-t0).count() << "\n";
  for (auto& x : d.all()) std::cerr << render_text(x, sm, false);
  if (m && ir) std::cout << print(*m, {false});
  if (d.error_count() > d.limit) std::cerr << d.error_count() << " errors\n";
  return d.has_errors() ? 1 : 0;
}
