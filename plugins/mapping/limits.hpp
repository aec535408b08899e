/// What the slices of a compute unit need of it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "mapping/graph_view.hpp"

namespace revet::mapping {

struct UnitCost {
  unsigned stages = 0, registers = 0, counters = 0;
  unsigned vector_inputs = 0, scalar_inputs = 0, vector_outputs = 0, scalar_outputs = 0;
};

/// The streams that a set of slices takes from outside, and those that others take from it. A merge
/// takes all of its inputs from outside: its buffers are at the head of the pipeline.
struct Boundary {
  std::vector<Value*> inputs, outputs;
};
Boundary boundary_of(const std::set<Slice>& slices);
UnitCost cost_of(const std::set<Slice>& slices);
bool fits(const UnitCost& cost, const Machine& machine);
/// What does not fit, in words: "5 vector inputs needed, 4 available".
std::string excess(const UnitCost& cost, const Machine& machine);

/// Bytes of a flow.sram in all its copies.
std::uint64_t buffer_bytes(const Op& sram);

/// Contexts and ports of memory units that accesses have taken.
class Ports {
 public:
  explicit Ports(const Machine& machine) : machine_(machine) {}
  /// False, and no change, where the unit has no room for the access.
  bool add(const Op& access, std::uint32_t unit);

 private:
  struct Taken {
    unsigned contexts = 0;
    unsigned inputs[2] = {}, outputs[2] = {};  ///< vectors, scalars; each access has its own
  };
  const Machine& machine_;
  std::map<std::uint32_t, Taken> units_;
};

}  // namespace revet::mapping
