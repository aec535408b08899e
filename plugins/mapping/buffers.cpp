#include "mapping/buffers.hpp"

#include <algorithm>
#include <cmath>

#include "revet/builder.hpp"

namespace revet::mapping {

using namespace ops;

std::vector<std::uint32_t> back_units(const Op& header) {
  std::vector<std::uint32_t> out;
  if (const Attr* a = header.attr("back"))
    for (const Attr& n : *a->as_array()) out.push_back(static_cast<std::uint32_t>(*n.as_int()));
  return out;
}

std::uint32_t back_unit(const Op& header, unsigned index) {
  const std::vector<std::uint32_t> units = back_units(header);
  unsigned data = 0;
  for (unsigned i = 0; i < index; ++i) data += !is_void(*header.result(i));
  return is_void(*header.result(index)) || data >= units.size() ? no_unit : units[data];
}

namespace {

class Inserter {
 public:
  Inserter(Op& graph, const Machine& machine, unsigned burst_latency, unsigned hops,
           BufferCounts& counts)
      : graph_(graph),
        machine_(machine),
        burst_latency_(burst_latency),
        hops_(hops),
        counts_(counts),
        units_(units_of(graph)) {}

  bool run() {
    const std::size_t before = units_.size();
    back_edges();
    if (!is_balanced()) balance();
    counts_.units += static_cast<std::int64_t>(units_.size() - before);
    if (units_.size() != before) set_units(graph_, units_);
    return deepened_ || units_.size() != before;
  }

 private:
  std::uint32_t new_memory(const char* role, const std::string& name) {
    units_.push_back({UnitKind::memory, role, name, {-1, -1}});
    return static_cast<std::uint32_t>(units_.size() - 1);
  }

  /// The rule of sim/loops.hpp asks for more than the buffers of a compute unit: a vector stream
  /// takes the whole width of a memory unit.
  void back_edges() {
    for (Op& op : graph_.body()) {
      if (!op.is(flow_fb_merge) || op.has_attr("back")) continue;
      Attr::Array units;
      for (const auto& r : op.results()) {
        if (is_void(*r)) continue;
        ++counts_.back_edges;
        units.emplace_back(new_memory("deadlock buffers", r->name()));
      }
      if (!units.empty()) op.set_attr("back", std::move(units));
    }
  }

  // --- paths of different length

  unsigned latency(std::uint32_t unit) const {
    return machine_.latency(unit == no_unit ? UnitKind::compute : units_[unit].kind);
  }

  /// Cycles from the firing of the writer to the arrival at a reader.
  double link(const Value& v, const Op& reader) const {
    if (is_internal(v, reader)) return 0;
    double cycles = latency(unit_of(writer(v))) + hops_ * machine_.network.hop_latency;
    if (is_off_chip(*v.def())) cycles += burst_latency_;
    return cycles;
  }

  /// Vectors that a link holds without a buffer of its own.
  double held(const Value& v) const {
    const unsigned depth =
        v.type().scalar_link ? machine_.buffers.scalar_depth : machine_.buffers.vector_depth;
    return latency(unit_of(writer(v))) + (hops_ - 1) * machine_.network.skid + depth;
  }

  /// The cycle in which each node fires first: when the last of its inputs is there, and those of
  /// all that is in its compute unit.
  std::map<const Op*, double> first_firings(const std::vector<Op*>& order) const {
    std::map<const Op*, double> at;
    std::map<std::uint32_t, double> unit_at;
    // Units do not wait for themselves, so that each round settles at least one more. Joins of
    // voids and constants are in a unit without being of its pipeline.
    bool more = true;
    for (std::size_t round = 0; more && round <= units_.size(); ++round) {
      more = false;
      for (const Op* op : order) {
        double time = 0;
        for (unsigned i = 0; i < forward_operands(*op); ++i)
          if (const Value* v = op->operand(i); is_stream(*v))
            time = std::max(time, at[v->def()] + link(*v, *op));
        const bool free = op->is(flow_void_join) || is_constant(*op);
        for (const std::uint32_t u : unit_numbers(*op)) {
          if (free || units_[u].kind != UnitKind::compute) continue;
          const double known = unit_at[u];
          more |= time > known;
          time = unit_at[u] = std::max(time, known);
        }
        at[op] = time;
      }
    }
    return at;
  }

  /// Buffers are on the paths themselves, so that balancing again would answer them with others.
  bool is_balanced() const {
    for (const Op& op : graph_.body())
      if (op.is(flow_buffer) && op.str_attr("role") == "retiming") return true;
    return false;
  }

  void balance() {
    const std::vector<Op*> order = topological(graph_);
    std::map<const Value*, double> rate;  // vectors per cycle, relative
    double most = 1;
    for (const Op* op : order) {
      double in = 1;
      for (unsigned i = 0; i < forward_operands(*op); ++i)
        if (is_stream(*op->operand(i))) in = std::max(in, rate[op->operand(i)]);
      if (op->is(flow_counter)) in *= machine_.compute.lanes;
      if (op->is(flow_reduce)) in /= machine_.compute.lanes;
      for (const auto& r : op->results()) {
        if (!is_stream(*r)) continue;
        rate[r.get()] = in;
        most = std::max(most, in);
      }
    }
    std::map<const Op*, double> at = first_firings(order);
    for (Op* op : order) {
      if (op->is(flow_sink) || op->is(flow_buffer)) continue;
      const unsigned n = forward_operands(*op);
      for (unsigned i = 0; i < n; ++i) {
        Value* v = op->operand(i);
        if (!is_stream(*v) || is_void(*v) || is_internal(*v, *op)) continue;
        // Constants come when they are asked for; what a broadcast repeats waits as one element.
        if (is_constant(*v->def())) continue;
        if (op->is(flow_broadcast) && i + 1 != n) continue;
        // From the firing of the writer to that of the reader, and the way of the room back.
        const double cycles = at[op] - at[v->def()];
        if (cycles == link(*v, *op)) continue;
        const double vectors =
            (cycles + hops_ * machine_.network.hop_latency + 1) * std::min(1.0, rate[v] / most);
        if (vectors <= held(*v)) continue;
        buffer(*op, i, static_cast<unsigned>(std::ceil(vectors)));
      }
    }
  }

  void buffer(Op& user, unsigned operand, unsigned vectors) {
    Value* v = user.operand(operand);
    const bool scalar = v->type().scalar_link;
    // What a memory unit holds; scalars may have to share it.
    const unsigned room =
        machine_.memory.bytes / 4 / (scalar ? std::max(1u, machine_.memory.scalar_outputs) : 1);
    const unsigned elements = std::min(room, scalar ? vectors : vectors * machine_.compute.lanes);
    if (v->def()->is(flow_buffer)) {
      // One is there already; memory units have room.
      deepened_ |= v->def()->int_attr("depth") < elements;
      v->def()->set_attr("depth", std::max<std::int64_t>(v->def()->int_attr("depth"), elements));
      return;
    }
    auto [at, first] = made_.insert({{v, unit_of(readers({&user, operand})[0])}, nullptr});
    if (first) {
      AttrMap attrs{{"depth", elements}, {"role", "retiming"}};
      if (const Attr* copy = user.attr("copy")) attrs.emplace("copy", *copy);
      Builder b = Builder::before(user);
      const Type type = v->type();
      Value* in[] = {v};
      Op* op = b.create(flow_buffer, std::span<Value* const>(in), std::span<const Type>(&type, 1),
                        std::move(attrs));
      op->result()->set_name(v->name());
      op->set_attr("unit", Attr::Array{unit_for(user, *v)});
      ++counts_.retiming;
      at->second = op->result();
    } else {
      Op& op = *at->second->def();
      op.set_attr("depth", std::max<std::int64_t>(op.int_attr("depth"), elements));
    }
    user.set_operand(operand, at->second);
  }

  /// Scalars that wait for the same node share the width of a memory unit.
  std::uint32_t unit_for(const Op& user, const Value& v) {
    if (!v.type().scalar_link) return new_memory("retiming", v.name());
    auto& [unit, used] = open_[&user];
    if (used == 0 || used == machine_.memory.scalar_outputs) {
      unit = new_memory("retiming", v.name());
      used = 0;
    }
    ++used;
    return unit;
  }

  Op& graph_;
  const Machine& machine_;
  const unsigned burst_latency_, hops_;
  BufferCounts& counts_;
  std::vector<Unit> units_;
  bool deepened_ = false;  ///< a buffer that was there
  std::map<std::pair<const Value*, std::uint32_t>, Value*> made_;
  std::map<const Op*, std::pair<std::uint32_t, unsigned>> open_;
};

}  // namespace

bool insert_buffers(Op& graph, const Machine& machine, unsigned burst_latency, unsigned hops,
                    BufferCounts& counts) {
  return Inserter(graph, machine, burst_latency, hops, counts).run();
}

}  // namespace revet::mapping
