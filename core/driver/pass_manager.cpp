#include "pass_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reproducer.hpp"
#include "strategy_run.hpp"

namespace revet {
namespace {

void require_ids(const Pipeline& pipeline, const std::vector<std::string>& ids, const char* flag) {
  for (const std::string& id : ids)
    if (id != "all") pipeline.entry(id, fmt::format("{} {}", flag, id));
}

/// A backend takes what the static check could only hope for.
void check_backend(const Pipeline& pipeline, Plugins& plugins,
                   const std::vector<std::string>& established) {
  if (pipeline.backend.empty()) return;
  for (const std::string& need : plugins.backend(pipeline.backend)->requires_)
    if (std::find(established.begin(), established.end(), need) == established.end())
      throw Error(Exit::program, pipeline.backend_loc,
                  fmt::format("backend '{}' requires '{}', which the strategy did not establish",
                              pipeline.backend, need));
}

void report_passes(const PipelineReport& report, const PassRunner& passes,
                   const RunOptions& options, Diagnostics& diagnostics) {
  if (options.fuel)
    diagnostics.note({}, fmt::format("fuel: {} change{} made{}, {} left", passes.changes(),
                                     passes.changes() == 1 ? "" : "s",
                                     passes.last_change().empty()
                                         ? ""
                                         : fmt::format(", the last by '{}'", passes.last_change()),
                                     passes.fuel()));
  for (const PassReport& row : report.passes)
    if (options.verbose && row.visited == 0)
      diagnostics.note({}, fmt::format("pass '{}' visited 0 ops", row.id));
}

}  // namespace

void run_pipeline(Module& module, const Pipeline& pipeline, Plugins& plugins,
                  const RunOptions& options, Diagnostics& diagnostics, PipelineReport& report) {
  require_ids(pipeline, options.dump_after, "--dump-after");
  require_ids(pipeline, options.dump_before, "--dump-before");
  const Stopwatch watch;
  struct Total {
    ~Total() {
      report.total_seconds = watch.seconds();
      report.total_cpu_seconds = watch.cpu_seconds();
    }
    PipelineReport& report;
    const Stopwatch& watch;
  } total{report, watch};

  PassRunner passes(module, pipeline, plugins, options, diagnostics, report);
  StrategyRunner strategy(passes, pipeline, plugins, options, diagnostics, report.trace);
  if (options.verify != VerifyWhen::none) {
    passes.verify_module("the input");
    try {
      passes.verify_properties("the passes that --start-at leaves out");
    } catch (const InternalError& e) {
      throw Error(Exit::program,
                  fmt::format("the input is not what the first pass takes: {}", e.what()));
    }
  }
  Reproducer reproducer;
  if (!options.reproduce.always.empty()) {
    reproducer.input = passes.text();
    reproducer.established = passes.established();
    reproducer.pipeline = print(pipeline, plugins);
  }
  try {
    strategy.run();
  } catch (const Error&) {
    if (passes.failure()) {
      write_reproducer(options.reproduce.always, *passes.failure(), options.reproduce, plugins);
      diagnostics.note({}, replay_hint(options.reproduce.always));
    }
    throw;
  }
  if (options.verify == VerifyWhen::ends) passes.verify_module("the pipeline");
  if (!strategy.stopped()) check_backend(pipeline, plugins, passes.established());
  report_passes(report, passes, options, diagnostics);
  if (!options.reproduce.always.empty())
    write_reproducer(options.reproduce.always, reproducer, options.reproduce, plugins);
}

namespace {

struct TimeRow {
  std::string id;
  unsigned runs;
  double seconds;
  double cpu_seconds;
};

/// Exclusive rows that add up to the total.
std::vector<TimeRow> time_rows(const PipelineReport& report) {
  std::vector<TimeRow> rows;
  TimeRow rest{"(driver)", 1, report.total_seconds, report.total_cpu_seconds};
  const auto add = [&](TimeRow row) {
    rest.seconds -= row.seconds;
    rest.cpu_seconds -= row.cpu_seconds;
    rows.push_back(std::move(row));
  };
  for (const PassReport& r : report.passes) add({r.id, r.runs, r.seconds, r.cpu_seconds});
  add({"(verify)", 1, report.verify_seconds, report.verify_cpu_seconds});
  rest.seconds = std::max(0.0, rest.seconds);
  rest.cpu_seconds = std::max(0.0, rest.cpu_seconds);
  rows.push_back(std::move(rest));
  return rows;
}

}  // namespace

std::string time_table(const PipelineReport& report, bool json) {
  const std::vector<TimeRow> rows = time_rows(report);
  if (json) {
    nlohmann::ordered_json j;
    j["schema"] = 2;
    j["rows"] = nlohmann::ordered_json::array();
    for (const TimeRow& row : rows)
      j["rows"].push_back({{"id", row.id},
                           {"runs", row.runs},
                           {"seconds", row.seconds},
                           {"cpu_seconds", row.cpu_seconds}});
    j["total"] = {{"seconds", report.total_seconds}, {"cpu_seconds", report.total_cpu_seconds}};
    return j.dump() + "\n";
  }
  std::string out = "    seconds        cpu   share  pass\n";
  const auto add = [&](const TimeRow& row) {
    const double share = report.total_seconds > 0 ? 100 * row.seconds / report.total_seconds : 0;
    out += fmt::format("{:11.6f}{:11.6f}  {:5.1f}%  {}{}\n", row.seconds, row.cpu_seconds, share,
                       row.id, row.runs > 1 ? fmt::format(" ({} runs)", row.runs) : "");
  };
  for (const TimeRow& row : rows) add(row);
  add({"(total)", 1, report.total_seconds, report.total_cpu_seconds});
  return out;
}

std::string statistics_table(const PipelineReport& report) {
  std::string out;
  for (const PassReport& row : report.passes) {
    const std::string what = row.runs == 1
                                 ? std::string(row.changed != 0 ? "changed" : "unchanged")
                                 : fmt::format("changed in {} of {} runs", row.changed, row.runs);
    out += fmt::format(
        "{}: {}, ops {} -> {}{}, changes {}\n", row.id, what, row.ops_before, row.ops_after,
        row.visited < 0 ? "" : fmt::format(", visited {}", row.visited), row.changes);
    for (const auto& [name, n] : row.statistics) out += fmt::format("{:>12}  {}\n", n, name);
  }
  return out;
}

}  // namespace revet
