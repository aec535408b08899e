/// What made a result: for --version and for the reports that --stats writes.
#pragma once

#include <nlohmann/json.hpp>

#include "driver/pipeline.hpp"
#include "plugin/plugins.hpp"
#include "revet/launch.hpp"

namespace revet::host {

/// What `revet --version` prints; `verbose` adds ABI, features, versions of libraries, paths.
std::string version_text(bool verbose);

/// What went into a run, beside the pipeline and its plugins.
struct Inputs {
  std::string program;       ///< file
  std::string program_hash;  ///< of its text; it may be a pipe, which is read once
  std::string data;          ///< folder
};

/// {"version","commit","dirty","build_flags","command","pipeline","plugins","inputs","arguments",
/// "host"}: the resolved pipeline as text, hashes (FNV-1a, 64 bits) of the plugins, of the program,
/// of args.txt and of every array's file, and the scalar arguments. No time of day: the same run
/// gives the same text.
nlohmann::ordered_json provenance(const std::vector<std::string>& command, const Pipeline& pipeline,
                                  Plugins& plugins, const Inputs& inputs, const Launch& launch);

}  // namespace revet::host
