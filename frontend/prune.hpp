/// Tidies what lowering left.
#pragma once

#include "revet/ir.hpp"

namespace revet {

/// Drops results of if, replicate and while that nothing uses, with the values that feed them, and
/// arith ops without uses.
void prune(Block& block);

}  // namespace revet
