/// The untimed engine: runs a graph to its end, one unit at a time, in an order drawn at random
/// from a seed. What a correct graph computes does not depend on the order, nor on the capacities
/// of FIFOs; the engine is there to show it.
///
///   Graph g;                                  // while (x > 1) { x = x / 2; }
///   const StreamId x = g.source(Kind::u32, 1000, "x");
///   const Graph::Header loop = g.fb_merge({x}, "while");
///   Program test({Kind::u32});
///   test.output(test.op(Scalar::gt, test.input(0), test.constant(Kind::u32, 1)));
///   const StreamId more = g.context(test, loop.out, "test")[0];
///   Program half({Kind::u32});
///   half.output(half.op(Scalar::div, half.input(0), half.constant(Kind::u32, 2)));
///   const Bundle body = g.filter(more, true, loop.out, "stay");
///   g.close_loop(loop, g.context(half, body, "half"));
///   const Bundle left = g.filter(more, false, loop.out, "leave");
///   const Bundle result = g.strip(left, "result");
///   g.sink(result[0], "end");
///   const Result r = run(g, {}, {});          // r.outcome == Outcome::finished
#pragma once

#include "revet/sim/deadlock.hpp"
#include "revet/sim/instance.hpp"

namespace revet::sim {

struct RunOptions : InstanceOptions {
  std::uint64_t max_firings = 0;  ///< 0: no limit
};

enum class Outcome : std::uint8_t {
  finished,  ///< every sink has its closing barrier, and nothing remains
  deadlock,  ///< no unit can act, but something remains
  limit,     ///< max_firings were reached
};

struct Result {
  Outcome outcome = Outcome::finished;
  std::uint64_t firings = 0;
  std::uint64_t threads = 0;          ///< main 1, each child 1, a fork of n adds n - 1
  std::uint64_t pointers_leaked = 0;  ///< allocated and not freed when the run finished
  Deadlock deadlock;                  ///< of a deadlock
  std::string diagnosis;              ///< empty if finished; ends with a newline
};

/// `arrays`: the host memory of the graph's DRAM arrays, in order (see bind); results are in it
/// afterwards. Throws Error for an error of the program, InternalError for one of the graph.
Result run(const Graph& graph, const std::vector<HostArray>& arrays, const RunOptions& options);

}  // namespace revet::sim
