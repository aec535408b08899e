/// How far a long run is, on a terminal.
#pragma once

#include <chrono>

#include "revet/sim/timed.hpp"

namespace revet::vrda {

/// One line on stderr that is written over; nothing where stderr is no terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void attach(sim::TimedOptions& options);

 private:
  using Clock = std::chrono::steady_clock;
  void beat(sim::Cycle cycle, std::uint64_t threads_ended);

  const bool shown_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  bool written_ = false;
};

}  // namespace revet::vrda
