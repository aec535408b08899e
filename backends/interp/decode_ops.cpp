// Arithmetic and memory operations: one instruction each, or none.
#include "decoder.hpp"

namespace revet::interp {

// --- arithmetic ---

void Decoder::decode_arith(const Op& op) {
  if (op.is(ops::arith_constant)) {
    slots_[op.result()] = constant(constant_bits(op));
    return;
  }
  if (op.info().name == "arith.cast") return decode_cast(op);
  if (op.is(ops::arith_select)) {
    const Slot condition = use(op.operand(0));
    const Slot yes = use(op.operand(1));
    const Slot no = use(op.operand(2));
    emit(op, {.code = Code::select, .dst = define(op.result()), .a = condition, .b = yes, .c = no});
    return;
  }
  bool known = false;
  for (const OpInfo* info :
       {&ops::arith_add, &ops::arith_sub, &ops::arith_mul,      &ops::arith_div,  &ops::arith_rem,
        &ops::arith_and, &ops::arith_or,  &ops::arith_xor,      &ops::arith_shl,  &ops::arith_shr,
        &ops::arith_min, &ops::arith_max, &ops::arith_mulhi,    &ops::arith_rotl, &ops::arith_rotr,
        &ops::arith_neg, &ops::arith_abs, &ops::arith_popcount, &ops::arith_clz,  &ops::arith_ctz,
        &ops::arith_cmp})
    known |= op.is(*info);
  if (!known) unknown(op);

  const Scalar scalar = scalar_of(op);
  const Kind kind = op.operand(0)->type().kind;
  Instr made{.code = Code::unary, .kind = kind, .aux = static_cast<std::uint8_t>(scalar)};
  made.a = use(op.operand(0));
  if (op.num_operands() > 1) {
    made.b = use(op.operand(1));
    made.code = binary_code(scalar, kind);
    const bool mirrored = scalar == Scalar::gt || scalar == Scalar::ge;
    if (made.code != Code::binary && mirrored) std::swap(made.a, made.b);
  }
  made.dst = define(op.result());
  emit(op, made);
}

Code Decoder::binary_code(Scalar op, Kind kind) {
  if (kind == Kind::f32) {
    if (op == Scalar::add) return Code::fadd;
    if (op == Scalar::sub) return Code::fsub;
    return op == Scalar::mul ? Code::fmul : Code::binary;
  }
  const bool is_signed = Type{kind}.is_signed();
  switch (op) {  // what keeps extended contents extended
    case Scalar::and_: return Code::and_;
    case Scalar::or_: return Code::or_;
    case Scalar::xor_: return Code::xor_;
    case Scalar::eq: return Code::eq;
    case Scalar::ne: return Code::ne;
    case Scalar::lt:
    case Scalar::gt: return is_signed ? Code::lt_s : Code::lt_u;
    case Scalar::le:
    case Scalar::ge: return is_signed ? Code::le_s : Code::le_u;
    case Scalar::shr: return is_signed ? Code::shr_s : Code::shr_u;
    default: break;
  }
  if (kind != Kind::i32 && kind != Kind::u32) return Code::binary;
  switch (op) {
    case Scalar::add: return Code::add;
    case Scalar::sub: return Code::sub;
    case Scalar::mul: return Code::mul;
    case Scalar::shl: return Code::shl;
    default: return Code::binary;
  }
}

void Decoder::decode_cast(const Op& op) {
  const Kind from = op.operand(0)->type().kind;
  const Kind to = op.result()->type().kind;
  const Slot source = use(op.operand(0));
  const bool keeps = from == to || (from != Kind::f32 && (to == Kind::i32 || to == Kind::u32));
  if (keeps) {
    slots_[op.result()] = source;
  } else if (from == Kind::f32 || to == Kind::f32 || to == Kind::i1) {
    emit(op, {.code = Code::cast,
              .kind = from,
              .aux = static_cast<std::uint8_t>(to),
              .dst = define(op.result()),
              .a = source});
  } else {
    emit(op, {.code = Code::wrap, .kind = to, .dst = define(op.result()), .a = source});
  }
}

// --- memory ---

/// True if the opened object is used at another level than its own, or in a way not known here.
bool Decoder::is_shared(const Op& open) const {
  const auto thread_of = [&](const Op& op) -> const Op* {
    if (const auto found = block_levels_.find(op.block()); found != block_levels_.end())
      return program_.levels[found->second].op;
    const Op* around = op.parent_op();
    while (around && !around->is(ops::thread_foreach)) around = around->parent_op();
    return around;
  };
  for (const Use& use : open.result()->uses()) {
    const bool access = std::string_view(use.op->name()).starts_with("mem.");
    if (!access || thread_of(*use.op) != thread_of(open)) return true;
  }
  return false;
}

void Decoder::decode_open(const Op& op, Code code, Mode mode) {
  const Type type = op.result()->type();
  const bool in_array = mode != Mode::sram;
  Instr made{.code = code, .a = static_cast<std::uint32_t>(program_.sites.size())};
  program_.sites.push_back({&op, mode, type.element, type.size,
                            in_array ? array(op.operand(0)) : none, level(), is_shared(op)});
  if (in_array) {
    const bool reads = mode == Mode::read_view || mode == Mode::read_it || mode == Mode::peek_it;
    if (!reads) program_.written[program_.sites.back().array] = true;
    made.b = use(op.operand(1));
    if (op.operand(1)->type().is_signed()) made.flags |= Instr::signed_index;
  }
  if (code == Code::open_view && op.num_operands() > 2) {
    made.c = use(op.operand(2));
    if (op.operand(2)->type().is_signed()) made.flags |= Instr::signed_valid;
  }
  if (const Value* predicate = ops::predicate(op)) made.pred = use(predicate);
  made.dst = define(op.result());
  emit(op, made);
}

/// An access to an element: (memory, index, values.., predicate).
void Decoder::decode_element(const Op& op, Code load, Code store, Code atomic) {
  const Value* memory = op.operand(0);
  Instr made{.code = load, .kind = memory->type().element};
  made.a = memory->type().kind == Kind::dram ? array(memory) : use(memory);
  made.b = use(op.operand(1));
  if (op.operand(1)->type().is_signed()) made.flags |= Instr::signed_index;
  const bool takes_pointer = op.is(ops::mem_pointer_load);
  const bool writes = (op.num_results() == 0 && !takes_pointer) || op.has_attr("op");
  if (writes && memory->type().kind == Kind::dram) program_.written[made.a] = true;
  if (op.has_attr("op")) {
    made.code = atomic;
    const Atomic kind = atomic_of(op);
    made.aux = static_cast<std::uint8_t>(kind);
    made.c = use(op.operand(2));
    if (kind == Atomic::cas) made.d = use(op.operand(3));
    if (op.flag("join")) made.flags |= Instr::join;
  } else if (takes_pointer) {
    made.dst = use(op.operand(2));
  } else if (op.num_results() == 0) {
    made.code = store;
    made.c = use(op.operand(2));
  }
  if (const Value* predicate = ops::predicate(op)) made.pred = use(predicate);
  if (op.num_results() != 0) made.dst = define(op.result());
  emit(op, made);
}

void Decoder::decode_memory(const Op& op) {
  using namespace ops;
  if (op.is(mem_dram_load) || op.is(mem_dram_store) || op.is(mem_dram_atomic))
    return decode_element(op, Code::dram_load, Code::dram_store, Code::dram_atomic);
  if (op.is(mem_sram_load) || op.is(mem_sram_store) || op.is(mem_sram_atomic) ||
      op.is(mem_pointer_store) || op.is(mem_pointer_load))
    return decode_element(op, Code::sram_load, Code::sram_store, Code::sram_atomic);
  if (op.is(mem_view_load) || op.is(mem_view_store))
    return decode_element(op, Code::view_load, Code::view_store, Code::view_load);
  if (op.is(mem_dram_size)) {
    for (unsigned i = 0; i < 2; ++i)
      emit(op, {.code = Code::dram_size,
                .aux = static_cast<std::uint8_t>(i),
                .dst = define(op.result(i)),
                .a = array(op.operand(0))});
    return;
  }
  if (op.is(mem_bulk_load) || op.is(mem_bulk_store)) {
    const bool loads = op.is(mem_bulk_load);
    Instr made{.code = loads ? Code::bulk_load : Code::bulk_store};
    made.a = use(op.operand(0));
    made.dst = array(op.operand(1));
    made.b = use(op.operand(2));
    made.c = use(op.operand(3));
    made.d = use(op.operand(4));
    if (const Value* predicate = ops::predicate(op)) made.pred = use(predicate);
    if (!loads) program_.written[made.dst] = true;
    emit(op, made);
    return;
  }
  if (op.is(mem_sram_alloc)) return decode_open(op, Code::open_sram, Mode::sram);
  if (op.is(mem_read_view)) return decode_open(op, Code::open_view, Mode::read_view);
  if (op.is(mem_write_view)) return decode_open(op, Code::open_view, Mode::write_view);
  if (op.is(mem_modify_view)) return decode_open(op, Code::open_view, Mode::modify_view);
  if (op.is(mem_read_it)) return decode_open(op, Code::open_iter, Mode::read_it);
  if (op.is(mem_peek_read_it)) return decode_open(op, Code::open_iter, Mode::peek_it);
  if (op.is(mem_write_it)) return decode_open(op, Code::open_iter, Mode::write_it);
  if (op.is(mem_manual_write_it)) return decode_open(op, Code::open_iter, Mode::manual_it);

  const bool closes = closes_scope(op);
  Instr made{.code = Code::close};
  if (op.is(mem_iter_load))
    made.code = Code::iter_load;
  else if (op.is(mem_iter_peek))
    made.code = Code::iter_peek;
  else if (op.is(mem_iter_store))
    made.code = Code::iter_store;
  else if (op.is(mem_iter_next))
    made.code = Code::iter_next;
  else if (op.is(mem_iter_next_last))
    made.code = Code::iter_next_last;
  else if (!closes)
    unknown(op);

  made.kind = op.operand(0)->type().element;
  made.a = use(op.operand(0));
  if (const Value* predicate = ops::predicate(op)) made.pred = use(predicate);
  // Buffers that share a pointer are freed together.
  for (unsigned i = 1; op.is(mem_sram_free) && i < op.num_operands(); ++i)
    if (op.operand(i)->type().kind == Kind::sram) {
      Instr another = made;
      another.a = use(op.operand(i));
      emit(op, another);
    }
  if (op.is(mem_iter_store)) {
    made.c = use(op.operand(1));
  } else if (!closes && !op.is(mem_iter_load)) {
    made.b = use(op.operand(1));
    if (op.operand(1)->type().is_signed()) made.flags |= Instr::signed_index;
  }
  if (op.num_results() != 0) made.dst = define(op.result());
  emit(op, made);
}

}  // namespace revet::interp
