/// Option parsing for all commands, and the commands that only compile.
#include "commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "driver/reproducer.hpp"
#include "ir/dot.hpp"
#include "revet/text.hpp"
#include "support/files.hpp"

namespace revet::host {
namespace fs = std::filesystem;

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {
      {"compile", "FILE.rvt|FILE.rir -p PIPELINE [-o PATH] [--emit rir|dot|source]",
       "Runs a pipeline and writes emitted source or IR", compile_command},
      {"run", "FILE.rvt|FILE.rir -p PIPELINE --data DIR [--out DIR] [--check DIR]",
       "Compiles and runs a program on data", run_command},
      {"sweep", "FILE.rvt -p PIPELINE --vary KEY=V1,V2,.. [--data DIR] [--report DIR]",
       "Compiles a program with many settings and compares what they cost", sweep_command},
      {"replay", "DIR [-o PATH]", "Runs a reproducer again", replay_command},
      {"opt", "FILE.rir [-p PIPELINE] [--pass NAME[{k=v,..}]].. [-o PATH]", "Runs passes on IR",
       opt_command},
      {"check", "FILE.rvt", "Reports the errors of a program", check_command},
      {"pipeline", "FILE|NAME", "Prints a pipeline, fully resolved", pipeline_command},
      {"new-plugin", "NAME [--kind pass|op|backend]", "Writes a plugin project to begin with",
       new_plugin_command},
      {"passes", "[NAME]", "Lists passes, or describes one", list_command},
      {"backends", "[NAME]", "Lists backends, or describes one", list_command},
      {"ops", "[NAME]", "Lists the ops of the IR, or describes one", list_command},
      {"pipelines", "[NAME]", "Lists the pipelines that ship, or describes one", list_command},
      {"reference", "passes|ops|backends|options|machine|man|bash|zsh",
       "Prints a page of the reference, the man page or shell completion", reference_command},
      {"plugins", "[NAME]", "Lists the plugins that were found, or describes one", list_command},
  };
  return list;
}

const HelpTable& program_options() {
  static const HelpTable table = {
      {"--help", "Prints the commands; after a command, its options"},
      {"--version", "Prints the version; with --verbose what it is built with"},
      {"--print-abi", "Prints what a plugin must be built for"},
      {"--print-search-dirs", "Prints where plugins are looked for, in order"},
  };
  return table;
}

const HelpTable& exit_codes() {
  static const HelpTable table = {
      {"0", "ok"},
      {"1", "the program or its data is wrong"},
      {"2", "usage, pipeline, plugin, tool or file problem"},
      {"3", "the run did not finish (deadlock, no progress, step or cycle limit)"},
      {"4", "outputs differ"},
      {"70", "internal error"},
      {"130", "interrupted"},
  };
  return table;
}

const HelpTable& environment() {
  static const HelpTable table = {
      {"REVET_PLUGIN_PATH", "folders with plugins, separated by ':'"},
      {"REVET_CACHE_DIR",
       "where compiled programs are kept (default: $XDG_CACHE_HOME/revet or ~/.cache/revet)"},
      {"CXX", "C++ compiler for emitted code (default: c++)"},
      {"NO_COLOR", "no colour"},
      {"TERM", "no colour where it is dumb"},
  };
  return table;
}

namespace {

/// Where parse_options puts a command's own options instead of parsing; see own_options.
std::vector<OptionHelp>* collecting = nullptr;
struct Collected {};

std::vector<OptionHelp> help_of(const po::options_description& options) {
  std::vector<OptionHelp> out;
  for (const auto& o : options.options()) {
    OptionHelp h;
    h.name = "--" + o->long_name();
    if (const std::string s =
            o->canonical_display_name(po::command_line_style::allow_dash_for_short);
        s.size() == 2)
      h.name = s + ", " + h.name;
    if (o->semantic()->max_tokens() != 0) h.value = o->semantic()->name();
    h.text = o->description();
    out.push_back(std::move(h));
  }
  return out;
}

}  // namespace

std::vector<OptionHelp> own_options(const Command& command) {
  std::vector<OptionHelp> out;
  collecting = &out;
  try {
    command.run(command, {});
  } catch (const Collected&) {
  }
  collecting = nullptr;
  return out;
}

std::vector<OptionHelp> shared_options() {
  Common common;
  return help_of(common_options(common));
}

po::variables_map parse_options(const Command& command, const std::vector<std::string>& words,
                                po::options_description own,
                                const po::positional_options_description& positional,
                                Common& common) {
  if (collecting) {
    *collecting = help_of(own);
    throw Collected{};
  }
  po::options_description visible;
  if (!own.options().empty()) visible.add(own);
  visible.add(common_options(common));
  po::options_description all;
  all.add(visible);
  all.add_options()("input", po::value<std::vector<std::string>>());
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  common.run.reproduce.command = {"revet", command.name};
  common.run.reproduce.command.insert(common.run.reproduce.command.end(), words.begin(),
                                      words.end());
  try {
    po::store(po::command_line_parser(words).options(all).positional(positional).style(style).run(),
              values);
    if (values.count("help") != 0) {
      std::ostringstream text;
      text << "Usage: revet " << command.name << ' ' << command.synopsis << "\n\n"
           << command.summary << ".\n\n"
           << visible;
      answer(text.str());
      throw ExitNow{Exit::ok};
    }
    po::notify(values);
  } catch (const po::unknown_option& e) {
    std::vector<std::string> known;
    for (const auto& option : visible.options()) known.push_back("--" + option->long_name());
    throw Error(Exit::usage,
                fmt::format("revet {} has no option '{}'{}", command.name, e.get_option_name(),
                            did_you_mean(e.get_option_name(), known)));
  } catch (const po::too_many_positional_options_error&) {
    throw Error(Exit::usage, fmt::format("too many arguments; usage: revet {} {}", command.name,
                                         command.synopsis));
  } catch (const po::error& e) {
    throw Error(Exit::usage, fmt::format("{}; see revet {} --help", e.what(), command.name));
  }
  return values;
}

std::map<std::string, std::string> arguments_of(const std::vector<std::string>& items) {
  std::map<std::string, std::string> out;
  for (const std::string& item : items) {
    const std::size_t eq = item.find('=');
    if (eq == std::string::npos)
      throw Error(Exit::usage, fmt::format("--arg {}: expected NAME=VALUE", item));
    out[item.substr(0, eq)] = item.substr(eq + 1);
  }
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

po::positional_options_description one_input() {
  po::positional_options_description p;
  p.add("input", 1);
  return p;
}

std::string required_input(const Command& command, const po::variables_map& values) {
  if (values.count("input") == 0)
    throw Error(Exit::usage, fmt::format("an input file is missing; usage: revet {} {}",
                                         command.name, command.synopsis));
  return values["input"].as<std::vector<std::string>>()[0];
}

namespace {

/// Of the file that `run --stats` wrote.
UnitShares shares_of(const std::string& file) {
  UnitShares out;
  try {
    const nlohmann::json figures = nlohmann::json::parse(read_file(file));
    for (const nlohmann::json& unit : figures.at("units")) {
      double total = 0;
      std::array<double, 3> shares{};
      const char* const states[] = {"busy", "starved", "blocked", "idle"};
      for (std::size_t i = 0; i < 4; ++i) {
        const double cycles = unit.at(states[i]).get<double>();
        total += cycles;
        if (i < 3) shares[i] = cycles;
      }
      for (double& s : shares) s = total > 0 ? s / total : 0;
      out[unit.at("path").get<std::string>()] = shares;
    }
  } catch (const nlohmann::json::exception& e) {
    throw Error(Exit::usage,
                fmt::format("{} has no figures of a simulated run: {}", file, e.what()));
  }
  return out;
}

/// A placed graph is drawn as its units.
std::string picture(const Module& module, const std::string& stats) {
  const UnitShares shares = stats.empty() ? UnitShares{} : shares_of(stats);
  if (auto placed = print_placed_dot(module, stats.empty() ? nullptr : &shares)) return *placed;
  if (!stats.empty())
    throw Error(Exit::usage, "--stats colours a placed graph, which the pipeline does not make");
  return print_dot(module);
}

}  // namespace

void compile_command(const Command& command, const std::vector<std::string>& words) {
  Common common;
  std::string pipeline_name;
  std::string output = "-";
  std::string emit;
  std::string stats;
  po::options_description own("Options");
  own.add_options()("pipeline,p", po::value(&pipeline_name)->value_name("PIPELINE"),
                    "shipped pipeline or file")("output,o", po::value(&output)->value_name("PATH"),
                                                "file to write (default: -, stdout)")(
      "stats", po::value(&stats)->value_name("FILE"),
      "with --emit dot: the figures of a run, to colour the units of the placed graph by")(
      "emit", po::value(&emit)->value_name("WHAT"),
      "rir or dot (the module after the passes) or source; default: source where the backend emits "
      "it");
  const po::variables_map values = parse_options(command, words, own, one_input(), common);
  const std::string input = required_input(command, values);
  if (pipeline_name.empty()) throw Error(Exit::usage, "a pipeline is missing: -p PIPELINE");
  if (emit == "config")
    throw Error(
        Exit::usage,
        "--emit config needs a placed graph, which no backend of this version makes; rir, dot "
        "and source work");
  const std::vector<std::string> forms = {"rir", "dot", "source"};
  if (!emit.empty() && std::find(forms.begin(), forms.end(), emit) == forms.end())
    throw Error(Exit::usage, fmt::format("--emit is one of {}, not '{}'{}", fmt::join(forms, ", "),
                                         emit, did_you_mean(emit, forms)));
  if (!stats.empty() && emit != "dot")
    throw Error(Exit::usage, "--stats of revet compile goes with --emit dot");
  in_session(common, [&](Session& session) {
    Pipeline pipeline = session.read_pipeline(pipeline_name);
    Program program = session.load_program(input);
    session.check_pipeline(pipeline, program);
    session.run_passes(*program.module, pipeline);
    const BackendInfo* backend =
        pipeline.backend.empty() ? nullptr : session.plugins().backend(pipeline.backend);
    const bool can_emit = backend && backend->emit;
    if (emit == "source" && !can_emit)
      throw Error(Exit::usage,
                  fmt::format("pipeline '{}' has no backend that emits source", pipeline.name));
    if (emit == "dot") return answer_to(output, picture(*program.module, stats));
    if (emit == "rir" || !can_emit) return answer_to(output, print(*program.module));
    const fs::path path(output);
    const std::string header = output == "-" ? "" : path.stem().string() + ".h";
    BackendContext context{pipeline.backend_options, session.diagnostics, program.name, header, 1,
                           common.verbose,           pipeline.model};
    std::vector<EmittedFile> files;
    session.run_backend(*program.module, pipeline,
                        [&](const BackendInfo& b) { files = b.emit(*program.module, context); });
    session.flush();
    if (output == "-") return answer(files[0].text);
    for (std::size_t i = 1; i < files.size(); ++i) {
      fs::path side = path;
      side.replace_extension(files[i].extension);
      if (side == path)
        throw Error(Exit::usage, fmt::format("-o {} is also the name of the header", output));
      write_file(side, files[i].text);
    }
    write_file(path, files[0].text);
  });
}

void opt_command(const Command& command, const std::vector<std::string>& words) {
  Common common;
  std::string pipeline_name;
  std::string output = "-";
  std::vector<std::string> passes;
  bool no_locations = false;
  po::options_description own("Options");
  own.add_options()("pipeline,p", po::value(&pipeline_name)->value_name("PIPELINE"),
                    "run the passes of a pipeline")(
      "pass", po::value(&passes)->composing()->value_name("NAME[{k=v,..}]"),
      "then run that pass (repeatable)")("output,o", po::value(&output)->value_name("PATH"),
                                         "file to write (default: -, stdout)")(
      "no-locations", po::bool_switch(&no_locations), "leave out loc(..)");
  const po::variables_map values = parse_options(command, words, own, one_input(), common);
  in_session(common, [&](Session& session) {
    std::optional<Pipeline> first;
    if (!pipeline_name.empty()) first = session.read_pipeline(pipeline_name);
    Program program = session.load_program(required_input(command, values), true);
    if (first) {
      session.check_pipeline(*first, program);
      session.run_passes(*program.module, *first);
    }
    if (!passes.empty()) {
      const Overrides overrides = pipeline_name.empty() ? common.overrides : Overrides{};
      auto pipeline = pipeline_of_passes(passes, overrides, session.sources, session.diagnostics);
      session.flush(Exit::usage);
      session.check_pipeline(*pipeline, program);
      session.run_passes(*program.module, *pipeline);
    }
    answer_to(output, print(*program.module, {.locations = !no_locations}));
  });
}

void replay_command(const Command& command, const std::vector<std::string>& words) {
  Common common;
  std::string output = "-";
  po::options_description own("Options");
  own.add_options()("output,o", po::value(&output)->value_name("PATH"),
                    "where the module goes if nothing fails (default: -, stdout)");
  const po::variables_map values = parse_options(command, words, own, one_input(), common);
  const Replay replay = read_reproducer(required_input(command, values));
  common.run.established = replay.established;
  common.plugins.insert(common.plugins.end(), replay.plugins.begin(), replay.plugins.end());
  // It is here already.
  common.run.reproduce.wanted = false;
  in_session(common, [&](Session& session) {
    for (const std::string& note : replay.notes) session.diagnostics.note({}, note);
    if (!replay.error.empty()) session.diagnostics.note({}, "then: " + replay.error);
    session.print_pending();
    Pipeline pipeline = session.read_pipeline(replay.pipeline.string());
    Program program = session.load_program(replay.input.string());
    session.check_pipeline(pipeline, program);
    session.run_passes(*program.module, pipeline);
    if (!replay.error.empty()) session.print({Severity::note, {}, "now nothing fails", {}, {}, {}});
    answer_to(output, print(*program.module));
  });
}

void check_command(const Command& command, const std::vector<std::string>& words) {
  Common common;
  const po::variables_map values =
      parse_options(command, words, po::options_description(), one_input(), common);
  in_session(common, [&](Session& session) {
    session.load_program(required_input(command, values));
    session.flush();
  });
}

void pipeline_command(const Command& command, const std::vector<std::string>& words) {
  Common common;
  const po::variables_map values =
      parse_options(command, words, po::options_description(), one_input(), common);
  in_session(common, [&](Session& session) {
    Program program;
    program.module = std::make_unique<Module>();
    Pipeline pipeline = session.read_pipeline(required_input(command, values));
    session.check_pipeline(pipeline, program);
    session.flush();
    answer(print(pipeline, session.plugins()));
  });
}

}  // namespace revet::host
