/// Reads the sections of a plugin that say what it is, without loading it. Every offset and size in
/// the file is checked against the file before it is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace revet {

struct PluginSections {
  std::string abi_version;
  std::string fingerprint;
  std::string build;                  ///< "release" or "debug"; shown, never compared
  std::vector<std::string> provides;  ///< "pass:NAME", "backend:NAME", "op:PREFIX"
};

struct ElfResult {
  PluginSections sections;
  std::string error;  ///< empty where the sections were read
};

ElfResult read_plugin_sections(std::span<const std::uint8_t> file);
ElfResult read_plugin_sections(const std::filesystem::path& path);

}  // namespace revet
