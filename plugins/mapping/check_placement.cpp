// What the attributes of a placed graph say of places and routes. The links that there must be are
// found from the graph; the rules of routes are those of route_check.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "mapping/check_model.hpp"

namespace revet::mapping::check {

using namespace ops;

namespace {

class Placed {
 public:
  Placed(const Model& model, const Machine& machine, std::vector<Fault>& faults)
      : m_(model), machine_(machine), faults_(faults) {}

  void run() {
    for (const CheckedUnit& u : m_.units) {
      netlist_.units.push_back({u.kind, u.name, 0});
      placement_.units.push_back(u.place);
    }
    for (const Op& op : m_.graph.body())
      if (!op.is(flow_sram)) streams(op);
    others();
    if (!faults_.empty()) return;
    for (const std::string& message : check_routes(netlist_, machine_, placement_, false))
      faults_.push_back({"14: " + message, &m_.graph});
  }

 private:
  struct Row {
    std::int64_t number = 0;  ///< of a result, or of the unit that drives
    std::vector<std::uint32_t> sinks;
    Route route;
  };

  void fault(const Op& op, std::string message) {
    faults_.push_back({"14: " + std::move(message), &op});
  }

  static std::int64_t integer(const Attr::Array& cells, std::size_t i) {
    const std::int64_t* n = i < cells.size() ? cells[i].as_int() : nullptr;
    return n ? *n : -1;
  }

  std::vector<Row> rows(const Op& op, const char* name) {
    std::vector<Row> out;
    const Attr* attr = op.attr(name);
    if (!attr || !attr->as_array()) return out;
    for (const Attr& a : *attr->as_array()) {
      const Attr::Array* cells = a.as_array();
      if (!cells || cells->size() != 5 || !(*cells)[1].as_bool() || !(*cells)[3].as_array() ||
          !(*cells)[4].as_array()) {
        fault(op, fmt::format("a row of `{}` is none", name));
        continue;
      }
      Row row;
      row.number = integer(*cells, 0);
      row.route.dynamic = *(*cells)[1].as_bool();
      if (row.route.dynamic)
        row.route.channels.push_back(static_cast<std::uint8_t>(integer(*cells, 2)));
      bool right = true;
      for (const Attr& sink : *(*cells)[3].as_array()) {
        const Attr::Array pair = sink.as_array() ? *sink.as_array() : Attr::Array{};
        const std::int64_t unit = integer(pair, 0);
        right = right && unit >= 0 && unit < static_cast<std::int64_t>(m_.units.size());
        row.sinks.push_back(static_cast<std::uint32_t>(unit));
        row.route.hops.push_back(static_cast<unsigned>(integer(pair, 1)));
      }
      for (const Attr& link : *(*cells)[4].as_array()) {
        const Attr::Array three = link.as_array() ? *link.as_array() : Attr::Array{};
        right = right && three.size() == 3 && integer(three, 2) >= 0 && integer(three, 2) < 4;
        row.route.tree.push_back({static_cast<int>(integer(three, 0)),
                                  static_cast<int>(integer(three, 1)),
                                  static_cast<Direction>(integer(three, 2))});
      }
      if (right)
        out.push_back(std::move(row));
      else
        fault(op, fmt::format("a row of `{}` has units or links that there are not", name));
    }
    return out;
  }

  void add(std::uint32_t driver, LinkKind kind, const std::string& name, Row row) {
    Net net;
    net.driver = driver;
    net.kind = kind;
    net.name = name;
    net.sinks = std::move(row.sinks);
    netlist_.nets.push_back(std::move(net));
    placement_.routes.push_back(std::move(row.route));
  }

  /// Units other than its own that read a stream, and its own where that has it in a merge.
  std::set<int> sinks_of(const Value& v, int driver) const {
    std::set<int> out;
    const auto at = m_.readers.find(&v);
    if (at == m_.readers.end()) return out;
    for (const auto& [i, as] : at->second) {
      const Part& reader = m_.parts[i];
      int unit = reader.unit;
      if (as == Intake::right)
        if (const auto back = m_.back.find({reader.op, reader.index}); back != m_.back.end())
          unit = back->second;
      if (unit != nowhere && (unit != driver || is_merging(*reader.op))) out.insert(unit);
    }
    return out;
  }

  void streams(const Op& op) {
    const std::vector<Row> given = rows(op, "route");
    std::set<int> reached;  // by any result
    for (const Row& row : given) reached.insert(row.sinks.begin(), row.sinks.end());
    std::vector<bool> known(given.size(), false);
    for (const auto& r : op.results()) {
      const Value& v = *r;
      const int driver = m_.writer(v).unit;
      if (driver == nowhere) continue;
      std::set<int> missing = sinks_of(v, driver);
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i].number != v.index()) continue;
        if (known[i]) continue;
        known[i] = true;
        for (const std::uint32_t s : given[i].sinks)
          if (!sinks_of(v, driver).contains(static_cast<int>(s)))
            fault(op, fmt::format("'{}' is routed to '{}', which does not read it", v.name(),
                                  m_.units[s].name));
          else if (missing.erase(static_cast<int>(s)) == 0)
            fault(op, fmt::format("'{}' is routed to '{}' twice", v.name(), m_.units[s].name));
        const LinkKind kind = !carries_data(v)       ? LinkKind::control
                              : v.type().scalar_link ? LinkKind::scalar
                                                     : LinkKind::vector;
        add(static_cast<std::uint32_t>(driver), kind, v.name(), given[i]);
      }
      for (const int s : missing)
        // A void token goes with what else of its node goes there.
        if (carries_data(v) || !reached.contains(s))
          fault(op, fmt::format("'{}' has no route to '{}'", v.name(),
                                m_.units[static_cast<std::size_t>(s)].name));
    }
    if (std::count(known.begin(), known.end(), false) != 0)
      fault(op, fmt::format("{} has a route of a result that it does not give", op.name()));
  }

  /// From the memory units of back edges, and between the ends of transfers.
  void others() {
    std::multiset<std::pair<int, int>> wanted;
    for (const auto& [at, unit] : m_.back)
      wanted.insert({unit, m_.writer(*at.first->result(at.second)).unit});
    for (const Part& p : m_.parts) {
      const bool load = p.op->is(flow_bulk_load);
      if (!load && !p.op->is(flow_bulk_store)) continue;
      const auto memory = static_cast<int>(p.op->int_attr("memory", nowhere));
      wanted.insert(load ? std::pair{p.unit, memory} : std::pair{memory, p.unit});
    }
    for (Row& row : rows(m_.graph, "links")) {
      const auto driver = static_cast<int>(row.number);
      const auto at = row.sinks.size() == 1 ? wanted.find({driver, static_cast<int>(row.sinks[0])})
                                            : wanted.end();
      if (at == wanted.end()) {
        fault(m_.graph, fmt::format("a link from unit {} that nothing needs", driver));
        continue;
      }
      wanted.erase(at);
      const std::string& name = m_.units[static_cast<std::size_t>(driver)].name;
      add(static_cast<std::uint32_t>(driver), LinkKind::vector, name, std::move(row));
    }
    for (const auto& [from, to] : wanted)
      fault(m_.graph,
            fmt::format("'{}' has no link to '{}'", m_.units[static_cast<std::size_t>(from)].name,
                        m_.units[static_cast<std::size_t>(to)].name));
  }

  const Model& m_;
  const Machine& machine_;
  std::vector<Fault>& faults_;
  Netlist netlist_;
  Placement placement_;
};

}  // namespace

void check_placement(const Model& model, const Machine& machine, std::vector<Fault>& faults) {
  const auto placed = [](const CheckedUnit& u) { return u.place.row >= 0; };
  if (std::none_of(model.units.begin(), model.units.end(), placed)) return;
  for (const CheckedUnit& u : model.units)
    if (!placed(u)) faults.push_back({fmt::format("14: '{}' has no place", u.name), &model.graph});
  if (faults.empty()) Placed(model, machine, faults).run();
}

}  // namespace revet::mapping::check
