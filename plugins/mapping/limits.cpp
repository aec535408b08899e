#include "mapping/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

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

/// Values between the operations of a pipeline, from its end to its beginning. The order of its
/// nodes is one in which each follows what it reads.
class Liveness {
 public:
  Liveness(const std::set<Slice>& slices, const Boundary& b) : slices_(slices) {
    for (const Slice& s : slices) order(s);
    // What leaves does so behind the last stage, filters pass what is there.
    for (const Value* v : b.outputs)
      if (!writer(*v).op->is(flow_filter)) need(v);
    for (const Slice& s : slices)
      if (s.op->is(flow_filter))
        for (const Value* v : reads(s)) need(v);
  }

  unsigned most() {
    for (auto s = order_.rbegin(); s != order_.rend(); ++s) {
      const Op& op = *s->op;
      if (op.is(flow_context)) {
        for (const Op* inner = op.body().last(); inner; inner = inner->prev())
          if (!inner->is(flow_yield) && !is_constant_op(*inner)) before(*inner, op);
      } else if (op.is(flow_reduce) || op.is(flow_deal)) {
        for (const Value* v : writes(*s)) live_.erase(v);
        for (const Value* v : reads(*s)) need(v);
      } else if ((op.is(flow_strip) || op.is(flow_flatten)) && !passed(*s)) {
        need(reads(*s)[0]);
      }
    }
    return most_;
  }

 private:
  void order(const Slice& s) {
    if (!seen_.insert(s).second) return;
    if (!is_merge(*s.op))
      for (const Value* v : reads(s))
        if (const Slice from = writer(*v); slices_.count(from) != 0) order(from);
    order_.push_back(s);
  }

  /// What a filter or the like has passed already.
  bool passed(const Slice& s) const {
    const Slice from = writer(*reads(s)[0]);
    return slices_.count(from) != 0 &&
           (from.op->is(flow_filter) || from.op->is(flow_strip) || from.op->is(flow_flatten));
  }

  void before(const Op& inner, const Op& context) {
    for (const auto& r : inner.results()) live_.erase(r.get());
    for (const Value* v : inner.operands())
      if (v->is_argument())
        need(context.operand(v->index()));
      else if (!is_constant_op(*v->def()))
        live_.insert(v);
    most_ = std::max(most_, static_cast<unsigned>(live_.size()));
  }

  /// A stream of the unit is the value of the code that gives it.
  void need(const Value* stream) {
    while (!is_void(*stream)) {
      const Slice from = writer(*stream);
      if (slices_.count(from) == 0 || !from.op->is(flow_context)) {
        live_.insert(stream);
        break;
      }
      const Value* given = from.op->body().terminator()->operand(stream->index());
      if (!given->is_argument()) {
        if (!is_constant_op(*given->def())) live_.insert(given);
        break;
      }
      stream = from.op->operand(given->index());
    }
    most_ = std::max(most_, static_cast<unsigned>(live_.size()));
  }

  const std::set<Slice>& slices_;
  std::set<Slice> seen_;
  std::vector<Slice> order_;
  std::set<const Value*> live_;
  unsigned most_ = 0;
};

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
  c.registers = Liveness(slices, b).most();
  return c;
}

std::string excess(const UnitCost& c, const Machine& m) {
  const std::tuple<unsigned, unsigned, const char*> rows[] = {
      {c.stages, m.compute.stages, "stages"},
      {c.registers, m.compute.registers, "registers"},
      {c.counters, m.compute.counters, "counters"},
      {c.vector_inputs, m.compute.vector_inputs, "vector inputs"},
      {c.scalar_inputs, m.compute.scalar_inputs, "scalar inputs"},
      {c.vector_outputs, m.compute.vector_outputs, "vector outputs"},
      {c.scalar_outputs, m.compute.scalar_outputs, "scalar outputs"}};
  std::string out;
  for (const auto& [needed, available, what] : rows)
    if (needed > available)
      out += fmt::format("{}{} {} needed, {} available", out.empty() ? "" : "; ", needed, what,
                         available);
  return out;
}

bool fits(const UnitCost& c, const Machine& m) { return excess(c, m).empty(); }

std::uint64_t buffer_bytes(const Op& sram) {
  const Type t = sram.result()->type();
  // A memory that nothing accesses is the queue of its pointers.
  const std::uint64_t each = is_accessed(*sram.result())
                                 ? std::uint64_t{t.size} * t.element_type().bytes()
                                 : type_u32.bytes();
  return each * static_cast<std::uint64_t>(buffers_of(sram));
}

bool Ports::add(const Op& access, std::uint32_t unit) {
  Taken t = units_[unit];
  ++t.contexts;
  const auto count = [](unsigned(&of)[2], const Value& v) {
    if (!is_void(v)) ++of[link_kind(v) == LinkKind::scalar];
  };
  if (is_off_chip(access)) {
    ++(access.is(flow_bulk_load) ? t.inputs : t.outputs)[0];
  } else {
    for (const Value* v : access.operands())
      if (is_stream(*v) && !is_constant(*v->def())) count(t.inputs, *v);
    for (const auto& r : access.results()) count(t.outputs, *r);
  }
  const auto& m = machine_.memory;
  if (t.contexts > m.contexts || t.inputs[0] > m.vector_inputs || t.inputs[1] > m.scalar_inputs ||
      t.outputs[0] > m.vector_outputs || t.outputs[1] > m.scalar_outputs)
    return false;
  units_[unit] = t;
  return true;
}

}  // namespace revet::mapping
