#include "mapping/place.hpp"

#include <fmt/format.h>

#include "mapping/anneal.hpp"
#include "mapping/route.hpp"
#include "revet/diagnostics.hpp"

namespace revet::mapping {
namespace {

/// Another placement, more spread out, often routes where the first does not.
constexpr unsigned attempts = 3;

void require_units(const Netlist& netlist, const Machine& machine, const Lattice& lattice) {
  std::array<std::size_t, 3> needed{}, available{};
  for (const NetUnit& u : netlist.units) ++needed[static_cast<std::size_t>(u.kind)];
  for (int s = 0; s < lattice.slots(); ++s)
    ++available[static_cast<std::size_t>(lattice.kind_at(lattice.row_of(s), lattice.column_of(s)))];
  std::string text;
  for (std::size_t k = 0; k < needed.size(); ++k)
    if (needed[k] > available[k])
      text += fmt::format("{}{} {} needed, {} available", text.empty() ? "" : "; ", needed[k],
                          plural_of(static_cast<UnitKind>(k)), available[k]);
  if (!text.empty())
    throw Error(Exit::unfinished,
                fmt::format("the program does not fit on machine '{}': {}", machine.name, text));
}

/// Hops to each sink: the shallowest of its corners that the tree reaches. A dynamic net enters the
/// network at one router, a static one at all corners of the driver.
std::vector<unsigned> hops_of(const Net& net, const Tree& tree, bool dynamic,
                              const Lattice& lattice, const std::vector<int>& slots,
                              std::vector<int>& depth) {
  const std::array<int, 4> corners = lattice.corners(slots[net.driver]);
  std::vector<int> roots(corners.begin(), corners.end());
  if (dynamic) roots = {Lattice::link_from(tree.front())};
  for (const int s : roots) depth[static_cast<std::size_t>(s)] = 0;
  for (const int l : tree)
    depth[static_cast<std::size_t>(lattice.link_to(l))] =
        depth[static_cast<std::size_t>(Lattice::link_from(l))] + 1;
  std::vector<unsigned> hops;
  for (const std::uint32_t sink : net.sinks) {
    int least = -1;
    for (const int s : lattice.corners(slots[sink])) {
      const int d = depth[static_cast<std::size_t>(s)];
      if (d >= 0 && (least < 0 || d < least)) least = d;
    }
    hops.push_back(static_cast<unsigned>(least + 1));
  }
  for (const int s : roots) depth[static_cast<std::size_t>(s)] = -1;
  for (const int l : tree) depth[static_cast<std::size_t>(lattice.link_to(l))] = -1;
  return hops;
}

int lower_bound(const Net& net, const Lattice& lattice, const std::vector<int>& slots) {
  const int row = lattice.row_of(slots[net.driver]), column = lattice.column_of(slots[net.driver]);
  Box box{row, row, column, column};
  for (const std::uint32_t s : net.sinks)
    box.add(lattice.row_of(slots[s]), lattice.column_of(slots[s]));
  return box.links(row, column);
}

Placement result(const Netlist& netlist, const Machine& machine, const Lattice& lattice,
                 const std::vector<int>& slots, const Routed& routed) {
  Placement out;
  for (const int s : slots) out.units.push_back(lattice.position(s));
  Statistics& stats = out.statistics;
  std::array<std::uint64_t, link_kinds> tracks_used{};
  std::uint64_t sinks = 0, hops = 0;
  std::vector<int> depth(static_cast<std::size_t>(lattice.switches()), -1);
  for (std::size_t i = 0; i < netlist.nets.size(); ++i) {
    const Net& net = netlist.nets[i];
    Route route;
    if (machine.network.ideal) {
      route.hops.assign(net.sinks.size(), 1);
    } else {
      route.dynamic = routed.channel[i] >= 0;
      route.hops = hops_of(net, routed.trees[i], route.dynamic, lattice, slots, depth);
      for (const int l : routed.trees[i]) route.tree.push_back(lattice.name_of_link(l));
      if (route.dynamic) {
        route.channels.push_back(static_cast<std::uint8_t>(routed.channel[i]));
        ++stats.dynamic_nets;
      } else {
        tracks_used[static_cast<std::size_t>(net.kind)] += route.tree.size();
      }
      stats.wire_length += route.tree.size();
      stats.half_perimeter += static_cast<std::uint64_t>(lower_bound(net, lattice, slots));
    }
    for (const unsigned h : route.hops) {
      ++sinks;
      hops += h;
      stats.max_hops = std::max(stats.max_hops, h);
    }
    out.routes.push_back(std::move(route));
  }
  if (sinks != 0) stats.mean_hops = static_cast<double>(hops) / static_cast<double>(sinks);
  const unsigned tracks[] = {machine.network.vector_tracks, machine.network.scalar_tracks,
                             machine.network.control_tracks};
  for (std::size_t k = 0; k < link_kinds; ++k)
    if (tracks[k] != 0 && lattice.real_links() != 0)
      stats.track_share[k] = static_cast<double>(tracks_used[k]) / tracks[k] / lattice.real_links();
  return out;
}

}  // namespace

const char* plural_of(UnitKind kind) {
  switch (kind) {
    case UnitKind::compute: return "compute units";
    case UnitKind::memory: return "memory units";
    case UnitKind::address: return "address generators";
  }
  return "";
}

const char* name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::vector: return "vector";
    case LinkKind::scalar: return "scalar";
    case LinkKind::control: return "control";
  }
  return "";
}

Placement place_and_route(const Netlist& netlist, const Machine& machine, std::uint64_t seed) {
  const Lattice lattice(machine);
  require_units(netlist, machine, lattice);
  std::string failure;
  double spread = 1;
  for (unsigned attempt = 0; attempt < attempts; ++attempt, spread *= 4) {
    const std::vector<int> slots = anneal(netlist, machine, lattice, seed + attempt, spread);
    Routed routed;
    if (!machine.network.ideal) routed = route(netlist, machine, lattice, slots);
    if (routed.failure.empty()) return result(netlist, machine, lattice, slots, routed);
    failure = std::move(routed.failure);
  }
  throw Error(Exit::unfinished, fmt::format("the links of the program cannot be routed on machine "
                                            "'{}': {}",
                                            machine.name, failure));
}

}  // namespace revet::mapping
