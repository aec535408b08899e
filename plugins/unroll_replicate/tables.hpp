/// Memories of main that a region only reads.
#pragma once

#include <unordered_map>

#include "region.hpp"

namespace revet {

/// Of each table, what a copy has in its place.
using Tables = std::unordered_map<const Value*, Value*>;

/// Gives each copy but the first its own, so that they do not wait for one port: whatever writes a
/// table in front of the region, writes all of them. `n` copies; the result is by copy.
std::vector<Tables> copy_tables(const ReplicateRegion& region, std::int64_t n);

}  // namespace revet
