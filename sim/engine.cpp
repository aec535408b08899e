#include "revet/sim/engine.hpp"

#include <fmt/format.h>

namespace revet::sim {
namespace {

/// Fires random ready units; false if `limit` firings came first.
bool fire_all(Instance& g, std::uint64_t& firings, std::uint64_t limit) {
  while (!g.ready.empty()) {
    if (firings == limit) return false;
    const NodeId n = g.ready.take(g.random);
    if (step(g, n).stall != Stall::none) continue;
    ++firings;
    g.ready.add(n);
  }
  return true;
}

bool spends(Instance& g, std::uint64_t limit) {
  std::uint64_t firings = 0;
  return !fire_all(g, firings, limit);
}

std::string no_end(const Instance& g, std::uint64_t firings) {
  std::string text =
      fmt::format("no end after {} firings; {} tokens are under way\n", firings, g.tokens());
  for (NodeId n = 0; n < g.unit_count(); ++n) {
    const Unit& u = g.unit(n);
    if (u.kind != NodeKind::fb_merge || u.phase == 0) continue;
    text += fmt::format("  {} waits for {}\n", describe(*u.node),
                        u.phase == 1 ? "the threads of its loop to leave" : "its last barrier");
  }
  return text;
}

std::uint64_t pointers_taken(const Instance& g) {
  std::uint64_t taken = 0;
  const std::vector<PoolDecl>& pools = g.graph().pools();
  for (std::uint32_t p = 0; p < pools.size(); ++p)
    taken += pools[p].pointers - g.memories.pool(p).free_count();
  return taken;
}

}  // namespace

Result run(const Graph& graph, const std::vector<HostArray>& arrays, const RunOptions& options) {
  Instance instance(graph, arrays, options);
  Result result;
  const std::uint64_t limit = options.max_firings != 0 ? options.max_firings : ~std::uint64_t{0};
  const bool quiet = fire_all(instance, result.firings, limit);
  result.threads = instance.threads;
  if (!quiet) {
    result.outcome = Outcome::limit;
    result.diagnosis = no_end(instance, result.firings);
  } else if (!instance.finished()) {
    result.outcome = Outcome::deadlock;
    result.deadlock = diagnose(instance, spends);
    result.diagnosis =
        fmt::format("deadlock after {} firings: {}", result.firings, render(result.deadlock));
  } else {
    result.pointers_leaked = pointers_taken(instance);
  }
  return result;
}

}  // namespace revet::sim
