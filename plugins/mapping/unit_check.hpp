/// Recomputes from the graph alone what every unit needs, and compares it with the machine.
#pragma once

#include <string>

#include "mapping/assign.hpp"

namespace revet::mapping {

struct Fault {
  std::string message;
  Loc loc;
};

/// The rules are numbered in unit_check.cpp, which shares no code with the passes that map.
std::vector<Fault> check_units(const Op& graph, const Machine& machine);

}  // namespace revet::mapping
