// Units as attributes of the graph and its nodes.
#include <algorithm>

#include "mapping/assign.hpp"

namespace revet::mapping {

std::vector<Unit> units_of(const Op& graph) {
  std::vector<Unit> out;
  const Attr* rows = graph.attr("units");
  if (!rows || !rows->as_array()) return out;
  for (const Attr& row : *rows->as_array()) {
    const Attr::Array& cells = *row.as_array();
    Unit u;
    const std::string& kind = *cells[0].as_string();
    u.kind = kind == "MU" ? UnitKind::memory : kind == "AG" ? UnitKind::address : UnitKind::compute;
    u.role = *cells[1].as_string();
    u.name = *cells[2].as_string();
    if (cells.size() > 4)
      u.place = {static_cast<int>(*cells[3].as_int()), static_cast<int>(*cells[4].as_int())};
    out.push_back(std::move(u));
  }
  return out;
}

void set_units(Op& graph, const std::vector<Unit>& units) {
  Attr::Array rows;
  for (const Unit& u : units) {
    Attr::Array row{unit_kind_name(u.kind), u.role, u.name};
    if (u.place.row >= 0) {
      row.emplace_back(u.place.row);
      row.emplace_back(u.place.column);
    }
    rows.emplace_back(std::move(row));
  }
  graph.set_attr("units", std::move(rows));
}

std::vector<std::uint32_t> unit_numbers(const Op& op) {
  std::vector<std::uint32_t> out;
  if (const Attr* a = op.attr("unit"); a && a->as_array())
    for (const Attr& n : *a->as_array()) out.push_back(static_cast<std::uint32_t>(*n.as_int()));
  return out;
}

bool is_internal(const Value& stream, const Op& reader) {
  const Op& def = *stream.def();
  const std::uint32_t from = unit_of(writer(stream));
  if (from == no_unit || is_merge(reader) || is_on_chip(def) || is_off_chip(def)) return false;
  const std::vector<std::uint32_t> to = unit_numbers(reader);
  return std::find(to.begin(), to.end(), from) != to.end();
}

std::uint32_t unit_of(const Slice& s) {
  const std::vector<std::uint32_t> numbers = unit_numbers(*s.op);
  return s.index < numbers.size() ? numbers[s.index] : no_unit;
}

}  // namespace revet::mapping
