/// Marks every access that may be out of bounds as `checked`, so that emitted code verifies it.
///
/// Before (%s is an sram<i32, 8>):         After:
///   %x = mem.sram_load(%s, %two)            %x = mem.sram_load(%s, %two)
///   mem.dram_store(%a, %i, %x)              mem.dram_store(%a, %i, %x) {checked = true}
///
/// Algorithm: interval analysis on demand. The range of an index follows its definition: a
/// constant, the index of a foreach within the ranges of its bounds, and sums, differences,
/// products, minima, maxima, masks and casts of such; anything else has the range of its type. An
/// access is left out if the range lies within the memory, whose size is known for SRAMs, views,
/// iterators and arrays with a constant size. The depth of the search is bounded, so the whole is
/// linear.
///
/// Why here: behind the passes that give indices their final form (`canonicalize`), before adapters
/// are lowered or code is emitted. The interpreter and the simulator check all accesses anyway.
///
/// Does not handle: conditions around an access (`if (i < n)`) and values carried by loops.
#include <algorithm>

#include "revet/abi.hpp"
#include "revet/ops.hpp"
#include "revet/plugin.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

/// Values from lo to hi, as numbers; nothing where lo > hi.
struct Range {
  std::int64_t lo, hi;
};

std::int64_t number_of(Kind k, std::uint32_t bits) {
  return Type{k}.is_signed() ? std::int64_t{static_cast<std::int32_t>(bits)} : std::int64_t{bits};
}

Range range_of_type(Type t) {
  const unsigned bits = t.bits();
  if (t.is_signed()) return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  return {0, (std::int64_t{1} << bits) - 1};
}

/// The range if all of it is in the type, else the type's: an operation that may wrap.
Range held_by(Type t, Range r) {
  const Range all = range_of_type(t);
  return r.lo >= all.lo && r.hi <= all.hi ? r : all;
}

Range range_of(const Value* v, unsigned depth = 0);

/// The index of a foreach lies between its bounds, hi excluded.
Range range_of_index(const Op& foreach, unsigned depth) {
  const Range all = range_of_type(foreach.operand(0)->type());
  const Range lo = range_of(foreach.operand(0), depth);
  const Range hi = range_of(foreach.operand(1), depth);
  const Range step = range_of(foreach.operand(2), depth);
  if (step.lo > 0) return {lo.lo, std::max(lo.lo, hi.hi - 1)};
  if (step.hi < 0) return {std::min(lo.hi, hi.lo + 1), lo.hi};
  return all;
}

Range range_of(const Value* v, unsigned depth) {
  const Type t = v->type();
  const Range all = range_of_type(t);
  if (depth > 6) return all;
  const Op* def = v->def();
  if (!def) {
    const Op* parent = v->block()->parent_op();
    return parent && parent->is(ops::thread_foreach) ? range_of_index(*parent, depth + 1) : all;
  }
  if (def->is(ops::arith_constant)) {
    const std::int64_t n = number_of(t.kind, constant_bits(*def));
    return {n, n};
  }
  if (def->is(ops::arith_cast)) {
    if (!def->operand(0)->type().is_integer() || t == type_i1) return all;
    return held_by(t, range_of(def->operand(0), depth + 1));
  }
  const auto operand = [&](unsigned i) { return range_of(def->operand(i), depth + 1); };
  if (def->is(ops::arith_add)) {
    const Range a = operand(0), b = operand(1);
    return held_by(t, {a.lo + b.lo, a.hi + b.hi});
  }
  if (def->is(ops::arith_sub)) {
    const Range a = operand(0), b = operand(1);
    return held_by(t, {a.lo - b.hi, a.hi - b.lo});
  }
  if (def->is(ops::arith_mul)) {
    constexpr std::int64_t most = std::int64_t{1} << 31;  // the product of two fits 64 bits
    const Range a = operand(0), b = operand(1);
    if (a.lo < 0 || b.lo < 0 || a.hi > most || b.hi > most) return all;
    return held_by(t, {a.lo * b.lo, a.hi * b.hi});
  }
  if (def->is(ops::arith_min)) {
    const Range a = operand(0), b = operand(1);
    return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  }
  if (def->is(ops::arith_max)) {
    const Range a = operand(0), b = operand(1);
    return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  if (def->is(ops::arith_and)) {
    // One operand that is not negative bounds the result from both sides.
    const Range a = operand(0), b = operand(1);
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0 || b.lo >= 0) return {0, a.lo >= 0 ? a.hi : b.hi};
  }
  return all;
}

/// Elements of a memory; 0 where that is not known.
std::int64_t size_of(const Value* memory) {
  if (memory->type().kind != Kind::dram) return memory->type().size;
  return memory->def() ? memory->def()->int_attr("size") : 0;
}

bool may_be_checked(const Op& op) {
  const auto& attrs = op.info().attrs;
  return std::any_of(attrs.begin(), attrs.end(),
                     [](const AttrSpec& spec) { return spec.name == "checked"; });
}

PassResult run(Module& module, PassContext& context) {
  bool changed = false;
  walk(module, [&](Op& op) {
    if (!may_be_checked(op) || op.flag("checked")) return;
    const Range index = range_of(op.operand(1));
    if (index.lo >= 0 && index.hi < size_of(op.operand(0))) {
      context.count("proven inside");
      return;
    }
    op.set_attr("checked", true);
    context.count("checked");
    changed = true;
  });
  return PassResult::of(changed);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "bounds-check";
  info.summary = "Makes emitted code verify accesses that are not proven to be in bounds";
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("bounds-check", "Bounds checks in emitted code", revet::register_)
