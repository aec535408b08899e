/// The texts of the run-time errors; the runtime of emitted programs (runtime_ops.hpp) has the
/// same.
#pragma once

#include <cstdint>
#include <string>

namespace revet::interp::messages {

/// `access` is read, write or atomic.
inline std::string outside_array(std::int64_t index, const std::string& array, std::uint64_t size,
                                 const char* access) {
  return "index " + std::to_string(index) + " is outside array '" + array + "' of size " +
         std::to_string(size) + " (" + access + ")";
}
inline std::string outside_view(std::int64_t index, const std::string& view, std::uint64_t size) {
  return "index " + std::to_string(index) + " is outside view '" + view + "' of size " +
         std::to_string(size);
}
inline std::string outside_iterator(std::int64_t index, const std::string& it, std::uint64_t size) {
  return "index " + std::to_string(index) + " is outside iterator '" + it + "' of size " +
         std::to_string(size);
}
inline std::string next_after_last(const std::string& it) {
  return "next after the last element of iterator '" + it + "'";
}
inline const char* const step_is_zero = "foreach step is 0";

}  // namespace revet::interp::messages
