/// The text form of the IR (`.rir`), its parser, and the verifier.
///
/// `%r, %s = name(%operands)[^bb1(%args)] {attr = value} ({^bb0(%x: i32): ..}) : (types) -> (types)
/// loc("file":line:col)` or `loc(unknown)`. The parts in brackets, braces and parentheses after the
/// operands are left out where empty. `//` starts a comment. A value keeps its source name; `.N`
/// makes it unique.
#pragma once

#include <memory>
#include <string>

#include "revet/diagnostics.hpp"
#include "revet/ir.hpp"
#include "revet/op_info.hpp"

namespace revet {

struct PrintOptions {
  bool locations = true;
};

std::string print(const Module& module, PrintOptions options = {});
/// One op with its regions, as in the module's text but with names of its own; for messages.
std::string print(const Op& op, PrintOptions options = {});

/// Null where there were errors, which are in `diagnostics`. Ops take their locations from
/// `loc(..)`, else from the .rir text itself. The result is not verified.
std::unique_ptr<Module> parse_module(FileId file, const SourceManager& sources,
                                     Diagnostics& diagnostics);

/// True where the module is right; otherwise every violation is an error in `diagnostics`. The
/// checks are numbered in core/ir/verifier.cpp.
bool verify(const Module& module, Diagnostics& diagnostics);

/// The highest level of any op in the module (thread where it has none).
Level level_of(const Module& module);

/// A 64-bit hash of the printed module, without regard to locations.
std::uint64_t hash_of(const Module& module);
/// The same from the module's text.
std::uint64_t hash_of_text(std::string_view text);

/// A picture of the module for Graphviz: regions as clusters, ops as nodes, values as edges. Where
/// it has more than `max_nodes` ops, the deepest regions are drawn as one node each that says how
/// many ops it stands for.
std::string print_dot(const Module& module, std::size_t max_nodes = 500);

}  // namespace revet
