#include "adapters.hpp"

#include <functional>

namespace revet::openmp {
namespace {

using namespace ops;

/// What one op does to an array, directly or through a view or iterator that it opens, uses,
/// closes.
struct Touch {
  bool reads = false;
  bool writes = false;
};

Touch touch_of(const Op& op) {
  if (op.is(mem_dram_load) || op.is(mem_read_view)) return {true, false};
  if (op.is(mem_read_it) || op.is(mem_peek_read_it)) return {true, false};
  if (op.is(mem_dram_store) || op.is(mem_write_view)) return {false, true};
  if (op.is(mem_write_it) || op.is(mem_manual_write_it)) return {false, true};
  if (op.is(mem_dram_atomic) || op.is(mem_modify_view)) return {true, true};
  return {};
}

/// What ops other than `self` do to the array in the region of the walk. Uses of a view or iterator
/// are covered by the op that opens it, except where that is outside the walk.
class Others {
 public:
  Others(const Op& self, const Value* array) : self_(self), array_(array) {}

  void add(const Op& op) {
    if (&op != &self_ && (op.num_operands() == 0 || op.operand(0) != self_.result())) one(op);
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks())
        for (const Op& inner : *block) add(inner);
  }
  Touch touch;

 private:
  void one(const Op& op) {
    if (!op.info().effects && op.num_regions() == 0) {  // a plugin's op: anything
      touch = {true, true};
      return;
    }
    if (op.num_operands() == 0 || !op.operand(0)->type().is_memory()) return;
    if (base_memory(op.operand(0)) != array_) return;
    Touch t = touch_of(op);
    const Op* opened = op.operand(0)->def();
    if (opened && (is_view_open(*opened) || is_iter_open(*opened))) t = touch_of(*opened);
    touch.reads |= t.reads;
    touch.writes |= t.writes;
  }

  const Op& self_;
  const Value* array_;
};

Touch others_in_scope(const Op& open) {
  Others others(open, open.operand(0));
  for (const Op* op = open.next(); op; op = op->next()) others.add(*op);
  return others.touch;
}

Touch others_among_peers(const Op& open) {
  const Op* outermost = nullptr;
  for (const Op* op = open.parent_op(); op; op = op->parent_op())
    if (op->is(thread_foreach)) outermost = op;
  if (!outermost) return others_in_scope(open);
  Others others(open, open.operand(0));
  others.add(*outermost);
  return others.touch;
}

void classify_view(const Op& open, Adapter& adapter) {
  adapter.form = Adapter::Form::tile;
  adapter.offset = open.result()->type().size;
  bool loads = false, stores = false;
  for (const Use& use : open.result()->uses()) {
    loads |= use.op->is(mem_view_load);
    stores |= use.op->is(mem_view_store);
  }
  adapter.guarded = loads && stores;
  const Touch peers = others_among_peers(open);
  if (open.is(mem_read_view)) {
    adapter.in_place = !peers.writes;
    return;
  }
  const Touch scope = others_in_scope(open);
  // A copy of a bool is 0 or 1, whatever byte the array holds, and is stored like that.
  const bool normalises = open.is(mem_modify_view) && open.result()->type().element == Kind::i1;
  adapter.in_place = !scope.reads && !scope.writes && !peers.reads && !normalises;
}

const Op* next_statement(const Op& op) {
  const Op* next = op.next();
  while (next && is_pure(*next) && !next->info().terminator) next = next->next();
  return next;
}

/// Every store is unconditional and directly followed by the step, and every step follows a store.
bool stores_directly(const Op& open) {
  unsigned stores = 0, steps = 0;
  for (const Use& use : open.result()->uses()) {
    if (use.op->is(mem_iter_next)) {
      if (use.op->flag("predicated")) return false;
      ++steps;
    }
    if (!use.op->is(mem_iter_store)) continue;
    const Op* next = next_statement(*use.op);
    if (use.op->flag("predicated") || !next || !next->is(mem_iter_next) ||
        next->operand(0) != open.result())
      return false;
    ++stores;
  }
  return stores == steps;
}

void classify_iterator(const Op& open, Adapter& adapter) {
  adapter.form = Adapter::Form::position;
  if (open.is(mem_manual_write_it)) adapter.form = Adapter::Form::writer;
  if (!open.is(mem_write_it)) return;
  const Touch scope = others_in_scope(open);
  if (scope.reads || scope.writes) adapter.form = Adapter::Form::writer;
  adapter.direct = stores_directly(open);
}

}  // namespace

const Value* base_memory(const Value* memory) {
  const Op* def = memory->def();
  if (memory->type().kind == Kind::view || memory->type().kind == Kind::iter)
    return def ? def->operand(0) : memory;
  return memory;
}

bool is_view_open(const Op& op) {
  return op.is(mem_read_view) || op.is(mem_write_view) || op.is(mem_modify_view);
}

bool is_iter_open(const Op& op) {
  return op.is(mem_read_it) || op.is(mem_peek_read_it) || op.is(mem_write_it) ||
         op.is(mem_manual_write_it);
}

Adapters find_adapters(const Op& main) {
  Adapters adapters;
  walk(main.region(), [&](Op& op) {
    if (op.is(mem_sram_alloc)) {
      const Type t = op.result()->type();
      const std::uint64_t bytes = std::uint64_t{t.size} * t.element_type().bytes();
      adapters[&op].form = bytes <= stack_bytes ? Adapter::Form::stack : Adapter::Form::heap;
    } else if (is_view_open(op)) {
      classify_view(op, adapters[&op]);
    } else if (is_iter_open(op)) {
      classify_iterator(op, adapters[&op]);
    }
  });
  return adapters;
}

}  // namespace revet::openmp
