#include "region.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "alignment.hpp"
#include "revet/diagnostics.hpp"

namespace revet {
namespace {

const Attr::Array* marks(const Op& op) {
  const Attr* const a = op.attr("replicate");
  return a ? a->as_array() : nullptr;
}

std::int64_t number(const Attr::Array& mark, std::size_t i) {
  return i < mark.size() && mark[i].as_int() ? *mark[i].as_int() : 0;
}

bool is_stream(const Value& v) { return v.type().kind == Kind::stream; }

/// The result that carries what comes in as operand `i` of a node that moves bundles; null where
/// that is no part of the bundle.
Value* moved(const Op& op, unsigned i) {
  const unsigned n = op.num_results();
  if (op.is(ops::flow_filter)) return i == 0 ? nullptr : op.result(i - 1);
  if (op.is(ops::flow_merge) || op.is(ops::flow_fb_merge)) return op.result(i % n);
  return i < n && moves_bundle(op) ? op.result(i) : nullptr;
}

class Finder {
 public:
  Finder(Block& graph, const Mark& mark) : graph_(graph), mark_(mark), alignment_(graph) {
    for (Op& op : graph) order_.emplace(&op, order_.size());
    for (Op& op : graph) {
      const Attr::Array* const all = marks(op);
      if (!all || all->empty() || number(*all->back().as_array(), 0) != mark.id) continue;
      region_.nodes.push_back(&op);
      inside_.insert(&op);
    }
  }

  ReplicateRegion find() {
    find_thread();
    keeps_order_ = keeps_order();
    find_hoisted();
    if (keeps_order_) find_behind();
    if (region_.hoisted) {
      take_in_fills();
      find_memories_inside();
    }
    find_entering();
    find_leaving();
    return std::move(region_);
  }

 private:
  bool is_inside(const Op& op) const { return inside_.count(&op) != 0; }

  /// Calls `f` on every stream that a node of the region takes from outside.
  template <typename F>
  void for_each_entering(const F& f) {
    for (const Op* op : region_.nodes)
      for (Value* v : op->operands())
        if (is_stream(*v) && !is_inside(*v->def())) f(*v);
  }

  bool of_thread(const Value& v) {
    return is_stream(v) && v.type().size == depth_ && alignment_.of(v) == thread_;
  }

  /// The thread's streams are the deepest that go in; all others are of threads around it.
  void find_thread() {
    for_each_entering([&](const Value& v) { depth_ = std::max(depth_, v.type().size); });
    bool found = false;
    for_each_entering([&](const Value& v) {
      if (v.type().size != depth_) return;
      if (found && alignment_.of(v) != thread_)
        throw InternalError("streams of two threads go into a replicate region");
      thread_ = alignment_.of(v);
      found = true;
    });
  }

  // --- what is behind the region ---

  /// True if the node is of the thread, not of a child, and stands behind the region: that is the
  /// order in which the thread's blocks were written. Nodes of children are where their counter is.
  bool stands_behind(const Op& op) {
    if (order_.at(&op) < order_.at(region_.nodes.front()) || before_.count(&op) != 0) return false;
    const auto in = op.operands();
    return std::any_of(in.begin(), in.end(), [&](const Value* v) { return of_thread(*v); }) &&
           std::none_of(in.begin(), in.end(), [&](const Value* v) { return is_of_child(*v); });
  }

  bool is_of_child(const Value& v) {
    return is_stream(v) && v.type().size > depth_ &&
           alignment_.above(alignment_.of(v), v.type().size - depth_) == thread_;
  }

  /// True if what leaves is aligned with what enters: with one copy, nothing reorders the threads,
  /// and streams that the region does not touch pass it by.
  bool keeps_order() {
    for (const Op* op : region_.nodes)
      for (const auto& r : op->results())
        if (of_thread(*r)) return true;
    return false;
  }

  /// An edge back to a loop around the region.
  bool goes_back(const Use& use) const {
    return use.op->is(ops::flow_fb_merge) && use.index >= use.op->num_results() &&
           use.op->result()->type().size <= depth_;
  }

  void put_behind(Op& op) {
    std::vector<Op*> todo = {&op};
    while (!todo.empty()) {
      Op* const at = todo.back();
      todo.pop_back();
      if (is_inside(*at) || !behind_.insert(at).second) continue;
      if (before_.count(at) != 0)
        throw InternalError("what goes into a replicate region comes out of it");
      new_behind_.push_back(at);
      for (const auto& r : at->results())
        for (const Use& use : r->uses())
          if (is_stream(*r) && !goes_back(use)) todo.push_back(use.op);
    }
  }

  /// Nodes are before the region if it needs them, behind it if they need it, and else where they
  /// stand. Only streams of the thread itself may go from before to behind: through the copies.
  void find_behind() {
    std::vector<const Op*> todo(region_.nodes.begin(), region_.nodes.end());
    while (!todo.empty()) {
      const Op* const at = todo.back();
      todo.pop_back();
      for (unsigned i = 0; i < at->num_operands(); ++i) {
        const Op* const def = at->operand(i)->def();
        if (!is_stream(*at->operand(i)) || is_inside(*def)) continue;
        if (goes_back({const_cast<Op*>(at), i})) continue;
        if (before_.insert(def).second) todo.push_back(def);
      }
    }
    for (const Op* op : region_.nodes)
      for (const auto& r : op->results())
        for (const Use& use : r->uses())
          if (is_stream(*r) && !goes_back(use)) put_behind(*use.op);
    for (Op& op : graph_)
      if (stands_behind(op)) put_behind(op);
    while (!new_behind_.empty()) {
      Op& at = *new_behind_.back();
      new_behind_.pop_back();
      for (unsigned i = 0; i < at.num_operands(); ++i) {
        const Value& v = *at.operand(i);
        if (!is_of_child(v) || is_inside(*v.def()) || behind_.count(v.def()) != 0) continue;
        at.set_operand(i, repeated_behind(*v.def(), at).result(v.index()));
      }
    }
  }

  /// Children behind the region cannot share a counter with children before it.
  Op& repeated_behind(const Op& op, const Op& user) {
    const Attr* const mark = user.attr("replicate");
    Op*& made = repeated_[{&op, mark ? mark->str() : ""}];
    if (made) return *made;
    if (!is_pure(op)) throw InternalError("children on both sides of a replicate region");
    Cloning none;
    made = graph_.insert(clone_op(op, none), region_.nodes.front()->next());
    made->remove_attr("replicate");
    if (mark) made->set_attr("replicate", *mark);
    behind_.insert(made);
    new_behind_.push_back(made);
    return *made;
  }

  // --- a hoisted pointer ---

  void find_hoisted() {
    for (Op& op : graph_) {
      if (!op.is(ops::flow_sram) || op.num_operands() != 0) continue;
      if (op.int_attr("regions") != mark_.n) continue;
      const Attr::Array* const around = marks(op);
      if (around ? *around != mark_.outer : !mark_.outer.empty()) continue;
      Hoisted hoisted;
      hoisted.owner = op.result();
      follow_pointers(hoisted);
      for_each_entering([&](Value& v) {
        if (!hoisted.pointer && hoisted.streams.count(&v) != 0 && of_thread(v))
          hoisted.pointer = &v;
      });
      // A region that keeps the order may be passed by.
      if (!hoisted.pointer && keeps_order_)
        for (const Use& use : op.result()->uses())
          if (use.op->is(ops::flow_alloc) && of_thread(*use.op->result(0)) &&
              order_.at(use.op) < order_.at(region_.nodes.front()))
            hoisted.pointer = use.op->result(0);
      if (!hoisted.pointer) continue;
      hoisted.members.push_back(op.result());
      for (const Use& use : op.result()->uses())
        if (use.op->is(ops::flow_sram)) hoisted.members.push_back(use.op->result());
      region_.hoisted = std::move(hoisted);
      return;
    }
  }

  static void follow_pointers(Hoisted& hoisted) {
    std::vector<const Value*> todo;
    for (const Use& use : hoisted.owner->uses())
      if (use.op->is(ops::flow_alloc)) todo.push_back(use.op->result(0));
    while (!todo.empty()) {
      const Value* const v = todo.back();
      todo.pop_back();
      if (!hoisted.streams.insert(v).second) continue;
      for (const Use& use : v->uses())
        if (const Value* const to = moved(*use.op, use.index)) todo.push_back(to);
    }
  }

  /// Buffers are zeroed in the copy where they are.
  void take_in_fills() {
    const Hoisted& hoisted = *region_.hoisted;
    std::vector<Op*> fills;
    for (const Value* memory : hoisted.members) {
      if (!memory->def()->has_attr("regions")) continue;
      for (const Use& use : memory->uses())
        if (use.op->is(ops::flow_sram_fill) && !is_inside(*use.op) &&
            of_thread(*use.op->operand(1)) && is_for_region(*use.op->result()))
          fills.push_back(use.op);
    }
    std::sort(fills.begin(), fills.end(),
              [&](const Op* a, const Op* b) { return order_.at(a) < order_.at(b); });
    region_.taken_in = fills.size();
    inside_.insert(fills.begin(), fills.end());
    region_.nodes.insert(region_.nodes.begin(), fills.begin(), fills.end());
  }

  bool is_for_region(const Value& v) const {
    return std::all_of(v.uses().begin(), v.uses().end(), [&](const Use& use) {
      return is_inside(*use.op) || behind_.count(use.op) != 0;
    });
  }

  void find_memories_inside() {
    Hoisted& hoisted = *region_.hoisted;
    for (Value* memory : hoisted.members) {
      if (!memory->def()->has_attr("regions") || !ops::is_accessed(*memory)) continue;
      const auto uses = memory->uses();
      if (std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
            if (use.op->is(ops::flow_sram) || use.op->is(ops::flow_alloc) ||
                use.op->is(ops::flow_free))
              return true;
            const bool bulk = use.op->is(ops::flow_bulk_load) || use.op->is(ops::flow_bulk_store);
            return is_inside(*use.op) && hoisted.streams.count(use.op->operand(bulk ? 2 : 1)) != 0;
          }))
        hoisted.inside.push_back(memory);
    }
  }

  // --- what goes in and out ---

  void find_entering() {
    std::unordered_set<const Value*> seen;
    for_each_entering([&](Value& v) {
      if (!of_thread(v)) {
        if (v.type().size >= depth_)
          throw InternalError("a stream of another thread goes into a replicate region");
        return;
      }
      if (seen.insert(&v).second) region_.entering.push_back(&v);
    });
  }

  void find_leaving() {
    std::map<unsigned, std::size_t> bundles;  // by class
    const auto leave = [&](Value& v, std::vector<Use> uses) {
      const auto [at, first] = bundles.emplace(alignment_.of(v), region_.leaving.size());
      if (first) region_.leaving.emplace_back();
      Leaving& leaving = region_.leaving[at->second];
      leaving.values.push_back(&v);
      leaving.uses.push_back(std::move(uses));
    };
    for (const Op* op : region_.nodes)
      for (const auto& r : op->results()) {
        std::vector<Use> uses;
        for (const Use& use : r->uses())
          if (!is_inside(*use.op)) uses.push_back(use);
        if (uses.empty()) continue;
        if (!is_stream(*r)) throw InternalError("a memory of a replicate region leaves it");
        leave(*r, std::move(uses));
      }
    if (!keeps_order_) return;
    const std::unordered_set<const Value*> known(region_.entering.begin(), region_.entering.end());
    for (Op& op : graph_) {
      if (is_inside(op) || behind_.count(&op) != 0) continue;
      for (const auto& r : op.results()) {
        if (!of_thread(*r)) continue;
        std::vector<Use> uses;
        for (const Use& use : r->uses())
          if (behind_.count(use.op) != 0 || goes_back(use)) uses.push_back(use);
        if (uses.empty()) continue;
        if (known.count(r.get()) == 0) region_.entering.push_back(r.get());
        leave(*r, std::move(uses));
      }
    }
  }

  Block& graph_;
  const Mark& mark_;
  Alignment alignment_;
  ReplicateRegion region_;
  std::unordered_map<const Op*, std::size_t> order_;
  std::unordered_set<const Op*> inside_;
  unsigned depth_ = 0;   ///< of the thread's streams
  unsigned thread_ = 0;  ///< their class
  bool keeps_order_ = false;
  std::unordered_set<const Op*> before_, behind_;
  std::vector<Op*> new_behind_;
  /// Nodes before the region, and what stands for them where a node with that mark needs them.
  std::map<std::pair<const Op*, std::string>, Op*> repeated_;
};

}  // namespace

std::vector<Mark> marks_of(const Block& graph) {
  std::map<std::int64_t, Mark> found;
  for (const Op& op : graph) {
    const Attr::Array* const all = marks(op);
    for (std::size_t i = 0; all && i < all->size(); ++i) {
      const Attr::Array* const one = (*all)[i].as_array();
      if (!one || one->size() != 3 || !(*one)[0].as_int() || number(*one, 1) < 1)
        throw Error(Exit::program, op.loc(),
                    "`replicate` is a list of [id, n, fixed], n at least 1");
      const auto [at, first] = found.try_emplace(number(*one, 0));
      if (!first) continue;
      const bool* const fixed = (*one)[2].as_bool();
      at->second = {number(*one, 0),
                    number(*one, 1),
                    fixed && *fixed,
                    {all->begin(), all->begin() + static_cast<std::ptrdiff_t>(i)},
                    op.loc()};
    }
  }
  std::vector<Mark> out;
  for (auto& [id, mark] : found) out.push_back(std::move(mark));
  std::stable_sort(out.begin(), out.end(),
                   [](const Mark& a, const Mark& b) { return a.outer.size() > b.outer.size(); });
  return out;
}

bool moves_bundle(const Op& op) {
  using namespace ops;
  return op.is(flow_filter) || op.is(flow_merge) || op.is(flow_fb_merge) || op.is(flow_strip) ||
         op.is(flow_flatten) || op.is(flow_broadcast) || op.is(flow_buffer) || op.is(flow_deal);
}

ReplicateRegion find_region(Block& graph, const Mark& mark) { return Finder(graph, mark).find(); }

}  // namespace revet
