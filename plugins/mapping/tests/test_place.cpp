// Random netlists on the default grid and on small ones, through the independent checker; the
// checker itself by planted faults, one for each of its rules.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>
#include <random>

#include "mapping/place.hpp"
#include "revet/diagnostics.hpp"

using namespace revet;
using namespace revet::mapping;

namespace {

Machine grid_machine(unsigned rows, unsigned columns, unsigned address_columns) {
  Machine m;
  m.name = "test";
  m.grid.rows = rows;
  m.grid.columns = columns;
  m.grid.address_columns = address_columns;
  m.network.vector_tracks = 3;
  m.network.scalar_tracks = 4;
  m.network.control_tracks = 4;
  m.network.hop_latency = 1;
  m.network.virtual_channels = 4;
  return m;
}

Machine default_machine() { return grid_machine(20, 20, 2); }

/// Units in regions of 14, as those of one copy of a replicate region: most nets stay in one, some
/// lead to the next, some anywhere, and one region reads what few broadcast.
Netlist random_netlist(unsigned cus, unsigned mus, unsigned ags, unsigned nets,
                       std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  Netlist out;
  const auto add = [&](UnitKind kind, unsigned count, const char* name) {
    for (unsigned i = 0; i < count; ++i) out.units.push_back({kind, name + std::to_string(i), 0});
  };
  add(UnitKind::compute, cus, "cu");
  add(UnitKind::memory, mus, "mu");
  add(UnitKind::address, ags, "ag");
  const std::size_t n = out.units.size(), regions = std::max<std::size_t>(1, n / 14);
  std::vector<std::vector<std::uint32_t>> members(regions);
  std::vector<std::uint32_t> region(n);
  for (std::uint32_t u = 0; u < n; ++u) {
    region[u] = u % static_cast<std::uint32_t>(regions);
    members[region[u]].push_back(u);
    out.units[u].nesting = 1 + u % 3;
  }
  for (unsigned i = 0; i < nets; ++i) {
    Net net;
    net.driver = below(n);
    const unsigned pick = below(100);
    net.kind = pick < 45 ? LinkKind::vector : pick < 80 ? LinkKind::scalar : LinkKind::control;
    const unsigned sinks = pick % 10 == 0 ? 2 + below(6) : 1 + below(2);
    for (unsigned s = 0; s < sinks; ++s) {
      const unsigned where = below(100);
      const std::size_t r = where < 85   ? region[net.driver]
                            : where < 97 ? (region[net.driver] + 1) % regions
                                         : below(regions);
      net.sinks.push_back(members[r][below(members[r].size())]);
    }
    net.activation = out.units[net.driver].nesting * (1 + below(100)) / 100.0;
    net.name = "net" + std::to_string(i);
    out.nets.push_back(std::move(net));
  }
  return out;
}

void require_no_faults(const Netlist& netlist, const Machine& machine, const Placement& placement) {
  const std::vector<std::string> faults = check_routes(netlist, machine, placement);
  for (const std::string& f : faults) UNSCOPED_INFO(f);
  REQUIRE(faults.empty());
}

std::string message_of(const Netlist& netlist, const Machine& machine) {
  try {
    place_and_route(netlist, machine, 1);
  } catch (const Error& e) {
    CHECK(e.exit == Exit::unfinished);
    return e.what();
  }
  return "";
}

/// Hops where every link had a way of its own.
double least_mean_hops(const Netlist& netlist, const Placement& p) {
  double sinks = 0, hops = 0;
  for (const Net& net : netlist.nets)
    for (const std::uint32_t s : net.sinks) {
      const Position a = p.units[net.driver], b = p.units[s];
      ++sinks;
      hops += 1 + std::max(0, std::abs(a.row - b.row) - 1) +
              std::max(0, std::abs(a.column - b.column) - 1);
    }
  return hops / sinks;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("random netlists at 30 to 70 percent of the machine") {
  const Machine machine = default_machine();
  for (const unsigned percent : {30U, 50U, 70U}) {
    for (const std::uint64_t seed : {1U, 2U}) {
      const Netlist netlist =
          random_netlist(2 * percent, 170 * percent / 100, 55 * percent / 100, 21 * percent, seed);
      const auto start = std::chrono::steady_clock::now();
      const Placement p = place_and_route(netlist, machine, seed);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      require_no_faults(netlist, machine, p);
      const Statistics& s = p.statistics;
      const double ratio =
          static_cast<double>(s.wire_length) / static_cast<double>(s.half_perimeter);
      const double detour = s.mean_hops / least_mean_hops(netlist, p);
      std::cout << percent << "%: " << netlist.units.size() << " units, " << netlist.nets.size()
                << " nets, " << took.count() << " s; hops " << s.mean_hops << " mean, " << detour
                << " x least, " << s.max_hops << " max; length " << s.wire_length << ", " << ratio
                << " x bound; tracks " << s.track_share[0] << " " << s.track_share[1] << " "
                << s.track_share[2] << "; dynamic " << s.dynamic_nets << "\n";
      CHECK(ratio < 1.12);
      CHECK(detour < 1.1);
      CHECK(s.dynamic_nets * 100 <= netlist.nets.size());
    }
  }
}

TEST_CASE("a full machine is placed") {
  const Machine machine = grid_machine(6, 6, 1);
  const Netlist netlist = random_netlist(18, 18, 12, 100, 3);
  require_no_faults(netlist, machine, place_and_route(netlist, machine, 1));
}

TEST_CASE("small and odd netlists") {
  const Machine machine = default_machine();
  Netlist netlist;
  require_no_faults(netlist, machine, place_and_route(netlist, machine, 1));
  netlist.units = {{UnitKind::compute, "a", 0}, {UnitKind::address, "b", 2}};
  require_no_faults(netlist, machine, place_and_route(netlist, machine, 1));
  netlist.nets = {{0, {0}, LinkKind::vector, 1, "to itself"},
                  {0, {}, LinkKind::vector, 1, "to none"},
                  {1, {0, 0, 1}, LinkKind::scalar, 0, "twice"}};
  const Placement p = place_and_route(netlist, machine, 1);
  require_no_faults(netlist, machine, p);
  CHECK(p.routes[0].hops == std::vector<unsigned>{1});
  CHECK(p.routes[1].hops.empty());
  CHECK(p.routes[2].hops[0] == p.routes[2].hops[1]);
  CHECK(p.routes[2].hops[2] == 1);
}

TEST_CASE("units that share nets are neighbours where there is room") {
  Netlist netlist;
  for (unsigned i = 0; i < 20; ++i) {
    netlist.units.push_back({i % 2 == 0 ? UnitKind::compute : UnitKind::memory, "u", 1});
    if (i != 0) netlist.nets.push_back({i - 1, {i}, LinkKind::vector, 1, "n"});
  }
  const Machine machine = default_machine();
  const Placement p = place_and_route(netlist, machine, 1);
  require_no_faults(netlist, machine, p);
  CHECK(p.statistics.max_hops == 1);
  CHECK(p.statistics.wire_length == 0);
}

TEST_CASE("the same seed gives the same result, another seed another") {
  const Machine machine = default_machine();
  const Netlist netlist = random_netlist(60, 50, 15, 500, 7);
  const Placement a = place_and_route(netlist, machine, 5),
                  b = place_and_route(netlist, machine, 5);
  CHECK(a.units == b.units);
  for (std::size_t i = 0; i < a.routes.size(); ++i) {
    CHECK(a.routes[i].tree == b.routes[i].tree);
    CHECK(a.routes[i].channels == b.routes[i].channels);
  }
  CHECK(place_and_route(netlist, machine, 6).units != a.units);
}

TEST_CASE("an ideal network") {
  Machine machine = default_machine();
  machine.network = {};
  machine.network.ideal = true;
  const Netlist netlist = random_netlist(60, 50, 15, 500, 7);
  Placement p = place_and_route(netlist, machine, 5);
  require_no_faults(netlist, machine, p);
  CHECK(p.statistics.max_hops == 1);
  p.routes[0].hops[0] = 2;
  CHECK(has(check_routes(netlist, machine, p).at(0), "12: 'net0'"));
}

TEST_CASE("too many units") {
  const Machine machine = grid_machine(4, 4, 1);
  CHECK(message_of(random_netlist(9, 1, 1, 5, 1), machine) ==
        "the program does not fit on machine 'test': 9 compute units needed, 8 available");
  CHECK(
      message_of(random_netlist(8, 12, 9, 5, 1), machine) ==
      "the program does not fit on machine 'test': 12 memory units needed, 8 available; 9 address "
      "generators needed, 8 available");
}

TEST_CASE("without tracks links go to the dynamic network") {
  Machine machine = grid_machine(8, 8, 1);
  machine.network.vector_tracks = 0;
  const Netlist netlist = random_netlist(20, 20, 4, 60, 2);
  const Placement p = place_and_route(netlist, machine, 1);
  require_no_faults(netlist, machine, p);
  CHECK(p.statistics.dynamic_nets > 0);
  machine.network.virtual_channels = 0;
  const std::string message = message_of(netlist, machine);
  CHECK(has(message, "the machine has no vector tracks, and none of the 0 virtual channels"));
}

TEST_CASE("what few tracks cannot carry spills") {
  Machine machine = grid_machine(8, 8, 1);
  machine.network.vector_tracks = 1;
  machine.network.scalar_tracks = 1;
  const Netlist netlist = random_netlist(32, 32, 12, 230, 3);
  const Placement p = place_and_route(netlist, machine, 1);
  require_no_faults(netlist, machine, p);
  CHECK(p.statistics.dynamic_nets > 0);
  machine.network.virtual_channels = 0;
  const std::string message = message_of(netlist, machine);
  CHECK(has(message, "the links of the program cannot be routed on machine 'test'"));
  CHECK(has(message, "tracks are over-used at"));
  CHECK(has(message, "needed, 1 available"));
}

namespace {

/// Units along the top row of a small grid, and routes by hand: the first CU broadcasts to the MU
/// two columns on and to the CU three columns on; two dynamic nets share nothing.
struct Planted {
  Machine machine = grid_machine(4, 6, 1);
  Netlist netlist;
  Placement p;

  Planted() {
    netlist.units = {{UnitKind::compute, "a", 0},
                     {UnitKind::memory, "b", 0},
                     {UnitKind::compute, "c", 0},
                     {UnitKind::address, "d", 0}};
    netlist.nets = {{0, {1, 2}, LinkKind::vector, 1, "n"},
                    {0, {2}, LinkKind::vector, 1, "x"},
                    {2, {3}, LinkKind::vector, 1, "y"}};
    p.units = {{0, 0}, {0, 3}, {1, 5}, {3, 6}};
    const auto east = Direction::east, south = Direction::south;
    p.routes.resize(3);
    p.routes[0] = {{3, 5}, false, {}, {{1, 1, east}, {1, 2, east}, {1, 3, east}, {1, 4, east}}};
    p.routes[1] = {{5}, true, {0}, {{1, 1, east}, {1, 2, east}, {1, 3, east}, {1, 4, east}}};
    p.routes[2] = {{2}, true, {0}, {{2, 6, south}}};
    p.statistics.half_perimeter = 9;
    update();
  }

  /// The statistics of the routes as they are now.
  void update() {
    Statistics& s = p.statistics;
    double sinks = 0, sum = 0, used = 0;
    s.max_hops = 0;
    s.dynamic_nets = s.wire_length = 0;
    for (const Route& r : p.routes) {
      for (const unsigned h : r.hops) ++sinks, sum += h, s.max_hops = std::max(s.max_hops, h);
      s.wire_length += r.tree.size();
      s.dynamic_nets += r.dynamic;
      if (!r.dynamic) used += double(r.tree.size());
    }
    s.mean_hops = sum / sinks;
    s.track_share[0] = used / (3 * 2 * (4 * 9 + 5 * 8));
  }

  /// All faults there are begin with `rule`, and there is one.
  void require(const std::string& rule) {
    const std::vector<std::string> faults = check_routes(netlist, machine, p);
    for (const std::string& f : faults) UNSCOPED_INFO(f);
    REQUIRE(!faults.empty());
    for (const std::string& f : faults) CHECK(f.rfind(rule + ": ", 0) == 0);
  }
};

}  // namespace

TEST_CASE("the routes that faults are planted in have none") {
  const Planted t;
  require_no_faults(t.netlist, t.machine, t.p);
}

TEST_CASE("rule 1: places of units") {
  Planted off, wrong, shared, fewer;
  off.p.units[3] = {4, 6};
  off.require("1");
  wrong.p.units[1] = {0, 2};
  wrong.require("1");
  shared.p.units[2] = {0, 0};
  shared.require("1");
  fewer.p.units.pop_back();
  fewer.require("1");
}

TEST_CASE("rule 2: routes and hop counts") {
  Planted no_route, no_count;
  no_route.p.routes.pop_back();
  no_route.require("2");
  no_count.p.routes[0].hops.pop_back();
  no_count.update();
  no_count.require("2");
}

TEST_CASE("rule 3: links that are there, once each") {
  Planted outside, twice;
  outside.p.routes[0].tree.push_back({0, 0, Direction::north});
  outside.update();
  outside.require("3");
  twice.p.routes[0].tree.push_back({1, 2, Direction::east});
  twice.update();
  twice.require("3");
}

TEST_CASE("rule 4: trees") {
  Planted apart, again, back, two_routers, elsewhere;
  apart.p.routes[0].tree[1] = {4, 2, Direction::east};
  apart.update();
  apart.require("4");
  again.p.routes[0].tree.push_back({0, 2, Direction::south});
  again.update();
  again.require("4");
  back.p.routes[0].tree.push_back({2, 1, Direction::north});
  back.update();
  back.require("4");
  two_routers.p.routes[2].tree = {{2, 6, Direction::south}, {1, 5, Direction::west}};
  two_routers.update();
  two_routers.require("4");
  elsewhere.p.routes[2].tree = {{2, 7, Direction::south}};
  elsewhere.update();
  elsewhere.require("4");
}

TEST_CASE("rule 5: every sink is reached") {
  Planted t;
  t.p.routes[0].tree.pop_back();
  t.update();
  // The way now ends at the other sink.
  t.require("5");
}

TEST_CASE("rule 6: no dead ends") {
  Planted t;
  t.p.routes[0].tree.push_back({1, 2, Direction::south});
  t.update();
  t.require("6");
}

TEST_CASE("rule 7: hop counts") {
  Planted t;
  t.p.routes[0].hops[1] = 4;
  t.update();
  t.require("7");
}

TEST_CASE("rule 8: tracks") {
  Planted t;
  t.machine.network.vector_tracks = 1;
  t.p.statistics.track_share[0] *= 3;
  require_no_faults(t.netlist, t.machine, t.p);
  t.p.routes[1].dynamic = false;
  t.p.routes[1].channels.clear();
  t.update();
  t.p.statistics.track_share[0] *= 3;
  t.require("8");
}

TEST_CASE("rule 9: dimension order") {
  Planted t;
  t.p.routes[1].tree = {{1, 1, Direction::south},
                        {2, 1, Direction::east},
                        {2, 2, Direction::east},
                        {2, 3, Direction::east},
                        {2, 4, Direction::east}};
  t.p.routes[1].hops = {6};
  t.update();
  t.require("9");
}

TEST_CASE("rule 10: channels of routes") {
  Planted none, beyond, of_static;
  none.p.routes[1].channels.clear();
  none.require("10");
  beyond.p.routes[1].channels = {4};
  beyond.require("10");
  of_static.p.routes[0].channels = {0};
  of_static.require("10");
}

TEST_CASE("rule 11: channels of nets that meet") {
  Planted link, sender;
  link.p.routes[0].dynamic = true;
  link.p.routes[0].channels = {1};
  link.update();
  require_no_faults(link.netlist, link.machine, link.p);
  link.p.routes[0].channels = {0};
  link.require("11");
  // Sent by one unit, over different links.
  sender.netlist.nets.push_back({2, {3}, LinkKind::scalar, 1, "z"});
  sender.p.routes.push_back({{2}, true, {0}, {{2, 6, Direction::south}}});
  sender.p.routes[3].tree = {
      {1, 6, Direction::east}, {1, 7, Direction::south}, {2, 7, Direction::south}};
  sender.p.routes[3].hops = {4};
  sender.p.statistics.half_perimeter += 1;
  sender.update();
  sender.require("11");
  sender.p.routes[3].channels = {1};
  require_no_faults(sender.netlist, sender.machine, sender.p);
}

TEST_CASE("rule 13: statistics") {
  Planted length, share;
  ++length.p.statistics.wire_length;
  length.require("13");
  share.p.statistics.track_share[1] = 0.1;
  share.require("13");
}
