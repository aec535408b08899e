/// Mark and sweep over the use-def graph. Ops with effects are live; a live op makes its operands
/// and the ops around it live; a live result of a structured op makes the values live that its
/// regions yield for it, and not the others. What nothing marked is removed, values that only feed
/// each other around a loop included. Linear in the size of the module.
#include "dead_code.hpp"

#include <unordered_set>
#include <vector>

#include "revet/ops.hpp"

namespace revet {
namespace {

bool is_structured(const Op& op) {
  return op.is(ops::thread_if) || op.is(ops::thread_while) || op.is(ops::thread_foreach) ||
         op.is(ops::thread_replicate);
}

bool has_effect(const Op& op) {
  if (op.info().control || !op.info().effects) return true;
  if (!op.parent_op() && (op.num_results() == 0 || op.is(ops::mem_dram))) return true;
  std::vector<Effect> effects;
  op.info().effects(op, effects);
  return !effects.empty();
}

/// The terminator of `block` if it passes values on to the structured op around it.
Op* passes_values(const Block& block) {
  Op* last = block.terminator();
  return last && (last->is(ops::thread_yield) || last->is(ops::thread_condition)) ? last : nullptr;
}

class Liveness {
 public:
  explicit Liveness(const Module& module) {
    walk(module, [&](Op& op) {
      if (has_effect(op)) mark(op);
    });
    spread();
  }

  /// What is outside `place` may need the op and all of its results.
  explicit Liveness(Op& place) {
    mark(place);
    for (const auto& r : place.results()) mark(r.get());
    walk(place, [&](Op& op) {
      if (has_effect(op)) mark(op);
    });
    spread();
  }

  bool live(const Op& op) const { return ops_.count(&op) != 0; }
  bool live(const Value* v) const { return values_.count(v) != 0; }

 private:
  void spread() {
    while (!ops_todo_.empty() || !values_todo_.empty()) {
      if (!ops_todo_.empty()) {
        Op* op = ops_todo_.back();
        ops_todo_.pop_back();
        follow(*op);
      } else {
        Value* v = values_todo_.back();
        values_todo_.pop_back();
        follow(v);
      }
    }
  }

  void mark(Op& op) {
    if (ops_.insert(&op).second) ops_todo_.push_back(&op);
  }
  void mark(Value* v) {
    if (values_.insert(v).second) values_todo_.push_back(v);
  }

  void follow(Op& op) {
    Op* parent = op.parent_op();
    if (parent) mark(*parent);
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks())
        if (Op* last = block->terminator()) mark(*last);
    if (op.is(ops::thread_while)) return;
    if (op.is(ops::thread_condition)) return mark(op.operand(0));
    if (op.is(ops::thread_yield) && parent && is_structured(*parent)) return;
    for (Value* v : op.operands()) mark(v);
  }

  void follow(Value* v) {
    const unsigned i = v->index();
    if (Op* op = v->def()) {
      mark(*op);
      if (op->is(ops::thread_while)) {
        mark_passed(op->body(0), i + 1);
      } else if (is_structured(*op)) {
        for (unsigned r = 0; r < op->num_regions(); ++r) mark_passed(op->body(r), i);
      }
      return;
    }
    Op* op = v->block()->parent_op();
    if (!op || !op->is(ops::thread_while)) return;
    if (v->block() == &op->body(0)) {
      mark(op->operand(i));
      mark_passed(op->body(1), i);
    } else {
      mark_passed(op->body(0), i + 1);
    }
  }

  void mark_passed(const Block& block, unsigned operand) {
    if (Op* last = passes_values(block)) mark(last->operand(operand));
  }

  std::unordered_set<const Op*> ops_;
  std::unordered_set<const Value*> values_;
  std::vector<Op*> ops_todo_;
  std::vector<Value*> values_todo_;
};

/// Values of one live structured op that go, by position in ascending order.
struct Pruning {
  Op* op;
  std::vector<unsigned> results;
  std::vector<unsigned> carried;  ///< initial values of a while
};

void collect(Op& op, const Liveness& liveness, std::vector<Op*>& dead,
             std::vector<Pruning>& prunings) {
  if (!liveness.live(op)) {
    dead.push_back(&op);
    return;
  }
  if (is_structured(op)) {
    Pruning pruning{&op, {}, {}};
    const bool loop = op.is(ops::thread_while);
    for (unsigned i = 0; i < op.num_results(); ++i)
      if (!liveness.live(op.result(i)) && !(loop && liveness.live(op.body(1).arg(i))))
        pruning.results.push_back(i);
    for (unsigned i = 0; loop && i < op.num_operands(); ++i)
      if (!liveness.live(op.body(0).arg(i))) pruning.carried.push_back(i);
    if (!pruning.results.empty() || !pruning.carried.empty()) prunings.push_back(pruning);
  }
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op& inner : *block) collect(inner, liveness, dead, prunings);
}

void erase_operands(Op& op, const std::vector<unsigned>& positions, unsigned skip = 0) {
  for (std::size_t k = positions.size(); k-- > 0;) op.erase_operand(positions[k] + skip);
}

void drop_passed(const Block& block, const std::vector<unsigned>& positions) {
  if (Op* last = passes_values(block))
    erase_operands(*last, positions, last->is(ops::thread_condition) ? 1 : 0);
}

/// Drops the uses that keep the values of `pruning` from being erased.
void prune_uses(const Pruning& pruning) {
  Op& op = *pruning.op;
  if (op.is(ops::thread_while)) {
    erase_operands(op, pruning.carried);
    drop_passed(op.body(0), pruning.results);
    drop_passed(op.body(1), pruning.carried);
    return;
  }
  for (unsigned r = 0; r < op.num_regions(); ++r) drop_passed(op.body(r), pruning.results);
}

void prune_values(const Pruning& pruning) {
  Op& op = *pruning.op;
  Attr::Array reduce;
  if (const Attr* attr = op.attr("reduce"); attr && attr->as_array()) reduce = *attr->as_array();
  for (std::size_t k = pruning.results.size(); k-- > 0;) {
    const unsigned i = pruning.results[k];
    op.erase_result(i);
    if (op.is(ops::thread_while)) op.body(1).erase_arg(i);
    if (i < reduce.size()) reduce.erase(reduce.begin() + i);
  }
  for (std::size_t k = pruning.carried.size(); k-- > 0;) op.body(0).erase_arg(pruning.carried[k]);
  if (reduce.empty())
    op.remove_attr("reduce");
  else
    op.set_attr("reduce", reduce);
}

std::int64_t remove(const std::vector<Op*>& dead, const std::vector<Pruning>& prunings) {
  std::size_t removed = dead.size();
  for (const Pruning& pruning : prunings) {
    removed += pruning.results.size() + pruning.carried.size();
    prune_uses(pruning);
  }
  for (Op* op : dead) op->drop_operands();
  for (Op* op : dead) op->erase();
  for (const Pruning& pruning : prunings) prune_values(pruning);
  return static_cast<std::int64_t>(removed);
}

}  // namespace

std::int64_t remove_dead_code(Module& module) {
  const Liveness liveness(module);
  std::vector<Op*> dead;
  std::vector<Pruning> prunings;
  for (Op& op : module.body()) collect(op, liveness, dead, prunings);
  return remove(dead, prunings);
}

std::int64_t remove_dead_code(Op& place) {
  std::vector<Op*> dead;
  std::vector<Pruning> prunings;
  collect(place, Liveness(place), dead, prunings);
  return remove(dead, prunings);
}

}  // namespace revet
