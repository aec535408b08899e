/// The commands that list what there is: passes, backends, ops, pipelines, plugins.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"

namespace revet::host {
namespace {

using nlohmann::ordered_json;

std::string table(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& [name, text] : rows) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, text] : rows) out += fmt::format("{:<{}}  {}\n", name, width, text);
  return out;
}

ordered_json options_json(const OptionTable& options) {
  ordered_json out = ordered_json::array();
  for (const OptionSpec& o : options)
    out.push_back({{"name", o.name},
                   {"default", o.fallback},
                   {"accepts", describe(o)},
                   {"help", o.help},
                   {"flag", o.flag}});
  return out;
}

std::string options_text(const OptionTable& options) {
  if (options.empty()) return "It has no options.\n";
  std::string out = "Options:\n";
  for (const OptionSpec& o : options)
    out += fmt::format("  {}{}\n      {} ({})\n", o.name,
                       o.flag ? fmt::format(" (also --{} V of `revet run`)", o.name) : "", o.help,
                       describe(o));
  return out;
}

[[noreturn]] void unknown(const char* what, const std::string& name,
                          const std::vector<std::string>& known) {
  throw Error(Exit::usage,
              fmt::format("there is no {} '{}'{}", what, name, did_you_mean(name, known)));
}

std::string join(const std::vector<std::string>& list) {
  return list.empty() ? "nothing" : fmt::format("{}", fmt::join(list, ", "));
}

/// A faulty plugin that nobody needs is no reason to fail: the list says what is wrong with it.
std::pair<std::string, ordered_json> summary_of(const std::function<std::string()>& get) {
  try {
    return {get(), nullptr};
  } catch (const Error& e) {
    return {fmt::format("(cannot be used: {})", e.what()), e.what()};
  }
}

void list_passes(Session& s, const std::string& name) {
  const std::vector<std::string> names = s.plugins().names("pass");
  if (!name.empty()) {
    const PassInfo* p = s.plugins().pass(name);
    if (!p) unknown("pass", name, names);
    const std::string origin = s.plugins().origin("pass:" + name);
    if (s.common.json)
      return answer(json_text(ordered_json{{"name", p->id},
                                           {"summary", p->summary},
                                           {"input", level_name(p->input)},
                                           {"output", level_name(p->output)},
                                           {"requires", p->requires_},
                                           {"establishes", p->establishes},
                                           {"invalidates", p->invalidates},
                                           {"plugin", origin},
                                           {"options", options_json(p->options)}}));
    return answer(fmt::format(
        "{}: {}\nLevel: {} -> {}\nRequires {}; establishes {}; invalidates {}.\nPlugin: {}\n{}",
        p->id, p->summary, level_name(p->input), level_name(p->output), join(p->requires_),
        join(p->establishes), join(p->invalidates), origin, options_text(p->options)));
  }
  std::vector<std::pair<std::string, std::string>> rows;
  ordered_json j = ordered_json::array();
  for (const std::string& n : names) {
    const auto [summary, error] = summary_of([&] { return s.plugins().pass(n)->summary; });
    rows.emplace_back(n, summary);
    j.push_back({{"name", n},
                 {"summary", summary},
                 {"plugin", s.plugins().provider("pass:" + n)},
                 {"error", error}});
  }
  answer(s.common.json ? json_text(j) : table(rows));
}

void list_backends(Session& s, const std::string& name) {
  const std::vector<std::string> names = s.plugins().names("backend");
  if (!name.empty()) {
    const BackendInfo* b = s.plugins().backend(name);
    if (!b) unknown("backend", name, names);
    const std::string origin = s.plugins().origin("backend:" + name);
    if (s.common.json)
      return answer(json_text(ordered_json{{"name", b->name},
                                           {"summary", b->summary},
                                           {"input", level_names(b->inputs)},
                                           {"requires", b->requires_},
                                           {"emits", static_cast<bool>(b->emit)},
                                           {"runs", static_cast<bool>(b->run)},
                                           {"plugin", origin},
                                           {"options", options_json(b->options)}}));
    return answer(fmt::format(
        "{}: {}\nLevel: {}\nRequires {}.\nEmits source: {}; runs programs: {}\nPlugin: {}\n{}",
        b->name, b->summary, level_names(b->inputs), join(b->requires_), b->emit ? "yes" : "no",
        b->run ? "yes" : "no", origin, options_text(b->options)));
  }
  std::vector<std::pair<std::string, std::string>> rows;
  ordered_json j = ordered_json::array();
  for (const std::string& n : names) {
    const auto [summary, error] = summary_of([&] { return s.plugins().backend(n)->summary; });
    rows.emplace_back(n, summary);
    j.push_back({{"name", n},
                 {"summary", summary},
                 {"plugin", s.plugins().provider("backend:" + n)},
                 {"error", error}});
  }
  answer(s.common.json ? json_text(j) : table(rows));
}

std::string count_text(Count c) {
  if (c.max == Count::many) return fmt::format("{} or more", c.min);
  return c.min == c.max ? std::to_string(c.min) : fmt::format("{} to {}", c.min, c.max);
}

const char* kind_text(AttrKind k) {
  switch (k) {
    case AttrKind::boolean: return "boolean";
    case AttrKind::integer: return "integer";
    case AttrKind::number: return "float";
    case AttrKind::string: return "string";
    case AttrKind::type: return "type";
    case AttrKind::array: return "array";
    case AttrKind::any: return "any";
  }
  return "";
}

void list_ops(Session& s, const std::string& name) {
  s.plugins().load_all_ops();
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> rows;
  ordered_json j = ordered_json::array();
  for (const OpInfo* op : OpRegistry::get().all()) {
    names.push_back(op->name);
    rows.emplace_back(op->name, op->summary);
    j.push_back({{"name", op->name},
                 {"summary", op->summary},
                 {"level", level_name(op->level)},
                 {"origin", OpRegistry::get().origin(op->name)}});
  }
  if (name.empty()) return answer(s.common.json ? json_text(j) : table(rows));
  const OpInfo* op = OpRegistry::get().find(name);
  if (!op) unknown("op", name, names);
  ordered_json attrs = ordered_json::array();
  std::string text = fmt::format(
      "{}: {}\nLevel: {}\nOperands: {}{}\nResults: {}{}\nRegions: {}\nSuccessors: {}\n", op->name,
      op->summary, level_name(op->level), count_text(op->operands),
      op->operand_help.empty() ? "" : fmt::format(" ({})", op->operand_help),
      count_text(op->results), op->result_help.empty() ? "" : fmt::format(" ({})", op->result_help),
      count_text(op->regions), count_text(op->successors));
  for (const AttrSpec& a : op->attrs) {
    text += fmt::format("Attribute {}: {}{}; {}\n", a.name, kind_text(a.kind),
                        a.required ? ", required" : "", a.help);
    attrs.push_back({{"name", a.name},
                     {"kind", kind_text(a.kind)},
                     {"required", a.required},
                     {"help", a.help}});
  }
  if (op->terminator) text += "Ends a block.\n";
  if (!op->effects)
    text += "Its effects are not declared: it is treated as reading and writing everything.\n";
  if (!s.common.json) return answer(text);
  answer(json_text(ordered_json{{"name", op->name},
                                {"summary", op->summary},
                                {"level", level_name(op->level)},
                                {"operands", op->operand_help},
                                {"results", op->result_help},
                                {"attributes", attrs},
                                {"terminator", op->terminator},
                                {"origin", OpRegistry::get().origin(op->name)}}));
}

void list_pipelines(Session& s, const std::string& wanted) {
  std::vector<std::pair<std::string, std::string>> rows;
  std::vector<std::string> names;
  ordered_json j = ordered_json::array();
  for (const auto& [name, path] : shipped_pipelines()) {
    const auto p = load_pipeline(path, {}, s.sources, s.diagnostics);
    s.flush(Exit::usage);
    const ordered_json one = {{"name", name},
                              {"summary", p->summary},
                              {"file", path.string()},
                              {"backend", p->backend},
                              {"passes", p->ids()}};
    if (name == wanted)
      return answer(s.common.json ? json_text(one)
                                  : fmt::format("{}: {}\nFile: {}\nPasses: {}\nBackend: {}\n"
                                                "`revet pipeline {}` prints it with all options.\n",
                                                name, p->summary, path.string(), join(p->ids()),
                                                p->backend, name));
    names.push_back(name);
    rows.emplace_back(name, p->summary);
    j.push_back(one);
  }
  if (!wanted.empty()) unknown("shipped pipeline", wanted, names);
  answer(s.common.json ? json_text(j) : table(rows));
}

/// What another file, found earlier, provides in this one's stead.
std::vector<std::string> shadowed(const Plugins& plugins, const PluginFile& f) {
  std::vector<std::string> out;
  for (const std::string& what : f.sections.provides)
    if (!what.starts_with("op:") && plugins.provider(what) != f.path.string())
      out.push_back(fmt::format("{} (by {})", what, plugins.provider(what)));
  return out;
}

/// The one whose plugin name or file name is `name`: "inline", "libinline.so" or a path.
void describe_plugin(Session& s, const std::string& name) {
  Plugins& plugins = s.plugins();
  std::vector<std::string> known;
  for (const PluginFile& f : plugins.files()) {
    std::string stem = f.path.stem().string();
    if (stem.starts_with("lib")) stem = stem.substr(3);
    known.push_back(stem);
    if (name != stem && name != f.path.filename() && name != f.path) continue;
    plugins.load_named({f.path.string()});
    const auto& loaded = plugins.loaded();
    const auto plugin = std::find_if(loaded.begin(), loaded.end(),
                                     [&](const LoadedPlugin& p) { return p.path == f.path; });
    if (s.common.json)
      return answer(json_text(ordered_json{{"name", plugin->name},
                                           {"version", plugin->version},
                                           {"summary", plugin->summary},
                                           {"path", f.path.string()},
                                           {"provides", f.sections.provides},
                                           {"abi", f.sections.abi_version},
                                           {"fingerprint", f.sections.fingerprint},
                                           {"build", f.sections.build}}));
    return answer(fmt::format("{} {}: {}\nFile: {}\nProvides {}\nPlugin ABI: {} {}\nBuild: {}\n",
                              plugin->name, plugin->version, plugin->summary, f.path.string(),
                              join(f.sections.provides), f.sections.abi_version,
                              f.sections.fingerprint, f.sections.build));
  }
  unknown("plugin", name, known);
}

void list_plugins(Session& s, const std::string& name) {
  if (!name.empty()) return describe_plugin(s, name);
  const Plugins& plugins = s.plugins();
  std::string text;
  ordered_json j = ordered_json::array();
  for (const PluginFile& f : plugins.files()) {
    const std::vector<std::string> hidden =
        f.error.empty() ? shadowed(plugins, f) : std::vector<std::string>();
    text += fmt::format("{}\n", f.path.string());
    text += f.error.empty() ? fmt::format("    provides {} ({} build)\n", join(f.sections.provides),
                                          f.sections.build)
                            : fmt::format("    cannot be used: {}\n", f.error);
    if (!hidden.empty()) text += fmt::format("    shadowed: {}\n", join(hidden));
    j.push_back({{"path", f.path.string()},
                 {"provides", f.sections.provides},
                 {"build", f.sections.build},
                 {"shadowed", hidden},
                 {"loaded", plugins.is_loaded(f)},
                 {"error", f.error.empty() ? ordered_json(nullptr) : ordered_json(f.error)}});
  }
  if (s.common.verbose)
    for (const auto& d : plugins.directories()) text += fmt::format("searched {}\n", d.string());
  answer(s.common.json ? json_text(j) : text);
}

}  // namespace

void list_command(const Command& command, const std::vector<std::string>& words) {
  Common common;
  po::positional_options_description positional;
  positional.add("input", 1);
  const po::variables_map values =
      parse_options(command, words, po::options_description(), positional, common);
  const std::string name =
      values.count("input") != 0 ? values["input"].as<std::vector<std::string>>()[0] : "";
  in_session(common, [&](Session& session) {
    if (command.name == "passes") list_passes(session, name);
    if (command.name == "backends") list_backends(session, name);
    if (command.name == "ops") list_ops(session, name);
    if (command.name == "pipelines") list_pipelines(session, name);
    if (command.name == "plugins") list_plugins(session, name);
    session.flush(Exit::usage);
  });
}

}  // namespace revet::host
