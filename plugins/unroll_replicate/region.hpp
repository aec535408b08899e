/// What unroll-replicate knows about a region before it makes copies of it.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "revet/ops.hpp"

namespace revet {

using Bundle = std::vector<Value*>;

/// A mark of nodes: `replicate = [.., [id, n, fixed]]`.
struct Mark {
  std::int64_t id = 0;
  std::int64_t n = 1;
  bool fixed = false;
  Attr::Array outer;  ///< marks of the regions around it
  Loc loc;            ///< of its first node
};

/// All regions of a graph, the innermost first, then in order of their ids.
std::vector<Mark> marks_of(const Block& graph);

/// A pointer that was hoisted out of the region: p belongs to copy p % n (see hoist-allocations).
struct Hoisted {
  Value* owner = nullptr;       ///< the flow.sram whose pointer it is
  std::vector<Value*> members;  ///< the memories that share it, the owner first
  Value* pointer = nullptr;     ///< as it goes into the region
  /// Every stream of the pointer, from its alloc on.
  std::unordered_set<const Value*> streams;
  /// Memories that stand in the copies: nothing outside accesses them.
  std::vector<Value*> inside;
};

/// Streams that go out together, and who takes them.
struct Leaving {
  Bundle values;
  std::vector<std::vector<Use>> uses;
};

struct ReplicateRegion {
  std::vector<Op*> nodes;    ///< in order; its memories too
  std::size_t taken_in = 0;  ///< so many stand in front of it, and zero its buffers
  /// Streams of the thread that goes in: an element each. What else goes in are streams of threads
  /// around it, which all copies need.
  Bundle entering;
  std::vector<Leaving> leaving;
  std::optional<Hoisted> hoisted;
};

/// Throws InternalError where the nodes are no region: streams of two threads go in.
ReplicateRegion find_region(Block& graph, const Mark& mark);

/// True for nodes that move streams as they are: operand i of a bundle gives result i.
bool moves_bundle(const Op& op);

}  // namespace revet
