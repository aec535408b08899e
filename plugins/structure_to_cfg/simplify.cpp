#include <algorithm>
#include <set>

#include "jumps.hpp"

namespace revet {
namespace {

bool are_equal(const Value* a, const Value* b) {
  if (a == b) return true;
  const Attr* const x = constant_of(*a);
  const Attr* const y = constant_of(*b);
  return x && y && a->type() == b->type() && *x == *y;
}

/// A branch on a constant, or to the same place with the same values.
bool fold_branch(Edges& edges, Block& block) {
  Op& t = *block.last();
  if (!t.is(ops::cfg_cond_br)) return false;
  const Attr* const condition = constant_of(*t.operand(0));
  const auto first = arguments({&t, 0});
  const auto second = arguments({&t, 1});
  const bool same = t.successor(0) == t.successor(1) && first == second;
  if (!condition && !same) return false;
  const bool taken = !condition || is_true(*condition);
  const Edge dropped{&t, taken ? 1u : 0u};
  if (!edges.may_drop({&dropped, 1})) return false;
  auto go = Op::create(ops::cfg_br, t.loc(), {}, {}, region_mark(t));
  go->add_successor(t.successor(taken ? 0 : 1), taken ? first : second);
  edges.replace(t, std::move(go));
  return true;
}

/// An argument that is the same value on every edge, but for edges that bring itself.
bool fold_argument(Edges& edges, Block& block, unsigned index) {
  Value* const arg = block.arg(index);
  Value* same = nullptr;
  for (const Edge& edge : edges.into(block)) {
    const unsigned given = implicit_arguments(edge);
    if (index < given) return false;
    Value* const v = edge.from->successor_args(edge.index)[index - given];
    if (v == arg) continue;
    if (same && !are_equal(same, v)) return false;
    same = v;
  }
  if (!same) return false;
  if (constant_of(*same)) {
    Cloning none;
    same = block.insert(clone_op(*same->def(), none), block.first())->result();
  }
  arg->replace_all_uses_with(same);
  edges.erase_arg(block, index);
  return true;
}

/// Main's end stays a block of its own: what leads to it shows the level of the function.
bool follows_alone(const Edges& edges, const Block& block) {
  const Op& t = *block.last();
  if (!t.is(ops::cfg_br) || edges.into(*t.successor(0)).size() != 1 ||
      t.successor(0)->last()->is(ops::thread_return))
    return false;
  return same_regions(t, *t.successor(0)->last());
}

/// Mark and sweep: an argument is live if an op that does something needs it, or a live argument.
std::int64_t remove_dead(Region& region, Edges& edges) {
  std::set<const Value*> live;
  std::vector<const Value*> todo;
  const auto mark = [&](const Value* v) {
    if (live.insert(v).second) todo.push_back(v);
  };
  for (const auto& block : region.blocks())
    for (Op& op : *block) {
      if (op.info().terminator)
        for (const Value* v : op.own_operands()) mark(v);
      else if (!is_pure(op))
        for (const Value* v : op.operands()) mark(v);
    }
  while (!todo.empty()) {
    const Value& v = *todo.back();
    todo.pop_back();
    if (const Op* def = v.def()) {
      for (const Value* operand : def->operands()) mark(operand);
      continue;
    }
    for (const Edge& edge : edges.into(*v.block())) {
      const unsigned given = implicit_arguments(edge);
      if (v.index() >= given) mark(edge.from->successor_args(edge.index)[v.index() - given]);
    }
  }
  std::vector<Op*> dead;
  for (const auto& block : region.blocks()) {
    for (Op& op : *block)
      if (is_pure(op) && !op.info().terminator &&
          std::none_of(op.results().begin(), op.results().end(),
                       [&](const auto& r) { return live.count(r.get()) != 0; }))
        dead.push_back(&op);
  }
  std::map<Block*, std::vector<unsigned>> args;  // positions, the last first
  std::vector<Block*> order;
  for (const auto& block : region.blocks()) {
    if (block.get() == &region.front()) continue;
    const auto& into = edges.into(*block);
    for (unsigned i = block->num_args(); i-- > 0;)
      if (live.count(block->arg(i)) == 0 &&
          std::all_of(into.begin(), into.end(),
                      [&](const Edge& e) { return i >= implicit_arguments(e); })) {
        if (args[block.get()].empty()) order.push_back(block.get());
        args[block.get()].push_back(i);
      }
  }
  for (Block* block : order)
    edges.edit(*block, [&](const Edge& e, std::vector<Value*>& given) {
      const unsigned first = implicit_arguments(e);
      for (const unsigned i : args.at(block)) given.erase(given.begin() + (i - first));
    });
  for (Op* op : dead) op->drop_operands();
  for (Op* op : dead) op->erase();
  std::int64_t removed = 0;
  for (Block* block : order)
    for (const unsigned i : args.at(block)) {
      block->erase_arg(i);
      ++removed;
    }
  return removed;
}

}  // namespace

std::int64_t simplify_blocks(Region& region, Edges& edges) {
  std::int64_t changes = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& b : region.blocks()) {
      Block& block = *b;
      if (block.empty() || !edges.is_reached(block)) continue;
      const std::int64_t before = changes;
      changes += fold_branch(edges, block) ? 1 : 0;
      if (&block != &region.front())
        for (unsigned i = block.num_args(); i-- > 0;)
          changes += fold_argument(edges, block, i) ? 1 : 0;
      while (follows_alone(edges, block)) {
        edges.merge_next(block);
        ++changes;
      }
      changed |= changes != before;
    }
  }
  edges.erase_unreachable();
  return changes + remove_dead(region, edges);
}

}  // namespace revet
