// From basic blocks to flat code. A foreach is entered by its terminator, and its children end in
// the one cfg.reduce that closes them; an exit ends its thread where it stands.
#include <algorithm>

#include "decoder.hpp"

namespace revet::interp {

/// Blocks in reverse postorder, so that a value is met before its uses, and the level of each.
void Decoder::find_levels(const Region& region) {
  struct Visit {
    const Block* block;
    unsigned next;
  };
  std::vector<Visit> stack = {{&region.front(), 0}};
  block_levels_[&region.front()] = 0;
  while (!stack.empty()) {
    Visit& visit = stack.back();
    const Op& t = *visit.block->last();
    if (visit.next == t.num_successors()) {
      block_order_.push_back(visit.block);
      stack.pop_back();
      continue;
    }
    const unsigned i = visit.next++;
    const Block* to = t.successor(i);
    std::uint32_t level = block_levels_.at(visit.block);
    if (t.is(ops::cfg_foreach_enter)) {
      const auto [found, fresh] = foreach_levels_.try_emplace(&t, program_.levels.size());
      if (fresh) program_.levels.emplace_back().op = &t;
      if (i == 0) level = found->second;
    }
    if (block_levels_.emplace(to, level).second) stack.push_back({to, 0});
  }
  std::reverse(block_order_.begin(), block_order_.end());
}

void Decoder::decode_blocks(const Op& func) {
  find_levels(func.region());
  // Arguments first: an edge sets them before their block is met.
  for (const Block* block : block_order_) {
    if (block == &func.body()) continue;
    levels_ = {block_levels_.at(block)};
    for (const auto& arg : block->args()) define(arg.get());
  }
  for (const Block* block : block_order_) {
    levels_ = {block_levels_.at(block)};
    block_starts_[block] = here();
    for (const Op* op = block->first(); op != block->last(); op = op->next()) decode_op(*op);
    decode_terminator(*block->last());
  }
  for (const auto& [at, to] : jumps_) program_.code[at].a = block_starts_.at(to);
  for (const auto& [op, id] : foreach_levels_) {
    program_.levels[id].body = block_starts_.at(op->successor(0));
    program_.levels[id].after = block_starts_.at(op->successor(1));
  }
  levels_ = {0};
}

void Decoder::emit_edge(const Op& op, unsigned successor) {
  const Block& to = *op.successor(successor);
  const auto args = op.successor_args(successor);
  const std::size_t given = to.num_args() - args.size();
  Moves moves;
  for (std::size_t i = 0; i < args.size(); ++i)
    moves.emplace_back(use(to.arg(static_cast<unsigned>(given + i))), use(args[i]));
  emit_moves(op, std::move(moves));
  jumps_.emplace_back(emit(op, {.code = Code::jump}), &to);
}

void Decoder::decode_terminator(const Op& op) {
  using namespace ops;
  if (op.is(cfg_br) || op.is(cfg_loop_br) || op.is(cfg_loop_exit)) {
    emit_edge(op, 0);
  } else if (op.is(cfg_cond_br)) {
    const std::uint32_t branch = emit(op, {.code = Code::branch_unless, .a = use(op.operand(0))});
    emit_edge(op, 0);
    program_.code[branch].b = here();
    emit_edge(op, 1);
  } else if (op.is(cfg_foreach_enter)) {
    const std::uint32_t id = foreach_levels_.at(&op);
    ThreadLevel& made = program_.levels[id];
    made.kind = op.operand(0)->type().kind;
    made.lo = use(op.operand(0));
    made.hi = use(op.operand(1));
    made.step = use(op.operand(2));
    made.index = use(op.successor(0)->arg(0));
    emit(op, {.code = Code::foreach_, .a = id});
  } else if (op.is(cfg_reduce)) {
    ThreadLevel& ended = program_.levels[level()];
    const Block& after = *ended.op->successor(1);
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      LevelReduction made = reduction(op, i, *op.operand(i));
      made.contribution = use(op.operand(i));
      made.result = use(after.arg(i));
      ended.reductions.push_back(made);
    }
    emit(op, {.code = Code::end_child, .a = level()});
  } else if (op.is(cfg_fork)) {
    program_.levels[level()].has_fork = true;
    emit(op, {.code = Code::fork,
              .kind = op.operand(0)->type().kind,
              .dst = use(op.successor(0)->arg(0)),
              .a = use(op.operand(0)),
              .b = level()});
    emit_edge(op, 0);
  } else if (op.is(cfg_exit)) {
    emit(op, {.code = Code::end_thread, .a = level()});
  } else if (op.is(thread_return)) {
    emit(op, {.code = Code::end_child, .a = level()});
  } else {
    unknown(op);
  }
}

}  // namespace revet::interp
