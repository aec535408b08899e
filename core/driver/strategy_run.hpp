/// Executes a strategy. Every combinator's meaning is in docs/pipelines.md.
#pragma once

#include "pass_runner.hpp"

namespace revet {

class StrategyRunner {
 public:
  StrategyRunner(PassRunner& passes, const Pipeline& pipeline, Plugins& plugins,
                 const RunOptions& options, Diagnostics& diagnostics, Trace& trace);

  /// Runs `main`. Throws Error (exit 1) where it fails.
  void run();

  /// True once the pass of --stop-after has run: nothing more runs.
  bool stopped() const { return stopped_; }

 private:
  struct Outcome {
    PassResult::Outcome result = PassResult::unchanged;
    std::string reason = {};
    Loc loc = {};           ///< of the strategy that failed
    std::string pass = {};  ///< id, where a pass is the reason
    bool failed() const { return result == PassResult::failed; }
    bool changed() const { return result == PassResult::changed; }
  };
  /// Serial of an op, which outlives rollbacks; 0 is the whole module.
  using Place = std::uint64_t;

  Outcome run(const Strategy& s, Place place);
  Outcome dispatch(const Strategy& s, Place place);
  /// Runs, and undoes everything where that fails.
  Outcome attempt(const Strategy& s, Place place);

  Outcome pass(const Strategy& s, Place place);
  Outcome sequence(const Strategy& s, Place place);
  Outcome first_of(const Strategy& s, Place place);
  Outcome repeat(const Strategy& s, Place place);
  Outcome times(const Strategy& s, Place place);
  Outcome normalize(const Strategy& s, Place place);
  Outcome choose(const Strategy& s, Place place);
  Outcome negation(const Strategy& s, Place place);
  Outcome children(const Strategy& s, Place place);
  Outcome at(const Strategy& s, Place place);
  void topmost(const Strategy& s, Place place, unsigned& matches, bool& changed);

  Op* op_of(Place place) const;
  bool matches(const Strategy& at, Place place) const;
  bool holds(const Predicate& predicate, Place place) const;
  std::string rest_of_pipeline(const PassEntry& entry, const Op* place) const;
  bool skips(const Strategy& s) const;

  PassRunner& passes_;
  const Pipeline& pipeline_;
  Plugins& plugins_;
  Diagnostics& diagnostics_;
  Trace* trace_;                           ///< null where nobody asked
  std::size_t top_ = 0;                    ///< part of main that runs
  std::optional<std::size_t> start_at_;    ///< entry; until it is reached, nothing runs
  std::optional<std::size_t> stop_after_;  ///< entry
  bool stopped_ = false;
  bool last_changed_ = false;  ///< by the step before, for the predicate `changed`
};

}  // namespace revet
