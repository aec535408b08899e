#include "revet/sim/loops.hpp"

#include <algorithm>

namespace revet::sim {
namespace {

class LoopFinder {
 public:
  LoopFinder(const Graph& graph, NodeId header)
      : graph_(graph), header_(header), depth_(graph.stream(graph.node(header).out[0]).depth) {}

  Loop find() {
    Loop loop{header_, {}, false, {}};
    const Node& header = graph_.node(header_);
    const std::vector<bool> reached = closure(header.out, true);
    const Bundle back(header.in.begin() + static_cast<std::ptrdiff_t>(header.out.size()),
                      header.in.end());
    const std::vector<bool> returns = closure(back, false);
    for (NodeId n = 0; n < reached.size(); ++n)
      if (reached[n] && returns[n] && n != header_) loop.body.push_back(n);
    for (const StreamId s : back) loop.back_from_header.push_back(reached[writer(s)]);
    return loop;
  }

 private:
  NodeId writer(StreamId s) const { return graph_.stream(s).writer.node; }

  /// The nodes that can be reached from streams, through nodes other than the header; the header
  /// itself is in it.
  std::vector<bool> closure(const Bundle& from, bool forward) const {
    std::vector<bool> found(graph_.nodes().size(), false);
    std::vector<NodeId> work;
    const auto find_node = [&](NodeId n) {
      if (n == no_node || found[n]) return;
      found[n] = true;
      if (n != header_) work.push_back(n);
    };
    const auto follow = [&](const Bundle& streams) {
      for (const StreamId s : streams) {
        if (s == no_stream || graph_.stream(s).depth < depth_) continue;
        if (!forward) find_node(writer(s));
        if (forward)
          for (const Port& reader : graph_.stream(s).readers) find_node(reader.node);
      }
    };
    found[header_] = true;
    follow(from);
    while (!work.empty()) {
      const Node& node = graph_.node(work.back());
      work.pop_back();
      follow(forward ? node.out : node.in);
    }
    return found;
  }

  const Graph& graph_;
  const NodeId header_;
  const unsigned depth_;  ///< of a thread's streams in the loop
};

bool contains(const Loop& loop, NodeId node) {
  return std::binary_search(loop.body.begin(), loop.body.end(), node);
}

/// A while adds a level and a foreach does; so a flatten whose output is as deep as the loops
/// around it say is not inside a foreach of this loop.
bool forks(const Graph& graph, const Loop& loop, const std::vector<Loop>& loops) {
  const unsigned depth = graph.stream(graph.node(loop.header).out[0]).depth;
  return std::any_of(loop.body.begin(), loop.body.end(), [&](NodeId n) {
    const Node& node = graph.node(n);
    if (node.kind != NodeKind::flatten) return false;
    const auto nested = std::count_if(loops.begin(), loops.end(), [&](const Loop& inner) {
      return contains(loop, inner.header) && contains(inner, n);
    });
    return graph.stream(node.out[0]).depth == depth + static_cast<unsigned>(nested);
  });
}

}  // namespace

std::vector<Loop> loops_of(const Graph& graph) {
  std::vector<Loop> loops;
  for (NodeId n = 0; n < graph.nodes().size(); ++n)
    if (graph.node(n).kind == NodeKind::fb_merge) loops.push_back(LoopFinder(graph, n).find());
  const auto depth = [&](const Loop& loop) {
    return graph.stream(graph.node(loop.header).out[0]).depth;
  };
  std::stable_sort(loops.begin(), loops.end(),
                   [&](const Loop& a, const Loop& b) { return depth(a) > depth(b); });
  for (Loop& loop : loops) loop.forks = forks(graph, loop, loops);
  return loops;
}

std::vector<std::uint32_t> first_inputs(const Graph& graph) {
  std::vector<std::uint32_t> first{0};
  for (const Node& node : graph.nodes())
    first.push_back(first.back() + static_cast<std::uint32_t>(node.in.size()));
  return first;
}

std::uint32_t back_edge_capacity(const Graph& graph, const Loop& loop,
                                 std::span<const std::uint32_t> capacities,
                                 std::uint32_t memory_queue) {
  if (loop.forks) return Fifo::unlimited;
  const std::vector<std::uint32_t> first = first_inputs(graph);
  std::uint64_t held = 2;
  for (const NodeId n : loop.body) {
    const Node& node = graph.node(n);
    if (is_memory_node(node.kind)) held += memory_queue;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const NodeId writer = graph.stream(node.in[i]).writer.node;
      if (writer != loop.header && !contains(loop, writer)) continue;
      const std::uint32_t capacity = capacities[first[n] + i];
      if (capacity == Fifo::unlimited) return Fifo::unlimited;
      held += capacity;
    }
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(held, Fifo::unlimited));
}

}  // namespace revet::sim
