#include "prepare.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "revet/builder.hpp"

namespace revet::openmp {
namespace {

using namespace ops;

std::vector<Op*> ops_below(Op& root) {
  std::vector<Op*> out;
  walk(root.region(), [&](Op& op) { out.push_back(&op); });
  return out;
}

/// A region that runs once is just code.
void splice_replicates(Op& main) {
  const std::vector<Op*> all = ops_below(main);
  // Inner ones first, so that what is erased holds none.
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    Op* op = *it;
    if (!op->is(thread_replicate)) continue;
    Block& inner = op->body();
    Op* end = inner.terminator();
    if (end->is(thread_exit)) {
      // What follows was visited before.
      while (op->next()) op->block()->last()->erase();
    } else {
      for (unsigned i = 0; i < op->num_results(); ++i) {
        Value* v = end->operand(i);
        if (v->name().empty()) v->set_name(op->result(i)->name());
        op->result(i)->replace_all_uses_with(v);
      }
      end->erase();
    }
    op->block()->splice(op, inner);
    op->erase();
  }
}

bool removable(const Op& op) {
  if (op.info().terminator || op.num_results() == 0) return false;
  for (const auto& r : op.results())
    if (!r->unused()) return false;
  if (is_pure(op)) return true;
  // A load that is not checked does nothing but give its result.
  return (op.is(mem_dram_load) || op.is(mem_sram_load) || op.is(mem_view_load) ||
          op.is(mem_iter_load) || op.is(mem_iter_peek)) &&
         !op.flag("checked");
}

void remove_unused(Op& main) {
  std::vector<Op*> all = ops_below(main);
  // Users stand behind definitions, so one sweep from the end is enough; what an op that is erased
  // holds was seen before.
  for (auto it = all.rbegin(); it != all.rend(); ++it)
    if (removable(**it) && (*it)->num_regions() == 0) (*it)->erase();
}

/// An index as scale * i + offset, i the index of a foreach, computed without wrapping.
struct Affine {
  const Op* foreach = nullptr;
  std::int64_t scale = 0;
  std::int64_t offset = 0;
};

class ViewUse {
 public:
  ViewUse(Op& main, Adapters& adapters) : adapters_(adapters) {
    number(main);
    // In program order.
    for (Op* op : ops_below(main))
      if (is_view_open(*op)) view(*op);
  }

 private:
  void number(Op& main) {
    for (Op* op : ops_below(main)) order_[op] = static_cast<unsigned>(order_.size());
  }

  bool affine(const Value* v, Affine& out, unsigned depth = 0) {
    std::int64_t n = 0;
    if (is_constant(v, n)) {
      out.offset += n;
      return true;
    }
    const Op* def = v->def();
    if (!def) {
      const Op* parent = v->block()->parent_op();
      if (!parent || !parent->is(thread_foreach)) return false;
      out.foreach = parent;
      out.scale += 1;
      return true;
    }
    if (depth > 8) return false;
    if (def->is(arith_cast) && def->operand(0)->type().is_integer() && v->type() != type_i1) {
      const Range r = ranges_.of(def->operand(0));
      const Range all = range_of_type(v->type());
      return r.within(all.lo, all.hi) && affine(def->operand(0), out, depth + 1);
    }
    if (!(def->is(arith_add) || def->is(arith_sub) || def->is(arith_mul) || def->is(arith_shl)) ||
        !ranges_.exact(*def))
      return false;
    Affine a, b;
    if (!affine(def->operand(0), a, depth + 1)) return false;
    if (def->is(arith_shl)) {
      if (!is_constant(def->operand(1), n)) return false;
      out = {a.foreach, a.scale * (std::int64_t{1} << (n & 31)),
             a.offset * (std::int64_t{1} << (n & 31))};
      return true;
    }
    if (!affine(def->operand(1), b, depth + 1)) return false;
    if (a.foreach && b.foreach && a.foreach != b.foreach) return false;
    if (def->is(arith_mul)) {
      if (a.foreach && b.foreach) return false;
      if (b.foreach) std::swap(a, b);
      out = {a.foreach, a.scale * b.offset, a.offset * b.offset};
      return true;
    }
    const std::int64_t sign = def->is(arith_sub) ? -1 : 1;
    out = {a.foreach ? a.foreach : b.foreach, a.scale + sign * b.scale, a.offset + sign * b.offset};
    return true;
  }

  /// Finds what the loops use of a view.
  void view(Op& open) {
    Adapter& adapter = adapters_.at(&open);
    if (open.num_operands() > 2 && open.operand(2)->def() && open.operand(2)->name().empty())
      open.operand(2)->set_name(open.str_attr("name") + "_valid");
    const std::int64_t size = open.result()->type().size;
    Value* count = nullptr;
    std::string index_name;
    std::int64_t scale = 0, offset = 0, constant = 0;
    for (const Use& use : open.result()->uses()) {
      if (!use.op->is(mem_view_load) && !use.op->is(mem_view_store)) continue;
      const Value* k = use.op->operand(1);
      const Range r = ranges_.of(k);
      Affine a;
      const bool by_loop =
          affine(k, a) && a.foreach && a.scale > 0 && from_zero(*a.foreach) && a.offset >= 0;
      Value* n = by_loop ? a.foreach->operand(1) : nullptr;
      if (!by_loop || (count && n != count)) {
        if (!r.within(0, size - 1)) return;
        constant = std::max(constant, r.hi + 1);
        continue;
      }
      // The last index is scale * (count - 1) + offset.
      count = n;
      index_name = a.foreach->body().arg(0)->name();
      scale = std::max(scale, a.scale);
      offset = std::max(offset, a.offset);
    }
    if (!count) {
      if (constant > 0) adapter.offset = constant;
      return;
    }
    if (!hoist(*count, open)) return;
    if (count->name().empty() && !constant_op(count)) count->set_name(index_name + "_count");
    adapter.count = count;
    adapter.scale = scale;
    adapter.offset = offset + 1 - scale;
    adapter.at_least = constant;
    adapter.assigned = scale == 1 && !adapter.guarded && all_assigned(open, count);
  }

  static bool from_zero(const Op& foreach) {
    std::int64_t lo = 0, step = 0;
    return is_constant(foreach.operand(0), lo) && is_constant(foreach.operand(2), step) &&
           lo == 0 && step == 1;
  }

  bool dominates(const Value& v, const Op& op) const {
    const Op* at = &op;
    while (at && at->block() != v.block()) at = at->parent_op();
    if (!at) return false;
    return v.is_argument() || order_.at(v.def()) < order_.at(at);
  }

  /// Makes `v` available before `open`, moving what computes it.
  bool hoist(Value& v, Op& open) {
    if (dominates(v, open)) return true;
    std::vector<Op*> moved;
    if (!collect(v, open, moved)) return false;
    // Operands come before their users in `moved`.
    for (Op* op : moved) op->move_before(open);
    order_.clear();
    Op* top = &open;
    while (top->parent_op()) top = top->parent_op();
    number(*top);
    return true;
  }

  bool collect(Value& v, const Op& open, std::vector<Op*>& moved) {
    if (dominates(v, open)) return true;
    Op* def = v.def();
    if (!def || def->block() != open.block() || def->num_regions() != 0 || !is_pure(*def) ||
        moved.size() > 8)
      return false;
    if (std::find(moved.begin(), moved.end(), def) != moved.end()) return true;
    for (Value* operand : def->operands())
      if (!collect(*operand, open, moved)) return false;
    moved.push_back(def);
    return true;
  }

  /// A foreach of `count` children in the view's block stores element i in child i, whatever
  /// happens.
  bool all_assigned(const Op& open, const Value* count) {
    if (open.is(mem_read_view)) return false;
    for (const Use& use : open.result()->uses()) {
      const Op& store = *use.op;
      if (!store.is(mem_view_store) || store.flag("predicated")) continue;
      const Op* loop = store.parent_op();
      Affine a;
      if (loop && loop->is(thread_foreach) && loop->block() == open.block() &&
          loop->operand(1) == count && from_zero(*loop) && affine(store.operand(1), a) &&
          a.foreach == loop && a.scale == 1 && a.offset == 0 && !may_end_early(loop->body()) &&
          !may_end_before(open, *loop))
        return true;
    }
    return false;
  }

  /// The thread that opens the view may end, and so close it, before `loop`.
  static bool may_end_before(const Op& open, const Op& loop) {
    for (const Op* op = open.next(); op != &loop; op = op->next()) {
      if (!op || op->is(thread_fork)) return true;
      if (op->is(thread_foreach)) continue;
      for (const auto& region : op->regions())
        if (may_end_early(region->front())) return true;
    }
    return false;
  }

  /// A child may end before the end of its body.
  static bool may_end_early(const Block& body) {
    for (const Op& op : body) {
      if (op.is(thread_exit) || op.is(thread_fork)) return true;
      if (op.is(thread_foreach)) continue;
      for (const auto& region : op.regions())
        if (may_end_early(region->front())) return true;
    }
    return false;
  }

  Adapters& adapters_;
  Ranges ranges_;
  std::unordered_map<const Op*, unsigned> order_;
};

}  // namespace

void prepare(Op& main, Adapters& adapters) {
  splice_replicates(main);
  remove_unused(main);
  adapters = find_adapters(main);
  ViewUse(main, adapters);
}

}  // namespace revet::openmp
