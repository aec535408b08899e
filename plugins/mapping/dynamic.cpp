#include <limits>

#include "mapping/route.hpp"

namespace revet::mapping {

/// Along the row of the root to the column of the nearest corner of each sink, then along it.
Tree DynamicNetwork::ways(int root, const Pins& pins) const {
  Tree tree;
  const auto step = [&](int& at, Direction d) {
    const int l = Lattice::link(at, d);
    if (std::find(tree.begin(), tree.end(), l) == tree.end()) tree.push_back(l);
    at = lattice_.link_to(l);
  };
  for (const int sink : pins.sinks) {
    const int row =
        std::clamp(lattice_.switch_row(root), lattice_.row_of(sink), lattice_.row_of(sink) + 1);
    const int column = std::clamp(lattice_.switch_column(root), lattice_.column_of(sink),
                                  lattice_.column_of(sink) + 1);
    int at = root;
    while (lattice_.switch_column(at) < column) step(at, Direction::east);
    while (lattice_.switch_column(at) > column) step(at, Direction::west);
    while (lattice_.switch_row(at) < row) step(at, Direction::south);
    while (lattice_.switch_row(at) > row) step(at, Direction::north);
  }
  return tree;
}

bool DynamicNetwork::add(std::uint32_t net, const Pins& pins) {
  std::array<Tree, 4> choices;
  const std::array<int, 4> corners = lattice_.corners(pins.driver);
  for (std::size_t i = 0; i < corners.size(); ++i) choices[i] = ways(corners[i], pins);
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Tree& a, const Tree& b) { return a.size() < b.size(); });
  for (Tree& tree : choices) {
    const bool room = std::all_of(tree.begin(), tree.end(), [&](int l) {
      return on_link_[static_cast<std::size_t>(l)].size() < limit_;
    });
    if (!room) continue;
    for (const int l : tree) on_link_[static_cast<std::size_t>(l)].push_back(net);
    members_.push_back({net, pins.driver, std::move(tree), 0});
    if (color(members_.back()) || color_all()) return true;
    remove(net);
  }
  return false;
}

void DynamicNetwork::remove(std::uint32_t net) {
  const auto at =
      std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.net == net; });
  for (const int l : at->tree) std::erase(on_link_[static_cast<std::size_t>(l)], net);
  members_.erase(at);
}

/// A channel that none of those it meets has.
bool DynamicNetwork::color(Member& added) {
  std::vector<bool> taken(limit_, false);
  for (const Member& m : members_) {
    if (m.net == added.net) continue;
    const bool meet =
        m.driver == added.driver || std::any_of(m.tree.begin(), m.tree.end(), [&](int l) {
          return std::find(added.tree.begin(), added.tree.end(), l) != added.tree.end();
        });
    if (meet) taken[m.channel] = true;
  }
  const auto free = std::find(taken.begin(), taken.end(), false);
  if (free == taken.end()) return false;
  added.channel = static_cast<std::uint8_t>(free - taken.begin());
  return true;
}

/// Anew, the net whose neighbours already have the most channels first, of these the one that meets
/// the most nets (Brelaz). No change where that finds no colouring.
bool DynamicNetwork::color_all() {
  const std::size_t n = members_.size();
  std::vector<std::vector<std::size_t>> meets(n);
  for (std::size_t a = 0; a < n; ++a) {
    std::vector<std::uint32_t> nets;
    for (const int l : members_[a].tree)
      for (const std::uint32_t other : on_link_[static_cast<std::size_t>(l)]) nets.push_back(other);
    for (std::size_t b = 0; b < n; ++b)
      if (a != b && (members_[a].driver == members_[b].driver ||
                     std::find(nets.begin(), nets.end(), members_[b].net) != nets.end()))
        meets[a].push_back(b);
  }
  std::vector<int> channel(n, -1);
  std::vector<std::vector<bool>> taken(n, std::vector<bool>(limit_, false));
  std::vector<std::size_t> pressure(n, 0);
  for (std::size_t done = 0; done < n; ++done) {
    std::size_t best = n;
    for (std::size_t a = 0; a < n; ++a)
      if (channel[a] < 0 && (best == n || std::pair(pressure[a], meets[a].size()) >
                                              std::pair(pressure[best], meets[best].size())))
        best = a;
    const auto free = std::find(taken[best].begin(), taken[best].end(), false);
    if (free == taken[best].end()) return false;
    const auto c = static_cast<std::size_t>(free - taken[best].begin());
    channel[best] = static_cast<int>(c);
    for (const std::size_t b : meets[best])
      if (!taken[b][c]) taken[b][c] = true, ++pressure[b];
  }
  for (std::size_t a = 0; a < n; ++a) members_[a].channel = static_cast<std::uint8_t>(channel[a]);
  return true;
}

}  // namespace revet::mapping
