/// The links between the units of a graph, for placement; and where it put them.
#pragma once

#include "mapping/assign.hpp"

namespace revet::mapping {

struct Links {
  Netlist netlist;
  /// Per net: the stream that it carries. Null for what a bulk transfer moves between its AG and
  /// MU, and for the way from the memory unit of a back edge to the header.
  std::vector<const Value*> streams;
};

/// Void tokens that go where data of their node goes have no link of their own.
Links links_of(const Op& graph);

/// Writes places into the graph's `units`, and into each node's `route` a row for each link that
/// its results have: [result, dynamic, channel, [[unit, hops], ..], [[row, column, direction],
/// ..]]. Links that are no streams are rows [unit, dynamic, ..] of the graph's `links`.
void set_placement(Op& graph, const Links& links, const Placement& placement);
bool is_placed(const Op& graph);

/// Hops from the writer of a stream to a unit: of its route, or the distance where it has none, or
/// 1 in a graph that is not placed.
class Hops {
 public:
  explicit Hops(const Op& graph);
  unsigned of(const Value& stream, std::uint32_t from, std::uint32_t to) const;
  unsigned between(std::uint32_t from, std::uint32_t to) const;

 private:
  std::vector<Unit> units_;
  std::map<std::pair<const Value*, std::uint32_t>, unsigned> routed_;
};

}  // namespace revet::mapping
