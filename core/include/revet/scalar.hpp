/// What every `arith` op computes, on 32-bit register contents. The interpreter, the constant
/// folder and the simulator all call this; emitted code calls the equal functions of the runtime.
///
/// A value of an 8- or 16-bit type is held sign- or zero-extended to 32 bits, i1 as 0 or 1, f32 as
/// its bits. No operation traps and none has an undefined result (docs/language.md, "Arithmetic").
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "revet/type.hpp"

namespace revet {

class Op;

enum class Scalar : std::uint8_t {
  add,
  sub,
  mul,
  div,
  rem,
  and_,
  or_,
  xor_,
  shl,
  shr,
  min,
  max,
  mulhi,
  rotl,
  rotr,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  neg,
  abs,
  popcount,
  clz,
  ctz,
  select,
  cast,
};

/// The register content `bits` wrapped to type `k`: truncated, then extended.
constexpr std::uint32_t wrap(Kind k, std::uint32_t bits) {
  switch (k) {
    case Kind::i1: return bits & 1u;
    case Kind::i8: return static_cast<std::uint32_t>(static_cast<std::int8_t>(bits));
    case Kind::i16: return static_cast<std::uint32_t>(static_cast<std::int16_t>(bits));
    case Kind::u8: return bits & 0xFFu;
    case Kind::u16: return bits & 0xFFFFu;
    default: return bits;
  }
}

/// Bits that a value of an 8- or 16-bit type or a bool takes in a word; 0 for other types.
constexpr unsigned part_bits(Kind k) {
  if (k == Kind::i1 || k == Kind::i8 || k == Kind::u8) return 8;
  return k == Kind::i16 || k == Kind::u16 ? 16 : 0;
}
/// The bits of a word that hold a part of type `k` at bit `lo`.
constexpr std::uint32_t part_mask(Kind k, unsigned lo) { return ((1u << part_bits(k)) - 1u) << lo; }
constexpr std::uint32_t extract_part(Kind k, std::uint32_t word, unsigned lo) {
  return wrap(k, word >> lo);
}
constexpr std::uint32_t insert_part(Kind k, std::uint32_t word, std::uint32_t value, unsigned lo) {
  return (word & ~part_mask(k, lo)) | ((value << lo) & part_mask(k, lo));
}

/// A binary operation or comparison whose operands have type `k`.
std::uint32_t apply(Scalar op, Kind k, std::uint32_t a, std::uint32_t b);
/// neg, abs, popcount, clz, ctz on type `k`.
std::uint32_t apply(Scalar op, Kind k, std::uint32_t a);
/// Conversion: integers wrap, to i1 is `!= 0`, float to integer saturates (NaN: 0), integer to
/// float rounds to nearest even.
std::uint32_t convert(Kind from, Kind to, std::uint32_t a);

/// The operation of an `arith` op other than arith.constant.
Scalar scalar_of(const Op& op);
/// The register content of an arith.constant.
std::uint32_t constant_bits(const Op& op);

/// What an atomic stores in place of `old`; `desired` is for cas, where `value` is what it expects.
enum class Atomic : std::uint8_t { add, sub, and_, or_, xor_, min, max, exchange, cas };
std::uint32_t apply(Atomic op, Kind k, std::uint32_t old, std::uint32_t value,
                    std::uint32_t desired);
/// Their spellings, in the same order.
inline constexpr std::string_view atomic_names[] = {"add", "sub", "and",      "or", "xor",
                                                    "min", "max", "exchange", "cas"};
std::optional<Atomic> atomic_named(std::string_view spelling);
/// The operation of an op with the attribute `op`.
Atomic atomic_of(const Op& op);

/// A reduction operator of foreach: its combining operation and identity for type `k`.
struct Reduction {
  Scalar op;
  std::uint32_t identity;
};
/// `spelling` is one of + * & | ^ min max && ||.
bool is_reduction(const std::string& spelling);
Reduction reduction_of(const std::string& spelling, Kind k);

/// A float reduction adds up blocks of this many consecutive iterations, then the blocks' results,
/// in order: the fixed tree that every target can follow.
inline constexpr std::uint32_t reduction_block = 1024;

/// Number of iterations of a foreach, without overflow; `step` is not 0. Operands are register
/// contents of integer type `k`.
std::uint64_t trip_count(Kind k, std::uint32_t lo, std::uint32_t hi, std::uint32_t step);

inline float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t as_bits(float f) { return std::bit_cast<std::uint32_t>(f); }

}  // namespace revet
