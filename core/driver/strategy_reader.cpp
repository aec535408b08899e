#include "strategy_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace revet {
namespace {

/// A combinator: its verb and the keys that go with it.
struct Verb {
  const char* name;
  Strategy::Kind kind;
  std::vector<std::string> keys;
};

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> list = {
      {"seq", Strategy::sequence, {}},
      {"first-of", Strategy::first_of, {}},
      {"try", Strategy::attempt, {}},
      {"repeat", Strategy::repeat, {"max"}},
      {"times", Strategy::times, {"do"}},
      {"normalize", Strategy::normalize, {"max"}},
      {"if", Strategy::choose, {"then", "else"}},
      {"not", Strategy::negation, {}},
      {"one", Strategy::one, {}},
      {"all", Strategy::all, {}},
      {"some", Strategy::some, {}},
      {"at", Strategy::at, {"pick", "do"}},
      {"check", Strategy::check, {}},
      {"dump", Strategy::dump, {}},
      {"note", Strategy::note, {}},
      {"any-of", Strategy::first_of, {"default", "name"}},
  };
  return list;
}

/// Entries that `main` may come to: strategies that name others twice grow as powers of two.
constexpr std::size_t max_nodes = 100000;

std::vector<std::string> verb_names() {
  std::vector<std::string> out = {"pass"};
  for (const Verb& v : verbs()) out.emplace_back(v.name);
  return out;
}

class Reader : private TomlNodes {
 public:
  /// Without `expand_names`, `$name` is looked up but not put in place.
  Reader(const PipelineNames& names, Pipeline& pipeline, Diagnostics& diagnostics,
         bool expand_names)
      : TomlNodes(diagnostics), names_(names), pipeline_(pipeline), expand_names_(expand_names) {}

  Strategy read(const toml::node& node, const std::string& path) {
    Strategy s = made(Strategy::sequence, node, path);
    if (++nodes_ > max_nodes) {
      // One error, however much more there would be.
      if (nodes_ == max_nodes + 1)
        diagnostics().error(s.loc,
                            fmt::format("the strategies come to more than {} entries", max_nodes));
      return s;
    }
    if (const auto text = node.as_string()) {
      const std::string& name = text->get();
      if (name.starts_with('$')) return named(name.substr(1), node, path);
      if (name == "id" || name == "fail") {
        s.kind = name == "id" ? Strategy::id : Strategy::fail;
        return s;
      }
      return pass(name, name, node, path, {}, false);
    }
    if (const toml::array* list = node.as_array()) {
      for (std::size_t i = 0; i < list->size(); ++i)
        s.parts.push_back(read((*list)[i], fmt::format("{}[{}]", path, i)));
      return s;
    }
    if (const toml::table* table = node.as_table()) return entry(*table, path);
    wrong_type(node, "an entry of a strategy", "a pass, $strategy, array or table");
    return s;
  }

 private:
  Strategy made(Strategy::Kind kind, const toml::node& node, const std::string& path) const {
    Strategy s;
    s.kind = kind;
    s.loc = loc_of(node);
    s.path = path;
    return s;
  }

  Strategy named(const std::string& name, const toml::node& node, const std::string& path) {
    const auto it = names_.strategies.find(name);
    const Strategy nothing = made(Strategy::sequence, node, path);
    if (it == names_.strategies.end()) {
      std::vector<std::string> known;
      for (const auto& [k, v] : names_.strategies) known.push_back(k);
      diagnostics().error(
          nothing.loc,
          names_.parameters.count(name) != 0
              ? fmt::format("'{}' is a parameter, not a strategy", name)
              : fmt::format("there is no strategy '{}'{}", name, did_you_mean(name, known)));
      return nothing;
    }
    if (std::find(active_.begin(), active_.end(), name) != active_.end()) {
      diagnostics().error(nothing.loc, fmt::format("strategy '{}' contains itself", name));
      return nothing;
    }
    if (!expand_names_) return nothing;
    active_.push_back(name);
    Strategy s = read(*it->second, fmt::format("{}${}", path, name));
    active_.pop_back();
    return s;
  }

  Strategy entry(const toml::table& table, const std::string& path) {
    if (table.contains("pass")) return pass_table(table, path);
    for (auto&& [key, value] : table)
      if (key.str() == "search" || key.str() == "reach") {
        diagnostics().error(loc_of(key), fmt::format("'{}' is reserved and has no meaning yet",
                                                     std::string(key.str())));
        return made(Strategy::id, table, path);
      }
    for (const Verb& verb : verbs())
      if (table.contains(verb.name)) return combinator(verb, table, path);
    if (table.empty())
      diagnostics().error(loc_of(static_cast<const toml::node&>(table)),
                          "an entry needs a key 'pass' or the verb of a combinator");
    for (auto&& [key, value] : table) {
      unknown(key, verb_names(), "in an entry without 'pass' or a verb");
      break;
    }
    return made(Strategy::id, table, path);
  }

  Strategy pass_table(const toml::table& table, const std::string& path) {
    const toml::node& node = *table.get("pass");
    const auto name = text(node, "pass");
    if (!name) return made(Strategy::id, table, path);
    std::string id = *name;
    bool disabled = false;
    std::map<std::string, Setting> settings;
    for (auto&& [key, value] : table) {
      if (key.str() == "pass") continue;
      if (key.str() == "id") {
        if (const auto s = text(value, "id")) id = *s;
        if (id.empty()) diagnostics().error(loc_of(value), "an id must not be empty");
      } else if (key.str() == "disabled") {
        if (!value.is_boolean()) wrong_type(value, "disabled", "true or false");
        disabled = value.value_or(false);
      } else if (auto s = scalar(value, fmt::format("option '{}'", key.str()))) {
        substitute(*s, names_, diagnostics());
        s->key = loc_of(key);
        settings.emplace(std::string(key.str()), std::move(*s));
      }
    }
    return pass(*name, id, node, path, std::move(settings), disabled);
  }

  Strategy pass(const std::string& name, const std::string& id, const toml::node& node,
                const std::string& path, std::map<std::string, Setting> settings, bool disabled) {
    PassEntry e;
    e.id = ids_.next(id);
    e.pass = name;
    e.loc = loc_of(node);
    e.settings = std::move(settings);
    e.disabled = disabled;
    for (const PassEntry& other : pipeline_.entries)
      if (other.id == e.id)
        diagnostics()
            .error(e.loc, fmt::format("id '{}' is used twice", e.id))
            .note(other.loc, "first used here");
    Strategy s = made(Strategy::pass, node, path);
    s.entry = pipeline_.entries.size();
    pipeline_.entries.push_back(std::move(e));
    return s;
  }

  Strategy combinator(const Verb& verb, const toml::table& table, const std::string& path) {
    for (auto&& [key, value] : table)
      if (key.str() != verb.name &&
          std::find(verb.keys.begin(), verb.keys.end(), key.str()) == verb.keys.end())
        unknown(key, verb.keys, fmt::format("beside '{}'", verb.name));
    const toml::node& body = *table.get(verb.name);
    const std::string here = fmt::format("{}.{}", path, verb.name);
    Strategy s = made(verb.kind, table, path);
    if (verb.name == std::string_view("any-of")) return any_of(body, table, here);
    switch (verb.kind) {
      case Strategy::sequence:
      case Strategy::first_of:
        if (!body.is_array())
          wrong_type(body, fmt::format("'{}'", verb.name), "an array of strategies");
        else
          s.parts = read(body, here).parts;
        break;
      case Strategy::repeat:
      case Strategy::attempt:
      case Strategy::one:
      case Strategy::all:
      case Strategy::some: s.parts.push_back(read(body, here)); break;
      case Strategy::normalize:
        // An array is a choice here: any rule that applies.
        s.parts.push_back(read(body, here));
        if (body.is_array()) s.parts.back().kind = Strategy::first_of;
        break;
      case Strategy::times:
        s.count = integer(body, "times", 0);
        s.parts.push_back(part(table, "do", path));
        break;
      case Strategy::choose:
        condition(s, body, here);
        s.parts.push_back(part(table, "then", path));
        if (table.contains("else"))
          s.parts.push_back(part(table, "else", path));
        else
          s.parts.push_back(made(Strategy::id, table, path));
        break;
      case Strategy::negation: condition(s, body, here); break;
      case Strategy::at:
        location(s, body);
        if (const toml::node* pick = table.get("pick")) read_pick(s, *pick);
        s.parts.push_back(part(table, "do", path));
        break;
      case Strategy::check: predicate(s, body); break;
      case Strategy::dump:
      case Strategy::note: message(s, body); break;
      default: break;
    }
    if (verb.kind == Strategy::repeat || verb.kind == Strategy::normalize) {
      const toml::node* max = table.get("max");
      s.count = max ? integer(*max, "max", 1) : default_max_rounds;
    }
    return s;
  }

  /// The alternative that `default` says, as if it alone were there.
  Strategy any_of(const toml::node& body, const toml::table& table, const std::string& path) {
    const toml::array* list = body.as_array();
    if (!list || list->empty()) {
      wrong_type(body, "'any-of'", "an array of at least one strategy");
      return made(Strategy::id, body, path);
    }
    if (const toml::node* name = table.get("name")) text(*name, "name");
    std::int64_t chosen = 0;
    if (const toml::node* node = table.get("default")) {
      chosen = integer(*node, "default", 0);
      if (chosen >= static_cast<std::int64_t>(list->size())) {
        diagnostics().error(loc_of(*node), fmt::format("default is a position from 0 to {}, not {}",
                                                       list->size() - 1, chosen));
        chosen = 0;
      }
    }
    return read((*list)[static_cast<std::size_t>(chosen)], fmt::format("{}[{}]", path, chosen));
  }

  Strategy part(const toml::table& table, const char* key, const std::string& path) {
    if (const toml::node* node = table.get(key))
      return read(*node, fmt::format("{}.{}", path, key));
    diagnostics().error(loc_of(static_cast<const toml::node&>(table)),
                        fmt::format("'{}' is missing in this entry", key));
    return made(Strategy::id, table, path);
  }

  /// A text is a predicate; anything else, and `$name`, is a strategy that is tried.
  void condition(Strategy& s, const toml::node& node, const std::string& path) {
    const auto text = node.as_string();
    if (text && !text->get().starts_with('$'))
      predicate(s, node);
    else
      s.parts.push_back(read(node, path));
  }

  void predicate(Strategy& s, const toml::node& node) {
    const auto written = text(node, fmt::format("'{}'", verb_of(s.kind)));
    if (!written) return;
    auto [p, error] = parse_predicate(*written);
    if (!error.empty()) diagnostics().error(loc_of(node), error);
    s.predicate = std::move(p);
    s.text_loc = loc_of(node);
  }

  void location(Strategy& s, const toml::node& node) {
    const auto written = text(node, "'at'");
    if (!written) return;
    auto [place, error] = parse_location(*written);
    if (!error.empty()) diagnostics().error(loc_of(node), error);
    s.location = std::move(place);
    s.text_loc = loc_of(node);
  }

  void read_pick(Strategy& s, const toml::node& node) {
    static const std::vector<Strategy::Pick> picks = {Strategy::outermost, Strategy::innermost,
                                                      Strategy::each, Strategy::topmost,
                                                      Strategy::topmost_some};
    if (node.is_integer() || (node.is_string() && node.as_string()->get().starts_with('$'))) {
      s.pick = Strategy::nth;
      s.count = integer(node, "pick", 0);
      return;
    }
    const auto written = text(node, "pick");
    if (!written) return;
    std::vector<std::string> known;
    for (const Strategy::Pick pick : picks) {
      known.emplace_back(pick_name(pick));
      if (known.back() == *written) {
        s.pick = pick;
        return;
      }
    }
    diagnostics().error(
        loc_of(node), fmt::format("pick is one of {} or a position from 0, not '{}'{}",
                                  fmt::join(known, ", "), *written, did_you_mean(*written, known)));
  }

  void message(Strategy& s, const toml::node& node) {
    const auto written = text(node, fmt::format("'{}'", verb_of(s.kind)));
    if (!written) return;
    s.text = *written;
    if (s.kind == Strategy::dump && s.text != "ir" && s.text != "dot")
      diagnostics().error(loc_of(node), fmt::format("dump is one of ir, dot, not '{}'{}", s.text,
                                                    did_you_mean(s.text, {"ir", "dot"})));
  }

  std::int64_t integer(const toml::node& node, const char* key, std::int64_t least) {
    constexpr std::int64_t most = 1000000;
    auto s = scalar(node, key);
    if (!s) return least;
    substitute(*s, names_, diagnostics());
    std::int64_t value = 0;
    const char* const end = s->value.data() + s->value.size();
    const auto [p, ec] = std::from_chars(s->value.data(), end, value);
    if (ec == std::errc() && p == end && value >= least && value <= most) return value;
    diagnostics().error(s->loc, fmt::format("{} must be an integer from {} to {}, got '{}'", key,
                                            least, most, s->value));
    return least;
  }

  const PipelineNames& names_;
  Pipeline& pipeline_;
  const bool expand_names_;
  std::size_t nodes_ = 0;
  IdCounter ids_;
  std::vector<std::string> active_;  ///< strategies being expanded
};

}  // namespace

const char* verb_of(Strategy::Kind kind) {
  if (kind == Strategy::pass) return "pass";
  if (kind == Strategy::id) return "id";
  if (kind == Strategy::fail) return "fail";
  for (const Verb& v : verbs())
    if (v.kind == kind) return v.name;
  return "";
}

const char* pick_name(Strategy::Pick pick) {
  switch (pick) {
    case Strategy::outermost: return "outermost";
    case Strategy::innermost: return "innermost";
    case Strategy::each: return "each";
    case Strategy::topmost: return "all";
    case Strategy::topmost_some: return "some";
    case Strategy::nth: return "";
  }
  return "";
}

bool Strategy::contains_entry(std::size_t i) const {
  return (kind == pass && entry == i) ||
         std::any_of(parts.begin(), parts.end(),
                     [i](const Strategy& s) { return s.contains_entry(i); });
}

void substitute(Setting& s, const PipelineNames& names, Diagnostics& diagnostics) {
  if (!s.value.starts_with('$')) return;
  const std::string name = s.value.substr(1);
  const auto it = names.parameters.find(name);
  if (it != names.parameters.end()) {
    s.value = it->second.value.value;
    s.type = it->second.value.type;
    return;
  }
  std::vector<std::string> known;
  for (const auto& [k, v] : names.parameters) known.push_back(k);
  diagnostics.error(s.loc,
                    fmt::format("there is no parameter '{}'{}", name, did_you_mean(name, known)));
}

void read_main(const PipelineNames& names, Pipeline& pipeline, Diagnostics& diagnostics) {
  pipeline.main = Reader(names, pipeline, diagnostics, true)
                      .read(*names.strategies.find("main")->second, "main");
  for (const auto& [name, node] : names.strategies) {
    Pipeline unused;
    Reader(names, unused, diagnostics, false).read(*node, name);
  }
}

}  // namespace revet
