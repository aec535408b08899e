/// Checks a pipeline against the passes and backends it names.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "pipeline.hpp"
#include "places.hpp"

namespace revet {
namespace {

const char* written_type(OptionType type) {
  switch (type) {
    case OptionType::boolean: return "the boolean";
    case OptionType::integer: return "the integer";
    case OptionType::number: return "the float";
    case OptionType::text: return "the string";
  }
  return "";
}

/// True if a value that a file has as `written` may be the value of such an option.
bool fits(OptionType option, OptionType written) {
  return option == written || (option == OptionType::number && written == OptionType::integer);
}

/// Fills `values` from `settings`; every fault is an error at its place, `loc` where one is
/// missing.
void resolve_options(const OptionTable& table, const std::map<std::string, Setting>& settings,
                     Loc loc, const std::string& owner, OptionValues& values,
                     Diagnostics& diagnostics) {
  values = OptionValues(table);
  for (const auto& [name, setting] : settings) {
    const auto spec = std::find_if(table.begin(), table.end(),
                                   [&](const OptionSpec& s) { return s.name == name; });
    if (spec == table.end()) {
      std::vector<std::string> known;
      for (const OptionSpec& s : table) known.push_back(s.name);
      diagnostics.error(setting.key,
                        fmt::format("{} has no option '{}'{}", owner, name,
                                    known.empty() ? "; it has none" : did_you_mean(name, known)));
      continue;
    }
    ParsedOption parsed = parse_option(*spec, setting.value);
    if (setting.type && !fits(spec->type, *setting.type))
      diagnostics.error(setting.loc,
                        fmt::format("option '{}' expects {}, got {} '{}'", name, expected(*spec),
                                    written_type(*setting.type), setting.value));
    else if (parsed.value)
      values.set(name, *parsed.value);
    else
      diagnostics.error(setting.loc, parsed.error);
  }
  for (const OptionSpec& spec : table)
    if (!spec.example.empty() && settings.count(spec.name) == 0)
      diagnostics.error(
          loc, fmt::format("{} needs option '{}' ({}), as in {} = {}", owner, spec.name,
                           expected(spec), spec.name, toml_literal(spec.type, spec.example)));
}

/// What may hold at a point of the run: it may be reached in several ways.
struct State {
  std::set<Level> levels;
  std::set<std::string> established;

  void merge(const State& other) {
    levels.insert(other.levels.begin(), other.levels.end());
    established.insert(other.established.begin(), other.established.end());
  }
};

/// Follows the strategies as a run would. A pass is refused where nothing that comes before can
/// give it what it takes; where only some ways do, the driver decides when it gets there.
class Checker {
 public:
  Checker(Pipeline& pipeline, Plugins& plugins, const Start& start, Diagnostics& diagnostics)
      : pipeline_(pipeline),
        plugins_(plugins),
        start_(start),
        started_(start.at.empty()),
        diagnostics_(diagnostics) {}

  void run() {
    State state;
    state.levels = {start_.level};
    state.established.insert(start_.established.begin(), start_.established.end());
    state = visit(pipeline_.main, std::move(state));
    if (!pipeline_.backend.empty()) backend(state);
  }

 private:
  State visit(Strategy& s, State state) {
    names(s);
    switch (s.kind) {
      case Strategy::pass: return pass(pipeline_.entries[s.entry], std::move(state));
      case Strategy::sequence:
      case Strategy::times:
        for (Strategy& part : s.parts) state = visit(part, std::move(state));
        return state;
      case Strategy::first_of: {
        State out;
        for (Strategy& part : s.parts) out.merge(visit(part, state));
        return s.parts.empty() ? state : out;
      }
      case Strategy::choose: {
        const bool predicate = s.predicate.has_value();
        State then = predicate ? state : visit(s.parts[0], state);
        State out = visit(s.parts[predicate ? 0 : 1], std::move(then));
        out.merge(visit(s.parts[predicate ? 1 : 2], std::move(state)));
        return out;
      }
      case Strategy::negation:
        for (Strategy& part : s.parts) visit(part, state);
        return state;
      case Strategy::one:
      case Strategy::all:
      case Strategy::some:
      case Strategy::at: {
        ++places_;
        State out = visit(s.parts[0], state);
        --places_;
        out.merge(state);
        return out;
      }
      case Strategy::attempt:
      case Strategy::repeat:
      case Strategy::normalize: {
        State out = visit(s.parts[0], state);
        out.merge(state);
        return out;
      }
      default: return state;
    }
  }

  void names(Strategy& s) {
    std::string error;
    if (s.predicate) error = check_names(*s.predicate, plugins_);
    if (s.location) error = check_names(*s.location, plugins_);
    if (!error.empty()) diagnostics_.error(s.text_loc, error);
  }

  State pass(PassEntry& e, State state) {
    const PassInfo* info = nullptr;
    try {
      info = plugins_.pass(e.pass);
    } catch (const Error& error) {
      // The next one may be faulty too: all are told.
      diagnostics_.error(e.loc, error.what());
      return state;
    }
    if (!info) {
      std::vector<std::string> known = plugins_.names("pass");
      known.insert(known.end(), {"id", "fail"});
      diagnostics_.error(
          e.loc, fmt::format("there is no pass '{}'{}", e.pass, did_you_mean(e.pass, known)));
      return state;
    }
    resolve_options(info->options, e.settings, e.loc, fmt::format("pass '{}'", e.pass), e.options,
                    diagnostics_);
    if (e.disabled) return state;
    if (places_ != 0 && !info->run_at)
      diagnostics_.error(e.loc, fmt::format("pass '{}' works on whole modules and cannot be used "
                                            "at a place (at, one, all, some)",
                                            e.pass));
    if (!started_ && e.id == start_.at) {
      started_ = true;
      state.levels = {start_.level};
    }
    if (started_)
      takes(e.loc, fmt::format("pass '{}'", e.id), {info->input}, info->requires_, state);
    if (info->output != Level::any) state.levels = {info->output};
    for (const std::string& p : info->invalidates) state.established.erase(p);
    state.established.insert(info->establishes.begin(), info->establishes.end());
    return state;
  }

  void backend(const State& state) {
    const BackendInfo* info = plugins_.backend(pipeline_.backend);
    if (!info) {
      diagnostics_.error(pipeline_.backend_loc,
                         fmt::format("there is no backend '{}'{}", pipeline_.backend,
                                     did_you_mean(pipeline_.backend, plugins_.names("backend"))));
      return;
    }
    const std::string who = fmt::format("backend '{}'", pipeline_.backend);
    resolve_options(info->options, pipeline_.backend_settings, pipeline_.backend_loc, who,
                    pipeline_.backend_options, diagnostics_);
    takes(pipeline_.backend_loc, who, info->inputs, info->requires_, state);
  }

  void takes(Loc loc, const std::string& who, const std::vector<Level>& inputs,
             const std::vector<std::string>& needs, const State& state) {
    const bool fits = std::any_of(inputs.begin(), inputs.end(), [&](Level level) {
      return level == Level::any || state.levels.count(level) != 0;
    });
    if (!fits) {
      diagnostics_.error(
          loc, fmt::format("{} takes the {} level, but what comes before gives the {} level", who,
                           level_names(inputs),
                           level_names({state.levels.begin(), state.levels.end()})));
    }
    for (const std::string& need : needs) {
      if (state.established.count(need) != 0) continue;
      const std::string giver = plugins_.pass_establishing(need);
      diagnostics_.error(
          loc, fmt::format("{} requires '{}', which nothing before it establishes{}", who, need,
                           giver.empty() ? "" : fmt::format("; pass '{}' does", giver)));
    }
  }

  Pipeline& pipeline_;
  Plugins& plugins_;
  const Start& start_;
  bool started_;
  unsigned places_ = 0;  ///< combinators around that give a place
  Diagnostics& diagnostics_;
};

}  // namespace

bool check(Pipeline& pipeline, Plugins& plugins, const Start& start, Diagnostics& diagnostics) {
  Checker(pipeline, plugins, start, diagnostics).run();
  return !diagnostics.has_errors();
}

}  // namespace revet
