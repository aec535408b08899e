/// Machine files: TOML in, a Machine out.
#pragma once

#include "pipeline.hpp"
#include "revet/machine.hpp"

namespace revet {

/// The machine of a pipeline: its `file` (or the one that ships), with the other settings of its
/// [machine] on top. Every fault is reported at its place; then nothing is given, as
/// where the pipeline says nothing of a machine and none ships.
std::shared_ptr<const Machine> read_machine(const Pipeline& pipeline, SourceManager& sources,
                                            Diagnostics& diagnostics);

/// Folder of the machine files that ship.
std::filesystem::path shipped_machines();

/// One line per key: name, unit and range, for the reference.
std::vector<std::pair<std::string, std::string>> machine_keys();

}  // namespace revet
