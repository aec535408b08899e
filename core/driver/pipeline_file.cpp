/// Reads pipeline files. TOML++ gives every key and value its place, so that each error shows it.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>

#include "../support/files.hpp"
#include "machine_file.hpp"
#include "overrides.hpp"
#include "strategy_reader.hpp"

namespace revet {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string> top_keys = {"name",     "summary", "include", "plugins", "machine",
                                           "strategy", "param",   "backend", "search",  "sketch"};

class Reader : private TomlNodes {
 public:
  Reader(const Overrides& overrides, SourceManager& sources, Diagnostics& diagnostics)
      : TomlNodes(diagnostics), overrides_(overrides), sources_(sources) {}

  std::optional<Pipeline> read(const fs::path& file) {
    pipeline_.file = file;
    toml::table* top = parse(file, Loc{});
    if (!top) return std::nullopt;
    read_file(*top, file, true);
    apply_parameter_overrides();
    if (names_.strategies.count("main") == 0 && diagnostics().has_errors()) return std::nullopt;
    if (names_.strategies.count("main") == 0)
      diagnostics().error({intern_file(file.string()), 1, 1, 1},
                          "the pipeline has no strategy 'main'");
    else
      read_main(names_, pipeline_, diagnostics());
    for (auto& [key, setting] : pipeline_.backend_settings)
      substitute(setting, names_, diagnostics());
    if (diagnostics().has_errors()) return std::nullopt;
    return std::move(pipeline_);
  }

 private:
  toml::table* parse(const fs::path& file, Loc from) {
    std::string text;
    try {
      text = revet::read_file(file);
    } catch (const Error& e) {
      if (!from.known()) throw;
      diagnostics().error(from, e.what());
      return nullptr;
    }
    sources_.add(file.string(), text);
    try {
      tables_.push_back(std::make_unique<toml::table>(toml::parse(text, file.string())));
      return tables_.back().get();
    } catch (const toml::parse_error& e) {
      std::string what(e.description());
      if (!what.empty())
        what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
      Loc loc = loc_of(e.source());
      // Its column of a bad byte is that of the one before.
      if (what.find("utf-8") != std::string::npos) ++loc.col;
      diagnostics().error(loc, what);
      return nullptr;
    }
  }

  void read_file(const toml::table& top, const fs::path& file, bool outermost) {
    for (auto&& [key, node] : top) {
      const std::string name(key.str());
      if (std::find(top_keys.begin(), top_keys.end(), name) == top_keys.end()) {
        unknown(key, top_keys, "in a pipeline file");
      } else if (name == "search" || name == "sketch") {
        diagnostics().error(loc_of(key),
                            fmt::format("'{}' is reserved and has no meaning yet", name));
      } else if (name == "name" || name == "summary") {
        const auto s = text(node, name.c_str());
        if (s && outermost) (name == "name" ? pipeline_.name : pipeline_.summary) = *s;
      } else if (name == "plugins") {
        for (const auto& [plugin, loc] : text_list(node, "plugins"))
          pipeline_.plugins.push_back((file.parent_path() / plugin).lexically_normal().string());
      } else if (name == "machine") {
        read_machine_settings(node, file);
      } else if (name == "param") {
        read_parameters(node);
      } else if (name == "strategy") {
        read_strategies(node);
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

  /// Tables become dotted keys; the file is relative to the one that names it, or one that ships.
  void read_machine_settings(const toml::node& node, const fs::path& from) {
    const toml::table* table = node.as_table();
    if (!table) return wrong_type(node, "machine", "a table");
    for (auto&& [key, value] : *table) {
      const std::string name(key.str());
      if (const toml::table* inner = value.as_table()) {
        for (auto&& [k, v] : *inner) machine_setting(name + "." + std::string(k.str()), k, v);
      } else {
        machine_setting(name, key, value);
      }
    }
    if (const auto file = pipeline_.machine.find("file"); file != pipeline_.machine.end()) {
      const fs::path here = (from.parent_path() / file->second.value).lexically_normal();
      std::error_code ec;
      file->second.value = fs::exists(here, ec) || file->second.value.find('/') != std::string::npos
                               ? here.string()
                               : (shipped_machines() / file->second.value).string();
    }
  }

  void machine_setting(const std::string& name, const toml::key& key, const toml::node& value) {
    if (auto s = scalar(value, "machine." + name)) {
      s->key = loc_of(key);
      pipeline_.machine.try_emplace(name, std::move(*s));
    }
  }

  void read_backend(const toml::node& node) {
    read_settings(node, "backend", pipeline_.backend_settings);
    const auto name = pipeline_.backend_settings.find("name");
    if (name == pipeline_.backend_settings.end()) {
      const toml::key* near = nullptr;
      if (const toml::table* table = node.as_table())
        for (auto&& [key, value] : *table)
          if (!nearest_name(key.str(), {"name"}).empty()) near = &key;
      if (near)
        unknown(*near, {"name"}, "in [backend], which needs a 'name'");
      else
        diagnostics().error(loc_of(node), "[backend] needs a 'name'");
      return;
    }
    pipeline_.backend = name->second.value;
    pipeline_.backend_loc = name->second.loc;
    pipeline_.backend_settings.erase(name);
  }

  /// True if the name is free; an included file's is overridden with a note.
  bool claim(const std::string& name, Loc loc) {
    const auto [it, fresh] = claimed_.try_emplace(name, loc);
    if (fresh) return true;
    if (it->second.file == loc.file)
      diagnostics()
          .error(loc, fmt::format("'{}' is defined twice", name))
          .note(it->second, "first defined here");
    else
      diagnostics().note(it->second,
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
                if (auto s = scalar(item, "a value")) parameter.values.push_back(std::move(*s));
          } else {
            unknown(k, keys, "in a parameter");
          }
        }
        if (!spec->contains("default"))
          diagnostics().error(
              loc_of(key), fmt::format("parameter '{}' needs a default, as in default = 4", name));
      } else if (auto s = scalar(value, "a parameter")) {
        parameter.value = std::move(*s);
      }
      check_value(name, parameter, parameter.value);
      names_.parameters.emplace(name, std::move(parameter));
    }
  }

  void check_value(const std::string& name, const Parameter& p, const Setting& s) {
    std::vector<std::string> allowed;
    for (const Setting& v : p.values) {
      if (v.value == s.value) return;
      allowed.push_back(v.value);
    }
    if (allowed.empty()) return;
    diagnostics().error(s.loc, fmt::format("parameter '{}' is one of {}, not {}", name,
                                           fmt::join(allowed, ", "), s.value));
  }

  void read_strategies(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (!table) return wrong_type(node, "strategy", "a table");
    for (auto&& [key, value] : *table) {
      const std::string name(key.str());
      if (!claim(name, loc_of(key))) continue;
      names_.strategies.emplace(name, &value);
    }
  }

  void apply_parameter_overrides() {
    for (const std::string& item : overrides_.set) {
      const std::string key = item.substr(0, item.find('='));
      const auto it = names_.parameters.find(key);
      if (it == names_.parameters.end() || item.find('=') == std::string::npos) continue;
      const Loc loc = command_line_loc(item);
      it->second.value = {item.substr(key.size() + 1), loc, loc, std::nullopt};
      check_value(key, it->second, it->second.value);
    }
  }

  Loc command_line_loc(const std::string& item) {
    const FileId id = sources_.add(fmt::format("<--set {}>", item), item);
    return {id, 1, 1, static_cast<std::uint32_t>(item.size())};
  }

  const Overrides& overrides_;
  SourceManager& sources_;
  Pipeline pipeline_;
  std::vector<std::unique_ptr<toml::table>> tables_;  ///< keep nodes alive
  PipelineNames names_;
  std::map<std::string, Loc> claimed_;  ///< strategies and parameters share one name space
  std::set<std::string> included_;
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
  for (const auto& [name, p] : reader.names_.parameters) parameters.insert(name);
  apply_overrides(*pipeline, overrides, parameters, sources, diagnostics);
  return pipeline;
}

}  // namespace revet
