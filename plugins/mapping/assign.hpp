/// Gives every node its units: contexts and the parts of merges, filters and so on that run as one
/// pipeline share a CU; buffers and accesses to them go to MUs, accesses to DRAM to AGs.
///
/// Written as attributes: a node's `unit` has a number for each of its slices; an SRAM's `unit` the
/// memory units of its buffers; the graph's `units` a row [kind, role, name] for each number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mapping/graph_view.hpp"

namespace revet::mapping {

struct Unit {
  UnitKind kind = UnitKind::compute;
  std::string role;  ///< "inner", "outer", "distribution", "collection", "live values", ..
  std::string name;
  Position place{-1, -1};
};

/// Assigns all nodes anew. True if something changed.
bool assign_units(Op& graph, const Machine& machine);

/// What the attributes say. Empty where the graph was not assigned.
std::vector<Unit> units_of(const Op& graph);
void set_units(Op& graph, const std::vector<Unit>& units);
/// Numbers of an op's attribute `unit`.
std::vector<std::uint32_t> unit_numbers(const Op& op);
inline constexpr std::uint32_t no_unit = ~0u;
/// The unit of a slice; no_unit for sources and sinks.
std::uint32_t unit_of(const Slice& s);

/// Whether writer and reader of a stream are stages of one pipeline, with no link between: in one
/// unit, but for merges, which are at the head, and for what a memory answers.
bool is_internal(const Value& stream, const Op& reader);

}  // namespace revet::mapping
