// Memory nodes, alloc and free. A request is one element of the stream; barriers pass among the
// requests, in place.
#include <algorithm>
#include <bit>
#include <iterator>

#include "stepping.hpp"

namespace revet::sim {
namespace {

Request read_request(const Instance& g, const Unit& u) {
  Request r;
  r.token = barrier(common_level(g, u, 0, u.inputs));
  if (!r.token.is_data()) {
    r.performed = true;
    return r;
  }
  const std::size_t last = u.inputs - 1u;
  const bool predicated = u.node->predicated;
  if (predicated) r.active = g.head(u, last).bits != 0;
  const std::size_t operands = std::min(std::size(r.operands), predicated ? last : last + 1);
  for (std::size_t i = 0; i < operands; ++i) r.operands[i] = g.head(u, i).bits;
  if (u.node->length_predicates)
    r.active &= static_cast<std::int32_t>(r.operands[u.node->length_input()]) >= 0;
  return r;
}

/// The result, if the node gives one, and the void; or the barrier.
void emit(Instance& g, const Unit& u, const Request& r) {
  const bool has_result = u.outputs == 2;
  for (std::size_t o = 0; o < u.outputs; ++o) {
    if (!r.token.is_data())
      g.put(u, o, r.token);
    else
      g.put(u, o, data_token(has_result && o == 0 ? r.result : 0));
  }
}

void perform_now(Instance& g, const Unit& u, Request& r) {
  if (r.active && !r.performed) r.result = perform(g.memories, *u.node, u.element, r.operands);
  r.performed = true;
}

Step step_at_once(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, u.inputs); s.stall != Stall::none) return s;
  if (const Step s = outputs_ready(g, u); s.stall != Stall::none) return s;
  Request r = read_request(g, u);
  perform_now(g, u, r);
  emit(g, u, r);
  take_all(g, u, 0, u.inputs);
  return {};
}

/// Takes a request into the queue.
Step take_request(Instance& g, Unit& u) {
  std::deque<Request>& queue = g.queue(u);
  if (const Step s = inputs_ready(g, u, 0, u.inputs); s.stall != Stall::none) return s;
  if (queue.size() >= g.memory_queue()) return {Stall::output, 0};
  queue.push_back(read_request(g, u));
  take_all(g, u, 0, u.inputs);
  return {};
}

/// Performs one of the requests that are open.
bool perform_any(Instance& g, Unit& u) {
  std::deque<Request>& queue = g.queue(u);
  const auto n = static_cast<std::uint32_t>(queue.size());
  if (n == 0) return false;
  const std::uint32_t first = g.random.below(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    Request& r = queue[(first + i) % n];
    if (r.performed) continue;
    perform_now(g, u, r);
    return true;
  }
  return false;
}

/// Results and voids leave in the order of the stream.
Step emit_first(Instance& g, Unit& u) {
  std::deque<Request>& queue = g.queue(u);
  if (queue.empty() || !queue.front().performed) return {Stall::input, 0};
  if (const Step s = outputs_ready(g, u); s.stall != Stall::none) return s;
  emit(g, u, queue.front());
  queue.pop_front();
  return {};
}

/// Does one of the three things that a memory with open requests can do, at random.
Step step_queued(Instance& g, Unit& u) {
  const std::uint32_t first = g.random.below(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint32_t what = (first + i) % 3;
    if (what == 0 && take_request(g, u).stall == Stall::none) return {};
    if (what == 1 && perform_any(g, u)) return {};
    if (what == 2 && emit_first(g, u).stall == Stall::none) return {};
  }
  return g.queue(u).empty() ? take_request(g, u) : emit_first(g, u);
}

Step step_alloc(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, u.inputs); s.stall != Stall::none) return s;
  if (const Step s = outputs_ready(g, u); s.stall != Stall::none) return s;
  Request r = read_request(g, u);
  if (r.token.is_data() && r.active) {
    if (g.memories.pool(u.node->pool).empty()) return {Stall::pointer, 0};
    r.result = g.take_pointer(u.node->pool);
  }
  emit(g, u, r);
  take_all(g, u, 0, u.inputs);
  return {};
}

Step step_free(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, u.inputs); s.stall != Stall::none) return s;
  if (const Step s = outputs_ready(g, u); s.stall != Stall::none) return s;
  const Request r = read_request(g, u);
  if (r.token.is_data() && r.active) g.give_back_pointer(u.node->pool, r.operands[0]);
  emit(g, u, r);
  take_all(g, u, 0, u.inputs);
  return {};
}

/// The position and number of valid elements of a bulk transfer.
struct Range {
  std::int64_t base;
  std::int64_t valid;
};
Range range(const Node& node, Kind element, const std::uint32_t* x) {
  if (!node.wide_base) return {exact_index(element, x[1]), exact_index(Kind::i32, x[2])};
  const std::uint64_t base = std::uint64_t{x[2]} << 32 | x[1];
  return {static_cast<std::int64_t>(base), exact_index(Kind::i32, x[3])};
}

}  // namespace

std::int64_t exact_index(Kind k, std::uint32_t bits) {
  return Type{k}.is_signed() ? std::int64_t{static_cast<std::int32_t>(bits)} : std::int64_t{bits};
}

BulkRange bulk_range(Memories& m, const Node& node, Kind element, const std::uint32_t* x) {
  const Range r = range(node, element, x);
  const Memories::Elements array = m.dram(node.dram);
  const Memories::Extent extent = Memories::valid_elements(
      array.count, Memories::room(m.sram(node.sram, x[0]), array.kind), r.base, r.valid);
  return {r.base, extent.first, extent.last};
}

std::uint32_t perform(Memories& m, const Node& node, Kind element, const std::uint32_t* x) {
  switch (node.kind) {
    case NodeKind::dram_load:
      return m.load(m.dram(node.dram), exact_index(element, x[0]), node.loc);
    case NodeKind::dram_store:
      m.store(m.dram(node.dram), exact_index(element, x[0]), x[1], node.loc);
      return 0;
    case NodeKind::dram_atomic:
      return m.atomic(m.dram(node.dram), exact_index(element, x[0]), node.atomic, x[1], x[2],
                      node.loc);
    case NodeKind::sram_load:
      return m.load(m.sram(node.sram, x[0]), exact_index(element, x[1]), node.loc);
    case NodeKind::sram_store:
      m.store(m.sram(node.sram, x[0]), exact_index(element, x[1]), x[2], node.loc);
      return 0;
    case NodeKind::sram_atomic:
      return m.atomic(m.sram(node.sram, x[0]), exact_index(element, x[1]), node.atomic, x[2], x[3],
                      node.loc);
    case NodeKind::bulk_load:
      m.bulk_load(m.dram(node.dram), m.sram(node.sram, x[0]), range(node, element, x).base,
                  range(node, element, x).valid);
      return 0;
    case NodeKind::bulk_store:
      m.bulk_store(m.dram(node.dram), m.sram(node.sram, x[0]), range(node, element, x).base,
                   range(node, element, x).valid);
      return 0;
    case NodeKind::sram_fill: m.fill_zero(m.sram(node.sram, x[0])); return 0;
    default: return 0;
  }
}

void perform_lanes(Memories& m, const Node& node, Kind element, const std::uint32_t (*x)[16],
                   std::size_t operands, std::uint32_t on, std::uint32_t* results) {
  // Most accesses are of these kinds, and within their buffer; the others have all checks.
  if (node.kind == NodeKind::sram_load && m.load_lanes(node.sram, x[0], x[1], on, results)) return;
  if (node.kind == NodeKind::sram_store && m.store_lanes(node.sram, x[0], x[1], on, x[2])) return;
  for (; on != 0; on &= on - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(on));
    std::uint32_t of_lane[5] = {};
    for (std::size_t i = 0; i < operands; ++i) of_lane[i] = x[i][k];
    results[k] = perform(m, node, element, of_lane);
  }
}

Step step_memory(Instance& g, Unit& u) {
  if (u.kind == NodeKind::alloc) return step_alloc(g, u);
  if (u.kind == NodeKind::free) return step_free(g, u);
  return g.memory_queue() == 0 ? step_at_once(g, u) : step_queued(g, u);
}

}  // namespace revet::sim
