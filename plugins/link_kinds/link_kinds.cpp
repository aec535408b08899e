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
/// scalar link gives scalars: it has an element per cycle. Linear, `follow` times the longest chain.
///
/// Why here: on the graph, once it is what will be mapped; before contexts are split, whose limits
/// count vector and scalar buffers.
///
/// Does not handle: rates. A scalar link carries one element per cycle; whether that is enough is
/// for the cycle-level simulator to show.
#include <algorithm>
#include <map>
#include <set>

#include "revet/abi.hpp"
#include "revet/ops.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

bool differ(const Attr* a, const Attr* b) { return a && b ? !(*a == *b) : a != b; }

/// Into or out of a replicate region, or a copy of one.
bool crosses_region(const Value& v) {
  const Op& def = *v.def();
  return std::any_of(v.uses().begin(), v.uses().end(), [&](const Use& use) {
    return differ(def.attr("replicate"), use.op->attr("replicate")) ||
           differ(def.attr("copy"), use.op->attr("copy"));
  });
}

class Kinds {
 public:
  bool is_scalar(const Value& v) {
    const std::string& pragma = v.def()->str_attr("link");
    if (!pragma.empty()) return pragma == "scalar";
    return v.type().size == 1 || leaves_loop(v) || crosses_region(v);
  }

 private:
  /// Behind a loop: stripped, or merged from such streams only.
  bool leaves_loop(const Value& v) {
    const Op& def = *v.def();
    if (!def.is(ops::flow_merge)) return def.is(ops::flow_strip);
    if (const auto known = merges_.find(&v); known != merges_.end()) return known->second;
    const unsigned half = def.num_operands() / 2;
    const bool both =
        leaves_loop(*def.operand(v.index())) && leaves_loop(*def.operand(half + v.index()));
    merges_[&v] = both;
    return both;
  }

  std::map<const Value*, bool> merges_;
};

/// Streams that a node gives no faster than a scalar link brings one of its inputs: an element per
/// cycle. Merges take several at once, and counters and reductions have a rate of their own.
std::set<const Value*> behind_scalars(const Op& graph, Kinds& kinds) {
  std::set<const Value*> found;
  const auto slow = [&](const Value* v) {
    return v->type().kind == Kind::stream && v->type().element != Kind::none &&
           (kinds.is_scalar(*v) || found.count(v) != 0);
  };
  for (bool more = true; more;) {
    more = false;
    for (const Op& op : graph.body()) {
      using namespace ops;
      if (op.is(flow_merge) || op.is(flow_fb_merge) || op.is(flow_counter) || op.is(flow_reduce) ||
          op.has_attr("link"))
        continue;
      const std::span<Value* const> in = op.operands();
      if (op.is(flow_broadcast) ? !slow(in.back()) : std::none_of(in.begin(), in.end(), slow))
        continue;
      for (const auto& r : op.results())
        if (r->type().kind == Kind::stream) more |= found.insert(r.get()).second;
    }
  }
  return found;
}

bool visit(Op& graph, PassContext& context) {
  Kinds kinds;
  std::set<const Value*> behind;
  if (context.options.boolean("follow")) behind = behind_scalars(graph, kinds);
  bool changed = false;
  for (Op& op : graph.body()) {
    context.visit();
    for (const auto& r : op.results()) {
      Type type = r->type();
      if (type.kind != Kind::stream) continue;
      const bool scalar = kinds.is_scalar(*r) || behind.count(r.get()) != 0;
      context.count(scalar ? "scalar" : "vector");
      if (type.scalar_link == scalar || !context.spend()) continue;
      type.scalar_link = scalar;
      r->set_type(type);
      changed = true;
    }
  }
  return changed;
}

PassResult run(Module& module, PassContext& context) {
  bool changed = false;
  for (Op& op : module.body())
    if (op.is(ops::flow_graph)) changed |= visit(op, context);
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
