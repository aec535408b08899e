/// The list of ops that the core itself registers.
#pragma once

#include <vector>

#include "revet/op_info.hpp"

namespace revet {

std::vector<const OpInfo*> core_ops();

}  // namespace revet
