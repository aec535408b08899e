/// What the readers of pipeline files share: places of TOML nodes, and errors about their types.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline.hpp"

namespace revet {

class TomlNodes {
 public:
  explicit TomlNodes(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  Loc loc_of(const toml::source_region& region) const;
  Loc loc_of(const toml::node& node) const { return loc_of(node.source()); }
  Loc loc_of(const toml::key& key) const { return loc_of(key.source()); }

  /// Reports the key, with the nearest one that is known. `where`: "in a pipeline file".
  void unknown(const toml::key& key, const std::vector<std::string>& known,
               const std::string& where) const;
  /// Reports "WHAT must be EXPECTED, found a table".
  void wrong_type(const toml::node& node, const std::string& what,
                  const std::string& expected) const;

  /// A scalar value as option text. These give nothing after reporting an error.
  std::optional<Setting> scalar(const toml::node& node, const std::string& what) const;
  std::optional<std::string> text(const toml::node& node, const std::string& what) const;
  std::vector<std::pair<std::string, Loc>> text_list(const toml::node& node,
                                                     const std::string& what) const;

  Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  Diagnostics& diagnostics_;
};

}  // namespace revet
