/// AND, shift and OR on fixed boundaries, as reads and writes of parts.
#pragma once

#include "revet/plugin.hpp"

namespace revet {

/// Gives true if anything changed. Statistics: `parts read`, `parts written`.
bool rewrite_parts(Module& module, PassContext& context);

}  // namespace revet
