/// What views and iterators become, and the ops that they become.
#pragma once

#include <array>
#include <functional>
#include <map>

#include "revet/builder.hpp"
#include "steps.hpp"

namespace revet {

/// Cells of an iterator's position.
constexpr int cell_low = 0;
constexpr int cell_high = 1;
constexpr std::uint32_t cells = 2;
/// Holds every offset in a tile of 4 to 256 elements.
constexpr Type local_pointer{Kind::u8};

struct View {
  Value* buffer;
  Value* array;
  Value* base;
  Value* high;
  Value* valid;  ///< elements that lie inside the view's range, clamped to its size
  bool stores;
  bool is_read;  ///< by the program: stores behind the valid elements must not show
};

struct Iterator {
  Value* buffer;
  Value* position;  ///< of the tile; of the one behind it where steps are small
  Value* array;
  std::uint32_t tile;
  bool reads;
  bool manual;
  Stride stride;
  /// Elements in a word of the buffer, if words are what is read from it; else 1. The local pointer
  /// counts words.
  std::uint32_t per_word = 1;
  /// What the thread holds where the walk is: the local pointer, and a bool (readers whose steps
  /// are not small: the tile is filled; ManualWriteIts: the last element was passed; else null).
  std::array<Value*, 2> live;
  /// What is known where the walk is.
  struct Known {
    bool filled = false;                    ///< the tile
    std::map<std::uint32_t, Value*> words;  ///< that were read, by how far they are ahead
  };
  Known known;

  bool by_pointer() const { return stride.steps != Steps::any; }
};
constexpr unsigned live_pointer = 0;
constexpr unsigned live_flag = 1;

/// A live value of an iterator: by the order in which they open, and which of the two.
using LiveValue = std::pair<std::size_t, unsigned>;

/// An integer of 8 or 16 bits.
inline bool is_part(Type t) { return t.is_integer() && t.bytes() < 4 && t.kind != Kind::i1; }

/// Ops in front of one op, with the few helpers that all of this is made of.
class Writer {
 public:
  explicit Writer(Op& op) : b_(Builder::before(op)) {}
  explicit Writer(Builder b) : b_(b) {}
  Builder& builder() { return b_; }

  Value* u32(std::int64_t v) { return b_.constant(type_u32, v); }
  Value* i32(std::int64_t v) { return b_.constant(type_i32, v); }
  Value* add(Value* a, Value* b) { return b_.binary(ops::arith_add, a, b); }
  Value* both(Value* a, Value* b) { return b_.both(a, b); }
  Value* negated(Value* v) { return b_.negated(v); }

  /// A buffer of an adapter, which says how many there are. `written`: every element is before it
  /// is read.
  Value* alloc(const Op& adapter, Type element, std::uint32_t n, const std::string& name,
               bool written) {
    AttrMap attrs = {{"name", Attr(name)}};
    if (const Attr* threads = adapter.attr("threads")) attrs.emplace("threads", *threads);
    if (written) attrs.emplace("written", true);
    Op* op = b_.create(ops::mem_sram_alloc, {}, {sram_of(element, n)}, std::move(attrs));
    op->result()->set_name(name);
    return op->result();
  }
  Value* load(Value* sram, Value* index, Value* pred = nullptr) {
    std::vector<Value*> operands = {sram, index};
    return create(ops::mem_sram_load, std::move(operands), pred, {sram->type().element_type()})
        ->result();
  }
  void store(Value* sram, Value* index, Value* value, Value* pred = nullptr) {
    create(ops::mem_sram_store, {sram, index, value}, pred);
  }
  void free(Value* sram) { b_.create(ops::mem_sram_free, {sram}); }
  void bulk(const OpInfo& info, Value* sram, Value* array, Value* base, Value* high, Value* valid) {
    b_.create(info, {sram, array, base, high, valid});
  }

  Value* cell(const Iterator& it, int i) { return load(it.position, i32(i)); }
  void set_cell(const Iterator& it, int i, Value* value) { store(it.position, i32(i), value); }

  /// An if whose first arm `arm` writes; gives what the arm gives, or `otherwise`. In a loop it is
  /// marked to stay a branch: few threads take it, and the others should not wait for DRAM.
  Value* where(Value* condition, Value* otherwise, const std::function<Value*(Writer&)>& arm) {
    AttrMap attrs;
    if (in_loop()) attrs.emplace("unlikely", true);
    std::vector<Type> results;
    if (otherwise) results.push_back(otherwise->type());
    Op* const op = b_.create(ops::thread_if, {&condition, 1}, results, std::move(attrs), 2);
    for (unsigned r = 0; r < 2; ++r) {
      Builder inner(op->region(r).add_block());
      inner.set_loc(b_.loc());
      Writer w(inner);
      Value* const result = r == 0 ? arm(w) : otherwise;
      std::vector<Value*> yields;
      if (otherwise) yields.push_back(result);
      w.builder().create(ops::thread_yield, yields);
    }
    return otherwise ? op->result() : nullptr;
  }

 private:
  /// Whether the thread may come here more than once.
  bool in_loop() const {
    for (const Op* op = b_.block()->parent_op(); op && !op->is(ops::thread_foreach);
         op = op->parent_op())
      if (op->is(ops::thread_while)) return true;
    return false;
  }
  Op* create(const OpInfo& info, std::vector<Value*> operands, Value* pred,
             std::vector<Type> results = {}) {
    AttrMap attrs;
    if (pred) {
      operands.push_back(pred);
      attrs.emplace("predicated", true);
    }
    return b_.create(info, operands, results, std::move(attrs));
  }
  Builder b_;
};

/// The high word of a position given in 32 bits.
inline Value* high_word(Writer& w, Value* position) {
  if (!position->type().is_signed()) return w.i32(0);
  return w.builder().binary(ops::arith_shr, position, w.i32(31));
}

}  // namespace revet
