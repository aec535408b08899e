/// The list of core ops, and what callers ask about ops in general.
#include "revet/ops.hpp"

#include <algorithm>

#include "core_ops.hpp"

namespace revet::ops {

bool opens_scope(const Op& op) {
  return op.is(mem_read_view) || op.is(mem_write_view) || op.is(mem_modify_view) ||
         op.is(mem_read_it) || op.is(mem_peek_read_it) || op.is(mem_write_it) ||
         op.is(mem_manual_write_it) || op.is(mem_sram_alloc);
}

bool closes_scope(const Op& op) {
  return op.is(mem_view_close) || op.is(mem_iter_close) || op.is(mem_sram_free);
}

Value* dram_of(const Value* memory) {
  const Op* def = memory->def();
  if (!def || memory->type().kind == Kind::sram) return nullptr;
  if (memory->type().kind == Kind::dram) return const_cast<Value*>(memory);
  return def->num_operands() > 0 ? dram_of(def->operand(0)) : nullptr;
}

const std::string& memory_name(const Value* memory) {
  if (const Op* def = memory->def()) {
    if (def->has_attr("sym")) return def->str_attr("sym");
    if (def->has_attr("name")) return def->str_attr("name");
  }
  return memory->name();
}

Value* predicate(const Op& op) {
  return op.flag("predicated") ? op.operand(op.num_operands() - 1) : nullptr;
}

Value* pointer_owner(Value* sram) {
  const Op* def = sram->def();
  if (!def || !(def->is(mem_sram_alloc) || def->is(flow_sram))) return sram;
  return def->num_operands() > (def->flag("predicated") ? 1u : 0u) ? def->operand(0) : sram;
}

std::int64_t buffers_of(const Op& sram) {
  constexpr std::int64_t memory_unit_bytes = 256 * 1024;
  const Type t = sram.result()->type();
  const std::int64_t bytes = std::int64_t{t.size} * t.element_type().bytes();
  const std::int64_t threads = sram.int_attr("threads");
  const std::int64_t each =
      threads != 0
          ? threads
          : std::max<std::int64_t>(1, memory_unit_bytes / std::max<std::int64_t>(1, bytes));
  return std::min<std::int64_t>(sram.int_attr("regions", 1) * each, INT32_MAX);
}

bool is_accessed(const Value& sram) {
  const auto uses = sram.uses();
  return std::any_of(uses.begin(), uses.end(), [](const Use& use) {
    return !use.op->is(flow_sram) && !use.op->is(flow_alloc) && !use.op->is(flow_free);
  });
}

}  // namespace revet::ops

namespace revet {

std::vector<const OpInfo*> core_ops() {
  using namespace ops;
  return {&thread_func,        &thread_call,      &thread_return,   &thread_if,
          &thread_while,       &thread_condition, &thread_foreach,  &thread_replicate,
          &thread_fork,        &thread_exit,      &thread_yield,    &mem_dram,
          &mem_dram_load,      &mem_dram_store,   &mem_dram_atomic, &mem_sram_alloc,
          &mem_sram_free,      &mem_sram_load,    &mem_sram_store,  &mem_sram_atomic,
          &mem_pointer_store,  &mem_pointer_load, &mem_read_view,   &mem_write_view,
          &mem_modify_view,    &mem_view_load,    &mem_view_store,  &mem_view_close,
          &mem_read_it,        &mem_peek_read_it, &mem_write_it,    &mem_manual_write_it,
          &mem_iter_load,      &mem_iter_peek,    &mem_iter_store,  &mem_iter_next,
          &mem_iter_next_last, &mem_iter_close,   &arith_constant,  &arith_add,
          &arith_sub,          &arith_mul,        &arith_div,       &arith_rem,
          &arith_and,          &arith_or,         &arith_xor,       &arith_shl,
          &arith_shr,          &arith_min,        &arith_max,       &arith_mulhi,
          &arith_rotl,         &arith_rotr,       &arith_neg,       &arith_abs,
          &arith_popcount,     &arith_clz,        &arith_ctz,       &arith_cmp,
          &arith_select,       &arith_cast,       &arith_extract,   &arith_insert,
          &mem_dram_size,      &mem_bulk_load,    &mem_bulk_store,  &cfg_br,
          &cfg_cond_br,        &cfg_loop_br,      &cfg_loop_exit,   &cfg_foreach_enter,
          &cfg_reduce,         &cfg_fork,         &cfg_exit,        &flow_graph,
          &flow_source,        &flow_sink,        &flow_context,    &flow_yield,
          &flow_broadcast,     &flow_counter,     &flow_reduce,     &flow_flatten,
          &flow_strip,         &flow_filter,      &flow_deal,       &flow_merge,
          &flow_fb_merge,      &flow_buffer,      &flow_void_join,  &flow_sram,
          &flow_alloc,         &flow_free,        &flow_dram_load,  &flow_dram_store,
          &flow_dram_atomic,   &flow_dram_cas,    &flow_sram_load,  &flow_sram_store,
          &flow_sram_atomic,   &flow_sram_cas,    &flow_sram_fill,  &flow_bulk_load,
          &flow_bulk_store};
}

}  // namespace revet
