#include "session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/machine_file.hpp"
#include "frontend.hpp"
#include "revet/text.hpp"
#include "support/crash_guard.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"

namespace revet::host {
namespace fs = std::filesystem;

po::options_description common_options(Common& c) {
  po::options_description out("Common options");
  auto add = out.add_options();
  const auto list = [](std::vector<std::string>& v, const char* name) {
    return po::value(&v)->composing()->value_name(name);
  };
  add("plugin", list(c.plugins, "FILE"), "load a plugin (repeatable)");
  add("plugin-path", list(c.plugin_path, "DIR"), "look for plugins there first (repeatable)");
  add("set", list(c.overrides.set, "KEY=V"),
      "set ID.OPTION, a parameter, machine.KEY or backend.OPTION");
  add("disable", list(c.overrides.disable, "ID"), "leave out that pass");
  add("enable", list(c.overrides.enable, "ID"), "run a pass that the pipeline disables");
  add("start-at", po::value(&c.run.start_at)->value_name("ID"), "begin with that pass");
  add("stop-after", po::value(&c.run.stop_after)->value_name("ID"), "end with that pass");
  add("dump-after", list(c.run.dump_after, "ID|all"), "print the IR after a pass");
  add("dump-before", list(c.run.dump_before, "ID|all"), "print the IR before a pass");
  add("dump-dir", po::value<std::string>()->value_name("DIR")->notifier([&c](const std::string& d) {
    c.run.dump_dir = d;
  }),
      "dump to numbered files there instead of stderr");
  add("strategy-trace", po::value(&c.strategy_trace)->value_name("FILE"),
      "write what the strategy tried, as JSON lines");
  add("explain", po::bool_switch(&c.explain), "what the strategy tried, failures first, on stderr");
  add("fuel", po::value<std::int64_t>()->value_name("N")->notifier([&c](std::int64_t n) {
    if (n < 0) throw Error(Exit::usage, "--fuel is a number from 0 on");
    c.run.fuel = n;
  }),
      "stop optimising after N changes, to find the one that breaks a program");
  add("reproducer-dir",
      po::value<std::string>()->value_name("DIR")->notifier(
          [&c](const std::string& d) { c.run.reproduce.directory = d; }),
      "where revet-crash-* of a failing pass is made (default: here)");
  add("write-reproducer",
      po::value<std::string>()->value_name("DIR")->notifier(
          [&c](const std::string& d) { c.run.reproduce.always = d; }),
      "make a reproducer there also if nothing fails");
  add("verify", po::value(&c.verify)->value_name("WHEN"), "each (default), ends or none");
  add("time-passes", po::value(&c.time_passes)->implicit_value("text")->value_name("json"),
      "time of each pass, on stderr");
  add("print-pass-stats", po::bool_switch(&c.print_pass_stats), "what each pass did, on stderr");
  add("diagnostics", po::value(&c.diagnostics)->value_name("FORM"), "text (default) or json");
  add("color", po::value(&c.color)->value_name("WHEN"), "auto (default), always or never");
  add("max-errors", po::value(&c.max_errors)->value_name("N"),
      "errors shown before giving up (default 20)");
  add("warn,W", list(c.warnings, "NAME"), "-WNAME enables, -Wno-NAME disables a warning; -Werror");
  add("quiet,q", po::bool_switch(&c.quiet), "no notes, no progress");
  add("verbose,v", po::bool_switch(&c.verbose), "say more");
  add("json", po::bool_switch(&c.json), "answers as JSON");
  add("help,h", "this text");
  return out;
}

namespace {

void require_choice(const char* flag, const std::string& value,
                    const std::vector<std::string>& choices) {
  for (const std::string& c : choices)
    if (c == value) return;
  throw Error(Exit::usage,
              fmt::format("--{} is one of {}, not '{}'{}", flag, fmt::join(choices, ", "), value,
                          did_you_mean(value, choices)));
}

}  // namespace

Session::Session(Common c) : common(std::move(c)) {
  require_choice("verify", common.verify, {"each", "ends", "none"});
  require_choice("diagnostics", common.diagnostics, {"text", "json"});
  require_choice("color", common.color, {"auto", "always", "never"});
  if (!common.time_passes.empty())
    require_choice("time-passes", common.time_passes, {"text", "json"});
  common.run.verify = common.verify == "each"   ? VerifyWhen::each
                      : common.verify == "ends" ? VerifyWhen::ends
                                                : VerifyWhen::none;
  if (common.max_errors < 1) throw Error(Exit::usage, "--max-errors is a number from 1 on");
  diagnostics.limit = static_cast<std::size_t>(common.max_errors);
  for (const std::string& w : common.warnings) {
    const bool off = w.starts_with("no-");
    const std::string name = off ? w.substr(3) : w;
    require_warning(w, name);
    (off ? diagnostics.disabled : diagnostics.enabled).push_back(name);
    if (off) std::erase(diagnostics.enabled, name);
    if (!off) std::erase(diagnostics.disabled, name);
  }
}

/// `error`, what the front end reports, and what plugins say that they report.
void Session::require_warning(const std::string& flag, const std::string& name) {
  std::vector<std::string> known = frontend_warnings();
  known.emplace_back("error");
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  for (std::string& w : plugins().names("warning")) known.push_back(std::move(w));
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw Error(Exit::usage,
                fmt::format("there is no warning -W{}{}", flag, did_you_mean(name, known)));
}

Plugins& Session::plugins(const std::vector<std::string>& more) {
  // One call for all, so that all that cannot be loaded are told.
  std::vector<std::string> named = more;
  if (!plugins_) {
    plugins_ = std::make_unique<Plugins>(search_directories(common.plugin_path), diagnostics);
    plugins_->verbose = common.verbose;
    named.insert(named.begin(), common.plugins.begin(), common.plugins.end());
  }
  plugins_->load_named(named);
  return *plugins_;
}

bool Session::use_color() const {
  if (common.color != "auto") return common.color == "always";
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && !std::getenv("NO_COLOR") && term &&
         std::strcmp(term, "dumb") != 0;
}

void Session::print(const Diagnostic& d) {
  if (d.severity == Severity::note && common.quiet) return;
  const std::string text =
      common.diagnostics == "json" ? render_json(d) : render_text(d, sources, use_color());
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool Session::warnings_are_errors() const {
  const auto& on = diagnostics.enabled;
  return std::find(on.begin(), on.end(), "error") != on.end();
}

void Session::print_pending() {
  const auto& all = diagnostics.all();
  const bool some = printed_ < all.size();
  for (; printed_ < all.size(); ++printed_) {
    Diagnostic d = all[printed_];
    if (d.severity == Severity::warning && warnings_are_errors()) d.severity = Severity::error;
    print(d);
  }
  if (some && diagnostics.error_count() > diagnostics.limit) {
    const std::string text = fmt::format("{} more errors are not shown; --max-errors N shows more",
                                         diagnostics.error_count() - diagnostics.limit);
    print({Severity::note, {}, text, {}, {}, {}});
  }
}

void Session::flush(Exit exit) {
  print_pending();
  const auto& all = diagnostics.all();
  const bool warned = std::any_of(
      all.begin(), all.end(), [](const Diagnostic& d) { return d.severity == Severity::warning; });
  if (diagnostics.has_errors() || (warned && warnings_are_errors())) throw ExitNow{exit};
}

void in_session(const Common& common, const std::function<void(Session&)>& work) {
  Session session(common);
  try {
    work(session);
  } catch (const Error& e) {
    session.print_pending();
    session.print(e.diagnostic);
    throw ExitNow{e.exit};
  } catch (const InternalError&) {
    session.print_pending();
    throw;
  }
}

Program Session::load_program(const std::string& file, bool stdin_is_rir) {
  const bool is_stdin = file == "-";
  const std::string extension =
      is_stdin ? (stdin_is_rir ? ".rir" : ".rvt") : fs::path(file).extension().string();
  if (extension != ".rvt" && extension != ".rir")
    throw Error(Exit::usage, fmt::format("{}: expected a .rvt or a .rir file", file));
  std::string text;
  if (is_stdin) {
    char buffer[65536];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, stdin))
      text.append(buffer, n);
    if (std::ferror(stdin))
      throw Error(Exit::usage, fmt::format("cannot read <stdin>: {}", std::strerror(errno)));
  } else {
    text = read_file(file);
  }
  Program program;
  Fnv1a hash;
  hash.add(text);
  program.hash = fmt::format("{:016x}", hash.value());
  const FileId id = sources.add(is_stdin ? "<stdin>" : file, std::move(text));
  program.name = is_stdin ? "stdin" : fs::path(file).stem().string();
  if (extension == ".rvt") {
    program.module = compile_source(id, sources, diagnostics);
    flush();
    Diagnostics broken;
    if (common.run.verify != VerifyWhen::none && !verify(*program.module, broken)) {
      for (const Diagnostic& d : broken.all()) print(d);
      throw InternalError("the front end made a broken module");
    }
    return program;
  }
  plugins();  // a plugin named on the command line may bring ops
  if (std::all_of(sources.text(id).begin(), sources.text(id).end(),
                  [](unsigned char c) { return std::isspace(c) != 0; }))
    throw Error(Exit::program, Loc{id, 0, 0, 0}, "the file is empty");
  program.module = parse_module(id, sources, diagnostics);
  flush();
  if (common.run.verify != VerifyWhen::none) verify(*program.module, diagnostics);
  flush();
  return program;
}

void Session::check_pipeline(Pipeline& pipeline, const Program& program) {
  plugins(pipeline.plugins);
  Start start;
  start.level = level_of(*program.module);
  start.established = common.run.established;
  start.at = common.run.start_at;
  if (!start.at.empty()) pipeline.entry(start.at, "--start-at " + start.at);
  pipeline.model = read_machine(pipeline, sources, diagnostics);
  check(pipeline, plugins(), start, diagnostics);
  flush(Exit::usage);
}

Pipeline Session::read_pipeline(const std::string& name) {
  auto pipeline = revet::load_pipeline(find_pipeline(name), common.overrides, sources, diagnostics);
  flush(Exit::usage);
  plugins(pipeline->plugins);
  return std::move(*pipeline);
}

void Session::run_passes(Module& module, const Pipeline& pipeline) {
  RunOptions options = common.run;
  options.trace = common.explain || !common.strategy_trace.empty();
  options.verbose = common.verbose;
  PipelineReport report;
  const auto talk = [&] {
    print_pending();
    std::string text;
    if (common.explain) text += report.trace.explain();
    if (!common.time_passes.empty()) text += time_table(report, common.time_passes == "json");
    if (common.print_pass_stats) text += statistics_table(report);
    std::fwrite(text.data(), 1, text.size(), stderr);
    if (!common.strategy_trace.empty()) answer_to(common.strategy_trace, report.trace.json_lines());
  };
  try {
    run_pipeline(module, pipeline, plugins(), options, diagnostics, report);
  } catch (...) {
    talk();
    throw;
  }
  talk();
  flush();
}

void Session::run_backend(Module& module, const Pipeline& pipeline,
                          const std::function<void(const BackendInfo&)>& work) {
  const BackendInfo& backend = *plugins().backend(pipeline.backend);
  expand_ops(module, backend.native_ops);
  run_blaming(
      [&] {
        return fmt::format("backend '{}' of {}", pipeline.backend,
                           plugins().origin("backend:" + pipeline.backend));
      },
      [&] { work(backend); });
}

std::string json_text(const nlohmann::ordered_json& j) {
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void answer(std::string_view text) {
  const bool ok =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!ok) throw Error(Exit::usage, fmt::format("cannot write <stdout>: {}", std::strerror(errno)));
}

void answer_to(const std::string& file, std::string_view text) {
  if (file == "-")
    answer(text);
  else
    write_file(file, text);
}

}  // namespace revet::host
