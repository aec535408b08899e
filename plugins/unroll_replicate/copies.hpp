/// Writes the copies of a region in its place.
#pragma once

#include <functional>
#include <unordered_map>

#include "region.hpp"
#include "revet/builder.hpp"
#include "tables.hpp"

namespace revet {

/// What unroll-replicate is to do with a region.
struct Plan {
  std::int64_t copies = 1;
  bool by_pointer = true;   ///< false: a fixed order, also of hoisted pointers
  std::int64_t buffer = 0;  ///< tokens of a buffer on each stream into a copy; 0: none
  bool vectors = false;     ///< streams into and out of copies are vector links
};

class Copies {
 public:
  Copies(const Mark& mark, ReplicateRegion region, const Plan& plan);

  void write();

 private:
  struct Copy {
    std::unordered_map<const Value*, Value*> delivered;  ///< what came of a stream that enters
    Cloning cloning;
    std::vector<Op*> nodes;
    std::unordered_map<const Value*, Value*> pointers;  ///< of a stream of buffer numbers
    std::unordered_map<const Value*, Value*> memories;  ///< of its own, in place of `inside`
    Value* pool = nullptr;  ///< that hands out the copy's buffers; null: the shared one
  };

  // --- copies.cpp ---

  /// There is one copy: only what is said of it changes.
  void relabel();
  /// Says on the nodes that give them what the streams into and out of the region are.
  void mark_links() const;
  void place(Op& op, std::int64_t copy) const;
  Value* key();
  void deliver(Copy& copy, std::int64_t i, Value* key);
  void add_memories(Copy& copy, std::int64_t i);
  void fill(Copy& copy, std::int64_t i);
  /// Nodes that know buffers by the numbers in the copy get its memories, all others the pointer.
  void connect_pointers(Copy& copy, std::int64_t i, const Op& original, Op& node);
  bool takes_number(const Op& op) const;
  Value* pointer_of(Copy& copy, std::int64_t i, Value* number);
  void collect(std::vector<Copy>& copies);
  Bundle merged(const Bundle& a, const Bundle& b);
  std::int64_t buffers_per_copy() const;
  void size_memories() const;
  void erase_region();

  // --- pools.cpp: a pool per copy in place of a hoisted one ---

  void split_pool(const std::vector<Copy>& copies);
  void split_alloc(Op& alloc, const Bundle& pools);
  void split_free(Op& free, const Bundle& pools);

  // --- nodes ---

  Op* node(const OpInfo& info, std::span<Value* const> operands, const std::vector<Type>& results,
           AttrMap attrs = {}, unsigned regions = 0);
  /// A context of `inputs`; `body` gives what it yields for the values of its arguments.
  Bundle context(const Bundle& inputs, const std::vector<Type>& elements,
                 const std::function<Bundle(Builder&, const Bundle&)>& body, AttrMap attrs = {});
  /// What the node is for; `link` where link-kinds has no rule for it.
  static AttrMap role(const char* what, const char* link = nullptr);
  Value* copy_of_pointer(Builder& b, Value* pointer) const;
  Value* number_of_pointer(Builder& b, Value* pointer) const;
  Value* pointer_of_number(Builder& b, Value* number, Value* copy) const;
  /// Shifts and masks where the number of copies is a power of two.
  bool is_power() const { return (n_ & (n_ - 1)) == 0; }
  std::int64_t shift() const;

  const Mark& mark_;
  ReplicateRegion region_;
  std::vector<Tables> tables_;  ///< by copy
  const Plan& plan_;
  const std::int64_t n_;
  bool numbers_ = false;  ///< the copies know the hoisted pointer by its buffer's number there
  Op* place_ = nullptr;   ///< the first node of the region: the copies stand before it
  Builder b_;
  std::pair<Value*, Value*> dealt_;  ///< the stream that was counted, before and behind
};

}  // namespace revet
