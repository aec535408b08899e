/// Reads pipeline files. TOML++ gives every key and value its place, so that each error shows it.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>

#include "../support/files.hpp"
#include "overrides.hpp"
#include "pipeline.hpp"

namespace revet {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string> top_keys = {"name",     "summary", "include", "plugins", "machine",
                                           "strategy", "param",   "backend", "search",  "sketch"};
/// Verbs of combinators that are not built into this version.
const std::vector<std::string> verbs = {
    "first-of", "try", "repeat", "times", "normalize", "if",     "not",    "one",  "all",
    "some",     "at",  "check",  "dump",  "note",      "any-of", "search", "reach"};

struct Strategy {
  const toml::array* body;
  Loc loc;
  fs::path file;
};

class Reader {
 public:
  Reader(const Overrides& overrides, SourceManager& sources, Diagnostics& diagnostics)
      : overrides_(overrides), sources_(sources), diagnostics_(diagnostics) {}

  std::optional<Pipeline> read(const fs::path& file) {
    pipeline_.file = file;
    if (toml::table* top = parse(file, Loc{})) read_file(*top, file, true);
    if (diagnostics_.has_errors()) return std::nullopt;
    apply_parameter_overrides();
    const auto main = strategies_.find("main");
    if (main == strategies_.end())
      diagnostics_.error({intern_file(file.string()), 1, 1, 1},
                         "the pipeline has no strategy 'main'");
    else
      expand(*main->second.body);
    for (auto& [key, setting] : pipeline_.backend_settings) substitute(setting);
    if (diagnostics_.has_errors()) return std::nullopt;
    return std::move(pipeline_);
  }

 private:
  Loc loc_of(const toml::source_region& region) const {
    const std::uint32_t length =
        region.begin.line == region.end.line && region.end.column > region.begin.column
            ? region.end.column - region.begin.column
            : 1;
    return {intern_file(region.path ? *region.path : ""), region.begin.line, region.begin.column,
            length};
  }
  Loc loc_of(const toml::node& node) const { return loc_of(node.source()); }
  Loc loc_of(const toml::key& key) const { return loc_of(key.source()); }

  toml::table* parse(const fs::path& file, Loc from) {
    std::string text;
    try {
      text = revet::read_file(file);
    } catch (const Error& e) {
      if (!from.known()) throw;
      diagnostics_.error(from, e.what());
      return nullptr;
    }
    sources_.add(file.string(), text);
    try {
      tables_.push_back(std::make_unique<toml::table>(toml::parse(text, file.string())));
      return tables_.back().get();
    } catch (const toml::parse_error& e) {
      diagnostics_.error(loc_of(e.source()), std::string(e.description()));
      return nullptr;
    }
  }

  void unknown(const toml::key& key, const std::vector<std::string>& known, const char* where) {
    const std::string name(key.str());
    diagnostics_.error(
        loc_of(key), fmt::format("unknown key '{}' {}{}", name, where, did_you_mean(name, known)));
  }

  void wrong_type(const toml::node& node, const char* what, const char* expected) {
    std::string found = fmt::format("{}", [&] {
      switch (node.type()) {
        case toml::node_type::table: return "a table";
        case toml::node_type::array: return "an array";
        case toml::node_type::string: return "a string";
        case toml::node_type::integer: return "an integer";
        case toml::node_type::floating_point: return "a float";
        case toml::node_type::boolean: return "a boolean";
        default: return "a date or time";
      }
    }());
    diagnostics_.error(loc_of(node), fmt::format("{} must be {}, found {}", what, expected, found));
  }

  Setting setting(std::string value, const toml::node& node) {
    return {std::move(value), loc_of(node), loc_of(node)};
  }

  /// A scalar value as option text; nothing (after an error) where it is not a scalar.
  std::optional<Setting> scalar(const toml::node& node, const std::string& what) {
    if (const auto s = node.as_string()) return setting(s->get(), node);
    if (const auto i = node.as_integer()) return setting(std::to_string(i->get()), node);
    if (const auto f = node.as_floating_point()) return setting(fmt::format("{}", f->get()), node);
    if (const auto b = node.as_boolean()) return setting(b->get() ? "true" : "false", node);
    wrong_type(node, what.c_str(), "a string, number or boolean");
    return std::nullopt;
  }

  std::optional<std::string> text(const toml::node& node, const char* what) {
    if (const auto s = node.as_string()) return s->get();
    wrong_type(node, what, "a string");
    return std::nullopt;
  }

  std::vector<std::pair<std::string, Loc>> text_list(const toml::node& node, const char* what) {
    std::vector<std::pair<std::string, Loc>> out;
    const toml::array* list = node.as_array();
    if (!list) {
      wrong_type(node, what, "an array of strings");
      return out;
    }
    for (const toml::node& item : *list)
      if (const auto s = text(item, what)) out.emplace_back(*s, loc_of(item));
    return out;
  }

  void read_file(const toml::table& top, const fs::path& file, bool outermost) {
    for (auto&& [key, node] : top) {
      const std::string name(key.str());
      if (std::find(top_keys.begin(), top_keys.end(), name) == top_keys.end()) {
        unknown(key, top_keys, "in a pipeline file");
      } else if (name == "search" || name == "sketch") {
        diagnostics_.error(loc_of(key),
                           fmt::format("'{}' is reserved and has no meaning yet", name));
      } else if (name == "name" || name == "summary") {
        const auto s = text(node, name.c_str());
        if (s && outermost) (name == "name" ? pipeline_.name : pipeline_.summary) = *s;
      } else if (name == "plugins") {
        for (const auto& [plugin, loc] : text_list(node, "plugins"))
          pipeline_.plugins.push_back((file.parent_path() / plugin).lexically_normal().string());
      } else if (name == "machine") {
        read_settings(node, "machine", pipeline_.machine);
      } else if (name == "param") {
        read_parameters(node);
      } else if (name == "strategy") {
        read_strategies(node, file);
      } else if (name == "backend" && outermost) {
        read_backend(node);
      }
    }
    if (const toml::node* include = top.get("include"))
      for (const auto& [path, loc] : text_list(*include, "include"))
        include_file(file.parent_path() / path, loc);
  }

  void include_file(const fs::path& file, Loc loc) {
    const fs::path path = file.lexically_normal();
    if (!included_.insert(path.string()).second) return;
    if (const toml::table* table = parse(path, loc)) read_file(*table, path, false);
  }

  void read_settings(const toml::node& node, const char* what,
                     std::map<std::string, Setting>& out) {
    const toml::table* table = node.as_table();
    if (!table) return wrong_type(node, what, "a table");
    for (auto&& [key, value] : *table)
      if (auto s = scalar(value, fmt::format("{}.{}", what, key.str()))) {
        s->key = loc_of(key);
        out.try_emplace(std::string(key.str()), std::move(*s));
      }
  }

  void read_backend(const toml::node& node) {
    read_settings(node, "backend", pipeline_.backend_settings);
    const auto name = pipeline_.backend_settings.find("name");
    if (name == pipeline_.backend_settings.end()) {
      diagnostics_.error(loc_of(node), "[backend] needs a 'name'");
      return;
    }
    pipeline_.backend = name->second.value;
    pipeline_.backend_loc = name->second.loc;
    pipeline_.backend_settings.erase(name);
  }

  /// True if the name is free; an included file's is overridden with a note.
  bool claim(const std::string& name, Loc loc) {
    const auto [it, fresh] = names_.try_emplace(name, loc);
    if (fresh) return true;
    if (it->second.file == loc.file)
      diagnostics_.error(loc, fmt::format("'{}' is defined twice", name))
          .note(it->second, "first defined here");
    else
      diagnostics_.note(it->second,
                        fmt::format("'{}' replaces the one of {}", name, file_name(loc.file)));
    return false;
  }

  void read_parameters(const toml::node& node) {
    static const std::vector<std::string> keys = {"values", "default"};
    const toml::table* table = node.as_table();
    if (!table) return wrong_type(node, "param", "a table");
    for (auto&& [key, value] : *table) {
      const std::string name(key.str());
      if (!claim(name, loc_of(key))) continue;
      Parameter parameter;
      if (const toml::table* spec = value.as_table()) {
        for (auto&& [k, v] : *spec) {
          if (k.str() == "default") {
            if (auto s = scalar(v, "a default")) parameter.value = std::move(*s);
          } else if (k.str() == "values") {
            if (!v.is_array()) wrong_type(v, "values", "an array");
            if (const toml::array* list = v.as_array())
              for (const toml::node& item : *list)
                if (auto s = scalar(item, "a value")) parameter.values.push_back(s->value);
          } else {
            unknown(k, keys, "in a parameter");
          }
        }
        if (!spec->contains("default"))
          diagnostics_.error(
              loc_of(key), fmt::format("parameter '{}' needs a default, as in default = 4", name));
      } else if (auto s = scalar(value, "a parameter")) {
        parameter.value = std::move(*s);
      }
      if (!parameter.values.empty()) check_value(name, parameter, parameter.value);
      parameters_.emplace(name, std::move(parameter));
    }
  }

  struct Parameter {
    Setting value;
    std::vector<std::string> values;
  };

  void check_value(const std::string& name, const Parameter& p, const Setting& s) {
    if (p.values.empty() || std::find(p.values.begin(), p.values.end(), s.value) != p.values.end())
      return;
    diagnostics_.error(s.loc, fmt::format("parameter '{}' is one of {}, not {}", name,
                                          fmt::join(p.values, ", "), s.value));
  }

  void read_strategies(const toml::node& node, const fs::path& file) {
    const toml::table* table = node.as_table();
    if (!table) return wrong_type(node, "strategy", "a table");
    for (auto&& [key, value] : *table) {
      const std::string name(key.str());
      if (!claim(name, loc_of(key))) continue;
      const toml::array* list = value.as_array();
      if (!list) {
        wrong_type(value, fmt::format("strategy '{}'", name).c_str(), "an array");
        continue;
      }
      strategies_.emplace(name, Strategy{list, loc_of(key), file});
    }
  }

  void apply_parameter_overrides() {
    for (const std::string& item : overrides_.set) {
      const std::string key = item.substr(0, item.find('='));
      const auto it = parameters_.find(key);
      if (it == parameters_.end() || item.find('=') == std::string::npos) continue;
      const Loc loc = command_line_loc(item);
      it->second.value = {item.substr(key.size() + 1), loc, loc};
      check_value(key, it->second, it->second.value);
    }
  }

  Loc command_line_loc(const std::string& item) {
    const FileId id = sources_.add(fmt::format("<--set {}>", item), item);
    return {id, 1, 1, static_cast<std::uint32_t>(item.size())};
  }

  /// "$name" in a value is a parameter.
  void substitute(Setting& s) {
    if (!s.value.starts_with('$')) return;
    const std::string name = s.value.substr(1);
    const auto it = parameters_.find(name);
    if (it != parameters_.end()) {
      s.value = it->second.value.value;
      return;
    }
    std::vector<std::string> known;
    for (const auto& [k, v] : parameters_) known.push_back(k);
    diagnostics_.error(
        s.loc, fmt::format("there is no parameter '{}'{}", name, did_you_mean(name, known)));
  }

  void expand(const toml::array& list) {
    for (const toml::node& item : list) {
      if (const auto s = item.as_string()) {
        if (s->get().starts_with('$'))
          expand_strategy(s->get().substr(1), loc_of(item));
        else
          add(s->get(), s->get(), loc_of(item));
      } else if (const toml::array* inner = item.as_array()) {
        expand(*inner);
      } else if (const toml::table* table = item.as_table()) {
        expand_entry(*table);
      } else {
        wrong_type(item, "an entry of a strategy", "a pass, $strategy, array or table");
      }
    }
  }

  void expand_strategy(const std::string& name, Loc loc) {
    const auto it = strategies_.find(name);
    if (it == strategies_.end()) {
      std::vector<std::string> known;
      for (const auto& [k, v] : strategies_) known.push_back(k);
      diagnostics_.error(
          loc, fmt::format("there is no strategy '{}'{}", name, did_you_mean(name, known)));
      return;
    }
    if (std::find(active_.begin(), active_.end(), name) != active_.end()) {
      diagnostics_.error(loc, fmt::format("strategy '{}' contains itself", name));
      return;
    }
    active_.push_back(name);
    expand(*it->second.body);
    active_.pop_back();
  }

  void expand_entry(const toml::table& table) {
    const toml::node* pass = table.get("pass");
    if (!pass) {
      for (auto&& [key, value] : table) {
        if (std::find(verbs.begin(), verbs.end(), key.str()) != verbs.end()) {
          diagnostics_.error(loc_of(key),
                             fmt::format("the combinator '{}' is not available in this version; "
                                         "strategies are flat lists of passes",
                                         key.str()));
          return;
        }
      }
      if (table.empty()) {
        diagnostics_.error(loc_of(static_cast<const toml::node&>(table)),
                           "an entry needs a key 'pass'");
        return;
      }
      for (auto&& [key, value] : table) {
        unknown(key, verbs, "in an entry without 'pass'");
        return;
      }
    }
    const auto name = text(*pass, "pass");
    if (!name) return;
    std::string id = *name;
    bool disabled = false;
    std::map<std::string, Setting> settings;
    for (auto&& [key, value] : table) {
      if (key.str() == "pass") continue;
      if (key.str() == "id") {
        if (const auto s = text(value, "id")) id = *s;
      } else if (key.str() == "disabled") {
        if (!value.is_boolean()) wrong_type(value, "disabled", "true or false");
        disabled = value.value_or(false);
      } else if (auto s = scalar(value, fmt::format("option '{}'", key.str()))) {
        substitute(*s);
        s->key = loc_of(key);
        settings.emplace(std::string(key.str()), std::move(*s));
      }
    }
    add(*name, id, loc_of(*pass), std::move(settings), disabled);
  }

  void add(const std::string& pass, const std::string& id, Loc loc,
           std::map<std::string, Setting> settings = {}, bool disabled = false) {
    PassEntry entry;
    entry.id = ids_.next(id);
    entry.pass = pass;
    entry.loc = loc;
    entry.settings = std::move(settings);
    entry.disabled = disabled;
    for (const PassEntry& other : pipeline_.entries)
      if (other.id == entry.id)
        diagnostics_.error(loc, fmt::format("id '{}' is used twice", entry.id))
            .note(other.loc, "first used here");
    pipeline_.entries.push_back(std::move(entry));
  }

  const Overrides& overrides_;
  SourceManager& sources_;
  Diagnostics& diagnostics_;
  Pipeline pipeline_;
  std::vector<std::unique_ptr<toml::table>> tables_;  ///< keep nodes alive
  std::map<std::string, Strategy> strategies_;
  std::map<std::string, Parameter> parameters_;
  std::map<std::string, Loc> names_;  ///< strategies and parameters share one name space
  IdCounter ids_;
  std::set<std::string> included_;
  std::vector<std::string> active_;
  friend std::optional<Pipeline> revet::load_pipeline(const fs::path&, const Overrides&,
                                                      SourceManager&, Diagnostics&);
};

}  // namespace

std::optional<Pipeline> load_pipeline(const fs::path& file, const Overrides& overrides,
                                      SourceManager& sources, Diagnostics& diagnostics) {
  Reader reader(overrides, sources, diagnostics);
  std::optional<Pipeline> pipeline = reader.read(file);
  if (!pipeline) return std::nullopt;
  std::set<std::string> parameters;
  for (const auto& [name, p] : reader.parameters_) parameters.insert(name);
  apply_overrides(*pipeline, overrides, parameters, sources);
  return pipeline;
}

}  // namespace revet
