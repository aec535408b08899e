// What a mapping says of a graph: timing of links, sizes of back edges, and the mapping of a graph
// that was not mapped.
#include <algorithm>

#include "revet/sim/loops.hpp"
#include "timed_instance.hpp"

namespace revet::sim {

LinkKind link_kind(const Stream& stream) {
  if (stream.element == Kind::none) return LinkKind::control;
  return stream.scalar ? LinkKind::scalar : LinkKind::vector;
}

Mapping::Input link_timing(const Machine& machine, unsigned latency, unsigned hops, LinkKind kind) {
  Mapping::Input in;
  in.latency = latency + hops * machine.network.hop_latency;
  in.credit = hops * machine.network.hop_latency + 1;
  in.scalar = kind == LinkKind::scalar;
  in.pipeline = latency;
  const unsigned depth = kind == LinkKind::scalar    ? machine.buffers.scalar_depth
                         : kind == LinkKind::control ? machine.buffers.control_depth
                                                     : machine.buffers.vector_depth;
  // The registers of the pipeline, of the route, and the reader's buffer; void tokens wait in a
  // counter.
  in.capacity = latency + hops * machine.network.skid;
  in.counts_lanes = kind == LinkKind::control;
  if (in.counts_lanes) in.capacity *= lanes_per_vector;
  in.capacity += depth;
  return in;
}

void size_back_edges(const Graph& graph, const Machine& machine, Mapping& mapping) {
  const std::vector<std::uint32_t> first = first_inputs(graph);
  const auto lanes = [&](const Mapping::Input& in) -> std::uint32_t {
    if (in.capacity == Channel::unlimited || in.counts_lanes) return in.capacity;
    // A scalar link holds a vector more while it sends it.
    return in.scalar ? in.capacity + lanes_per_vector : in.capacity * lanes_per_vector;
  };
  std::vector<std::uint32_t> capacities;
  for (const Mapping::Input& in : mapping.inputs) capacities.push_back(lanes(in));
  for (const Loop& loop : loops_of(graph)) {
    std::uint32_t needed = back_edge_capacity(graph, loop, capacities, 0);
    // An AG holds vectors whose bursts are under way.
    const auto queues = std::count_if(loop.body.begin(), loop.body.end(),
                                      [&](NodeId n) { return goes_to_dram(graph.node(n).kind); });
    if (needed != Channel::unlimited)
      needed += static_cast<std::uint32_t>(queues) * machine.address.outstanding * lanes_per_vector;
    const Node& header = graph.node(loop.header);
    for (std::size_t i = header.out.size(); i < header.in.size(); ++i) {
      const std::uint32_t number = first[loop.header] + static_cast<std::uint32_t>(i);
      mapping.inputs[number].counts_lanes = true;
      mapping.inputs[number].scalar = false;
      mapping.inputs[number].capacity = capacities[number] = needed;
    }
  }
}

Mapping unmapped(const Graph& graph, const Machine& machine) {
  Mapping m;
  for (NodeId n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.node(n);
    m.order.push_back(n);
    const bool has_unit = node.kind != NodeKind::source && node.kind != NodeKind::sink;
    m.units_of.emplace_back();
    if (has_unit) m.units_of[n].push_back(static_cast<std::uint32_t>(m.units.size()));
    const bool on_chip = is_memory_node(node.kind) && !goes_to_dram(node.kind);
    if (has_unit)
      m.units.push_back({goes_to_dram(node.kind) ? UnitKind::address
                         : on_chip               ? UnitKind::memory
                                                 : UnitKind::compute,
                         describe(node), node.loc, "", -1, -1, -1});
    for (const StreamId s : node.in) {
      const Stream& stream = graph.stream(s);
      const NodeId writer = stream.writer.node;
      const unsigned latency = writer < n && !m.units_of[writer].empty()
                                   ? machine.latency(m.units[m.units_of[writer][0]].kind)
                                   : machine.compute.latency;
      m.inputs.push_back(link_timing(machine, latency, 1, link_kind(stream)));
      if (node.kind == NodeKind::buffer) {
        m.inputs.back().capacity += node.number;
        m.inputs.back().counts_lanes = true;
      }
    }
  }
  for (const SramDecl& sram : graph.srams()) {
    m.memories.push_back({static_cast<std::uint32_t>(m.units.size())});
    m.units.push_back({UnitKind::memory, sram.name, {}, "", -1, -1, -1});
  }
  size_back_edges(graph, machine, m);
  return m;
}

}  // namespace revet::sim
