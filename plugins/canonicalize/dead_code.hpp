/// Dead code: ops without effect and unused values of structured ops.
#pragma once

#include <cstdint>

#include "revet/ir.hpp"

namespace revet {

/// Removes every op that neither has an effect nor gives a value to one that has, and every result,
/// reduction and carried value of if, while, foreach and replicate that none of them needs. Gives
/// the number of ops and values removed.
std::int64_t remove_dead_code(Module& module);
/// The same inside one op; what is outside may need the op and all of its results.
std::int64_t remove_dead_code(Op& place);

}  // namespace revet
