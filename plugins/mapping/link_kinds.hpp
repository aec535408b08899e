/// Which links carry vectors and which scalars; the rules are in plugins/link_kinds/README.md.
#pragma once

#include <functional>

#include "mapping/graph_view.hpp"

namespace revet::mapping {

/// `follow`: also what a node gives that takes a scalar link. `seen` is told of every stream,
/// `change` asked before each change. True if something changed.
bool set_link_kinds(Op& graph, bool follow, const std::function<void(bool scalar)>& seen,
                    const std::function<bool()>& change);

}  // namespace revet::mapping
