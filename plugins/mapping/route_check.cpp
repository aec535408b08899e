// Rules, each recomputed from the machine and the placement alone:
//   1. Every unit is on the grid, on a slot of its kind, and no two are on one slot.
//   2. Every net has a route with one hop count for each sink.
//   3. Links of a tree run between neighbouring switches of the lattice, none twice.
//   4. A tree is connected: from its roots, which are all corners of the driver, each link can be
//      reached; no switch is entered twice, and no root at all. A dynamic net has one of the
//      corners for its root, the router where its first link starts.
//   5. Every sink has a corner that the tree reaches or that is a root.
//   6. No branch ends away from a sink.
//   7. Hop counts are the links of the shortest way along the tree, + 1.
//   8. On no link do static nets of a kind use more tracks than there are.
//   9. Ways of dynamic nets never turn from a column into a row.
//  10. A dynamic net has one virtual channel of the machine's, a static net none.
//  11. Dynamic nets that share a link, or are sent by the same unit, have different channels.
//  12. On an ideal network hop counts are 1 and routes have no links and channels.
//  13. The statistics are those of the routes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "mapping/place.hpp"

namespace revet::mapping {
namespace {

using Switch = std::pair<int, int>;

class Checker {
 public:
  Checker(const Netlist& netlist, const Machine& machine, const Placement& placement)
      : netlist_(netlist),
        machine_(machine),
        p_(placement),
        rows_(static_cast<int>(machine.grid.rows)),
        columns_(static_cast<int>(machine.grid.columns)),
        sides_(static_cast<int>(machine.grid.address_columns)) {}

  std::vector<std::string> run(bool statistics) {
    check_units();
    if (p_.routes.size() != netlist_.nets.size())
      fault("2: {} routes for {} nets", p_.routes.size(), netlist_.nets.size());
    // Routes between units that are nowhere mean nothing.
    if (!faults_.empty()) return std::move(faults_);
    for (std::size_t i = 0; i < p_.routes.size(); ++i) check_route(i);
    check_tracks();
    check_channels();
    if (statistics) check_statistics();
    return std::move(faults_);
  }

 private:
  template <typename... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    faults_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const std::string& name(std::size_t net) const { return netlist_.nets[net].name; }

  void check_units() {
    if (p_.units.size() != netlist_.units.size())
      return fault("1: {} places for {} units", p_.units.size(), netlist_.units.size());
    std::map<std::pair<int, int>, std::size_t> taken;
    for (std::size_t u = 0; u < p_.units.size(); ++u) {
      const auto [row, column] = p_.units[u];
      const std::string& unit = netlist_.units[u].name;
      if (row < 0 || row >= rows_ || column < -sides_ || column >= columns_ + sides_) {
        fault("1: '{}' is at ({}, {}), off the grid", unit, row, column);
        continue;
      }
      const bool inside = column >= 0 && column < columns_;
      const UnitKind slot = !inside                     ? UnitKind::address
                            : ((row + column) & 1) == 0 ? UnitKind::compute
                                                        : UnitKind::memory;
      if (slot != netlist_.units[u].kind)
        fault("1: '{}' is at ({}, {}), which is one of the {}", unit, row, column, plural_of(slot));
      if (const auto [at, fresh] = taken.emplace(std::pair(row, column), u); !fresh)
        fault("1: '{}' and '{}' are both at ({}, {})", netlist_.units[at->second].name, unit, row,
              column);
    }
  }

  std::array<Switch, 4> corners_of(std::uint32_t unit) const {
    const auto [r, c] = p_.units[unit];
    return {Switch{r, c}, {r, c + 1}, {r + 1, c}, {r + 1, c + 1}};
  }

  static Switch end_of(const SwitchLink& l) {
    switch (l.direction) {
      case Direction::north: return {l.row - 1, l.column};
      case Direction::east: return {l.row, l.column + 1};
      case Direction::south: return {l.row + 1, l.column};
      case Direction::west: return {l.row, l.column - 1};
    }
    return {l.row, l.column};
  }

  bool exists(const Switch& s) const {
    return s.first >= 0 && s.first <= rows_ && s.second >= -sides_ && s.second <= columns_ + sides_;
  }

  static bool vertical(const SwitchLink& l) {
    return l.direction == Direction::north || l.direction == Direction::south;
  }

  void check_route(std::size_t i) {
    const Net& net = netlist_.nets[i];
    const Route& route = p_.routes[i];
    if (route.hops.size() != net.sinks.size())
      return fault("2: '{}' has {} hop counts for {} sinks", net.name, route.hops.size(),
                   net.sinks.size());
    if (machine_.network.ideal) {
      if (!route.tree.empty() || !route.channels.empty() || route.dynamic ||
          std::any_of(route.hops.begin(), route.hops.end(), [](unsigned h) { return h != 1; }))
        fault("12: '{}' has a route on an ideal network", net.name);
      return;
    }
    if (check_tree(net, route)) check_ends(net, route);
    if (route.dynamic) check_dimension_order(net, route);
  }

  bool check_tree(const Net& net, const Route& route) {
    const std::size_t before = faults_.size();
    std::set<std::tuple<int, int, Direction>> links;
    std::set<Switch> entered;
    const std::array<Switch, 4> corners = corners_of(net.driver);
    std::vector<Switch> roots(corners.begin(), corners.end());
    if (route.dynamic && !route.tree.empty()) {
      roots = {{route.tree[0].row, route.tree[0].column}};
      if (std::find(corners.begin(), corners.end(), roots[0]) == corners.end())
        fault("4: '{}' starts from switch ({}, {}), which its driver does not touch", net.name,
              roots[0].first, roots[0].second);
    }
    for (const SwitchLink& l : route.tree) {
      const Switch end = end_of(l);
      if (!exists({l.row, l.column}) || !exists(end))
        fault("3: '{}' uses a link from switch ({}, {}) that is not there", net.name, l.row,
              l.column);
      if (!links.emplace(l.row, l.column, l.direction).second)
        fault("3: '{}' uses a link from switch ({}, {}) twice", net.name, l.row, l.column);
      else if (!entered.insert(end).second ||
               std::find(roots.begin(), roots.end(), end) != roots.end())
        fault("4: '{}' enters switch ({}, {}) more than once", net.name, end.first, end.second);
    }
    if (faults_.size() != before) return false;
    // Steps from what is reached until nothing is added.
    depth_.clear();
    for (const Switch& s : roots) depth_[s] = 0;
    for (bool more = true; std::exchange(more, false);)
      for (const SwitchLink& l : route.tree)
        if (const auto from = depth_.find({l.row, l.column});
            from != depth_.end() && depth_.count(end_of(l)) == 0)
          depth_[end_of(l)] = from->second + 1, more = true;
    for (const SwitchLink& l : route.tree)
      if (depth_.count({l.row, l.column}) == 0)
        fault("4: '{}' uses a link from switch ({}, {}), which it does not reach", net.name, l.row,
              l.column);
    return faults_.size() == before;
  }

  void check_ends(const Net& net, const Route& route) {
    std::set<Switch> useful;
    for (std::size_t k = 0; k < net.sinks.size(); ++k) {
      int least = -1;
      for (const Switch& s : corners_of(net.sinks[k])) {
        useful.insert(s);
        if (const auto d = depth_.find(s); d != depth_.end() && (least < 0 || d->second < least))
          least = d->second;
      }
      if (least < 0)
        fault("5: '{}' does not reach '{}'", net.name, netlist_.units[net.sinks[k]].name);
      else if (static_cast<unsigned>(least) + 1 != route.hops[k])
        fault("7: '{}' has {} hops to '{}', not {}", net.name, least + 1,
              netlist_.units[net.sinks[k]].name, route.hops[k]);
    }
    for (const SwitchLink& l : route.tree) useful.insert({l.row, l.column});
    for (const SwitchLink& l : route.tree)
      if (useful.count(end_of(l)) == 0)
        fault("6: '{}' ends at switch ({}, {}), where no sink is", net.name, end_of(l).first,
              end_of(l).second);
  }

  void check_dimension_order(const Net& net, const Route& route) {
    std::set<Switch> by_column;
    for (const SwitchLink& l : route.tree)
      if (vertical(l)) by_column.insert(end_of(l));
    for (const SwitchLink& l : route.tree)
      if (!vertical(l) && by_column.count({l.row, l.column}) != 0)
        fault("9: '{}' turns from a column into a row at switch ({}, {})", net.name, l.row,
              l.column);
  }

  void check_tracks() {
    const unsigned tracks[] = {machine_.network.vector_tracks, machine_.network.scalar_tracks,
                               machine_.network.control_tracks};
    std::map<std::tuple<LinkKind, int, int, Direction>, unsigned> usage;
    for (std::size_t i = 0; i < p_.routes.size(); ++i)
      if (!p_.routes[i].dynamic)
        for (const SwitchLink& l : p_.routes[i].tree)
          ++usage[{netlist_.nets[i].kind, l.row, l.column, l.direction}];
    static constexpr const char* directions[] = {"north", "east", "south", "west"};
    for (const auto& [place, used] : usage) {
      const auto& [kind, row, column, direction] = place;
      if (const unsigned there = tracks[static_cast<std::size_t>(kind)]; used > there)
        fault("8: {} {} tracks are used from switch ({}, {}) to the {}, {} are there", used,
              name_of(kind), row, column, directions[static_cast<std::size_t>(direction)], there);
    }
  }

  void check_channels() {
    using Sharer = std::pair<std::uint8_t, std::size_t>;  // channel, net
    std::map<std::tuple<int, int, Direction>, std::vector<Sharer>> on_link;
    std::map<std::uint32_t, std::vector<Sharer>> from_unit;
    for (std::size_t i = 0; i < p_.routes.size(); ++i) {
      const Route& route = p_.routes[i];
      if (route.channels.size() != (route.dynamic ? 1 : 0) ||
          (route.dynamic && route.channels[0] >= machine_.network.virtual_channels)) {
        fault("10: '{}' does not have the virtual channels of its kind of route", name(i));
        continue;
      }
      if (!route.dynamic) continue;
      from_unit[netlist_.nets[i].driver].emplace_back(route.channels[0], i);
      for (const SwitchLink& l : route.tree)
        on_link[{l.row, l.column, l.direction}].emplace_back(route.channels[0], i);
    }
    std::set<std::pair<std::size_t, std::size_t>> clashes;
    const auto compare = [&](std::vector<Sharer> sharers) {
      std::sort(sharers.begin(), sharers.end());
      for (std::size_t k = 1; k < sharers.size(); ++k)
        if (sharers[k].first == sharers[k - 1].first)
          clashes.emplace(sharers[k - 1].second, sharers[k].second);
    };
    for (const auto& [place, sharers] : on_link) compare(sharers);
    for (const auto& [unit, sharers] : from_unit) compare(sharers);
    for (const auto& [a, b] : clashes)
      fault("11: '{}' and '{}' share a link and virtual channel {}", name(a), name(b),
            p_.routes[a].channels[0]);
  }

  /// Links that no tree of the net can do without: for each line between switches one, if a sink
  /// has all its corners beyond it and the driver none.
  std::uint64_t least_links(const Net& net) const {
    std::set<std::tuple<bool, int, bool>> lines;
    const auto cross = [&](bool row, int from, int to) {
      for (int x = from + 1; x < to; ++x) lines.emplace(row, x, true);
      for (int x = to + 1; x < from; ++x) lines.emplace(row, x, false);
    };
    for (const std::uint32_t s : net.sinks) {
      cross(true, p_.units[net.driver].row, p_.units[s].row);
      cross(false, p_.units[net.driver].column, p_.units[s].column);
    }
    return lines.size();
  }

  void check_statistics() {
    const Statistics& told = p_.statistics;
    double hops = 0, sinks = 0;
    unsigned longest = 0;
    std::size_t dynamic = 0;
    std::uint64_t length = 0, least = 0;
    std::array<double, link_kinds> used{};
    for (std::size_t i = 0; i < p_.routes.size(); ++i) {
      const Route& route = p_.routes[i];
      for (const unsigned h : route.hops) {
        hops += h;
        ++sinks;
        longest = std::max(longest, h);
      }
      length += route.tree.size();
      if (!machine_.network.ideal) least += least_links(netlist_.nets[i]);
      if (route.dynamic)
        ++dynamic;
      else
        used[static_cast<std::size_t>(netlist_.nets[i].kind)] += double(route.tree.size());
    }
    const auto wide = columns_ + 2 * sides_;
    const double links = 2.0 * (rows_ * (wide + 1) + (rows_ + 1) * wide);
    const unsigned tracks[] = {machine_.network.vector_tracks, machine_.network.scalar_tracks,
                               machine_.network.control_tracks};
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-9 * (1 + std::abs(a)); };
    bool same = longest == told.max_hops && dynamic == told.dynamic_nets &&
                length == told.wire_length && least == told.half_perimeter &&
                near(sinks > 0 ? hops / sinks : 0, told.mean_hops);
    for (std::size_t k = 0; k < link_kinds; ++k)
      same = same && near(tracks[k] > 0 && links > 0 ? used[k] / (tracks[k] * links) : 0,
                          told.track_share[k]);
    if (!same) fault("13: the statistics are not those of the routes");
  }

  const Netlist& netlist_;
  const Machine& machine_;
  const Placement& p_;
  const int rows_, columns_, sides_;
  std::map<Switch, int> depth_;  ///< of the tree that is checked
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> check_routes(const Netlist& netlist, const Machine& machine,
                                      const Placement& placement, bool statistics) {
  return Checker(netlist, machine, placement).run(statistics);
}

}  // namespace revet::mapping
