/// The front end: any bytes give a module or located errors; the module is right, and its text
/// reads back as the same module.
#include <string>

#include "frontend.hpp"
#include "revet/text.hpp"
#include "target.hpp"

namespace revet::fuzz {

bool accepts(std::span<const std::uint8_t> bytes) {
  SourceManager sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("input.rvt", {bytes.begin(), bytes.end()});
  const std::unique_ptr<Module> module = compile_source(file, sources, diagnostics);
  require((module != nullptr) != diagnostics.has_errors(), "a module or errors");
  for (const Diagnostic& d : diagnostics.all()) {
    require(d.loc.known(), "an error has a place");
    require(!render_text(d, sources, false).empty(), "an error can be shown");
  }
  if (!module) return false;
  diagnostics.clear();
  require(verify(*module, diagnostics), "the module is right");
  const std::string text = print(*module);
  const std::unique_ptr<Module> again =
      parse_module(sources.add("printed.rir", text), sources, diagnostics);
  require(again != nullptr && print(*again) == text, "the module's text reads back the same");
  return true;
}

}  // namespace revet::fuzz
