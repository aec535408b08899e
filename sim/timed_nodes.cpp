// What each kind of node does in one cycle: the rows of nodes.cpp on vectors of lanes.
#include <fmt/format.h>

#include "ports.hpp"
#include "revet/diagnostics.hpp"
#include "stepping.hpp"
#include "timed_instance.hpp"

namespace revet::sim {

void TimedInstance::mismatch(const TimedNode& n, std::size_t i, View found,
                             const std::string& expected) const {
  const Stream& stream = graph.stream(n.node->in[i]);
  throw InternalError(fmt::format(
      "cycle {}: {}: {} (stream '{}') has {} where {} belongs", now, describe(n),
      input_name(graph, *n.node, i), stream.name,
      found.lanes != 0 ? "data" : notation(barrier(found.level), stream.element), expected));
}

Attempt wait_for(TimedInstance& g, const TimedNode& n, std::size_t i) {
  Channel& c = g.input(n, i);
  const Cycle at = c.next_arrival(g.now);
  if (at == Channel::never) c.reader_waits = true;
  return {Attempt::no_input, static_cast<std::uint32_t>(i), 0, at};
}

Attempt zip(TimedInstance& g, const TimedNode& n, std::size_t first, std::size_t count,
            View& view) {
  view = g.input(n, first).peek(g.now);
  if (view.empty()) return wait_for(g, n, first);
  unsigned most = view.lanes;
  for (std::size_t i = first + 1; i < first + count; ++i) {
    const View v = g.input(n, i).peek(g.now);
    if (v.empty()) return wait_for(g, n, i);
    most = std::max(most, v.lanes);
    if (v.lanes == view.lanes) {
      // All must come to the barrier, and to the same one.
      if (v.level != view.level && v.level != 0 && view.level != 0)
        g.mismatch(n, i, {0, v.level}, notation(barrier(view.level), Kind::none));
      view.level = v.level == view.level ? v.level : 0;
    } else {
      view = {std::min(v.lanes, view.lanes), 0};
    }
  }
  if (view.lanes == 0 && (most != 0 || view.level == 0)) {
    for (std::size_t i = first; i < first + count; ++i)
      if (const View v = g.input(n, i).peek(g.now); v.lanes == 0) g.mismatch(n, i, v, "data");
  }
  return {};
}

namespace {

using Lanes = std::uint32_t[lanes_per_vector];

bool acted(const Attempt& a) { return a.kind == Attempt::fired; }

Attempt step_source(TimedInstance& g, TimedNode& n) {
  const std::vector<Token>& tokens = g.tokens_of(n);
  if (n.progress == tokens.size()) return {Attempt::ended, 0};
  Attempt a;
  if (!g.room(n, a)) return a;
  View v;
  Lanes lanes;
  while (n.progress < tokens.size() && v.level == 0) {
    const Token t = tokens[n.progress];
    if (t.is_data() && v.lanes == lanes_per_vector) break;
    if (t.is_data())
      lanes[v.lanes++] = t.bits;
    else
      v.level = t.level;
    ++n.progress;
  }
  g.put(n, 0, v, lanes);
  return {};
}

Attempt step_sink(TimedInstance& g, TimedNode& n) {
  View v;
  if (const Attempt a = zip(g, n, 0, 1, v); !acted(a)) return a;
  g.take(n, 0, v, nullptr);
  if (v.level == g.graph.stream(n.node->in[0]).depth) n.phase = 1;
  g.retire(1);
  return {};
}

Attempt step_context(TimedInstance& g, TimedNode& n) {
  View v;
  if (const Attempt a = zip(g, n, 0, n.inputs, v); !acted(a)) return a;
  Attempt a;
  if (!g.room(n, a)) return a;
  if (n.kind == NodeKind::void_join) {
    for (std::size_t i = 0; i < n.inputs; ++i) g.take(n, i, v, nullptr);
    g.put(n, 0, v, nullptr);
    return {};
  }
  const Program& program = n.node->program;
  std::uint32_t* registers = g.registers(n);
  for (std::size_t i = 0; i < n.inputs; ++i) g.take(n, i, v, registers + i * lanes_per_vector);
  if (v.lanes != 0) program.run_lanes(registers, v.lanes);
  for (std::size_t o = 0; o < n.outputs; ++o) g.put(n, o, v, program.lanes(o, registers));
  return {};
}

Attempt step_broadcast(TimedInstance& g, TimedNode& n) {
  const std::size_t values = n.outputs;
  View v;
  if (const Attempt a = zip(g, n, values, 1, v); !acted(a)) return a;
  const unsigned levels = n.node->number;
  const bool element = v.lanes != 0 || v.level == levels;
  const bool above = v.level > levels;
  if (element || above) {
    for (std::size_t i = 0; i < values; ++i) {
      const View a = g.input(n, i).peek(g.now);
      if (a.empty()) return wait_for(g, n, i);
      if (element ? a.lanes == 0 : (a.lanes != 0 || a.level != v.level - levels))
        g.mismatch(n, i, a, element ? "data" : notation(barrier(v.level - levels), Kind::none));
    }
  }
  Attempt a;
  if (!g.room(n, a)) return a;
  g.take(n, values, v, nullptr);
  Lanes lanes;
  for (std::size_t i = 0; i < values; ++i) {
    if (g.input(n, i).carries_data() && v.lanes != 0)
      std::fill_n(lanes, lanes_per_vector, g.input(n, i).first());
    g.put(n, i, v, lanes);
    if (v.level == levels) g.take(n, i, {1, 0}, nullptr);
    if (above) g.take(n, i, {0, v.level - levels}, nullptr);
  }
  return {};
}

/// An element is counted from the cycle in which it is taken, 16 indices in each.
Attempt step_counter(TimedInstance& g, TimedNode& n) {
  View v;
  if (n.phase == 0)
    if (const Attempt a = zip(g, n, 0, 3, v); !acted(a)) return a;
  Attempt a;
  if (!g.room(n, a)) return a;
  if (n.phase == 0) {
    if (v.lanes == 0) {
      for (std::size_t i = 0; i < 3; ++i) g.take(n, i, v, nullptr);
      g.put(n, 0, {0, v.level + 1}, nullptr);
      return {};
    }
    std::uint32_t operands[3];
    for (std::size_t i = 0; i < 3; ++i) {
      operands[i] = g.input(n, i).first();
      g.take(n, i, {1, 0}, nullptr);
    }
    if (operands[2] == 0) throw Error(Exit::program, n.node->loc, "foreach step is 0");
    n.value = operands[0];
    n.total = operands[2];
    n.progress = trip_count(n.element, operands[0], operands[1], operands[2]);
    n.phase = 1;
  }
  Lanes lanes;
  View out;
  while (out.lanes < lanes_per_vector && n.progress != 0) {
    lanes[out.lanes++] = n.value;
    n.value = wrap(n.element, n.value + n.total);
    --n.progress;
  }
  g.threads += out.lanes;
  if (n.progress == 0) {
    out.level = 1;
    n.phase = 0;
  }
  g.put(n, 0, out, lanes);
  return {};
}

Attempt step_reduce(TimedInstance& g, TimedNode& n) {
  View v;
  if (const Attempt a = zip(g, n, 0, 1, v); !acted(a)) return a;
  Attempt a;
  if (v.level != 0 && !g.room(n, a)) return a;
  Lanes lanes;
  g.take(n, 0, v, lanes);
  for (unsigned i = 0; i < v.lanes; ++i) accumulate(n, n.element == Kind::none ? 0 : lanes[i]);
  if (v.lanes != 0) g.retire(v.lanes);
  if (v.level == 1) {
    lanes[0] = reduced(n);
    g.put(n, 0, {1, 0}, lanes);
    n.value = n.node->reduction.identity;
    n.progress = 0;
  } else if (v.level > 1) {
    g.put(n, 0, {0, v.level - 1}, nullptr);
  }
  return {};
}

/// flatten and strip.
Attempt step_lower(TimedInstance& g, TimedNode& n) {
  View v;
  if (const Attempt a = zip(g, n, 0, n.inputs, v); !acted(a)) return a;
  const View out{v.lanes, v.level == 0 ? 0 : v.level - 1};
  Attempt a;
  if (!out.empty() && !g.room(n, a)) return a;
  if (v.level == 1 && n.kind == NodeKind::flatten) --g.threads;  // the thread that forked
  Lanes lanes;
  for (std::size_t i = 0; i < n.inputs; ++i) {
    g.take(n, i, v, lanes);
    if (!out.empty()) g.put(n, i, out, lanes);
  }
  return {};
}

Attempt step_filter(TimedInstance& g, TimedNode& n) {
  View v;
  if (const Attempt a = zip(g, n, 0, n.inputs, v); !acted(a)) return a;
  Lanes pred;
  g.input(n, 0).copy(v.lanes, pred);
  std::uint8_t passing[lanes_per_vector];
  unsigned count = 0;
  const bool polarity = n.node->polarity;
  for (unsigned i = 0; i < v.lanes; ++i) {
    passing[count] = static_cast<std::uint8_t>(i);
    count += (pred[i] != 0) == polarity;
  }
  const View out{count, v.level};
  Attempt a;
  if (!out.empty() && !g.room(n, a)) return a;
  g.take(n, 0, v, nullptr);
  Lanes lanes, packed;
  for (std::size_t i = 0; i < n.outputs; ++i) {
    g.take(n, i + 1, v, count != 0 ? lanes : nullptr);
    if (out.empty()) continue;
    if (count != v.lanes && g.input(n, i + 1).carries_data()) {
      for (unsigned k = 0; k < count; ++k) packed[k] = lanes[passing[k]];
      g.put(n, i, out, packed);
    } else {
      g.put(n, i, out, lanes);
    }
  }
  return {};
}

/// What all streams of one side of a merge have; empty if one of them has nothing.
View side(TimedInstance& g, const TimedNode& n, std::size_t first, std::size_t count,
          std::size_t& missing) {
  View view = g.input(n, first).peek(g.now);
  missing = first;
  for (std::size_t i = first + 1; i < first + count && !view.empty(); ++i) {
    const View v = g.input(n, i).peek(g.now);
    if (v.empty()) missing = i;
    if (v.lanes == view.lanes && v.level == view.level) continue;
    if (!v.empty() && (v.lanes == 0 || view.lanes == 0)) g.mismatch(n, i, v, "another token");
    view = {std::min(v.lanes, view.lanes), 0};
  }
  return view;
}

/// Takes lanes of one side behind those of the other, then the barrier.
void join(TimedInstance& g, const TimedNode& n, std::size_t first, View a, std::size_t second,
          View b, unsigned level) {
  std::uint32_t lanes[2 * lanes_per_vector];
  for (std::size_t i = 0; i < n.outputs; ++i) {
    g.take(n, first + i, a, lanes);
    g.take(n, second + i, b, lanes + a.lanes);
    g.put(n, i, {a.lanes + b.lanes, level}, lanes);
  }
}

Attempt earlier(Attempt a, const Attempt& b) {
  a.again = std::min(a.again, b.again);
  return a;
}

Attempt step_merge(TimedInstance& g, TimedNode& n) {
  const std::size_t half = n.outputs;
  const std::size_t first = n.from_second ? half : 0;
  const std::size_t second = half - first;
  std::size_t missing_a, missing_b;
  const View a = side(g, n, first, half, missing_a);
  const View b = side(g, n, second, half, missing_b);
  if (a.lanes == 0 && b.lanes == 0 && (a.level == 0 || b.level == 0)) {
    if (a.empty() && b.empty())
      return earlier(wait_for(g, n, missing_a), wait_for(g, n, missing_b));
    return wait_for(g, n, a.empty() ? missing_a : missing_b);
  }
  Attempt attempt;
  if (!g.room(n, attempt)) return attempt;
  View from_a{a.lanes, 0}, from_b{std::min(b.lanes, lanes_per_vector - a.lanes), 0};
  unsigned level = 0;
  if (from_b.lanes == b.lanes && a.level != 0 && b.level != 0) {
    if (a.level != b.level)
      g.mismatch(n, second, {0, b.level}, notation(barrier(a.level), Kind::none));
    level = from_a.level = from_b.level = a.level;
  }
  join(g, n, first, from_a, second, from_b, level);
  n.from_second = !n.from_second;
  return {};
}

enum : std::uint8_t { forward, drain, going_round };  // as for Unit::phase

/// Sends lanes and a barrier into the loop and waits for what the barrier becomes.
void send_round(TimedNode& n, unsigned level, std::uint8_t phase) {
  n.phase = phase;
  n.level = static_cast<std::uint8_t>(level);
  n.seen = false;
}

Attempt step_forward(TimedInstance& g, TimedNode& n) {
  const std::size_t half = n.outputs;
  std::size_t missing_forward, missing_back;
  const View back = side(g, n, half, half, missing_back);
  const View fwd = side(g, n, 0, half, missing_forward);
  if (back.level != 0) g.mismatch(n, half, {0, back.level}, "data");
  if (back.empty() && fwd.empty())
    return earlier(wait_for(g, n, missing_forward), wait_for(g, n, missing_back));
  Attempt attempt;
  if (!g.room(n, attempt)) return attempt;
  // A full vector of lanes that came back may leave others waiting.
  View from_forward{0, 0};
  if (back.lanes < lanes_per_vector) {
    from_forward.lanes = std::min(fwd.lanes, lanes_per_vector - back.lanes);
    if (from_forward.lanes == fwd.lanes) from_forward.level = fwd.level;
  }
  unsigned level = 0;
  if (from_forward.level == 1) {
    level = 1;
  } else if (from_forward.level > 1) {
    // The loop is empty then: every list was closed by its own Ω1.
    level = from_forward.level + 1;
  }
  join(g, n, half, back, 0, from_forward, level);
  if (level == 1) send_round(n, 1, drain);
  if (level > 1) send_round(n, level, going_round);
  return {};
}

Attempt step_drain(TimedInstance& g, TimedNode& n) {
  const std::size_t half = n.outputs;
  std::size_t missing;
  const View back = side(g, n, half, half, missing);
  if (back.empty()) return wait_for(g, n, missing);
  if (back.level > 1) g.mismatch(n, half, {0, back.level}, "data or Ω1");
  Attempt attempt;
  if (!g.room(n, attempt)) return attempt;
  const bool seen = n.seen || back.lanes != 0;
  const unsigned level = back.level == 0 ? 0 : (seen ? 1 : 2);
  join(g, n, half, back, 0, {}, level);
  n.seen = seen;
  if (level == 1) send_round(n, 1, drain);
  if (level == 2) send_round(n, 2, going_round);
  return {};
}

Attempt step_going_round(TimedInstance& g, TimedNode& n) {
  const std::size_t half = n.outputs;
  View v;
  if (const Attempt a = zip(g, n, half, half, v); !acted(a)) return a;
  if (v.lanes != 0 || v.level != n.level)
    g.mismatch(n, half, v, notation(barrier(n.level), Kind::none));
  for (std::size_t i = 0; i < half; ++i) g.take(n, half + i, v, nullptr);
  n.phase = forward;
  return {};
}

Attempt step_fb_merge(TimedInstance& g, TimedNode& n) {
  if (n.phase == forward) return step_forward(g, n);
  return n.phase == drain ? step_drain(g, n) : step_going_round(g, n);
}

Attempt step_deal(TimedInstance& g, TimedNode& n) {
  View v;
  if (const Attempt a = zip(g, n, 0, n.inputs, v); !acted(a)) return a;
  Attempt a;
  if (!g.room(n, a)) return a;
  Lanes lanes;
  for (std::size_t i = 0; i < n.inputs; ++i) {
    g.take(n, i, v, lanes);
    g.put(n, i, v, lanes);
  }
  for (unsigned k = 0; k < v.lanes; ++k) {
    lanes[k] = n.value;
    n.value = (n.value + 1) % n.node->number;
  }
  g.put(n, n.inputs, v, lanes);
  return {};
}

}  // namespace

TimedStep* timed_step(NodeKind kind) {
  switch (kind) {
    case NodeKind::source: return step_source;
    case NodeKind::sink: return step_sink;
    case NodeKind::context:
    case NodeKind::void_join: return step_context;
    case NodeKind::broadcast: return step_broadcast;
    case NodeKind::counter: return step_counter;
    case NodeKind::reduce: return step_reduce;
    case NodeKind::flatten:
    case NodeKind::strip: return step_lower;
    case NodeKind::filter: return step_filter;
    case NodeKind::merge: return step_merge;
    case NodeKind::fb_merge: return step_fb_merge;
    case NodeKind::deal: return step_deal;
    default: return attempt_memory;
  }
}

}  // namespace revet::sim
