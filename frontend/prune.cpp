/// Removes merged and carried values that turned out not to be live: lowering makes a result of
/// every variable that a region assigns.
///
/// Ops are visited last to first, an op before its regions, so that each sees all of its uses gone.
/// A loop's value that only feeds itself is left to the passes.
#include "prune.hpp"

#include "revet/ops.hpp"

namespace revet {
namespace {

void erase_yielded(Op& op, unsigned i) {
  for (unsigned r = 0; r < op.num_regions(); ++r) {
    Op* end = op.body(r).terminator();
    if (end && end->is(ops::thread_yield)) end->erase_operand(i);
  }
}

void prune_results(Op& op) {
  for (unsigned i = op.num_results(); i-- > 0;) {
    if (!op.result(i)->unused()) continue;
    op.erase_result(i);
    erase_yielded(op, i);
  }
}

void prune_while(Op& op) {
  Block& before = op.body(0);
  Block& body = op.body(1);
  Op* condition = before.terminator();
  Op* yield = body.terminator();
  for (unsigned i = op.num_results(); i-- > 0;) {
    if (!op.result(i)->unused() || !body.arg(i)->unused()) continue;
    bool conditional = condition && condition->is(ops::thread_condition);
    bool dead = true;
    for (const Use& u : before.arg(i)->uses()) {
      dead = dead && conditional && u.op == condition && u.index == i + 1;
    }
    if (!dead) continue;
    if (conditional) condition->erase_operand(i + 1);
    if (yield && yield->is(ops::thread_yield)) yield->erase_operand(i);
    op.erase_result(i);
    op.erase_operand(i);
    before.erase_arg(i);
    body.erase_arg(i);
  }
}

bool is_dead_arith(const Op& op) {
  return op.name().starts_with("arith.") && op.num_results() == 1 && op.result()->unused();
}

}  // namespace

void prune(Block& block) {
  for (Op *op = block.last(), *previous; op; op = previous) {
    previous = op->prev();
    if (is_dead_arith(*op)) {
      op->erase();
      continue;
    }
    if (op->is(ops::thread_if) || op->is(ops::thread_replicate)) prune_results(*op);
    if (op->is(ops::thread_while)) prune_while(*op);
    // The body of a while before its condition: the body's uses of `before` are its arguments.
    for (unsigned r = op->num_regions(); r-- > 0;) prune(op->body(r));
  }
}

}  // namespace revet
