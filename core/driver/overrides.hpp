/// What the command line changes in a pipeline.
#pragma once

#include <set>

#include "pipeline.hpp"

namespace revet {

/// Applies --set, --disable and --enable, apart from the parameters of that file, whose names are
/// in `parameters`. Throws Error (exit 2) with the nearest name.
void apply_overrides(Pipeline& p, const Overrides& overrides,
                     const std::set<std::string>& parameters, SourceManager& sources,
                     Diagnostics& notes);

}  // namespace revet
