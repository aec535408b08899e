/// What each port of a node takes: the table of graph.hpp as data, for validation and messages.
#pragma once

#include "revet/sim/graph.hpp"

namespace revet::sim {

/// The kinds of element that a port accepts.
struct Accepts {
  enum Rule : std::uint8_t {
    any,
    exactly,  ///< `kind`
    input,    ///< the kind of input number `same_as`
    integer,
    pointer,  ///< ptr, or i32 or u32 where pointers are computed
  } rule = any;
  Kind kind = Kind::none;
  std::size_t same_as = 0;
};

struct PortSpec {
  std::string name;
  unsigned depth;  ///< above the shallowest port of the node
  Accepts accepts;
};

struct Ports {
  std::vector<PortSpec> in;
  std::vector<PortSpec> out;
};

/// The ports that a node of this kind has. Where their number is free it follows the node's own
/// streams, so a node with a wrong number of them differs from its signature in length.
Ports ports_of(const Graph& graph, const Node& node);

/// "input 'pred'"; falls back to a number for ports that the node should not have.
std::string input_name(const Graph& graph, const Node& node, std::size_t index);
std::string output_name(const Graph& graph, const Node& node, std::size_t index);

}  // namespace revet::sim
