/// Cuts contexts that are too large for a compute unit (paper, section V-D: "Our splitting
/// constraints are the number of pipeline stages, registers, inputs, and outputs").
#pragma once

#include <cstdint>

#include "mapping/graph_view.hpp"

namespace revet::mapping {

struct SplitCounts {
  std::int64_t cut = 0;        ///< contexts that were too large
  std::int64_t parts = 0;      ///< that they became
  std::int64_t constants = 0;  ///< contexts of constants, one for each node that uses some
};

/// Gives every node the constants that it uses by a context of their own, which is free in the
/// node's unit, and cuts contexts until each fits a unit. True if something changed.
bool split_contexts(Op& graph, const Machine& machine, SplitCounts& counts);

/// Cuts one context into as few as fit, of several orders of its code the best; true if it did.
bool cut(Op& context, const Machine& machine, SplitCounts& counts);

/// What a context's code needs of a unit.
struct ContextCost {
  unsigned stages = 0, registers = 0;
  unsigned vector_inputs = 0, scalar_inputs = 0, vector_outputs = 0, scalar_outputs = 0;
};
bool fits(const ContextCost& cost, const Machine& machine);

}  // namespace revet::mapping
