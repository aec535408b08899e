#include "edges.hpp"

#include <algorithm>
#include <set>

#include "revet/diagnostics.hpp"

namespace revet {

Edges::Edges(Region& region) : region_(region) {
  for (const auto& block : region.blocks()) {
    numbers_.emplace(block.get(), numbers_.size());
    add(*block->last());
  }
}

Block& Edges::add_block() {
  Block& block = region_.add_block();
  numbers_.emplace(&block, numbers_.size());
  return block;
}

void Edges::finish(Block& block, std::unique_ptr<Op> terminator) {
  add(*block.insert(std::move(terminator)));
}

const std::vector<Edge>& Edges::into(const Block& block) const {
  static const std::vector<Edge> none;
  const auto found = into_.find(&block);
  return found == into_.end() ? none : found->second;
}

bool Edges::is_reached(const Block& block) const {
  if (&block == &region_.front()) return true;
  const auto& edges = into(block);
  return std::any_of(edges.begin(), edges.end(), [](const Edge& e) { return !is_back(e); });
}

bool Edges::may_drop(std::span<const Edge> edges) const {
  std::map<const Block*, std::size_t> lost;
  std::set<const Block*> dead;
  std::vector<const Block*> todo;
  std::vector<const Block*> back_targets;
  const auto lose = [&](const Edge& e) {
    const Block* to = e.from->successor(e.index);
    if (is_back(e)) {
      back_targets.push_back(to);
      return;
    }
    const auto& all = into(*to);
    const auto forward = static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [](const Edge& other) { return !is_back(other); }));
    if (++lost[to] == forward && dead.insert(to).second) todo.push_back(to);
  };
  for (const Edge& e : edges) lose(e);
  while (!todo.empty()) {
    Op& t = *todo.back()->last();
    todo.pop_back();
    if (t.is(ops::cfg_reduce) || t.is(ops::thread_return)) return false;
    for (unsigned i = 0; i < t.num_successors(); ++i) lose({&t, i});
  }
  return std::all_of(back_targets.begin(), back_targets.end(),
                     [&](const Block* header) { return dead.count(header) != 0; });
}

void Edges::add(Op& terminator) {
  for (unsigned i = 0; i < terminator.num_successors(); ++i)
    into_[terminator.successor(i)].push_back({&terminator, i});
}

void Edges::remove(Op& terminator) {
  std::vector<Op*> todo = {&terminator};
  while (!todo.empty()) {
    Op& t = *todo.back();
    todo.pop_back();
    for (unsigned i = 0; i < t.num_successors(); ++i) {
      Block& to = *t.successor(i);
      const std::size_t gone =
          std::erase_if(into_[&to], [&](const Edge& e) { return e.from == &t && e.index == i; });
      if (gone != 0 && !is_reached(to)) todo.push_back(to.last());
    }
  }
}

void Edges::replace(Op& terminator, std::unique_ptr<Op> by) {
  Block& block = *terminator.block();
  Op* const made = block.insert(std::move(by), &terminator);
  add(*made);
  remove(terminator);
  terminator.erase();
}

void Edges::edit(Block& to, const std::function<void(const Edge&, std::vector<Value*>&)>& change) {
  std::vector<Op*> leading;
  for (const Edge& edge : into(to))
    if (std::find(leading.begin(), leading.end(), edge.from) == leading.end())
      leading.push_back(edge.from);
  for (Op* op : leading) {
    std::vector<std::pair<Block*, std::vector<Value*>>> successors;
    for (unsigned i = 0; i < op->num_successors(); ++i) {
      successors.emplace_back(op->successor(i), arguments({op, i}));
      if (op->successor(i) == &to) change({op, i}, successors.back().second);
    }
    replace(*op, terminator_like(*op, successors));
  }
}

void Edges::erase_arg(Block& block, unsigned index) {
  edit(block, [&](const Edge& edge, std::vector<Value*>& args) {
    args.erase(args.begin() + index - implicit_arguments(edge));
  });
  block.erase_arg(index);
}

void Edges::redirect(const Edge& edge, Block& to) {
  std::vector<std::pair<Block*, std::vector<Value*>>> successors;
  for (unsigned i = 0; i < edge.from->num_successors(); ++i)
    successors.emplace_back(i == edge.index ? &to : edge.from->successor(i),
                            arguments({edge.from, i}));
  replace(*edge.from, terminator_like(*edge.from, successors));
}

void Edges::merge_next(Block& block) {
  Op& go = *block.last();
  Block& next = *go.successor(0);
  const std::vector<Value*> args = arguments({&go, 0});
  for (unsigned i = 0; i < next.num_args(); ++i) next.arg(i)->replace_all_uses_with(args[i]);
  into_.erase(&next);
  go.erase();
  block.splice(nullptr, next);
}

void Edges::erase_unreachable() {
  std::vector<Block*> dead;
  for (const auto& block : region_.blocks())
    if (!is_reached(*block)) dead.push_back(block.get());
  for (Block* block : dead)
    for (Op& op : *block) op.drop_operands();
  for (Block* block : dead) {
    into_.erase(block);
    region_.erase_block(*block);
  }
}

const Attr* constant_of(const Value& v) {
  return v.def() && v.def()->is(ops::arith_constant) ? v.def()->attr("value") : nullptr;
}

bool is_true(const Attr& condition) {
  if (const bool* b = condition.as_bool()) return *b;
  return condition.as_int() && *condition.as_int() != 0;
}

AttrMap region_mark(const Op& terminator) {
  const Attr* const mark = terminator.attr("replicate");
  return mark ? AttrMap{{"replicate", *mark}} : AttrMap{};
}

bool same_regions(const Op& a, const Op& b) { return region_mark(a) == region_mark(b); }

std::unique_ptr<Op> terminator_like(const Op& op,
                                    std::span<const std::pair<Block*, std::vector<Value*>>> to) {
  auto made = Op::create(op.info(), op.loc(), op.own_operands(), {}, op.attrs());
  for (const auto& [block, args] : to) made->add_successor(block, args);
  return made;
}

std::vector<Value*> arguments(const Edge& edge) {
  const auto args = edge.from->successor_args(edge.index);
  return {args.begin(), args.end()};
}

unsigned implicit_arguments(const Edge& edge) {
  return edge.from->successor(edge.index)->num_args() -
         static_cast<unsigned>(edge.from->successor_args(edge.index).size());
}

}  // namespace revet
