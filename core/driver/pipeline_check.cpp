/// Checks a pipeline against the passes and backends it names, and prints it.
#include <fmt/format.h>

#include <algorithm>

#include "pipeline.hpp"

namespace revet {
namespace {

/// Fills `values` from `settings`; every fault is an error at its place.
void resolve_options(const OptionTable& table, const std::map<std::string, Setting>& settings,
                     const std::string& owner, OptionValues& values, Diagnostics& diagnostics) {
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
    if (parsed.value)
      values.set(name, *parsed.value);
    else
      diagnostics.error(setting.loc, parsed.error);
  }
}

class Checker {
 public:
  Checker(Plugins& plugins, Level level, Diagnostics& diagnostics)
      : plugins_(plugins), level_(level), diagnostics_(diagnostics) {}

  void entry(PassEntry& e) {
    const PassInfo* info = plugins_.pass(e.pass);
    if (!info) {
      diagnostics_.error(e.loc, fmt::format("there is no pass '{}'{}", e.pass,
                                            did_you_mean(e.pass, plugins_.names("pass"))));
      return;
    }
    resolve_options(info->options, e.settings, fmt::format("pass '{}'", e.pass), e.options,
                    diagnostics_);
    if (e.disabled) return;
    takes(e.loc, fmt::format("pass '{}'", e.id), info->input, info->requires_);
    if (info->output != Level::any) level_ = info->output;
    for (const std::string& p : info->invalidates) std::erase(established_, p);
    established_.insert(established_.end(), info->establishes.begin(), info->establishes.end());
  }

  void backend(Pipeline& p) {
    const BackendInfo* info = plugins_.backend(p.backend);
    if (!info) {
      diagnostics_.error(p.backend_loc,
                         fmt::format("there is no backend '{}'{}", p.backend,
                                     did_you_mean(p.backend, plugins_.names("backend"))));
      return;
    }
    resolve_options(info->options, p.backend_settings, fmt::format("backend '{}'", p.backend),
                    p.backend_options, diagnostics_);
    takes(p.backend_loc, fmt::format("backend '{}'", p.backend), info->input, info->requires_);
  }

 private:
  void takes(Loc loc, const std::string& who, Level input, const std::vector<std::string>& needs) {
    if (input != Level::any && input != level_)
      diagnostics_.error(
          loc, fmt::format("{} takes the {} level, but what comes before gives the {} level", who,
                           level_name(input), level_name(level_)));
    for (const std::string& need : needs) {
      if (std::find(established_.begin(), established_.end(), need) != established_.end()) continue;
      const std::string giver = plugins_.pass_establishing(need);
      diagnostics_.error(
          loc, fmt::format("{} requires '{}', which nothing before it establishes{}", who, need,
                           giver.empty() ? "" : fmt::format("; pass '{}' does", giver)));
    }
  }

  Plugins& plugins_;
  Level level_;
  std::vector<std::string> established_;
  Diagnostics& diagnostics_;
};

/// A TOML string literal.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\u{:04X}", byte);
    else
      out += c;
  }
  return out + '"';
}

std::string literal(OptionType type, const std::string& value) {
  if (type == OptionType::text) return quoted(value);
  // A number needs a point or an exponent to stay a float; inf is one already.
  if (type == OptionType::number && value.find_first_of(".en") == std::string::npos)
    return value + ".0";
  return value;
}

}  // namespace

bool check(Pipeline& pipeline, Plugins& plugins, Level level, Diagnostics& diagnostics) {
  Checker checker(plugins, level, diagnostics);
  for (PassEntry& e : pipeline.entries) checker.entry(e);
  if (!pipeline.backend.empty()) checker.backend(pipeline);
  return !diagnostics.has_errors();
}

std::string print(const Pipeline& pipeline, Plugins& plugins) {
  std::string out =
      fmt::format("name = {}\nsummary = {}\n", quoted(pipeline.name), quoted(pipeline.summary));
  if (!pipeline.plugins.empty()) {
    out += "plugins = [";
    for (std::size_t i = 0; i < pipeline.plugins.size(); ++i) {
      // Relative paths are taken from the folder of the file, which is not known here.
      const std::string path =
          std::filesystem::absolute(pipeline.plugins[i]).lexically_normal().string();
      out += (i == 0 ? "" : ", ") + quoted(path);
    }
    out += "]\n";
  }
  if (!pipeline.machine.empty()) {
    out += "\n[machine]\n";
    for (const auto& [key, setting] : pipeline.machine)
      out += fmt::format("{} = {}\n", key, quoted(setting.value));
  }
  out += "\n[strategy]\nmain = [\n";
  IdCounter ids;
  for (const PassEntry& e : pipeline.entries) {
    if (e.disabled) continue;
    const PassInfo* info = plugins.pass(e.pass);
    out += fmt::format("  {{ pass = {}", quoted(e.pass));
    if (e.id != ids.next(e.pass)) out += fmt::format(", id = {}", quoted(e.id));
    for (const OptionSpec& spec : info->options)
      out += fmt::format(", {} = {}", spec.name, literal(spec.type, e.options.text(spec.name)));
    out += " },\n";
  }
  out += "]\n";
  if (!pipeline.backend.empty()) {
    out += fmt::format("\n[backend]\nname = {}\n", quoted(pipeline.backend));
    for (const OptionSpec& spec : plugins.backend(pipeline.backend)->options)
      out += fmt::format("{} = {}\n", spec.name,
                         literal(spec.type, pipeline.backend_options.text(spec.name)));
  }
  return out;
}

}  // namespace revet
