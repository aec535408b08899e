/// Pipeline files: any bytes give a pipeline or errors, and one that is right prints as a pipeline
/// that is right and prints the same.
#include "driver/pipeline.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/files.hpp"
#include "target.hpp"

namespace revet::fuzz {
namespace {

namespace fs = std::filesystem;

/// A folder of this process with the plugins that pipelines may name, for its life.
struct Bench {
  Bench()
      : folder(fs::temp_directory_path() / ("revet-fuzz-pipeline-" + std::to_string(::getpid()))),
        plugins({REVET_FUZZ_PLUGINS}, talk) {
    fs::create_directory(folder);
  }
  ~Bench() { fs::remove_all(folder); }

  fs::path folder;
  Diagnostics talk;
  Plugins plugins;
};

std::string printed(const std::string& text, Bench& bench) {
  const fs::path file = bench.folder / "input.toml";
  write_file(file, text);
  SourceManager sources;
  Diagnostics diagnostics;
  std::string out;
  try {
    auto pipeline = load_pipeline(file, {}, sources, diagnostics);
    require(pipeline.has_value() != diagnostics.has_errors(), "a pipeline or errors");
    if (pipeline && check(*pipeline, bench.plugins, {}, diagnostics))
      out = print(*pipeline, bench.plugins);
    else
      require(diagnostics.has_errors(), "what is refused has errors");
  } catch (const Error& e) {
    require(e.exit == Exit::usage || e.exit == Exit::program, "the user's fault");
  }
  for (const Diagnostic& d : diagnostics.all())
    require(!render_text(d, sources, false).empty(), "an error can be shown");
  return out;
}

}  // namespace

bool accepts(std::span<const std::uint8_t> bytes) {
  static Bench bench;
  const std::string once = printed({bytes.begin(), bytes.end()}, bench);
  if (once.empty()) return false;
  require(printed(once, bench) == once, "what was printed reads back the same");
  return true;
}

}  // namespace revet::fuzz
