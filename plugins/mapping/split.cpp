#include "mapping/split.hpp"

#include <algorithm>
#include <set>

#include "revet/builder.hpp"

namespace revet::mapping {

using namespace ops;

namespace {

// --- constants

/// A stream that has the tokens of operand `index` of a node and that the node takes anyway; a void
/// if there is one.
Value* companion(const Op& user, unsigned index, const std::set<const Value*>& constant) {
  const unsigned half = user.num_operands() / 2;
  unsigned first = 0, last = user.num_operands();
  if (is_merge(user)) {
    first = index < half ? 0 : half;
    last = first + half;
  } else if (user.is(flow_broadcast)) {
    last = index + 1 == last ? last : last - 1;
    first = index + 1 == user.num_operands() ? index : 0;
  }
  Value* found = nullptr;
  for (unsigned i = first; i < last; ++i) {
    Value* v = user.operand(i);
    if (!is_stream(*v) || constant.count(v) != 0) continue;
    if (is_void(*v)) return v;
    if (!found) found = v;
  }
  return found;
}

class Constants {
 public:
  Constants(Op& graph, SplitCounts& counts) : graph_(graph), counts_(counts) {
    for (Op& op : graph.body()) {
      if (!op.is(flow_context)) continue;
      const Op& yield = *op.body().terminator();
      for (unsigned i = 0; i < op.num_results(); ++i)
        if (const Op* def = yield.operand(i)->def(); def && is_constant_op(*def))
          constant_.insert(op.result(i));
    }
  }

  bool run() {
    bool changed = false;
    for (Op *op = graph_.body().first(), *next; op; op = next) {
      next = op->next();
      if (op->is(flow_context))
        changed |= into_context(*op);
      else
        changed |= beside(*op);
    }
    return drop_unused() || changed;
  }

 private:
  static Op* source(const Value& v) {
    return v.def()->body().terminator()->operand(v.index())->def();
  }

  Value* clone_constant(Builder& b, const Value& v) {
    Cloning none;
    const Op& def = *source(v);
    Op* copy = b.block()->insert(clone_op(def, none), b.block()->first());
    return copy->result(v.def()->body().terminator()->operand(v.index())->index());
  }

  /// A context computes with the constants themselves.
  bool into_context(Op& context) {
    if (is_constant(context)) return false;
    bool changed = false;
    unsigned left = 0;
    for (Value* v : context.operands()) left += constant_.count(v) == 0;
    if (left == 0) return false;
    for (unsigned i = context.num_operands(); i-- != 0;) {
      Value* v = context.operand(i);
      if (constant_.count(v) == 0) continue;
      Builder b(context.body());
      context.body().arg(i)->replace_all_uses_with(clone_constant(b, *v));
      context.body().erase_arg(i);
      context.erase_operand(i);
      changed = true;
    }
    return changed;
  }

  /// Any other node gets a context that gives its constants and nothing else.
  bool beside(Op& user) {
    bool changed = false;
    std::map<std::pair<const Value*, const Value*>, Value*> made;
    for (unsigned i = 0; i < user.num_operands(); ++i) {
      Value* v = user.operand(i);
      if (constant_.count(v) == 0) continue;
      // Its own already.
      if (v->def()->num_results() == 1 &&
          std::all_of(v->uses().begin(), v->uses().end(),
                      [&](const Use& use) { return use.op == &user; }))
        continue;
      Value* go = companion(user, i, constant_);
      if (!go) go = v->def()->operand(0);
      Value*& stream = made[{v, go}];
      if (!stream) stream = constant_context(user, *v, *go);
      user.set_operand(i, stream);
      changed = true;
    }
    return changed;
  }

  Value* constant_context(Op& user, const Value& v, Value& go) {
    ++counts_.constants;
    Builder b = Builder::before(user);
    Type type = v.type();
    type.size = go.type().size;
    Value* operands[] = {&go};
    Op* context = b.create(flow_context, std::span<Value* const>(operands),
                           std::span<const Type>(&type, 1), marks_of_place(user), 1);
    Block& body = context->region().add_block();
    body.add_arg({go.type().element});
    Builder inner(body);
    inner.set_loc(user.loc());
    Value* given[] = {clone_constant(inner, v)};
    inner.create(flow_yield, std::span<Value* const>(given));
    context->result()->set_name(v.name());
    constant_.insert(context->result());
    return context->result();
  }

  /// Results that nothing uses any more, and contexts without results.
  bool drop_unused() {
    bool changed = false;
    for (Op *op = graph_.body().last(), *prev; op; op = prev) {
      prev = op->prev();
      if (!op->is(flow_context)) continue;
      Op& yield = *op->body().terminator();
      for (unsigned i = op->num_results(); i-- != 0;) {
        if (!op->result(i)->unused() || constant_.count(op->result(i)) == 0) continue;
        constant_.erase(op->result(i));
        yield.erase_operand(i);
        op->erase_result(i);
        changed = true;
      }
      if (op->num_results() == 0) op->erase();
    }
    return changed;
  }

  Op& graph_;
  SplitCounts& counts_;
  std::set<const Value*> constant_;
};

// --- transfers

/// A predicate is an input more than an address generator may have: where it is false a store has
/// the length 0, which moves nothing, and a load one below 0, which leaves the buffer as it is.
bool predicate_to_length(Op& bulk) {
  const unsigned last = bulk.num_operands() - 1;
  constexpr unsigned length = 5;
  Value* operands[] = {bulk.operand(last), bulk.operand(length)};
  Builder b = Builder::before(bulk);
  Type type = bulk.operand(length)->type();
  type.element = Kind::i32;  // as which all lengths are taken
  Op* context = b.create(flow_context, std::span<Value* const>(operands),
                         std::span<const Type>(&type, 1), marks_of_place(bulk), 1);
  Block& body = context->region().add_block();
  Value* pred = body.add_arg(type_i1);
  Value* valid = body.add_arg(bulk.operand(length)->type().element_type());
  Builder inner(body);
  inner.set_loc(bulk.loc());
  valid = inner.cast(valid, type_i32);
  if (bulk.is(flow_bulk_load)) {
    // Below 0 a length is 0; from here on only where the predicate is false.
    valid = inner.binary(arith_max, valid, inner.constant(type_i32, 0));
    bulk.set_attr("length_predicates", true);
  }
  const std::int64_t off = bulk.is(flow_bulk_load) ? -1 : 0;
  inner.create(flow_yield, {inner.select(pred, valid, inner.constant(type_i32, off))});
  bulk.set_operand(length, context->result());
  bulk.erase_operand(last);
  bulk.remove_attr("predicated");
  return true;
}

bool too_wide(const Op& bulk, const Machine& machine) {
  unsigned vectors = 0;
  for (const Value* v : bulk.operands())
    vectors += is_stream(*v) && link_kind(*v) == LinkKind::vector && !is_constant(*v->def());
  return vectors > machine.address.vector_inputs;
}

}  // namespace

bool split_contexts(Op& graph, const Machine& machine, SplitCounts& counts) {
  bool changed = Constants(graph, counts).run();
  for (Op& op : graph.body())
    if ((op.is(flow_bulk_store) || op.is(flow_bulk_load)) && op.flag("predicated") &&
        too_wide(op, machine))
      changed |= predicate_to_length(op);
  for (Op *op = graph.body().first(), *next; op; op = next) {
    next = op->next();
    if (op->is(flow_context)) changed |= cut(*op, machine, counts);
  }
  return changed;
}

}  // namespace revet::mapping
