/// Types of the IR: small values, compared by value.
#pragma once

#include <cstdint>
#include <string>

namespace revet {

enum class Kind : std::uint8_t {
  none,  ///< "void": no data, only order
  i1,
  i8,
  i16,
  i32,
  u8,
  u16,
  u32,
  f32,
  ptr,     ///< pointer handed out by an SRAM allocator
  dram,    ///< dram<T>: off-chip array, bound at launch
  sram,    ///< sram<T, N>: on-chip buffer
  view,    ///< view<T, N>: an open read, write or modify view (until lower-adapters)
  iter,    ///< iter<T, N>: an open iterator (until lower-adapters)
  stream,  ///< stream<T, d>: link of depth d, vector or scalar
};

struct Type {
  Kind kind = Kind::none;
  Kind element = Kind::none;  ///< of dram, sram, view, iter and stream
  std::uint32_t size = 0;     ///< elements of sram, view, iter; depth of stream
  bool scalar_link = false;   ///< of stream

  friend bool operator==(const Type&, const Type&) = default;

  bool is_scalar() const { return kind >= Kind::i1 && kind <= Kind::f32; }
  bool is_integer() const { return kind >= Kind::i1 && kind <= Kind::u32; }
  bool is_signed() const { return kind >= Kind::i8 && kind <= Kind::i32; }
  bool is_float() const { return kind == Kind::f32; }
  bool is_memory() const { return kind >= Kind::dram && kind <= Kind::iter; }
  Type element_type() const { return {element}; }
  /// Bits of a scalar (1 for i1).
  unsigned bits() const;
  /// Bytes of a scalar in an array (1 for i1).
  unsigned bytes() const { return kind == Kind::i1 ? 1 : bits() / 8; }
  /// As the text form spells it: `i32`, `dram<u8>`, `sram<i32, 16>`, `stream<i32, 2, scalar>`.
  std::string str() const;
  /// As the language spells it: int, uint, short, ushort, int8, char, bool, float, void,
  /// DRAM<char>.
  std::string source_str() const;
};

inline Type scalar_type(Kind k) { return {k}; }
inline constexpr Type type_void{};
inline constexpr Type type_i1{Kind::i1};
inline constexpr Type type_i32{Kind::i32};
inline constexpr Type type_u32{Kind::u32};
inline constexpr Type type_f32{Kind::f32};
inline Type dram_of(Type t) { return {Kind::dram, t.kind}; }
inline Type sram_of(Type t, std::uint32_t n) { return {Kind::sram, t.kind, n}; }
inline Type view_of(Type t, std::uint32_t n) { return {Kind::view, t.kind, n}; }
inline Type iter_of(Type t, std::uint32_t n) { return {Kind::iter, t.kind, n}; }

inline Type stream_of(Type t, std::uint32_t depth) { return {Kind::stream, t.kind, depth}; }

}  // namespace revet
