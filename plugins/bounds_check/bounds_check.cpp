/// Marks every access that may be out of bounds as `checked`, so that emitted code verifies it.
///
/// Before (%s is an sram<i32, 8>):         After:
///   %x = mem.sram_load(%s, %two)            %x = mem.sram_load(%s, %two)
///   mem.dram_store(%a, %i, %x)              mem.dram_store(%a, %i, %x) {checked = true}
///
/// Algorithm: interval analysis on demand (revet/ranges.hpp). An access is left out if the range of
/// its index lies within the memory, whose size is known for SRAMs, views, iterators and arrays
/// with a constant size. The depth of the search is bounded, so the whole is linear.
///
/// Why here: behind the passes that give indices their final form (`canonicalize`), before adapters
/// are lowered or code is emitted. The interpreter and the simulator check all accesses anyway.
///
/// Does not handle: conditions around an access (`if (i < n)`) and values carried by loops.
#include <algorithm>

#include "revet/abi.hpp"
#include "revet/ops.hpp"
#include "revet/plugin.hpp"
#include "revet/ranges.hpp"

namespace revet {
namespace {

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

PassResult run_at(Op& place, PassContext& context) {
  bool changed = false;
  Ranges ranges;
  context.visit(0);
  walk(place, [&](Op& op) {
    if (!may_be_checked(op) || op.flag("checked")) return;
    context.visit();
    const Range index = ranges.of(op.operand(1));
    if (index.lo >= 0 && index.hi < size_of(op.operand(0))) {
      context.count("proven inside");
      return;
    }
    if (!context.spend()) return;
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
  info.run_at = run_at;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("bounds-check", "Bounds checks in emitted code", revet::register_)
