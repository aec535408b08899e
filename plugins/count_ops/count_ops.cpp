/// Counts what is in a module, as statistics; changes nothing.
///
/// Before:                                  Statistics:
///   %0 = arith.add(%n, %n)                   op arith.add     2
///   %1 = arith.add(%0, %n)                   values           2   (and main's, regions, loops, ..)
///
/// Of a flow graph also what it needs of a machine (estimate.hpp).
///
/// Algorithm: one walk.
///
/// Why here: anywhere, as often as wanted, to see what the passes before did
/// (`--print-pass-stats`).
///
/// Does not handle: executions; it counts what is written, not what runs.
#include <algorithm>

#include "estimate.hpp"
#include "revet/abi.hpp"
#include "revet/ops.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

struct Totals {
  std::int64_t ops = 0, values = 0, regions = 0, blocks = 0, loops = 0, nesting = 0;
};

void count(const Region& region, std::int64_t depth, Totals& totals, PassContext& context);

void count(const Op& op, std::int64_t depth, Totals& totals, PassContext& context) {
  context.count("op " + op.name());
  context.visit();
  ++totals.ops;
  totals.values += op.num_results();
  totals.regions += op.num_regions();
  if (op.is(ops::thread_while) || op.is(ops::thread_foreach)) ++totals.loops;
  for (const auto& inner : op.regions()) count(*inner, depth + 1, totals, context);
}

void count(const Region& region, std::int64_t depth, Totals& totals, PassContext& context) {
  totals.nesting = std::max(totals.nesting, depth);
  for (const auto& block : region.blocks()) {
    ++totals.blocks;
    totals.values += block->num_args();
    for (const Op& op : *block) count(op, depth, totals, context);
  }
}

PassResult report(const Totals& totals, PassContext& context) {
  context.visit(0);
  context.count("ops", totals.ops);
  context.count("values", totals.values);
  context.count("regions", totals.regions);
  context.count("blocks", totals.blocks);
  context.count("loops", totals.loops);
  context.count("max nesting", totals.nesting);
  return PassResult::of(false);
}

PassResult run(Module& module, PassContext& context) {
  Totals totals;
  count(module.region(), 0, totals, context);
  for (const Op& op : module.body())
    if (op.is(ops::flow_graph)) estimate(op, context);
  return report(totals, context);
}

PassResult run_at(Op& place, PassContext& context) {
  Totals totals;
  count(place, 0, totals, context);
  return report(totals, context);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "count-ops";
  info.summary = "Counts ops, values, regions, loops and nesting as statistics";
  info.input = Level::any;
  info.output = Level::any;
  info.run = run;
  info.run_at = run_at;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("count-ops", "Statistics of a module", revet::register_)
