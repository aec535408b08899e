/// How each SRAM, view and iterator is emitted.
///
/// On a CPU a view is a pointer into its array and an iterator is a position, wherever that cannot
/// be told from the copy that the language describes. What decides is who else uses the array:
/// - `scope`: the ops from the opening op to the end of its block, with what they hold
/// - `peers`: everything that may run at the same time, the outermost foreach around the op (the
///   scope itself, where there is none)
/// A ReadView is in place if nothing in peers writes the array. A WriteView or ModifyView is in
/// place if nothing else in scope touches the array and nothing else in peers reads it: its stores
/// come earlier than the language says, but nobody can look. A ReadIt is a position always, since
/// it may read old or new values. A WriteIt is one if nothing else in scope touches the array.
#pragma once

#include <unordered_map>

#include "revet/ops.hpp"
#include "revet/ranges.hpp"

namespace revet::openmp {

struct Adapter {
  enum class Form {
    stack,     ///< SRAM: an array of the C++ block
    heap,      ///< SRAM too large for that
    tile,      ///< view: a pointer into the array or to a tile on the stack
    position,  ///< iterator: a position; loads and stores go to the array
    writer     ///< iterator: revet::Writer, with a tile
  };
  Form form = Form::tile;
  bool in_place = false;  ///< views: the pointer may be one into the array

  /// Views: elements 0 .. used-1 hold every access, where used is offset if count is null, else the
  /// larger of scale * count + offset and at_least.
  Value* count = nullptr;
  std::int64_t scale = 0;
  std::int64_t offset = 0;
  std::int64_t at_least = 0;
  bool assigned = false;  ///< views: elements 0 .. count-1 are all stored to
  /// Views that are stored to and loaded from: a store must not reach an element that is not valid.
  bool guarded = false;
  /// Position of a WriteIt: each store is followed by the step that passes the element.
  bool direct = false;
};

using Adapters = std::unordered_map<const Op*, Adapter>;

/// SRAMs of more bytes than this live on the heap.
inline constexpr std::uint64_t stack_bytes = 16384;

/// The array behind a memory value, or the SRAM itself.
const Value* base_memory(const Value* memory);
bool is_view_open(const Op& op);
bool is_iter_open(const Op& op);

/// Fills in all but how much of a view is used.
Adapters find_adapters(const Op& main);

}  // namespace revet::openmp
