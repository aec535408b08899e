#include "mapping/buffers.hpp"

#include <algorithm>
#include <cmath>
#include <set>

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

/// Share of what a link would have to hold for a vector in every cycle that it may lack.
constexpr double tolerance = 0.25;

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

  /// The streams that come together: all, or one side of a merge.
  static std::pair<unsigned, unsigned> side(const Op& op, unsigned which) {
    const unsigned n = forward_operands(op);
    if (!op.is(flow_merge)) return {0, n};
    return {which * n / 2, (which + 1) * n / 2};
  }

  /// When the last of them is there.
  double arrival(const Op& op, unsigned which, const std::map<const Op*, double>& at) const {
    double time = 0;
    const auto [first, last] = side(op, which);
    for (unsigned i = first; i < last; ++i)
      if (const Value* v = op.operand(i); is_stream(*v)) {
        const auto known = at.find(v->def());
        time = std::max(time, (known == at.end() ? 0 : known->second) + link(*v, op));
      }
    return time;
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
        double time = arrival(*op, 0, at);
        if (op->is(flow_merge)) time = std::min(time, arrival(*op, 1, at));
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
    find_rare(order);
    std::map<const Op*, double> at = first_firings(order);
    std::map<const Value*, std::vector<Need>> needs;
    std::vector<Value*> early;  // those that have needs, in order
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
        const unsigned which = op->is(flow_merge) && i >= n / 2 ? 1 : 0;
        const double due = op->is(flow_merge) ? arrival(*op, which, at) : at[op];
        const double cycles = due - at[v->def()];
        if (cycles == link(*v, *op)) continue;
        const double vectors =
            (cycles + hops_ * machine_.network.hop_latency + 1) * std::min(1.0, rate[v] / most);
        // A link that holds most of it costs less than a memory unit brings.
        if (vectors <= held(*v) * (1 + tolerance)) continue;
        if (needs[v].empty()) early.push_back(v);
        needs[v].push_back({op, i, vectors});
      }
    }
    for (Value* v : early) buffer(*v, std::move(needs[v]));
    share();
  }

  /// A reader that a stream has to wait for.
  struct Need {
    Op* user;
    unsigned operand;
    double vectors;  ///< to be held until then
  };

  /// Readers that come soon one after another share a buffer: their links hold the difference.
  void buffer(Value& v, std::vector<Need> needs) {
    std::stable_sort(needs.begin(), needs.end(),
                     [](const Need& a, const Need& b) { return a.vectors < b.vectors; });
    double from = 0;
    Value* shared = nullptr;
    for (const Need& need : needs) {
      const std::pair<const Value*, std::uint32_t> place{
          &v, unit_of(readers({need.user, need.operand})[0])};
      if (const auto made = made_.find(place); made != made_.end()) {
        need.user->set_operand(need.operand, made->second);
        continue;
      }
      if (!shared || need.vectors > from + held(*shared) * (1 + tolerance)) {
        from = need.vectors;
        shared = buffer(*need.user, need.operand, static_cast<unsigned>(std::ceil(from)));
        if (!shared) continue;  // it had one
      }
      need.user->set_operand(need.operand, shared);
      made_.insert({place, shared});
    }
  }

  /// A unit takes a stream once: behind the buffer, if there is one.
  void share() {
    for (const auto& [key, buffered] : made_) {
      const auto [v, unit] = key;
      const auto uses = v->uses();
      for (const Use& use : std::vector<Use>(uses.begin(), uses.end()))
        if (use.op != buffered->def() && unit_of(readers(use)[0]) == unit)
          use.op->set_operand(use.index, buffered);
    }
  }

  /// A buffer in front of a reader; null where there is one already, which gets deeper.
  Value* buffer(Op& user, unsigned operand, unsigned vectors) {
    Value* v = user.operand(operand);
    const bool scalar = v->type().scalar_link;
    const unsigned room = machine_.memory.bytes / 4 / streams_per_unit(*v);
    const unsigned elements = std::min(room, scalar ? vectors : vectors * machine_.compute.lanes);
    if (v->def()->is(flow_buffer)) {
      // Memory units have room.
      deepened_ |= v->def()->int_attr("depth") < elements;
      v->def()->set_attr("depth", std::max<std::int64_t>(v->def()->int_attr("depth"), elements));
      return nullptr;
    }
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
    return op->result();
  }

  /// Streams that carry few vectors: in copies, those outside the innermost loops and those that
  /// only unlikely branches lead to.
  void find_rare(const std::vector<Op*>& order) {
    for (const Op* op : order)
      for (const auto& r : op->results())
        if (is_stream(*r)) deepest_ = std::max(deepest_, r->type().size);
    std::set<const Value*> unlikely;
    for (const Op* op : order) {
      const auto side_is_unlikely = [&](unsigned which) {
        const auto [first, last] = side(*op, which);
        return std::any_of(op->operands().begin() + first, op->operands().begin() + last,
                           [&](const Value* v) { return unlikely.count(v) != 0; });
      };
      const bool here = op->flag("unlikely") ||
                        (side_is_unlikely(0) && (!op->is(flow_merge) || side_is_unlikely(1)));
      for (const auto& r : op->results()) {
        if (!is_stream(*r)) continue;
        if (here) unlikely.insert(r.get());
        if (op->has_attr("copy") && (here || r->type().size < deepest_)) rare_.insert(r.get());
      }
    }
  }

  /// Scalars share the width of a memory unit's ports; rare vectors take turns at them.
  unsigned streams_per_unit(const Value& v) const {
    if (v.type().scalar_link) return std::max(1u, machine_.memory.scalar_outputs);
    // A buffer that is there already may share its unit.
    return rare_.count(&v) != 0 || v.def()->is(flow_buffer) ? std::max(1u, machine_.memory.contexts)
                                                            : 1;
  }

  /// A memory unit for one more stream: scalars are with those that wait for the same node, rare
  /// vectors with those of the same copy.
  std::uint32_t unit_for(const Op& user, const Value& v) {
    const Attr* const copy = user.attr("copy");
    const unsigned most = streams_per_unit(v);
    if (most == 1) return new_memory("retiming", v.name());
    Shared& s = v.type().scalar_link ? open_[&user] : open_rare_[copy ? copy->str() : ""];
    if (s.streams == 0 || s.streams == most) s = {new_memory("retiming", v.name()), 0};
    ++s.streams;
    return s.unit;
  }

  Op& graph_;
  const Machine& machine_;
  const unsigned burst_latency_, hops_;
  BufferCounts& counts_;
  std::vector<Unit> units_;
  bool deepened_ = false;  ///< a buffer that was there
  std::map<std::pair<const Value*, std::uint32_t>, Value*> made_;
  /// A memory unit that takes more streams.
  struct Shared {
    std::uint32_t unit = no_unit;
    unsigned streams = 0;
  };
  std::map<const Op*, Shared> open_;
  std::map<std::string, Shared> open_rare_;  ///< by the copy that they are in
  std::set<const Value*> rare_;
  std::uint32_t deepest_ = 0;  ///< stream
};

}  // namespace

bool insert_buffers(Op& graph, const Machine& machine, unsigned burst_latency, unsigned hops,
                    BufferCounts& counts) {
  return Inserter(graph, machine, burst_latency, hops, counts).run();
}

}  // namespace revet::mapping
