/// Cuts contexts that no unit can hold, and says which unit runs what (Section V-D: "We first place
/// every memory operation into its own context, and then split over-size contexts").
///
/// Before:                                   After:
///   %y = flow.context(%x) ({8 operations})    %t = flow.context(%x) ({6 of them}) {unit = [3]}
///                                             %y = flow.context(%t) ({2 of them}) {unit = [4]}
///   %q = flow.sram_load(%s, %p, %y)           %q = flow.sram_load(%s, %p, %y) {unit = [0]}
///
/// Algorithm: every node gets contexts of its own for the constants that it takes, which cost
/// nothing in its unit. A context's code is put into an order in which few values are alive
/// (Sethi-Ullman) and cut where the longest beginning ends that fits a compute unit. Then units are
/// filled, in the order of the graph: an SRAM has memory units of its own, an access to DRAM an
/// address generator; contexts and the parts of merges, filters and so on go to the first compute
/// unit that they fit, of those that handle the same threads (mapping/assign.cpp has the rules).
/// About n log n for the cuts; filling asks the units of one stage of the program.
///
/// Why here: on the graph with all copies of replicate regions, whose links have their kinds.
///
/// Does not handle: an optimum. Units are filled greedily.
#include "mapping/assign.hpp"
#include "mapping/split.hpp"
#include "mapping/unit_check.hpp"
#include "revet/abi.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

PassResult run(Module& module, PassContext& context) {
  bool changed = false;
  for (Op& op : module.body()) {
    if (!op.is(ops::flow_graph)) continue;
    mapping::SplitCounts counts;
    context.visit();
    // Units are filled anew only where they are not as they must be.
    if (op.has_attr("units") && mapping::check_units(op, context.machine()).empty()) continue;
    changed |= mapping::split_contexts(op, context.machine(), counts);
    changed |= mapping::assign_units(op, context.machine());
    context.count("contexts cut", counts.cut);
    context.count("parts", counts.parts);
    context.count("constants", counts.constants);
    for (const mapping::Unit& u : mapping::units_of(op)) context.count(unit_kind_name(u.kind));
  }
  return PassResult::of(changed);
}

void register_(Registry& registry) {
  PropertyInfo fit;
  fit.name = "units-fit";
  fit.summary = "every node of a flow graph has units, and every unit can hold what it has";
  fit.verify_on = [](const Module& module, const Machine* machine, VerifyReport& report) {
    for (const Op& op : module.body())
      if (machine && op.is(ops::flow_graph))
        for (const mapping::Fault& f : mapping::check_units(op, *machine))
          report.fail(*f.op, f.message);
  };
  registry.add_property(std::move(fit));

  PassInfo info;
  info.id = "split-contexts";
  info.summary = "Cuts contexts that are too large and assigns units";
  info.input = Level::flow;
  info.output = Level::flow;
  info.establishes = {"units-fit"};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("split-contexts", "Contexts that fit units", revet::register_)
