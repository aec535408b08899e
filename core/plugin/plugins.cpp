#include "plugins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/core/demangle.hpp>
#include <boost/dll/shared_library.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../support/crash_guard.hpp"
#include "revet/abi.hpp"

namespace revet {
namespace fs = std::filesystem;
namespace {

/// The loader's own words from a Boost.DLL exception: the errno phrase after them is unrelated, and
/// a missing symbol or library is worth reading.
std::string loader_text(std::string text, const std::string& plugin) {
  const std::size_t prefix =
      text.find("boost::dll::shared_library::load() failed (dlerror system message: ");
  if (prefix != std::string::npos) text = text.substr(text.find("message: ") + 9);
  if (const std::size_t end = text.rfind("): "); end != std::string::npos) text.resize(end);
  if (const std::size_t at = text.find("undefined symbol: "); at != std::string::npos) {
    const std::size_t begin = at + 18;
    const std::size_t end = std::min(text.find_first_of(", \t)", begin), text.size());
    const std::string symbol = text.substr(begin, end - begin);
    const std::string plain = boost::core::demangle(symbol.c_str());
    if (plain != symbol) text.replace(begin, end - begin, plain);
  }
  const std::size_t at = text.find(": cannot open shared object file");
  if (at != std::string::npos && text.substr(0, at) != plugin)
    return fmt::format(
        "a library that it depends on is missing: {}; install it or rebuild the "
        "plugin without it ({})",
        text.substr(0, at), text);
  return text;
}

/// The plugin's struct, or null where there is none. Throws boost::system::system_error.
const RevetPlugin* open_plugin(const fs::path& path) {
  // Kept for the life of the process, out of reach of the destructors that run at its end: objects
  // of a plugin may outlive any scope here.
  static auto& kept = *new std::vector<std::unique_ptr<boost::dll::shared_library>>;
  kept.push_back(std::make_unique<boost::dll::shared_library>(
      path.string(), boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local));
  const boost::dll::shared_library& library = *kept.back();
  return library.has("revet_plugin") ? &library.get<const RevetPlugin>("revet_plugin") : nullptr;
}

constexpr const char* rebuild = "rebuild the plugin against this version";

/// Why the plugin's struct does not fit this host, or "".
std::string mismatch(const RevetPlugin& plugin) {
  if (plugin.magic != plugin_magic || plugin.struct_size != sizeof(RevetPlugin))
    return fmt::format("'revet_plugin' has magic {:#x} and size {}, expected {:#x} and {}; {}",
                       plugin.magic, plugin.struct_size, plugin_magic, sizeof(RevetPlugin),
                       rebuild);
  if (plugin.abi_version != plugin_abi_version)
    return fmt::format("has plugin ABI {}, this revet has {}; {}", plugin.abi_version,
                       plugin_abi_version, rebuild);
  if (!plugin.fingerprint || !plugin.name || !plugin.register_)
    return fmt::format("'revet_plugin' has no {}; {}",
                       !plugin.fingerprint ? "fingerprint"
                       : !plugin.name      ? "name"
                                           : "register_",
                       rebuild);
  if (std::string_view(plugin.fingerprint) != REVET_ABI_FINGERPRINT)
    return fmt::format(
        "'revet_plugin' has another fingerprint than this revet; {}\n  plugin: {}\n  revet:  {}",
        rebuild, plugin.fingerprint, REVET_ABI_FINGERPRINT);
  return "";
}

}  // namespace

const char* host_fingerprint() { return REVET_ABI_FINGERPRINT; }
const char* host_build() { return REVET_ABI_BUILD; }

fs::path executable_path() { return fs::read_symlink("/proc/self/exe"); }

std::vector<fs::path> search_directories(const std::vector<std::string>& from_command_line) {
  std::vector<fs::path> out(from_command_line.begin(), from_command_line.end());
  if (const char* list = std::getenv("REVET_PLUGIN_PATH")) {
    const std::string_view text = list;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(':', begin), text.size());
      if (end > begin) out.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  const fs::path bin = executable_path().parent_path();
  out.push_back((bin / "../lib/revet/plugins").lexically_normal());
  out.push_back(bin);
  return out;
}

Plugins::Plugins(std::vector<fs::path> directories, Diagnostics& diagnostics)
    : directories_(std::move(directories)), diagnostics_(diagnostics) {
  for (const fs::path& dir : directories_) {
    std::error_code ec;
    std::vector<fs::path> found;
    for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec))
      if (it->path().extension() == ".so") found.push_back(it->path());
    std::sort(found.begin(), found.end());
    for (const fs::path& path : found) add_file(path);
  }
  OpRegistry::get().load_missing = [this](std::string_view name) { load_op(name); };
}

Plugins::~Plugins() { OpRegistry::get().load_missing = nullptr; }

std::size_t Plugins::add_file(const fs::path& path) {
  std::error_code ec;
  fs::path canonical = fs::canonical(path, ec);
  if (ec) canonical = path;
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (files_[i].canonical == canonical) return i;
  ElfResult elf = read_plugin_sections(path);
  if (elf.error.empty() && elf.sections.abi_version != REVET_ABI_VERSION_STRING)
    elf.error =
        fmt::format("has plugin ABI {}, this revet has {}; rebuild the plugin against this version",
                    elf.sections.abi_version, REVET_ABI_VERSION_STRING);
  else if (elf.error.empty() && elf.sections.fingerprint != REVET_ABI_FINGERPRINT)
    elf.error = fmt::format(
        "was built differently from this revet; rebuild the plugin with the same compiler and "
        "flags "
        "against the installed headers\n  plugin: {}\n  revet:  {}",
        elf.sections.fingerprint, REVET_ABI_FINGERPRINT);
  const std::size_t index = files_.size();
  files_.push_back({path, canonical, elf.sections, elf.error});
  for (const std::string& what : files_[index].sections.provides) providers_[what].push_back(index);
  return index;
}

void Plugins::load(const PluginFile& file) {
  const std::string key = file.canonical.string();
  if (loaded_.count(key) != 0) return;
  const auto fail = [&](const std::string& why) {
    failed_.emplace(key, fmt::format("cannot load plugin {}: {}", file.path.string(), why));
    throw Error(Exit::usage, failed_.at(key));
  };
  // What a failed registration left behind must not be used, nor registered again.
  if (const auto before = failed_.find(key); before != failed_.end())
    throw Error(Exit::usage, before->second);
  if (!file.error.empty()) fail(file.error);
  const RevetPlugin* plugin = nullptr;
  try {
    plugin = open_plugin(file.canonical);
    if (!plugin) fail("not a revet plugin (no symbol 'revet_plugin')");
  } catch (const boost::system::system_error& e) {
    fail(loader_text(e.what(), file.canonical.string()));
  }
  if (const std::string why = mismatch(*plugin); !why.empty()) fail(why);
  for (const LoadedPlugin& other : loaded_plugins_)
    if (other.name == plugin->name)
      fail(fmt::format("a plugin named '{}' is already loaded from {}", plugin->name,
                       other.path.string()));

  registry_.origin = file.path.string();
  int signal = 0;
  try {
    signal = run_guarded([&] { plugin->register_(registry_); });
  } catch (const Error& e) {
    fail(e.what());
  } catch (const std::exception& e) {
    fail(fmt::format("its registration failed: {}", e.what()));
  } catch (...) {
    fail("its registration threw something that is not a std::exception");
  }
  if (signal != 0) {
    crash_was_reported();
    fail(fmt::format("its registration crashed: {}", ::strsignal(signal)));
  }
  check_provides(file, fail);
  loaded_.insert(key);
  loaded_plugins_.push_back({plugin->name, plugin->version ? plugin->version : "",
                             plugin->summary ? plugin->summary : "", file.path});
}

/// What a plugin registers and what its section says must be the same.
void Plugins::check_provides(const PluginFile& file,
                             const std::function<void(const std::string&)>& fail) const {
  std::set<std::string> registered;
  for (const auto& [what, origin] : registry_.origins)
    if (origin == registry_.origin && !what.starts_with("property:")) registered.insert(what);
  for (const std::string& what : registered) {
    const auto covers = [&](const std::string& p) {
      return p == what || (p.starts_with("op:") && what.starts_with(p + "."));
    };
    const auto& provides = file.sections.provides;
    if (std::none_of(provides.begin(), provides.end(), covers))
      fail(fmt::format("registers {} but its section .revet.provides does not say so", what));
  }
  for (const std::string& what : file.sections.provides)
    if (!what.starts_with("op:") && registry_.origins.count(what) == 0)
      fail(fmt::format("says that it provides {} but does not register it", what));
}

fs::path Plugins::find_named(const std::string& name) const {
  if (name.empty()) throw Error(Exit::usage, "cannot load plugin '': the name is empty");
  if (name.find('/') != std::string::npos) {
    std::error_code ec;
    if (fs::symlink_status(name, ec).type() == fs::file_type::not_found)
      throw Error(Exit::usage, fmt::format("cannot load plugin '{}': no such file", name));
    return name;
  }
  std::vector<fs::path> tried = {name};
  for (const fs::path& dir : directories_)
    for (const std::string& file : {name, name + ".so", "lib" + name + ".so"})
      tried.push_back(dir / file);
  std::string list;
  for (const fs::path& path : tried) {
    std::error_code ec;
    if (fs::exists(path, ec) && !fs::is_directory(path, ec)) return path;
    list += (list.empty() ? "" : ", ") + path.string();
  }
  std::vector<std::string> known;
  for (const PluginFile& f : files_) {
    known.push_back(f.path.stem().string());
    if (known.back().starts_with("lib")) known.push_back(known.back().substr(3));
  }
  throw Error(Exit::usage, fmt::format("cannot load plugin '{}': no such file{} (tried {})", name,
                                       did_you_mean(name, known), list));
}

void Plugins::load_named(const std::vector<std::string>& names) {
  std::vector<std::string> problems;
  for (const std::string& name : names) {
    try {
      const fs::path found = find_named(name);
      // Named files come before the directories, whatever was indexed already.
      const std::size_t index = add_file(found);
      for (const std::string& what : files_[index].sections.provides) {
        auto& list = providers_[what];
        std::erase(list, index);
        list.insert(list.begin(), index);
      }
      load(files_[index]);
    } catch (const Error& e) {
      problems.emplace_back(e.what());
    }
  }
  if (problems.empty()) return;
  for (std::size_t i = 0; i + 1 < problems.size(); ++i) diagnostics_.error({}, problems[i]);
  throw Error(Exit::usage, problems.back());
}

void Plugins::need(const std::string& what) {
  const auto it = providers_.find(what);
  if (it == providers_.end()) return;
  const auto& list = it->second;
  // A loaded provider wins over the search order: its names are taken.
  std::size_t winner = list[0];
  for (const std::size_t i : list)
    if (is_loaded(files_[i])) winner = i;
  if (verbose && list.size() > 1 && noted_.insert(what).second)
    for (const std::size_t i : list)
      if (i != winner)
        diagnostics_.note({}, fmt::format("{} of {} is shadowed by {}", what,
                                          files_[i].path.string(), files_[winner].path.string()));
  load(files_[winner]);
}

const PassInfo* Plugins::pass(const std::string& id) {
  need("pass:" + id);
  return registry_.pass(id);
}

const BackendInfo* Plugins::backend(const std::string& name) {
  need("backend:" + name);
  return registry_.backend(name);
}

const PropertyInfo* Plugins::property(const std::string& name) {
  need("property:" + name);
  return registry_.property(name);
}

const PredicateInfo* Plugins::predicate(const std::string& name) {
  need("predicate:" + name);
  return registry_.predicate(name);
}

void Plugins::load_op(std::string_view name) {
  for (const auto& [what, list] : providers_) {
    if (!what.starts_with("op:")) continue;
    const std::string_view prefix = std::string_view(what).substr(3);
    if (name == prefix || name.starts_with(std::string(prefix) + ".")) need(what);
  }
}

void Plugins::load_all_ops() {
  for (const auto& [what, list] : providers_) {
    if (!what.starts_with("op:")) continue;
    try {
      need(what);
    } catch (const Error&) {
      // A faulty plugin matters only where it is named or needed.
    }
  }
}

bool Plugins::is_loaded(const PluginFile& file) const {
  return loaded_.count(file.canonical.string()) != 0;
}

std::string Plugins::provider(const std::string& what) const {
  const auto it = providers_.find(what);
  return it == providers_.end() ? "" : files_[it->second[0]].path.string();
}

std::vector<std::string> Plugins::names(const std::string& kind) const {
  std::vector<std::string> out;
  for (const auto& [what, list] : providers_) {
    const bool usable = std::any_of(list.begin(), list.end(),
                                    [&](std::size_t i) { return files_[i].error.empty(); });
    if (usable && what.starts_with(kind + ":")) out.push_back(what.substr(kind.size() + 1));
  }
  return out;
}

std::string Plugins::pass_establishing(const std::string& property) {
  for (const std::string& id : names("pass")) {
    try {
      const PassInfo* info = pass(id);
      if (info && std::count(info->establishes.begin(), info->establishes.end(), property) != 0)
        return id;
    } catch (const Error&) {
      // A faulty plugin matters only where it is named or needed.
    }
  }
  return {};
}

std::string Plugins::origin(const std::string& what) const {
  const auto it = registry_.origins.find(what);
  return it == registry_.origins.end() ? "" : it->second;
}

}  // namespace revet
