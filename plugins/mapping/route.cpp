// Static nets are routed by negotiation (McMurchie and Ebeling's PathFinder), for each kind of
// track by itself. Each net is a tree that grows from the driver's corners to the nearest sink not
// yet reached (Prim with Dijkstra's search), the nets of highest priority first. A link may be
// over-used for a while, at a price that rises from round to round and with the rounds in which it
// was over-used. What negotiation cannot settle goes to the dynamic network, the nets of lowest
// priority first; then the rest negotiates again. At last dynamic nets that now find free tracks
// come back, and every tree is drawn anew through free tracks only, as the detours of negotiation
// are no longer needed.
//
// It ends: each round of spilling moves a net away for good or fails. One round costs O(nets on
// over-used links x switches x log).
#include "mapping/route.hpp"

#include <fmt/format.h>

#include <limits>
#include <queue>

namespace revet::mapping {
namespace {

constexpr unsigned first_rounds = 60, more_rounds = 12;
constexpr unsigned refinements = 2;
constexpr double first_pressure = 0.5, pressure_growth = 1.2;
constexpr double memory_price = 0.2;  ///< of a track too many in an earlier round
/// What a tree pays for branching further away from its driver, in links per link: less than 1, or
/// broadcasts would take a way of their own to each sink.
constexpr double depth_price = 0.5;
/// What redrawing a tree counts a link of each sink's way for, against a link of the tree.
constexpr double hop_price = 0.2;
constexpr double never = std::numeric_limits<double>::infinity();

class Router {
 public:
  Router(const Netlist& netlist, const Machine& machine, const Lattice& lattice,
         const std::vector<int>& slots)
      : netlist_(netlist),
        machine_(machine),
        g_(lattice),
        dynamic_(lattice, std::min(machine.network.virtual_channels, 256U)),
        to_(size(lattice.links())),
        targets_(size(lattice.switches()), 0),
        depth_(size(lattice.switches()), -1),
        distance_(size(lattice.switches()), never),
        came_by_(size(lattice.switches()), -1) {
    for (int l = 0; l < g_.links(); ++l) to_[size(l)] = g_.link_to(l);
    out_.trees.resize(netlist.nets.size());
    out_.channel.assign(netlist.nets.size(), -1);
    for (const Net& net : netlist.nets) {
      Pins pins{slots[net.driver], {}};
      for (const std::uint32_t s : net.sinks)
        if (std::find(pins.sinks.begin(), pins.sinks.end(), slots[s]) == pins.sinks.end())
          pins.sinks.push_back(slots[s]);
      pins_.push_back(std::move(pins));
    }
  }

  Routed run() {
    const unsigned tracks[] = {machine_.network.vector_tracks, machine_.network.scalar_tracks,
                               machine_.network.control_tracks};
    std::array<Tracks, link_kinds> kinds;
    for (std::size_t k = 0; k < link_kinds; ++k) {
      kinds[k] = take(static_cast<LinkKind>(k), tracks[k]);
      if (!settle(kinds[k])) return std::move(out_);
    }
    for (Tracks& t : kinds) {
      reclaim(t);
      for (unsigned i = 0; i < refinements; ++i) refine(t);
    }
    for (const DynamicNetwork::Member& m : dynamic_.members()) {
      out_.trees[m.net] = m.tree;
      out_.channel[m.net] = m.channel;
    }
    return std::move(out_);
  }

 private:
  /// The tracks of one kind and who uses them.
  struct Tracks {
    LinkKind kind = LinkKind::vector;
    int capacity = 0;
    std::vector<std::uint32_t> nets;  ///< static ones, those of highest priority first
    std::vector<std::uint32_t> spilled;
    std::vector<int> usage;       ///< by link
    std::vector<double> history;  ///< by link: price of having been over-used
    double pressure = 0;          ///< price of a track too many
    bool hard = false;            ///< no track too many at any price
  };

  static std::size_t size(int n) { return static_cast<std::size_t>(n); }

  double priority(std::uint32_t net) const {
    return static_cast<double>(pins_[net].sinks.size()) * netlist_.nets[net].activation;
  }

  Tracks take(LinkKind kind, unsigned capacity) const {
    Tracks t;
    t.kind = kind;
    t.capacity = static_cast<int>(capacity);
    for (std::uint32_t n = 0; n < netlist_.nets.size(); ++n)
      if (netlist_.nets[n].kind == kind) t.nets.push_back(n);
    std::stable_sort(t.nets.begin(), t.nets.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return priority(a) > priority(b); });
    t.usage.assign(size(g_.links()), 0);
    t.history.assign(size(g_.links()), 0);
    return t;
  }

  // --- one tree

  double price(const Tracks& t, int link) const {
    const int over = t.usage[size(link)] + 1 - t.capacity;
    if (over <= 0) return 1 + t.history[size(link)];
    return t.hard ? never : (1 + t.history[size(link)]) * (1 + t.pressure * over);
  }

  void use(Tracks& t, const Tree& tree, int count) const {
    for (const int l : tree) t.usage[size(l)] += count;
  }

  /// False where some sink cannot be reached; the tree is then void.
  bool grow(const Tracks& t, std::uint32_t net, Tree& tree) {
    tree.clear();
    const Pins& pins = pins_[net];
    std::vector<int> reached;  // switches of the tree
    std::vector<int> left = pins.sinks;
    const auto reach = [&](int s, int depth) {
      depth_[size(s)] = depth;
      reached.push_back(s);
    };
    const auto drop_reached = [&] {
      std::erase_if(left, [&](int sink) {
        const std::array<int, 4> corners = g_.corners(sink);
        const bool is = std::any_of(corners.begin(), corners.end(),
                                    [&](int s) { return depth_[size(s)] >= 0; });
        if (is)
          for (const int s : corners) --targets_[size(s)];
        return is;
      });
    };
    for (const int s : g_.corners(pins.driver)) reach(s, 0);
    for (const int sink : left)
      for (const int s : g_.corners(sink)) ++targets_[size(s)];
    drop_reached();
    while (!left.empty()) {
      int at = search(t, reached);
      if (at < 0) break;
      Tree way;
      for (; depth_[size(at)] < 0; at = Lattice::link_from(way.back()))
        way.push_back(came_by_[size(at)]);
      for (auto l = way.rbegin(); l != way.rend(); ++l) {
        reach(to_[size(*l)], depth_[size(Lattice::link_from(*l))] + 1);
        tree.push_back(*l);
      }
      drop_reached();
    }
    const bool complete = left.empty();
    for (const int sink : left)
      for (const int s : g_.corners(sink)) --targets_[size(s)];
    for (const int s : reached) depth_[size(s)] = -1;
    return complete;
  }

  /// The nearest corner of a sink that is left, or -1; the way to it is in came_by_.
  int search(const Tracks& t, const std::vector<int>& from) {
    queue_ = {};
    seen_.clear();
    for (const int s : from) {
      distance_[size(s)] = depth_price * depth_[size(s)];
      seen_.push_back(s);
      queue_.emplace(distance_[size(s)], s);
    }
    int found = -1;
    while (!queue_.empty()) {
      const auto [far, at] = queue_.top();
      queue_.pop();
      if (far > distance_[size(at)]) continue;
      if (targets_[size(at)] > 0) {
        found = at;
        break;
      }
      for (int l = at * 4; l < at * 4 + 4; ++l) {
        const int next = to_[size(l)];
        if (next < 0 || depth_[size(next)] >= 0) continue;
        const double d = far + price(t, l);
        if (d >= distance_[size(next)]) continue;
        if (distance_[size(next)] == never) seen_.push_back(next);
        distance_[size(next)] = d;
        came_by_[size(next)] = l;
        queue_.emplace(d, next);
      }
    }
    for (const int s : seen_) distance_[size(s)] = never;
    return found;
  }

  // --- negotiation

  bool over_used(const Tracks& t, const Tree& tree) const {
    return std::any_of(tree.begin(), tree.end(),
                       [&](int l) { return t.usage[size(l)] > t.capacity; });
  }

  int over_use(const Tracks& t) const {
    int over = 0;
    for (const int u : t.usage) over += std::max(0, u - t.capacity);
    return over;
  }

  /// True where at last no link is over-used.
  bool negotiate(Tracks& t, unsigned rounds, bool first) {
    t.pressure = first_pressure;
    for (unsigned round = 0; round < rounds; ++round) {
      for (const std::uint32_t n : t.nets) {
        Tree& tree = out_.trees[n];
        if (!(first && round == 0) && !over_used(t, tree)) continue;
        use(t, tree, -1);
        grow(t, n, tree);
        use(t, tree, 1);
      }
      bool over = false;
      for (std::size_t l = 0; l < t.usage.size(); ++l)
        if (t.usage[l] > t.capacity)
          over = true, t.history[l] += memory_price * (t.usage[l] - t.capacity);
      if (!over) return true;
      t.pressure = std::min(t.pressure * pressure_growth, 1000.0);
    }
    return false;
  }

  /// Gives every net of the kind a static tree or a place on the dynamic network.
  bool settle(Tracks& t) {
    if (t.capacity == 0) return settle_without_tracks(t);
    bool done = negotiate(t, first_rounds, true);
    while (!done) {
      if (!spill(t, std::max(1, over_use(t) / 6))) {
        out_.failure = describe(t);
        return false;
      }
      done = negotiate(t, more_rounds, false);
    }
    return true;
  }

  bool settle_without_tracks(Tracks& t) {
    t.hard = true;
    const std::vector<std::uint32_t> nets = t.nets;
    for (const std::uint32_t n : nets) {
      if (grow(t, n, out_.trees[n])) continue;
      if (!move_away(t, n)) {
        out_.failure = fmt::format(
            "the machine has no {0} tracks, and none of the {1} virtual channels of the dynamic "
            "network is free along the way of the {0} link '{2}' of '{3}'; {4} links are on that "
            "network",
            name_of(t.kind), machine_.network.virtual_channels, netlist_.nets[n].name,
            netlist_.units[netlist_.nets[n].driver].name, dynamic_.members().size());
        return false;
      }
    }
    return true;
  }

  bool move_away(Tracks& t, std::uint32_t net) {
    if (!dynamic_.add(net, pins_[net])) return false;
    use(t, out_.trees[net], -1);
    out_.trees[net].clear();
    std::erase(t.nets, net);
    t.spilled.push_back(net);
    return true;
  }

  /// Moves up to `most` nets on over-used links to the dynamic network; false where none can go.
  bool spill(Tracks& t, int most) {
    const std::vector<std::uint32_t> nets = t.nets;
    int moved = 0;
    for (auto n = nets.rbegin(); n != nets.rend() && moved < most; ++n)
      if (over_used(t, out_.trees[*n]) && move_away(t, *n)) ++moved;
    return moved != 0;
  }

  std::string describe(const Tracks& t) const {
    const auto worst = std::max_element(t.usage.begin(), t.usage.end());
    const SwitchLink at = g_.name_of_link(static_cast<int>(worst - t.usage.begin()));
    static constexpr const char* directions[] = {"north", "east", "south", "west"};
    std::string text = fmt::format(
        "{} tracks are over-used at {} places, most from switch ({}, {}) to the {}: {} needed, {} "
        "available; no more links find one of the {} virtual channels of the dynamic network free, "
        "which has {} links",
        name_of(t.kind),
        std::count_if(t.usage.begin(), t.usage.end(), [&](int u) { return u > t.capacity; }),
        at.row, at.column, directions[static_cast<std::size_t>(at.direction)], *worst, t.capacity,
        machine_.network.virtual_channels, dynamic_.members().size());
    std::string users;
    for (const std::uint32_t n : t.nets)
      if (const Tree& tree = out_.trees[n];
          std::find(tree.begin(), tree.end(), worst - t.usage.begin()) != tree.end())
        users += fmt::format("{}'{}'", users.empty() ? "" : ", ", netlist_.nets[n].name);
    return text + "; over that place lead " + users;
  }

  // --- afterwards

  void reclaim(Tracks& t) {
    t.hard = true;
    std::fill(t.history.begin(), t.history.end(), 0);
    std::stable_sort(t.spilled.begin(), t.spilled.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return priority(a) > priority(b); });
    for (const std::uint32_t n : t.spilled) {
      Tree tree;
      if (!grow(t, n, tree)) continue;
      use(t, tree, 1);
      out_.trees[n] = std::move(tree);
      dynamic_.remove(n);
      t.nets.push_back(n);
    }
  }

  /// Of its links and, at a lower price, of the ways to all sinks.
  double length(const Tree& tree, std::uint32_t net) {
    const std::array<int, 4> roots = g_.corners(pins_[net].driver);
    for (const int s : roots) depth_[size(s)] = 0;
    for (const int l : tree) depth_[size(to_[size(l)])] = depth_[size(Lattice::link_from(l))] + 1;
    int hops = 0;
    for (const int sink : pins_[net].sinks) {
      int least = std::numeric_limits<int>::max();
      for (const int s : g_.corners(sink))
        if (depth_[size(s)] >= 0) least = std::min(least, depth_[size(s)]);
      hops += least;
    }
    for (const int s : roots) depth_[size(s)] = -1;
    for (const int l : tree) depth_[size(to_[size(l)])] = -1;
    return static_cast<double>(tree.size()) + hop_price * hops;
  }

  void refine(Tracks& t) {
    for (const std::uint32_t n : t.nets) {
      Tree& tree = out_.trees[n];
      if (tree.empty()) continue;
      use(t, tree, -1);
      Tree other;
      if (grow(t, n, other) && length(other, n) < length(tree, n)) tree = std::move(other);
      use(t, tree, 1);
    }
  }

  const Netlist& netlist_;
  const Machine& machine_;
  const Lattice& g_;
  DynamicNetwork dynamic_;
  std::vector<Pins> pins_;
  Routed out_;
  std::vector<int> to_;  ///< by link
  // Of the search, by switch; between searches as the constructor left them.
  std::vector<int> targets_;  ///< sinks that are left at it
  std::vector<int> depth_;    ///< in the tree that grows; -1: not in it
  std::vector<double> distance_;
  std::vector<int> came_by_;  ///< link
  std::vector<int> seen_;
  using Reach = std::pair<double, int>;
  std::priority_queue<Reach, std::vector<Reach>, std::greater<>> queue_;
};

}  // namespace

Routed route(const Netlist& netlist, const Machine& machine, const Lattice& lattice,
             const std::vector<int>& slots) {
  return Router(netlist, machine, lattice, slots).run();
}

}  // namespace revet::mapping
