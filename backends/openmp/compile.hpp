/// Compiles emitted programs to shared objects, kept in a cache under what they depend on: the
/// texts, the runtime's headers, compiler, flags, and the processor (-march=native).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace revet::openmp {

struct Compiler {
  std::vector<std::string> command;  ///< from $CXX
  std::string version;               ///< first line of --version
};

/// $CXX, default c++. Throws Error (exit 2) where it cannot be run.
Compiler find_compiler();
const std::vector<std::string>& compiler_flags();

/// The folder that holds revet/runtime.h. Throws Error (exit 2).
std::filesystem::path runtime_headers();

/// The shared object of a program; `name` is that of its files. Throws Error (exit 2) where
/// compiler or folders are at fault, InternalError where the program does not compile.
std::filesystem::path compile(const Compiler& compiler, const std::string& name,
                              const std::string& source, const std::string& header);

}  // namespace revet::openmp
