/// Runs a checked pipeline over a module: dumps, verification, timing and statistics are made here,
/// never in a pass.
#pragma once

#include <functional>
#include <optional>

#include "pipeline.hpp"
#include "revet/ir.hpp"

namespace revet {

enum class VerifyWhen { each, ends, none };

struct RunOptions {
  VerifyWhen verify = VerifyWhen::each;
  std::vector<std::string> dump_after;   ///< ids, or "all"
  std::vector<std::string> dump_before;  ///< ids, or "all"
  std::filesystem::path dump_dir;        ///< empty: dumps go to stderr
  std::string start_at;                  ///< id of the first pass to run
  std::string stop_after;                ///< id of the last pass to run
};

/// One row of --time-passes and --print-pass-stats.
struct PassReport {
  std::string id;
  double seconds = 0;
  bool changed = false;
  std::size_t ops_before = 0;
  std::size_t ops_after = 0;
  std::map<std::string, std::int64_t> statistics;
};

struct PipelineReport {
  std::vector<PassReport> passes;
  double verify_seconds = 0;
};

/// Runs the passes. Throws Error (exit 1) where a pass fails or reports an error (which is then in
/// `diagnostics`), InternalError where a pass breaks the module or lies about it.
PipelineReport run_pipeline(Module& module, const Pipeline& pipeline, Plugins& plugins,
                            const RunOptions& options, Diagnostics& diagnostics);

/// Both reports as text tables, or as JSON.
std::string time_table(const PipelineReport& report, bool json);
std::string statistics_table(const PipelineReport& report);

}  // namespace revet
