/// Placement of units on the grid of a machine, and routes of the links between them. It knows
/// nothing of the IR: units and nets are numbers with names for messages.
///
/// The grid: unit (r, c) with 0 <= r < rows, 0 <= c < columns is a CU where r + c is even, else an
/// MU; columns -address_columns .. -1 and columns .. columns + address_columns - 1 hold AGs. Switch
/// (r, c), 0 <= r <= rows, -address_columns <= c <= columns + address_columns, is the upper left
/// corner of unit (r, c); a unit touches the switches at its four corners. Between neighbouring
/// switches each direction has `vector_tracks`, `scalar_tracks` and `control_tracks` static tracks
/// (a net takes one of its kind in every link of its tree) and one link of the dynamic network,
/// whose routers sit at the switches. Ways between a unit and its corners are not limited.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "revet/machine.hpp"

namespace revet::mapping {

using revet::LinkKind;
using revet::UnitKind;
constexpr std::size_t link_kinds = 3;

/// "compute units", "memory units", "address generators".
const char* plural_of(UnitKind kind);
/// "vector", "scalar", "control".
const char* name_of(LinkKind kind);

struct NetUnit {
  UnitKind kind = UnitKind::compute;
  std::string name;
  unsigned nesting =
      0;  ///< depth of loops around it: the deeper, the sooner and closer it is placed
};

/// One output of a unit and all inputs that read it, by index of the unit. A sink may be named more
/// than once, and may be the driver itself.
struct Net {
  std::uint32_t driver = 0;
  std::vector<std::uint32_t> sinks;
  LinkKind kind = LinkKind::vector;
  double activation = 0;  ///< estimated vectors per cycle x weight of nesting
  std::string name;
};

struct Netlist {
  std::vector<NetUnit> units;
  std::vector<Net> nets;
};

struct Position {
  int row = 0, column = 0;
  bool operator==(const Position&) const = default;
};

enum class Direction : std::uint8_t { north, east, south, west };  ///< north: to row - 1

/// The link from a switch to its neighbour.
struct SwitchLink {
  int row = 0, column = 0;  ///< of the switch that it leaves
  Direction direction = Direction::north;
  bool operator==(const SwitchLink&) const = default;
};

struct Route {
  std::vector<unsigned> hops;  ///< per sink: links between switches on its way, + 1
  bool dynamic = false;
  std::vector<std::uint8_t> channels;  ///< of a dynamic net: its virtual channel; else empty
  /// A forest whose roots are corners of the driver; links nearer to the driver come first. Empty
  /// where all sinks share a corner with the driver, and on an ideal network.
  std::vector<SwitchLink> tree;
};

struct Statistics {
  double mean_hops = 0;  ///< over all sinks of all nets
  unsigned max_hops = 0;
  /// Of all tracks between switches, by LinkKind; 0 where the machine has none.
  std::array<double, link_kinds> track_share{};
  std::size_t dynamic_nets = 0;
  std::uint64_t wire_length = 0;  ///< links of all trees
  /// No routing of this placement has a smaller wire length: the half-perimeters of the nets, less
  /// what the driver's corners span.
  std::uint64_t half_perimeter = 0;
};

struct Placement {
  std::vector<Position> units;
  std::vector<Route> routes;  ///< per net
  Statistics statistics;
};

/// The same netlist, machine and seed give the same result. Throws Error (Exit::unfinished) where
/// the machine has too few units of a kind, and where the nets cannot be routed. On an ideal
/// network every hop count is 1 and no tree has links.
Placement place_and_route(const Netlist& netlist, const Machine& machine, std::uint64_t seed);

/// What is wrong with a placement, one message each; empty where nothing is. The rules are in
/// route_check.cpp, which shares no code with the router. Without `statistics` all but the last: a
/// placement that was read from a graph has none.
std::vector<std::string> check_routes(const Netlist& netlist, const Machine& machine,
                                      const Placement& placement, bool statistics = true);

}  // namespace revet::mapping
