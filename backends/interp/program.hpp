/// The form that the interpreter executes: flat code over one register file.
///
/// Threads run one at a time and depth-first, so at most one child of each foreach of the text is
/// under way. Every value therefore has one fixed register, and a child reads its parents' values
/// where they are. What distinguishes the pending threads of a fork is a saved copy of the
/// registers of their own level.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "revet/ir.hpp"
#include "revet/scalar.hpp"

namespace revet::interp {

using Slot = std::uint32_t;
inline constexpr std::uint32_t none = ~0u;

enum class Code : std::uint8_t {
  // dst = a OP b on 32-bit contents
  add,
  sub,
  mul,
  and_,
  or_,
  xor_,
  shl,
  shr_u,
  shr_s,
  eq,
  ne,
  lt_s,
  le_s,
  lt_u,
  le_u,
  fadd,
  fsub,
  fmul,
  binary,  ///< any other: operation `aux` on `kind`
  unary,
  cast,    ///< cast: from `kind` to Kind(aux)
  select,  ///< dst = a ? b : c
  wrap,    ///< dst = a wrapped to `kind`
  move,
  dram_size,      ///< dst = word aux of the number of elements of array a
  jump,           ///< to a
  branch_unless,  ///< to b unless a
  fork,           ///< dst = i, a = n, level b; kind of n
  foreach_,       ///< level a
  end_child,      ///< of level a, with its contributions to the reductions
  end_thread,     ///< of level a
  dram_load,
  dram_store,
  dram_atomic,  ///< array a, index b, value c; cas: desired d
  sram_load,
  sram_store,
  sram_atomic,  ///< object a, index b, value c
  view_load,
  view_store,  ///< object a, index b, value c
  bulk_load,
  bulk_store,  ///< object a, array dst, base b, high c, valid d
  open_sram,   ///< site a
  open_view,   ///< site a, base b, valid c
  open_iter,   ///< site a, position b
  close,       ///< object a
  iter_load,
  iter_peek,
  iter_store,  ///< object a, k b, value c
  iter_next,
  iter_next_last,  ///< object a, k or last b
};

struct Instr {
  static constexpr std::uint8_t signed_index = 1;  ///< b is an i32, else a u32
  static constexpr std::uint8_t signed_valid = 2;  ///< c of open_view is an i32, else a u32
  static constexpr std::uint8_t join = 4;          ///< the atomic is a join, see races.hpp

  Code code;
  Kind kind = Kind::none;
  std::uint8_t aux = 0;
  std::uint8_t flags = 0;
  std::uint32_t dst = none;
  std::uint32_t a = none;
  std::uint32_t b = none;
  std::uint32_t c = none;
  std::uint32_t d = none;     ///< desired value of cas
  std::uint32_t pred = none;  ///< no access unless this register is set
};

struct LevelReduction {
  Reduction reduction;
  Kind kind;
  Slot contribution = none;
  Slot result = none;
};

/// The threads of one foreach; level 0 is main.
struct ThreadLevel {
  const Op* op = nullptr;
  Kind kind = Kind::i32;  ///< of the index
  Slot lo = none, hi = none, step = none, index = none;
  std::uint32_t body = 0;   ///< first instruction of a child
  std::uint32_t after = 0;  ///< where the parent goes on
  bool has_fork = false;
  std::vector<LevelReduction> reductions;
  std::vector<std::pair<Slot, Slot>> registers;  ///< [first, last) of the level's own
};

enum class Mode : std::uint8_t {
  sram,
  read_view,
  write_view,
  modify_view,
  read_it,
  peek_it,
  write_it,
  manual_it
};

/// An op that opens an SRAM, view or iterator.
struct Site {
  const Op* op;
  Mode mode;
  Kind element;
  std::uint32_t size;
  std::uint32_t array;  ///< none for an SRAM
  std::uint32_t level;
  bool shared;  ///< other threads than the one that opened it may use it
};

struct Program {
  std::vector<Instr> code;
  std::vector<const Op*> origin;  ///< per instruction
  std::vector<ThreadLevel> levels;
  std::vector<Site> sites;
  std::vector<std::uint32_t> registers;  ///< initial contents: the constants
  std::vector<Slot> params;              ///< of main
  std::vector<bool> written;             ///< per array: some op may write it
};

/// Throws Error for an op that the interpreter has no meaning for. The module must outlive the
/// program.
Program decode(const Module& module);

}  // namespace revet::interp
