/// Whole files in and out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace revet {

/// Writes a file by way of a temporary one in the same folder. Throws Error (exit 2).
void write_file(const std::filesystem::path& path, std::string_view bytes);
/// A file that is written piece by piece, by way of a temporary one in the same folder: it appears
/// whole, with `finish`, or not at all. One at a time. Throws Error (exit 2).
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void add(std::string_view bytes);
  void finish();

 private:
  std::filesystem::path path_, target_;
  int fd_ = -1;
};
/// Removes what is being written at the moment, and the folder of remove_if_interrupted. Safe
/// in a signal handler.
void remove_temporary() noexcept;
/// 16 hexadecimal digits (FNV-1a, 64 bits) that tell one file's contents from another's; not for
/// security. Throws Error (exit 2).
std::string hash_of_file(const std::filesystem::path& path);
/// The whole file; throws Error (exit 2) with the path and the cause.
std::string read_file(const std::filesystem::path& path);

}  // namespace revet
