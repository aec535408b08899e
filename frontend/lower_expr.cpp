/// Lowering of expressions.
#include "lower.hpp"
#include "revet/diagnostics.hpp"
#include "revet/scalar.hpp"

namespace revet {

using ast::ExprKind;
using ast::MemoryForm;
using ast::Operator;
using ast::SymbolKind;

Value* Lowering::expr(Expr& e) {
  builder_.set_loc(e.loc);
  if (e.constant) return builder_.constant_of_bits(e.type, e.bits);
  switch (e.kind) {
    case ExprKind::name: return current(e.symbol->slot);
    case ExprKind::chain: return chain(e);
    case ExprKind::unary: return unary(e);
    case ExprKind::conditional: return conditional(e);
    case ExprKind::assign: return assignment(e);
    case ExprKind::step: return step(e);
    case ExprKind::cast: {
      Value* v = expr(*e.operands[0]);
      builder_.set_loc(e.loc);
      return convert(v, e.type);
    }
    case ExprKind::call: return call(e);
    case ExprKind::index: {
      Value* k = index_of(*e.operands[1]);
      builder_.set_loc(e.loc);
      return load(*e.operands[0]->symbol, k);
    }
    case ExprKind::method: {
      Value* last = condition(*e.operands[1]);
      builder_.set_loc(e.loc);
      builder_.create(ops::mem_iter_next_last, {memory_value(*e.symbol), last});
      return nullptr;
    }
    case ExprKind::foreach: return foreach (*e.loop);
    case ExprKind::literal:
    case ExprKind::error: break;
  }
  throw InternalError("an expression with an error reached lowering");
}

Value* Lowering::convert(Value* v, Type type) {
  if (v->type() == type) return v;
  if (v->def() && v->def()->is(ops::arith_constant)) {
    return builder_.constant_of_bits(
        type, revet::convert(v->type().kind, type.kind, constant_bits(*v->def())));
  }
  return builder_.cast(v, type);
}

Value* Lowering::logical_not(Value* v) {
  return builder_.binary(ops::arith_xor, v, builder_.constant(type_i1, 1));
}

Value* Lowering::binary(Operator op, Value* a, Value* b) {
  switch (op) {
    case Operator::or_: return builder_.binary(ops::arith_or, a, b);
    case Operator::xor_: return builder_.binary(ops::arith_xor, a, b);
    case Operator::and_: return builder_.binary(ops::arith_and, a, b);
    case Operator::eq: return builder_.cmp("eq", a, b);
    case Operator::ne: return builder_.cmp("ne", a, b);
    case Operator::lt: return builder_.cmp("lt", a, b);
    case Operator::gt: return builder_.cmp("gt", a, b);
    case Operator::le: return builder_.cmp("le", a, b);
    case Operator::ge: return builder_.cmp("ge", a, b);
    case Operator::shl: return builder_.binary(ops::arith_shl, a, b);
    case Operator::shr: return builder_.binary(ops::arith_shr, a, b);
    case Operator::add: return builder_.binary(ops::arith_add, a, b);
    case Operator::sub: return builder_.binary(ops::arith_sub, a, b);
    case Operator::mul: return builder_.binary(ops::arith_mul, a, b);
    case Operator::div: return builder_.binary(ops::arith_div, a, b);
    default: return builder_.binary(ops::arith_rem, a, b);
  }
}

Value* Lowering::chain(Expr& e) {
  Value* left = expr(*e.operands[0]);
  for (std::size_t i = 0; i < e.ops.size(); ++i) {
    const ast::ChainOp& o = e.ops[i];
    Expr& right = *e.operands[i + 1];
    if (o.op == Operator::land || o.op == Operator::lor) {
      builder_.set_loc(o.loc);
      left = short_circuit(o.op, convert(left, type_i1), right);
      continue;
    }
    Value* b = expr(right);
    builder_.set_loc(o.loc);
    Value* a = convert(left, o.operands);
    left = binary(o.op, a, convert(b, o.operands));
  }
  return left;
}

Value* Lowering::short_circuit(Operator op, Value* left, Expr& right) {
  bool is_and = op == Operator::land;
  Loc loc = builder_.loc();
  if (right.pure) {
    Value* b = condition(right);
    builder_.set_loc(loc);
    return builder_.binary(is_and ? ops::arith_and : ops::arith_or, left, b);
  }
  Op* op_if = builder_.create(ops::thread_if, {left}, {}, {}, 2);
  auto evaluate = [&](Arm& a) {
    a.value = condition(right);
    return End::next;
  };
  auto known = [&](Arm& a) {
    a.value = builder_.constant(type_i1, is_and ? 0 : 1);
    return End::next;
  };
  Arm then_arm = is_and ? arm(op_if->region(0), {}, evaluate) : arm(op_if->region(0), {}, known);
  builder_.set_loc(loc);
  Arm else_arm = is_and ? arm(op_if->region(1), {}, known) : arm(op_if->region(1), {}, evaluate);
  builder_.set_loc(loc);
  return merge(*op_if, then_arm, else_arm);
}

Value* Lowering::unary(Expr& e) {
  Expr& x = *e.operands[0];
  if (e.op == Operator::deref) {
    Value* v = builder_.create(ops::mem_iter_load, {memory_value(*e.symbol)}, {e.type})->result();
    if (x.kind == ExprKind::step) step(x);
    return v;
  }
  Value* v = expr(x);
  builder_.set_loc(e.op_loc);
  v = convert(v, e.type);
  switch (e.op) {
    case Operator::neg: return builder_.unary(ops::arith_neg, v);
    case Operator::compl_:
      return builder_.binary(ops::arith_xor, v, builder_.constant_of_bits(e.type, ~0u));
    case Operator::lnot: return logical_not(v);
    default: return v;
  }
}

Value* Lowering::conditional(Expr& e) {
  Expr& yes = *e.operands[1];
  Expr& no = *e.operands[2];
  Value* c = condition(*e.operands[0]);
  if (yes.pure && no.pure) {
    Value* a = as(yes, e.type);
    Value* b = as(no, e.type);
    builder_.set_loc(e.op_loc);
    return builder_.select(c, a, b);
  }
  builder_.set_loc(e.op_loc);
  Op* op = builder_.create(ops::thread_if, {c}, {}, {}, 2);
  auto evaluate = [&](Expr& x) {
    return [&](Arm& a) {
      a.value = as(x, e.type);
      return End::next;
    };
  };
  Arm then_arm = arm(op->region(0), {}, evaluate(yes));
  Arm else_arm = arm(op->region(1), {}, evaluate(no));
  builder_.set_loc(e.op_loc);
  return merge(*op, then_arm, else_arm);
}

// --- assignment and memory ----------------------------------------------------------------------

Value* Lowering::index_of(Expr& e) { return as(e, e.type == type_u32 ? type_u32 : type_i32); }

Value* Lowering::load(const ast::Symbol& memory, Value* index) {
  const OpInfo& info = memory.form == MemoryForm::dram   ? ops::mem_dram_load
                       : memory.form == MemoryForm::sram ? ops::mem_sram_load
                       : ast::is_view(memory.form)       ? ops::mem_view_load
                                                         : ops::mem_iter_peek;
  return builder_.create(info, {memory_value(memory), index}, {memory.element})->result();
}

void Lowering::store(const ast::Symbol& memory, Value* index, Value* value) {
  const OpInfo& info = memory.form == MemoryForm::dram   ? ops::mem_dram_store
                       : memory.form == MemoryForm::sram ? ops::mem_sram_store
                                                         : ops::mem_view_store;
  builder_.create(info, {memory_value(memory), index, value});
}

Value* Lowering::assignment(Expr& e) {
  Expr& left = *e.operands[0];
  Expr& right = *e.operands[1];
  if (left.kind == ExprKind::name && left.type.is_memory()) {  // it += k
    Value* k = as(right, type_u32);
    builder_.set_loc(e.loc);
    builder_.create(ops::mem_iter_next, {memory_value(*e.symbol), k});
    return nullptr;
  }
  Value* k = left.kind == ExprKind::index ? index_of(*left.operands[1]) : nullptr;
  const ast::Symbol* memory = left.kind == ExprKind::index ? left.operands[0]->symbol : nullptr;
  Value* v = expr(right);
  if (e.op != Operator::none) {
    builder_.set_loc(left.loc);
    Value* old = k ? load(*memory, k) : current(left.symbol->slot);
    builder_.set_loc(e.op_loc);
    old = convert(old, e.operation);
    v = binary(e.op, old, convert(v, e.operation));
  }
  builder_.set_loc(e.op_loc);
  v = convert(v, e.type);
  if (k) {
    builder_.set_loc(left.loc);
    store(*memory, k, v);
  } else if (left.kind == ExprKind::unary) {
    builder_.set_loc(left.loc);
    builder_.create(ops::mem_iter_store, {memory_value(*left.symbol), v});
  } else {
    assign(left.symbol->slot, v);
  }
  return v;
}

Value* Lowering::step(Expr& e) {
  Expr& x = *e.operands[0];
  if (x.type.is_memory()) {  // it++
    builder_.set_loc(e.loc);
    Value* one = builder_.constant(type_u32, 1);
    builder_.create(ops::mem_iter_next, {memory_value(*e.symbol), one});
    return nullptr;
  }
  Value* k = x.kind == ExprKind::index ? index_of(*x.operands[1]) : nullptr;
  builder_.set_loc(x.loc);
  Value* old = k ? load(*x.operands[0]->symbol, k) : current(x.symbol->slot);
  builder_.set_loc(e.op_loc);
  Value* one = convert(builder_.constant(type_i32, 1), e.operation);
  Value* updated = convert(binary(e.op, convert(old, e.operation), one), e.type);
  if (k) {
    builder_.set_loc(x.loc);
    store(*x.operands[0]->symbol, k, updated);
  } else {
    assign(x.symbol->slot, updated);
  }
  return e.prefix ? updated : old;
}

}  // namespace revet
