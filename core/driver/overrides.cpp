/// Pipelines that the command line makes or changes, and where pipelines are found.
#include "overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace revet {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void usage(const std::string& message) { throw Error(Exit::usage, message); }

/// `name` is an id, or, where no id is spelt so, a pass: then every use of it is meant.
void switch_passes(Pipeline& p, const char* flag, const std::string& name, bool disabled,
                   Diagnostics& diagnostics) {
  const auto has = [&](const PassEntry& e) { return e.id == name; };
  if (std::none_of(p.entries.begin(), p.entries.end(), has)) {
    unsigned count = 0;
    for (PassEntry& e : p.entries)
      if (e.pass == name) {
        e.disabled = disabled;
        ++count;
      }
    if (count != 0) {
      diagnostics.note({}, fmt::format("{} {}: {} use{} of that pass", flag, name, count,
                                       count == 1 ? "" : "s"));
      return;
    }
  }
  p.entry(name, fmt::format("{} {}", flag, name)).disabled = disabled;
}

}  // namespace

std::vector<std::string> Pipeline::ids() const {
  std::vector<std::string> out;
  for (const PassEntry& e : entries) out.push_back(e.id);
  return out;
}

std::string Pipeline::describe(const PassEntry& e) const {
  const auto position = static_cast<std::size_t>(&e - entries.data()) + 1;
  return fmt::format("pass '{}' ({}{} of {})", e.id,
                     e.id == e.pass ? "" : fmt::format("'{}', ", e.pass), position, entries.size());
}

const PassEntry& Pipeline::entry(const std::string& id, const std::string& context) const {
  for (const PassEntry& e : entries)
    if (e.id == id) return e;
  usage(fmt::format("{}: there is no pass with id '{}'{}", context, id, did_you_mean(id, ids())));
}

PassEntry& Pipeline::entry(const std::string& id, const std::string& context) {
  return const_cast<PassEntry&>(std::as_const(*this).entry(id, context));
}

std::string IdCounter::next(const std::string& name) {
  const unsigned n = ++uses_[name];
  return n == 1 ? name : fmt::format("{}#{}", name, n);
}

void apply_overrides(Pipeline& p, const Overrides& overrides,
                     const std::set<std::string>& parameters, SourceManager& sources,
                     Diagnostics& notes) {
  const std::vector<std::string> names(parameters.begin(), parameters.end());
  for (const std::string& item : overrides.set) {
    const std::size_t eq = item.find('=');
    if (eq == std::string::npos) usage(fmt::format("--set {}: expected KEY=VALUE", item));
    const std::string key = item.substr(0, eq);
    if (parameters.count(key) != 0) continue;
    const std::size_t dot = key.rfind('.');
    const FileId id = sources.add(fmt::format("<--set {}>", item), item);
    const Loc loc{id, 1, 1, static_cast<std::uint32_t>(eq)};
    const Setting setting{item.substr(eq + 1), loc, loc, std::nullopt};
    if (key.starts_with("machine.")) {
      p.machine[key.substr(8)] = setting;
      continue;
    }
    const std::string owner = dot == std::string::npos ? "" : key.substr(0, dot);
    const std::string option = dot == std::string::npos ? key : key.substr(dot + 1);
    if (owner == "backend" || (!owner.empty() && owner == p.backend)) {
      p.backend_settings[option] = setting;
      continue;
    }
    if (owner.empty())
      usage(fmt::format("--set {}: there is no parameter '{}'{}", item, key,
                        did_you_mean(key, names)));
    p.entry(owner, "--set " + item).settings[option] = setting;
  }
  for (const std::string& id : overrides.disable) switch_passes(p, "--disable", id, true, notes);
  for (const std::string& id : overrides.enable) switch_passes(p, "--enable", id, false, notes);
}

std::optional<Pipeline> pipeline_of_passes(const std::vector<std::string>& items,
                                           const Overrides& overrides, SourceManager& sources,
                                           Diagnostics& diagnostics) {
  Pipeline p;
  p.name = "command line";
  p.main.path = "main";
  IdCounter ids;
  for (const std::string& item : items) {
    const FileId id = sources.add(fmt::format("<--pass {}>", item), item);
    PassEntry entry;
    const std::size_t brace = item.find('{');
    entry.pass = item.substr(0, brace);
    entry.loc = {id, 1, 1, static_cast<std::uint32_t>(entry.pass.size())};
    entry.id = ids.next(entry.pass);
    if (brace != std::string::npos) {
      if (item.back() != '}') {
        diagnostics.error({id, 1, static_cast<std::uint32_t>(brace + 1), 1},
                          "expected NAME{key=value,..}");
        continue;
      }
      const std::string list = item.substr(brace + 1, item.size() - brace - 2);
      for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string pair = list.substr(begin, end - begin);
        const std::size_t eq = pair.find('=');
        const Loc loc{id, 1, static_cast<std::uint32_t>(brace + 2 + begin),
                      static_cast<std::uint32_t>(pair.size())};
        if (eq == std::string::npos)
          diagnostics.error(loc, "expected key=value");
        else if (entry.settings.count(pair.substr(0, eq)) != 0)
          diagnostics.error(loc, fmt::format("option '{}' is given twice", pair.substr(0, eq)));
        else
          entry.settings[pair.substr(0, eq)] = {pair.substr(eq + 1), loc, loc, std::nullopt};
        begin = end + 1;
      }
    }
    Strategy step;
    step.kind = Strategy::pass;
    step.loc = entry.loc;
    step.path = fmt::format("main[{}]", p.entries.size());
    step.entry = p.entries.size();
    p.main.parts.push_back(std::move(step));
    p.entries.push_back(std::move(entry));
  }
  if (diagnostics.has_errors()) return std::nullopt;
  apply_overrides(p, overrides, {}, sources, diagnostics);
  return p;
}

std::map<std::string, fs::path> shipped_pipelines() {
  std::map<std::string, fs::path> out;
  const fs::path dir =
      (executable_path().parent_path() / "../share/revet/pipelines").lexically_normal();
  std::error_code ec;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec))
    if (it->path().extension() == ".toml") out[it->path().stem().string()] = it->path();
  return out;
}

fs::path find_pipeline(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".toml")) return name;
  const auto shipped = shipped_pipelines();
  const auto it = shipped.find(name);
  if (it != shipped.end()) return it->second;
  std::vector<std::string> known;
  for (const auto& [n, path] : shipped) known.push_back(n);
  throw Error(Exit::usage,
              fmt::format("there is no pipeline '{}' in this version{}; there are {}; a "
                          "file needs a '/' or ends in .toml",
                          name, did_you_mean(name, known), fmt::join(known, ", ")));
}

}  // namespace revet
