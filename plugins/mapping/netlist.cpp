#include "mapping/netlist.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "mapping/buffers.hpp"

namespace revet::mapping {

using namespace ops;

namespace {

/// Estimated vectors per cycle: a body runs more often than what is around it.
double activation(unsigned nesting) { return std::pow(4.0, std::min(nesting, 8u)); }

unsigned distance(const Position& a, const Position& b) {
  return static_cast<unsigned>(std::abs(a.row - b.row) + std::abs(a.column - b.column));
}

}  // namespace

Links links_of(const Op& graph) {
  Links out;
  const Domains domains(graph);
  for (const Unit& u : units_of(graph)) out.netlist.units.push_back({u.kind, u.name, 0});
  std::set<std::pair<const Op*, std::uint32_t>> with_data;  // node, unit that gets data of it
  const auto add = [&](Op& op, Value& v) {
    const std::uint32_t driver = unit_of(writer(v));
    if (driver == no_unit) return;
    Net net;
    net.driver = driver;
    net.kind = link_kind(v);
    net.activation = activation(domains.nesting(v));
    net.name = v.name();
    for (const Use& use : v.uses())
      for (const Slice& s : readers(use)) {
        std::uint32_t sink = unit_of(s);
        if (use.op->is(flow_fb_merge) && use.index >= use.op->num_operands() / 2)
          if (const std::uint32_t back = back_unit(*use.op, s.index); back != no_unit) sink = back;
        if (sink == no_unit || (sink == driver && !is_merge(*s.op))) continue;
        if (net.kind == LinkKind::control && with_data.count({&op, sink}) != 0) continue;
        if (std::find(net.sinks.begin(), net.sinks.end(), sink) != net.sinks.end()) continue;
        net.sinks.push_back(sink);
        with_data.insert({&op, sink});
      }
    if (net.sinks.empty()) return;
    // Uses stand in the order in which they were made, which the text of the graph does not show.
    std::sort(net.sinks.begin(), net.sinks.end());
    out.netlist.units[driver].nesting =
        std::max(out.netlist.units[driver].nesting, domains.nesting(v));
    for (const std::uint32_t s : net.sinks)
      out.netlist.units[s].nesting = std::max(out.netlist.units[s].nesting, domains.nesting(v));
    out.netlist.nets.push_back(std::move(net));
    out.streams.push_back(&v);
  };
  // A link of vectors that is no stream of the graph.
  const auto add_plain = [&](std::uint32_t from, std::uint32_t to, const std::string& name,
                             double activity) {
    Net net;
    net.driver = from;
    net.sinks = {to};
    net.name = name;
    net.activation = activity;
    out.netlist.nets.push_back(std::move(net));
    out.streams.push_back(nullptr);
  };
  for (Op& op : graph.body()) {
    for (const bool data : {true, false})
      for (const auto& r : op.results())
        if (is_stream(*r) && is_void(*r) != data) add(op, *r);
    if (op.is(flow_fb_merge))
      for (const Slice& s : slices_of(op))
        if (const std::uint32_t back = back_unit(op, s.index); back != no_unit)
          add_plain(back, unit_of(s), op.result(s.index)->name(),
                    activation(domains.nesting(*op.result(s.index))));
    if (op.name().starts_with("flow.bulk_")) {
      const std::uint32_t ag = unit_of({&op, 0});
      if (!op.has_attr("memory") || ag == no_unit) continue;
      const auto memory = static_cast<std::uint32_t>(op.int_attr("memory"));
      const bool load = op.is(flow_bulk_load);
      add_plain(load ? ag : memory, load ? memory : ag, memory_name(sram_of(op)),
                activation(domains.nesting(*op.operand(2))));
    }
  }
  return out;
}

void set_placement(Op& graph, const Links& links, const Placement& placement) {
  std::vector<Unit> units = units_of(graph);
  for (std::size_t u = 0; u < units.size(); ++u) units[u].place = placement.units[u];
  set_units(graph, units);
  std::map<Op*, Attr::Array> rows;
  Attr::Array others;
  for (std::size_t n = 0; n < links.streams.size(); ++n) {
    const Value* v = links.streams[n];
    const Route& route = placement.routes[n];
    Attr::Array sinks, tree;
    for (std::size_t i = 0; i < route.hops.size(); ++i)
      sinks.emplace_back(Attr::Array{links.netlist.nets[n].sinks[i], route.hops[i]});
    for (const SwitchLink& l : route.tree)
      tree.emplace_back(Attr::Array{l.row, l.column, static_cast<int>(l.direction)});
    Attr::Array& list = v ? rows[v->def()] : others;
    list.emplace_back(Attr::Array{v ? v->index() : links.netlist.nets[n].driver, route.dynamic,
                                  route.dynamic ? int{route.channels[0]} : 0, std::move(sinks),
                                  std::move(tree)});
  }
  graph.remove_attr("links");
  if (!others.empty()) graph.set_attr("links", std::move(others));
  for (Op& op : graph.body()) op.remove_attr("route");
  for (auto& [op, array] : rows) op->set_attr("route", std::move(array));
}

namespace {

std::int64_t number(const Attr::Array& a, std::size_t i) { return *a[i].as_int(); }

}  // namespace

bool is_placed(const Op& graph) {
  const std::vector<Unit> units = units_of(graph);
  return !units.empty() && units[0].place.row >= 0;
}

Hops::Hops(const Op& graph) : units_(units_of(graph)) {
  for (Op& op : graph.body()) {
    const Attr* rows = op.attr("route");
    if (!rows) continue;
    for (const Attr& row : *rows->as_array()) {
      const Attr::Array& cells = *row.as_array();
      const Value* v = op.result(static_cast<unsigned>(number(cells, 0)));
      for (const Attr& sink : *cells[3].as_array()) {
        const Attr::Array& pair = *sink.as_array();
        routed_[{v, static_cast<std::uint32_t>(number(pair, 0))}] =
            static_cast<unsigned>(number(pair, 1));
      }
    }
  }
}

unsigned Hops::of(const Value& stream, std::uint32_t from, std::uint32_t to) const {
  if (const auto at = routed_.find({&stream, to}); at != routed_.end()) return at->second;
  return between(from, to);
}

unsigned Hops::between(std::uint32_t from, std::uint32_t to) const {
  if (from == no_unit || to == no_unit || units_[from].place.row < 0 || from == to) return 1;
  return 1 + distance(units_[from].place, units_[to].place);
}

}  // namespace revet::mapping
