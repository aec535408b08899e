/// Runs the stages of the front end.
#include <algorithm>
#include <tuple>

#include "frontend.hpp"
#include "lower.hpp"
#include "parse.hpp"
#include "sema.hpp"
#include "source_text.hpp"

namespace revet {

namespace {

/// Hands the diagnostics on in the order of their places: the stages report one after another.
void report_in_order(const Diagnostics& from, Diagnostics& to) {
  std::vector<const Diagnostic*> list;
  for (const Diagnostic& d : from.all()) list.push_back(&d);
  std::stable_sort(list.begin(), list.end(), [](const Diagnostic* a, const Diagnostic* b) {
    auto place = [](const Diagnostic* d) {
      return std::tuple(!d->loc.known(), d->loc.line, d->loc.col);
    };
    return place(a) < place(b);
  });
  for (const Diagnostic* d : list) {
    Diagnostic& copy = d->severity == Severity::error ? to.error(d->loc, d->message)
                                                      : to.warning(d->loc, d->category, d->message);
    copy.notes = d->notes;
  }
}

std::unique_ptr<ast::Ast> analyse(FileId file, const SourceManager& sources,
                                  Diagnostics& diagnostics) {
  std::string text = prepare_source(file, sources.text(file), diagnostics);
  std::unique_ptr<ast::Ast> ast = parse(file, std::move(text), diagnostics);
  if (!ast) return nullptr;
  ast->broken = diagnostics.has_errors();
  Sema(*ast, diagnostics).run();
  return ast;
}

}  // namespace

std::unique_ptr<Module> compile_source(FileId file, const SourceManager& sources,
                                       Diagnostics& diagnostics) {
  Diagnostics found;
  found.enabled = diagnostics.enabled;
  found.disabled = diagnostics.disabled;
  // More than will be shown, as the first in the file need not be the first that are found.
  found.limit = diagnostics.limit + 100;
  std::unique_ptr<ast::Ast> ast = analyse(file, sources, found);
  report_in_order(found, diagnostics);
  return found.has_errors() ? nullptr : Lowering(*ast).run();
}

std::vector<std::string> frontend_warnings() {
  return {"bounds", "narrowing", "pragma", "race", "tautology"};
}

}  // namespace revet
