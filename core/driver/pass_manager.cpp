#include "pass_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "../support/files.hpp"
#include "revet/text.hpp"

namespace revet {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::size_t count_ops(const Module& module) {
  std::size_t n = 0;
  walk(module, [&](Op&) { ++n; });
  return n;
}

bool lists(const std::vector<std::string>& ids, const std::string& id) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](const std::string& s) { return s == id || s == "all"; });
}

void require_id(const Pipeline& pipeline, const std::string& id, const char* flag) {
  if (!id.empty() && id != "all") pipeline.entry(id, fmt::format("{} {}", flag, id));
}

class Runner {
 public:
  Runner(Module& module, const Pipeline& pipeline, Plugins& plugins, const RunOptions& options,
         Diagnostics& diagnostics)
      : module_(module),
        pipeline_(pipeline),
        plugins_(plugins),
        options_(options),
        diagnostics_(diagnostics) {}

  PipelineReport run() {
    for (const std::string& id : options_.dump_after) require_id(pipeline_, id, "--dump-after");
    for (const std::string& id : options_.dump_before) require_id(pipeline_, id, "--dump-before");
    require_id(pipeline_, options_.start_at, "--start-at");
    require_id(pipeline_, options_.stop_after, "--stop-after");
    if (options_.verify != VerifyWhen::none) verify_module("the input");
    hash_ = hash_of(module_);
    bool started = options_.start_at.empty();
    for (const PassEntry& entry : pipeline_.entries) {
      started = started || entry.id == options_.start_at;
      if (started && !entry.disabled) run_entry(entry);
      if (entry.id == options_.stop_after) break;
    }
    if (options_.verify == VerifyWhen::ends) verify_module("the pipeline");
    return std::move(report_);
  }

 private:
  void verify_module(const std::string& after) {
    const auto start = Clock::now();
    Diagnostics found;
    const bool ok = verify(module_, found);
    report_.verify_seconds += seconds_since(start);
    if (ok) return;
    for (const Diagnostic& d : found.all()) diagnostics_.error(d.loc, d.message);
    throw InternalError(fmt::format("the module is broken after {}", after));
  }

  void dump(const PassEntry& entry, const char* when) {
    const std::string text = print(module_);
    if (options_.dump_dir.empty()) {
      fmt::print(stderr, "// ----- {} {}\n{}", when, entry.id, text);
      return;
    }
    std::string file = entry.id;
    std::replace(file.begin(), file.end(), '/', '_');
    write_file(options_.dump_dir / fmt::format("{:03}-{}-{}.rir", ++dumps_, when, file), text);
  }

  void run_entry(const PassEntry& entry) {
    const PassInfo& info = *plugins_.pass(entry.pass);
    if (lists(options_.dump_before, entry.id)) dump(entry, "before");
    PassReport row;
    row.id = entry.id;
    row.ops_before = count_ops(module_);
    const std::size_t errors_before = diagnostics_.error_count();
    PassContext context(entry.options, diagnostics_);
    diagnostics_.pass = entry.id;
    const auto start = Clock::now();
    const PassResult result = call(info, entry, context);
    row.seconds = seconds_since(start);
    diagnostics_.pass.clear();
    if (diagnostics_.error_count() > errors_before)
      throw Error(Exit::program, entry.loc, fmt::format("pass '{}' reported an error", entry.id));
    if (result.outcome == PassResult::failed)
      throw Error(Exit::program, entry.loc,
                  fmt::format("pass '{}' failed: {}", entry.id, result.reason));
    row.changed = result.outcome == PassResult::changed;
    // Hashing prints the whole module, so what is known from the pass before is kept.
    const std::uint64_t hash_before = std::exchange(hash_, hash_of(module_));
    const bool differs = hash_ != hash_before;
    if (row.changed != differs)
      throw InternalError(fmt::format("pass '{}' said that the module is {}, but it is {}",
                                      entry.id, row.changed ? "changed" : "unchanged",
                                      differs ? "changed" : "unchanged"));
    row.ops_after = count_ops(module_);
    row.statistics = std::move(context.statistics);
    report_.passes.push_back(std::move(row));
    if (options_.verify == VerifyWhen::each) {
      verify_module(fmt::format("pass '{}'", entry.id));
      verify_properties(info, entry);
    }
    if (lists(options_.dump_after, entry.id)) dump(entry, "after");
  }

  PassResult call(const PassInfo& info, const PassEntry& entry, PassContext& context) {
    const auto blame = [&](const std::string& what) {
      return InternalError(fmt::format("pass '{}' of {} threw: {}", entry.id,
                                       plugins_.origin("pass:" + entry.pass), what));
    };
    try {
      return info.run(module_, context);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      throw blame(e.what());
    } catch (...) {
      throw blame("something that is not a std::exception");
    }
  }

  /// What a pass establishes must hold, and what held before must still hold unless the pass says
  /// that it invalidates it.
  void verify_properties(const PassInfo& info, const PassEntry& entry) {
    const auto start = Clock::now();
    for (const std::string& p : info.invalidates) std::erase(established_, p);
    established_.insert(established_.end(), info.establishes.begin(), info.establishes.end());
    struct Report : VerifyReport {
      explicit Report(Diagnostics& d) : diagnostics(d) {}
      void fail(const Op& op, std::string message) override {
        diagnostics.error(op.loc(), op.name() + ": " + message);
        failed = true;
      }
      Diagnostics& diagnostics;
      bool failed = false;
    };
    for (const std::string& name : established_) {
      const PropertyInfo* property = plugins_.property(name);
      if (!property) continue;
      Report report(diagnostics_);
      property->verify(module_, report);
      if (report.failed)
        throw InternalError(
            fmt::format("property '{}' does not hold after pass '{}'", name, entry.id));
    }
    report_.verify_seconds += seconds_since(start);
  }

  Module& module_;
  const Pipeline& pipeline_;
  Plugins& plugins_;
  const RunOptions& options_;
  Diagnostics& diagnostics_;
  PipelineReport report_;
  std::vector<std::string> established_;
  std::uint64_t hash_ = 0;  ///< of the module as the last pass left it
  unsigned dumps_ = 0;
};

}  // namespace

PipelineReport run_pipeline(Module& module, const Pipeline& pipeline, Plugins& plugins,
                            const RunOptions& options, Diagnostics& diagnostics) {
  return Runner(module, pipeline, plugins, options, diagnostics).run();
}

std::string time_table(const PipelineReport& report, bool json) {
  double total = report.verify_seconds;
  for (const PassReport& row : report.passes) total += row.seconds;
  if (json) {
    nlohmann::json j;
    j["schema"] = 1;
    j["rows"] = nlohmann::json::array();
    for (const PassReport& row : report.passes)
      j["rows"].push_back({{"id", row.id}, {"seconds", row.seconds}});
    j["rows"].push_back({{"id", "(verify)"}, {"seconds", report.verify_seconds}});
    j["total"] = total;
    return j.dump() + "\n";
  }
  std::string out = "    seconds   share  pass\n";
  const auto add = [&](const std::string& id, double s) {
    out += fmt::format("{:11.6f}  {:5.1f}%  {}\n", s, total > 0 ? 100 * s / total : 0.0, id);
  };
  for (const PassReport& row : report.passes) add(row.id, row.seconds);
  add("(verify)", report.verify_seconds);
  add("(total)", total);
  return out;
}

std::string statistics_table(const PipelineReport& report) {
  std::string out;
  for (const PassReport& row : report.passes) {
    out += fmt::format("{}: {}, ops {} -> {}\n", row.id, row.changed ? "changed" : "unchanged",
                       row.ops_before, row.ops_after);
    for (const auto& [name, n] : row.statistics) out += fmt::format("{:>12}  {}\n", n, name);
  }
  return out;
}

}  // namespace revet
