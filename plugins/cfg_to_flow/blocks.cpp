#include "blocks.hpp"

#include <algorithm>

#include "revet/builder.hpp"
#include "revet/diagnostics.hpp"

namespace revet {
namespace {

/// Ops that it may take to compute a value anew where it is used: each is one in every such block.
constexpr unsigned most_recomputed = 4;

/// Deepest streams: barriers have 4 bits (Section III-A).
constexpr unsigned max_depth = 15;

bool is_constant(const Op& op) { return op.is(ops::arith_constant) || op.is(ops::mem_dram_size); }

}  // namespace

Value* loaded_pointer(const Op& op) {
  return op.is(ops::mem_pointer_load) ? ops::pointer_owner(op.operand(2)) : nullptr;
}

std::vector<Block*> successors(const Op& terminator) {
  std::vector<Block*> out;
  for (unsigned i = 0; i < terminator.num_successors(); ++i) out.push_back(terminator.successor(i));
  return out;
}

namespace {

std::map<const Value*, unsigned> numbered(const Region& region) {
  std::map<const Value*, unsigned> out;
  for (const auto& block : region.blocks()) {
    for (const auto& arg : block->args()) out.emplace(arg.get(), out.size());
    for (Op& op : *block)
      for (const auto& r : op.results()) out.emplace(r.get(), out.size());
  }
  return out;
}

/// Arrays are no streams.
bool is_streamed(const Value* v) { return v->type().kind != Kind::dram; }

std::vector<Value*> in_order(const std::set<const Value*>& values,
                             const std::map<const Value*, unsigned>& numbers) {
  std::vector<Value*> out;
  for (const Value* v : values) out.push_back(const_cast<Value*>(v));
  std::sort(out.begin(), out.end(),
            [&](const Value* a, const Value* b) { return numbers.at(a) < numbers.at(b); });
  return out;
}

}  // namespace

Blocks::Blocks(Op& func) : memories_(func) {
  Region& region = func.region();
  copy_constants(region);
  find_threads(region);
  find_depths(region);
  do {
    const Numbers numbers = numbered(region);
    find_outer(region, numbers);
    find_live(region, numbers);
  } while (recompute(region));
  find_classes(region);
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

/// Every block belongs to the thread that starts at the body of one foreach, or to main.
void Blocks::find_threads(Region& region) {
  std::vector<Block*> todo = {&region.front()};
  info_[&region.front()].enter = nullptr;
  while (!todo.empty()) {
    Block* const block = todo.back();
    todo.pop_back();
    const Op& t = *block->last();
    const std::vector<Block*> to = successors(t);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool child = t.is(ops::cfg_foreach_enter) && i == 0;
      if (child) inside_[&t], broadcast_[&t];
      const auto [info, fresh] = info_.try_emplace(to[i]);
      if (!fresh) continue;
      info->second.enter = child ? &t : info_.at(block).enter;
      todo.push_back(to[i]);
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

const Op& Blocks::foreach_below(const Value& v, const Block& block) const {
  const Op* const home = info_.at(v.block()).enter;
  const Op* enter = info_.at(&block).enter;
  while (enter && info_.at(enter->block()).enter != home) enter = info_.at(enter->block()).enter;
  if (!enter) throw InternalError("a value of a thread that is not around its use");
  return *enter;
}

void Blocks::find_outer(Region& region, const Numbers& numbers) {
  std::map<const Op*, std::set<const Value*>> needed;
  for (auto& [enter, values] : broadcast_) values.clear();
  for (const auto& block : region.blocks()) {
    std::set<const Value*> outer;
    for (Op& op : *block)
      for (Value* used : op.operands()) {
        const Value* const v = ops::pointer_owner(used);
        if (is_streamed(v) && info_.at(v->block()).enter != info_.at(block.get()).enter)
          outer.insert(v);
      }
    for (const Value* v : outer) needed[&foreach_below(*v, *block)].insert(v);
    info_[block.get()].outer = in_order(outer, numbers);
  }
  for (const auto& [enter, values] : needed) broadcast_[enter] = in_order(values, numbers);
}

void Blocks::find_live(Region& region, const Numbers& numbers) {
  std::map<const Block*, std::set<const Value*>> live;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = region.blocks().rbegin(); it != region.blocks().rend(); ++it) {
      Block& block = **it;
      const Op* const thread = info_.at(&block).enter;
      std::set<const Value*> now;
      const auto add = [&](const Value* v) {
        if (is_streamed(v) && v->block() != &block && info_.at(v->block()).enter == thread)
          now.insert(v);
      };
      for (const Block* to : successors(*block.last()))
        for (const Value* v : live[to]) add(v);
      if (block.last()->is(ops::cfg_foreach_enter))
        for (const Value* v : broadcast_.at(block.last())) add(v);
      for (Op* op = block.last(); op; op = op->prev()) {
        Value* const taken = loaded_pointer(*op);
        if (taken) now.erase(taken);
        for (Value* v : op->operands())
          if (v = ops::pointer_owner(v); v != taken) add(v);
      }
      if (now != live[&block]) {
        live[&block] = std::move(now);
        changed = true;
      }
    }
  }
  for (const auto& [block, values] : live) info_[block].live = in_order(values, numbers);
}

bool Blocks::is_of_enclosing(const Value& v, const Op* thread, unsigned& ops) const {
  if (!v.type().is_scalar()) return false;
  if (info_.at(v.block()).enter != thread) return true;
  const Op* const def = v.def();
  if (!def || def->num_results() != 1 || def->num_regions() != 0 || !is_pure(*def)) return false;
  if (is_constant(*def)) return true;
  if (ops-- == 0) return false;
  const auto operands = def->operands();
  return std::all_of(operands.begin(), operands.end(),
                     [&](const Value* o) { return is_of_enclosing(*o, thread, ops); });
}

Value* Blocks::computed_in(Block& block, Op& before, Value& v, const Op* thread,
                           std::map<const Value*, Value*>& known) const {
  if (info_.at(v.block()).enter != thread) return &v;
  Value*& made = known[&v];
  if (!made) {
    Cloning cloning;
    for (Value* o : v.def()->operands())
      cloning.values[o] = computed_in(block, before, *o, thread, known);
    made = block.insert(clone_op(*v.def(), cloning), &before)->result();
  }
  return made;
}

bool Blocks::recompute(Region& region) {
  std::vector<Value*> found;
  for (const auto& block : region.blocks())
    if (const BlockInfo& info = info_.at(block.get()); info.is_header)
      for (Value* v : info.live) {
        unsigned ops = most_recomputed;
        if (is_of_enclosing(*v, info.enter, ops)) found.push_back(v);
      }
  for (Value* v : found) {
    std::map<Block*, std::map<const Value*, Value*>> known;
    const std::vector<Use> uses(v->uses().begin(), v->uses().end());
    for (const Use& use : uses) {
      Block& there = *use.op->block();
      if (&there == v->block()) continue;
      Value* const here =
          computed_in(there, *there.first(), *v, info_.at(v->block()).enter, known[&there]);
      use.op->set_operand(use.index, here);
    }
  }
  if (found.empty()) return false;
  for (const auto& block : region.blocks())
    for (Op *op = block->last(), *prev; op; op = prev) {
      prev = op->prev();
      if (op->info().terminator || op->num_results() == 0 || !is_pure(*op)) continue;
      const auto& results = op->results();
      if (std::all_of(results.begin(), results.end(), [](const auto& r) { return r->unused(); }))
        op->erase();
    }
  return true;
}

std::vector<const Block*> Blocks::after(const Block& block) const {
  const Op& t = *block.last();
  if (t.is(ops::cfg_reduce)) return {info_.at(&block).enter->successor(1)};
  std::vector<const Block*> out;
  for (const Block* to : successors(t)) out.push_back(to);
  return out;
}

/// A class counts from its first possible access to its last. A buffer's accesses are those of
/// one lifetime: its allocation follows nothing, and nothing follows its release.
void Blocks::find_classes(Region& region) {
  std::map<const Block*, Classes> before, later;
  const auto is_alloc = [](const Op& op) { return op.is(ops::mem_sram_alloc); };
  // Under a predicate the buffer is still there where it is false.
  const auto is_free = [](const Op& op) {
    return op.is(ops::mem_sram_free) && !ops::predicate(op);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& block : region.blocks()) {
      Classes now = before[block.get()];
      for (Op& op : *block)
        for (const unsigned c : memories_.of(op))
          is_free(op) ? (void)now.erase(c) : (void)now.insert(c);
      for (const Block* to : after(*block))
        for (const unsigned c : now) changed |= before[to].insert(c).second;
    }
    for (auto it = region.blocks().rbegin(); it != region.blocks().rend(); ++it) {
      Block& block = **it;
      Classes now;
      for (const Block* to : after(block)) now.insert(later[to].begin(), later[to].end());
      for (Op* op = block.last(); op; op = op->prev())
        for (const unsigned c : memories_.of(*op))
          is_alloc(*op) ? (void)now.erase(c) : (void)now.insert(c);
      if (now != later[&block]) {
        later[&block] = std::move(now);
        changed = true;
      }
    }
  }
  for (const auto& block : region.blocks())
    for (Op& op : *block)
      for (const unsigned c : memories_.of(op))
        for (const Op* enter = info_.at(block.get()).enter; enter;
             enter = info_.at(enter->block()).enter)
          inside_[enter].insert(c);
  for (auto& [block, info] : info_)
    for (const unsigned c : before[block])
      if (later[block].count(c) != 0 && (!info.enter || inside_[info.enter].count(c) != 0))
        info.classes.push_back(c);
}

}  // namespace revet
