#include "chrome_trace.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report.hpp"

namespace revet::vrda {
namespace {

using sim::Cycle;

constexpr std::size_t buffer_bytes = 1 << 16;
constexpr Cycle sample_cycles = 1000;
constexpr int dram_process = 4;

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

ChromeTrace::ChromeTrace(const std::string& file, Filter filter, const sim::Mapping& mapping,
                         const Machine& machine)
    : file_(file == "-" ? "/dev/stdout" : file), filter_(std::move(filter)), machine_(machine) {
  buffer_ = fmt::format(
      "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"machine\":{},\"clock_ghz\":{}}},"
      "\"traceEvents\":[",
      quoted(machine.name), machine.clock_ghz);
  const auto name = [&](int process, const char* what, std::size_t thread,
                        const std::string& text) {
    event(fmt::format(
        "{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", what,
        process, thread, quoted(text)));
  };
  bool any = false;
  for (int kind = 0; kind < 3; ++kind) {
    const char* title = unit_kind_name(static_cast<UnitKind>(kind));
    name(kind + 1, "process_name", 0, title);
  }
  name(dram_process, "process_name", 0, "DRAM");
  for (std::size_t u = 0; u < mapping.units.size(); ++u) {
    const std::string path = unit_path(mapping, u);
    const bool shown = ::fnmatch(filter_.units.c_str(), path.c_str(), 0) == 0;
    any |= shown;
    process_.push_back(shown ? static_cast<int>(mapping.units[u].kind) + 1 : 0);
    if (shown) name(process_.back(), "thread_name", u, path);
  }
  if (!any)
    throw Error(Exit::usage,
                fmt::format("'trace-units' matches no unit: '{}'; there are {}, the first is '{}'",
                            filter_.units, mapping.units.size(),
                            mapping.units.empty() ? "" : unit_path(mapping, 0)));
}

double ChromeTrace::microseconds(Cycle cycles) const {
  return static_cast<double>(cycles) / (machine_.clock_ghz * 1e3);
}

void ChromeTrace::event(const std::string& json) {
  buffer_ += first_ ? "\n" : ",\n";
  first_ = false;
  buffer_ += json;
  if (buffer_.size() < buffer_bytes) return;
  file_.add(buffer_);
  buffer_.clear();
}

void ChromeTrace::interval(std::uint32_t unit, int state, Cycle from, Cycle to) {
  if (state == sim::UnitCycles::idle || process_[unit] == 0) return;
  from = std::max(from, filter_.from);
  to = std::min(to, filter_.to);
  if (from >= to) return;
  constexpr const char* names[] = {"busy", "starved", "blocked"};
  // The colours are names that the viewers know.
  constexpr const char* colours[] = {"good", "bad", "terrible"};
  event(fmt::format(
      "{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.6f},\"dur\":{:.6f},"
      "\"cname\":\"{}\",\"args\":{{\"from\":{},\"to\":{}}}}}",
      names[state], process_[unit], unit, microseconds(from), microseconds(to - from),
      colours[state], from, to));
}

void ChromeTrace::counter(Cycle at, double read, double written) {
  event(
      fmt::format("{{\"name\":\"GB/s\",\"ph\":\"C\",\"pid\":{},\"ts\":{:.6f},"
                  "\"args\":{{\"read\":{:.3f},\"written\":{:.3f}}}}}",
                  dram_process, microseconds(at), read, written));
}

void ChromeTrace::sample(Cycle to, std::uint64_t bytes_read, std::uint64_t bytes_written) {
  const auto rate = [&](std::uint64_t bytes) {
    return static_cast<double>(bytes) * machine_.clock_ghz / static_cast<double>(to - sampled_);
  };
  if (to > sampled_ && to > filter_.from && sampled_ < filter_.to)
    counter(sampled_, rate(bytes_read - read_), rate(bytes_written - written_));
  sampled_ = to;
  read_ = bytes_read;
  written_ = bytes_written;
}

void ChromeTrace::attach(sim::TimedOptions& options) {
  options.on_interval = [this](std::uint32_t unit, int state, Cycle from, Cycle to) {
    interval(unit, state, from, to);
  };
  options.sample_every = sample_cycles;
  options.on_sample = [this](Cycle now, std::uint64_t bytes_read, std::uint64_t bytes_written) {
    sample(now, bytes_read, bytes_written);
  };
}

void ChromeTrace::finish(const sim::TimedResult& result) {
  sample(result.cycles, result.dram.bytes_read, result.dram.bytes_written);
  counter(std::min(result.cycles, filter_.to), 0, 0);
  buffer_ += "\n]}\n";
  file_.add(buffer_);
  file_.finish();
}

}  // namespace revet::vrda
