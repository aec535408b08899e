#include "strategy_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "places.hpp"

namespace revet {
namespace {

/// True if the strategy can fail after it changed something, so that a choice around it must be
/// able to go back. A pass that fails has changed nothing: the driver makes sure of it.
bool leaves_changes(const Strategy& s) {
  const auto any = [&] { return std::any_of(s.parts.begin(), s.parts.end(), leaves_changes); };
  switch (s.kind) {
    case Strategy::sequence: return s.parts.size() > 1 || any();
    case Strategy::times: return s.count > 1 || any();
    case Strategy::all: return true;
    case Strategy::choose: return !s.predicate || any();
    default: return false;  // these go back themselves
  }
}

/// Places below and at an op, children before parents.
void post_order(const Module& module, Op* op, std::vector<std::uint64_t>& out) {
  for (Op* child : children_of(module, op)) post_order(module, child, out);
  if (op) out.push_back(op->serial());
}

const char* outcome_name(PassResult::Outcome outcome) {
  switch (outcome) {
    case PassResult::changed: return "changed";
    case PassResult::unchanged: return "unchanged";
    case PassResult::failed: return "failed";
  }
  return "";
}

}  // namespace

StrategyRunner::StrategyRunner(PassRunner& passes, const Pipeline& pipeline, Plugins& plugins,
                               const RunOptions& options, Diagnostics& diagnostics, Trace& trace)
    : passes_(passes),
      pipeline_(pipeline),
      plugins_(plugins),
      diagnostics_(diagnostics),
      trace_(options.trace ? &trace : nullptr) {
  const auto find = [&](const std::string& id, const char* flag) -> std::optional<std::size_t> {
    if (id.empty()) return std::nullopt;
    const PassEntry& e = pipeline_.entry(id, fmt::format("{} {}", flag, id));
    return static_cast<std::size_t>(&e - pipeline_.entries.data());
  };
  start_at_ = find(options.start_at, "--start-at");
  stop_after_ = find(options.stop_after, "--stop-after");
  for (std::size_t i = 0; start_at_ && i < *start_at_; ++i)
    if (!pipeline_.entries[i].disabled) passes_.assume(*plugins_.pass(pipeline_.entries[i].pass));
}

void StrategyRunner::run() {
  const Outcome outcome = run(pipeline_.main, 0);
  if (!outcome.failed()) return;
  Error error(Exit::program, outcome.loc, outcome.reason);
  error.diagnostic.pass = outcome.pass;
  throw error;
}

bool StrategyRunner::skips(const Strategy& s) const {
  return stopped_ || (start_at_ && !s.contains_entry(*start_at_));
}

StrategyRunner::Outcome StrategyRunner::run(const Strategy& s, Place place) {
  if (skips(s)) return {};
  std::size_t step = 0;
  const Stopwatch watch;
  if (trace_) {
    TraceStep t;
    t.path = s.path;
    t.rule = s.kind == Strategy::pass ? pipeline_.entries[s.entry].id : verb_of(s.kind);
    t.place = path_of(op_of(place));
    t.before = passes_.hash();
    step = trace_->open(std::move(t));
  }
  Outcome outcome = dispatch(s, place);
  if (trace_)
    trace_->close(step, outcome_name(outcome.result), outcome.reason, passes_.hash(),
                  watch.seconds() * 1e3);
  last_changed_ = outcome.changed();
  if (outcome.failed() && !outcome.loc.known()) outcome.loc = s.loc;
  return outcome;
}

StrategyRunner::Outcome StrategyRunner::dispatch(const Strategy& s, Place place) {
  switch (s.kind) {
    case Strategy::pass: return pass(s, place);
    case Strategy::sequence: return sequence(s, place);
    case Strategy::id: return {};
    case Strategy::fail: return {PassResult::failed, "'fail' always fails"};
    case Strategy::first_of: return first_of(s, place);
    case Strategy::attempt: {
      Outcome o = attempt(s.parts[0], place);
      return o.failed() ? Outcome{} : o;
    }
    case Strategy::repeat: return repeat(s, place);
    case Strategy::times: return times(s, place);
    case Strategy::normalize: return normalize(s, place);
    case Strategy::choose: return choose(s, place);
    case Strategy::negation: return negation(s, place);
    case Strategy::one:
    case Strategy::all:
    case Strategy::some: return children(s, place);
    case Strategy::at: return at(s, place);
    case Strategy::check:
      if (holds(*s.predicate, place)) return {};
      return {PassResult::failed, fmt::format("check: '{}' does not hold", s.predicate->text)};
    case Strategy::dump: passes_.dump(s.path, "", s.text == "dot"); return {};
    case Strategy::note: diagnostics_.note(s.loc, s.text); return {};
  }
  return {};
}

StrategyRunner::Outcome StrategyRunner::attempt(const Strategy& s, Place place) {
  std::optional<Saved> saved;
  if (leaves_changes(s)) saved = passes_.save();
  Outcome o = run(s, place);
  if (o.failed() && saved && passes_.hash() != saved->hash) passes_.restore(std::move(*saved));
  return o;
}

StrategyRunner::Outcome StrategyRunner::pass(const Strategy& s, Place place) {
  const PassEntry& entry = pipeline_.entries[s.entry];
  start_at_.reset();
  Outcome out;
  if (!entry.disabled) {
    Op* op = op_of(place);
    if (place != 0 && !op) return {PassResult::failed, "the place is gone"};
    PassResult r = passes_.run(entry, op, [&] { return rest_of_pipeline(entry, op); });
    out.result = r.outcome;
    if (out.failed()) {
      out.reason = fmt::format("{} failed: {}", pipeline_.describe(entry), r.reason);
      out.pass = entry.id;
    }
  }
  if (stop_after_ == s.entry) stopped_ = true;
  return out;
}

StrategyRunner::Outcome StrategyRunner::sequence(const Strategy& s, Place place) {
  Outcome out;
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    if (&s == &pipeline_.main) top_ = i;
    Outcome o = run(s.parts[i], place);
    if (o.failed()) return o;
    if (o.changed()) out.result = PassResult::changed;
  }
  return out;
}

StrategyRunner::Outcome StrategyRunner::first_of(const Strategy& s, Place place) {
  Outcome last{PassResult::failed, "'first-of' has no alternatives"};
  for (const Strategy& part : s.parts) {
    if (start_at_ && skips(part)) continue;
    Outcome o = attempt(part, place);
    if (!o.failed()) return o;
    last = std::move(o);
  }
  if (s.parts.size() > 1)
    last.reason = fmt::format("none of the {} alternatives succeeds; the last: {}", s.parts.size(),
                              last.reason);
  return last;
}

StrategyRunner::Outcome StrategyRunner::repeat(const Strategy& s, Place place) {
  Outcome out;
  for (std::int64_t round = 0; round < s.count; ++round) {
    const std::uint64_t before = passes_.hash();
    const Outcome o = attempt(s.parts[0], place);
    if (o.failed() || passes_.hash() == before || stopped_) break;
    out.result = PassResult::changed;
    if (round + 1 == s.count)
      diagnostics_.note(s.loc, fmt::format("'repeat' stopped after {} rounds (max)", s.count));
  }
  return out;
}

StrategyRunner::Outcome StrategyRunner::times(const Strategy& s, Place place) {
  Outcome out;
  for (std::int64_t round = 0; round < s.count; ++round) {
    Outcome o = run(s.parts[0], place);
    if (o.failed()) return o;
    if (o.changed()) out.result = PassResult::changed;
  }
  return out;
}

/// repeat(topDown s): the first place, parents before children, where the rules change something,
/// until there is none. Whole-module passes have one place, the module.
StrategyRunner::Outcome StrategyRunner::normalize(const Strategy& s, Place place) {
  const std::function<bool(const Strategy&)> local = [&](const Strategy& part) {
    if (part.kind == Strategy::pass)
      return static_cast<bool>(plugins_.pass(pipeline_.entries[part.entry].pass)->run_at);
    return std::all_of(part.parts.begin(), part.parts.end(), local);
  };
  const Strategy& rules = s.parts[0];
  const bool descends = local(rules);
  Outcome out;
  const auto rewrites_one = [&] {
    std::vector<Place> places = {place};
    if (descends)
      for (const Op* op : ops_from(passes_.module(), op_of(place)))
        if (op->serial() != place) places.push_back(op->serial());
    for (const Place p : places) {
      const std::uint64_t before = passes_.hash();
      const Outcome o = attempt(rules, p);
      if (stopped_) return false;
      if (!o.failed() && passes_.hash() != before) return true;
    }
    return false;
  };
  for (std::int64_t round = 0; round < s.count; ++round) {
    if (!rewrites_one()) return out;
    out.result = PassResult::changed;
  }
  diagnostics_.note(s.loc, fmt::format("'normalize' stopped after {} rounds (max)", s.count));
  return out;
}

StrategyRunner::Outcome StrategyRunner::choose(const Strategy& s, Place place) {
  const Strategy& then = s.parts[s.predicate ? 0 : 1];
  const Strategy& otherwise = s.parts[s.predicate ? 1 : 2];
  Outcome out;
  if (start_at_ && !skips(otherwise)) return run(otherwise, place);
  if (start_at_ && !skips(then)) {
    // What led here is not run again.
  } else if (s.predicate) {
    if (!holds(*s.predicate, place)) return run(otherwise, place);
  } else {
    out = attempt(s.parts[0], place);
    if (out.failed()) return run(otherwise, place);
  }
  const Outcome o = attempt(then, place);
  if (o.changed()) out.result = PassResult::changed;
  return out;
}

StrategyRunner::Outcome StrategyRunner::negation(const Strategy& s, Place place) {
  if (s.predicate) {
    if (!holds(*s.predicate, place)) return {};
    return {PassResult::failed, fmt::format("not: '{}' holds", s.predicate->text)};
  }
  Saved saved = passes_.save();
  const Outcome o = run(s.parts[0], place);
  if (stopped_) return o;
  if (passes_.hash() != saved.hash) passes_.restore(std::move(saved));
  return o.failed() ? Outcome{} : Outcome{PassResult::failed, "not: it succeeds"};
}

StrategyRunner::Outcome StrategyRunner::children(const Strategy& s, Place place) {
  std::vector<Place> places;
  for (const Op* op : children_of(passes_.module(), op_of(place))) places.push_back(op->serial());
  Outcome out;
  unsigned successes = 0;
  for (const Place child : places) {
    if (!op_of(child)) continue;
    Outcome o = attempt(s.parts[0], child);
    if (stopped_) return o;
    if (o.failed() && s.kind == Strategy::all) return o;
    if (o.failed()) continue;
    ++successes;
    if (o.changed()) out.result = PassResult::changed;
    if (s.kind == Strategy::one) return out;
  }
  if (successes == 0 && s.kind != Strategy::all)
    return {PassResult::failed, fmt::format("{}: it succeeds at none of the {} children",
                                            verb_of(s.kind), places.size())};
  return out;
}

StrategyRunner::Outcome StrategyRunner::at(const Strategy& s, Place place) {
  const Outcome none{PassResult::failed,
                     fmt::format("at: it succeeds at no place '{}'", s.location->text)};
  Outcome out;
  if (s.pick == Strategy::topmost || s.pick == Strategy::topmost_some) {
    unsigned successes = 0;
    bool changed = false;
    topmost(s, place, successes, changed);
    if (successes == 0 && s.pick == Strategy::topmost_some) return none;
    if (changed) out.result = PassResult::changed;
    return out;
  }
  std::vector<Place> places;
  if (s.pick == Strategy::innermost || s.pick == Strategy::each)
    post_order(passes_.module(), op_of(place), places);
  else
    for (const Op* op : ops_from(passes_.module(), op_of(place))) places.push_back(op->serial());

  std::int64_t position = 0;
  for (const Place p : places) {
    if (!matches(s, p)) continue;
    if (s.pick == Strategy::nth && position++ != s.count) continue;
    Outcome o = attempt(s.parts[0], p);
    if (stopped_ || s.pick == Strategy::nth) return o;
    if (o.changed()) out.result = PassResult::changed;
    if (s.pick != Strategy::each && !o.failed()) return o;
  }
  if (s.pick == Strategy::nth)
    return {PassResult::failed, fmt::format("at: there are {} places '{}', none with position {}",
                                            position, s.location->text, s.count)};
  return s.pick == Strategy::each ? out : none;
}

void StrategyRunner::topmost(const Strategy& s, Place place, unsigned& successes, bool& changed) {
  if (stopped_ || (place != 0 && !op_of(place))) return;
  if (matches(s, place)) {
    const Outcome o = attempt(s.parts[0], place);
    if (!o.failed()) {
      ++successes;
      changed = changed || o.changed();
      return;
    }
  }
  std::vector<Place> places;
  for (const Op* op : children_of(passes_.module(), op_of(place))) places.push_back(op->serial());
  for (const Place child : places) topmost(s, child, successes, changed);
}

Op* StrategyRunner::op_of(Place place) const {
  return place == 0 ? nullptr : find_op(passes_.module(), place);
}

bool StrategyRunner::matches(const Strategy& at, Place place) const {
  const Op* op = op_of(place);
  return op && revet::matches(*at.location, *op, passes_.module(), plugins_);
}

bool StrategyRunner::holds(const Predicate& predicate, Place place) const {
  return revet::holds(
      predicate, {passes_.module(), op_of(place), last_changed_, pipeline_.model.get()}, plugins_);
}

std::string StrategyRunner::rest_of_pipeline(const PassEntry& entry, const Op* place) const {
  Pipeline rest = pipeline_;
  Strategy first;
  first.kind = Strategy::pass;
  first.entry = static_cast<std::size_t>(&entry - pipeline_.entries.data());
  if (place) {
    Strategy here;
    here.kind = Strategy::at;
    here.location = parse_location(path_of(place)).first;
    here.parts.push_back(std::move(first));
    first = std::move(here);
  }
  std::vector<Strategy> parts;
  parts.push_back(std::move(first));
  const auto& all = pipeline_.main.parts;
  if (pipeline_.main.kind == Strategy::sequence && top_ + 1 < all.size())
    parts.insert(parts.end(), all.begin() + static_cast<std::ptrdiff_t>(top_ + 1), all.end());
  rest.main.kind = Strategy::sequence;
  rest.main.parts = std::move(parts);
  return print(rest, plugins_);
}

}  // namespace revet
