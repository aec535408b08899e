/// The data of one run: scalar arguments and DRAM arrays in host memory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "revet/signature.hpp"

namespace revet {

struct ScalarArg {
  std::string name;
  Type type;
  std::uint32_t bits = 0;  ///< register content (scalar.hpp)
};

/// Gives back memory that was mapped.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::uint8_t* p) const;
};

/// One array of a run. Memory is the data and nothing more: the original contents are read again
/// from the file when a repetition needs them.
class ArrayData {
 public:
  std::string name;
  Type element;
  bool written = false;
  std::uint64_t count = 0;        ///< elements
  std::filesystem::path file;     ///< where the contents come from; empty: zeros
  std::uint64_t file_offset = 0;  ///< of the first element (NumPy files have a header)
  bool numpy = false;

  std::uint64_t bytes() const { return count * element.bytes(); }
  std::uint8_t* data() const { return memory_.get(); }
  /// Allocates (on the first call) and fills with the original contents. Throws Error.
  void load();

 private:
  std::unique_ptr<std::uint8_t[], Unmap> memory_;
};

struct Launch {
  std::vector<ScalarArg> scalars;  ///< main's parameters in order
  std::vector<ArrayData> arrays;   ///< in order of declaration
  /// Puts back the original contents of every written array.
  void restore();
};

/// A folder that a backend works in, to be removed with what is in it if the process is
/// interrupted;
/// "" where there is none any more.
void remove_if_interrupted(const std::filesystem::path& folder) noexcept;

/// Element `i` of raw array memory as a register content, and back.
std::uint32_t load_element(const std::uint8_t* memory, Kind element, std::uint64_t i);
void store_element(std::uint8_t* memory, Kind element, std::uint64_t i, std::uint32_t bits);

}  // namespace revet
