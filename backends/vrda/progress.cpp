#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace revet::vrda {
namespace {

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && term && std::string_view(term) != "dumb";
}

}  // namespace

Progress::Progress() : shown_(is_terminal()) {}

Progress::~Progress() {
  if (written_) std::fputs("\r\033[K", stderr);
}

void Progress::attach(sim::TimedOptions& options) {
  if (!shown_) return;
  options.heartbeat = [this](sim::Cycle cycle, std::uint64_t ended) { beat(cycle, ended); };
}

void Progress::beat(sim::Cycle cycle, std::uint64_t threads_ended) {
  const Clock::time_point now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(500)) return;
  last_ = now;
  written_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  fmt::print(stderr, "\r{:.0f} s: cycle {}, {} threads ended, {:.0f} cycles per second\033[K",
             seconds, cycle, threads_ended, static_cast<double>(cycle) / seconds);
  std::fflush(stderr);
}

}  // namespace revet::vrda
