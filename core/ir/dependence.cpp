#include "revet/dependence.hpp"

#include <algorithm>

#include "revet/ops.hpp"

namespace revet {
namespace {

std::vector<Effect> own_effects(const Op& op) {
  std::vector<Effect> out;
  if (op.info().effects)
    op.info().effects(op, out);
  else if (op.num_regions() == 0)
    out.push_back({Effect::write, nullptr, nullptr});
  return out;
}

void collect(Op& op, std::vector<Access>& out) {
  for (const Effect& e : own_effects(op)) out.push_back({&op, e});
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op& inner : *block) collect(inner, out);
}

const Attr* constant_of(const Value* v) {
  return v && v->def() && v->def()->is(ops::arith_constant) ? v->def()->attr("value") : nullptr;
}

}  // namespace

std::vector<Access> accesses_of(Op& op) {
  std::vector<Access> out;
  collect(op, out);
  return out;
}

bool may_conflict(const Effect& a, const Effect& b) {
  if (a.kind == Effect::read && b.kind == Effect::read) return false;
  if (!a.memory || !b.memory) return true;
  if (a.memory != b.memory) return false;
  const Attr* const i = constant_of(a.index);
  const Attr* const j = constant_of(b.index);
  return !i || !j || *i == *j;
}

MemoryClasses::MemoryClasses(Op& func) {
  std::vector<const Value*> order;
  std::set<const Value*> written;
  bool everything = false;
  for (const Access& access : accesses_of(func)) {
    const Effect& e = access.effect;
    if (!e.memory) {
      everything = true;
      continue;
    }
    order.push_back(e.memory);
    if (e.kind != Effect::read) written.insert(e.memory);
  }
  for (const Value* memory : order)
    if ((everything || written.count(memory) != 0) && classes_.emplace(memory, size_).second)
      ++size_;
}

std::vector<unsigned> MemoryClasses::of(const Op& op) const {
  std::vector<unsigned> out;
  for (const Effect& e : own_effects(op)) {
    if (!e.memory) {
      out.resize(size_);
      for (unsigned c = 0; c < size_; ++c) out[c] = c;
      return out;
    }
    const auto found = classes_.find(e.memory);
    if (found != classes_.end() && std::find(out.begin(), out.end(), found->second) == out.end())
      out.push_back(found->second);
  }
  return out;
}

}  // namespace revet
