/// Small flow graphs with units, made by hand.
#pragma once

#include <string>
#include <vector>

#include "mapping/assign.hpp"
#include "revet/builder.hpp"

namespace revet::mapping::testing {

inline Machine small_machine() {
  Machine m;
  m.name = "test";
  m.grid = {.rows = 4, .columns = 4, .address_columns = 1};
  m.compute = {.lanes = 16,
               .stages = 6,
               .registers = 16,
               .counters = 2,
               .vector_inputs = 4,
               .vector_outputs = 4,
               .scalar_inputs = 4,
               .scalar_outputs = 4,
               .latency = 6};
  m.memory.bytes = 1024;
  m.memory.stages = 4;
  m.memory.contexts = 2;
  m.memory.vector_inputs = m.memory.scalar_inputs = 4;
  m.memory.vector_outputs = m.memory.scalar_outputs = 4;
  m.address.stages = 4;
  m.address.vector_inputs = m.address.scalar_inputs = 4;
  m.network.vector_tracks = 3;
  m.network.scalar_tracks = m.network.control_tracks = 4;
  m.network.virtual_channels = 4;
  return m;
}

inline Type stream(Kind element = Kind::i32, bool scalar = false, unsigned depth = 2) {
  Type t = stream_of(scalar_type(element), depth);
  t.scalar_link = scalar;
  return t;
}

class Graph {
 public:
  Graph() {
    op = Builder(module.body()).create(ops::flow_graph, {}, {}, {{"sym", "main"}}, 1);
    op->region().add_block();
    nodes = Builder(op->body());
  }

  /// The number of a new unit.
  unsigned unit(const char* kind) {
    units_.emplace_back(
        Attr::Array{kind, "outer", std::string("u") + std::to_string(units_.size())});
    op->set_attr("units", units_);
    return static_cast<unsigned>(units_.size() - 1);
  }
  Value* source(Type type = stream()) {
    return nodes.create(ops::flow_source, {}, {type})->result();
  }
  Op* node(const OpInfo& info, std::vector<Value*> operands, std::vector<Type> results,
           std::vector<unsigned> units, AttrMap attrs = {}) {
    if (!units.empty()) attrs.emplace("unit", Attr::Array(units.begin(), units.end()));
    return nodes.create(info, std::span<Value* const>(operands), std::span<const Type>(results),
                        std::move(attrs));
  }
  /// A context: the sum of its operands, to which 1 is added until it has `count` operations; the
  /// last `results` of what it computes go out.
  Op* code(std::vector<Value*> operands, unsigned count, unsigned unit, unsigned results = 1) {
    const bool scalar = operands[0]->type().scalar_link;
    const std::vector<Type> types(results, stream(Kind::i32, scalar, operands[0]->type().size));
    Op* context = nodes.create(ops::flow_context, std::span<Value* const>(operands),
                               std::span<const Type>(types), {{"unit", Attr::Array{unit}}}, 1);
    Block& body = context->region().add_block();
    std::vector<Value*> values;
    for (const Value* v : operands) body.add_arg(v->type().element_type());
    Builder inner(body);
    Value* one = inner.constant(type_i32, 1);
    Value* sum = body.arg(0);
    for (unsigned i = 0; i < count; ++i) {
      Value* other = i + 1 < operands.size() ? body.arg(i + 1) : one;
      values.push_back(sum = inner.binary(ops::arith_add, sum, other));
    }
    if (values.empty()) values.push_back(sum);
    const std::vector<Value*> given(values.end() - results, values.end());
    inner.create(ops::flow_yield, std::span<Value* const>(given));
    return context;
  }

  Module module;
  Op* op;
  Builder nodes;

 private:
  Attr::Array units_;
};

}  // namespace revet::mapping::testing
