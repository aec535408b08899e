/// What a plugin registers: passes, backends, ops. See docs/plugins.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "revet/diagnostics.hpp"
#include "revet/launch.hpp"
#include "revet/machine.hpp"
#include "revet/op_info.hpp"
#include "revet/options.hpp"

namespace revet {

/// What a pass did. `failed` means "not applicable here", leaves the module as it was, and stops
/// the run unless a strategy (`try`, `first-of`, ..) has something else to do; an error of the
/// program is reported in the context's diagnostics instead.
struct PassResult {
  enum Outcome : std::uint8_t { changed, unchanged, failed } outcome;
  std::string reason;
  static PassResult of(bool changed_) { return {changed_ ? changed : unchanged, {}}; }
  static PassResult failure(std::string reason_) { return {failed, std::move(reason_)}; }
};

/// What a pass may use besides the module.
class PassContext {
 public:
  static constexpr std::int64_t unlimited = INT64_MAX;

  PassContext(const OptionValues& values, Diagnostics& reports, std::int64_t fuel_ = unlimited)
      : options(values), diagnostics(reports), fuel(fuel_) {}
  /// The pipeline's machine; throws Error (exit 2) where there is none.
  const Machine& machine() const;
  /// Adds to a statistic of this pass, shown by --print-pass-stats.
  void count(const std::string& statistic, std::int64_t n = 1) { statistics[statistic] += n; }
  /// Says that n things were looked at, whether they were changed or not; visit(0) says none.
  void visit(std::int64_t n = 1) { visited = (visited < 0 ? 0 : visited) + n; }
  /// Call before each change, and leave out the change where it gives false: that is how --fuel N
  /// finds the change that broke a program. A pass that never calls it counts as one change.
  bool spend() {
    if (fuel == 0) return false;
    if (fuel != unlimited) --fuel;
    ++spent;
    return true;
  }

  const OptionValues& options;
  Diagnostics& diagnostics;
  std::map<std::string, std::int64_t> statistics;
  std::int64_t visited = -1;  ///< below 0: the pass does not say
  std::int64_t spent = 0;
  std::int64_t fuel;
  std::shared_ptr<const Machine> model;  ///< see machine()
};

struct PassInfo {
  std::string id;
  std::string summary;
  Level input = Level::thread;   ///< any: every level
  Level output = Level::thread;  ///< any: the level it was given
  std::vector<std::string> requires_;
  std::vector<std::string> establishes;
  std::vector<std::string> invalidates;
  OptionTable options;
  std::function<PassResult(Module&, PassContext&)> run;
  /// Works on one op and what is inside it, and may replace it; nothing else of the module changes.
  /// Passes that have it can be used at a place (`at`, `one`, `all`, `some`). Where `run` is absent
  /// it is called for every op of the module's top level.
  std::function<PassResult(Op&, PassContext&)> run_at;
};

/// A question about the module, or about one op and what is inside it, for `if`, `not` and `check`
/// in strategies. `place` is null for the whole module.
struct PredicateInfo {
  std::string name;
  std::string summary;
  std::function<bool(const Module&, const Op* place)> holds;
};

/// A property that passes require and establish, with the function that verifies it: it reports
/// each violation with its place.
struct PropertyInfo {
  std::string name;
  std::string summary;
  std::function<void(const Module&, VerifyReport&)> verify;
  /// In place of `verify`, for what depends on the pipeline's machine; null where it has none.
  std::function<void(const Module&, const Machine*, VerifyReport&)> verify_on = {};

  void check(const Module& module, const Machine* machine, VerifyReport& report) const {
    if (verify_on)
      verify_on(module, machine, report);
    else
      verify(module, report);
  }
};

struct EmittedFile {
  std::string extension;  ///< ".cpp", ".h", ..; the first file of a list is the main one
  std::string text;
};

/// What a backend may use besides the module.
struct BackendContext {
  const OptionValues& options;
  Diagnostics& diagnostics;
  std::string program;  ///< file stem of the source: the app's name
  std::string header;   ///< emit: file name of the main file's header; "": any
  unsigned reps = 1;    ///< run: repetitions, each from the original contents
  bool verbose = false;
  std::shared_ptr<const Machine> machine = nullptr;  ///< of the pipeline
  std::uint64_t bytes = 0;  ///< run: those to report throughput for; 0: not known
};

struct RunResult {
  std::vector<double> seconds;  ///< per repetition, of the program alone; empty if not timed
  std::uint64_t threads = 0;    ///< dataflow threads of one repetition
  unsigned host_threads = 1;
  std::map<std::string, std::string> extra;  ///< name -> JSON text, added to --stats
};

struct BackendInfo {
  std::string name;
  std::string summary;
  std::vector<Level> inputs = {Level::thread};  ///< levels that it takes
  std::vector<std::string> requires_;
  OptionTable options;
  /// Names of ops with an `expand` hook that this backend takes as they are.
  std::vector<std::string> native_ops;
  /// Absent for backends that only run.
  std::function<std::vector<EmittedFile>(const Module&, BackendContext&)> emit;
  /// Absent for backends that only emit. Runs the program on the launch's arrays, in place. Throws
  /// Error with the exit code of the contract.
  std::function<RunResult(const Module&, Launch&, BackendContext&)> run;
};

/// What `register_` of a plugin is given. A duplicate name throws Error naming both origins.
class Registry {
 public:
  void add_pass(PassInfo info);
  void add_backend(BackendInfo info);
  void add_property(PropertyInfo info);
  void add_predicate(PredicateInfo info);
  /// `info` must be a static of the plugin.
  void add_op(const OpInfo& info);
  /// A category of warnings that the plugin's passes or backends report, for -WNAME and -Wno-NAME.
  void add_warning(const std::string& name) { claim("warning:" + name); }

  const PassInfo* pass(std::string_view id) const;
  const BackendInfo* backend(std::string_view name) const;
  const PropertyInfo* property(std::string_view name) const;
  const PredicateInfo* predicate(std::string_view name) const;

  /// Path of the plugin that registers at the moment; set by the loader.
  std::string origin;
  /// "pass:NAME", "backend:NAME", "op:NAME", "property:NAME", "predicate:NAME",
  /// "warning:NAME" -> path of the plugin.
  std::map<std::string, std::string, std::less<>> origins;

 private:
  void claim(const std::string& what);
  std::map<std::string, PassInfo, std::less<>> passes_;
  std::map<std::string, BackendInfo, std::less<>> backends_;
  std::map<std::string, PropertyInfo, std::less<>> properties_;
  std::map<std::string, PredicateInfo, std::less<>> predicates_;
};

inline constexpr std::uint32_t plugin_magic = 0x31545652;  // bytes "RVT1"
inline constexpr std::uint32_t plugin_abi_version = 1;

}  // namespace revet

extern "C" {
/// The one exported symbol of a plugin, `revet_plugin`. Written by the REVET_PLUGIN macro.
struct RevetPlugin {
  std::uint32_t magic;
  std::uint32_t struct_size;
  std::uint32_t abi_version;
  const char* fingerprint;
  const char* name;
  const char* version;
  const char* summary;
  void (*register_)(revet::Registry&);
};
}

/// Defines `revet_plugin`. REVET_ABI_FINGERPRINT and the sections `.revet.abi` and
/// `.revet.provides` come from the CMake function revet_add_plugin.
#define REVET_PLUGIN(NAME, SUMMARY, REGISTER)                  \
  extern "C" __attribute__((visibility("default"), used))      \
  const RevetPlugin revet_plugin = {revet::plugin_magic,       \
                                    sizeof(RevetPlugin),       \
                                    revet::plugin_abi_version, \
                                    REVET_ABI_FINGERPRINT,     \
                                    NAME,                      \
                                    REVET_PLUGIN_VERSION,      \
                                    SUMMARY,                   \
                                    REGISTER};
