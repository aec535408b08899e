/// The parser, verifier and printers of `.rir` text: any bytes give a module or errors; a module
/// that is right prints as text that reads back as the same module, and can be drawn.
#include <string>

#include "revet/text.hpp"
#include "target.hpp"

namespace revet::fuzz {
namespace {

std::unique_ptr<Module> parse(std::string text) {
  SourceManager sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("input.rir", std::move(text));
  std::unique_ptr<Module> module = parse_module(file, sources, diagnostics);
  require((module != nullptr) != diagnostics.has_errors(), "a module or errors");
  for (const Diagnostic& d : diagnostics.all())
    require(!render_text(d, sources, false).empty(), "an error can be shown");
  if (!module || !verify(*module, diagnostics)) return nullptr;
  return module;
}

}  // namespace

bool accepts(std::span<const std::uint8_t> bytes) {
  const std::unique_ptr<Module> module = parse({bytes.begin(), bytes.end()});
  if (!module) return false;
  const std::string text = print(*module);
  const std::unique_ptr<Module> again = parse(text);
  require(again != nullptr, "what was printed is right");
  require(print(*again) == text, "what was printed reads back the same");
  require(!print_dot(*module).empty(), "the module can be drawn");
  return true;
}

}  // namespace revet::fuzz
