// bench_flow FIRINGS: fires a graph of 10,010 nodes about so often and prints the rate and the peak
// memory. Each of its 385 regions runs a foreach whose threads load a value from DRAM, take one of
// two branches, go through a while loop, store and are summed up.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "revet/sim/engine.hpp"

namespace {

using namespace revet;
using namespace revet::sim;

constexpr std::uint32_t regions = 385;
constexpr std::uint32_t array_size = 1 << 16;

/// A context on u32 values with one operation with a constant on the first.
StreamId operation(Graph& g, const Bundle& x, Scalar op, std::uint32_t constant) {
  Program p(std::vector<Kind>(x.size(), Kind::u32));
  p.output(p.op(op, p.input(0), p.constant(Kind::u32, constant)));
  return g.context(std::move(p), x, "operation")[0];
}

Bundle loop_body(Graph& g, const Bundle& x) {
  Program p({Kind::u32, Kind::u32});
  p.output(p.op(Scalar::shr, p.input(0), p.constant(Kind::u32, 2)));
  const auto mixed = p.op(Scalar::mul, p.op(Scalar::xor_, p.input(1), p.input(0)),
                          p.constant(Kind::u32, 0x9E3779B1u));
  p.output(p.op(Scalar::rotl, mixed, p.constant(Kind::u32, 13)));
  return g.context(std::move(p), x, "mix");
}

void add_region(Graph& g, std::uint32_t in, std::uint32_t out, std::uint32_t threads) {
  const StreamId n = g.source(Kind::u32, threads, "threads");
  const StreamId first = operation(g, {n}, Scalar::and_, 0);
  const StreamId step = operation(g, {first}, Scalar::add, 1);
  const StreamId index = g.counter(first, n, step, "foreach");
  const StreamId parent = g.broadcast({n}, index, 1, "parent")[0];
  const StreamId at = operation(g, {index, parent}, Scalar::rem, array_size);
  const Graph::Answer loaded = g.dram_load(in, at, {}, "load");

  const StreamId odd = operation(g, {loaded.result}, Scalar::and_, 1);
  const StreamId then = operation(g, {odd}, Scalar::ne, 0);
  const Bundle a = g.filter(then, true, {loaded.result, at}, "then");
  const Bundle b = g.filter(then, false, {loaded.result, at}, "else");
  const StreamId tripled = operation(g, {a[0]}, Scalar::mul, 3);
  const StreamId halved = operation(g, {b[0]}, Scalar::shr, 1);
  const Bundle joined = g.merge({tripled, a[1]}, {halved, b[1]}, "join");

  const Graph::Header header = g.fb_merge(joined, "while");
  const StreamId more = operation(g, header.out, Scalar::gt, 3);
  g.close_loop(header, loop_body(g, g.filter(more, true, header.out, "stay")));
  const Bundle leave = g.filter(more, false, header.out, "leave");
  const Bundle result = g.strip(leave, "strip");
  const StreamId left = result[0];
  const StreamId mixed = result[1];

  const StreamId to = operation(g, {mixed}, Scalar::rem, array_size);
  const StreamId stored = g.dram_store(out, to, left, {no_stream, {}}, "store");
  g.sink(g.reduce_void(stored, "join"), "end");
  const StreamId sum = g.reduce(mixed, reduction_of("+", Kind::u32), "sum");
  g.sink(sum, "result");
  g.unused(loaded.done);
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

int main(int argc, char** argv) {
  const double wanted = argc > 1 ? std::atof(argv[1]) : 1e7;
  constexpr double firings_per_thread = 53.5;
  Graph g;
  const std::uint32_t in = g.dram("in", Kind::u32);
  const std::uint32_t out = g.dram("out", Kind::u32);
  const auto threads = static_cast<std::uint32_t>(wanted / regions / firings_per_thread);
  for (std::uint32_t i = 0; i < regions; ++i) add_region(g, in, out, threads);

  std::vector<std::uint32_t> data(array_size);
  Random random(1);
  for (std::uint32_t& x : data) x = random.below(1u << 16);
  std::vector<std::uint32_t> results(array_size);
  const auto host = [](std::vector<std::uint32_t>& words) {
    return HostArray{reinterpret_cast<std::uint8_t*>(words.data()), words.size()};
  };

  const auto begin = std::chrono::steady_clock::now();
  const Result result = run(g, {host(data), host(results)}, {});
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  if (result.outcome != Outcome::finished) {
    std::fputs(result.diagnosis.c_str(), stderr);
    return 1;
  }
  std::printf(
      "nodes %zu\nfirings %llu\nseconds %.3f\nfirings_per_second %.0f\npeak_kilobytes %ld\n",
      g.nodes().size(), static_cast<unsigned long long>(result.firings), time.count(),
      static_cast<double>(result.firings) / time.count(), peak_kilobytes());
  return 0;
}
