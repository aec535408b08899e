/// Says which links carry vectors and which scalars (Section V-D: "we treat links as vector by
/// default, except blocks following while loops and the entrances and exits of replicate regions
/// and the main program graph. However, a pragma can override this").
///
/// Before:                                       After:
///   %x = flow.strip(%y)                           %x = flow.strip(%y)
///     : .. -> (stream<i32, 2, vector>)              : .. -> (stream<i32, 2, scalar>)
///
/// Algorithm: one rule per stream. It is scalar if it has depth 1 (main's own thread), if it leaves
/// a loop, also where several such streams meet, and if it goes into or out of a replicate region.
/// The pragma of a block, which `cfg-to-flow` leaves as `link` on the nodes that lead to it, wins.
/// A stream with several readers is one link and has one kind. With `follow`, a node that takes a
/// scalar link gives scalars: it has an element per cycle. Linear, `follow` times the longest
/// chain.
///
/// Why here: on the graph, once it is what will be mapped; before contexts are split, whose limits
/// count vector and scalar buffers.
///
/// Does not handle: rates. A scalar link carries one element per cycle; whether that is enough is
/// for the cycle-level simulator to show.
#include "mapping/link_kinds.hpp"

#include "revet/abi.hpp"
#include "revet/ops.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

PassResult run(Module& module, PassContext& context) {
  bool changed = false;
  for (Op& op : module.body())
    if (op.is(ops::flow_graph)) {
      for (const Op* node = op.body().first(); node; node = node->next()) context.visit();
      changed |= mapping::set_link_kinds(
          op, context.options.boolean("follow"),
          [&](bool scalar) { context.count(scalar ? "scalar" : "vector"); },
          [&] { return context.spend(); });
    }
  return PassResult::of(changed);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "link-kinds";
  info.summary = "Says which links carry vectors and which scalars";
  info.input = Level::flow;
  info.output = Level::flow;
  info.options = {{.name = "follow",
                   .type = OptionType::boolean,
                   .fallback = "false",
                   .help = "also what a node gives that takes a scalar link: it is no faster"}};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("link-kinds", "Vector and scalar links", revet::register_)
