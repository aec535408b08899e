/// Which streams of a graph belong together.
#pragma once

#include <unordered_map>
#include <vector>

#include "revet/ops.hpp"

namespace revet {

/// Streams are aligned where some node takes an element of each at a time, or gives them so; and
/// where a node needs them to be, further down. Each class has one above it: the streams that have
/// an element where these have a list. A child's streams and what is reduced from them lead to the
/// streams of the parent's thread in this way; a loop adds two levels, one of them its own.
///
/// Unification over the nodes, near linear.
class Alignment {
 public:
  explicit Alignment(const Block& graph);

  unsigned of(const Value& stream) { return root(class_of(stream)); }
  /// The class so many levels up.
  unsigned above(unsigned c, unsigned levels);

 private:
  static constexpr unsigned none = ~0u;

  unsigned class_of(const Value& stream);
  unsigned fresh();
  unsigned root(unsigned c);
  void join(unsigned a, unsigned b);
  void join(std::span<Value* const> streams, unsigned with);
  void join_results(const Op& op, unsigned with);
  void add(const Op& op);

  std::unordered_map<const Value*, unsigned> classes_;
  std::vector<unsigned> joined_;  ///< to another class, or itself
  std::vector<unsigned> above_;   ///< of a root
};

}  // namespace revet
