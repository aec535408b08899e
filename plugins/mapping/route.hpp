/// Routes of placed nets: static ones by negotiation, the rest on the dynamic network.
#pragma once

#include "mapping/lattice.hpp"

namespace revet::mapping {

/// Links of a net's tree, those nearer to the driver first.
using Tree = std::vector<int>;

/// Slots of the pins of a net: of the driver, and of the sinks, each once.
struct Pins {
  int driver = 0;
  std::vector<int> sinks;
};

/// Nets on the dynamic network. Dimension order (along the row first) keeps the ways of one net a
/// tree; it does not help against deadlock, as the program's graph is itself cyclic. So nets that
/// share a link, or the unit that sends them, have different virtual channels.
class DynamicNetwork {
 public:
  DynamicNetwork(const Lattice& lattice, unsigned channels)
      : lattice_(lattice), limit_(channels), on_link_(static_cast<std::size_t>(lattice.links())) {}

  /// False, and no change, where no channel is left for it on some link.
  bool add(std::uint32_t net, const Pins& pins);
  void remove(std::uint32_t net);

  struct Member {
    std::uint32_t net;
    int driver;  ///< slot
    Tree tree;
    std::uint8_t channel;
  };
  const std::vector<Member>& members() const { return members_; }

 private:
  Tree ways(int root, const Pins& pins) const;
  bool color(Member& added);
  bool color_all();

  const Lattice& lattice_;
  const unsigned limit_;
  std::vector<Member> members_;
  std::vector<std::vector<std::uint32_t>> on_link_;  ///< members' nets
};

struct Routed {
  std::vector<Tree> trees;   ///< per net
  std::vector<int> channel;  ///< per net; -1: static
  std::string failure;       ///< what could not be routed; empty where all is
};

Routed route(const Netlist& netlist, const Machine& machine, const Lattice& lattice,
             const std::vector<int>& slots);

}  // namespace revet::mapping
