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

std::vector<std::uint32_t> Program::initial_lanes() const {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t bits : initial_) out.insert(out.end(), 16, bits);
  return out;
}

namespace {

using Lane = std::uint32_t;

/// Fixed at 16 lanes, which compilers make into vector code.
template <typename F>
bool each(Lane* out, const Lane* a, const Lane* b, F f) {
  for (unsigned k = 0; k < 16; ++k) out[k] = f(a[k], b[k]);
  return true;
}

std::int32_t as_signed(Lane x) { return static_cast<std::int32_t>(x); }

/// The operations on 32-bit integers that are frequent; false for others.
bool run_word(Scalar op, bool is_signed, Lane* out, const Lane* a, const Lane* b) {
  const auto shift = [](Lane x) { return x & 31u; };
  switch (op) {
    case Scalar::add: return each(out, a, b, [](Lane x, Lane y) { return x + y; });
    case Scalar::sub: return each(out, a, b, [](Lane x, Lane y) { return x - y; });
    case Scalar::mul: return each(out, a, b, [](Lane x, Lane y) { return x * y; });
    case Scalar::and_: return each(out, a, b, [](Lane x, Lane y) { return x & y; });
    case Scalar::or_: return each(out, a, b, [](Lane x, Lane y) { return x | y; });
    case Scalar::xor_: return each(out, a, b, [](Lane x, Lane y) { return x ^ y; });
    case Scalar::eq: return each(out, a, b, [](Lane x, Lane y) { return Lane{x == y}; });
    case Scalar::ne: return each(out, a, b, [](Lane x, Lane y) { return Lane{x != y}; });
    case Scalar::shl: return each(out, a, b, [&](Lane x, Lane y) { return x << shift(y); });
    case Scalar::rotl:
      return each(out, a, b,
                  [&](Lane x, Lane y) { return x << shift(y) | x >> shift(32 - shift(y)); });
    case Scalar::rotr:
      return each(out, a, b,
                  [&](Lane x, Lane y) { return x >> shift(y) | x << shift(32 - shift(y)); });
    default: break;
  }
  if (is_signed) {
    switch (op) {
      case Scalar::shr:
        return each(out, a, b,
                    [&](Lane x, Lane y) { return static_cast<Lane>(as_signed(x) >> shift(y)); });
      case Scalar::lt:
        return each(out, a, b, [](Lane x, Lane y) { return Lane{as_signed(x) < as_signed(y)}; });
      case Scalar::le:
        return each(out, a, b, [](Lane x, Lane y) { return Lane{as_signed(x) <= as_signed(y)}; });
      case Scalar::gt:
        return each(out, a, b, [](Lane x, Lane y) { return Lane{as_signed(x) > as_signed(y)}; });
      case Scalar::ge:
        return each(out, a, b, [](Lane x, Lane y) { return Lane{as_signed(x) >= as_signed(y)}; });
      case Scalar::min:
        return each(out, a, b, [](Lane x, Lane y) { return as_signed(x) < as_signed(y) ? x : y; });
      case Scalar::max:
        return each(out, a, b, [](Lane x, Lane y) { return as_signed(x) > as_signed(y) ? x : y; });
      default: return false;
    }
  }
  switch (op) {
    case Scalar::shr: return each(out, a, b, [&](Lane x, Lane y) { return x >> shift(y); });
    case Scalar::lt: return each(out, a, b, [](Lane x, Lane y) { return Lane{x < y}; });
    case Scalar::le: return each(out, a, b, [](Lane x, Lane y) { return Lane{x <= y}; });
    case Scalar::gt: return each(out, a, b, [](Lane x, Lane y) { return Lane{x > y}; });
    case Scalar::ge: return each(out, a, b, [](Lane x, Lane y) { return Lane{x >= y}; });
    case Scalar::min: return each(out, a, b, [](Lane x, Lane y) { return x < y ? x : y; });
    case Scalar::max: return each(out, a, b, [](Lane x, Lane y) { return x > y ? x : y; });
    default: return false;
  }
}

}  // namespace

void Program::run_lanes(std::uint32_t* registers, unsigned lanes) const {
  const auto of = [&](Register r) { return registers + std::size_t{r} * 16; };
  for (const Instruction& i : code_) {
    Lane* const out = of(i.result);
    const Lane* const a = of(i.a);
    const Lane* const b = of(i.b);
    switch (i.shape) {
      case Shape::binary:
        if ((i.kind == Kind::i32 || i.kind == Kind::u32 || i.kind == Kind::ptr) &&
            run_word(i.op, i.kind == Kind::i32, out, a, b))
          break;
        for (unsigned k = 0; k < lanes; ++k) out[k] = apply(i.op, i.kind, a[k], b[k]);
        break;
      case Shape::unary:
        for (unsigned k = 0; k < lanes; ++k) out[k] = apply(i.op, i.kind, a[k]);
        break;
      case Shape::select: {
        const Lane* const c = of(i.c);
        for (unsigned k = 0; k < 16; ++k) out[k] = a[k] != 0 ? b[k] : c[k];
        break;
      }
      case Shape::cast:
        for (unsigned k = 0; k < lanes; ++k) out[k] = convert(i.kind, i.to, a[k]);
        break;
      case Shape::extract:
        for (unsigned k = 0; k < 16; ++k) out[k] = extract_part(i.to, a[k], i.c);
        break;
      case Shape::insert:
        for (unsigned k = 0; k < 16; ++k) out[k] = insert_part(i.kind, a[k], b[k], i.c);
        break;
    }
  }
}

}  // namespace revet::sim
