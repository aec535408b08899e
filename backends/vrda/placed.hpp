/// What the passes that map have decided, as the timed engine takes it.
#pragma once

#include "load.hpp"
#include "revet/sim/timed.hpp"

namespace revet::vrda {

/// A graph that was not mapped runs with a unit per node, one hop apart.
sim::Mapping mapping_of(const Loaded& loaded, const Machine& machine);

}  // namespace revet::vrda
