#include "mapping/limits.hpp"

#include <algorithm>

namespace revet::mapping {

using namespace ops;

namespace {

/// Whether a use of a stream is served by a link, even where reader and writer share a unit.
bool enters_merge(const Use& use) { return is_merge(*use.op); }

bool read_outside(const Value& v, const std::set<Slice>& slices) {
  for (const Use& use : v.uses()) {
    if (enters_merge(use)) return true;
    for (const Slice& s : readers(use))
      if (slices.count(s) == 0) return true;
  }
  return false;
}

}  // namespace

Boundary boundary_of(const std::set<Slice>& slices) {
  Boundary b;
  const auto add = [](std::vector<Value*>& list, Value* v) {
    if (std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
  };
  for (const Slice& s : slices) {
    for (Value* v : reads(s))
      if (is_merge(*s.op) || slices.count(writer(*v)) == 0) add(b.inputs, v);
    for (Value* v : writes(s))
      if (read_outside(*v, slices)) add(b.outputs, v);
  }
  return b;
}

UnitCost cost_of(const std::set<Slice>& slices) {
  UnitCost c;
  const Boundary b = boundary_of(slices);
  for (const Value* v : b.inputs) {
    c.vector_inputs += link_kind(*v) == LinkKind::vector;
    c.scalar_inputs += link_kind(*v) == LinkKind::scalar;
  }
  for (const Value* v : b.outputs) {
    c.vector_outputs += link_kind(*v) == LinkKind::vector;
    c.scalar_outputs += link_kind(*v) == LinkKind::scalar;
  }
  for (const Slice& s : slices) {
    c.stages += stages_of(*s.op);
    c.counters += s.op->is(flow_counter);
  }
  // Every value that enters or leaves may be alive at once with what a context keeps itself.
  c.registers = c.vector_inputs + c.scalar_inputs;
  return c;
}

bool fits(const UnitCost& c, const Machine& m) {
  return c.stages <= m.compute.stages && c.counters <= m.compute.counters &&
         c.registers <= m.compute.registers && c.vector_inputs <= m.compute.vector_inputs &&
         c.scalar_inputs <= m.compute.scalar_inputs &&
         c.vector_outputs <= m.compute.vector_outputs &&
         c.scalar_outputs <= m.compute.scalar_outputs;
}

}  // namespace revet::mapping
