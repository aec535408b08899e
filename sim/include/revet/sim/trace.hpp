/// What every stream of a graph carried in a run.
#pragma once

#include <string>
#include <vector>

#include "revet/sim/graph.hpp"

namespace revet::sim {

class Trace {
 public:
  explicit Trace(const Graph& graph)
      : streams_(graph.streams().size()), open_(graph.streams().size()) {}
  /// Keeps tokens of these streams only; checking needs all of them.
  void only(const std::vector<StreamId>& streams);

  /// A token of any legal spelling, in the order in which they enter the stream.
  void record(StreamId stream, Token token);
  /// Expanded tokens.
  const std::vector<Token>& of(StreamId stream) const { return streams_[stream]; }

  enum class Form { expanded, link };
  /// One line per stream, in the paper's notation: `index (depth 2, i32): 0 1 Ω1 2 Ω1 Ω2`.
  std::string text(const Graph& graph, Form form) const;

 private:
  std::vector<std::vector<Token>> streams_;
  std::vector<OpenLists> open_;
  std::vector<bool> kept_;  ///< empty: all
};

/// Checks the trace of a complete run, by the streams alone and not by how nodes are implemented:
/// - a stream is one tensor of its depth: no barrier above it, and the one of the depth once, last;
/// - each node's outputs have the lists that its kind makes of its inputs' lists, and streams of a
///   bundle agree in every element.
/// Gives one message per fault.
std::vector<std::string> check_barriers(const Graph& graph, const Trace& trace);

}  // namespace revet::sim
