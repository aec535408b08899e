#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "mapping/netlist.hpp"
#include "revet/ops.hpp"

namespace revet::vrda {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* states[] = {"busy", "starved", "blocked", "idle"};

json share(double part, double whole) { return whole == 0 ? json(nullptr) : json(part / whole); }

constexpr const char* kinds[] = {"cu", "mu", "ag"};

/// Contexts of addresses and reductions of voids that memory units and address generators do
/// besides (section VI-A).
json folded(const Loaded& loaded, const sim::Mapping& mapping) {
  unsigned count[3] = {};
  for (std::size_t n = 0; n < loaded.nodes.size(); ++n) {
    const Op& op = *loaded.nodes[n];
    if (mapping.units_of[n].empty() || mapping::is_constant(op)) continue;
    if (op.is(ops::flow_context) || op.is(ops::flow_reduce))
      ++count[static_cast<int>(mapping.units[mapping.units_of[n][0]].kind)];
  }
  return {{"mu", count[1]}, {"ag", count[2]}};
}

/// Units in total and by use, and which kind is the scarcest (the paper's Table IV).
json resources(const Loaded& loaded, const sim::Mapping& mapping, const Machine& machine) {
  json out;
  unsigned available[3];
  for (int k = 0; k < 3; ++k) available[k] = machine.units(static_cast<UnitKind>(k));
  unsigned used[3] = {};
  std::map<std::string, std::array<unsigned, 3>> uses;
  for (const auto& u : mapping.units) {
    ++used[static_cast<int>(u.kind)];
    ++uses[u.role][static_cast<std::size_t>(u.kind)];
  }
  for (int k = 0; k < 3; ++k) out[kinds[k]] = used[k];
  for (int k = 0; k < 3; ++k) out["of"][kinds[k]] = available[k];
  for (const auto& [role, n] : uses) out["uses"][role] = {{"cu", n[0]}, {"mu", n[1]}, {"ag", n[2]}};
  int critical = 0;
  const auto load = [&](int k) { return used[k] / static_cast<double>(available[k]); };
  for (int k = 1; k < 3; ++k)
    if (load(k) > load(critical)) critical = k;
  out["critical"] = kinds[critical];
  out["critical_share"] = load(critical);
  out["folded"] = folded(loaded, mapping);
  return out;
}

/// What each memory that is accessed holds, and in how many units: `pragma(threads=N)` may ask for
/// more buffers than one unit has room for.
json memories(const Loaded& loaded, const sim::Mapping& mapping) {
  json out = json::array();
  for (std::size_t i = 0; i < loaded.srams.size(); ++i) {
    const sim::SramDecl& sram = loaded.graph.srams()[i];
    if (sram.pointers == 0 || mapping.memories[i].empty()) continue;
    out.push_back({{"path", unit_path(mapping, mapping.memories[i][0])},
                   {"buffers", sram.pointers},
                   {"bytes", std::uint64_t{sram.size} * Type{sram.element}.bytes()},
                   {"units", mapping.memories[i].size()}});
  }
  return out;
}

/// True if no other loop is in the loop of a header.
bool is_innermost(const Op& header, const mapping::Domains& domains) {
  const unsigned depth = domains.loops(*header.result(0));
  std::set<const Op*> seen{&header};
  std::vector<const Op*> work{&header};
  while (!work.empty()) {
    const Op* const op = work.back();
    work.pop_back();
    for (const auto& r : op->results()) {
      if (!mapping::is_stream(*r) || domains.loops(*r) < depth) continue;
      for (const Use& use : r->uses())
        if (seen.insert(use.op).second) {
          if (use.op->is(ops::flow_fb_merge)) return false;
          work.push_back(use.op);
        }
    }
  }
  return true;
}

/// Streams of vectors: every counter outside of loops walks a tile, every header of a loop that has
/// no other loop in it is an inner stream.
json lanes(const Loaded& loaded, const Machine& machine) {
  const mapping::Domains domains(*loaded.flow);
  unsigned tiles = 0, inner = 0;
  for (const Op* op : loaded.nodes) {
    if (op->is(ops::flow_counter) && domains.loops(*op->result()) == 0) ++tiles;
    if (op->is(ops::flow_fb_merge) && is_innermost(*op, domains)) ++inner;
  }
  return {{"tile", tiles * machine.compute.lanes}, {"inner", inner * machine.compute.lanes}};
}

/// A copy of a replicate region.
struct Region {
  std::string path;  ///< the region and the copy, behind those of regions around it
  std::string region;
  int copy = 0;
  std::uint64_t threads = 0;  ///< that were dealt to it
  std::set<std::uint32_t> units;
};

/// The copies of replicate regions, by the text of their nodes' `copy`, which orders them as they
/// come in the graph.
std::vector<Region> regions_of(const Loaded& loaded, const sim::Mapping& mapping,
                               const sim::TimedResult& r) {
  std::vector<Region> out;
  std::map<std::string, std::size_t> number;
  const auto region_of = [&](const Op& op) -> Region* {
    const Attr* marks = op.attr("copy");
    if (!marks || marks->as_array()->empty()) return nullptr;
    const auto [at, is_new] = number.emplace(marks->str(), out.size());
    if (is_new) {
      Region& region = out.emplace_back();
      for (const Attr& mark : *marks->as_array()) {
        const Attr::Array& pair = *mark.as_array();
        if (!region.path.empty()) region.path += '/';
        region.region = region.path + std::to_string(*pair[0].as_int());
        region.copy = static_cast<int>(*pair[1].as_int());
        region.path = fmt::format("{}.{}", region.region, region.copy);
      }
    }
    return &out[at->second];
  };
  const auto distributes = [](const Op& op) { return op.str_attr("role") == "distribution"; };
  std::size_t at = 0;
  for (std::size_t n = 0; n < loaded.nodes.size(); ++n) {
    const Op& op = *loaded.nodes[n];
    if (!distributes(op))
      if (Region* region = region_of(op))
        for (const std::uint32_t u : mapping.units_of[n])
          if (mapping.units[u].copy >= 0) region->units.insert(u);
    // Threads are counted behind the filters, on any of the streams that go in.
    for (const sim::StreamId s : loaded.graph.nodes()[n].in) {
      const std::size_t input = at++;
      const Op& writer = *loaded.nodes[loaded.graph.stream(s).writer.node];
      if (!distributes(writer) || !writer.is(ops::flow_filter)) continue;
      const Op* reader = &op;
      while (reader->is(ops::flow_buffer) && !reader->result()->uses().empty())
        reader = reader->result()->uses().front().op;
      if (Region* region = distributes(*reader) ? nullptr : region_of(*reader))
        region->threads = std::max(region->threads, r.links[input].lanes_received);
    }
  }
  return out;
}

/// Who did what share of the work (the paper's Figure 14).
json regions(const Loaded& loaded, const sim::Mapping& mapping, const Machine& machine,
             const sim::TimedResult& r) {
  const std::vector<Region> all = regions_of(loaded, mapping, r);
  std::map<std::string, std::uint64_t> dealt;
  for (const Region& region : all) dealt[region.region] += region.threads;
  json out = json::array();
  for (const Region& region : all) {
    unsigned used[3] = {};
    sim::Cycle busy = 0;
    for (const std::uint32_t u : region.units) {
      ++used[static_cast<int>(mapping.units[u].kind)];
      if (mapping.units[u].kind == UnitKind::compute)
        busy += r.units[u].cycles[sim::UnitCycles::busy];
    }
    const std::uint64_t threads = dealt.at(region.region);
    out.push_back(
        {{"path", region.path},
         {"copy", region.copy},
         // One copy gets its threads from nobody who would count them.
         {"threads", threads == 0 ? json(nullptr) : json(region.threads)},
         {"share", share(static_cast<double>(region.threads), static_cast<double>(threads))},
         {"cu", used[0]},
         {"mu", used[1]},
         {"ag", used[2]},
         {"busy", share(static_cast<double>(busy),
                        static_cast<double>(used[0]) * static_cast<double>(r.cycles))},
         {"rate", region.copy == machine.throttled_region ? machine.throttle_rate : 1.0}});
  }
  return out;
}

json dram(const sim::TimedResult& r, const Machine& machine, std::uint64_t bytes) {
  const double seconds = static_cast<double>(r.cycles) / (machine.clock_ghz * 1e9);
  const double possible = machine.peak_gbps() * 1e9 * seconds;
  const std::uint64_t moved = r.dram.bytes_read + r.dram.bytes_written;
  const double clocks = static_cast<double>(r.dram.clocks);
  const bool ideal = machine.dram.ideal;
  json out = {{"bytes", moved},
              {"bytes_read", r.dram.bytes_read},
              {"bytes_written", r.dram.bytes_written},
              {"application_bytes", bytes == 0 ? json(nullptr) : json(bytes)},
              {"utilisation", ideal ? json(nullptr) : share(static_cast<double>(moved), possible)},
              {"application_utilisation",
               bytes == 0 || ideal ? json(nullptr) : share(static_cast<double>(bytes), possible)},
              {"peak_gbps", machine.peak_gbps()},
              {"row_hits",
               share(static_cast<double>(r.dram.row_hits), static_cast<double>(r.dram.accesses))},
              {"bursts_issued", r.dram.bursts_issued},
              {"bursts_completed", r.dram.bursts_completed},
              {"reads_shared", r.dram.reads_shared},
              {"activates", r.dram.activates},
              {"refreshes", r.dram.refreshes}};
  out["pending_share"] = share(static_cast<double>(r.dram.pending_clocks), clocks);
  out["activation_bound_share"] = share(static_cast<double>(r.dram.activation_clocks), clocks);
  if (ideal)
    for (const char* key : {"row_hits", "activates", "refreshes"}) out[key] = nullptr;
  return out;
}

json stalls(const sim::Mapping& mapping, const sim::TimedResult& r) {
  json out;
  for (int kind = 0; kind < 3; ++kind) {
    sim::Cycle sums[4] = {}, total = 0, conflicts = 0;
    for (std::size_t u = 0; u < mapping.units.size(); ++u) {
      if (static_cast<int>(mapping.units[u].kind) != kind) continue;
      for (int s = 0; s < 4; ++s) sums[s] += r.units[u].cycles[s];
      total += r.cycles;
      conflicts += r.conflict_cycles[u];
    }
    json row;
    for (int s = 0; s < 4; ++s)
      row[states[s]] = share(static_cast<double>(sums[s]), static_cast<double>(total));
    if (kind == 1)
      row["bank_conflicts"] = share(static_cast<double>(conflicts), static_cast<double>(total));
    out[kinds[kind]] = row;
  }
  return out;
}

/// The links that were waited for longest, by their readers and by their writers.
json waits(const Loaded& loaded, const sim::TimedResult& r) {
  struct Row {
    sim::Cycle cycles;
    const sim::Node* reader;
    sim::StreamId stream;
    bool room;
  };
  const sim::Graph& graph = loaded.graph;
  std::vector<Row> rows;
  std::size_t at = 0;
  for (const sim::Node& node : graph.nodes())
    for (const sim::StreamId s : node.in) {
      if (r.input_waits[at] != 0) rows.push_back({r.input_waits[at], &node, s, false});
      if (r.output_waits[at] != 0) rows.push_back({r.output_waits[at], &node, s, true});
      ++at;
    }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.cycles > b.cycles; });
  constexpr std::size_t most = 40;
  if (rows.size() > most) rows.resize(most);
  json out = json::array();
  for (const Row& row : rows) {
    const sim::Stream& stream = graph.stream(row.stream);
    out.push_back({{"link", fmt::format("'{}' from {} to {}", stream.name,
                                        sim::describe(graph.node(stream.writer.node)),
                                        sim::describe(*row.reader))},
                   {"for", row.room ? "room" : "a token"},
                   {"cycles", row.cycles}});
  }
  return out;
}

json units(const sim::Mapping& mapping, const sim::TimedResult& r) {
  json out = json::array();
  for (std::size_t i = 0; i < mapping.units.size(); ++i) {
    const auto& u = mapping.units[i];
    json row = {{"path", unit_path(mapping, i)}, {"role", u.role}};
    if (u.row >= 0) row["place"] = {u.row, u.column};
    if (u.copy >= 0) row["copy"] = u.copy;
    for (int s = 0; s < 4; ++s) row[states[s]] = r.units[i].cycles[s];
    if (u.kind == sim::UnitKind::memory) row["conflict_cycles"] = r.conflict_cycles[i];
    out.push_back(std::move(row));
  }
  return out;
}

json links(const sim::Mapping& mapping, const Loaded& loaded, const sim::TimedResult& r) {
  std::uint64_t vectors = 0, elements = 0, scalar = 0, control = 0;
  std::size_t count[3] = {};
  std::size_t i = 0;
  for (const sim::Node& node : loaded.graph.nodes())
    for (const sim::StreamId s : node.in) {
      const std::size_t at = i++;
      if (mapping.inputs[at].latency == 0) continue;
      const sim::LinkKind kind = sim::link_kind(loaded.graph.stream(s));
      ++count[static_cast<int>(kind)];
      if (kind == sim::LinkKind::vector) {
        vectors += r.links[at].vectors;
        elements += r.links[at].lanes;
      } else {
        (kind == sim::LinkKind::scalar ? scalar : control) += r.links[at].lanes;
      }
    }
  return {{"vector", count[0]},
          {"scalar", count[1]},
          {"control", count[2]},
          {"vectors", vectors},
          {"lanes_per_vector", share(static_cast<double>(elements), static_cast<double>(vectors))},
          {"scalar_elements", scalar},
          {"control_tokens", control}};
}

}  // namespace

std::string unit_path(const sim::Mapping& mapping, std::size_t unit) {
  const sim::Mapping::UnitInfo& u = mapping.units[unit];
  return fmt::format("{}{}.{}", unit_kind_name(u.kind), unit, u.name);
}

std::map<std::string, std::string> report(const Loaded& loaded, const sim::Mapping& mapping,
                                          const Machine& machine, const sim::TimedResult& result,
                                          std::uint64_t bytes) {
  std::map<std::string, std::string> out;
  const auto put = [&](const char* name, const json& value) { out[name] = value.dump(); };
  put("cycles", result.cycles);
  put("cycles_to_last_result", result.last_result);
  put("clock_ghz", machine.clock_ghz);
  put("firings", result.firings);
  put("dram", dram(result, machine, bytes));
  put("resources", resources(loaded, mapping, machine));
  put("memories", memories(loaded, mapping));
  put("regions", regions(loaded, mapping, machine, result));
  put("lanes", lanes(loaded, machine));
  put("links", links(mapping, loaded, result));
  put("stalls", stalls(mapping, result));
  put("waits", waits(loaded, result));
  put("units", units(mapping, result));
  put("machine", {{"name", machine.name}, {"hash", machine.hash}, {"keys", machine.text}});
  put("model", {{"version", 1},
                {"fidelity",
                 {{"units", "cycle by cycle: one vector per input and output in a cycle"},
                  {"links", "latency and credits of the static route, per link; no contention"},
                  {"memory", "ports and bank conflicts per vector"},
                  {"address generators", "one burst per cycle, answers in order"},
                  {"bulk transfers", "64 bytes per cycle, whatever the width of elements"},
                  {"dram", "every command of every channel"}}}});
  return out;
}

}  // namespace revet::vrda
