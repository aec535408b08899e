/// From flow IR to the graph that the engines of sim/ run.
#pragma once

#include "revet/ir.hpp"
#include "revet/launch.hpp"
#include "revet/sim/graph.hpp"

namespace revet::vrda {

/// The module holds one flow.graph and the arrays of the launch. Scalar arguments and array sizes
/// become constants of the graph. Throws Error (exit 1) for ops that have no meaning in a graph.
struct Loaded {
  sim::Graph graph;
  const Op* flow = nullptr;
  std::vector<const Op*> nodes;       ///< of the graph's nodes
  std::vector<const Value*> streams;  ///< of its streams
  std::vector<const Op*> srams;       ///< of its SRAMs
};
Loaded load(const Module& module, const Launch& launch);

}  // namespace revet::vrda
