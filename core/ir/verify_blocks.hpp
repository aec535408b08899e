/// The rules for the blocks of a function at the cfg level.
#pragma once

#include <functional>
#include <string>

#include "revet/ir.hpp"

namespace revet {

/// Reports the terminators that break the structure which merges, loop headers and counters need:
/// every block is reached, by at most two edges, which agree on the thread and on the loops around;
/// loops have one edge in and one back; children and main have one end. Terminators and types are
/// sound already.
void verify_blocks(const Op& func, const std::function<void(const Op&, std::string)>& fail);

}  // namespace revet
