// Runs a module: decodes it once, executes it once per repetition.
#include "interp.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "machine.hpp"

namespace revet::interp {
namespace {

RunResult run(const Module& module, Launch& launch, BackendContext& context) {
  const Program program = decode(module);
  const MachineOptions options{
      .seed = static_cast<std::uint64_t>(context.options.integer("seed")),
      .max_steps = static_cast<std::uint64_t>(context.options.integer("max-steps"))};
  const std::string& mode = context.options.text("races");

  RunResult result;
  for (unsigned rep = 0; rep < std::max(context.reps, 1u); ++rep) {
    if (rep != 0) launch.restore();
    // Every repetition runs the same way, so races are looked for in the first one only.
    std::optional<Races> races;
    if (mode != "off" && rep == 0) races.emplace(context.diagnostics, program);
    const auto start = std::chrono::steady_clock::now();
    Machine machine(program, launch, options, races ? &*races : nullptr);
    machine.run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    result.seconds.push_back(taken.count());
    result.threads = machine.threads();
    if (mode == "error" && races && races->found() != 0)
      throw Error(Exit::program, races->first(),
                  "threads race, and the option 'races' makes that an error");
  }
  return result;
}

}  // namespace

BackendInfo backend() {
  BackendInfo info;
  info.name = "interp";
  info.summary = "The reference interpreter: one thread after another, every access checked";
  info.inputs = {Level::thread, Level::cfg};
  info.options = {
      {.name = "seed",
       .type = OptionType::integer,
       .fallback = "0",
       .help = "run the threads of every foreach and fork in a random order; 0: in order",
       .min = 0,
       .flag = true},
      {.name = "max-steps",
       .type = OptionType::integer,
       .fallback = "0",
       .help = "stop after this many operations; 0: no limit",
       .min = 0,
       .flag = true},
      {.name = "races",
       .type = OptionType::text,
       .fallback = "warn",
       .help = "what to do where unordered threads access an element and one writes",
       .choices = {"off", "warn", "error"},
       .flag = true}};
  info.run = run;
  return info;
}

}  // namespace revet::interp
