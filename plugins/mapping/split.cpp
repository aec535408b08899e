#include "mapping/split.hpp"

#include <algorithm>
#include <set>

#include "revet/builder.hpp"

namespace revet::mapping {

using namespace ops;

bool fits(const ContextCost& c, const Machine& m) {
  return c.stages <= m.compute.stages && c.registers <= m.compute.registers &&
         c.vector_inputs <= m.compute.vector_inputs && c.scalar_inputs <= m.compute.scalar_inputs &&
         c.vector_outputs <= m.compute.vector_outputs &&
         c.scalar_outputs <= m.compute.scalar_outputs;
}

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
    AttrMap attrs;
    for (const char* name : {"replicate", "copy", "role"})
      if (const Attr* a = user.attr(name)) attrs.emplace(name, *a);
    Builder b = Builder::before(user);
    Type type = v.type();
    type.size = go.type().size;
    Value* operands[] = {&go};
    Op* context = b.create(flow_context, std::span<Value* const>(operands),
                           std::span<const Type>(&type, 1), std::move(attrs), 1);
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

// --- cutting

/// The code of a context in an order that keeps few values alive: each result's operands right
/// before it, those that need most registers first.
class Schedule {
 public:
  explicit Schedule(const Op& context) : body_(context.body()) {
    for (Value* v : context.body().terminator()->operands())
      if (v->def()) place(v->def());
    for (Op& op : context.body())
      if (!op.is(flow_yield)) place(&op);
  }
  const std::vector<Op*>& order() const { return order_; }

 private:
  unsigned need(const Op* op) {
    const auto known = need_.find(op);
    if (known != need_.end()) return known->second;
    std::vector<unsigned> of;
    for (const Value* v : op->operands()) of.push_back(here(*v) ? need(v->def()) : 1);
    std::sort(of.rbegin(), of.rend());
    unsigned n = 1;
    for (unsigned i = 0; i < of.size(); ++i) n = std::max(n, of[i] + i);
    return need_[op] = n;
  }
  void place(Op* op) {
    if (!placed_.insert(op).second) return;
    std::vector<Op*> before;
    for (Value* v : op->operands())
      if (here(*v)) before.push_back(v->def());
    std::stable_sort(before.begin(), before.end(),
                     [&](const Op* a, const Op* b) { return need(a) > need(b); });
    for (Op* b : before) place(b);
    order_.push_back(op);
  }

  /// Arrays stand outside.
  bool here(const Value& v) const { return v.def() && v.def()->block() == &body_; }

  const Block& body_;
  std::map<const Op*, unsigned> need_;
  std::set<const Op*> placed_;
  std::vector<Op*> order_;
};

bool rides_free(const Value* v) { return v->def() && is_constant_op(*v->def()); }

/// The cost of a piece of a context's code, given what is in it.
class Costing {
 public:
  explicit Costing(const Op& context) : context_(context) {}

  ContextCost of(const std::vector<Op*>& ops) const {
    const std::set<const Op*> inside(ops.begin(), ops.end());
    std::vector<const Value*> inputs, outputs;
    std::map<const Value*, unsigned> last_use;
    ContextCost c;
    const auto add = [](std::vector<const Value*>& list, const Value* v) {
      if (std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
    };
    unsigned at = 0;
    for (const Op* op : ops) {
      ++at;
      if (is_constant_op(*op)) continue;
      c.stages += takes_stage(*op);
      for (const Value* v : op->operands()) {
        last_use[v] = at;
        if (!v->def() || (inside.count(v->def()) == 0 && !rides_free(v))) add(inputs, v);
      }
      for (const auto& r : op->results())
        for (const Use& use : r->uses())
          if (inside.count(use.op) == 0) add(outputs, r.get());
    }
    for (const Value* v : inputs) {
      if (v->type().kind == Kind::none) continue;
      ++(is_scalar(*v) ? c.scalar_inputs : c.vector_inputs);
    }
    for (const Value* v : outputs) {
      last_use[v] = at + 1;
      for (const LinkKind kind : kinds_of(*v))
        ++(kind == LinkKind::scalar ? c.scalar_outputs : c.vector_outputs);
    }
    // Live behind each operation: what was read or made by then and is used later.
    std::vector<const Value*> live(inputs.begin(), inputs.end());
    c.registers = static_cast<unsigned>(live.size());
    at = 0;
    for (const Op* op : ops) {
      ++at;
      std::erase_if(live, [&](const Value* v) { return last_use[v] <= at; });
      if (!is_constant_op(*op))
        for (const auto& r : op->results())
          if (last_use.count(r.get()) != 0) live.push_back(r.get());
      c.registers = std::max(c.registers, static_cast<unsigned>(live.size()));
    }
    return c;
  }

 private:
  bool is_scalar(const Value& v) const {
    return v.is_argument() && context_.operand(v.index())->type().scalar_link;
  }
  /// The links that carry a value out: one per result of the context, one to other pieces.
  std::vector<LinkKind> kinds_of(const Value& v) const {
    std::vector<LinkKind> out;
    bool to_piece = false;
    for (const Use& use : v.uses()) {
      if (use.op->is(flow_yield))
        out.push_back(context_.result(use.index)->type().scalar_link ? LinkKind::scalar
                                                                     : LinkKind::vector);
      else
        to_piece = true;
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    if (out.empty() && to_piece) out.push_back(LinkKind::vector);
    return out;
  }

  const Op& context_;
};

/// Makes a context of each piece, in order; the old one goes.
void rebuild(Op& context, const std::vector<std::vector<Op*>>& pieces) {
  std::map<const Value*, Value*> streams;  ///< of arguments and results that cross pieces
  for (unsigned i = 0; i < context.num_operands(); ++i)
    streams[context.body().arg(i)] = context.operand(i);
  Op& yield = *context.body().terminator();
  const unsigned depth = context.result()->type().size;
  Value* go = context.operand(0);
  for (Value* v : context.operands())
    if (is_void(*v)) go = v;

  for (const std::vector<Op*>& ops : pieces) {
    const std::set<const Op*> inside(ops.begin(), ops.end());
    std::vector<Value*> inputs, outputs;
    for (Op* op : ops) {
      for (Value* v : op->operands())
        if (!is_constant_op(*op) && !rides_free(v) && (!v->def() || inside.count(v->def()) == 0) &&
            std::find(inputs.begin(), inputs.end(), v) == inputs.end())
          inputs.push_back(v);
      for (const auto& r : op->results())
        if (std::any_of(r->uses().begin(), r->uses().end(), [&](const Use& use) {
              return inside.count(use.op) == 0 && !(is_constant_op(*op) && !use.op->is(flow_yield));
            }))
          outputs.push_back(r.get());
    }
    std::vector<Value*> operands;
    for (Value* v : inputs) operands.push_back(streams.at(v));
    if (operands.empty()) operands.push_back(go);
    std::vector<Type> types;
    for (const Value* v : outputs) {
      // A result that leaves the context keeps its kind of link.
      Type type = stream_of(v->type(), depth);
      const auto out = std::find_if(v->uses().begin(), v->uses().end(),
                                    [](const Use& use) { return use.op->is(flow_yield); });
      if (out != v->uses().end()) type = context.result(out->index)->type();
      types.push_back(type);
    }
    AttrMap attrs = context.attrs();
    Builder b = Builder::before(context);
    Op* piece = b.create(flow_context, std::span<Value* const>(operands),
                         std::span<const Type>(types), std::move(attrs), 1);
    Block& body = piece->region().add_block();
    Cloning cloning;
    if (inputs.empty()) body.add_arg({go->type().element});
    for (Value* v : inputs) cloning.values[v] = body.add_arg(v->type(), v->name());
    for (Op* op : ops) {
      for (Value* v : op->operands())
        if (rides_free(v) && cloning.values.count(v) == 0)
          body.insert(clone_op(*v->def(), cloning));
      if (is_constant_op(*op) && cloning.values.count(op->result()) != 0) continue;
      body.insert(clone_op(*op, cloning));
    }
    std::vector<Value*> given;
    for (unsigned i = 0; i < outputs.size(); ++i) {
      given.push_back(cloning.map(outputs[i]));
      streams[outputs[i]] = piece->result(i);
      piece->result(i)->set_name(outputs[i]->name());
    }
    Builder inner(body);
    inner.set_loc(context.loc());
    inner.create(flow_yield, std::span<Value* const>(given));
  }
  for (unsigned i = 0; i < context.num_results(); ++i)
    if (yield.operand(i)->type().kind != Kind::none)
      context.result(i)->replace_all_uses_with(streams.at(yield.operand(i)));
  context.erase();
}

bool cut(Op& context, const Machine& machine, SplitCounts& counts) {
  const Op& yield = *context.body().terminator();
  // A void result has no code to go with.
  for (const Value* v : yield.operands())
    if (v->type().kind == Kind::none) return false;
  const Schedule schedule(context);
  const Costing costing(context);
  const std::vector<Op*>& order = schedule.order();
  if (fits(costing.of(order), machine)) return false;
  std::vector<std::vector<Op*>> pieces;
  std::size_t first = 0;
  while (first < order.size()) {
    // The longest beginning that fits; what does not fit in between may fit again further on.
    std::size_t best = first + 1;
    std::vector<Op*> ops;
    for (std::size_t i = first; i < order.size(); ++i) {
      ops.push_back(order[i]);
      const ContextCost c = costing.of(ops);
      if (c.stages > machine.compute.stages) break;
      if (fits(c, machine)) best = i + 1;
    }
    pieces.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(first),
                        order.begin() + static_cast<std::ptrdiff_t>(best));
    first = best;
  }
  // Pieces of constants alone go with those that use them.
  std::erase_if(pieces, [](const std::vector<Op*>& ops) {
    return std::all_of(ops.begin(), ops.end(), [](const Op* op) {
      return is_constant_op(*op) &&
             std::none_of(op->result()->uses().begin(), op->result()->uses().end(),
                          [](const Use& use) { return use.op->is(flow_yield); });
    });
  });
  if (pieces.size() < 2) return false;
  ++counts.cut;
  counts.parts += static_cast<std::int64_t>(pieces.size());
  rebuild(context, pieces);
  return true;
}

// --- transfers

/// A store of no elements needs no predicate, which is an input more than an address generator may
/// have: the length is 0 where the predicate is false.
bool predicate_to_length(Op& store) {
  const unsigned last = store.num_operands() - 1;
  constexpr unsigned length = 5;
  Value* operands[] = {store.operand(last), store.operand(length)};
  AttrMap attrs;
  for (const char* name : {"replicate", "copy", "role"})
    if (const Attr* a = store.attr(name)) attrs.emplace(name, *a);
  Builder b = Builder::before(store);
  const Type type = store.operand(length)->type();
  Op* context = b.create(flow_context, std::span<Value* const>(operands),
                         std::span<const Type>(&type, 1), std::move(attrs), 1);
  Block& body = context->region().add_block();
  Value* pred = body.add_arg(type_i1);
  Value* valid = body.add_arg(type.element_type());
  Builder inner(body);
  inner.set_loc(store.loc());
  inner.create(flow_yield, {inner.select(pred, valid, inner.constant(valid->type(), 0))});
  store.set_operand(length, context->result());
  store.erase_operand(last);
  store.remove_attr("predicated");
  return true;
}

bool too_wide(const Op& store, const Machine& machine) {
  unsigned vectors = 0;
  for (const Value* v : store.operands())
    vectors += is_stream(*v) && link_kind(*v) == LinkKind::vector && !is_constant(*v->def());
  return vectors > machine.address.vector_inputs;
}

}  // namespace

bool split_contexts(Op& graph, const Machine& machine, SplitCounts& counts) {
  bool changed = Constants(graph, counts).run();
  for (Op& op : graph.body())
    if (op.is(flow_bulk_store) && op.flag("predicated") && too_wide(op, machine))
      changed |= predicate_to_length(op);
  for (Op *op = graph.body().first(), *next; op; op = next) {
    next = op->next();
    if (op->is(flow_context)) changed |= cut(*op, machine, counts);
  }
  return changed;
}

}  // namespace revet::mapping
