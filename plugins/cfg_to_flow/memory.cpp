// Memory operations as nodes, and the voids that order them.
#include "mapping.hpp"

namespace revet {

Value* Mapping::sram_of_alloc(const Op& alloc) {
  if (Value* known = srams_[&alloc]) return known;
  std::vector<Value*> owner;
  if (const Value* o = ops::pointer_owner(alloc.result()); o != alloc.result())
    owner.push_back(sram_of_alloc(*o->def()));
  Value*& memory = srams_[&alloc];
  AttrMap attrs;
  for (const char* name : {"name", "threads", "regions"})
    if (const Attr* a = alloc.attr(name)) attrs.emplace(name, *a);
  if (replicate_) attrs.emplace("replicate", *replicate_);
  const Type type = alloc.result()->type();
  memory = b_.create(ops::flow_sram, owner, {&type, 1}, std::move(attrs))->result();
  memory->set_name(alloc.result()->name());
  return memory;
}

void Mapping::allocate(State& s, Op& op) {
  Value* const memory = sram_of_alloc(op);  // here, with the mark of this block
  Value* const owner = ops::pointer_owner(op.result());
  const std::vector<unsigned> classes = blocks_.classes_of(op);
  AttrMap attrs;
  Bundle predicate;
  if (const Value* p = ops::predicate(op)) {
    predicate.push_back(s.streams.at(p));
    attrs.emplace("predicated", true);
  }
  const auto made = [&](const OpInfo& info, Bundle operands, std::vector<Type> types) {
    operands.insert(operands.begin(), memory);
    operands.insert(operands.end(), predicate.begin(), predicate.end());
    types.push_back(stream_of(type_void, s.depth));
    Op* const created =
        node(info, std::span<Value* const>(operands), std::move(types), AttrMap(attrs));
    for (const unsigned c : classes) s.voids[c] = created->result(created->num_results() - 1);
    return created->result(0);
  };
  for (const unsigned c : classes) s.voids.erase(c);
  if (owner == op.result())
    define(s, owner, made(ops::flow_alloc, {s.thread}, {stream_of({Kind::ptr}, s.depth)}));
  if (!op.flag("written")) made(ops::flow_sram_fill, {s.streams.at(owner)}, {});
}

void Mapping::memory(State& s, Op& op) {
  using namespace ops;
  context_.count("memory nodes");
  const std::vector<unsigned> classes = blocks_.classes_of(op);
  if (op.is(mem_sram_alloc)) {
    allocate(s, op);
    return;
  }
  Bundle operands;
  const bool bulk = op.is(mem_bulk_load) || op.is(mem_bulk_store);
  unsigned next = 1;
  const Value* const m = op.operand(0);
  if (m->type().kind == Kind::sram) {
    operands.push_back(sram_of_alloc(*m->def()));
    if (bulk) operands.push_back(op.operand(next++));
    operands.push_back(s.streams.at(pointer_owner(op.operand(0))));
  } else {
    operands.push_back(op.operand(0));
  }
  // Buffers that share the pointer only say what a free waits for.
  if (op.is(mem_sram_free)) next = op.num_operands() - (op.flag("predicated") ? 1 : 0);
  Value* const loaded = loaded_pointer(op);
  const unsigned fixed = op.num_operands() - (op.flag("predicated") || loaded ? 1 : 0);
  for (; next < fixed; ++next) operands.push_back(s.streams.at(pointer_owner(op.operand(next))));
  // The first access of a class has nothing to wait for; a join waits for everything.
  const bool join = op.flag("join");
  if (join) merge_voids(s);
  Bundle before;
  for (const unsigned c : classes)
    if (const auto last = s.voids.find(c); last != s.voids.end()) before.push_back(last->second);
  if (before.size() > 1) before = last_of(before);
  operands.insert(operands.end(), before.begin(), before.end());
  if (const Value* p = predicate(op)) operands.push_back(s.streams.at(p));

  AttrMap attrs;
  if (!before.empty()) attrs.emplace("ordered", static_cast<std::int64_t>(before.size()));
  if (op.flag("predicated")) attrs.emplace("predicated", true);
  const OpInfo* info = nullptr;
  const bool on_chip = m->type().kind == Kind::sram;
  if (bulk) {
    info = op.is(mem_bulk_load) ? &flow_bulk_load : &flow_bulk_store;
  } else if (op.is(mem_sram_free)) {
    info = &flow_free;
  } else if (op.has_attr("op")) {
    const bool cas = op.str_attr("op") == "cas";
    info = on_chip ? (cas ? &flow_sram_cas : &flow_sram_atomic)
                   : (cas ? &flow_dram_cas : &flow_dram_atomic);
    if (!cas) attrs.emplace("op", *op.attr("op"));
  } else if (op.num_results() != 0 || loaded) {
    info = on_chip ? &flow_sram_load : &flow_dram_load;
  } else {
    info = on_chip ? &flow_sram_store : &flow_dram_store;
  }
  std::vector<Type> types;
  if (op.num_results() != 0) types.push_back(stream_of(op.result()->type(), s.depth));
  if (loaded) types.push_back(stream_of({Kind::ptr}, s.depth));
  types.push_back(stream_of(type_void, s.depth));
  Op* made = node(*info, std::span<Value* const>(operands), std::move(types), std::move(attrs));
  if (op.num_results() != 0) define(s, op.result(), made->result(0));
  if (loaded) define(s, loaded, made->result(0));
  for (const unsigned c : classes) {
    if (op.is(mem_sram_free) && !op.flag("predicated"))
      s.voids.erase(c);
    else
      s.voids[c] = made->result(made->num_results() - 1);
  }
  if (join) {
    s.thread = made->result(made->num_results() - 1);
    for (auto& [c, last] : s.voids) last = s.thread;
  }
}

void Mapping::merge_voids(State& s) {
  Bundle all = {s.thread};
  for (const auto& [c, last] : s.voids) all.push_back(last);
  s.thread = joined(s, all);
  for (auto& [c, last] : s.voids) last = s.thread;
}

}  // namespace revet
