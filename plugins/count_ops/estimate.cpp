#include "estimate.hpp"

#include <algorithm>
#include <map>

#include "revet/ops.hpp"

namespace revet {
namespace {

constexpr std::int64_t memory_unit_bytes = 256 * 1024;

/// Copies of a node: the product over the replicate regions around it.
std::int64_t copies(const Op& op) {
  std::int64_t out = 1;
  const Attr* const marks = op.attr("replicate");
  if (!marks || !marks->as_array()) return out;
  for (const Attr& mark : *marks->as_array()) {
    const Attr::Array* const one = mark.as_array();  // id, n, fixed
    if (one && one->size() > 1 && (*one)[1].as_int()) out *= *(*one)[1].as_int();
  }
  return out;
}

bool is_void(const Value& v) { return v.type().element == Kind::none; }

std::int64_t values(std::span<Value* const> bundle) {
  return std::count_if(bundle.begin(), bundle.end(), [](const Value* v) { return !is_void(*v); });
}

}  // namespace

void estimate(const Op& graph, PassContext& context) {
  std::map<const Op*, std::int64_t> allocators;
  for (Op& op : graph.body()) {
    const std::int64_t n = copies(op);
    const std::string& name = op.name();
    const bool on_chip =
        name.starts_with("flow.sram_") || op.is(ops::flow_alloc) || op.is(ops::flow_free);
    const bool off_chip = name.starts_with("flow.dram_") || name.starts_with("flow.bulk_");
    if (on_chip || off_chip || op.is(ops::flow_context)) context.count("contexts", n);
    if (off_chip) context.count("address generators", n);
    if (op.is(ops::flow_merge) || op.is(ops::flow_fb_merge)) {
      const std::int64_t in = values(op.operands());
      context.count("values into merges", n * in);
      if (op.is(ops::flow_fb_merge)) context.count("words through loops", n * in / 2);
    }
    if (op.is(ops::flow_sram) && ops::is_accessed(*op.result())) {
      const Type t = op.result()->type();
      const std::int64_t bytes = std::int64_t{t.size} * t.element_type().bytes();
      const std::int64_t threads = op.int_attr("threads");
      const std::int64_t units =
          threads == 0 ? 1 : (threads * bytes + memory_unit_bytes - 1) / memory_unit_bytes;
      context.count("memory units",
                    n * op.int_attr("regions", 1) * std::max<std::int64_t>(1, units));
    }
    if (op.is(ops::flow_alloc)) allocators[op.operand(0)->def()] = n;
    for (const auto& r : op.results()) {
      if (r->type().kind != Kind::stream || r->unused()) continue;
      context.count(is_void(*r)             ? "void links"
                    : r->type().scalar_link ? "scalar links"
                                            : "vector links",
                    n);
    }
  }
  for (const auto& [memory, n] : allocators) {
    context.count("allocators", n);
    context.count("memory units", n);
  }
}

}  // namespace revet
