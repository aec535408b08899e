/// Runs a checked pipeline over a module: dumps, verification, timing, statistics and reproducers
/// are made here, never in a pass.
#pragma once

#include <functional>
#include <optional>

#include "pipeline.hpp"
#include "revet/ir.hpp"
#include "trace.hpp"

namespace revet {

enum class VerifyWhen { each, ends, none };

struct RunOptions {
  VerifyWhen verify = VerifyWhen::each;
  std::vector<std::string> dump_after;   ///< ids, or "all"
  std::vector<std::string> dump_before;  ///< ids, or "all"
  std::filesystem::path dump_dir;        ///< empty: dumps go to stderr
  std::string start_at;                  ///< id of the first pass to run
  std::string stop_after;                ///< id of the last pass to run
  std::vector<std::string> established;  ///< properties that the module has
  std::optional<std::int64_t> fuel;      ///< changes that optional passes may make
  bool trace = false;                    ///< fill PipelineReport::trace
  bool verbose = false;
  /// What a failing pass leaves behind, or every run if `always`; see reproducer.hpp.
  struct Reproduce {
    bool wanted = true;
    std::filesystem::path directory;   ///< where revet-crash-* is made; empty: here
    std::filesystem::path always;      ///< not empty: one is written there, whatever happens
    std::vector<std::string> command;  ///< words of the command line
    std::string program;               ///< name of the program
  } reproduce;
};

/// One row of --time-passes and --print-pass-stats: all runs of one entry.
struct PassReport {
  std::string id;
  double seconds = 0;      ///< elapsed
  double cpu_seconds = 0;  ///< of all threads
  unsigned runs = 0;
  unsigned changed = 0;  ///< runs that changed the module
  std::size_t ops_before = 0;
  std::size_t ops_after = 0;
  std::int64_t visited = -1;  ///< below 0: the pass does not say
  std::int64_t changes = 0;   ///< as the pass counts them, or its runs that changed the module
  std::map<std::string, std::int64_t> statistics;
};

struct PipelineReport {
  std::vector<PassReport> passes;  ///< in the order of their first runs
  double verify_seconds = 0;
  double verify_cpu_seconds = 0;
  double total_seconds = 0;
  double total_cpu_seconds = 0;
  Trace trace;
};

/// Runs `main`. What was done until the end, or until an exception, is in `report`. Throws Error
/// (exit 1) where a pass fails or reports an error (which is then in `diagnostics`), InternalError
/// where a pass breaks the module, lies about it, or crashes.
void run_pipeline(Module& module, const Pipeline& pipeline, Plugins& plugins,
                  const RunOptions& options, Diagnostics& diagnostics, PipelineReport& report);

/// The reports as text tables, or as JSON.
std::string time_table(const PipelineReport& report, bool json);
std::string statistics_table(const PipelineReport& report);

}  // namespace revet
