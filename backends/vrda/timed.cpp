#include "revet/sim/timed.hpp"

#include <fmt/format.h>

#include <optional>

#include "chrome_trace.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "timed.hpp"

namespace revet::vrda {
namespace {

RunResult run(const Module& module, Launch& launch, BackendContext& context) {
  if (!context.machine) throw Error(Exit::usage, "the pipeline has no machine to simulate");
  const Machine& machine = *context.machine;
  const std::vector<sim::HostArray> arrays = sim::bind(launch);
  const Loaded loaded = load(module, launch);
  const sim::Graph& graph = loaded.graph;
  const sim::Mapping mapping = mapping_of(loaded, machine);
  sim::TimedOptions options;
  options.max_cycles = static_cast<std::uint64_t>(context.options.integer("max-cycles"));
  options.no_progress = static_cast<std::uint64_t>(context.options.integer("no-progress"));
  const std::string& file = context.options.text("trace");
  ChromeTrace::Filter filter;
  filter.from = static_cast<sim::Cycle>(context.options.integer("trace-from"));
  if (const auto to = context.options.integer("trace-to"); to != 0)
    filter.to = static_cast<sim::Cycle>(to);
  filter.units = context.options.text("trace-units");
  if (filter.from >= filter.to)
    throw Error(Exit::usage, fmt::format("'trace-to' is cycle {}, not after 'trace-from', {}",
                                         filter.to, filter.from));
  std::optional<ChromeTrace> trace;
  if (!file.empty()) trace.emplace(file, filter, mapping, machine).attach(options);
  RunResult out;
  for (unsigned rep = 0; rep < context.reps; ++rep) {
    if (rep != 0) launch.restore();
    const sim::TimedResult result = [&] {
      Progress progress;
      progress.attach(options);
      return sim::run_timed(graph, mapping, machine, arrays, options);
    }();
    // All repetitions take the same cycles; a run that is stuck has a trace too.
    if (trace) {
      trace->finish(result);
      trace.reset();
      options.on_interval = nullptr;
      options.on_sample = nullptr;
    }
    options.heartbeat = nullptr;
    if (result.outcome != sim::TimedOutcome::finished)
      throw Error(Exit::unfinished, result.diagnosis.substr(0, result.diagnosis.size() - 1));
    if (result.pointers_leaked != 0)
      throw InternalError(fmt::format("{} on-chip buffers were not freed", result.pointers_leaked));
    out.threads = result.threads;
    out.seconds.push_back(static_cast<double>(result.cycles) / (machine.clock_ghz * 1e9));
    out.extra = report(loaded, mapping, machine, result, context.bytes);
  }
  return out;
}

}  // namespace

BackendInfo timed_backend() {
  BackendInfo info;
  info.name = "vrda";
  info.summary = "Simulates the mapped graph cycle by cycle";
  info.inputs = {Level::flow};
  info.options = {
      {.name = "max-cycles",
       .type = OptionType::integer,
       .fallback = "0",
       .help = "give up after so many cycles; 0: never",
       .min = 0,
       .flag = true},
      {.name = "no-progress",
       .type = OptionType::integer,
       .fallback = "10000000",
       .help = "give up when no thread ends in so many cycles; 0: never",
       .min = 0,
       .flag = true},
      {.name = "trace",
       .type = OptionType::text,
       .fallback = "",
       .help = "file for what each unit did in time, for trace viewers like Perfetto; -: stdout",
       .flag = true},
      {.name = "trace-from",
       .type = OptionType::integer,
       .fallback = "0",
       .help = "first cycle that is in the trace",
       .min = 0,
       .flag = true},
      {.name = "trace-to",
       .type = OptionType::integer,
       .fallback = "0",
       .help = "cycle at which the trace ends; 0: that of the run",
       .min = 0,
       .flag = true},
      {.name = "trace-units",
       .type = OptionType::text,
       .fallback = "*",
       .help = "pattern, as of a shell, of the units in the trace, by their paths in --stats",
       .flag = true},
  };
  info.native_ops = {"arith.extract", "arith.insert"};
  info.run = run;
  return info;
}

}  // namespace revet::vrda
