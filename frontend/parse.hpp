/// From text to syntax tree.
#pragma once

#include <memory>
#include <string>

#include "ast.hpp"
#include "revet/diagnostics.hpp"

namespace revet {

/// Never null; with `broken` set where there were errors. `text` comes from prepare_source. Null
/// only where nothing is worth analysing (nested too deeply, or too many errors).
std::unique_ptr<ast::Ast> parse(FileId file, std::string text, Diagnostics& diagnostics);

}  // namespace revet
