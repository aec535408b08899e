/// The IR: Module > Op > Region > Block > Op, with SSA values. One structure for every level.
///
/// Ownership: a module owns its top region, a region its blocks, a block its arguments and ops, an
/// op its results and regions. Pointers to ops, blocks and values stay valid until the thing is
/// erased.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "revet/source.hpp"
#include "revet/type.hpp"

namespace revet {

class Block;
class Module;
class Op;
class Region;
class Value;
struct OpInfo;

/// An attribute: a constant attached to an op. Text: `true`, `42`, `1.5f` (`f32(0x7fc00000)` for
/// infinities and NaNs), `"text"`, a type, `[a, b]`.
class Attr {
 public:
  using Array = std::vector<Attr>;
  Attr() : v_(false) {}
  Attr(bool b) : v_(b) {}
  Attr(std::int64_t i) : v_(i) {}
  Attr(int i) : v_(std::int64_t{i}) {}
  Attr(unsigned i) : v_(std::int64_t{i}) {}
  Attr(float f) : v_(f) {}
  Attr(std::string s) : v_(std::move(s)) {}
  Attr(std::string_view s) : v_(std::string(s)) {}
  Attr(const char* s) : v_(std::string(s)) {}
  Attr(Type t) : v_(t) {}
  Attr(Array a) : v_(std::move(a)) {}

  const bool* as_bool() const { return std::get_if<bool>(&v_); }
  const std::int64_t* as_int() const { return std::get_if<std::int64_t>(&v_); }
  const float* as_float() const { return std::get_if<float>(&v_); }
  const std::string* as_string() const { return std::get_if<std::string>(&v_); }
  const Type* as_type() const { return std::get_if<Type>(&v_); }
  const Array* as_array() const { return std::get_if<Array>(&v_); }
  std::string str() const;
  /// Floats are compared by their bits.
  friend bool operator==(const Attr& a, const Attr& b);

 private:
  std::variant<bool, std::int64_t, float, std::string, Type, Array> v_;
};

/// One operand of one op.
struct Use {
  Op* op;
  unsigned index;
};

/// A value: the result of an op or an argument of a block.
class Value {
 public:
  Type type() const { return type_; }
  void set_type(Type t) { type_ = t; }
  /// The name it has in the source, without the suffix that printing adds to make it unique; may
  /// be empty.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Op* def() const { return op_; }  ///< null for block arguments
  Block* block() const;            ///< where it is defined
  bool is_argument() const { return op_ == nullptr; }
  unsigned index() const { return index_; }
  std::span<const Use> uses() const { return uses_; }
  bool unused() const { return uses_.empty(); }
  void replace_all_uses_with(Value* other);

 private:
  friend class Op;
  friend class Block;
  Type type_;
  std::string name_;
  Op* op_ = nullptr;
  Block* block_ = nullptr;
  unsigned index_ = 0;
  std::vector<Use> uses_;
};

/// Blocks of one op, in program order; the first is the entry.
class Region {
 public:
  explicit Region(Op* parent) : parent_(parent) {}
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  Op* parent() const { return parent_; }  ///< null for a module's top region
  bool empty() const { return blocks_.empty(); }
  std::size_t size() const { return blocks_.size(); }
  Block& front() const { return *blocks_.front(); }
  Block& add_block();
  Block& insert_block(std::size_t at);
  void erase_block(Block& b);
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

 private:
  Op* parent_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

class Block {
 public:
  /// Walks the ops in order; safe if the op it stands on is erased only after stepping past it
  /// (`for (Op* op = b.first(), *next; op; op = next) { next = op->next(); .. }`).
  class Iterator {
   public:
    explicit Iterator(Op* op) : op_(op) {}
    Op& operator*() const { return *op_; }
    Op* operator->() const { return op_; }
    Iterator& operator++();
    bool operator!=(const Iterator& o) const { return op_ != o.op_; }

   private:
    Op* op_;
  };

  explicit Block(Region* parent) : parent_(parent) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Region* parent() const { return parent_; }
  Op* parent_op() const { return parent_->parent(); }  ///< null at module level

  Value* add_arg(Type type, std::string name = {});
  void erase_arg(unsigned index);  ///< must have no uses
  Value* arg(unsigned i) const { return args_[i].get(); }
  unsigned num_args() const { return static_cast<unsigned>(args_.size()); }
  const std::vector<std::unique_ptr<Value>>& args() const { return args_; }

  bool empty() const { return first_ == nullptr; }
  Op* first() const { return first_; }
  Op* last() const { return last_; }
  /// The last op if it is a terminator, else null.
  Op* terminator() const;
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

  /// Inserts before `before` (null: at the end) and owns the op from then on.
  Op* insert(std::unique_ptr<Op> op, Op* before = nullptr);
  /// Unlinks and gives back ownership; the op keeps its operands.
  std::unique_ptr<Op> take(Op& op);
  /// Moves every op of `from`, in order, to before `before` in this block.
  void splice(Op* before, Block& from);

 private:
  friend class Op;
  Region* parent_;
  std::vector<std::unique_ptr<Value>> args_;
  Op* first_ = nullptr;
  Op* last_ = nullptr;
};

using AttrMap = std::map<std::string, Attr, std::less<>>;

class Op {
 public:
  static std::unique_ptr<Op> create(const OpInfo& info, Loc loc, std::span<Value* const> operands,
                                    std::span<const Type> results, AttrMap attrs = {},
                                    unsigned regions = 0);
  ~Op();
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  const OpInfo& info() const { return *info_; }
  bool is(const OpInfo& info) const { return info_ == &info; }
  const std::string& name() const;
  Loc loc() const { return loc_; }
  void set_loc(Loc loc) { loc_ = loc; }
  /// Tells an op from all others of its module, and stays with its copy in Module::clone: a place
  /// in a module that outlives a rollback.
  std::uint64_t serial() const { return serial_; }

  std::span<Value* const> operands() const { return operands_; }
  unsigned num_operands() const { return static_cast<unsigned>(operands_.size()); }
  Value* operand(unsigned i) const { return operands_[i]; }
  void set_operand(unsigned i, Value* v);
  /// Appends to the op's own operands; not for ops with successors.
  void add_operand(Value* v);
  void erase_operand(unsigned i);
  void set_operands(std::span<Value* const> values);

  unsigned num_results() const { return static_cast<unsigned>(results_.size()); }
  Value* result(unsigned i = 0) const { return results_[i].get(); }
  const std::vector<std::unique_ptr<Value>>& results() const { return results_; }
  Value* add_result(Type type, std::string name = {});
  void erase_result(unsigned i);  ///< must have no uses

  const AttrMap& attrs() const { return attrs_; }
  const Attr* attr(std::string_view name) const;
  bool has_attr(std::string_view name) const { return attr(name) != nullptr; }
  /// The attribute of that kind, or the fallback where it is absent.
  bool flag(std::string_view name) const;
  std::int64_t int_attr(std::string_view name, std::int64_t fallback = 0) const;
  const std::string& str_attr(std::string_view name) const;  ///< "" where absent
  void set_attr(std::string name, Attr value) { attrs_[std::move(name)] = std::move(value); }
  void remove_attr(std::string_view name);

  const std::vector<std::unique_ptr<Region>>& regions() const { return regions_; }
  unsigned num_regions() const { return static_cast<unsigned>(regions_.size()); }
  Region& region(unsigned i = 0) const { return *regions_[i]; }
  /// The entry block of region i.
  Block& body(unsigned i = 0) const { return regions_[i]->front(); }
  Region& add_region();

  /// Successors take their block arguments from the tail of the operands, in order.
  unsigned num_successors() const { return static_cast<unsigned>(successors_.size()); }
  Block* successor(unsigned i) const { return successors_[i].block; }
  void set_successor(unsigned i, Block* b) { successors_[i].block = b; }
  std::span<Value* const> successor_args(unsigned i) const;
  /// Operands that belong to no successor.
  std::span<Value* const> own_operands() const;
  void add_successor(Block* b, std::span<Value* const> args);

  Block* block() const { return block_; }
  Op* parent_op() const { return block_ ? block_->parent_op() : nullptr; }
  Op* next() const { return next_; }
  Op* prev() const { return prev_; }
  void move_before(Op& other);
  /// Unlinks and destroys; results must have no uses.
  void erase();
  /// Gives up every use, here and in the regions, as the first step of destruction; the op is good
  /// for nothing else afterwards.
  void drop_operands();

 private:
  friend class Block;
  friend class Module;
  struct Successor {
    Block* block;
    unsigned args;
  };
  Op(const OpInfo& info, Loc loc);
  void link(unsigned i);
  void unlink(unsigned i);

  const OpInfo* info_;
  Loc loc_;
  std::uint64_t serial_;
  std::vector<Value*> operands_;
  std::vector<std::uint32_t> use_slots_;  ///< where operand i stands in its value's uses
  std::vector<std::unique_ptr<Value>> results_;
  AttrMap attrs_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::vector<Successor> successors_;
  Block* block_ = nullptr;
  Op* next_ = nullptr;
  Op* prev_ = nullptr;
  bool dropped_ = false;
};

inline Block* Value::block() const { return op_ ? op_->block() : block_; }
inline Block::Iterator& Block::Iterator::operator++() {
  op_ = op_->next();
  return *this;
}

/// A whole program: `mem.dram` declarations and `thread.func`s (or a flow graph) in one block.
class Module {
 public:
  Module() : top_(nullptr) { top_.add_block(); }
  Block& body() const { return top_.front(); }
  Region& region() { return top_; }
  std::unique_ptr<Module> clone() const;
  /// Takes the contents of `other` and drops its own: every pointer into this module dangles then.
  void take(Module& other);
  /// A `thread.func` by its `sym`, or null.
  Op* find_func(std::string_view sym) const;

 private:
  mutable Region top_;
};

/// What an op of a block is copied to; used to clone with new operands.
struct Cloning {
  std::map<const Value*, Value*> values;
  std::map<const Block*, Block*> blocks;
  Value* map(Value* v) const {
    auto it = values.find(v);
    return it == values.end() ? v : it->second;
  }
};

/// A deep copy with operands, successors and nested uses mapped through `cloning`, which then also
/// holds the results. Operands that it does not hold stay as they are.
std::unique_ptr<Op> clone_op(const Op& op, Cloning& cloning);

/// Calls `f` on every op below, in program order, parents before children. `f` may not erase.
void walk(const Region& region, const std::function<void(Op&)>& f);
void walk(const Block& block, const std::function<void(Op&)>& f);
void walk(const Module& module, const std::function<void(Op&)>& f);
/// Calls `f` on `op` itself and every op in its regions.
void walk(Op& op, const std::function<void(Op&)>& f);

/// True if `outer` is `inner` or one of the ops around it.
bool is_ancestor(const Op* outer, const Op* inner);

}  // namespace revet
