/// What the units did in time, for trace viewers (Perfetto, chrome://tracing).
#pragma once

#include <string>

#include "revet/sim/timed.hpp"
#include "support/files.hpp"

namespace revet::vrda {

/// Writes the JSON of the "Trace Event Format" while the run goes on, in bounded memory. A process
/// for each kind of unit, a thread for each unit, a slice for each interval in which it was busy,
/// starved or blocked; what DRAM moves is a counter. Times are microseconds of the machine; the
/// cycles are in the arguments, and add up to those of --stats.
class ChromeTrace {
 public:
  struct Filter {
    sim::Cycle from = 0, to = ~sim::Cycle{0};  ///< what is outside is cut off
    std::string units = "*";                   ///< pattern of paths, as of a shell
  };
  /// `file` "-" is stdout. Throws Error (exit 2) where no unit matches.
  ChromeTrace(const std::string& file, Filter filter, const sim::Mapping& mapping,
              const Machine& machine);
  /// Listens to a run.
  void attach(sim::TimedOptions& options);
  /// The run has ended.
  void finish(const sim::TimedResult& result);

 private:
  void event(const std::string& json);
  void interval(std::uint32_t unit, int state, sim::Cycle from, sim::Cycle to);
  void sample(sim::Cycle to, std::uint64_t bytes_read, std::uint64_t bytes_written);
  void counter(sim::Cycle at, double read, double written);
  double microseconds(sim::Cycle cycles) const;

  OutputFile file_;
  const Filter filter_;
  const Machine& machine_;
  std::string buffer_;
  std::vector<int> process_;  ///< of each unit; 0: filtered out
  sim::Cycle sampled_ = 0;
  std::uint64_t read_ = 0, written_ = 0;  ///< bytes at that cycle
  bool first_ = true;
};

}  // namespace revet::vrda
