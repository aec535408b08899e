/// What mapping asks of a flow graph: what each node reads and writes, and which streams run in
/// step.
///
/// A node that acts on a bundle (merge, filter, broadcast, ..) acts on all of it at once, but each
/// stream of it may be handled by another unit: such a part is a slice. Of all other nodes the
/// slice is the node.
#pragma once

#include <map>
#include <vector>

#include "mapping/place.hpp"
#include "revet/ops.hpp"

namespace revet::mapping {

inline bool is_stream(const Value& v) { return v.type().kind == Kind::stream; }
inline bool is_void(const Value& v) { return v.type().element == Kind::none; }
LinkKind link_kind(const Value& v);

bool is_merge(const Op& op);        ///< forward, or of a loop
bool is_bundle_node(const Op& op);  ///< it has a slice per result
bool is_on_chip(const Op& op);      ///< an access to an SRAM, alloc or free
bool is_off_chip(const Op& op);     ///< an access to DRAM; bulk transfers too
/// Operands but for those of a back edge.
unsigned forward_operands(const Op& op);
/// An operation in a context that gives constants: it costs a unit nothing.
bool is_constant_op(const Op& op);
/// A context that only gives constants.
bool is_constant(const Op& op);
/// What says where a node belongs, for one that is made beside it: its region or copy, and role.
AttrMap marks_of_place(const Op& op);
/// The SRAM that a node accesses; null if none.
Value* sram_of(const Op& op);

/// Operations that take a stage of a pipeline: constants, casts between integers and access to
/// parts of words are free.
bool takes_stage(const Op& op);
unsigned stages_of(const Op& node);

struct Slice {
  Op* op = nullptr;
  unsigned index = 0;  ///< of the result; 0 where the node is the slice
  bool operator==(const Slice&) const = default;
  /// The same in every run.
  auto operator<=>(const Slice& s) const {
    return std::pair{op->serial(), index} <=> std::pair{s.op->serial(), s.index};
  }
};
/// The streams that a slice takes, and those that it gives.
std::vector<Value*> reads(const Slice& s);
std::vector<Value*> writes(const Slice& s);
/// The slice that reads this use.
std::vector<Slice> readers(const Use& use);
/// The slice that writes a stream.
Slice writer(const Value& v);
std::vector<Slice> slices_of(Op& op);

/// Nodes of a graph in an order in which each follows what it reads, but for the back edges.
std::vector<Op*> topological(const Op& graph);

/// Streams whose tokens correspond one to one.
class Domains {
 public:
  explicit Domains(const Op& graph);
  unsigned of(const Value& v) const { return root(ids_.at(&v)); }
  /// The domain that a slice works in: that of what it takes, or of what a merge, counter or
  /// broadcast gives.
  unsigned working(const Slice& s) const;
  /// While loops around, and foreach and while loops around.
  unsigned loops(const Value& v) const { return levels_.at(&v).first; }
  unsigned nesting(const Value& v) const { return levels_.at(&v).second; }

 private:
  unsigned root(unsigned i) const;
  void join(const Value& a, const Value& b);
  void levels(const std::vector<Op*>& order);

  std::map<const Value*, unsigned> ids_;
  mutable std::vector<unsigned> parents_;
  std::map<const Value*, std::pair<unsigned, unsigned>> levels_;
};

}  // namespace revet::mapping
