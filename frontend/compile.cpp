/// Runs the stages of the front end.
#include "frontend.hpp"

#include "lower.hpp"
#include "parse.hpp"
#include "sema.hpp"
#include "source_text.hpp"

namespace revet {

std::unique_ptr<Module> compile_source(FileId file, const SourceManager& sources,
                                       Diagnostics& diagnostics) {
  std::string text = prepare_source(file, sources.text(file), diagnostics);
  std::unique_ptr<ast::Ast> ast = parse(file, std::move(text), diagnostics);
  if (!ast || diagnostics.full()) return nullptr;
  ast->broken = diagnostics.has_errors();
  Sema(*ast, diagnostics).run();
  if (diagnostics.has_errors()) return nullptr;
  return Lowering(*ast).run();
}

}  // namespace revet
