/// Makes the copies of replicate regions that hardware has (Section V-C: "each thread is broadcast
/// to a filter before every contained CFG and only threads with matching keys are forwarded.
/// Finally, return values from the contained CFG are merged using a tree of forward merge units").
///
/// Before:                                      After, for 2 copies:
///   %p = flow.alloc(%t, %v)                      %p = flow.alloc(%t, %v)
///   %y = flow.NODE(%x, %p) {replicate}           %key = flow.context(%p)          p % 2
///                                                %x0, %p0 = flow.filter(key == 0, %x, %p)
///                                                %y0 = flow.NODE(%x0, %p0) {copy = [[0, 0]]}
///                                                %x1, %p1 = flow.filter(key == 1, %x, %p)
///                                                %y1 = flow.NODE(%x1, %p1) {copy = [[0, 1]]}
///                                                %y = flow.merge(%y0, %y1)
///
/// Algorithm: regions from the inside out. Which streams belong to the thread that goes in, and
/// which leave together, follows from the nodes (alignment.hpp). The thread's streams go through a
/// filter and a buffer into each copy; streams of threads around it go to all copies as they are,
/// since each copy sees every barrier. What leaves together is merged together, in a tree. A region
/// without a loop keeps the order of its threads, so that others of their streams may pass it by;
/// these go through the copies too. Where a pointer was hoisted out of the region, it says which
/// copy a thread goes to, and each copy has memories of its own, with the number of the buffer for
/// an address; elsewhere a node deals. Tables of main that the region reads are written into each
/// copy (tables.hpp). Linear in what is written, and for each region in the graph.
///
/// Why here: late, so that everything before works on one copy (Section V-C, "late unrolling").
///
/// With `target-utilisation` the number of copies is the largest whose units, counted on a copy of
/// the module that is mapped as the passes behind this one do, stay below that share of each kind
/// that the machine has, and that can be placed.
///
/// Does not handle: different numbers of copies for different regions.
#include <fmt/format.h>

#include <array>

#include "copies.hpp"
#include "mapping/buffers.hpp"
#include "mapping/link_kinds.hpp"
#include "mapping/netlist.hpp"
#include "mapping/split.hpp"
#include "revet/abi.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

/// More nodes than any machine has units for.
constexpr std::int64_t most_nodes = 1'000'000;

struct Options {
  std::int64_t factor;
  bool by_pointer;
  std::int64_t buffer;
  bool vectors;
  double target;
};

Options options_of(const OptionValues& values) {
  Options out{values.integer("factor"), values.text("distribution") == "dynamic",
              values.integer("buffer"), values.text("links") == "vector", 0};
  const double target = values.number("target-utilisation");
  if (target != 0 && out.factor != 0)
    throw Error(Exit::usage,
                "unroll-replicate: give factor or target-utilisation, not both of them");
  if (target < 0 || target > 1)
    throw Error(Exit::usage, "unroll-replicate: target-utilisation is a number from 0 to 1");
  out.target = target;
  return out;
}

bool unroll(Block& graph, const Options& options, PassContext& context) {
  bool changed = false;
  std::int64_t nodes = 0;
  for (const Mark& mark : marks_of(graph)) {
    if (!context.spend()) return changed;
    const std::int64_t n = options.factor != 0 && !mark.fixed ? options.factor : mark.n;
    ReplicateRegion region = find_region(graph, mark);
    nodes += n * static_cast<std::int64_t>(region.nodes.size());
    if (nodes > most_nodes) {
      context.diagnostics.error(
          mark.loc, "the copies of this replicate have more nodes than any machine has units");
      return changed;
    }
    context.count("regions");
    context.count("copies", n);
    if (region.hoisted) context.count("dealt by a pointer");
    const Plan plan{n, options.by_pointer, options.buffer, options.vectors};
    Copies(mark, std::move(region), plan).write();
    changed = true;
  }
  return changed;
}

// --- the factor for a share of the machine

/// Maps a copy of the module as the passes behind this one do, with their defaults; says whether it
/// keeps within the share, and, if `placed`, whether it can be placed.
bool fits(const Module& module, Options options, std::int64_t factor, bool placed,
          PassContext& context) {
  const Machine& machine = context.machine();
  const std::unique_ptr<Module> copy = module.clone();
  options.factor = factor;
  Diagnostics unheard;
  PassContext trial(context.options, unheard);
  for (Op& op : copy->body()) {
    if (!op.is(ops::flow_graph)) continue;
    unroll(op.body(), options, trial);
    if (unheard.has_errors()) return false;
    mapping::set_link_kinds(
        op, true, [](bool) {}, [] { return true; });
    mapping::SplitCounts split;
    mapping::split_contexts(op, machine, split);
    mapping::assign_units(op, machine);
    mapping::BufferCounts buffers;
    mapping::insert_buffers(op, machine, mapping::default_burst_latency, mapping::default_hops,
                            buffers);
    std::array<unsigned, 3> used{};
    for (const mapping::Unit& u : mapping::units_of(op)) ++used[static_cast<std::size_t>(u.kind)];
    for (std::size_t k = 0; k < used.size(); ++k)
      if (used[k] > options.target * machine.units(static_cast<UnitKind>(k))) return false;
    if (!placed) continue;
    try {
      mapping::place_and_route(mapping::links_of(op).netlist, machine, 1);
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

/// Some region may have another number of copies.
bool has_choice(const Module& module) {
  for (Op& op : module.body())
    if (op.is(ops::flow_graph))
      for (const Mark& mark : marks_of(op.body()))
        if (!mark.fixed) return true;
  return false;
}

/// The largest factor that keeps within that share of the machine and places: units are counted for
/// factors that double, then halve the distance; the last is placed, and lowered until it can be.
std::int64_t factor_for_target(const Module& module, const Options& options, PassContext& context) {
  constexpr std::int64_t most = 256;
  if (!fits(module, options, 1, false, context)) return 1;
  std::int64_t fit = 1, not_fit = 2;
  while (not_fit <= most && fits(module, options, not_fit, false, context)) {
    fit = not_fit;
    not_fit *= 2;
  }
  while (not_fit - fit > 1) {
    const std::int64_t middle = fit + (not_fit - fit) / 2;
    (fits(module, options, middle, false, context) ? fit : not_fit) = middle;
  }
  while (fit > 1 && !fits(module, options, fit, true, context)) --fit;
  return fit;
}

PassResult run(Module& module, PassContext& context) {
  Options options = options_of(context.options);
  if (options.target != 0 && has_choice(module)) {
    options.factor = factor_for_target(module, options, context);
    context.count("factor", options.factor);
    context.diagnostics.note({}, fmt::format("replicate regions have {} copies", options.factor));
  }
  bool changed = false;
  context.visit(0);
  for (Op& op : module.body()) {
    if (!op.is(ops::flow_graph)) continue;
    for (const Op* node = op.body().first(); node; node = node->next()) context.visit();
    changed |= unroll(op.body(), options, context);
  }
  return PassResult::of(changed);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "unroll-replicate";
  info.summary = "Copies of replicate regions, with what deals threads to them and collects them";
  info.input = Level::flow;
  info.output = Level::flow;
  info.options = {
      {"factor", OptionType::integer, "0",
       "copies of each region without pragma(fixed); 0: as many as the program says", 0, 256},
      {"distribution",
       OptionType::text,
       "dynamic",
       "dynamic: a copy gets threads as it has free buffers; static: the copies take turns",
       INT64_MIN,
       INT64_MAX,
       {"dynamic", "static"}},
      {.name = "links",
       .type = OptionType::text,
       .fallback = "scalar",
       .help = "of what goes into and comes out of copies",
       .choices = {"scalar", "vector"}},
      {"buffer", OptionType::integer, "1024", "tokens of a buffer in front of each copy; 0: none",
       0, 1'000'000},
      {"target-utilisation", OptionType::number, "0",
       "share of the machine to use, from 0 to 1, in place of factor; 0: off"},
  };
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("unroll-replicate", "Copies of replicate regions", revet::register_)
