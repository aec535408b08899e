/// Writes of sibling threads that race whatever the data are.
#pragma once

#include "ast.hpp"
#include "revet/diagnostics.hpp"

namespace revet {

/// Warns where all children of a foreach write one element and the values differ. Needs a checked
/// tree without errors.
void report_races(const ast::Ast& ast, Diagnostics& diagnostics);

}  // namespace revet
