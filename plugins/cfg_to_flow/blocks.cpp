#include "blocks.hpp"

#include <algorithm>

#include "revet/builder.hpp"
#include "revet/diagnostics.hpp"

namespace revet {
namespace {

/// Deepest streams: barriers have 4 bits (Section III-A).
constexpr unsigned max_depth = 15;

bool is_constant(const Op& op) { return op.is(ops::arith_constant) || op.is(ops::mem_dram_size); }

}  // namespace

std::vector<Block*> successors(const Op& terminator) {
  std::vector<Block*> out;
  for (unsigned i = 0; i < terminator.num_successors(); ++i) out.push_back(terminator.successor(i));
  return out;
}

Blocks::Blocks(Op& func) {
  Region& region = func.region();
  copy_constants(region);
  find_depths(region);
  find_live(region);
  find_classes(region);
  find_enters(region);
}

void Blocks::copy_constants(Region& region) {
  std::vector<Op*> constants;
  for (const auto& block : region.blocks())
    for (Op& op : *block)
      if (is_constant(op)) constants.push_back(&op);
  for (Op* op : constants) {
    std::map<Block*, Op*> copies;
    for (const auto& result : op->results()) {
      const std::vector<Use> uses(result->uses().begin(), result->uses().end());
      for (const Use& use : uses) {
        Block* const there = use.op->block();
        if (there == op->block()) continue;
        Op*& copy = copies[there];
        if (!copy) {
          Cloning cloning;
          copy = there->insert(clone_op(*op, cloning), there->first());
        }
        use.op->set_operand(use.index, copy->result(result->index()));
      }
    }
  }
}

void Blocks::find_depths(Region& region) {
  std::vector<Block*> todo = {&region.front()};
  info_[&region.front()].depth = 1;
  std::set<const Block*> seen = {&region.front()};
  std::vector<std::pair<Block*, std::size_t>> stack = {{&region.front(), 0}};
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    const Op& t = *block->last();
    const std::vector<Block*> to = successors(t);
    if (next == to.size()) {
      stack.pop_back();
      continue;
    }
    const unsigned from = info_.at(block).depth;
    const std::size_t i = next++;
    if (t.is(ops::cfg_loop_br) && t.flag("back")) {
      info_[to[i]].is_header = true;
      continue;
    }
    unsigned depth = from;
    if (t.is(ops::cfg_loop_br) || (t.is(ops::cfg_foreach_enter) && i == 0)) depth = from + 1;
    if (t.is(ops::cfg_loop_exit) || t.is(ops::cfg_exit))
      depth = from - static_cast<unsigned>(t.int_attr("loops"));
    BlockInfo& info = info_[to[i]];
    info.depth = depth;
    ++info.edges;
    if (depth > max_depth)
      throw Error(Exit::program, t.loc(),
                  "loops and foreachs are nested too deeply: streams have at most 15 levels");
    if (seen.insert(to[i]).second) stack.emplace_back(to[i], 0);
  }
}

void Blocks::find_live(Region& region) {
  std::map<const Value*, unsigned> number;
  std::map<const Block*, std::set<const Value*>> live;
  const auto carried = [](const Value* v) { return v->type().kind != Kind::dram; };
  for (const auto& block : region.blocks()) {
    for (const auto& arg : block->args()) number.emplace(arg.get(), number.size());
    for (Op& op : *block)
      for (const auto& r : op.results()) number.emplace(r.get(), number.size());
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = region.blocks().rbegin(); block != region.blocks().rend(); ++block) {
      std::set<const Value*> now;
      for (const Block* to : successors(*(*block)->last()))
        for (const Value* v : live[to])
          if (v->block() != block->get()) now.insert(v);
      for (Op& op : **block)
        for (Value* used : op.operands()) {
          const Value* const v = ops::pointer_owner(used);
          if (carried(v) && v->block() != block->get()) now.insert(v);
        }
      if (now != live[block->get()]) {
        live[block->get()] = std::move(now);
        changed = true;
      }
    }
  }
  for (const auto& [block, values] : live) {
    auto& out = info_[block].live;
    for (const Value* v : values) out.push_back(const_cast<Value*>(v));
    std::sort(out.begin(), out.end(),
              [&](const Value* a, const Value* b) { return number.at(a) < number.at(b); });
  }
}

void Blocks::find_classes(Region& region) {
  std::set<const Value*> written;
  std::vector<const Value*> order;
  for (const auto& block : region.blocks())
    for (Op& op : *block) {
      std::vector<Effect> effects;
      if (op.info().effects) op.info().effects(op, effects);
      for (const Effect& e : effects) {
        if (!e.memory) continue;
        order.push_back(e.memory);
        if (e.kind != Effect::read) written.insert(e.memory);
      }
    }
  for (const Value* memory : order)
    if (written.count(memory) != 0) classes_.emplace(memory, static_cast<int>(classes_.size()));
}

void Blocks::find_enters(Region& region) {
  for (const auto& b : region.blocks()) {
    const Op& enter = *b->last();
    if (!enter.is(ops::cfg_foreach_enter)) continue;
    std::vector<const Block*> todo = {enter.successor(0)};
    std::set<const Block*> seen = {enter.successor(0)};
    while (!todo.empty()) {
      const Block* at = todo.back();
      todo.pop_back();
      const Op& last = *at->last();
      if (last.is(ops::cfg_reduce)) enters_[at] = &enter;
      // Children of children end in a reduce of their own: go on behind them.
      for (unsigned i = last.is(ops::cfg_foreach_enter) ? 1 : 0; i < last.num_successors(); ++i)
        if (seen.insert(last.successor(i)).second) todo.push_back(last.successor(i));
    }
  }
}

int Blocks::memory_class(const Value* memory) const {
  const auto it = classes_.find(memory);
  return it == classes_.end() ? -1 : it->second;
}

}  // namespace revet
