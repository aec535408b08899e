/// From the bytes of a file to what the lexer reads.
#pragma once

#include <string>
#include <string_view>

#include "revet/diagnostics.hpp"

namespace revet {

/// The text with exactly one ASCII character per code point, so that offsets within a line are
/// columns: no byte-order mark, `?` for what is not ASCII in comments, and a space for what is
/// wrong. Reports invalid UTF-8, NUL bytes, byte-order marks after the start, non-ASCII outside of
/// comments, and a comment that is not closed, at which the text ends.
std::string prepare_source(FileId file, std::string_view bytes, Diagnostics& diagnostics);

}  // namespace revet
