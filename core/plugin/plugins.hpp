/// Finds, checks and loads plugins. Directories are indexed by what their files say they provide;
/// a file is loaded only when something of it is needed.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "elf.hpp"
#include "revet/plugin.hpp"

namespace revet {

struct PluginFile {
  std::filesystem::path path;       ///< as it was found
  std::filesystem::path canonical;  ///< tells whether two paths are one file
  PluginSections sections;
  std::string error;  ///< why it cannot be used; empty if its sections are right
};

struct LoadedPlugin {
  std::string name;
  std::string version;
  std::string summary;
  std::filesystem::path path;
};

class Plugins {
 public:
  /// `directories` in order of precedence; see search_directories.
  Plugins(std::vector<std::filesystem::path> directories, Diagnostics& diagnostics);
  ~Plugins();
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;

  /// Loads the named files, each a path or a bare name looked up in the directories. Throws Error
  /// (exit 2) listing every one that cannot be loaded.
  void load_named(const std::vector<std::string>& files);

  /// Loads the first plugin that provides it, if it is not loaded yet. Null where none does; throws
  /// Error (exit 2) where one that does cannot be loaded.
  const PassInfo* pass(const std::string& id);
  const BackendInfo* backend(const std::string& name);
  const PropertyInfo* property(const std::string& name);
  const PredicateInfo* predicate(const std::string& name);
  /// Loads the plugins whose `op:PREFIX` is a prefix of the name. The op registry calls it for
  /// every op that it does not know.
  void load_op(std::string_view name);
  /// Loads every plugin that says it has ops, for listing them.
  void load_all_ops();

  /// Everything provided by any usable plugin: names by kind ("pass", "backend").
  std::vector<std::string> names(const std::string& kind) const;
  /// A pass that is known to establish the property, for messages; may be empty.
  std::string pass_establishing(const std::string& property);
  const std::vector<PluginFile>& files() const { return files_; }
  /// In the order in which they were loaded.
  const std::vector<LoadedPlugin>& loaded() const { return loaded_plugins_; }
  bool is_loaded(const PluginFile& file) const;
  /// Path of the file that "pass:NAME" and the like would be loaded from; "" if there is none.
  std::string provider(const std::string& what) const;
  const std::vector<std::filesystem::path>& directories() const { return directories_; }
  const Registry& registry() const { return registry_; }
  /// Path of the plugin that registered it, "" if none.
  std::string origin(const std::string& what) const;

  bool verbose = false;  ///< report shadowed plugins

 private:
  /// The position of the file in files_.
  std::size_t add_file(const std::filesystem::path& path);
  std::filesystem::path find_named(const std::string& name) const;
  void load(const PluginFile& file);
  void check_provides(const PluginFile& file,
                      const std::function<void(const std::string&)>& fail) const;
  void need(const std::string& what);

  std::vector<std::filesystem::path> directories_;
  Diagnostics& diagnostics_;
  std::vector<PluginFile> files_;
  std::map<std::string, std::vector<std::size_t>> providers_;  ///< "pass:NAME" -> files_, in order
  std::set<std::string> loaded_;                               ///< canonical paths
  std::map<std::string, std::string> failed_;                  ///< canonical path -> why
  std::set<std::string> noted_;                                ///< shadowed names reported
  std::vector<LoadedPlugin> loaded_plugins_;
  Registry registry_;
};

/// --plugin-path entries, then REVET_PLUGIN_PATH, then lib/revet/plugins of the installation, then
/// the folder of the executable.
std::vector<std::filesystem::path> search_directories(
    const std::vector<std::string>& from_command_line);
/// The real path of the running executable.
std::filesystem::path executable_path();
/// The fingerprint this host was built with.
const char* host_fingerprint();
const char* host_build();

}  // namespace revet
