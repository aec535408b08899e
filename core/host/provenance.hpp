/// What made a result: for --version and for the reports that --stats writes.
#pragma once

#include <nlohmann/json.hpp>

#include "driver/pipeline.hpp"
#include "plugin/plugins.hpp"
#include "revet/launch.hpp"

namespace revet::host {

/// What `revet --version` prints; `verbose` adds ABI, features, versions of libraries, paths.
std::string version_text(bool verbose);

/// {"version","commit","dirty","command","pipeline","plugins","inputs","host"}: the resolved
/// pipeline as text, and hashes (FNV-1a, 64 bits) of the plugins, of the program and of every
/// array's file. No time of day: the same run gives the same text.
nlohmann::ordered_json provenance(const std::vector<std::string>& command, const Pipeline& pipeline,
                                  Plugins& plugins, const std::string& program,
                                  const Launch& launch);

}  // namespace revet::host
