/// Pipeline files: TOML in, a strategy over passes with all options resolved out.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../plugin/plugins.hpp"
#include "revet/diagnostics.hpp"
#include "revet/machine.hpp"
#include "revet/options.hpp"
#include "strategy.hpp"

namespace revet {

/// An option as written, with the places of its value and of its key.
struct Setting {
  std::string value;
  Loc loc;
  Loc key = loc;
  /// How a file has it; nullopt for the command line, where everything is text.
  std::optional<OptionType> type = std::nullopt;
};

/// One pass of a resolved pipeline.
struct PassEntry {
  std::string id;    ///< the pass name, NAME#2 for its second use, or what `id` says
  std::string pass;  ///< name of the pass
  std::map<std::string, Setting> settings;
  OptionValues options;  ///< filled in by check()
  bool disabled = false;
  Loc loc;
};

struct Pipeline {
  std::string name;
  std::string summary;
  std::filesystem::path file;
  std::vector<std::string> plugins;  ///< paths, already relative to the working directory
  std::vector<PassEntry> entries;    ///< the passes of `main`, in reading order
  Strategy main;
  std::map<std::string, Setting> machine;
  std::shared_ptr<const Machine> model;  ///< what `machine` says; filled in when it is read
  std::string backend;                   ///< "" where the pipeline names none
  Loc backend_loc;
  std::map<std::string, Setting> backend_settings;
  OptionValues backend_options;  ///< filled in by check()

  /// The entry with that id; throws Error (exit 2), beginning with `context`, with the nearest id.
  PassEntry& entry(const std::string& id, const std::string& context);
  const PassEntry& entry(const std::string& id, const std::string& context) const;
  std::vector<std::string> ids() const;
  /// "pass 'ID'" with the pass's name if it differs, and its position.
  std::string describe(const PassEntry& entry) const;
};

/// Gives ids to the uses of a name in reading order: NAME, NAME#2, NAME#3.
class IdCounter {
 public:
  std::string next(const std::string& name);

 private:
  std::map<std::string, unsigned> uses_;
};

/// What the command line changes.
struct Overrides {
  std::vector<std::string> set;      ///< KEY=VALUE
  std::vector<std::string> disable;  ///< ids
  std::vector<std::string> enable;   ///< ids
};

/// Reads a pipeline file with its includes and parameters, and applies the overrides. Errors go to
/// `diagnostics`; nullopt where there were any.
std::optional<Pipeline> load_pipeline(const std::filesystem::path& file, const Overrides& overrides,
                                      SourceManager& sources, Diagnostics& diagnostics);

/// A pipeline of `NAME` or `NAME{key=value,..}` items, as given by --pass.
std::optional<Pipeline> pipeline_of_passes(const std::vector<std::string>& items,
                                           const Overrides& overrides, SourceManager& sources,
                                           Diagnostics& diagnostics);

/// What a run begins with.
struct Start {
  Level level = Level::thread;           ///< of the module that goes in
  std::vector<std::string> established;  ///< properties that it has
  std::string at;                        ///< id of the first pass to run; empty: all run
};

/// Loads what the pipeline names and checks all of it before anything runs: passes, backend, places
/// and predicates exist, options are right, levels fit, requirements are met.
bool check(Pipeline& pipeline, Plugins& plugins, const Start& start, Diagnostics& diagnostics);

/// The resolved pipeline as TOML, defaults shown; call after check().
std::string print(const Pipeline& pipeline, Plugins& plugins);
/// One entry as it would stand in a list: `{ pass = "inline", max-ops = 1000000 }`.
std::string print_entry(const Pipeline& pipeline, const PassEntry& entry, Plugins& plugins);
/// A value of an option as TOML writes it.
std::string toml_literal(OptionType type, const std::string& value);

/// The file of a shipped pipeline NAME, or `name` itself where it has a '/' or ends in .toml.
/// Throws Error (exit 2) with the nearest name.
std::filesystem::path find_pipeline(const std::string& name);
/// Names and files of the shipped pipelines, in order of names.
std::map<std::string, std::filesystem::path> shipped_pipelines();

}  // namespace revet
