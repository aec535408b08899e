#include "pass_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "../support/crash_guard.hpp"
#include "../support/files.hpp"
#include "places.hpp"
#include "reproducer.hpp"
#include "revet/abi.hpp"
#include "revet/text.hpp"

namespace revet {
namespace {

double cpu_now() {
  timespec t = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
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

/// A pass that only improves the module may be left out; one that changes its level or gives it a
/// property may not.
bool is_optional(const PassInfo& info) {
  return info.establishes.empty() && (info.output == Level::any || info.output == info.input);
}

/// An error of the run that a pass is the cause of.
Error of_pass(const PassEntry& entry, std::string message) {
  Error error(Exit::program, entry.loc, std::move(message));
  error.diagnostic.pass = entry.id;
  return error;
}

/// What a pass adds to properties that hold, and takes from them.
void update_established(std::vector<std::string>& established, const PassInfo& info, bool changed) {
  if (changed)
    for (const std::string& p : info.invalidates) std::erase(established, p);
  for (const std::string& p : info.establishes)
    if (std::find(established.begin(), established.end(), p) == established.end())
      established.push_back(p);
}

PassResult run_at_top_level(const PassInfo& info, Module& module, PassContext& context) {
  PassResult out = PassResult::of(false);
  bool some = false;
  if (module.body().empty()) context.visit(0);
  std::vector<std::uint64_t> places;
  for (Op& op : module.body()) places.push_back(op.serial());
  for (const std::uint64_t serial : places) {
    Op* op = find_op(module, serial);
    if (!op) continue;
    PassResult one = info.run_at(*op, context);
    if (one.outcome == PassResult::failed) {
      if (!some) out = std::move(one);
      continue;
    }
    some = true;
    if (out.outcome != PassResult::changed) out = std::move(one);
  }
  return out;
}

}  // namespace

Stopwatch::Stopwatch() : start_(std::chrono::steady_clock::now()), cpu_start_(cpu_now()) {}

double Stopwatch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double Stopwatch::cpu_seconds() const { return cpu_now() - cpu_start_; }

PassRunner::PassRunner(Module& module, const Pipeline& pipeline, Plugins& plugins,
                       const RunOptions& options, Diagnostics& diagnostics, PipelineReport& report)
    : module_(module),
      pipeline_(pipeline),
      plugins_(plugins),
      options_(options),
      diagnostics_(diagnostics),
      report_(report),
      established_(options.established),
      fuel_(options.fuel.value_or(PassContext::unlimited)) {
  refresh();
}

void PassRunner::refresh() {
  text_ = print(module_);
  hash_ = hash_of_text(text_);
}

Saved PassRunner::save() const { return {module_.clone(), text_, hash_, established_, fuel_}; }

void PassRunner::restore(Saved saved) {
  module_.take(*saved.module);
  text_ = std::move(saved.text);
  hash_ = saved.hash;
  established_ = std::move(saved.established);
  fuel_ = saved.fuel;
}

void PassRunner::assume(const PassInfo& info) { update_established(established_, info, true); }

PassReport& PassRunner::row(const PassEntry& entry) {
  for (PassReport& r : report_.passes)
    if (r.id == entry.id) return r;
  PassReport& r = report_.passes.emplace_back();
  r.id = entry.id;
  r.ops_before = count_ops(module_);
  return r;
}

void PassRunner::verify_module(const std::string& after) {
  const Stopwatch watch;
  Diagnostics found;
  const bool ok = verify(module_, found);
  report_.verify_seconds += watch.seconds();
  report_.verify_cpu_seconds += watch.cpu_seconds();
  if (ok) return;
  for (const Diagnostic& d : found.all()) diagnostics_.error(d.loc, d.message);
  throw InternalError(fmt::format("the module is broken after {}", after));
}

void PassRunner::verify_properties(const std::string& culprit) {
  struct Report : VerifyReport {
    explicit Report(Diagnostics& d) : diagnostics(d) {}
    void fail(const Op& op, std::string message) override {
      diagnostics.error(op.loc(), op.name() + ": " + message);
      failed = true;
    }
    Diagnostics& diagnostics;
    bool failed = false;
  };
  const Stopwatch watch;
  for (const std::string& name : established_) {
    const PropertyInfo* property = plugins_.property(name);
    if (!property) continue;
    Report report(diagnostics_);
    const auto who = [&] {
      return fmt::format("property '{}' of {}, verified after {},", name,
                         plugins_.origin("property:" + name), culprit);
    };
    run_blaming(who, [&] { property->check(module_, pipeline_.model.get(), report); });
    if (report.failed)
      throw InternalError(fmt::format("property '{}' does not hold after {}", name, culprit));
  }
  report_.verify_seconds += watch.seconds();
  report_.verify_cpu_seconds += watch.cpu_seconds();
}

void PassRunner::dump(const std::string& label, const std::string& header, bool dot) {
  std::string text = header.empty() ? "" : fmt::format("// {}\n", header);
  text += dot ? print_dot(module_) : print(module_);
  if (options_.dump_dir.empty()) {
    fmt::print(stderr, "// ----- {}\n{}", label, text);
    return;
  }
  std::string file = label;
  std::replace(file.begin(), file.end(), '/', '_');
  write_file(options_.dump_dir / fmt::format("{:03}-{}.{}", ++dumps_, file, dot ? "dot" : "rir"),
             text);
}

void PassRunner::dump_pass(const PassEntry& entry, bool after) {
  const std::string header =
      fmt::format("revet {}, {} {}: {}", REVET_CORE_VERSION, after ? "after" : "before",
                  pipeline_.describe(entry), print_entry(pipeline_, entry, plugins_));
  // To stderr the word comes first, as a reader wants it; files sort by number, then by id.
  if (options_.dump_dir.empty())
    dump(fmt::format("{} {}", after ? "after" : "before", entry.id), header);
  else
    dump(after ? entry.id : entry.id + "-before", header);
}

PassResult PassRunner::run(const PassEntry& entry, Op* place,
                           const std::function<std::string()>& rest) {
  const PassInfo& info = *plugins_.pass(entry.pass);
  const Level level = level_of(module_);
  if (info.input != Level::any && info.input != level)
    return PassResult::failure(
        fmt::format("it takes the {} level, but the module is at the {} level",
                    level_name(info.input), level_name(level)));
  for (const std::string& need : info.requires_)
    if (std::find(established_.begin(), established_.end(), need) == established_.end())
      return PassResult::failure(fmt::format("it requires '{}', which does not hold here", need));
  if (fuel_ == 0 && is_optional(info)) return PassResult::of(false);
  if (lists(options_.dump_before, entry.id)) dump_pass(entry, false);

  // What the pass is given, for a reproducer: by then it may have changed the module.
  Reproducer reproducer;
  reproducer.input = text_;
  reproducer.established = established_;
  const auto fill = [&](const char* error) {
    reproducer.pass = entry.id;
    reproducer.error = error;
    reproducer.pipeline = rest();
  };
  try {
    PassResult result = checked_run(info, entry, place);
    if (result.outcome == PassResult::failed && !options_.reproduce.always.empty()) {
      fill(result.reason.c_str());
      failure_ = std::move(reproducer);
    }
    return result;
  } catch (const Error& e) {
    diagnostics_.pass.clear();
    if (!options_.reproduce.always.empty()) {
      fill(e.what());
      failure_ = std::move(reproducer);
    }
    throw;
  } catch (const InternalError& e) {
    diagnostics_.pass.clear();
    if (!options_.reproduce.wanted) throw;
    fill(e.what());
    const std::string talk = write_crash_reproducer(reproducer, options_.reproduce, plugins_);
    throw InternalError(fmt::format("{}\n{}", e.what(), talk));
  }
}

PassResult PassRunner::checked_run(const PassInfo& info, const PassEntry& entry, Op* place) {
  PassReport& report = row(entry);
  const std::size_t errors_before = diagnostics_.error_count();
  PassContext context(entry.options, diagnostics_, fuel_);
  context.model = pipeline_.model;
  diagnostics_.pass = entry.id;
  const Stopwatch watch;
  const PassResult result = call(info, entry, place, context);
  report.seconds += watch.seconds();
  report.cpu_seconds += watch.cpu_seconds();
  diagnostics_.pass.clear();
  ++report.runs;
  if (context.visited >= 0)
    report.visited = std::max<std::int64_t>(0, report.visited) + context.visited;
  for (const auto& [name, n] : context.statistics) report.statistics[name] += n;
  if (diagnostics_.error_count() > errors_before)
    throw of_pass(entry, fmt::format("{} reported an error", pipeline_.describe(entry)));

  const std::uint64_t hash_before = hash_;
  refresh();
  // Before any check: a module that is found broken is what one wants to see.
  if (lists(options_.dump_after, entry.id)) dump_pass(entry, true);
  const bool changed = result.outcome == PassResult::changed;
  const bool differs = hash_ != hash_before;
  if (changed != differs)
    throw InternalError(
        fmt::format("{} of {} said that the module is {}, but it is {}", pipeline_.describe(entry),
                    plugins_.origin("pass:" + entry.pass),
                    result.outcome == PassResult::failed ? "unchanged, for it failed"
                                                         : (changed ? "changed" : "unchanged"),
                    differs ? "changed" : "unchanged"));
  report.ops_after = count_ops(module_);
  if (result.outcome == PassResult::failed) return result;
  // An unchanged module keeps what it had.
  update_established(established_, info, changed);
  if (!changed && info.establishes.empty()) return result;

  if (changed) {
    ++report.changed;
    const std::int64_t spent = std::max<std::int64_t>(1, context.spent);
    report.changes += spent;
    if (is_optional(info)) {
      changes_ += spent;
      last_change_ = entry.id;
      if (fuel_ != PassContext::unlimited) fuel_ -= std::min(fuel_, spent);
    }
  }
  if (options_.verify == VerifyWhen::each) {
    const std::string after =
        fmt::format("{} of {}", pipeline_.describe(entry), plugins_.origin("pass:" + entry.pass));
    if (changed) verify_module(after);
    verify_properties(after);
  }
  return result;
}

PassResult PassRunner::call(const PassInfo& info, const PassEntry& entry, Op* place,
                            PassContext& context) {
  PassResult result = PassResult::of(false);
  const std::string where = place ? fmt::format(" (at {})", path_of(place)) : "";
  const auto who = [&] {
    return fmt::format("{} of {}{}", pipeline_.describe(entry),
                       plugins_.origin("pass:" + entry.pass), where);
  };
  try {
    run_blaming(who, [&] {
      if (place)
        result = info.run_at(*place, context);
      else if (info.run)
        result = info.run(module_, context);
      else
        result = run_at_top_level(info, module_, context);
    });
  } catch (Error& e) {
    e.diagnostic.pass = entry.id;
    throw;
  }
  return result;
}

}  // namespace revet
