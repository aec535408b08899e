/// Whole files in and out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace revet {

/// Writes a file by way of a temporary one in the same folder. Throws Error (exit 2).
void write_file(const std::filesystem::path& path, std::string_view bytes);
/// Removes what write_file is writing at the moment, and the folder of remove_if_interrupted. Safe
/// in a signal handler.
void remove_temporary() noexcept;
/// 16 hexadecimal digits (FNV-1a, 64 bits) that tell one file's contents from another's; not for
/// security. Throws Error (exit 2).
std::string hash_of_file(const std::filesystem::path& path);
/// The whole file; throws Error (exit 2) with the path and the cause.
std::string read_file(const std::filesystem::path& path);

}  // namespace revet
