// Cuts of contexts that are too large for a compute unit.
#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>

#include "mapping/split.hpp"
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

bool rides_free(const Value* v) { return v->def() && is_constant_op(*v->def()); }

/// A read of a part, or a conversion that costs no stage: every piece makes it anew.
bool is_remade(const Op& op) {
  return (op.is(arith_extract) || op.is(arith_cast)) && !takes_stage(op);
}

/// What a value is made anew from.
Value* root(Value* v) {
  while (v->def() && is_remade(*v->def())) v = v->def()->operand(0);
  return v;
}

bool is_yielded(const Value& v) {
  return std::any_of(v.uses().begin(), v.uses().end(),
                     [](const Use& use) { return use.op->is(flow_yield); });
}

/// Whether an op has a place among the others.
bool is_placed(const Op& op) {
  return !op.is(flow_yield) && (!is_remade(op) || is_yielded(*op.result()));
}

/// Those whose code needs a value, directly or in another form.
void add_users(const Value& v, std::vector<const Op*>& users) {
  for (const Use& use : v.uses()) {
    if (is_remade(*use.op)) {
      add_users(*use.op->result(), users);
      if (!is_yielded(*use.op->result())) continue;
    }
    users.push_back(use.op);
  }
}

/// The code of a context in an order that keeps few values alive: each result's operands right
/// before it, those that need most registers first. With a seed the results and the operands come
/// in another order.
class Schedule {
 public:
  Schedule(const Op& context, unsigned seed) : body_(context.body()), random_(seed) {
    shuffled_ = seed != 0;
    std::vector<Value*> results(context.body().terminator()->operands().begin(),
                                context.body().terminator()->operands().end());
    if (shuffled_) shuffle(results);
    for (Value* v : results)
      if (v->def()) place(v->def());
    for (Op& op : context.body())
      if (is_placed(op)) place(&op);
  }
  const std::vector<Op*>& order() const { return order_; }

 private:
  unsigned need(const Op* op) {
    const auto known = need_.find(op);
    if (known != need_.end()) return known->second;
    std::vector<unsigned> of;
    for (Value* v : op->operands()) of.push_back(here(*root(v)) ? need(root(v)->def()) : 1);
    std::sort(of.rbegin(), of.rend());
    unsigned n = 1;
    for (unsigned i = 0; i < of.size(); ++i) n = std::max(n, of[i] + i);
    return need_[op] = n;
  }
  void place(Op* op) {
    if (!placed_.insert(op).second) return;
    std::vector<Op*> before;
    for (Value* v : op->operands())
      if (here(*root(v))) before.push_back(root(v)->def());
    if (shuffled_)
      shuffle(before);
    else
      std::stable_sort(before.begin(), before.end(),
                       [&](const Op* a, const Op* b) { return need(a) > need(b); });
    for (Op* b : before) place(b);
    order_.push_back(op);
  }

  /// Arrays stand outside.
  bool here(const Value& v) const { return v.def() && v.def()->block() == &body_; }

  /// The same on every platform, which std::shuffle is not.
  template <typename T>
  void shuffle(std::vector<T*>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_() % i]);
  }

  const Block& body_;
  std::minstd_rand random_;
  bool shuffled_;
  std::map<const Op*, unsigned> need_;
  std::set<const Op*> placed_;
  std::vector<Op*> order_;
};

/// Values that a piece of a context's code takes and gives.
struct Ends {
  std::vector<Value*> inputs;
  std::vector<Value*> outputs;
};

/// What is made anew leaves only as a result of the context; other pieces get its root. Constants
/// ride with those that use them.
bool leaves(const Value& v, const std::set<const Op*>& inside) {
  if (is_remade(*v.def()) || is_constant_op(*v.def())) return is_yielded(v);
  std::vector<const Op*> users;
  add_users(v, users);
  return std::any_of(users.begin(), users.end(),
                     [&](const Op* op) { return inside.count(op) == 0; });
}

Ends ends_of(const std::vector<Op*>& ops) {
  const std::set<const Op*> inside(ops.begin(), ops.end());
  Ends ends;
  for (const Op* op : ops) {
    if (!is_constant_op(*op))
      for (Value* operand : op->operands()) {
        Value* const v = root(operand);
        if (!rides_free(v) && (!v->def() || inside.count(v->def()) == 0) &&
            std::find(ends.inputs.begin(), ends.inputs.end(), v) == ends.inputs.end())
          ends.inputs.push_back(v);
      }
    for (const auto& r : op->results())
      if (leaves(*r, inside)) ends.outputs.push_back(r.get());
  }
  return ends;
}

/// The cost of a piece of a context's code, given what is in it.
class Costing {
 public:
  explicit Costing(const Op& context) : context_(context) {}

  ContextCost of(const std::vector<Op*>& ops) const {
    const auto [inputs, outputs] = ends_of(ops);
    std::map<const Value*, unsigned> last_use;
    ContextCost c;
    unsigned at = 0;
    for (const Op* op : ops) {
      ++at;
      if (is_constant_op(*op)) continue;
      c.stages += takes_stage(*op);
      for (Value* operand : op->operands()) last_use[root(operand)] = at;
    }
    for (const Value* v : inputs) {
      if (v->type().kind == Kind::none) continue;
      ++(is_scalar(*v) ? c.scalar_inputs : c.vector_inputs);
    }
    for (const Value* v : outputs) {
      if (rides_free(v)) continue;
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
    const auto [inputs, outputs] = ends_of(ops);
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
    const std::function<void(Value*)> make = [&](Value* v) {
      if (cloning.values.count(v) != 0 || !v->def() || (!rides_free(v) && !is_remade(*v->def())))
        return;
      for (Value* operand : v->def()->operands()) make(operand);
      body.insert(clone_op(*v->def(), cloning));
    };
    for (Op* op : ops) {
      if (op->num_results() != 0 && cloning.values.count(op->result()) != 0) continue;
      for (Value* v : op->operands()) make(v);
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

using Pieces = std::vector<std::vector<Op*>>;

/// What a cut costs: contexts that fit nowhere, pieces, links, and how early results are there, to
/// wait for the last.
using CutCost = std::array<std::size_t, 4>;

/// The best cuts of an order. Pieces are at most as long as makes a difference.
std::pair<CutCost, Pieces> best_cuts(const std::vector<Op*>& order, const Costing& costing,
                                     const Machine& machine) {
  const std::size_t n = order.size();
  std::vector<CutCost> best(n + 1);
  std::vector<std::size_t> from(n + 1, 0);
  const auto longer = [](CutCost c, const CutCost& more) {
    for (std::size_t i = 0; i < c.size(); ++i) c[i] += more[i];
    return c;
  };
  for (std::size_t last = n; last-- != 0;) {
    // Of the code from `last` on: the first piece ends in front of `end`.
    std::vector<Op*> ops;
    for (std::size_t end = last + 1; end <= n; ++end) {
      ops.push_back(order[end - 1]);
      const ContextCost c = costing.of(ops);
      if (c.stages > machine.compute.stages && end != last + 1) break;
      const bool fit = fits(c, machine);
      if (!fit && end != last + 1) continue;
      CutCost cost = best[end];
      // Each piece behind this one makes its results wait.
      const std::size_t results = static_cast<std::size_t>(std::count_if(
          ops.begin(), ops.end(), [](const Op* op) { return is_yielded(*op->result()); }));
      cost = longer(cost, {fit ? 0u : 1u, 1,
                           c.vector_inputs + c.scalar_inputs + c.vector_outputs + c.scalar_outputs,
                           results * best[end][1]});
      if (from[last] == 0 || cost < best[last]) {
        best[last] = cost;
        from[last] = end;
      }
    }
  }
  Pieces pieces;
  for (std::size_t at = 0; at < n; at = from[at])
    pieces.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(at),
                        order.begin() + static_cast<std::ptrdiff_t>(from[at]));
  // Pieces of constants alone go with those that use them.
  std::erase_if(pieces, [](const std::vector<Op*>& ops) {
    return std::all_of(ops.begin(), ops.end(), [](const Op* op) {
      return is_constant_op(*op) && !is_yielded(*op->result());
    });
  });
  return {best[0], pieces};
}

/// Orders that are tried for a context.
constexpr unsigned schedules = 100;

}  // namespace

bool cut(Op& context, const Machine& machine, SplitCounts& counts) {
  const Op& yield = *context.body().terminator();
  // A void result has no code to go with.
  for (const Value* v : yield.operands())
    if (v->type().kind == Kind::none) return false;
  const Costing costing(context);
  Pieces pieces;
  CutCost fewest{};
  for (unsigned seed = 0; seed < schedules; ++seed) {
    const std::vector<Op*> order = Schedule(context, seed).order();
    if (seed == 0 && fits(costing.of(order), machine)) return false;
    const auto [cost, found] = best_cuts(order, costing, machine);
    if (seed != 0 && cost >= fewest) continue;
    fewest = cost;
    pieces = found;
  }
  if (pieces.size() < 2) return false;
  ++counts.cut;
  counts.parts += static_cast<std::int64_t>(pieces.size());
  rebuild(context, pieces);
  return true;
}

}  // namespace revet::mapping
