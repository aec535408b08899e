/// Creates nodes of a flow graph, alone and on whole bundles.
#pragma once

#include <utility>
#include <vector>

#include "revet/builder.hpp"

namespace revet {

/// What arrives at a block: its arguments, then its live values, then a void.
using Bundle = std::vector<Value*>;

class Nodes {
 protected:
  Op* node(const OpInfo& info, std::span<Value* const> operands, std::vector<Type> results,
           AttrMap attrs = {}, unsigned regions = 0) {
    if (replicate_) attrs.emplace("replicate", *replicate_);
    if (link_) attrs.emplace("link", *link_);
    return b_.create(info, operands, results, std::move(attrs), regions);
  }
  Op* node(const OpInfo& info, std::initializer_list<Value*> operands, std::vector<Type> results,
           AttrMap attrs = {}) {
    return node(info, std::span<Value* const>(operands.begin(), operands.size()),
                std::move(results), std::move(attrs));
  }

  static std::vector<Type> types_at(std::span<Value* const> like, unsigned depth) {
    std::vector<Type> out;
    for (const Value* v : like) out.push_back(stream_of({v->type().element}, depth));
    return out;
  }
  static Bundle results_of(const Op& op) {
    Bundle out;
    for (const auto& r : op.results()) out.push_back(r.get());
    return out;
  }
  static void name_like(const Bundle& made, const Bundle& like) {
    for (std::size_t i = 0; i < made.size(); ++i) made[i]->set_name(like[i]->name());
  }

  /// A node that gives each stream of a bundle at another depth: flatten, strip.
  Bundle lowered(const OpInfo& info, const Bundle& bundle) {
    const unsigned depth = bundle[0]->type().size - 1;
    Bundle out = results_of(*node(info, std::span<Value* const>(bundle), types_at(bundle, depth)));
    name_like(out, bundle);
    return out;
  }

  Bundle filtered(Value* predicate, bool polarity, const Bundle& bundle) {
    Bundle operands = {predicate};
    operands.insert(operands.end(), bundle.begin(), bundle.end());
    Bundle out =
        results_of(*node(ops::flow_filter, std::span<Value* const>(operands),
                         types_at(bundle, bundle[0]->type().size), {{"polarity", polarity}}));
    name_like(out, bundle);
    return out;
  }

  /// Repeats values of an enclosing thread along the lists of `structure`.
  Bundle broadcast(const Bundle& values, Value* structure) {
    Bundle operands = values;
    operands.push_back(structure);
    Bundle out = results_of(*node(ops::flow_broadcast, std::span<Value* const>(operands),
                                  types_at(values, structure->type().size),
                                  {{"levels", structure->type().size - values[0]->type().size}}));
    name_like(out, values);
    return out;
  }

  /// Constants as streams with the structure of a void.
  Bundle constants(Value* go, const std::vector<std::pair<Type, std::int64_t>>& values) {
    std::vector<Type> types;
    for (const auto& [t, v] : values) types.push_back(stream_of(t, go->type().size));
    Op* context = node(ops::flow_context, std::span<Value* const>(&go, 1), std::move(types), {}, 1);
    Block& body = context->region().add_block();
    body.add_arg(type_void);
    Builder inner(body);
    inner.set_loc(b_.loc());
    std::vector<Value*> results;
    for (const auto& [t, v] : values)
      results.push_back(t.kind == Kind::ptr ? pointer_constant(inner) : inner.constant(t, v));
    inner.create(ops::flow_yield, results);
    return results_of(*context);
  }

  Builder b_;
  const Attr* replicate_ = nullptr;  ///< mark of the block that is being written
  const Attr* link_ = nullptr;       ///< pragma of the block that the nodes lead to

 private:
  /// Stands for a pointer on an edge that no data takes.
  static Value* pointer_constant(Builder& b) {
    return b.create(ops::arith_constant, {}, {{Kind::ptr}}, {{"value", 0}})->result();
  }
};

}  // namespace revet
