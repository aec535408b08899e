/// Creates ops at a place in a block.
#pragma once

#include <initializer_list>

#include "revet/ops.hpp"

namespace revet {

class Builder {
 public:
  Builder() = default;
  explicit Builder(Block& block) : block_(&block) {}
  static Builder before(Op& op) { return {*op.block(), &op, op.loc()}; }
  static Builder after(Op& op) { return {*op.block(), op.next(), op.loc()}; }

  void set_end(Block& block) {
    block_ = &block;
    before_ = nullptr;
  }
  void set_before(Op& op) {
    block_ = op.block();
    before_ = &op;
  }
  Block* block() const { return block_; }
  void set_loc(Loc loc) { loc_ = loc; }
  Loc loc() const { return loc_; }

  Op* create(const OpInfo& info, std::span<Value* const> operands,
             std::span<const Type> results = {}, AttrMap attrs = {}, unsigned regions = 0) {
    return block_->insert(Op::create(info, loc_, operands, results, std::move(attrs), regions),
                          before_);
  }
  Op* create(const OpInfo& info, std::initializer_list<Value*> operands,
             std::initializer_list<Type> results = {}, AttrMap attrs = {}, unsigned regions = 0) {
    return create(info, std::span<Value* const>(operands.begin(), operands.size()),
                  std::span<const Type>(results.begin(), results.size()), std::move(attrs),
                  regions);
  }
  /// An integer or bool constant, wrapped to the type.
  Value* constant(Type type, std::int64_t value);
  Value* constant(float value);
  /// A constant with that register content.
  Value* constant_of_bits(Type type, std::uint32_t bits);
  Value* binary(const OpInfo& info, Value* a, Value* b) {
    return create(info, {a, b}, {a->type()})->result();
  }
  Value* unary(const OpInfo& info, Value* a) { return create(info, {a}, {a->type()})->result(); }
  Value* cmp(const char* pred, Value* a, Value* b) {
    return create(ops::arith_cmp, {a, b}, {type_i1}, {{"pred", pred}})->result();
  }
  Value* select(Value* c, Value* a, Value* b) {
    return create(ops::arith_select, {c, a, b}, {a->type()})->result();
  }
  Value* negated(Value* c) { return cmp("eq", c, constant(type_i1, 0)); }
  /// a && b; null stands for true.
  Value* both(Value* a, Value* b) { return a && b ? binary(ops::arith_and, a, b) : (a ? a : b); }
  /// x itself where it already has the type.
  Value* cast(Value* x, Type type) {
    return x->type() == type ? x : create(ops::arith_cast, {x}, {type})->result();
  }

 private:
  Builder(Block& block, Op* before, Loc loc) : block_(&block), before_(before), loc_(loc) {}
  Block* block_ = nullptr;
  Op* before_ = nullptr;
  Loc loc_;
};

}  // namespace revet
