#include "reproducer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../support/files.hpp"
#include "revet/abi.hpp"

namespace revet {
namespace fs = std::filesystem;
namespace {

using nlohmann::ordered_json;

constexpr int schema = 1;

std::string dump(const ordered_json& j) {
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

void write_reproducer(const fs::path& directory, const Reproducer& r,
                      const RunOptions::Reproduce& options, const Plugins& plugins) {
  std::error_code ec;
  fs::create_directory(directory, ec);
  if (ec || !fs::is_directory(directory))
    throw Error(Exit::usage, fmt::format("cannot make {}: {}", directory.string(),
                                         ec ? ec.message() : "a file has that name"));
  ordered_json j;
  j["schema"] = schema;
  j["version"] = REVET_CORE_VERSION;
  j["fingerprint"] = host_fingerprint();
  j["program"] = options.program;
  j["command"] = options.command;
  j["pass"] = r.pass;
  j["error"] = r.error;
  j["established"] = r.established;
  j["plugins"] = ordered_json::array();
  for (const LoadedPlugin& p : plugins.loaded())
    j["plugins"].push_back({{"name", p.name},
                            {"version", p.version},
                            {"path", fs::absolute(p.path).lexically_normal().string()},
                            {"fnv1a64", hash_of_file(p.path)}});
  write_file(directory / "input.rir", r.input);
  write_file(directory / "pipeline.toml", r.pipeline);
  write_file(directory / "reproducer.json", dump(j));
}

std::string replay_hint(const fs::path& directory) {
  return fmt::format("reproducer: {}; to see it again: revet replay {}", directory.string(),
                     directory.string());
}

std::string write_crash_reproducer(const Reproducer& r, const RunOptions::Reproduce& options,
                                   const Plugins& plugins) {
  constexpr unsigned most = 1000;
  try {
    std::string name = "revet-crash-" + r.pass;
    std::replace(name.begin(), name.end(), '/', '_');
    fs::path directory = options.always.empty() ? options.directory / name : options.always;
    for (unsigned n = 2; options.always.empty() && fs::exists(directory) && n < most; ++n)
      directory = options.directory / fmt::format("{}-{}", name, n);
    write_reproducer(directory, r, options, plugins);
    return replay_hint(directory);
  } catch (const std::exception& e) {
    return fmt::format("no reproducer: {}", e.what());
  }
}

Replay read_reproducer(const fs::path& directory) {
  const fs::path file = directory / "reproducer.json";
  Replay out;
  out.input = directory / "input.rir";
  out.pipeline = directory / "pipeline.toml";
  try {
    const ordered_json j = ordered_json::parse(read_file(file));
    if (j.at("schema") != schema)
      throw Error(Exit::usage, fmt::format("{} has schema {}, this revet reads {}", file.string(),
                                           j.at("schema").dump(), schema));
    out.program = j.at("program").get<std::string>();
    out.established = j.at("established").get<std::vector<std::string>>();
    out.error = j.at("error").get<std::string>();
    if (j.at("version") != REVET_CORE_VERSION)
      out.notes.push_back(fmt::format("made by revet {}, this is {}",
                                      j.at("version").get<std::string>(), REVET_CORE_VERSION));
    for (const ordered_json& p : j.at("plugins")) {
      const auto path = p.at("path").get<std::string>();
      std::error_code ec;
      if (!fs::exists(path, ec)) {
        out.notes.push_back(fmt::format("plugin {} is not there any more", path));
        continue;
      }
      out.plugins.push_back(path);
      if (hash_of_file(path) != p.at("fnv1a64").get<std::string>())
        out.notes.push_back(fmt::format("plugin {} was another file then", path));
    }
  } catch (const nlohmann::json::exception& e) {
    throw Error(Exit::usage, fmt::format("{} is no reproducer: {}", file.string(), e.what()));
  }
  return out;
}

}  // namespace revet
