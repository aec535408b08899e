/// The OpenMP backend; see README.md.
#pragma once

#include "revet/plugin.hpp"
#include "revet/signature.hpp"

namespace revet::openmp {

/// NAME of the emitted C interface: the program's name with `_` for what C names cannot have.
std::string interface_name(const std::string& program);
/// A file name that may stand in a comment: no line break, no end of a comment.
std::string in_comment(std::string name);

/// A C++ file and its header.
std::vector<EmittedFile> emit(const Module& module, BackendContext& context);

RunResult run(const Module& module, Launch& launch, BackendContext& context);

BackendInfo backend();

}  // namespace revet::openmp
