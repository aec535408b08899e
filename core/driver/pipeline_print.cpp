/// Prints a checked pipeline as a pipeline file that says the same with nothing left to resolve.
#include <fmt/format.h>

#include <algorithm>

#include "pipeline.hpp"

namespace revet {
namespace {

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

std::string key(const std::string& name) {
  const bool bare = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
  return bare ? name : quoted(name);
}

class Printer {
 public:
  Printer(const Pipeline& pipeline, Plugins& plugins) : pipeline_(pipeline), plugins_(plugins) {}

  std::string entry(const PassEntry& e) {
    std::string out = fmt::format("{{ pass = {}", quoted(e.pass));
    if (e.id != ids_.next(e.pass)) out += fmt::format(", id = {}", quoted(e.id));
    for (const OptionSpec& spec : plugins_.pass(e.pass)->options)
      out += fmt::format(", {} = {}", key(spec.name),
                         toml_literal(spec.type, e.options.text(spec.name)));
    return out + " }";
  }

  /// One value; "" for a pass that is left out.
  std::string value(const Strategy& s) {
    const auto part = [&](std::size_t i) {
      const std::string text = value(s.parts[i]);
      return text.empty() ? "\"id\"" : text;
    };
    switch (s.kind) {
      case Strategy::pass: {
        const PassEntry& e = pipeline_.entries[s.entry];
        return e.disabled ? "" : entry(e);
      }
      case Strategy::sequence: return list(s, ", ", true);
      case Strategy::id: return "\"id\"";
      case Strategy::fail: return "\"fail\"";
      // An alternative that is left out still is one: it does nothing and succeeds.
      case Strategy::first_of: return fmt::format("{{ first-of = {} }}", list(s, ", ", false));
      case Strategy::repeat: return fmt::format("{{ repeat = {}, max = {} }}", part(0), s.count);
      case Strategy::normalize:
        return fmt::format("{{ normalize = {}, max = {} }}", rules(s.parts[0]), s.count);
      case Strategy::times: return fmt::format("{{ times = {}, do = {} }}", s.count, part(0));
      case Strategy::choose: {
        const std::size_t then = s.predicate ? 0 : 1;
        // One by one: ids are counted in reading order.
        const std::string question = condition(s);
        const std::string yes = part(then);
        const std::string no = part(then + 1);
        return fmt::format("{{ if = {}, then = {}, else = {} }}", question, yes, no);
      }
      case Strategy::negation: return fmt::format("{{ not = {} }}", condition(s));
      case Strategy::at: {
        const std::string pick =
            s.pick == Strategy::nth ? std::to_string(s.count) : quoted(pick_name(s.pick));
        return fmt::format("{{ at = {}, pick = {}, do = {} }}", quoted(s.location->text), pick,
                           part(0));
      }
      case Strategy::check: return fmt::format("{{ check = {} }}", quoted(s.predicate->text));
      case Strategy::dump:
      case Strategy::note: return fmt::format("{{ {} = {} }}", verb_of(s.kind), quoted(s.text));
      case Strategy::attempt:
      case Strategy::one:
      case Strategy::all:
      case Strategy::some: return fmt::format("{{ {} = {} }}", verb_of(s.kind), part(0));
    }
    return "";
  }

  std::string list(const Strategy& s, const char* separator, bool leave_out) {
    std::string out;
    for (const Strategy& part : s.parts) {
      std::string text = value(part);
      if (text.empty()) text = leave_out ? "" : "\"id\"";
      if (!text.empty()) out += (out.empty() ? "" : separator) + text;
    }
    return "[" + out + "]";
  }

 private:
  /// A bare array means a choice there.
  std::string rules(const Strategy& s) {
    if (s.kind == Strategy::first_of) return list(s, ", ", false);
    if (s.kind == Strategy::sequence) return fmt::format("{{ seq = {} }}", list(s, ", ", true));
    const std::string text = value(s);
    return text.empty() ? "\"id\"" : text;
  }

  /// A bare text means a predicate there.
  std::string condition(const Strategy& s) {
    if (s.predicate) return quoted(s.predicate->text);
    std::string text = value(s.parts[0]);
    if (text.empty()) text = "\"id\"";
    return text.front() == '"' ? "[" + text + "]" : text;
  }

  const Pipeline& pipeline_;
  Plugins& plugins_;
  IdCounter ids_;
};

}  // namespace

std::string toml_literal(OptionType type, const std::string& value) {
  if (type == OptionType::text) return quoted(value);
  // A number needs a point or an exponent to stay a float; inf is one already.
  if (type == OptionType::number && value.find_first_of(".en") == std::string::npos)
    return value + ".0";
  return value;
}

std::string print_entry(const Pipeline& pipeline, const PassEntry& entry, Plugins& plugins) {
  return Printer(pipeline, plugins).entry(entry);
}

std::string print(const Pipeline& pipeline, Plugins& plugins) {
  std::string out =
      fmt::format("name = {}\nsummary = {}\n", quoted(pipeline.name), quoted(pipeline.summary));
  if (!pipeline.plugins.empty()) {
    std::vector<std::string> paths;
    // Relative paths are taken from the folder of the file, which is not known here.
    for (const std::string& plugin : pipeline.plugins)
      paths.push_back(quoted(std::filesystem::absolute(plugin).lexically_normal().string()));
    out += fmt::format("plugins = [{}]\n", fmt::join(paths, ", "));
  }
  if (!pipeline.machine.empty()) {
    out += "\n[machine]\n";
    for (const auto& [name, setting] : pipeline.machine)
      out += fmt::format("{} = {}\n", key(name),
                         toml_literal(setting.type.value_or(OptionType::text), setting.value));
  }
  out += "\n[strategy]\nmain = [\n";
  Printer printer(pipeline, plugins);
  const bool flat = pipeline.main.kind == Strategy::sequence;
  for (std::size_t i = 0; i < (flat ? pipeline.main.parts.size() : 1); ++i) {
    const std::string text = printer.value(flat ? pipeline.main.parts[i] : pipeline.main);
    if (!text.empty()) out += fmt::format("  {},\n", text);
  }
  out += "]\n";
  if (!pipeline.backend.empty()) {
    out += fmt::format("\n[backend]\nname = {}\n", quoted(pipeline.backend));
    for (const OptionSpec& spec : plugins.backend(pipeline.backend)->options)
      out += fmt::format("{} = {}\n", key(spec.name),
                         toml_literal(spec.type, pipeline.backend_options.text(spec.name)));
  }
  return out;
}

}  // namespace revet
