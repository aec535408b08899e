#include "mapping/link_kinds.hpp"

#include <algorithm>
#include <set>

namespace revet::mapping {
namespace {

bool differ(const Attr* a, const Attr* b) { return a && b ? !(*a == *b) : a != b; }

/// Into or out of a replicate region, or a copy of one.
bool crosses_region(const Value& v) {
  const Op& def = *v.def();
  return std::any_of(v.uses().begin(), v.uses().end(), [&](const Use& use) {
    return differ(def.attr("replicate"), use.op->attr("replicate")) ||
           differ(def.attr("copy"), use.op->attr("copy"));
  });
}

class Kinds {
 public:
  bool is_scalar(const Value& v) {
    const std::string& pragma = v.def()->str_attr("link");
    if (!pragma.empty()) return pragma == "scalar";
    return v.type().size == 1 || leaves_loop(v) || crosses_region(v);
  }

 private:
  /// Behind a loop: stripped, or merged from such streams only.
  bool leaves_loop(const Value& v) {
    const Op& def = *v.def();
    if (!def.is(ops::flow_merge)) return def.is(ops::flow_strip);
    if (const auto known = merges_.find(&v); known != merges_.end()) return known->second;
    const unsigned half = def.num_operands() / 2;
    const bool both =
        leaves_loop(*def.operand(v.index())) && leaves_loop(*def.operand(half + v.index()));
    merges_[&v] = both;
    return both;
  }

  std::map<const Value*, bool> merges_;
};

/// Streams that a node gives no faster than a scalar link brings one of its inputs: an element per
/// cycle. Merges take several at once, and counters and reductions have a rate of their own.
std::set<const Value*> behind_scalars(const Op& graph, Kinds& kinds) {
  std::set<const Value*> found;
  const auto slow = [&](const Value* v) {
    return v->type().kind == Kind::stream && v->type().element != Kind::none &&
           (kinds.is_scalar(*v) || found.count(v) != 0);
  };
  for (bool more = true; more;) {
    more = false;
    for (const Op& op : graph.body()) {
      using namespace ops;
      if (op.is(flow_merge) || op.is(flow_fb_merge) || op.is(flow_counter) || op.is(flow_reduce) ||
          op.has_attr("link"))
        continue;
      const std::span<Value* const> in = op.operands();
      if (op.is(flow_broadcast) ? !slow(in.back()) : std::none_of(in.begin(), in.end(), slow))
        continue;
      for (const auto& r : op.results())
        if (r->type().kind == Kind::stream) more |= found.insert(r.get()).second;
    }
  }
  return found;
}

}  // namespace

bool set_link_kinds(Op& graph, bool follow, const std::function<void(bool scalar)>& seen,
                    const std::function<bool()>& change) {
  Kinds kinds;
  std::set<const Value*> behind;
  if (follow) behind = behind_scalars(graph, kinds);
  bool changed = false;
  for (Op& op : graph.body())
    for (const auto& r : op.results()) {
      Type type = r->type();
      if (type.kind != Kind::stream) continue;
      const bool scalar = kinds.is_scalar(*r) || behind.count(r.get()) != 0;
      seen(scalar);
      if (type.scalar_link == scalar || !change()) continue;
      type.scalar_link = scalar;
      r->set_type(type);
      changed = true;
    }
  return changed;
}

}  // namespace revet::mapping
