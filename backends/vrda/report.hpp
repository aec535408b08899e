/// The figures of a simulated run, as JSON for --stats.
#pragma once

#include <map>
#include <string>

#include "placed.hpp"

namespace revet::vrda {

/// What a unit is called in figures and traces: "CU3.name"; no two have the same.
std::string unit_path(const sim::Mapping& mapping, std::size_t unit);

/// "cycles", "clock_ghz", "dram", "resources", "lanes", "stalls", "units", "machine", ..; what was
/// not measured is null.
std::map<std::string, std::string> report(const Loaded& loaded, const sim::Mapping& mapping,
                                          const Machine& machine, const sim::TimedResult& result,
                                          std::uint64_t bytes);

}  // namespace revet::vrda
