/// Places units on the grid and routes the links between them (Section V-D: "we place the
/// partitioned graph using previously proposed tools, prioritizing deeply nested nodes").
///
/// Before:                                  After:
///   flow.graph() {units = [["CU", ..]]}      flow.graph() {units = [["CU", .., row, column]]}
///   %y = flow.context(%x) {unit = [3]}       %y = flow.context(%x) {unit = [3], route = ..}
///
/// Algorithm: simulated annealing of wire length and congestion, then negotiated routing on static
/// tracks, the rest on the dynamic network (mapping/place.hpp). The same seed gives the same
/// result.
///
/// Why here: last, when it is known what there is to place.
///
/// Does not handle: timing. Hops are weighed by how deep a link is nested, not by what waits for
/// it.
#include <fmt/format.h>

#include <algorithm>

#include "mapping/netlist.hpp"
#include "mapping/unit_check.hpp"
#include "revet/abi.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

/// What needs most of the kinds of units that a message names.
std::string uses(const std::vector<mapping::Unit>& units, const std::string& message) {
  std::string out;
  for (const UnitKind kind : {UnitKind::compute, UnitKind::memory, UnitKind::address}) {
    if (message.find(mapping::plural_of(kind)) == std::string::npos) continue;
    std::map<std::string, unsigned> roles;
    for (const mapping::Unit& u : units)
      if (u.kind == kind) ++roles[u.role];
    std::vector<std::pair<unsigned, std::string>> most;
    for (const auto& [role, n] : roles) most.emplace_back(n, role);
    std::stable_sort(most.begin(), most.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string list;
    for (const auto& [n, role] : most)
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", n, role);
    out += fmt::format("; of the {}: {}", mapping::plural_of(kind), list);
  }
  return out;
}

/// All attributes that placing writes.
std::vector<Attr> placing(const Op& graph) {
  std::vector<Attr> out;
  if (const Attr* units = graph.attr("units")) out.push_back(*units);
  for (const Op& op : graph.body())
    if (const Attr* route = op.attr("route")) out.push_back(*route);
  return out;
}

/// A program that does nothing has only a source and a sink.
bool needs_units(const Op& graph) {
  for (const Op& op : graph.body())
    if (!op.is(ops::flow_source) && !op.is(ops::flow_sink)) return true;
  return false;
}

PassResult run(Module& module, PassContext& context) {
  bool changed = false;
  for (Op& op : module.body()) {
    if (!op.is(ops::flow_graph)) continue;
    if (mapping::units_of(op).empty() && needs_units(op))
      return PassResult::failure("no units were assigned; split-contexts does that");
    const mapping::Links links = mapping::links_of(op);
    const auto seed = static_cast<std::uint64_t>(context.options.integer("seed"));
    mapping::Placement placement;
    try {
      placement = mapping::place_and_route(links.netlist, context.machine(), seed);
    } catch (const Error& e) {
      throw Error(e.exit, fmt::format("{}{}", e.what(), uses(mapping::units_of(op), e.what())));
    }
    const std::vector<Attr> before = placing(op);
    mapping::set_placement(op, links, placement);
    changed |= !(placing(op) == before);
    context.count("links", static_cast<std::int64_t>(links.netlist.nets.size()));
    context.count("wire length", static_cast<std::int64_t>(placement.statistics.wire_length));
    context.count("on the dynamic network",
                  static_cast<std::int64_t>(placement.statistics.dynamic_nets));
    context.count("longest route", placement.statistics.max_hops);
    context.visit();
  }
  return PassResult::of(changed);
}

void verify_placed(const Module& module, const Machine* machine, VerifyReport& report) {
  for (const Op& op : module.body()) {
    if (!machine || !op.is(ops::flow_graph)) continue;
    if (needs_units(op) && !mapping::is_placed(op)) report.fail(op, "its units have no places");
    for (const mapping::Fault& f : mapping::check_routed(op, *machine))
      report.fail(*f.op, f.message);
  }
}

void register_(Registry& registry) {
  PropertyInfo placed;
  placed.name = "placed";
  placed.summary = "every unit of a flow graph has a place, and every link a route";
  placed.verify_on = verify_placed;
  registry.add_property(std::move(placed));

  PassInfo info;
  info.id = "place-and-route";
  info.summary = "Places units on the grid and routes links";
  info.input = Level::flow;
  info.output = Level::flow;
  info.requires_ = {"units-fit"};
  info.establishes = {"placed"};
  info.options = {{.name = "seed",
                   .type = OptionType::integer,
                   .fallback = "1",
                   .help = "of the annealing",
                   .min = 0}};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("place-and-route", "Placement and routing", revet::register_)
