// Graph::validate. Its checks:
//  1. The depth of a stream is 1..15.
//  2. A stream has a writer.
//  3. A stream has one writer.
//  4. A stream has a reader, unless it is marked unused.
//  5. A node has the inputs and outputs of its kind.
//  6. Every input is connected.
//  7. The depths of a node's streams differ as its kind says.
//  8. The elements of a node's streams have the kinds that the node takes.
//  9. Parameters of a node are in range and name what exists.
// 10. The back edge of a loop comes from the loop's own header.
#include <fmt/format.h>

#include <algorithm>

#include "ports.hpp"
#include "revet/sim/loops.hpp"

namespace revet::sim {
namespace {

class Validator {
 public:
  Validator(const Graph& graph, Diagnostics& diagnostics)
      : graph_(graph), diagnostics_(diagnostics) {}

  void check_stream(const Stream& stream) {
    const auto fail = [&](std::string problem) {
      diagnostics_.error(stream.loc, fmt::format("stream '{}' {}", stream.name, problem));
    };
    if (stream.depth < 1 || stream.depth > max_depth)
      fail(fmt::format("has depth {}, which is not 1..{} [1]", stream.depth, max_depth));
    if (stream.writer.node == no_node) fail("has no writer [2]");
    if (stream.readers.empty() && !stream.unused) fail("has no reader and is not unused [4]");
  }

  void check_second_writer(const Stream& stream, const Node& second) {
    diagnostics_
        .error(second.loc, fmt::format("{} writes stream '{}', which has a writer [3]",
                                       describe(second), stream.name))
        .note(stream.loc, "written by " + describe(graph_.node(stream.writer.node)));
  }

  void check_node(const Node& node) {
    check_parameters(node);
    const Ports ports = ports_of(graph_, node);
    if (node.in.size() != ports.in.size() || node.out.size() != ports.out.size()) {
      fail(node, fmt::format("has {} inputs and {} outputs, not {} and {} [5]", node.in.size(),
                             node.out.size(), ports.in.size(), ports.out.size()));
      return;
    }
    bool complete = true;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      if (node.in[i] != no_stream) continue;
      fail(node, fmt::format("input '{}' is not connected [6]", ports.in[i].name));
      complete = false;
    }
    if (!complete) return;
    const unsigned base = base_depth(node, ports);
    for (std::size_t i = 0; i < node.in.size(); ++i)
      check_port(node, "input", ports.in[i], node.in[i], base);
    for (std::size_t i = 0; i < node.out.size(); ++i)
      check_port(node, "output", ports.out[i], node.out[i], base);
  }

  void check_loops() {
    for (const Loop& loop : loops_of(graph_))
      for (std::size_t i = 0; i < loop.back_from_header.size(); ++i)
        if (!loop.back_from_header[i])
          fail(graph_.node(loop.header),
               fmt::format("back edge {} does not come from the loop's own header [10]", i));
  }

 private:
  void fail(const Node& node, const std::string& problem) {
    diagnostics_.error(node.loc, fmt::format("{}: {}", describe(node), problem));
  }

  /// The depth of the node's shallowest port, by its first one.
  unsigned base_depth(const Node& node, const Ports& ports) const {
    const bool by_input = !node.in.empty();
    const unsigned depth = graph_.stream(by_input ? node.in[0] : node.out[0]).depth;
    const unsigned above = (by_input ? ports.in[0] : ports.out[0]).depth;
    return depth > above ? depth - above : 0;
  }

  void check_port(const Node& node, const char* side, const PortSpec& port, StreamId id,
                  unsigned base) {
    const Stream& stream = graph_.stream(id);
    if (stream.depth != base + port.depth)
      fail(node, fmt::format("{} '{}' takes depth {}, stream '{}' has depth {} [7]", side,
                             port.name, base + port.depth, stream.name, stream.depth));
    if (!accepts(node, port.accepts, stream.element))
      fail(node,
           fmt::format("{} '{}' takes {}, stream '{}' carries {} [8]", side, port.name,
                       accepted(node, port.accepts), stream.name, Type{stream.element}.str()));
  }

  bool accepts(const Node& node, const Accepts& what, Kind kind) const {
    switch (what.rule) {
      case Accepts::any: return true;
      case Accepts::exactly: return kind == what.kind;
      case Accepts::input: return kind == graph_.stream(node.in[what.same_as]).element;
      case Accepts::integer: return Type{kind}.is_integer();
      case Accepts::pointer: return kind == Kind::ptr || kind == Kind::i32 || kind == Kind::u32;
    }
    return false;
  }

  std::string accepted(const Node& node, const Accepts& what) const {
    switch (what.rule) {
      case Accepts::exactly: return Type{what.kind}.str();
      case Accepts::input: return Type{graph_.stream(node.in[what.same_as]).element}.str();
      case Accepts::integer: return "an integer";
      case Accepts::pointer: return "a pointer";
      case Accepts::any: break;
    }
    return "anything";
  }

  void check_parameters(const Node& node) {
    const auto require = [&](bool holds, const char* problem) {
      if (!holds) fail(node, fmt::format("{} [9]", problem));
    };
    const auto in = [&](std::initializer_list<NodeKind> kinds) {
      return std::find(kinds.begin(), kinds.end(), node.kind) != kinds.end();
    };
    using enum NodeKind;
    if (node.kind == broadcast) require(node.number >= 1, "the number of levels is 0");
    if (node.kind == deal) require(node.number >= 1, "the number of keys is 0");
    if (node.kind == NodeKind::buffer) require(node.number >= 1, "the depth is 0");
    const bool bulk = in({bulk_load, bulk_store});
    const bool has_array = node.dram < graph_.drams().size();
    const bool has_sram = node.sram < graph_.srams().size();
    if (in({dram_load, dram_store, dram_atomic}) || bulk) require(has_array, "has no array");
    if (in({sram_load, sram_store, sram_atomic, sram_fill}) || bulk)
      require(has_sram, "has no SRAM");
    if (in({alloc, NodeKind::free}))
      require(node.pool < graph_.pools().size(), "has no pool of pointers");
    if (bulk && has_array && has_sram)
      require(graph_.drams()[node.dram].element == graph_.srams()[node.sram].element ||
                  (node.kind == bulk_load && graph_.srams()[node.sram].element == Kind::u32 &&
                   Type{graph_.drams()[node.dram].element}.bytes() < 4),
              "array and SRAM have different elements");
    if (in({dram_atomic, sram_atomic}) && (node.kind == dram_atomic ? has_array : has_sram)) {
      const Kind element = node.kind == dram_atomic ? graph_.drams()[node.dram].element
                                                    : graph_.srams()[node.sram].element;
      require(element == Kind::i32 || element == Kind::u32, "an atomic needs i32 or u32 elements");
    }
  }

  const Graph& graph_;
  Diagnostics& diagnostics_;
};

}  // namespace

void Graph::validate(Diagnostics& diagnostics) const {
  Validator validator(*this, diagnostics);
  for (const Stream& s : streams_) validator.check_stream(s);
  for (const auto& [written, second] : second_writers_)
    validator.check_second_writer(streams_[written], nodes_[second.node]);
  for (const Node& node : nodes_) validator.check_node(node);
  if (!diagnostics.has_errors()) validator.check_loops();
}

}  // namespace revet::sim
