/// Data directories: arguments and arrays in, arrays out, comparison with expected ones.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "revet/diagnostics.hpp"
#include "revet/launch.hpp"

namespace revet {

/// Reads `args.txt` (unless an argument is in `overrides`), checks every array's file, evaluates
/// sizes and loads the contents. Throws Error (exit 1) naming the argument or array and the file.
Launch load_launch(const Signature& signature, const std::filesystem::path& directory,
                   const std::map<std::string, std::string>& overrides);

/// The value of a size expression (see ops::mem_dram) in 64 bits; throws Error on overflow.
std::int64_t evaluate_size(const Attr& size, const std::vector<ScalarArg>& scalars,
                           const DramArray& array);

/// Sum of the arrays' sizes, or what `reported_size.txt` in the directory says.
std::uint64_t reported_bytes(const Launch& launch, const std::filesystem::path& directory);

/// Writes every array that the program may write to `directory` (made if missing), in the form it
/// came in. Throws Error (exit 2) naming the path.
void write_outputs(const Launch& launch, const std::filesystem::path& directory);

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// Compares the written arrays with the files of their names in `directory`. Throws Error: exit 4
/// with the first difference, exit 2 where a file is missing or unreadable.
void check_outputs(const Launch& launch, const std::filesystem::path& directory,
                   const std::optional<Tolerance>& tolerance);

}  // namespace revet
