/// `revet run`: compile, load data, run, check, report.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "figures.hpp"
#include "launch/data.hpp"
#include "provenance.hpp"

namespace revet::host {
namespace {

struct RunArguments {
  std::string pipeline;
  std::string data;
  std::string out;
  std::string check;
  std::string tolerance;
  std::vector<std::string> stats;
  std::vector<std::string> args;
  unsigned reps = 1;
};

po::options_description run_options(RunArguments& a) {
  po::options_description own("Options");
  own.add_options()("pipeline,p", po::value(&a.pipeline)->value_name("PIPELINE"),
                    "shipped pipeline or file")("data", po::value(&a.data)->value_name("DIR"),
                                                "args.txt and NAME.bin or NAME.npy per array")(
      "out", po::value(&a.out)->value_name("DIR"), "write the arrays that the program may write")(
      "arg", po::value(&a.args)->composing()->value_name("NAME=V"),
      "an argument of main (wins over args.txt)")("check", po::value(&a.check)->value_name("DIR"),
                                                  "compare those arrays with the files there")(
      "tolerance", po::value(&a.tolerance)->value_name("REL[,ABS]"),
      "for --check of float arrays; default: exact")(
      "reps", po::value(&a.reps)->value_name("N"),
      "repetitions, each on the original contents (default 1)")(
      "stats", po::value(&a.stats)->composing()->value_name("FILE"),
      "write the figures of the run as JSON, or where FILE ends in .csv as a table (repeatable)");
  return own;
}

std::optional<Tolerance> parse_tolerance(const std::string& text) {
  if (text.empty()) return std::nullopt;
  Tolerance t;
  const auto number = [&](const char* begin, const char* end, double& out) {
    const auto [p, ec] = std::from_chars(begin, end, out);
    if (ec != std::errc() || p != end || !(out >= 0))
      throw Error(
          Exit::usage,
          fmt::format("--tolerance expects REL[,ABS], two numbers from 0 on, got '{}'", text));
  };
  const std::size_t comma = std::min(text.find(','), text.size());
  number(text.data(), text.data() + comma, t.relative);
  if (comma < text.size()) number(text.data() + comma + 1, text.data() + text.size(), t.absolute);
  return t;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/// The words before "--" that name pipeline and plugins, read ahead of the strict parse: the
/// backend's own flags are known only then.
RunArguments peek(const std::vector<std::string>& words, Common& common) {
  RunArguments a;
  po::options_description all = run_options(a);
  all.add(common_options(common));
  all.add_options()("input", po::value<std::vector<std::string>>());
  po::positional_options_description any;
  any.add("input", -1);
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(words)
                  .options(all)
                  .positional(any)
                  .style(style)
                  .allow_unregistered()
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error&) {
    // The strict parse reports it.
  }
  return a;
}

nlohmann::ordered_json statistics(const Program& program, const Pipeline& pipeline,
                                  const RunResult& result, std::uint64_t bytes, bool checked) {
  nlohmann::ordered_json j;
  j["schema"] = 1;
  const double seconds = result.seconds.empty() ? 0 : median(result.seconds);
  j["app"] = program.name;
  j["target"] = pipeline.backend;
  j["pipeline"] = pipeline.name;
  j["threads"] = result.threads;
  j["host_threads"] = result.host_threads;
  j["bytes"] = bytes;
  j["seconds"] =
      result.seconds.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(seconds);
  j["gbps"] = seconds > 0 ? nlohmann::ordered_json(static_cast<double>(bytes) / seconds / 1e9)
                          : nlohmann::ordered_json(nullptr);
  j["checked"] = checked ? nlohmann::ordered_json("expected") : nlohmann::ordered_json(nullptr);
  j["reps"] = result.seconds.size();
  j["samples"] = result.seconds;
  for (const auto& [key, text] : result.extra) j[key] = nlohmann::ordered_json::parse(text);
  return j;
}

}  // namespace

void run_command(const Command& command, const std::vector<std::string>& words) {
  RunArguments a;
  Common common;
  std::map<std::string, std::string> flags;
  po::options_description own = run_options(a);
  po::options_description backend_flags("Options of the backend");
  {
    Common ahead;
    const RunArguments early = peek(words, ahead);
    const bool wants_help = std::find(words.begin(), words.end(), "--help") != words.end();
    // A pipe can be read once only: its backend's own flags are not known then.
    std::error_code ec;
    if (!early.pipeline.empty() && (early.pipeline.find('/') == std::string::npos ||
                                    std::filesystem::is_regular_file(early.pipeline, ec))) {
      Session session(ahead);
      try {
        auto pipeline =
            load_pipeline(find_pipeline(early.pipeline), {}, session.sources, session.diagnostics);
        const BackendInfo* backend =
            pipeline ? session.plugins(pipeline->plugins).backend(pipeline->backend) : nullptr;
        if (backend) {
          for (const OptionSpec& spec : backend->options) {
            if (!spec.flag) continue;
            const std::string name = spec.name;
            backend_flags.add_options()(
                name.c_str(),
                po::value<std::string>()->value_name("V")->notifier(
                    [&flags, name](const std::string& v) { flags[name] = v; }),
                fmt::format("{} ({})", spec.help, describe(spec)).c_str());
          }
        }
      } catch (const Error&) {
        if (!wants_help) throw;
      }
    }
  }
  own.add(backend_flags);
  const po::variables_map values = parse_options(command, words, own, one_input(), common);
  const std::string input = required_input(command, values);
  if (a.pipeline.empty()) throw Error(Exit::usage, "a pipeline is missing: -p PIPELINE");
  if (a.reps < 1 || a.reps > 1000000)
    throw Error(Exit::usage, "--reps is a number from 1 to 1000000");
  const std::optional<Tolerance> tolerance = parse_tolerance(a.tolerance);
  const std::map<std::string, std::string> arguments = arguments_of(a.args);
  for (const auto& [name, value] : flags)
    common.overrides.set.push_back(fmt::format("backend.{}={}", name, value));

  in_session(common, [&](Session& session) {
    Pipeline pipeline = session.read_pipeline(a.pipeline);
    Program program = session.load_program(input);
    session.check_pipeline(pipeline, program);
    const BackendInfo* backend =
        pipeline.backend.empty() ? nullptr : session.plugins().backend(pipeline.backend);
    if (!backend || !backend->run)
      throw Error(Exit::usage,
                  fmt::format("pipeline '{}' has no backend that runs programs", pipeline.name));
    session.run_passes(*program.module, pipeline);
    Launch launch = load_launch(signature_of(*program.module), a.data, arguments);
    // Read once: it may be a pipe.
    const std::uint64_t bytes = reported_bytes(launch, a.data);
    BackendContext context{pipeline.backend_options, session.diagnostics, program.name, "", a.reps,
                           common.verbose,           pipeline.model,      bytes};
    RunResult result;
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    session.run_backend(*program.module, pipeline, [&](const BackendInfo& b) {
      result = b.run(*program.module, launch, context);
    });
    const double host_seconds =
        std::chrono::duration<double>(Clock::now() - start).count() / a.reps;
    session.flush();
    if (!a.out.empty()) write_outputs(launch, a.out);
    if (!a.check.empty()) check_outputs(launch, a.check, tolerance);
    auto figures = statistics(program, pipeline, result, bytes, !a.check.empty());
    if (!a.stats.empty()) {
      figures["made_by"] = provenance(common.run.reproduce.command, pipeline, session.plugins(),
                                      {input, program.hash, a.data}, launch);
      figures["made_by"]["host"]["seconds"] = host_seconds;
    }
    const std::string text = json_text(figures);
    bool answered = false;
    for (const std::string& file : a.stats) {
      answer_to(file, file.ends_with(".csv") ? csv(figures) : text);
      answered |= file == "-";
    }
    if (answered) return;
    if (common.json) return answer(text);
    std::string lines = summary(figures, host_seconds);
    if (!a.check.empty())
      lines +=
          fmt::format("outputs equal {}{}\n", a.check,
                      a.tolerance.empty() ? "" : fmt::format(" within tolerance {}", a.tolerance));
    answer(lines);
  });
}

}  // namespace revet::host
