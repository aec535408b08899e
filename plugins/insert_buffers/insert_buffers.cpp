/// Buffers that keep a mapped graph from deadlock and its paths in step (Section V-D: "We next
/// insert buffers to avoid deadlock and mitigate path-delay imbalances").
///
/// Before:                                      After:
///   %h = flow.fb_merge(%x, %y)                   %h = flow.fb_merge(%x, %y) {back = [17]}
///   %v = flow.bulk_load(.., %p)                  %v = flow.bulk_load(.., %p)
///   %m = flow.fb_merge(%v, %p, ..)               %q = flow.buffer(%p) {depth = 512, unit = [18]}
///                                                %m = flow.fb_merge(%v, %q, ..)
///
/// Algorithm: every data stream on the back edge of a loop gets a memory unit, which holds whatever
/// the links of the body can hold (the back-edge rule, checked again by the simulator). Then nodes
/// get the time at which their first vector comes, along the longest path; a stream that comes
/// earlier than the others of its node waits the difference, times its rate; where its link cannot
/// hold that much it gets a buffer. Scalar streams that wait for the same node share a memory unit.
/// Linear.
///
/// Why here: units are known, and with them what is a link and what a stage of a pipeline; buffers
/// are to be placed.
///
/// Does not handle: hops as they turn out to be; rates that depend on data.
#include "mapping/buffers.hpp"
#include "revet/abi.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

PassResult run(Module& module, PassContext& context) {
  bool changed = false;
  context.visit(0);
  for (Op& op : module.body()) {
    if (!op.is(ops::flow_graph)) continue;
    context.visit();
    // Without units there are no links to hold anything.
    if (mapping::units_of(op).empty()) continue;
    mapping::BufferCounts counts;
    changed |= mapping::insert_buffers(
        op, context.machine(), static_cast<unsigned>(context.options.integer("burst-latency")),
        static_cast<unsigned>(context.options.integer("hops")), counts);
    context.count("back edges", counts.back_edges);
    context.count("retiming", counts.retiming);
    context.count("MU", counts.units);
  }
  return PassResult::of(changed);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "insert-buffers";
  info.summary = "Buffers against deadlock and for paths of different length";
  info.input = Level::flow;
  info.output = Level::flow;
  info.options = {{.name = "burst-latency",
                   .type = OptionType::integer,
                   .fallback = std::to_string(mapping::default_burst_latency),
                   .help = "cycles that an answer of DRAM takes under load",
                   .min = 0,
                   .max = 100000},
                  {.name = "hops",
                   .type = OptionType::integer,
                   .fallback = std::to_string(mapping::default_hops),
                   .help = "of a link, before it is placed",
                   .min = 1,
                   .max = 100}};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("insert-buffers", "Buffers of mapped graphs", revet::register_)
