/// Recomputes from the graph alone what every unit needs, and compares it with the machine.
#pragma once

#include <string>

#include "mapping/assign.hpp"

namespace revet::mapping {

struct Fault {
  std::string message;  ///< begins with the number of the rule
  const Op* op;         ///< where it is seen: a node of the unit, or the graph
};

/// Whether every unit can hold what it has. The rules are numbered in unit_check.cpp, which shares
/// no code with the passes that map.
std::vector<Fault> check_units(const Op& graph, const Machine& machine);

/// Whether places and routes of a placed graph are right: rule 14 alone.
std::vector<Fault> check_routed(const Op& graph, const Machine& machine);

}  // namespace revet::mapping
