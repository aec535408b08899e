/// From Revet source text to thread IR.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "revet/diagnostics.hpp"
#include "revet/ir.hpp"

namespace revet {

/// Parses, checks and lowers the file (its text is in `sources`). Null where there were errors,
/// which are in `diagnostics`. Bad bytes, deep nesting and every other fault of the text are
/// located errors.
std::unique_ptr<Module> compile_source(FileId file, const SourceManager& sources,
                                       Diagnostics& diagnostics);

/// The categories of warnings that it reports, for -WNAME.
std::vector<std::string> frontend_warnings();

}  // namespace revet
