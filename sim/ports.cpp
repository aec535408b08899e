#include "ports.hpp"

#include <fmt/format.h>

namespace revet::sim {
namespace {

constexpr Accepts accept_any{};
constexpr Accepts accept_integer{Accepts::integer};
constexpr Accepts accept_pointer{Accepts::pointer};
Accepts exactly(Kind kind) { return {Accepts::exactly, kind}; }
Accepts same_as(std::size_t input) { return {Accepts::input, Kind::none, input}; }

/// Ports of nodes that are not memory nodes.
class Builder {
 public:
  explicit Builder(const Node& node) : node_(node) {}

  void in(std::string name, unsigned depth, Accepts accepts) {
    made_.in.push_back({std::move(name), depth, accepts});
  }
  void out(std::string name, unsigned depth, Accepts accepts) {
    made_.out.push_back({std::move(name), depth, accepts});
  }
  /// Bundles of as many streams as the node has outputs, but at least one.
  void in_bundle(const char* name, unsigned depth, std::size_t same_from) {
    for (std::size_t i = 0; i < width(); ++i)
      in(fmt::format("{}{}", name, i), depth,
         same_from == made_.in.size() - i ? accept_any : same_as(same_from + i));
  }
  void out_bundle(unsigned depth, std::size_t same_from) {
    for (std::size_t i = 0; i < width(); ++i)
      out(fmt::format("y{}", i), depth, same_as(same_from + i));
  }
  std::size_t width() const { return std::max<std::size_t>(node_.out.size(), 1); }
  Ports take() { return std::move(made_); }

 private:
  const Node& node_;
  Ports made_;
};

Ports stream_node(const Node& node) {
  Builder b(node);
  switch (node.kind) {
    case NodeKind::source: b.out("x", 0, accept_any); break;
    case NodeKind::sink: b.in("x", 0, accept_any); break;
    case NodeKind::context:
      for (std::size_t i = 0; i < node.program.input_count(); ++i)
        b.in(fmt::format("x{}", i), 0, exactly(node.program.kind(node.program.input(i))));
      for (std::size_t i = 0; i < node.program.output_count(); ++i)
        b.out(fmt::format("y{}", i), 0, exactly(node.program.output_kind(i)));
      break;
    case NodeKind::broadcast:
      b.in_bundle("a", 0, 0);
      b.in("b", node.number, accept_any);
      b.out_bundle(node.number, 0);
      break;
    case NodeKind::counter:
      b.in("min", 0, accept_integer);
      b.in("max", 0, same_as(0));
      b.in("step", 0, same_as(0));
      b.out("index", 1, same_as(0));
      break;
    case NodeKind::reduce:
      b.in("x", 1, accept_any);
      b.out("y", 0, same_as(0));
      break;
    case NodeKind::flatten:
    case NodeKind::strip:
      b.in_bundle("x", 1, 0);
      b.out_bundle(0, 0);
      break;
    case NodeKind::filter:
      b.in("pred", 0, exactly(Kind::i1));
      b.in_bundle("x", 0, 1);
      b.out_bundle(0, 1);
      break;
    case NodeKind::merge:
      b.in_bundle("a", 0, 0);
      b.in_bundle("b", 0, 0);
      b.out_bundle(0, 0);
      break;
    case NodeKind::fb_merge:
      b.in_bundle("forward", 0, 0);
      b.in_bundle("back", 1, 0);
      b.out_bundle(1, 0);
      break;
    case NodeKind::deal:
      for (std::size_t i = 0; i < std::max<std::size_t>(node.in.size(), 1); ++i) {
        b.in(fmt::format("x{}", i), 0, accept_any);
        b.out(fmt::format("y{}", i), 0, same_as(i));
      }
      b.out("key", 0, accept_integer);
      break;
    case NodeKind::buffer:
      b.in("x", 0, accept_any);
      b.out("y", 0, same_as(0));
      break;
    default:  // void_join
      for (std::size_t i = 0; i < std::max<std::size_t>(node.in.size(), 1); ++i)
        b.in(fmt::format("x{}", i), 0, accept_any);
      b.out("void", 0, exactly(Kind::none));
  }
  return b.take();
}

/// The element kind of the memory that a node accesses; none where it does not exist.
Kind element_of(const Graph& graph, const Node& node) {
  const bool on_chip = node.kind >= NodeKind::sram_load && node.kind <= NodeKind::sram_atomic;
  if (on_chip)
    return node.sram < graph.srams().size() ? graph.srams()[node.sram].element : Kind::none;
  return node.dram < graph.drams().size() ? graph.drams()[node.dram].element : Kind::none;
}

Ports memory_node(const Graph& graph, const Node& node) {
  Builder b(node);
  const Accepts element = exactly(element_of(graph, node));
  const Accepts no_data = exactly(Kind::none);
  std::size_t operands = 0;
  const auto operand = [&](const char* name, Accepts accepts) {
    b.in(name, 0, accepts);
    ++operands;
  };
  const bool on_chip = node.kind >= NodeKind::sram_load && node.kind <= NodeKind::sram_fill;
  if (on_chip || node.kind == NodeKind::free) operand("pointer", accept_pointer);
  switch (node.kind) {
    case NodeKind::dram_load:
    case NodeKind::sram_load:
      operand("index", accept_integer);
      b.out("result", 0, element);
      break;
    case NodeKind::dram_store:
    case NodeKind::sram_store:
      operand("index", accept_integer);
      operand("value", element);
      break;
    case NodeKind::dram_atomic:
    case NodeKind::sram_atomic:
      operand("index", accept_integer);
      operand("value", element);
      if (node.atomic == Atomic::cas) operand("desired", element);
      b.out("result", 0, element);
      break;
    case NodeKind::bulk_load:
    case NodeKind::bulk_store:
      operand("base", accept_integer);
      if (node.wide_base) operand("high", accept_integer);
      operand("valid", exactly(Kind::i32));
      break;
    case NodeKind::alloc: b.out("pointer", 0, accept_pointer); break;
    default: break;  // sram_fill, free
  }
  b.out("void", 0, no_data);
  // Something must say when: an alloc without a predicate has a void.
  const std::size_t preds = node.predicated ? 1 : 0;
  const std::size_t least = std::max<std::size_t>(operands + preds, 1);
  const std::size_t voids = std::max(node.in.size(), least) - operands - preds;
  for (std::size_t i = 0; i < voids; ++i) b.in(fmt::format("void{}", i), 0, no_data);
  if (node.predicated) b.in("pred", 0, exactly(Kind::i1));
  return b.take();
}

std::string port_name(const std::vector<PortSpec>& ports, const char* side, std::size_t index) {
  if (index < ports.size()) return fmt::format("{} '{}'", side, ports[index].name);
  return fmt::format("{} {}", side, index);
}

}  // namespace

Ports ports_of(const Graph& graph, const Node& node) {
  return is_memory_node(node.kind) ? memory_node(graph, node) : stream_node(node);
}

std::string input_name(const Graph& graph, const Node& node, std::size_t index) {
  return port_name(ports_of(graph, node).in, "input", index);
}

std::string output_name(const Graph& graph, const Node& node, std::size_t index) {
  return port_name(ports_of(graph, node).out, "output", index);
}

}  // namespace revet::sim
