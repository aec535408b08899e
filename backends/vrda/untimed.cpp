#include "untimed.hpp"

#include <fmt/format.h>

#include "load.hpp"
#include "revet/sim/engine.hpp"
#include "support/files.hpp"

namespace revet::vrda {
namespace {

/// A fault is of the engine or of the graph's nodes, never of the program.
void check_trace(const sim::Graph& graph, const sim::Trace& trace) {
  std::vector<std::string> faults = sim::check_barriers(graph, trace);
  if (faults.empty()) return;
  constexpr std::size_t most = 10;
  const std::size_t found = faults.size();
  if (found > most) faults.resize(most);
  throw InternalError(fmt::format("{} faults in the barriers of the streams:\n  {}", found,
                                  fmt::join(faults, "\n  ")));
}

RunResult run(const Module& module, Launch& launch, BackendContext& context) {
  const std::vector<sim::HostArray> arrays = sim::bind(launch);
  const sim::Graph graph = load(module, launch).graph;
  sim::RunOptions options;
  options.seed = static_cast<std::uint64_t>(context.options.integer("seed"));
  const std::int64_t depth = context.options.integer("channel-depth");
  options.min_depth = depth == 0 ? 1 : static_cast<std::uint32_t>(depth);
  options.max_depth = depth == 0 ? 4 : static_cast<std::uint32_t>(depth);
  options.memory_queue = static_cast<std::uint32_t>(context.options.integer("memory-queue"));
  options.max_firings = static_cast<std::uint64_t>(context.options.integer("max-firings"));
  const std::string& file = context.options.text("trace-tokens");
  sim::Trace trace(graph);
  const bool checked = context.options.boolean("check-barriers");
  if (!file.empty() || checked) options.trace = &trace;

  RunResult out;
  for (unsigned rep = 0; rep < context.reps; ++rep) {
    if (rep != 0) launch.restore();
    const sim::Result result = sim::run(graph, arrays, options);
    options.trace = nullptr;
    if (result.outcome != sim::Outcome::finished)
      throw Error(Exit::unfinished, result.diagnosis.substr(0, result.diagnosis.size() - 1));
    if (result.pointers_leaked != 0)
      throw InternalError(fmt::format("{} on-chip buffers were not freed", result.pointers_leaked));
    out.threads = result.threads;
    out.extra["firings"] = std::to_string(result.firings);
  }
  if (checked) check_trace(graph, trace);
  if (!file.empty()) {
    const std::string text = trace.text(graph, sim::Trace::Form::link);
    if (file == "-")
      fmt::print("{}", text);
    else
      write_file(file, text);
  }
  return out;
}

}  // namespace

BackendInfo untimed_backend() {
  BackendInfo info;
  info.name = "vrda-untimed";
  info.summary = "Runs the streaming graph in random order, without time";
  info.inputs = {Level::flow};
  info.options = {
      {.name = "seed",
       .type = OptionType::integer,
       .fallback = "1",
       .help = "of the order in which units act",
       .min = 0,
       .flag = true},
      {.name = "channel-depth",
       .type = OptionType::integer,
       .fallback = "0",
       .help = "tokens that a link holds; 0: drawn from 1 to 4 for each",
       .min = 0,
       .max = 1000000,
       .flag = true},
      {.name = "memory-queue",
       .type = OptionType::integer,
       .fallback = "4",
       .help = "requests that a memory node keeps open and performs in random order",
       .min = 0,
       .max = 1024,
       .flag = true},
      {.name = "max-firings",
       .type = OptionType::integer,
       .fallback = "0",
       .help = "give up after so many firings; 0: never",
       .min = 0,
       .flag = true},
      {.name = "trace-tokens",
       .type = OptionType::text,
       .fallback = "",
       .help = "file for the tokens of every link; -: stdout",
       .flag = true},
      {.name = "check-barriers",
       .type = OptionType::boolean,
       .fallback = "false",
       .help = "keep the tokens of every link and check that their barriers fit each other",
       .flag = true},
  };
  info.native_ops = {"arith.extract", "arith.insert"};
  info.run = run;
  return info;
}

}  // namespace revet::vrda
