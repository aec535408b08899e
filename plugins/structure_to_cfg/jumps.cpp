#include "jumps.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include "revet/diagnostics.hpp"

namespace revet {
namespace {

struct Computation;

/// A value on the way along a path: one that exists where the path begins, a constant, or a result
/// of an op on the path that could be computed there as well.
struct Known {
  Value* value = nullptr;
  Attr constant;
  Computation* computed = nullptr;
  unsigned result = 0;
};

/// An op on the path with its operands as they were when the path passed it: the next round of a
/// loop gives the loop's arguments other values.
struct Computation {
  const Op* op;
  std::vector<Known> operands;
  Op* made = nullptr;  ///< where the path begins
};

const Attr* constant_of(const Known& known) {
  if (known.computed) return nullptr;
  return known.value ? constant_of(*known.value) : &known.constant;
}

/// The walk from the end of one block through blocks that do nothing but compute.
class Path {
 public:
  explicit Path(Op& from) : from_(from) {}

  /// Where the edge may go to, if not to where it goes now.
  bool find() {
    Block* at = from_.successor(0);
    if (from_.is(ops::cfg_loop_exit)) loops_ = from_.int_attr("loops");
    enter(from_, 0);
    bool decided = false;  // a branch was taken
    bool inside = false;   // of a loop whose back edge was passed, and so must be left
    for (unsigned step = 0; step < most_steps; ++step) {
      if (!same_regions(from_, *at->last()) || !evaluate(*at)) break;
      Op& t = *at->last();
      unsigned next = 0;
      if (t.is(ops::cfg_cond_br)) {
        const Attr* const condition = constant_of(of(t.operand(0)));
        if (!condition) break;
        next = is_true(*condition) ? 0 : 1;
        decided = true;
      } else if (t.is(ops::cfg_loop_exit)) {
        loops_ += t.int_attr("loops");
        inside = false;
      } else if (t.is(ops::cfg_loop_br)) {
        if (!t.flag("back")) break;
        inside = true;
      } else if (!t.is(ops::cfg_br)) {
        break;
      }
      passed_.push_back(at);
      at = t.successor(next);
      if (std::find(passed_.begin(), passed_.end(), at) != passed_.end()) break;  // no way out
      enter(t, next);
      if (decided && !inside && same_regions(from_, *at->last())) remember(*at);
    }
    return to_ != nullptr;
  }

  Block& to() const { return *to_; }
  std::int64_t loops() const { return to_loops_; }
  const std::vector<Known>& arguments_there() const { return to_args_; }
  /// The blocks that the new edge leaves out, and what their values are along it.
  std::span<Block* const> passed() const { return {passed_.data(), to_passed_}; }
  Known of(Value* v) const {
    const auto found = known_.find(v);
    return found == known_.end() ? Known{v, {}} : found->second;
  }
  /// The value at the end of the block where the path begins, made there if need be.
  Value* make(const Known& known, Type type, Op& terminator) {
    if (known.value) return known.value;
    Block& block = *terminator.block();
    if (!known.computed)
      return block
          .insert(Op::create(ops::arith_constant, terminator.loc(), {},
                             std::span<const Type>(&type, 1), {{"value", known.constant}}),
                  &terminator)
          ->result();
    Computation& c = *known.computed;
    if (!c.made) {
      Cloning cloning;
      for (unsigned i = 0; i < c.op->num_operands(); ++i) {
        Value* const v = c.op->operand(i);
        cloning.values[v] = make(c.operands[i], v->type(), terminator);
      }
      c.made = block.insert(clone_op(*c.op, cloning), &terminator);
    }
    return c.made->result(known.result);
  }

 private:
  static constexpr unsigned most_steps = 64;

  void enter(const Op& terminator, unsigned successor) {
    const Block& block = *terminator.successor(successor);
    args_.clear();
    for (Value* v : terminator.successor_args(successor)) args_.push_back(of(v));
    for (unsigned i = 0; i < args_.size(); ++i) known_[block.arg(i)] = args_[i];
  }

  void remember(Block& block) {
    to_ = &block;
    to_args_ = args_;
    to_loops_ = loops_;
    to_passed_ = passed_.size();
  }

  /// True if the block only computes.
  bool evaluate(const Block& block) {
    for (Op* op = block.first(); op != block.last(); op = op->next()) {
      if (!is_pure(*op)) return false;
      if (op->is(ops::arith_constant)) {
        known_[op->result()] = {nullptr, *op->attr("value")};
        continue;
      }
      std::vector<const Attr*> constants;
      std::vector<Known> operands;
      for (Value* v : op->operands()) operands.push_back(of(v));
      for (const Known& k : operands) constants.push_back(constant_of(k));
      std::optional<Folded> folded;
      if (op->info().fold) folded = op->info().fold(*op, constants);
      Computation* const computed =
          folded ? nullptr : &computed_.emplace_back(Computation{op, std::move(operands)});
      for (unsigned i = 0; i < op->num_results(); ++i) {
        Known& known = known_[op->result(i)];
        if (computed)
          known = {nullptr, {}, computed, i};
        else if (const Attr* a = std::get_if<Attr>(&(*folded)[i]))
          known = {nullptr, *a};
        else
          known = of(std::get<Value*>((*folded)[i]));
      }
    }
    return true;
  }

  const Op& from_;
  std::map<const Value*, Known> known_;
  std::deque<Computation> computed_;  ///< stay where they are
  std::vector<Known> args_;
  std::vector<Block*> passed_;
  std::int64_t loops_ = 0;
  Block* to_ = nullptr;
  std::vector<Known> to_args_;
  std::int64_t to_loops_ = 0;
  std::size_t to_passed_ = 0;
};

/// After the end of `from` no longer leads to the block of `old`, where `old` would have become
/// `now_value()`, finds for each use of `old` which of the two reaches it, with new arguments where
/// both do.
void repair(Edges& edges, Value& old, Block& from, const std::function<Value*()>& now_value) {
  Block* const home = old.block();
  std::vector<Use> uses;
  for (const Use& use : old.uses())
    if (use.op->block() != home && edges.is_reached(*use.op->block())) uses.push_back(use);
  const auto earlier = [&](const Block* a, const Block* b) {
    return edges.number(*a) < edges.number(*b);
  };
  // Blocks that need the value when they begin.
  std::set<Block*, decltype(earlier)> needed(earlier);
  std::vector<Block*> todo;
  const auto need = [&](Block* b) {
    if (needed.insert(b).second) todo.push_back(b);
  };
  for (const Use& use : uses) need(use.op->block());
  bool met = false;
  while (!todo.empty()) {
    Block* const block = todo.back();
    todo.pop_back();
    for (const Edge& e : edges.into(*block)) {
      Block* const before = e.from->block();
      met |= before == &from;
      if (before != home && before != &from) need(before);
    }
  }
  if (!met) return;  // nothing behind the new edge uses it
  Value* const now = now_value();
  std::map<Block*, Value*> arguments;
  for (Block* block : needed)
    if (edges.into(*block).size() > 1) arguments[block] = block->add_arg(old.type(), old.name());
  const auto at_start = [&](Block* block) {
    for (;;) {
      if (const auto found = arguments.find(block); found != arguments.end()) return found->second;
      const auto& into = edges.into(*block);
      if (into.size() != 1) throw InternalError("a value that does not reach its use");
      block = into[0].from->block();
      if (block == &from) return now;
      if (block == home) return &old;
    }
  };
  const auto at_end = [&](Block* block) {
    return block == &from ? now : block == home ? &old : at_start(block);
  };
  for (const Use& use : uses) use.op->set_operand(use.index, at_start(use.op->block()));
  for (Block* block : needed)
    if (arguments.count(block) != 0)
      edges.edit(*block, [&](const Edge& e, std::vector<Value*>& args) {
        args.push_back(at_end(e.from->block()));
      });
}

/// Where more than two edges arrive, the last two meet in a block of their own first.
void pair_up(Edges& edges, Block& block) {
  while (edges.into(block).size() > 2) {
    Block& meet = edges.add_block();
    std::vector<Value*> args;
    for (const auto& arg : block.args()) args.push_back(meet.add_arg(arg->type(), arg->name()));
    auto go = Op::create(ops::cfg_br, block.last()->loc(), {}, {}, region_mark(*block.last()));
    go->add_successor(&block, args);
    for (unsigned i = 0; i < 2; ++i) edges.redirect(edges.into(block).back(), meet);
    edges.finish(meet, std::move(go));
  }
}

/// Exits bring no values: an edge that does cannot meet them two by two.
bool takes_values_only(const Edges& edges, const Block& block) {
  const auto& into = edges.into(block);
  return std::none_of(into.begin(), into.end(),
                      [](const Edge& e) { return e.from->is(ops::cfg_exit); });
}

}  // namespace

std::int64_t thread_jumps(Region& region, Edges& edges) {
  std::vector<Block*> blocks;
  for (const auto& block : region.blocks()) blocks.push_back(block.get());
  std::int64_t redirected = 0;
  for (Block* block : blocks) {
    Op& old = *block->last();
    if ((!old.is(ops::cfg_br) && !old.is(ops::cfg_loop_exit)) || !edges.is_reached(*block))
      continue;
    Path path(old);
    const Edge edge{&old, 0};
    if (!path.find() || !edges.may_drop({&edge, 1}) || !takes_values_only(edges, path.to()))
      continue;
    AttrMap attrs = region_mark(old);
    if (path.loops() != 0) attrs.emplace("loops", path.loops());
    auto go = Op::create(path.loops() == 0 ? ops::cfg_br : ops::cfg_loop_exit, old.loc(), {}, {},
                         std::move(attrs));
    std::vector<Value*> args;
    for (std::size_t i = 0; i < path.arguments_there().size(); ++i)
      args.push_back(path.make(path.arguments_there()[i],
                               path.to().arg(static_cast<unsigned>(i))->type(), old));
    go->add_successor(&path.to(), args);
    edges.replace(old, std::move(go));
    pair_up(edges, path.to());
    for (Block* passed : path.passed()) {
      const auto lost = [&](Value& v) {
        repair(edges, v, *block, [&] { return path.make(path.of(&v), v.type(), *block->last()); });
      };
      for (const auto& arg : passed->args()) lost(*arg);
      for (Op& op : *passed)
        for (const auto& r : op.results()) lost(*r);
    }
    ++redirected;
  }
  return redirected;
}

}  // namespace revet
