/// The one dependence analysis: which memory operations may touch the same data, from the effects
/// that ops answer (OpInfo::effects). Void chaining, hierarchy elimination, barriers and `nowait`
/// all ask here.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "revet/op_info.hpp"

namespace revet {

/// One access in a piece of IR.
struct Access {
  Op* op;
  /// An op that does not answer is one access that writes everything (`memory` null).
  Effect effect;
};

/// Every access of the op, with everything in its regions, in order of the text.
std::vector<Access> accesses_of(Op& op);

/// True unless it is certain that the order of the two does not matter, whichever threads make
/// them: they are on different memories, both read, or are at different constant elements.
/// Allocating and releasing a buffer count as writing it.
bool may_conflict(const Effect& a, const Effect& b);

/// The memories of a function whose accesses must stay in the order of the thread: those of which
/// some access conflicts with another. They are numbered from 0 in order of first access.
class MemoryClasses {
 public:
  explicit MemoryClasses(Op& func);

  unsigned size() const { return size_; }
  /// The classes that the op itself (not its regions) must be ordered in, without repetition, in
  /// order of its effects; all of them for an op that does not answer.
  std::vector<unsigned> of(const Op& op) const;

 private:
  std::map<const Value*, unsigned> classes_;
  unsigned size_ = 0;
};

}  // namespace revet
