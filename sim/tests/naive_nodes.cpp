// What each kind of node does in a cycle, in the naive timed engine.
#include <algorithm>

#include "naive_engine.hpp"
#include "revet/diagnostics.hpp"

namespace revet::sim::test {
namespace {

[[noreturn]] void wrong() { throw InternalError("streams do not match"); }

/// Without its barrier, if it has one.
Tokens data_of(Tokens t) {
  t.resize(lanes_in(t));
  return t;
}

/// Its barrier becomes `level`; 0 removes it.
Tokens closed_by(Tokens t, unsigned level) {
  t.resize(lanes_in(t));
  if (level != 0) t.push_back(barrier(level));
  return t;
}

/// Floats in blocks of consecutive elements, then the blocks in order.
std::uint32_t reduce_all(const Reduction& r, Kind kind, const std::vector<std::uint32_t>& x) {
  const std::size_t block =
      kind == Kind::f32 ? reduction_block : std::max<std::size_t>(1, x.size());
  std::uint32_t total = r.identity;
  for (std::size_t from = 0; from < x.size(); from += block) {
    std::uint32_t sum = r.identity;
    for (std::size_t i = from; i < std::min(x.size(), from + block); ++i)
      sum = apply(r.op, kind, sum, x[i]);
    total = from == 0 ? sum : apply(r.op, kind, total, sum);
  }
  return total;
}

}  // namespace

Did Naive::source(NaiveNode& n) {
  if (n.position == n.to_send.size()) return Did::no_input;
  if (!room(n)) return Did::no_room;
  Tokens t;
  while (n.position < n.to_send.size()) {
    const Token next = n.to_send[n.position];
    if (next.is_data() && t.size() == 16) break;
    t.push_back(next);
    ++n.position;
    if (!next.is_data()) break;
  }
  send(n, 0, t);
  return Did::acted;
}

Did Naive::context(NaiveNode& n) {
  const Tokens t = common(n, 0, n.in.size());
  if (t.empty()) return Did::no_input;
  if (!room(n)) return Did::no_room;
  const Program& program = n.node->program;
  std::vector<Tokens> out(n.out.size(), t);
  for (std::size_t k = 0; k < lanes_in(t); ++k) {
    if (n.node->kind == NodeKind::void_join) continue;
    std::vector<std::uint32_t> registers = program.initial();
    for (std::size_t i = 0; i < n.in.size(); ++i) registers[i] = of_input(n, i, t)[k].bits;
    program.run(registers.data());
    for (std::size_t o = 0; o < out.size(); ++o)
      out[o][k].bits = program.output(o, registers.data());
  }
  if (n.node->kind == NodeKind::void_join)
    for (Token& token : out[0]) token.bits = 0;
  take_all(n, t.size());
  for (std::size_t o = 0; o < out.size(); ++o) send(n, o, out[o]);
  return Did::acted;
}

/// One list, or part of it, in a cycle.
Did Naive::broadcast(NaiveNode& n) {
  const std::size_t structure = n.out.size();
  const Tokens b = n.in[structure]->waiting(now);
  if (b.empty()) return Did::no_input;
  const unsigned levels = n.node->number;
  const unsigned level = level_of(b);
  const bool whole = level == levels;
  const bool uses_element = lanes_in(b) != 0 || whole;
  for (std::size_t i = 0; i < structure; ++i) {
    if (!uses_element && level < levels) break;
    const Tokens a = n.in[i]->waiting(now);
    if (a.empty()) return Did::no_input;
    if (a[0].level != (uses_element ? 0 : level - levels)) wrong();
  }
  if (!room(n)) return Did::no_room;
  take(n, structure, b.size());
  for (std::size_t i = 0; i < structure; ++i) {
    Tokens out = b;
    for (std::size_t k = 0; k < lanes_in(b); ++k) out[k] = n.in[i]->waiting(now)[0];
    send(n, i, out);
    if (whole || level > levels) take(n, i, 1);
  }
  return Did::acted;
}

Did Naive::counter(NaiveNode& n) {
  if (!n.counting) {
    const Tokens t = common(n, 0, 3);
    if (t.empty()) return Did::no_input;
    if (!room(n)) return Did::no_room;
    std::uint32_t x[3];
    for (std::size_t i = 0; i < 3; ++i) {
      x[i] = n.in[i]->waiting(now)[0].bits;
      take(n, i, 1);
    }
    if (!t[0].is_data()) {
      send(n, 0, {barrier(t[0].level + 1u)});
      return Did::acted;
    }
    if (x[2] == 0) throw Error(Exit::program, n.node->loc, "foreach step is 0");
    n.counting = true;
    n.index = x[0];
    n.stride = x[2];
    n.left = trip_count(graph.stream(n.node->in[0]).element, x[0], x[1], x[2]);
  }
  if (!room(n)) return Did::no_room;
  Tokens out;
  while (out.size() < 16 && n.left != 0) {
    out.push_back(data_token(n.index));
    n.index = wrap(graph.stream(n.node->in[0]).element, n.index + n.stride);
    --n.left;
    ++result.threads;
  }
  if (n.left == 0) {
    out.push_back(barrier(1));
    n.counting = false;
  }
  send(n, 0, out);
  return Did::acted;
}

Did Naive::reduce(NaiveNode& n) {
  const Tokens t = n.in[0]->waiting(now);
  if (t.empty()) return Did::no_input;
  if (level_of(t) != 0 && !room(n)) return Did::no_room;
  take(n, 0, t.size());
  for (const Token x : data_of(t)) n.elements.push_back(x.bits);
  if (lanes_in(t) != 0) result.last_progress = now;
  if (level_of(t) == 1) {
    const Kind kind = graph.stream(n.node->in[0]).element;
    send(n, 0,
         {data_token(kind == Kind::none ? 0 : reduce_all(n.node->reduction, kind, n.elements))});
    n.elements.clear();
  } else if (level_of(t) > 1) {
    send(n, 0, {barrier(level_of(t) - 1)});
  }
  return Did::acted;
}

/// flatten and strip.
Did Naive::lower(NaiveNode& n) {
  const Tokens t = common(n, 0, n.in.size());
  if (t.empty()) return Did::no_input;
  const unsigned level = level_of(t) > 1 ? level_of(t) - 1 : 0;
  const bool gives = !closed_by(t, level).empty();
  if (gives && !room(n)) return Did::no_room;
  if (level_of(t) == 1 && n.node->kind == NodeKind::flatten) --result.threads;
  for (std::size_t i = 0; i < n.in.size(); ++i) {
    const Tokens out = closed_by(of_input(n, i, t), level);
    take(n, i, t.size());
    send(n, i, out);
  }
  return Did::acted;
}

Did Naive::filter(NaiveNode& n) {
  const Tokens pred = common(n, 0, n.in.size());
  if (pred.empty()) return Did::no_input;
  const auto passes = [&](std::size_t k) {
    return !pred[k].is_data() || (pred[k].bits != 0) == n.node->polarity;
  };
  std::vector<Tokens> out(n.out.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t k = 0; k < pred.size(); ++k)
      if (passes(k)) out[i].push_back(of_input(n, i + 1, pred)[k]);
  if (!out[0].empty() && !room(n)) return Did::no_room;
  take_all(n, pred.size());
  for (std::size_t i = 0; i < out.size(); ++i) send(n, i, out[i]);
  return Did::acted;
}

/// Sends data of one side, then of the other, then a barrier; takes what each gives, and the
/// barriers that it says.
void Naive::join(NaiveNode& n, std::size_t first, std::size_t from_first, bool first_barrier,
                 std::size_t second, std::size_t from_second, bool second_barrier, unsigned level) {
  for (std::size_t i = 0; i < n.out.size(); ++i) {
    Tokens out = n.in[first + i]->waiting(now);
    out.resize(from_first);
    const Tokens more = n.in[second + i]->waiting(now);
    out.insert(out.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(from_second));
    if (level != 0) out.push_back(barrier(level));
    take(n, first + i, from_first + first_barrier);
    take(n, second + i, from_second + second_barrier);
    send(n, i, out);
  }
}

Did Naive::merge(NaiveNode& n) {
  // The sides take turns in being first.
  const std::size_t half = n.out.size();
  const std::size_t first = n.from_second ? half : 0, second = half - first;
  const Tokens a = common(n, first, half), b = common(n, second, half);
  const bool both_end = level_of(a) != 0 && level_of(b) != 0;
  if (lanes_in(a) + lanes_in(b) == 0 && !both_end) return Did::no_input;
  if (!room(n)) return Did::no_room;
  const std::size_t from_a = lanes_in(a), from_b = std::min(lanes_in(b), 16 - from_a);
  const bool closes = both_end && from_b == lanes_in(b);
  if (closes && level_of(a) != level_of(b)) wrong();
  join(n, first, from_a, closes, second, from_b, closes, closes ? level_of(a) : 0);
  n.from_second = !n.from_second;
  return Did::acted;
}

Did Naive::header(NaiveNode& n) {
  const std::size_t half = n.out.size();
  const Tokens back = common(n, half, half);
  if (n.phase == NaiveNode::round) {
    if (back.empty()) return Did::no_input;
    if (back.size() != 1 || back[0].level != n.level) wrong();
    for (std::size_t i = 0; i < half; ++i) take(n, half + i, 1);
    n.phase = NaiveNode::forward;
    return Did::acted;
  }
  if (n.phase == NaiveNode::drain) {
    if (back.empty()) return Did::no_input;
    if (level_of(back) > 1) wrong();
    if (!room(n)) return Did::no_room;
    n.seen = n.seen || lanes_in(back) != 0;
    const bool ends = level_of(back) == 1;
    const unsigned level = !ends ? 0 : n.seen ? 1 : 2;
    join(n, half, lanes_in(back), ends, 0, 0, false, level);
    if (level != 0) n.seen = false;
    if (level == 2) {
      n.phase = NaiveNode::round;
      n.level = 2;
    }
    return Did::acted;
  }
  const Tokens fwd = common(n, 0, half);
  if (level_of(back) != 0) wrong();
  if (back.empty() && fwd.empty()) return Did::no_input;
  if (!room(n)) return Did::no_room;
  const std::size_t from_fwd = std::min(lanes_in(fwd), 16 - back.size());
  // A full vector of lanes that came back may not be all.
  const bool closes = back.size() < 16 && from_fwd == lanes_in(fwd) && level_of(fwd) != 0;
  const unsigned level = !closes ? 0 : level_of(fwd) == 1 ? 1 : level_of(fwd) + 1;
  join(n, half, back.size(), false, 0, from_fwd, closes, level);
  if (level != 0) {
    n.phase = level == 1 ? NaiveNode::drain : NaiveNode::round;
    n.level = level;
    n.seen = false;
  }
  return Did::acted;
}

Did Naive::act(NaiveNode& n) {
  switch (n.node->kind) {
    case NodeKind::source: return source(n);
    case NodeKind::sink: {
      const Tokens t = n.in[0]->waiting(now);
      if (t.empty()) return Did::no_input;
      take(n, 0, t.size());
      n.closed = n.closed || level_of(t) == graph.stream(n.node->in[0]).depth;
      result.last_result = result.last_progress = now;
      return Did::acted;
    }
    case NodeKind::context:
    case NodeKind::void_join: return context(n);
    case NodeKind::broadcast: return broadcast(n);
    case NodeKind::counter: return counter(n);
    case NodeKind::reduce: return reduce(n);
    case NodeKind::flatten:
    case NodeKind::strip: return lower(n);
    case NodeKind::filter: return filter(n);
    case NodeKind::merge: return merge(n);
    case NodeKind::fb_merge: return header(n);
    case NodeKind::deal:
    case NodeKind::buffer: {
      const Tokens t = common(n, 0, n.in.size());
      if (t.empty()) return Did::no_input;
      if (!room(n)) return Did::no_room;
      if (n.node->kind == NodeKind::buffer && !passes(n)) return Did::no_memory;
      for (std::size_t i = 0; i < n.in.size(); ++i) send(n, i, of_input(n, i, t));
      take_all(n, t.size());
      if (n.node->kind == NodeKind::buffer) return Did::acted;
      Tokens keys = t;
      for (std::size_t k = 0; k < lanes_in(t); ++k)
        keys[k].bits = static_cast<std::uint32_t>(n.index++ % n.node->number);
      send(n, n.in.size(), keys);
      return Did::acted;
    }
    default: return act_memory(n);
  }
}

}  // namespace revet::sim::test
