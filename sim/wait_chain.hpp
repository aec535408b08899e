/// Following who waits for whom, shared by the diagnoses of both engines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "revet/sim/graph.hpp"

namespace revet::sim {

/// From the nodes that are blocked, then from those that wait: a cycle of nodes that wait for each
/// other, else the longest chain. `next` gives the node that has to act first; no_node if there is
/// none. Only nodes in trouble begin a chain.
template <typename Blocked, typename InTrouble, typename Next>
std::vector<NodeId> wait_chain(std::size_t nodes, Blocked is_blocked, InTrouble in_trouble,
                               Next next, bool& cycle) {
  std::vector<NodeId> longest;
  std::vector<NodeId> seen_from(nodes, no_node);  // the start whose walk came by
  for (const bool blocked : {true, false})
    for (NodeId start = 0; start < nodes; ++start) {
      if (is_blocked(start) != blocked || !in_trouble(start)) continue;
      std::vector<NodeId> chain;
      for (NodeId n = start; n != no_node; n = next(n)) {
        if (seen_from[n] == start) {
          chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), n));
          cycle = true;
          return chain;
        }
        seen_from[n] = start;
        chain.push_back(n);
      }
      if (chain.size() > longest.size()) longest = std::move(chain);
    }
  cycle = false;
  return longest;
}

}  // namespace revet::sim
