#include "crossing.hpp"

namespace revet {

Crossing::Crossing(Op& loop) : loop_(loop) {
  for (Op* op = &loop;;) {
    levels_[op->block()] = around_.size();
    around_.push_back(op);
    for (const Op* next = op->next(); next; next = next->next())
      behind_[next] = levels_.size() == 1 ? Place::after : Place::beyond;
    op = op->parent_op();
    if (!op->is(ops::thread_if) && !op->is(ops::thread_replicate)) break;
  }
}

Crossing::Place Crossing::place(const Use& use) const {
  const Op* at = use.op;
  const Op* inside = nullptr;
  for (; levels_.count(at->block()) == 0; at = at->parent_op()) inside = at;
  if (at == &loop_ && inside)
    return inside->block() == &loop_.body(0) ? Place::before : Place::body;
  const auto found = behind_.find(at);
  return found == behind_.end() ? Place::elsewhere : found->second;
}

std::vector<Value*> Crossing::live_through() const {
  std::vector<Value*> values;
  const auto add = [&](Value& v) {
    bool crosses = false;
    for (const Use& use : v.uses()) {
      const Place at = place(use);
      if (at == Place::beyond) return;
      crosses |= at != Place::elsewhere;
    }
    if (crosses) values.push_back(&v);
  };
  for (auto around = around_.rbegin(); around != around_.rend(); ++around) {
    const Block& block = *(*around)->block();
    for (const auto& arg : block.args()) add(*arg);
    for (Op* op = block.first(); op != *around; op = op->next())
      if (!op->is(ops::arith_constant))
        for (const auto& r : op->results()) add(*r);
  }
  return values;
}

}  // namespace revet
