/// What a run tried, for --strategy-trace and --explain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategy.hpp"

namespace revet {

struct TraceStep {
  std::string path;     ///< of the strategy: "main[2].try"
  std::string rule;     ///< id of a pass, or the verb of a combinator
  std::string place;    ///< "main/foreach#0"; "" for the whole module
  unsigned depth = 0;   ///< steps around this one
  std::string outcome;  ///< "changed", "unchanged", "failed"; "error" where the run ended in it
  std::string reason;   ///< why it failed
  std::uint64_t before = 0;  ///< hash of the module
  std::uint64_t after = 0;
  double milliseconds = 0;
};

class Trace {
 public:
  /// Opens a step inside the one that is open; gives its number.
  std::size_t open(TraceStep step);
  void close(std::size_t step, std::string outcome, std::string reason, std::uint64_t after,
             double milliseconds);
  const std::vector<TraceStep>& steps() const { return steps_; }

  /// One JSON object per line, in the order in which the steps began.
  std::string json_lines() const;
  /// The failures, deepest first, then the whole tree.
  std::string explain() const;

 private:
  std::vector<TraceStep> steps_;
  unsigned depth_ = 0;
};

}  // namespace revet
