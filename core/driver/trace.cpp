#include "trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace revet {

std::size_t Trace::open(TraceStep step) {
  step.depth = depth_++;
  step.outcome = "error";
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

void Trace::close(std::size_t step, std::string outcome, std::string reason, std::uint64_t after,
                  double milliseconds) {
  --depth_;
  steps_[step].outcome = std::move(outcome);
  steps_[step].reason = std::move(reason);
  steps_[step].after = after;
  steps_[step].milliseconds = milliseconds;
}

std::string Trace::json_lines() const {
  std::string out;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const TraceStep& s = steps_[i];
    nlohmann::ordered_json j;
    j["step"] = i;
    j["depth"] = s.depth;
    j["path"] = s.path;
    j["rule"] = s.rule;
    j["place"] = s.place;
    j["outcome"] = s.outcome;
    j["reason"] = s.reason;
    j["before"] = fmt::format("{:016x}", s.before);
    j["after"] = fmt::format("{:016x}", s.after);
    j["ms"] = s.milliseconds;
    out += j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return out;
}

std::string Trace::explain() const {
  const auto line = [](const TraceStep& s) {
    return fmt::format("{}{}{}", s.outcome, s.place.empty() ? "" : " at " + s.place,
                       s.reason.empty() ? "" : ": " + s.reason);
  };
  std::vector<const TraceStep*> failures;
  for (const TraceStep& s : steps_)
    if (s.outcome == "failed" || s.outcome == "error") failures.push_back(&s);
  std::stable_sort(failures.begin(), failures.end(),
                   [](const TraceStep* a, const TraceStep* b) { return a->depth > b->depth; });
  std::string out = failures.empty() ? "nothing failed\n" : "failures, deepest first\n";
  for (const TraceStep* s : failures)
    out += fmt::format("  {} ({}) {}\n", s->path, s->rule, line(*s));
  out += "what was tried\n";
  for (const TraceStep& s : steps_)
    out += fmt::format("  {:{}}{} ({}) {}\n", "", 2 * s.depth, s.path, s.rule, line(s));
  return out;
}

}  // namespace revet
