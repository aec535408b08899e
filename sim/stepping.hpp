/// Shared by the two files that implement step().
#pragma once

#include "revet/sim/node.hpp"

namespace revet::sim {

/// The streams at a unit do not match: a fault of the graph.
[[noreturn]] void mismatch(const Instance& instance, const Unit& unit, std::size_t input,
                           const std::string& expected);

/// Inputs first .. first+count-1 each have a token.
inline Step inputs_ready(const Instance& g, const Unit& u, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i)
    if (g.input(u, i).empty()) return {Stall::input, static_cast<std::uint32_t>(i)};
  return {};
}

/// They do; gives the token's level (0: data), which must be the same at all of them.
inline unsigned common_level(const Instance& g, const Unit& u, std::size_t first,
                             std::size_t count) {
  const unsigned level = g.head(u, first).level;
  for (std::size_t i = first + 1; i < first + count; ++i)
    if (g.head(u, i).level != level)
      mismatch(g, u, i, notation(g.head(u, first), g.graph().stream(u.node->in[first]).element));
  return level;
}

/// Every reader of every output has room.
inline Step outputs_ready(const Instance& g, const Unit& u) {
  for (std::size_t o = 0; o < u.outputs; ++o)
    for (const std::uint32_t f : g.targets(u, o))
      if (g.fifo(f).full()) return {Stall::output, static_cast<std::uint32_t>(o)};
  return {};
}

inline void take_all(Instance& g, const Unit& u, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) g.take(u, i);
}

inline void put_all(Instance& g, const Unit& u, Token t) {
  for (std::size_t o = 0; o < u.outputs; ++o) g.put(u, o, t);
}

/// Adds an element to a reduce. Floats are added up in blocks, as reduction_block says, in the
/// order of the stream. `State`: what both engines keep of a reduce, in value, total and progress.
template <typename State>
void accumulate(State& s, std::uint32_t x) {
  const Reduction& r = s.node->reduction;
  if (s.element == Kind::f32 && s.progress != 0 && s.progress % reduction_block == 0) {
    s.total = s.progress == reduction_block ? s.value : apply(r.op, Kind::f32, s.total, s.value);
    s.value = r.identity;
  }
  if (s.element != Kind::none) s.value = apply(r.op, s.element, s.value, x);
  ++s.progress;
}

template <typename State>
std::uint32_t reduced(const State& s) {
  if (s.element != Kind::f32 || s.progress <= reduction_block) return s.value;
  return apply(s.node->reduction.op, Kind::f32, s.total, s.value);
}

Step step_memory(Instance& instance, Unit& unit);

}  // namespace revet::sim
