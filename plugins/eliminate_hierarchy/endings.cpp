#include "endings.hpp"

#include "revet/diagnostics.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

bool may_end(const Op& op) {
  if (op.is(ops::thread_exit)) return true;
  if (op.is(ops::thread_fork)) return true;
  if (op.is(ops::thread_foreach)) return false;
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (const Op& inner : *block)
        if (may_end(inner)) return true;
  return false;
}

/// Values for a path that nobody takes them from.
std::vector<Value*> zeros(Builder& b, const std::vector<Type>& types) {
  std::vector<Value*> out;
  for (const Type t : types) {
    if (!t.is_scalar()) throw InternalError("a value of type " + t.str() + " of an if or while");
    out.push_back(b.constant_of_bits(t, 0));
  }
  return out;
}

std::vector<Type> types_of(std::span<Value* const> values) {
  std::vector<Type> out;
  for (const Value* v : values) out.push_back(v->type());
  return out;
}

std::vector<Type> result_types(const Op& op) {
  std::vector<Type> out;
  for (const auto& r : op.results()) out.push_back(r->type());
  return out;
}

void yield(Builder& b, std::vector<Value*> values, Value* ended) {
  values.push_back(ended);
  b.create(ops::thread_yield, values);
}

}  // namespace

void Endings::rewrite(Block& block, const std::vector<Type>& types) {
  for (Op *op = block.first(), *next; op; op = next) {
    next = op->next();
    if (op->info().terminator) {
      Builder b = Builder::before(*op);
      const bool ends = op->is(ops::thread_exit);
      const std::vector<Value*> values(op->operands().begin(), op->operands().end());
      yield(b, ends ? zeros(b, types) : values, b.constant(type_i1, ends ? 1 : 0));
      op->erase();
      return;
    }
    if (!may_end(*op)) continue;
    Value* const ended = rewrite_op(*op);
    if (!ended) continue;
    guard_rest(*next, ended, types);
    return;
  }
}

/// Puts the ops from `first` on, up to the terminator, where the thread has not ended.
void Endings::guard_rest(Op& first, Value* ended, const std::vector<Type>& types) {
  Block& block = *first.block();
  std::vector<Type> all = types;
  all.push_back(type_i1);
  Builder b = Builder::before(first);
  Op* const guard = b.create(ops::thread_if, {&ended, 1}, all, {}, 2);
  Builder over(guard->region(0).add_block());
  over.set_loc(first.loc());
  yield(over, zeros(over, types), over.constant(type_i1, 1));
  Block& rest = guard->region(1).add_block();
  while (guard->next()) rest.insert(block.take(*guard->next()));
  Builder end(block);
  end.set_loc(rest.last()->loc());
  rewrite(rest, types);
  std::vector<Value*> results;
  for (const auto& r : guard->results()) results.push_back(r.get());
  end.create(ops::thread_yield, results);
}

/// The i1 that says whether the op has ended the thread; null where it has not.
Value* Endings::rewrite_op(Op& op) {
  if (op.is(ops::thread_fork)) return rewrite_fork(op);
  if (op.is(ops::thread_while)) {
    rewrite_while(op);
  } else {
    const std::vector<Type> types = result_types(op);
    for (unsigned r = 0; r < op.num_regions(); ++r) rewrite(op.body(r), types);
    op.add_result(type_i1, "ended");
  }
  return op.result(op.num_results() - 1);
}

void Endings::rewrite_while(Op& op) {
  Builder b = Builder::before(op);
  const std::vector<Type> carried = types_of(op.operands());
  const std::vector<Type> passed = result_types(op);
  op.add_operand(b.constant(type_i1, 0));
  op.add_result(type_i1, "ended");

  // Where the body has ended the thread, the condition is not looked at.
  Block& before = op.body(0);
  Value* const over = before.add_arg(type_i1, "ended");
  Op* const condition = before.last();
  std::vector<Type> types = passed;
  types.insert(types.begin(), type_i1);
  if (condition->is(ops::thread_condition)) {
    Builder end = Builder::before(*condition);
    end.create(ops::thread_yield, condition->operands());
    condition->erase();
  }
  guard_rest(*before.first(), over, types);
  Op* const end = before.last();
  Builder(before).create(ops::thread_condition, end->operands())->set_loc(end->loc());
  end->erase();

  op.body(1).add_arg(type_i1, "ended");
  rewrite(op.body(1), carried);
}

Value* Endings::rewrite_fork(Op& op) {
  Builder b = Builder::before(op);
  Value* const n = op.operand(0);
  const Op* const def = n->def();
  if (def && def->is(ops::arith_constant)) {
    const auto count = static_cast<std::int32_t>(constant_bits(*def));
    if (count > 0 || (count != 0 && n->type() == type_u32)) {
      forks_(b, n);
      return nullptr;
    }
  }
  Value* const goes_on = b.cmp("gt", n, b.constant(n->type(), 0));
  Op* const made = b.create(ops::thread_if, {goes_on}, {n->type(), type_i1}, {}, 2);
  op.result()->replace_all_uses_with(made->result(0));
  made->result(0)->set_name(op.result()->name());
  Block& forked = made->region(0).add_block();
  Builder inside(forked);
  inside.set_loc(op.loc());
  forks_(inside, n);
  Op* const fork = forked.insert(op.block()->take(op));
  yield(inside, {fork->result()}, inside.constant(type_i1, 0));
  Builder none(made->region(1).add_block());
  none.set_loc(fork->loc());
  yield(none, zeros(none, {n->type()}), none.constant(type_i1, 1));
  return made->result(1);
}

}  // namespace revet
