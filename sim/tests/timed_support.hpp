/// Running graphs on the timed engine in tests.
#pragma once

#include <catch2/catch.hpp>

#include "random_graphs.hpp"
#include "support.hpp"

namespace revet::sim::test {

/// Demands that the run finishes, and that the naive engine takes as many cycles.
TimedResult run_timed_graph(const Graph& graph, const Machine& machine, const Mapping& mapping,
                            const std::vector<HostArray>& arrays = {}, Trace* trace = nullptr);
inline TimedResult run_timed_graph(const Graph& graph, const Machine& machine,
                                   const std::vector<HostArray>& arrays = {},
                                   Trace* trace = nullptr) {
  return run_timed_graph(graph, machine, unmapped(graph, machine), arrays, trace);
}

/// A list 0 .. n-1, of depth 1.
inline StreamId numbers(Graph& g, std::uint32_t n, const char* name = "x") {
  std::vector<Token> list;
  for (std::uint32_t i = 0; i < n; ++i) list.push_back(data_token(i));
  list.push_back(barrier(1));
  return g.source(Kind::u32, 1, list, name);
}

/// Where input `input` of a node is among the inputs of the mapping.
std::size_t input_of(const Graph& graph, NodeId node, std::size_t input);
/// The node that writes a stream.
inline NodeId writer_of(const Graph& graph, StreamId s) { return graph.stream(s).writer.node; }

template <typename T>
HostArray host(std::vector<T>& v) {
  return {reinterpret_cast<std::uint8_t*>(v.data()), v.size()};
}

}  // namespace revet::sim::test
