/// Pictures of placed graphs, and what both kinds of pictures share.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "revet/ir.hpp"

namespace revet {

/// A label: quotes and backslashes escaped, other control characters shown as '?'.
std::string dot_quoted(std::string_view text);

/// Shares of a run that a unit was busy, starved and blocked, by its path ("CU3.name").
using UnitShares = std::map<std::string, std::array<double, 3>>;

/// The units of a placed flow graph on their grid, with the links between them; coloured where
/// `shares` is not null, with a legend. Nothing where the module has no placed graph. Throws Error
/// (exit 2) where a unit has no shares: they are of another graph.
std::optional<std::string> print_placed_dot(const Module& module, const UnitShares* shares);

}  // namespace revet
