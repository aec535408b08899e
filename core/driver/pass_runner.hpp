/// Runs one pass on a module, or at a place in it, and holds it to what it declares.
#pragma once

#include <chrono>

#include "pass_manager.hpp"
#include "reproducer.hpp"

namespace revet {

/// Wall and CPU time since it was made.
class Stopwatch {
 public:
  Stopwatch();
  double seconds() const;
  double cpu_seconds() const;

 private:
  std::chrono::steady_clock::time_point start_;
  double cpu_start_;
};

/// The module and what is known about it, to go back to.
struct Saved {
  std::unique_ptr<Module> module;
  std::string text;
  std::uint64_t hash;
  std::vector<std::string> established;
  std::int64_t fuel;
};

class PassRunner {
 public:
  PassRunner(Module& module, const Pipeline& pipeline, Plugins& plugins, const RunOptions& options,
             Diagnostics& diagnostics, PipelineReport& report);

  /// Runs the entry; `place` null is the whole module. `rest` gives the pipeline from this run on,
  /// for a reproducer.
  PassResult run(const PassEntry& entry, Op* place, const std::function<std::string()>& rest);

  /// Of the last pass that failed or reported an error; see RunOptions::Reproduce::always.
  const std::optional<Reproducer>& failure() const { return failure_; }

  Saved save() const;
  void restore(Saved saved);

  const Module& module() const { return module_; }
  /// Of the module, without regard to locations.
  std::uint64_t hash() const { return hash_; }
  const std::string& text() const { return text_; }
  const std::vector<std::string>& established() const { return established_; }
  /// What an entry that is not run would have established.
  void assume(const PassInfo& info);

  /// The module to a file or stderr, as "ir" or "dot". `label` names it, `header` (may be empty) is
  /// a comment.
  void dump(const std::string& label, const std::string& header, bool dot = false);
  void verify_module(const std::string& after);
  /// Properties that are said to hold; `culprit` for the message.
  void verify_properties(const std::string& culprit);
  /// Changes left, or PassContext::unlimited.
  std::int64_t fuel() const { return fuel_; }
  /// The last pass that used fuel.
  const std::string& last_change() const { return last_change_; }
  std::int64_t changes() const { return changes_; }

 private:
  PassResult call(const PassInfo& info, const PassEntry& entry, Op* place, PassContext& context);
  PassResult checked_run(const PassInfo& info, const PassEntry& entry, Op* place);
  PassReport& row(const PassEntry& entry);
  void dump_pass(const PassEntry& entry, bool after);
  void refresh();

  Module& module_;
  const Pipeline& pipeline_;
  Plugins& plugins_;
  const RunOptions& options_;
  Diagnostics& diagnostics_;
  PipelineReport& report_;
  std::vector<std::string> established_;
  std::string text_;  ///< the module printed, as the last pass left it
  std::uint64_t hash_ = 0;
  std::int64_t fuel_;
  std::int64_t changes_ = 0;
  std::string last_change_;
  std::optional<Reproducer> failure_;
  unsigned dumps_ = 0;
};

}  // namespace revet
