#include "revet/sim/instance.hpp"

#include <fmt/format.h>

#include "revet/diagnostics.hpp"
#include "revet/sim/loops.hpp"
#include "revet/sim/node.hpp"

namespace revet::sim {
namespace {

const Graph& valid(const Graph& graph) {
  Diagnostics diagnostics;
  graph.validate(diagnostics);
  if (!diagnostics.has_errors()) return graph;
  std::string text = "the flow graph is not valid";
  for (const Diagnostic& d : diagnostics.all()) {
    text += fmt::format("\n  {} {}", d.message, place_text(d.loc));
    for (const Note& note : d.notes) text += fmt::format(", {}", note.message);
  }
  throw InternalError(text);
}

}  // namespace

Instance::Instance(const Graph& graph, const std::vector<HostArray>& arrays,
                   const InstanceOptions& options)
    : memories(graph.drams(), graph.srams(), graph.pools(), arrays),
      ready(graph.nodes().size()),
      random(options.seed),
      trace(options.trace),
      graph_(&valid(graph)),
      memory_queue_(options.memory_queue) {
  make_fifos(options);
  make_units();
  for (NodeId n = 0; n < units_.size(); ++n) ready.add(n);
}

void Instance::make_fifos(const InstanceOptions& options) {
  std::vector<std::uint32_t> capacities;
  for (NodeId n = 0; n < graph_->nodes().size(); ++n) {
    const Node& node = graph_->node(n);
    for (const StreamId s : node.in) {
      const Stream& stream = graph_->stream(s);
      const std::uint32_t drawn =
          options.min_depth + random.below(options.max_depth - options.min_depth + 1);
      const std::uint32_t own = stream.capacity != 0 ? stream.capacity : drawn;
      capacities.push_back(node.kind == NodeKind::buffer ? node.number : own);
      readers_.push_back(n);
      writers_.push_back(stream.writer.node);
    }
  }
  if (options.back_edge_rule) size_back_edges(options, capacities);
  for (const std::uint32_t c : capacities) fifos_.emplace_back(c, options.link_form);
}

void Instance::size_back_edges(const InstanceOptions& options,
                               std::vector<std::uint32_t>& capacities) {
  const std::vector<std::uint32_t> first = first_inputs(*graph_);
  for (const Loop& loop : loops_of(*graph_)) {
    const std::uint32_t needed =
        back_edge_capacity(*graph_, loop, capacities, options.memory_queue);
    const Node& header = graph_->node(loop.header);
    for (std::size_t i = header.out.size(); i < header.in.size(); ++i) {
      const std::uint32_t given = graph_->stream(header.in[i]).capacity;
      if (given != 0 && given < needed)
        throw InternalError(fmt::format(
            "the back edge '{}' of {} holds {} tokens; what its loop can hold needs {}",
            graph_->stream(header.in[i]).name, describe(header), given,
            needed == Fifo::unlimited ? "an unlimited buffer" : std::to_string(needed)));
      if (given == 0) capacities[first[loop.header] + i] = needed;
    }
  }
}

void Instance::make_units() {
  const std::vector<std::uint32_t> first = first_inputs(*graph_);
  allocators_.resize(graph_->pools().size());
  std::uint32_t first_out = 0;
  for (NodeId n = 0; n < graph_->nodes().size(); ++n) {
    const Node& node = graph_->node(n);
    Unit u{};
    u.node = &node;
    u.first_in = first[n];
    u.first_out = first_out;
    u.inputs = static_cast<std::uint16_t>(node.in.size());
    u.outputs = static_cast<std::uint16_t>(node.out.size());
    u.kind = node.kind;
    u.element = main_kind(*graph_, node);
    if (node.kind == NodeKind::reduce) u.value = node.reduction.identity;
    if (node.kind == NodeKind::alloc) allocators_[node.pool].push_back(n);
    if (node.kind == NodeKind::context) {
      u.scratch = static_cast<std::uint32_t>(registers_.size());
      const std::vector<std::uint32_t>& initial = node.program.initial();
      registers_.insert(registers_.end(), initial.begin(), initial.end());
    }
    if (is_memory_node(node.kind) && memory_queue_ != 0) {
      u.scratch = static_cast<std::uint32_t>(queues_.size());
      queues_.emplace_back();
    }
    for (const StreamId s : node.out) {
      first_target_.push_back(static_cast<std::uint32_t>(targets_.size()));
      for (const Port& reader : graph_->stream(s).readers)
        targets_.push_back(first[reader.node] + reader.index);
    }
    first_out += u.outputs;
    units_.push_back(u);
  }
  first_target_.push_back(static_cast<std::uint32_t>(targets_.size()));
}

void Instance::give_back_pointer(std::uint32_t pool, std::uint32_t pointer) {
  memories.pool(pool).give_back(pointer);
  for (const NodeId n : allocators_[pool]) ready.add(n);
}

bool Instance::busy(NodeId n) const {
  const Unit& u = units_[n];
  switch (u.kind) {
    case NodeKind::source: return u.progress < u.node->tokens.size();
    case NodeKind::sink: return u.phase == 0;
    case NodeKind::counter:
    case NodeKind::fb_merge: return u.phase != 0;
    case NodeKind::reduce: return u.progress != 0;
    default: return is_memory_node(u.kind) && memory_queue_ != 0 && !queue(u).empty();
  }
}

std::uint64_t Instance::tokens() const {
  std::uint64_t n = 0;
  for (const Fifo& f : fifos_) n += f.size();
  for (const std::deque<Request>& q : queues_) n += q.size();
  return n;
}

bool Instance::finished() const {
  if (tokens() != 0) return false;
  for (NodeId n = 0; n < units_.size(); ++n)
    if (busy(n)) return false;
  return true;
}

}  // namespace revet::sim
