#include "placed.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "mapping/buffers.hpp"
#include "mapping/netlist.hpp"
#include "revet/ops.hpp"
#include "revet/sim/loops.hpp"

namespace revet::vrda {

using mapping::Slice;

namespace {

/// The copy of the innermost replicate region that a node is in, or -1.
int copy_of(const Op& op) {
  const Attr* marks = op.attr("copy");
  if (!marks || !marks->as_array() || marks->as_array()->empty()) return -1;
  return static_cast<int>(*(*marks->as_array()->back().as_array())[1].as_int());
}

class Mapper {
 public:
  Mapper(const Loaded& loaded, const Machine& machine)
      : loaded_(loaded), machine_(machine), hops_(*loaded.flow) {}

  sim::Mapping run() {
    for (const mapping::Unit& u : mapping::units_of(*loaded_.flow))
      m_.units.push_back({u.kind, u.name, {}, u.role, u.place.row, u.place.column, -1});
    std::unordered_map<const Op*, std::uint32_t> number;
    for (std::uint32_t n = 0; n < loaded_.nodes.size(); ++n) number[loaded_.nodes[n]] = n;
    for (const Op* op : mapping::topological(*loaded_.flow))
      if (const auto at = number.find(op); at != number.end()) m_.order.push_back(at->second);
    std::map<std::uint32_t, int> copies;  // of units, as far as known
    for (const Op* op : loaded_.nodes) {
      std::vector<std::uint32_t> units;
      for (const std::uint32_t u : mapping::unit_numbers(*op))
        if (std::find(units.begin(), units.end(), u) == units.end()) units.push_back(u);
      for (const std::uint32_t u : units) {
        // A memory that several copies access is in none of them.
        const auto at = copies.emplace(u, copy_of(*op)).first;
        if (at->second != copy_of(*op)) at->second = -1;
        m_.units[u].copy = at->second;
        if (!m_.units[u].loc.known()) m_.units[u].loc = op->loc();
      }
      m_.units_of.push_back(std::move(units));
    }
    for (const Op* op : loaded_.srams) {
      std::vector<std::uint32_t> units = mapping::unit_numbers(*op);
      units.resize(
          std::min<std::size_t>(units.size(), static_cast<std::size_t>(op->int_attr("banks", 1))));
      m_.memories.push_back(std::move(units));
    }
    for (std::uint32_t n = 0; n < loaded_.nodes.size(); ++n)
      for (std::size_t i = 0; i < loaded_.graph.node(n).in.size(); ++i) input(n, i);
    sim::size_back_edges(loaded_.graph, machine_, m_);
    return std::move(m_);
  }

 private:
  void input(sim::NodeId n, std::size_t i) {
    const sim::Node& node = loaded_.graph.node(n);
    const sim::Stream& stream = loaded_.graph.stream(node.in[i]);
    const Value& v = *loaded_.streams[node.in[i]];
    const Op& reader = *loaded_.nodes[n];
    const std::uint32_t from = mapping::unit_of(mapping::writer(v));
    const sim::LinkKind kind = sim::link_kind(stream);
    unsigned hops = 1;
    for (const Use& use : v.uses()) {
      if (use.op != &reader) continue;
      for (const Slice& s : mapping::readers(use)) {
        const std::uint32_t to = mapping::unit_of(s);
        if (to != from) hops = std::max(hops, hops_.of(v, from, to));
      }
    }
    if (mapping::is_internal(v, reader)) {
      // Stages of one pipeline, each of which holds a vector.
      m_.inputs.push_back(
          {.latency = 0, .credit = 1, .capacity = machine_.latency(m_.units[from].kind)});
    } else if (const std::uint32_t back = back_of(reader, i); back != mapping::no_unit) {
      // Through the memory unit that is the buffer: its latency and two ways.
      const unsigned ways = hops_.of(v, from, back) + hops_.between(back, reader_unit(reader, i));
      m_.inputs.push_back(sim::link_timing(
          machine_, machine_.compute.latency + machine_.memory.latency, ways, kind));
    } else {
      unsigned latency = machine_.compute.latency;
      if (from != mapping::no_unit) latency = machine_.latency(m_.units[from].kind);
      // What a merge decides in one unit is known in the others a hop later.
      if (mapping::is_merge(*v.def()) && m_.units_of[stream.writer.node].size() > 1)
        latency += machine_.network.hop_latency;
      m_.inputs.push_back(sim::link_timing(machine_, latency, hops, kind));
    }
    if (node.kind == sim::NodeKind::buffer) {
      m_.inputs.back().capacity += node.number;
      m_.inputs.back().counts_lanes = true;
    }
  }

  static std::uint32_t back_of(const Op& reader, std::size_t input) {
    const unsigned half = reader.num_operands() / 2;
    if (!reader.is(ops::flow_fb_merge) || input < half) return mapping::no_unit;
    return mapping::back_unit(reader, static_cast<unsigned>(input) - half);
  }
  static std::uint32_t reader_unit(const Op& header, std::size_t input) {
    return mapping::unit_of(
        {const_cast<Op*>(&header), static_cast<unsigned>(input) - header.num_operands() / 2});
  }

  const Loaded& loaded_;
  const Machine& machine_;
  const mapping::Hops hops_;
  sim::Mapping m_;
};

}  // namespace

sim::Mapping mapping_of(const Loaded& loaded, const Machine& machine) {
  if (mapping::units_of(*loaded.flow).empty()) return sim::unmapped(loaded.graph, machine);
  return Mapper(loaded, machine).run();
}

}  // namespace revet::vrda
