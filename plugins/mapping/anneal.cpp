// Units start where a greedy construction puts them: the deepest nested first, then always the unit
// most tied to those already placed, at the free slot nearest to them. Annealing then moves a unit
// to another slot of its kind, changing places with what is there. Most moves aim at the
// neighbourhood of a unit that shares a net, the rest at a window that shrinks as fewer moves are
// accepted (Betz and Rose's schedule, VPR).
//
// The cost of a net is its weighted half-perimeter, raised by the congestion of the area it spans.
// Congestion is the demand for tracks against those there are, each net's length spread evenly over
// its box. It is computed anew before each temperature and averaged with the former estimate, for
// nets would otherwise flee back and forth between two areas; within a temperature sums of prefixes
// give the mean over any box in constant time.
#include "mapping/anneal.hpp"

#include <cmath>
#include <numeric>

namespace revet::mapping {
namespace {

/// splitmix64. The distributions of the standard library differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// Of [0, n).
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint32_t>(high - low + 1)));
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

constexpr double moves_per_unit = 10;  ///< x units^(1/3): moves at each temperature
constexpr double first_heat = 0.7;     ///< x the deviation of what a move changes the cost by
constexpr double cooling = 0.95;
constexpr unsigned most_temperatures = 200;
constexpr double comfortable = 0.2;  ///< share of the tracks that nets of an area take undisturbed
constexpr double crowd_price = 20;   ///< of a link through an area that is used once over

class Annealer {
 public:
  Annealer(const Netlist& netlist, const Machine& machine, const Lattice& lattice,
           std::uint64_t seed, double spread)
      : netlist_(netlist), g_(lattice), random_(seed), spread_(spread) {
    const unsigned tracks[] = {machine.network.vector_tracks, machine.network.scalar_tracks,
                               machine.network.control_tracks};
    for (std::size_t k = 0; k < link_kinds; ++k) {
      // Without tracks of its own a kind uses the dynamic network.
      const unsigned n = tracks[k] != 0 ? tracks[k] : machine.network.virtual_channels;
      capacity_[k] = 4.0 * std::max(n, 1U);
      congestion_[k].assign(cells(), 0);
      sums_[k].assign(static_cast<std::size_t>((g_.rows + 1) * (g_.width + 1)), 0);
    }
    find_pins();
    weigh();
  }

  std::vector<int> run() {
    construct();
    if (netlist_.units.size() > 1 && !mobile_.empty()) improve();
    return slot_of_;
  }

 private:
  struct Pinned {
    std::uint32_t first, last;  ///< in pins_; the driver is the first
    std::size_t kind;
    double weight;
  };

  std::size_t cells() const { return static_cast<std::size_t>(g_.slots()); }

  void find_pins() {
    std::vector<std::uint32_t> seen(netlist_.units.size(), 0);
    std::uint32_t stamp = 0;
    for (const Net& net : netlist_.nets) {
      ++stamp;
      const auto first = static_cast<std::uint32_t>(pins_.size());
      seen[net.driver] = stamp;
      pins_.push_back(net.driver);
      for (const std::uint32_t s : net.sinks)
        if (std::exchange(seen[s], stamp) != stamp) pins_.push_back(s);
      if (pins_.size() - first < 2) {
        pins_.resize(first);
        continue;
      }
      nets_.push_back({first, static_cast<std::uint32_t>(pins_.size()),
                       static_cast<std::size_t>(net.kind), net.activation});
    }
    nets_of_.resize(netlist_.units.size());
    for (std::uint32_t n = 0; n < nets_.size(); ++n)
      for (std::uint32_t p = nets_[n].first; p < nets_[n].last; ++p)
        nets_of_[pins_[p]].push_back(n);
    for (std::uint32_t u = 0; u < nets_of_.size(); ++u)
      if (!nets_of_[u].empty()) mobile_.push_back(u);
    cost_.resize(nets_.size());
    trial_.resize(nets_.size());
    touched_.assign(nets_.size(), 0);
  }

  /// Every net counts for something, as it takes tracks; a busy one for up to four more, and one
  /// between the most deeply nested units for twice as much.
  void weigh() {
    double sum = 0;
    for (const Pinned& n : nets_) sum += n.weight;
    const double mean = nets_.empty() || sum <= 0 ? 1 : sum / static_cast<double>(nets_.size());
    unsigned deepest = 1;
    for (const NetUnit& u : netlist_.units) deepest = std::max(deepest, u.nesting);
    for (Pinned& n : nets_) {
      unsigned nesting = 0;
      for (std::uint32_t p = n.first; p < n.last; ++p)
        nesting = std::max(nesting, netlist_.units[pins_[p]].nesting);
      // A half-perimeter is less than the tree of many pins needs.
      const double steiner = 1 + 0.03 * std::max(0, static_cast<int>(n.last - n.first) - 3);
      n.weight = (1 + std::min(4.0, n.weight / mean)) * (1 + double(nesting) / deepest) * steiner;
    }
  }

  // --- construction

  int distance(int a, int b) const {
    return std::abs(g_.row_of(a) - g_.row_of(b)) + std::abs(g_.column_of(a) - g_.column_of(b));
  }

  void construct() {
    const std::size_t n = netlist_.units.size();
    slot_of_.assign(n, -1);
    unit_at_.assign(cells(), -1);
    std::vector<double> tie(n, 0);
    const int middle = (g_.rows / 2) * g_.width + g_.width / 2;
    for (std::size_t placed = 0; placed < n; ++placed) {
      std::uint32_t best = 0;
      bool any = false;
      const auto before = [&](std::uint32_t a, std::uint32_t b) {
        if (netlist_.units[a].nesting != netlist_.units[b].nesting && tie[a] == 0 && tie[b] == 0)
          return netlist_.units[a].nesting > netlist_.units[b].nesting;
        return tie[a] > tie[b];
      };
      for (std::uint32_t u = 0; u < n; ++u)
        if (slot_of_[u] < 0 && (!any || before(u, best))) best = u, any = true;
      set(best, nearest_slot(best, middle));
      for (const std::uint32_t net : nets_of_[best])
        for (std::uint32_t p = nets_[net].first; p < nets_[net].last; ++p)
          tie[pins_[p]] += nets_[net].weight / (nets_[net].last - nets_[net].first - 1);
    }
  }

  int nearest_slot(std::uint32_t unit, int middle) const {
    std::vector<std::pair<int, double>> to;  // slots of placed units it shares nets with
    for (const std::uint32_t net : nets_of_[unit]) {
      const double share = nets_[net].weight / (nets_[net].last - nets_[net].first - 1);
      for (std::uint32_t p = nets_[net].first; p < nets_[net].last; ++p)
        if (pins_[p] != unit && slot_of_[pins_[p]] >= 0) to.emplace_back(slot_of_[pins_[p]], share);
    }
    int best = -1;
    double least = 0;
    for (int s = 0; s < g_.slots(); ++s) {
      if (unit_at_[static_cast<std::size_t>(s)] >= 0 || !fits(unit, s)) continue;
      double cost = 0.001 * distance(s, middle);
      for (const auto& [other, share] : to) cost += share * distance(s, other);
      if (best < 0 || cost < least) best = s, least = cost;
    }
    return best;
  }

  bool fits(std::uint32_t unit, int slot) const {
    return g_.kind_at(g_.row_of(slot), g_.column_of(slot)) == netlist_.units[unit].kind;
  }

  void set(std::uint32_t unit, int slot) {
    slot_of_[unit] = slot;
    unit_at_[static_cast<std::size_t>(slot)] = static_cast<int>(unit);
  }

  // --- costs

  Box box_of(const Pinned& n, int row, int column) const {
    Box box{row, row, column, column};
    for (std::uint32_t p = n.first + 1; p < n.last; ++p) {
      const int s = slot_of_[pins_[p]];
      box.add(row_of_[static_cast<std::size_t>(s)], column_of_[static_cast<std::size_t>(s)]);
    }
    return box;
  }

  double cost(const Pinned& n) const {
    const auto s = static_cast<std::size_t>(slot_of_[pins_[n.first]]);
    const Box box = box_of(n, row_of_[s], column_of_[s]);
    const int links = box.links(row_of_[s], column_of_[s]);
    if (links == 0) return 0;
    const std::vector<double>& sums = sums_[n.kind];
    const auto at = [&](int row, int column) {
      return sums[static_cast<std::size_t>(row * (g_.width + 1) + column)];
    };
    const double crowd = (at(box.bottom + 1, box.right + 1) - at(box.top, box.right + 1) -
                          at(box.bottom + 1, box.left) + at(box.top, box.left)) /
                         box.cells();
    return links * (n.weight + crowd);
  }

  /// `memory`: the share of the former estimate that stays.
  void estimate_congestion(double memory) {
    std::array<std::vector<double>, link_kinds> demand;
    for (std::vector<double>& d : demand) d.assign(cells(), 0);
    for (const Pinned& n : nets_) {
      const int s = slot_of_[pins_[n.first]];
      const Box box = box_of(n, g_.row_of(s), g_.column_of(s));
      const int links = box.links(g_.row_of(s), g_.column_of(s));
      if (links == 0) continue;
      const double share = static_cast<double>(links) / box.cells();
      for (int r = box.top; r <= box.bottom; ++r)
        for (int c = box.left; c <= box.right; ++c)
          demand[n.kind][static_cast<std::size_t>(r * g_.width + c)] += share;
    }
    for (std::size_t k = 0; k < link_kinds; ++k) {
      for (std::size_t i = 0; i < cells(); ++i)
        congestion_[k][i] = memory * congestion_[k][i] + (1 - memory) * demand[k][i] / capacity_[k];
      for (int r = 0; r < g_.rows; ++r) {
        double along = 0;
        for (int c = 0; c < g_.width; ++c) {
          const double over =
              congestion_[k][static_cast<std::size_t>(r * g_.width + c)] - comfortable;
          if (over > 0) along += spread_ * crowd_price * over;
          sums_[k][static_cast<std::size_t>((r + 1) * (g_.width + 1) + c + 1)] =
              sums_[k][static_cast<std::size_t>(r * (g_.width + 1) + c + 1)] + along;
        }
      }
    }
  }

  double total() {
    double sum = 0;
    for (std::size_t n = 0; n < nets_.size(); ++n) sum += cost_[n] = cost(nets_[n]);
    return sum;
  }

  // --- moves

  /// A slot of the unit's kind in the box around (row, column), or -1.
  int slot_near(UnitKind kind, int row, int column, int range) {
    const int r = random_.between(std::max(0, row - range), std::min(g_.rows - 1, row + range));
    if (kind == UnitKind::address) {
      // Both sides are in reach of each other, or a unit could never change sides.
      const int c = random_.between(0, 2 * g_.fringe - 1);
      return r * g_.width + (c < g_.fringe ? c : g_.width - 2 * g_.fringe + c);
    }
    const int low = g_.fringe, high = g_.width - g_.fringe - 1;
    const int middle = std::clamp(column, low, high);
    int c = random_.between(std::max(low, middle - range), std::min(high, middle + range));
    if (g_.kind_at(r, c) != kind) c += c < high ? 1 : -1;
    if (c < low || g_.kind_at(r, c) != kind) return -1;
    return r * g_.width + c;
  }

  int pick_slot(std::uint32_t unit, int range) {
    int from = slot_of_[unit];
    if (random_.below(8) != 0) {
      const std::vector<std::uint32_t>& nets = nets_of_[unit];
      const Pinned& n = nets_[nets[random_.below(static_cast<std::uint32_t>(nets.size()))]];
      from = slot_of_[pins_[n.first + random_.below(n.last - n.first)]];
      range = 2;
    }
    return slot_near(netlist_.units[unit].kind, g_.row_of(from), g_.column_of(from), range);
  }

  /// The change of cost by moving `unit` to `slot`, which is made if `accept` says so.
  template <typename Accept>
  bool try_move(std::uint32_t unit, int slot, double& sum, const Accept& accept) {
    const int from = slot_of_[unit];
    const int other = unit_at_[static_cast<std::size_t>(slot)];
    const auto put = [&](int mine, int theirs) {
      slot_of_[unit] = mine;
      if (other >= 0) slot_of_[static_cast<std::size_t>(other)] = theirs;
    };
    put(slot, from);
    ++stamp_;
    changed_.clear();
    double delta = 0;
    const auto count = [&](std::uint32_t u) {
      for (const std::uint32_t n : nets_of_[u]) {
        if (std::exchange(touched_[n], stamp_) == stamp_) continue;
        changed_.push_back(n);
        trial_[n] = cost(nets_[n]);
        delta += trial_[n] - cost_[n];
      }
    };
    count(unit);
    if (other >= 0) count(static_cast<std::uint32_t>(other));
    if (!accept(delta)) {
      put(from, slot);
      return false;
    }
    for (const std::uint32_t n : changed_) cost_[n] = trial_[n];
    unit_at_[static_cast<std::size_t>(slot)] = static_cast<int>(unit);
    unit_at_[static_cast<std::size_t>(from)] = other;
    sum += delta;
    return true;
  }

  void improve() {
    row_of_.resize(cells());
    column_of_.resize(cells());
    for (int s = 0; s < g_.slots(); ++s) {
      row_of_[static_cast<std::size_t>(s)] = g_.row_of(s);
      column_of_[static_cast<std::size_t>(s)] = g_.column_of(s);
    }
    const auto count = static_cast<double>(mobile_.size());
    const auto moves = static_cast<std::size_t>(moves_per_unit * count * std::cbrt(count));
    const double widest = std::max(g_.rows, g_.width);
    estimate_congestion(0);
    double sum = total();
    double temperature = first_temperature(static_cast<int>(widest), sum);
    double range = widest;
    for (unsigned t = 0; t < most_temperatures; ++t) {
      estimate_congestion(t == 0 ? 0 : 0.5);
      sum = total();
      std::size_t accepted = 0;
      for (std::size_t m = 0; m < moves; ++m)
        accepted += move(static_cast<int>(range), sum, [&](double delta) {
          return delta <= 0 || random_.unit() < std::exp(-delta / temperature);
        });
      const double rate = static_cast<double>(accepted) / static_cast<double>(moves);
      range = std::clamp(range * (1 - 0.44 + rate), 1.0, widest);
      temperature *= rate > 0.8 ? 0.8 : rate > 0.15 ? cooling : 0.8;
      if (temperature < 0.002 * sum / static_cast<double>(nets_.size())) break;
    }
    estimate_congestion(0.5);
    sum = total();
    for (std::size_t m = 0; m < moves; ++m) move(2, sum, [](double delta) { return delta < 0; });
  }

  template <typename Accept>
  bool move(int range, double& sum, const Accept& accept) {
    const std::uint32_t unit = mobile_[random_.below(static_cast<std::uint32_t>(mobile_.size()))];
    const int slot = pick_slot(unit, range);
    return slot >= 0 && slot != slot_of_[unit] && try_move(unit, slot, sum, accept);
  }

  /// As high as moves differ, so that the construction's gross mistakes can be undone.
  double first_temperature(int range, double& sum) {
    double squares = 0;
    unsigned tried = 0;
    for (std::size_t m = 0; m < 4 * mobile_.size(); ++m)
      move(range, sum, [&](double delta) {
        squares += delta * delta;
        ++tried;
        return false;
      });
    return tried == 0 ? 1 : first_heat * std::sqrt(squares / tried);
  }

  const Netlist& netlist_;
  const Lattice& g_;
  Random random_;
  const double spread_;
  std::array<double, link_kinds> capacity_{};               ///< of a cell
  std::array<std::vector<double>, link_kinds> congestion_;  ///< demand of cells over capacity
  std::array<std::vector<double>, link_kinds> sums_;        ///< of what congestion costs
  std::vector<Pinned> nets_;                                ///< of two units at least
  std::vector<std::uint32_t> pins_;
  std::vector<std::vector<std::uint32_t>> nets_of_;  ///< by unit
  std::vector<std::uint32_t> mobile_;                ///< units with nets
  std::vector<int> slot_of_, unit_at_;
  std::vector<int> row_of_, column_of_;  ///< by slot: divisions are what a move would cost most
  std::vector<double> cost_, trial_;
  std::vector<std::uint64_t> touched_;
  std::uint64_t stamp_ = 0;
  std::vector<std::uint32_t> changed_;
};

}  // namespace

std::vector<int> anneal(const Netlist& netlist, const Machine& machine, const Lattice& lattice,
                        std::uint64_t seed, double spread) {
  return Annealer(netlist, machine, lattice, seed, spread).run();
}

}  // namespace revet::mapping
