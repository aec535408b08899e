// One function per kind of node, each a row of the table of nodes in the docs.
#include <fmt/format.h>

#include "ports.hpp"
#include "revet/diagnostics.hpp"
#include "stepping.hpp"

namespace revet::sim {

void mismatch(const Instance& g, const Unit& u, std::size_t input, const std::string& expected) {
  const Graph& graph = g.graph();
  const Stream& stream = graph.stream(u.node->in[input]);
  throw InternalError(fmt::format("{}: {} (stream '{}') has {} where {} belongs", describe(*u.node),
                                  input_name(graph, *u.node, input), stream.name,
                                  notation(g.head(u, input), stream.element), expected));
}

Kind main_kind(const Graph& graph, const Node& node) {
  const bool behind_pointer = node.kind >= NodeKind::sram_load && node.kind <= NodeKind::bulk_store;
  const std::size_t main = behind_pointer ? 1 : 0;
  return main < node.in.size() ? graph.stream(node.in[main]).element : Kind::none;
}

namespace {

bool stalled(Step s) { return s.stall != Stall::none; }

/// Passes a token of every input of a bundle to the outputs.
void move_bundle(Instance& g, const Unit& u, std::size_t first) {
  for (std::size_t i = 0; i < u.outputs; ++i) {
    g.put(u, i, g.head(u, first + i));
    g.take(u, first + i);
  }
}

Step step_source(Instance& g, Unit& u) {
  if (u.progress == u.node->tokens.size()) return {Stall::ended, 0};
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  g.put(u, 0, u.node->tokens[u.progress++]);
  return {};
}

Step step_sink(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, 1); stalled(s)) return s;
  u.phase = g.head(u, 0).level == g.graph().stream(u.node->in[0]).depth ? 1 : 0;
  g.take(u, 0);
  return {};
}

/// void_join is a context that computes nothing.
Step step_context(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, u.inputs); stalled(s)) return s;
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  if (const unsigned level = common_level(g, u, 0, u.inputs); level != 0) {
    put_all(g, u, barrier(level));
  } else if (u.kind == NodeKind::void_join) {
    put_all(g, u, data_token(0));
  } else {
    const Program& program = u.node->program;
    std::uint32_t* registers = g.registers(u);
    for (std::size_t i = 0; i < u.inputs; ++i) registers[i] = g.head(u, i).bits;
    program.run(registers);
    for (std::size_t o = 0; o < u.outputs; ++o)
      g.put(u, o, data_token(program.output(o, registers)));
  }
  take_all(g, u, 0, u.inputs);
  return {};
}

Step step_broadcast(Instance& g, Unit& u) {
  const std::size_t values = u.outputs;
  const std::size_t structure = values;
  if (const Step s = inputs_ready(g, u, structure, 1); stalled(s)) return s;
  const Token b = g.head(u, structure);
  const unsigned levels = u.node->number;
  if (b.is_data() || b.level >= levels) {
    if (const Step s = inputs_ready(g, u, 0, values); stalled(s)) return s;
    const unsigned wanted = b.level > levels ? b.level - levels : 0;
    if (common_level(g, u, 0, values) != wanted)
      mismatch(g, u, 0, wanted == 0 ? "data" : notation(barrier(wanted), Kind::none));
  }
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  for (std::size_t i = 0; i < values; ++i) g.put(u, i, b.is_data() ? g.head(u, i) : b);
  if (b.level >= levels) take_all(g, u, 0, values);
  g.take(u, structure);
  return {};
}

/// The element that is counted stays in its FIFOs until its Ω1 has gone.
Step step_counter(Instance& g, Unit& u) {
  if (u.phase == 0) {
    if (const Step s = inputs_ready(g, u, 0, 3); stalled(s)) return s;
    if (const unsigned level = common_level(g, u, 0, 3); level != 0) {
      if (const Step s = outputs_ready(g, u); stalled(s)) return s;
      g.put(u, 0, barrier(level + 1));
      take_all(g, u, 0, 3);
      return {};
    }
    const std::uint32_t step = g.head(u, 2).bits;
    if (step == 0) throw Error(Exit::program, u.node->loc, "foreach step is 0");
    u.value = g.head(u, 0).bits;
    u.progress = trip_count(u.element, u.value, g.head(u, 1).bits, step);
    u.phase = 1;
  }
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  if (u.progress == 0) {
    g.put(u, 0, barrier(1));
    take_all(g, u, 0, 3);
    u.phase = 0;
    return {};
  }
  g.put(u, 0, data_token(u.value));
  u.value = wrap(u.element, u.value + g.head(u, 2).bits);
  --u.progress;
  ++g.threads;
  return {};
}

Step step_reduce(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, 1); stalled(s)) return s;
  const Token t = g.head(u, 0);
  if (t.is_data()) {
    accumulate(u, t.bits);
  } else {
    if (const Step s = outputs_ready(g, u); stalled(s)) return s;
    if (t.level == 1) {
      g.put(u, 0, data_token(reduced(u)));
      u.value = u.node->reduction.identity;
      u.progress = 0;
    } else {
      g.put(u, 0, barrier(t.level - 1u));
    }
  }
  g.take(u, 0);
  return {};
}

/// flatten and strip.
Step step_lower(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, u.inputs); stalled(s)) return s;
  const unsigned level = common_level(g, u, 0, u.inputs);
  if (level != 1)
    if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  if (level == 0) {
    move_bundle(g, u, 0);
    return {};
  }
  if (level > 1) put_all(g, u, barrier(level - 1));
  if (level == 1 && u.kind == NodeKind::flatten) --g.threads;  // the thread that forked
  take_all(g, u, 0, u.inputs);
  return {};
}

Step step_filter(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, u.inputs); stalled(s)) return s;
  const bool data = common_level(g, u, 0, u.inputs) == 0;
  if (data && (g.head(u, 0).bits != 0) != u.node->polarity) {
    take_all(g, u, 0, u.inputs);
    return {};
  }
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  move_bundle(g, u, 1);
  g.take(u, 0);
  return {};
}

Step step_merge(Instance& g, Unit& u) {
  const std::size_t n = u.outputs;
  const Step a = inputs_ready(g, u, 0, n);
  const Step b = inputs_ready(g, u, n, n);
  const bool data_a = !stalled(a) && common_level(g, u, 0, n) == 0;
  const bool data_b = !stalled(b) && common_level(g, u, n, n) == 0;
  if (data_a || data_b) {
    if (const Step s = outputs_ready(g, u); stalled(s)) return s;
    const bool from_b = data_b && (!data_a || g.random.below(2) != 0);
    move_bundle(g, u, from_b ? n : 0);
    return {};
  }
  if (stalled(a)) return a;
  if (stalled(b)) return b;
  if (g.head(u, 0).level != g.head(u, n).level)
    mismatch(g, u, n, notation(g.head(u, 0), Kind::none));
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  take_all(g, u, n, n);
  move_bundle(g, u, 0);
  return {};
}

enum : std::uint8_t { forward, drain, going_round };  // Unit::phase of an fb_merge

/// Sends a barrier into the loop and waits for what it becomes.
void send_round(Instance& g, Unit& u, unsigned level, std::uint8_t phase) {
  put_all(g, u, barrier(level));
  u.phase = phase;
  u.level = static_cast<std::uint8_t>(level);
  u.seen = false;
}

Step step_forward(Instance& g, Unit& u) {
  const std::size_t n = u.outputs;
  if (!stalled(inputs_ready(g, u, n, n))) {
    if (common_level(g, u, n, n) != 0) mismatch(g, u, n, "data");
    if (const Step s = outputs_ready(g, u); stalled(s)) return s;
    move_bundle(g, u, n);
    return {};
  }
  if (const Step s = inputs_ready(g, u, 0, n); stalled(s)) return s;
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  const unsigned level = common_level(g, u, 0, n);
  if (level == 0) {
    move_bundle(g, u, 0);
    return {};
  }
  // Where the level is above 1, the loop is empty: every list was closed by its own Ω1.
  if (level == 1) send_round(g, u, 1, drain);
  if (level > 1) send_round(g, u, level + 1, going_round);
  take_all(g, u, 0, n);
  return {};
}

Step step_drain(Instance& g, Unit& u) {
  const std::size_t n = u.outputs;
  if (const Step s = inputs_ready(g, u, n, n); stalled(s)) return s;
  const unsigned level = common_level(g, u, n, n);
  if (level > 1) mismatch(g, u, n, "data or Ω1");
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  if (level == 0) {
    u.seen = true;
    move_bundle(g, u, n);
    return {};
  }
  if (u.seen)
    send_round(g, u, 1, drain);
  else
    send_round(g, u, 2, going_round);
  take_all(g, u, n, n);
  return {};
}

Step step_going_round(Instance& g, Unit& u) {
  const std::size_t n = u.outputs;
  if (const Step s = inputs_ready(g, u, n, n); stalled(s)) return s;
  if (common_level(g, u, n, n) != u.level)
    mismatch(g, u, n, notation(barrier(u.level), Kind::none));
  take_all(g, u, n, n);
  u.phase = forward;
  return {};
}

Step step_fb_merge(Instance& g, Unit& u) {
  if (u.phase == forward) return step_forward(g, u);
  return u.phase == drain ? step_drain(g, u) : step_going_round(g, u);
}

Step step_deal(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, u.inputs); stalled(s)) return s;
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  const std::size_t key = u.inputs;
  const unsigned level = common_level(g, u, 0, u.inputs);
  for (std::size_t i = 0; i < u.inputs; ++i) g.put(u, i, g.head(u, i));
  g.put(u, key, level != 0 ? barrier(level) : data_token(u.value));
  if (level == 0) u.value = (u.value + 1) % u.node->number;
  take_all(g, u, 0, u.inputs);
  return {};
}

/// The FIFO of its input is the buffer.
Step step_buffer(Instance& g, Unit& u) {
  if (const Step s = inputs_ready(g, u, 0, 1); stalled(s)) return s;
  if (const Step s = outputs_ready(g, u); stalled(s)) return s;
  move_bundle(g, u, 0);
  return {};
}

}  // namespace

Step step(Instance& g, NodeId node) {
  Unit& u = g.unit(node);
  switch (u.kind) {
    case NodeKind::source: return step_source(g, u);
    case NodeKind::sink: return step_sink(g, u);
    case NodeKind::context:
    case NodeKind::void_join: return step_context(g, u);
    case NodeKind::broadcast: return step_broadcast(g, u);
    case NodeKind::counter: return step_counter(g, u);
    case NodeKind::reduce: return step_reduce(g, u);
    case NodeKind::flatten:
    case NodeKind::strip: return step_lower(g, u);
    case NodeKind::filter: return step_filter(g, u);
    case NodeKind::merge: return step_merge(g, u);
    case NodeKind::fb_merge: return step_fb_merge(g, u);
    case NodeKind::deal: return step_deal(g, u);
    case NodeKind::buffer: return step_buffer(g, u);
    default: return step_memory(g, u);
  }
}

std::vector<std::uint32_t> waits_for_either(const Instance& g, NodeId node, Step stalled_at) {
  const Unit& u = g.unit(node);
  std::vector<std::uint32_t> ports{stalled_at.port};
  const bool merging = u.kind == NodeKind::merge || (u.kind == NodeKind::fb_merge && u.phase == 0);
  if (stalled_at.stall != Stall::input || !merging || stalled_at.port >= u.outputs) return ports;
  // Stalled on the first side; the second one counts unless it has come to a barrier.
  if (const Step other = inputs_ready(g, u, u.outputs, u.outputs); stalled(other))
    ports.push_back(other.port);
  return ports;
}

}  // namespace revet::sim
