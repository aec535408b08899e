/// Turns the strategies of a pipeline file into one tree.
#pragma once

#include <map>
#include <set>
#include <string>

#include "toml_nodes.hpp"

namespace revet {

/// A hole in a pipeline: `[param]`.
struct Parameter {
  Setting value;
  std::vector<Setting> values;  ///< what it may be; empty: anything
};

/// What the names of a pipeline file, with its includes, stand for.
struct PipelineNames {
  std::map<std::string, const toml::node*> strategies;
  std::map<std::string, Parameter> parameters;
};

/// Puts the value of a parameter in place of "$name"; reports an unknown name.
void substitute(Setting& setting, const PipelineNames& names, Diagnostics& diagnostics);

/// Fills `pipeline.main` and `pipeline.entries` from the strategy `main`, and reads the others for
/// their errors.
void read_main(const PipelineNames& names, Pipeline& pipeline, Diagnostics& diagnostics);

}  // namespace revet
