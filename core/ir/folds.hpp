/// Folding of arith ops; ops_arith.cpp installs them as fold hooks.
#pragma once

#include "revet/op_info.hpp"
#include "revet/scalar.hpp"

namespace revet {

/// The register content of an integer, bool or float attribute held by a scalar of type `k`.
std::uint32_t bits_of_attr(const Attr& value, Kind k);
/// The `value` attribute of an arith.constant with that register content: a float for f32, else the
/// integer that the type gives the bits (0 or 1 for i1).
Attr attr_of_bits(Kind k, std::uint32_t bits);

/// A constant or an existing value equal to the result of an arith op, bit for bit, whatever the
/// operands that are not constant hold; nullopt where there is none, and for arith.constant.
std::optional<Folded> fold_arith(const Op& op, std::span<const Attr* const> constants);

std::optional<Folded> fold_extract(const Op& op, std::span<const Attr* const> constants);
std::optional<Folded> fold_insert(const Op& op, std::span<const Attr* const> constants);

}  // namespace revet
