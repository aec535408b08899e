/// What every command shares: common options, sources, diagnostics, plugins.
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "driver/pass_manager.hpp"
#include "driver/pipeline.hpp"
#include "plugin/plugins.hpp"
#include "revet/diagnostics.hpp"
#include "revet/ir.hpp"

namespace revet::host {

namespace po = boost::program_options;

/// Options that every command has.
struct Common {
  std::vector<std::string> plugins;
  std::vector<std::string> plugin_path;
  Overrides overrides;
  RunOptions run;
  std::string verify = "each";
  std::string time_passes;  ///< "", "text" or "json"
  bool print_pass_stats = false;
  bool explain = false;
  std::string strategy_trace;  ///< file
  std::string diagnostics = "text";
  std::string color = "auto";
  std::vector<std::string> warnings;  ///< the NAME of each -WNAME
  std::int64_t max_errors = 20;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
};

po::options_description common_options(Common& common);

/// A module and the name of the program it is.
struct Program {
  std::unique_ptr<Module> module;
  std::string name;  ///< file stem
  std::string hash;  ///< of its text
};

class Session {
 public:
  explicit Session(Common common);

  Common common;
  SourceManager sources;
  Diagnostics diagnostics;

  /// Made on first use, with what --plugin names; loads `more` too.
  Plugins& plugins(const std::vector<std::string>& more = {});
  /// Prints to stderr what was reported since the last time. Ends the run (as `exit`) if there were
  /// errors.
  void flush(Exit exit = Exit::program);
  void print_pending();
  void print(const Diagnostic& d);

  /// Reads, compiles and verifies a .rvt or .rir file; "-" is stdin, then `stdin_is_rir` decides.
  Program load_program(const std::string& file, bool stdin_is_rir = false);
  /// Finds and reads a pipeline, and loads the plugins that it names.
  Pipeline read_pipeline(const std::string& name);
  /// Checks it for a program of that level.
  void check_pipeline(Pipeline& pipeline, const Program& program);
  /// Runs code of the pipeline's backend, after the ops that it does not know were expanded; blames
  /// the backend for what it throws.
  void run_backend(Module& module, const Pipeline& pipeline,
                   const std::function<void(const BackendInfo&)>& work);
  /// Runs the passes, with the reports that were asked for on stderr.
  void run_passes(Module& module, const Pipeline& pipeline);

 private:
  void require_warning(const std::string& flag, const std::string& name);
  bool use_color() const;
  bool warnings_are_errors() const;
  std::unique_ptr<Plugins> plugins_;
  std::size_t printed_ = 0;
};

/// Thrown after everything was printed.
struct ExitNow {
  Exit code;
};

/// Runs `work` in a session. An Error that leaves it is printed with the session's sources and
/// becomes ExitNow.
void in_session(const Common& common, const std::function<void(Session&)>& work);

/// JSON as it is printed: indented; bytes of names that are not UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& j);
/// Writes to stdout; throws Error (exit 2) where that fails.
void answer(std::string_view text);
/// To the file, or to stdout for "-".
void answer_to(const std::string& file, std::string_view text);

}  // namespace revet::host
