#include "figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace revet::host {
namespace {

using json = nlohmann::ordered_json;

struct Row {
  const char* pattern;  ///< names joined by dots; `*` is any one name
  const char* unit;
  const char* description;
};

constexpr Row rows[] = {
    {"threads", "threads", "dataflow threads that ran"},
    {"host_threads", "threads", "threads of the host that ran them"},
    {"bytes", "bytes", "that count for gbps"},
    {"seconds", "s", "median of the repetitions"},
    {"gbps", "GB/s", "bytes per second"},
    {"reps", "runs", "repetitions that were timed"},
    {"cycles", "cycles", "until nothing was under way"},
    {"cycles_to_last_result", "cycles", "until main ended"},
    {"clock_ghz", "GHz", "of the machine"},
    {"firings", "firings", "actions of nodes"},
    {"dram.bytes", "bytes", "moved to and from DRAM"},
    {"dram.bytes_read", "bytes", "read from DRAM"},
    {"dram.bytes_written", "bytes", "written to DRAM"},
    {"dram.application_bytes", "bytes", "that count for gbps"},
    {"dram.utilisation", "share", "bytes moved, of what DRAM can move at its peak"},
    {"dram.application_utilisation", "share", "bytes of the application, of the same"},
    {"dram.peak_gbps", "GB/s", "peak of DRAM"},
    {"dram.row_hits", "share", "accesses that found their row open"},
    {"dram.bursts_issued", "bursts", "given to DRAM"},
    {"dram.bursts_completed", "bursts", "that came back"},
    {"dram.reads_shared", "bursts", "reads of a burst that was on its way"},
    {"dram.activates", "commands", "rows opened"},
    {"dram.refreshes", "commands", "refreshes"},
    {"dram.pending_share", "share", "clocks of a channel with a request"},
    {"dram.activation_bound_share", "share",
     "clocks of a channel in which only opening rows was left"},
    {"lanes.tile", "lanes", "of counters outside of loops"},
    {"lanes.inner", "lanes", "of the headers of innermost loops"},
    {"links.vector", "links", "of vectors, between units"},
    {"links.scalar", "links", "of scalars, between units"},
    {"links.control", "links", "of void tokens, between units"},
    {"links.vectors", "vectors", "sent on links of vectors"},
    {"links.lanes_per_vector", "lanes", "elements of a vector, on average"},
    {"links.scalar_elements", "elements", "sent on links of scalars"},
    {"links.control_tokens", "tokens", "sent on links of void tokens"},
    {"resources.critical_share", "share", "used of the scarcest kind of unit"},
    {"resources.folded.*", "nodes", "addresses and void reductions in units of that kind"},
    {"resources.of.*", "units", "of that kind on the machine"},
    {"resources.uses.*.*", "units", "of that kind for that use"},
    {"resources.*", "units", "of that kind in use"},
    {"memories.*.buffers", "buffers", "that it has"},
    {"memories.*.bytes", "bytes", "of a buffer"},
    {"memories.*.units", "units", "that hold its buffers"},
    {"regions.*.copy", "number", "copy of the replicate region"},
    {"regions.*.threads", "threads", "dealt to the copy"},
    {"regions.*.share", "share", "of the region's threads"},
    {"regions.*.cu", "units", "compute units of the copy"},
    {"regions.*.mu", "units", "memory units of the copy"},
    {"regions.*.ag", "units", "address generators of the copy"},
    {"regions.*.busy", "share", "cycles in which its compute units acted"},
    {"regions.*.rate", "share", "cycles in which it may act"},
    {"stalls.*.busy", "share", "cycles in which units of the kind acted"},
    {"stalls.*.starved", "share", "cycles in which they waited for an input or an answer"},
    {"stalls.*.blocked", "share", "cycles in which they waited for room, a port or a pointer"},
    {"stalls.*.idle", "share", "cycles in which nothing was there"},
    {"stalls.*.bank_conflicts", "share", "cycles lost to bank conflicts"},
    {"units.*.busy", "cycles", "in which it acted"},
    {"units.*.starved", "cycles", "in which it waited for an input or an answer"},
    {"units.*.blocked", "cycles", "in which it waited for room, a port or a pointer"},
    {"units.*.idle", "cycles", "in which nothing was there"},
    {"units.*.conflict_cycles", "cycles", "lost to bank conflicts"},
    {"units.*.copy", "number", "copy of the replicate region that it is in"},
};

using Path = std::vector<std::string>;

bool matches(std::string_view pattern, const Path& path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::size_t dot = pattern.find('.');
    const std::string_view word = pattern.substr(0, dot);
    const bool last = i + 1 == path.size();
    if ((word != "*" && word != path[i]) || last != (dot == std::string_view::npos)) return false;
    if (!last) pattern.remove_prefix(dot + 1);
  }
  return true;
}

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

void add_rows(const json& value, Path& path, std::string& out) {
  const auto inside = [&](const std::string& name, const json& part) {
    path.push_back(name);
    add_rows(part, path, out);
    path.pop_back();
  };
  if (value.is_object()) {
    for (const auto& [name, part] : value.items()) inside(name, part);
  } else if (value.is_array()) {
    // Lists of things that have paths of their own; no others.
    for (const json& part : value)
      if (part.is_object() && part.contains("path")) inside(part["path"].get<std::string>(), part);
  } else if (value.is_number() || value.is_null()) {
    const char* unit = "";
    const char* description = "";
    for (const Row& row : rows)
      if (matches(row.pattern, path)) {
        unit = row.unit;
        description = row.description;
        break;
      }
    std::string name;
    for (const std::string& word : path) name += (name.empty() ? "" : ".") + word;
    out += fmt::format("{},{},{},{}\n", field(name), unit, field(description),
                       value.is_null() ? "" : value.dump());
  }
}

std::string percent(const json& share) {
  return share.is_null() ? "not limited" : fmt::format("{:.1f}%", share.get<double>() * 100);
}

/// "copies: 8 of replicate regions, 9.3% to 13.0% of the threads"; nothing where there is no
/// choice.
std::string shares_of(const json& regions) {
  std::size_t copies = 0;
  double least = 1, most = 0;
  for (const json& region : regions) {
    if (region["share"].is_null()) continue;
    ++copies;
    least = std::min(least, region["share"].get<double>());
    most = std::max(most, region["share"].get<double>());
  }
  return copies == 0 ? ""
                     : fmt::format("copies: {} of replicate regions, {} to {} of the threads\n",
                                   copies, percent(least), percent(most));
}

/// Figures that the backend gave; a plugin may leave any of them out.
std::string simulated(const json& j, double host_seconds) {
  std::string out;
  const double cycles = j["cycles"].get<double>();
  if (j.contains("cycles_to_last_result"))
    out += fmt::format("cycles: {} to the last result, {} to quiescence",
                       j["cycles_to_last_result"].dump(), j["cycles"].dump());
  if (j.contains("clock_ghz")) out += fmt::format(", at {} GHz", j["clock_ghz"].dump());
  if (host_seconds > 0)
    out += fmt::format("; {:.0f} thousand simulated per second of host time",
                       cycles / host_seconds / 1e3);
  out += '\n';
  if (j.contains("dram")) {
    const json& d = j["dram"];
    out += fmt::format("DRAM: {} bytes moved, {} of {:.1f} GB/s; {} bytes of the application, {}\n",
                       d["bytes"].dump(), percent(d["utilisation"]), d["peak_gbps"].get<double>(),
                       d["application_bytes"].is_null() ? "unknown" : d["application_bytes"].dump(),
                       percent(d["application_utilisation"]));
  }
  if (j.contains("resources")) {
    const json& r = j["resources"];
    out += "units:";
    for (const auto& [kind, of] : r["of"].items())
      out += fmt::format(" {} of {} {},", r[kind].dump(), of.dump(), kind);
    out += fmt::format(" most of all {}, {}\n", r["critical"].get<std::string>(),
                       percent(r["critical_share"]));
  }
  if (j.contains("lanes"))
    out += fmt::format("lanes: {} of tiles, {} of inner loops\n", j["lanes"]["tile"].dump(),
                       j["lanes"]["inner"].dump());
  if (j.contains("regions")) out += shares_of(j["regions"]);
  return out;
}

}  // namespace

std::string summary(const json& j, double host_seconds) {
  std::string out =
      fmt::format("{} on {}: {} dataflow threads, {} host thread{}, {} bytes",
                  j["app"].get<std::string>(), j["target"].get<std::string>(),
                  j["threads"].get<std::uint64_t>(), j["host_threads"].get<unsigned>(),
                  j["host_threads"] == 1 ? "" : "s", j["bytes"].get<std::uint64_t>());
  const bool is_simulated = j.contains("cycles") && j["cycles"].is_number();
  if (!j["seconds"].is_null()) {
    const double seconds = j["seconds"].get<double>();
    out += is_simulated && seconds < 1e-3 ? fmt::format(", {:.3f} us", seconds * 1e6)
                                          : fmt::format(", {:.6f} s", seconds);
    if (j["reps"] != 1) out += fmt::format(" (median of {})", j["reps"].get<unsigned>());
  }
  if (!j["gbps"].is_null()) out += fmt::format(", {:.3f} GB/s", j["gbps"].get<double>());
  out += '\n';
  return is_simulated ? out + simulated(j, host_seconds) : out;
}

std::string csv(const json& figures) {
  std::string out = "path,unit,description,value\n";
  Path path;
  for (const auto& [name, value] : figures.items()) {
    // The form's version, and what made the figures, are no figures.
    if (name == "schema" || name == "made_by" || name == "model" || name == "machine" ||
        name == "checked")
      continue;
    path.push_back(name);
    add_rows(value, path, out);
    path.pop_back();
  }
  return out;
}

}  // namespace revet::host
