// Machines and mappings for random graphs.
#include "random_graphs.hpp"
#include "shipped.hpp"

namespace revet::sim::test {

Machine test_machine() {
  Machine m;
  m.name = "test";
  m.clock_ghz = 1.6;
  m.compute.lanes = 16;
  m.compute.latency = 6;
  m.memory.banks = 16;
  m.memory.latency = 6;
  m.memory.combining = true;
  m.address.outstanding = 256;
  m.address.burst_bytes = 64;
  m.address.latency = 4;
  m.address.coalescing = true;
  m.buffers.vector_depth = m.buffers.scalar_depth = 4;
  m.buffers.control_depth = 16;
  m.network.hop_latency = 1;
  m.network.skid = 2;
  m.dram.channels = 32;
  m.dram.read_queue = m.dram.write_queue = 32;
  m.dram.mapping = shipped_mapping();
  return m;
}

Machine random_machine(Random& r) {
  Machine m = test_machine();
  m.memory.banks = r.below(2) == 0 ? 16 : 4;
  m.memory.combining = r.below(2) == 0;
  m.memory.bank_hash = r.below(2) == 0;
  m.memory.queue = r.below(2) == 0 ? 0 : r.below(20);
  m.memory.ideal = r.below(5) == 0;
  m.memory.latency = 1 + r.below(8);
  m.compute.latency = 1 + r.below(8);
  m.address.latency = 1 + r.below(8);
  m.address.outstanding = 1 + r.below(r.below(2) == 0 ? 4 : 64);
  m.address.coalescing = r.below(2) == 0;
  m.dram.ideal = r.below(4) == 0;
  m.dram.read_queue = m.dram.write_queue = 2 + r.below(31);
  if (r.below(4) == 0) {
    m.throttled_region = 0;
    m.throttle_rate = 0.2 + 0.1 * r.below(8);
  }
  return m;
}

namespace {

/// A random order in which what feeds a node comes before it, back edges apart.
std::vector<NodeId> random_order(const Graph& g, Random& r) {
  std::vector<NodeId> order, ready;
  std::vector<unsigned> missing(g.nodes().size(), 0);
  const auto forward = [&](NodeId n, std::size_t i) {
    return g.node(n).kind != NodeKind::fb_merge || i < g.node(n).out.size();
  };
  for (NodeId n = 0; n < g.nodes().size(); ++n) {
    for (std::size_t i = 0; i < g.node(n).in.size(); ++i) missing[n] += forward(n, i);
    if (missing[n] == 0) ready.push_back(n);
  }
  while (!ready.empty()) {
    std::swap(ready[r.below(static_cast<std::uint32_t>(ready.size()))], ready.back());
    const NodeId n = ready.back();
    ready.pop_back();
    order.push_back(n);
    for (const StreamId s : g.node(n).out)
      for (const Port& reader : g.stream(s).readers)
        if (forward(reader.node, reader.index) && --missing[reader.node] == 0)
          ready.push_back(reader.node);
  }
  return order;
}

}  // namespace

Mapping random_mapping(const Graph& g, const Machine& machine, Random& r) {
  Mapping m = unmapped(g, machine);
  if (r.below(8) == 0) return m;
  if (r.below(2) == 0) m.order = random_order(g, r);
  // Some nodes join the unit of one that feeds them.
  const std::uint32_t joining = r.below(70), tight = r.below(100), scalars = r.below(40);
  for (const NodeId n : m.order) {
    const Node& node = g.node(n);
    if (m.units_of[n].empty() || node.in.empty() || node.kind == NodeKind::fb_merge) continue;
    const NodeId writer =
        g.stream(node.in[r.below(static_cast<std::uint32_t>(node.in.size()))]).writer.node;
    if (r.below(100) < joining && !m.units_of[writer].empty()) {
      m.units_of[n] = m.units_of[writer];
    } else if (r.below(10) == 0) {
      m.units_of[n].push_back(r.below(static_cast<std::uint32_t>(m.units.size())));
    }
  }
  for (Mapping::UnitInfo& u : m.units) u.copy = r.below(3) == 0 ? 0 : -1;
  std::size_t number = 0;
  for (NodeId n = 0; n < g.nodes().size(); ++n) {
    const Node& node = g.node(n);
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      Mapping::Input& in = m.inputs[number++];
      const bool back = node.kind == NodeKind::fb_merge && i >= node.out.size();
      const NodeId writer = g.stream(node.in[i]).writer.node;
      const bool buffers = node.kind == NodeKind::buffer;
      in.latency = 1 + r.below(12);
      in.pipeline = r.below(in.latency + 1);
      in.credit = 1 + r.below(6);
      if (!buffers) in.capacity = 1 + r.below(r.below(100) < tight ? 3 : 24);
      if (!back && !m.units_of[n].empty() && m.units_of[n] == m.units_of[writer]) {
        in.latency = 0;
        in.credit = 1;
      } else {
        in.scalar = !back && r.below(100) < scalars;
      }
      if (!buffers) in.counts_lanes = r.below(10) == 0;
    }
  }
  for (std::vector<std::uint32_t>& units : m.memories)
    for (std::uint32_t more = r.below(3); more != 0; --more)
      units.push_back(r.below(static_cast<std::uint32_t>(m.units.size())));
  size_back_edges(g, machine, m);
  return m;
}

}  // namespace revet::sim::test
