#include "tables.hpp"

#include <algorithm>

#include "mapping/graph_view.hpp"
#include "revet/builder.hpp"

namespace revet {
namespace {

using namespace ops;

/// The memory whose pointer it is.
Value* owner_of(Value* memory) {
  while (memory->def()->num_operands() != 0) memory = memory->def()->operand(0);
  return memory;
}

/// Main has one thread, and so one buffer.
bool is_of_main(Value& memory) {
  const Value* const owner = owner_of(&memory);
  return std::any_of(owner->uses().begin(), owner->uses().end(), [](const Use& use) {
    return use.op->is(flow_alloc) && use.op->result()->type().size == 1;
  });
}

class Copier {
 public:
  explicit Copier(const ReplicateRegion& region)
      : inside_(region.nodes.begin(), region.nodes.end()) {}

  /// Those that are read inside, in the order of the region's nodes.
  std::vector<Value*> tables(const ReplicateRegion& region) const {
    std::vector<Value*> out;
    for (const Op* op : region.nodes) {
      if (!op->is(flow_sram_load)) continue;
      Value* const memory = op->operand(0);
      if (std::find(out.begin(), out.end(), memory) == out.end() && is_table(*memory))
        out.push_back(memory);
    }
    return out;
  }

  Value* copy(Value& memory) const {
    Builder b = Builder::after(*memory.def());
    Value* owner = owner_of(&memory);
    AttrMap attrs = memory.def()->attrs();
    for (const char* own : {"threads", "replicate"}) attrs.erase(own);
    const Type type = memory.type();
    Value* const made = b.create(flow_sram, std::span<Value* const>(&owner, 1),
                                 std::span<const Type>(&type, 1), std::move(attrs))
                            ->result();
    made->set_name(memory.name());
    for (Op* op : writers(memory)) write_too(*op, *made);
    return made;
  }

 private:
  bool is_table(Value& memory) const {
    if (inside_.count(memory.def()) != 0 || !is_of_main(memory)) return false;
    return std::all_of(memory.uses().begin(), memory.uses().end(), [&](const Use& use) {
      if (use.op->is(flow_sram_atomic) || use.op->is(flow_sram_cas)) return false;
      return inside_.count(use.op) == 0 || !writes(*use.op);
    });
  }

  static bool writes(const Op& op) {
    return op.is(flow_sram_store) || op.is(flow_sram_fill) || op.is(flow_bulk_load);
  }

  static std::vector<Op*> writers(const Value& memory) {
    std::vector<Op*> out;
    for (const Use& use : memory.uses())
      if (writes(*use.op)) out.push_back(use.op);
    return out;
  }

  /// The same into another memory; who waits for the one waits for both.
  static void write_too(Op& op, Value& memory) {
    Cloning cloning;
    Op& made = *op.block()->insert(clone_op(op, cloning), &op);
    made.set_operand(0, &memory);
    Value* const done = op.result();
    const auto uses = done->uses();
    const std::vector<Use> waiting(uses.begin(), uses.end());
    Builder b = Builder::before(op);
    Value* both[] = {done, made.result()};
    const Type type = done->type();
    Value* const joined = b.create(flow_void_join, std::span<Value* const>(both),
                                   std::span<const Type>(&type, 1), mapping::marks_of_place(op))
                              ->result();
    for (const Use& use : waiting) use.op->set_operand(use.index, joined);
  }

  const std::unordered_set<const Op*> inside_;
};

}  // namespace

std::vector<Tables> copy_tables(const ReplicateRegion& region, std::int64_t n) {
  const Copier copier(region);
  std::vector<Tables> out(static_cast<std::size_t>(n));
  for (Value* memory : copier.tables(region))
    for (std::size_t i = 1; i < out.size(); ++i) out[i][memory] = copier.copy(*memory);
  return out;
}

}  // namespace revet
