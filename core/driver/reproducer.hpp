/// Reproducers: folders that hold all that is needed to see a run, or the failure of a pass, again.
///
///   input.rir         the module that the first pass of pipeline.toml was given
///   pipeline.toml     what was left to do
///   reproducer.json   version, command line, plugins with their hashes, what went wrong
#pragma once

#include "pass_manager.hpp"

namespace revet {

struct Reproducer {
  std::string input;     ///< text of the module
  std::string pipeline;  ///< text of the pipeline file
  std::string pass;      ///< id of the pass that failed; "" where none did
  std::string error;
  std::vector<std::string> established;  ///< properties of the module
};

/// Makes `directory`, which must not exist or be empty, and its parents not. Throws Error (exit 2).
void write_reproducer(const std::filesystem::path& directory, const Reproducer& reproducer,
                      const RunOptions::Reproduce& options, const Plugins& plugins);

/// Where a reproducer is and how to replay it, for the user.
std::string replay_hint(const std::filesystem::path& directory);

/// Writes revet-crash-PASS (or -2, -3, ..) and gives a text for the user: where it is and how to
/// replay it, or why it could not be written. Never throws.
std::string write_crash_reproducer(const Reproducer& reproducer,
                                   const RunOptions::Reproduce& options, const Plugins& plugins);

struct Replay {
  std::filesystem::path input;
  std::filesystem::path pipeline;
  std::string program;
  std::vector<std::string> established;
  std::vector<std::string> plugins;  ///< paths of those that are still there
  std::string error;                 ///< that is to be seen again; "" if none
  std::vector<std::string> notes;    ///< what differs from then: version, plugins
};

/// Reads the folder. Throws Error (exit 2) naming what is missing or malformed.
Replay read_reproducer(const std::filesystem::path& directory);

}  // namespace revet
