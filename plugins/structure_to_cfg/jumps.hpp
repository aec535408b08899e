/// Turns the flags of break, continue and early return back into branches.
#pragma once

#include <cstdint>

#include "edges.hpp"

namespace revet {

/// Where a block passes on constants that decide the branches that follow, and nothing else
/// happens in between, its edge goes straight to where they lead: a break to what is behind its
/// loop. Gives the number of edges redirected.
std::int64_t thread_jumps(Region& region, Edges& edges);

/// Blocks without what they do not need: branches on constants, arguments that are the same on
/// every edge or that nobody uses, blocks that only follow another. Gives the number of changes.
std::int64_t simplify_blocks(Region& region, Edges& edges);

}  // namespace revet
