// Cuts of contexts of at most 14 operations against the least number of pieces that there can be,
// found by trying all.
#include <bit>
#include <catch2/catch.hpp>
#include <iostream>
#include <random>
#include <set>

#include "graphs.hpp"
#include "mapping/split.hpp"

using namespace revet;
using namespace revet::mapping;
using namespace revet::mapping::testing;
using namespace revet::ops;

namespace {

struct Dag {
  unsigned arguments = 0;
  std::vector<std::pair<unsigned, unsigned>> reads;  ///< of each operation; arguments come first
  std::uint32_t given = 0;                           ///< operations whose results leave
};

Dag random_dag(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  Dag d;
  d.arguments = 1 + below(6);
  const unsigned n = 7 + below(8);
  std::uint32_t used = 0;
  for (unsigned i = 0; i < n; ++i) {
    const unsigned values = d.arguments + i;
    // Mostly what was computed last, as in programs.
    const auto pick = [&] {
      return below(2) ? values - 1 - below(std::min(values, 3u)) : below(values);
    };
    d.reads.emplace_back(pick(), pick());
    for (const unsigned v : {d.reads.back().first, d.reads.back().second})
      if (v >= d.arguments) used |= 1u << (v - d.arguments);
  }
  d.given = ~used & ((1u << n) - 1);
  return d;
}

bool is_piece(const Dag& d, std::uint32_t piece, const Machine& m) {
  std::set<unsigned> in;
  std::uint32_t out = d.given & piece;
  for (unsigned i = 0; i < d.reads.size(); ++i)
    for (const unsigned v : {d.reads[i].first, d.reads[i].second}) {
      const std::uint32_t bit = v < d.arguments ? 0 : 1u << (v - d.arguments);
      if ((piece >> i & 1) != 0 && (piece & bit) == 0) in.insert(v);
      if ((piece >> i & 1) == 0) out |= piece & bit;
    }
  return in.size() <= m.compute.vector_inputs &&
         static_cast<unsigned>(std::popcount(out)) <= m.compute.vector_outputs;
}

unsigned least_pieces(const Dag& d, const Machine& m) {
  const auto n = static_cast<unsigned>(d.reads.size());
  std::vector<std::uint32_t> before(n, 0);
  for (unsigned i = 0; i < n; ++i)
    for (const unsigned v : {d.reads[i].first, d.reads[i].second})
      if (v >= d.arguments) before[i] |= 1u << (v - d.arguments);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces;  // operations, what they need
  for (std::uint32_t s = 1; s < 1u << n; ++s) {
    if (static_cast<unsigned>(std::popcount(s)) > m.compute.stages || !is_piece(d, s, m)) continue;
    std::uint32_t needs = 0;
    for (unsigned i = 0; i < n; ++i)
      if ((s >> i & 1) != 0) needs |= before[i];
    pieces.emplace_back(s, needs & ~s);
  }
  // Numbers of what is done only grow, so that one round over them suffices.
  std::vector<unsigned> least(std::size_t{1} << n, ~0u);
  least[0] = 0;
  for (std::uint32_t done = 0; done < 1u << n; ++done) {
    if (least[done] == ~0u) continue;
    for (const auto& [s, needs] : pieces)
      if ((s & done) == 0 && (needs & ~done) == 0)
        least[done | s] = std::min(least[done | s], least[done] + 1);
  }
  return least.back();
}

unsigned pieces_of_split(const Dag& d, const Machine& m) {
  Graph g;
  std::vector<Value*> in;
  for (unsigned i = 0; i < d.arguments; ++i) in.push_back(g.source());
  const std::vector<Type> types(static_cast<std::size_t>(std::popcount(d.given)), stream());
  Op* context = g.nodes.create(flow_context, std::span<Value* const>(in),
                               std::span<const Type>(types), {}, 1);
  Block& body = context->region().add_block();
  std::vector<Value*> values, given;
  for (unsigned i = 0; i < d.arguments; ++i) values.push_back(body.add_arg(type_i32));
  Builder b(body);
  for (unsigned i = 0; i < d.reads.size(); ++i) {
    values.push_back(b.binary(arith_add, values[d.reads[i].first], values[d.reads[i].second]));
    if ((d.given >> i & 1) != 0) given.push_back(values.back());
  }
  b.create(flow_yield, std::span<Value* const>(given));
  for (const auto& r : context->results()) g.nodes.create(flow_sink, {r.get()});
  SplitCounts counts;
  split_contexts(*g.op, m, counts);
  unsigned n = 0;
  for (const Op& op : g.op->body()) n += op.is(flow_context);
  return n;
}

}  // namespace

TEST_CASE("cuts of small contexts against the optimum") {
  const Machine m = small_machine();
  std::mt19937 random(1);
  unsigned graphs = 0, best = 0, ours = 0, least = 0, worst = 0;
  while (graphs < 300) {
    const Dag d = random_dag(random);
    const unsigned optimum = least_pieces(d, m);
    if (optimum == ~0u) continue;
    const unsigned got = pieces_of_split(d, m);
    REQUIRE(got >= optimum);
    ++graphs;
    best += got == optimum;
    ours += got;
    least += optimum;
    worst = std::max(worst, got - optimum);
  }
  std::cout << "cuts: " << ours << " pieces of " << graphs << " contexts, " << least
            << " at least; " << best << " are optimal, the worst has " << worst << " more\n";
  CHECK(ours <= least * 1.15);
  CHECK(worst <= 2);
}
