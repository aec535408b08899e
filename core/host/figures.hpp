/// The figures of a run, for people and as a table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace revet::host {

/// The lines that `revet run` prints. Where the run was simulated they say what it cost, and with
/// `host_seconds` (0: not known) how fast that was found.
std::string summary(const nlohmann::ordered_json& figures, double host_seconds);

/// Every number of the figures as a row `path,unit,description,value`; a path is the names on the
/// way to it, and of a unit its own path, joined by dots. What was not measured has no value.
std::string csv(const nlohmann::ordered_json& figures);

}  // namespace revet::host
