/// Placement by simulated annealing.
#pragma once

#include "mapping/lattice.hpp"

namespace revet::mapping {

/// The slot of each unit, each of the unit's kind. There must be enough of them. `spread` weighs
/// the estimate of congestion against wire length: 1 by default, more where routing has failed.
std::vector<int> anneal(const Netlist& netlist, const Machine& machine, const Lattice& lattice,
                        std::uint64_t seed, double spread);

}  // namespace revet::mapping
