#include "coverage.hpp"

#include "revet/ranges.hpp"

namespace revet {
namespace {

bool is_constant(const Value& v, std::int64_t value) {
  std::int64_t n = 0;
  return revet::is_constant(&v, n) && n == value;
}

/// Whether indices up to `limit` reach all of `size` elements of which the first `valid` count.
bool reaches(const Value& limit, std::int64_t size, const Value* valid) {
  if (is_constant(limit, size)) return true;
  const Op* const def = limit.def();
  if (!valid || !def || !def->is(ops::arith_min)) return false;
  for (unsigned i = 0; i < 2; ++i)
    if (def->operand(i) == valid && is_constant(*def->operand(1 - i), size)) return true;
  return false;
}

/// Whether every thread that begins the block comes to its end, and no other does.
bool runs_through(const Block& block) {
  for (const Op* op = block.first(); op; op = op->next()) {
    if (op->is(ops::thread_exit) || op->is(ops::thread_fork) || op->is(ops::thread_call))
      return false;
    if (op->is(ops::thread_foreach)) continue;  // other threads
    for (unsigned r = 0; r < op->num_regions(); ++r)
      if (!runs_through(op->body(r))) return false;
  }
  return true;
}

/// Whether the block writes element `index` of the view in any case.
bool writes(const Block& block, const Value* view, const Value* index) {
  for (const Op* op = block.first(); op; op = op->next()) {
    if (op->is(ops::thread_replicate) && writes(op->body(), view, index)) return true;
    if (op->is(ops::mem_view_store) && op->operand(0) == view && op->operand(1) == index &&
        !ops::predicate(*op))
      return true;
  }
  return false;
}

}  // namespace

bool is_written_all_over(const Op& open) {
  const Value* const valid = open.num_operands() > 2 ? open.operand(2) : nullptr;
  const std::int64_t size = open.result()->type().size;
  for (const Op* op = open.next(); op && !op->is(ops::mem_view_close); op = op->next()) {
    if (!op->is(ops::thread_foreach) || !is_constant(*op->operand(0), 0) ||
        !is_constant(*op->operand(2), 1) || !reaches(*op->operand(1), size, valid))
      continue;
    const Block& body = op->body();
    if (runs_through(body) && writes(body, open.result(), body.arg(0))) return true;
  }
  return false;
}

}  // namespace revet
