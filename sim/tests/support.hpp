/// Ragged tensors, and running a graph under many schedules.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "revet/sim/engine.hpp"

namespace revet::sim::test {

using Values = std::vector<std::uint32_t>;  ///< of one thread, one per stream of a bundle

/// Of depth 0 an element, else a list.
struct Tensor {
  std::vector<Tensor> items;
  Values leaf;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};
Tensor leaf(Values values);
Tensor list(std::vector<Tensor> items);
/// A list of single values.
Tensor row(const Values& values);

/// Many lists are empty.
Tensor random_tensor(Random& random, unsigned depth, const std::function<Values(Random&)>& value);
/// The expanded tokens of one of the streams that carry the tensor.
std::vector<Token> expand(const Tensor& t, unsigned depth, std::size_t lane = 0);
/// The tensor that expanded tokens spell, one sequence per stream.
Tensor tensor_of(const std::vector<std::vector<Token>>& lanes, unsigned depth);
/// Applies f to every element; an element may become several or none.
Tensor map(const Tensor& t, unsigned depth, const std::function<std::vector<Values>(Values)>& f);
/// The elements of every innermost list in order of their values: threads of a list are unordered.
Tensor sorted(Tensor t, unsigned depth);
std::string show(const Tensor& t, unsigned depth);

Program program(std::vector<Kind> inputs, const std::function<void(Program&)>& body);
/// u32 -> u32 by `op` with a constant.
Program with_constant(Scalar op, std::uint32_t constant);
/// The predicate `x op constant` of input `input` of n values of kind u32.
Program test_of(std::size_t inputs, std::size_t input, Scalar op, std::uint32_t constant);

/// One schedule.
RunOptions setting(std::uint64_t seed, bool link_form);
/// Runs a graph under `rounds` schedules of each form with FIFOs of 1..4 tokens, demands that it
/// finishes and that its trace has the right barriers, and hands the trace to `check`.
void run_everywhere(const Graph& graph, const std::vector<HostArray>& arrays, unsigned rounds,
                    const std::function<void(const Trace&)>& check);

using Build = std::function<Bundle(Graph&, Bundle)>;
/// Sends a tensor of `lanes` values through what `build` makes, under several schedules; what comes
/// out, of depth `out_depth`, must be `expected` up to the order in innermost lists.
void expect_through(const Build& build, const Tensor& in, unsigned depth, std::size_t lanes,
                    const Tensor& expected, unsigned out_depth, unsigned rounds = 4);

/// Tokens as notation() writes them; numbers may be negative.
std::vector<Token> tokens(const std::string& text);
struct Input {
  Kind element;
  unsigned depth;
  std::string text;
};
/// Sends streams through what `build` makes, under several schedules; what comes out must be
/// `expected`, in the expanded spelling.
void expect_streams(const Build& build, const std::vector<Input>& in,
                    const std::vector<std::string>& expected);

/// while (cond) body: `cond` gives the predicate of a bundle, `body` the next values.
using Cond = std::function<StreamId(Graph&, Bundle)>;
Bundle while_loop(Graph& g, Bundle in, const Cond& cond, const Build& body,
                  const std::string& name = "while", std::uint32_t back_capacity = 0);
/// The loop's condition for a bundle of u32: value `input` is not 0.
Cond not_zero(std::size_t lanes, std::size_t input = 0);
/// A context on the whole bundle.
Build compute(Program p, const std::string& name = "compute");
/// `i = fork(n)`: gives the bundle, then i; n is value `count` of the bundle.
Bundle fork(Graph& g, Bundle in, std::size_t count);
/// A constant for every element of `like`.
StreamId constant(Graph& g, StreamId like, std::uint32_t value, Kind kind = Kind::u32);

}  // namespace revet::sim::test
