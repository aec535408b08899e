/// Lowering of calls, built-ins and atomics.
#include "lower.hpp"

namespace revet {

using ast::Builtin;

Value* Lowering::call(Expr& e) {
  if (e.builtin != Builtin::none) return builtin(e);
  const ast::Function& f = *e.symbol->function;
  std::vector<Value*> args;
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    args.push_back(as(*e.operands[i], f.parameters[i].type));
  }
  builder_.set_loc(e.loc);
  std::vector<Type> results;
  if (f.result != type_void) results.push_back(f.result);
  Op* op = builder_.create(ops::thread_call, args, results, {{"callee", Attr(f.name)}});
  return results.empty() ? nullptr : op->result();
}

Value* Lowering::builtin(Expr& e) {
  if (e.builtin >= Builtin::atomic_add && e.builtin <= Builtin::atomic_cas) return atomic(e);
  std::vector<Value*> x;
  for (Expr* operand : e.operands) {
    bool chooses = e.builtin == Builtin::select && operand == e.operands[0];
    x.push_back(as(*operand, chooses ? type_i1 : e.operation));
  }
  builder_.set_loc(e.loc);
  switch (e.builtin) {
    case Builtin::min: return builder_.binary(ops::arith_min, x[0], x[1]);
    case Builtin::max: return builder_.binary(ops::arith_max, x[0], x[1]);
    case Builtin::clamp:
      return builder_.binary(ops::arith_min, builder_.binary(ops::arith_max, x[0], x[1]), x[2]);
    case Builtin::select: return builder_.select(x[0], x[1], x[2]);
    case Builtin::abs: return e.operation == type_u32 ? x[0] : builder_.unary(ops::arith_abs, x[0]);
    case Builtin::popcount: return builder_.unary(ops::arith_popcount, x[0]);
    case Builtin::clz: return builder_.unary(ops::arith_clz, x[0]);
    case Builtin::ctz: return builder_.unary(ops::arith_ctz, x[0]);
    case Builtin::rotl: return builder_.binary(ops::arith_rotl, x[0], x[1]);
    case Builtin::rotr: return builder_.binary(ops::arith_rotr, x[0], x[1]);
    case Builtin::mulhi: return builder_.binary(ops::arith_mulhi, x[0], x[1]);
    default: return builder_.create(ops::thread_fork, {x[0]}, {e.operation})->result();
  }
}

Value* Lowering::atomic(Expr& e) {
  Expr& element = *e.operands[0];
  const ast::Symbol& memory = *element.operands[0]->symbol;
  std::vector<Value*> operands{memory_value(memory), index_of(*element.operands[1])};
  for (std::size_t i = 1; i < e.operands.size(); ++i)
    operands.push_back(as(*e.operands[i], e.operation));
  builder_.set_loc(e.loc);
  const OpInfo& info =
      memory.form == ast::MemoryForm::dram ? ops::mem_dram_atomic : ops::mem_sram_atomic;
  std::string_view op = e.name.substr(std::string_view("atomic_").size());
  const Type results[] = {e.operation};
  return builder_.create(info, operands, results, {{"op", Attr(op)}})->result();
}

}  // namespace revet
