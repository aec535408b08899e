#include "revet/sim/program.hpp"

#include "revet/diagnostics.hpp"

namespace revet::sim {
namespace {

bool is_comparison(Scalar op) { return op >= Scalar::eq && op <= Scalar::ge; }
bool counts_bits(Scalar op) { return op >= Scalar::popcount && op <= Scalar::ctz; }
bool is_shift(Scalar op) {
  return op == Scalar::shl || op == Scalar::shr || op == Scalar::rotl || op == Scalar::rotr;
}

}  // namespace

Program::Program(std::vector<Kind> inputs)
    : inputs_(inputs.size()), kinds_(std::move(inputs)), initial_(inputs_, 0) {}

Program::Register Program::add_register(Kind kind, std::uint32_t bits) {
  if (kinds_.size() >= no_register) throw InternalError("a context has too many registers");
  kinds_.push_back(kind);
  initial_.push_back(bits);
  return static_cast<Register>(kinds_.size() - 1);
}

Program::Register Program::add(Instruction instruction) {
  instruction.result = add_register(instruction.to, 0);
  code_.push_back(instruction);
  return instruction.result;
}

Program::Register Program::constant(Kind kind, std::uint32_t bits) {
  return add_register(kind, wrap(kind, bits));
}

Program::Register Program::op(Scalar op, Register a, Register b) {
  const Kind k = kind(a);
  if (k != kind(b) && !is_shift(op))
    throw InternalError("an operation of a context has operands of kinds " + Type{k}.str() +
                        " and " + Type{kind(b)}.str());
  return add({Shape::binary, op, k, is_comparison(op) ? Kind::i1 : k, 0, a, b, 0});
}

Program::Register Program::op(Scalar op, Register a) {
  return add({Shape::unary, op, kind(a), counts_bits(op) ? Kind::i32 : kind(a), 0, a, 0, 0});
}

Program::Register Program::select(Register condition, Register a, Register b) {
  if (kind(condition) != Kind::i1 || kind(a) != kind(b))
    throw InternalError("a select of a context has operands of the wrong kinds");
  return add({Shape::select, Scalar::select, kind(a), kind(a), 0, condition, a, b});
}

Program::Register Program::cast(Kind to, Register a) {
  return add({Shape::cast, Scalar::cast, kind(a), to, 0, a, 0, 0});
}

Program::Register Program::extract(Kind to, Register word, unsigned lo) {
  return add({Shape::extract, Scalar::cast, kind(word), to, 0, word, 0, static_cast<Register>(lo)});
}

Program::Register Program::insert(Register word, Register value, unsigned lo) {
  return add({Shape::insert, Scalar::or_, kind(value), kind(word), 0, word, value,
              static_cast<Register>(lo)});
}

void Program::run(std::uint32_t* r) const {
  for (const Instruction& i : code_) {
    switch (i.shape) {
      case Shape::binary: r[i.result] = apply(i.op, i.kind, r[i.a], r[i.b]); break;
      case Shape::unary: r[i.result] = apply(i.op, i.kind, r[i.a]); break;
      case Shape::select: r[i.result] = r[i.a] != 0 ? r[i.b] : r[i.c]; break;
      case Shape::cast: r[i.result] = convert(i.kind, i.to, r[i.a]); break;
      case Shape::extract: r[i.result] = extract_part(i.to, r[i.a], i.c); break;
      case Shape::insert: r[i.result] = insert_part(i.kind, r[i.a], r[i.b], i.c); break;
    }
  }
}

}  // namespace revet::sim
