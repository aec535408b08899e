#include "alignment.hpp"

namespace revet {

Alignment::Alignment(const Block& graph) {
  const unsigned main = fresh();
  for (const Op& op : graph) {
    if (op.is(ops::flow_source))
      join_results(op, main);
    else
      add(op);
  }
}

unsigned Alignment::above(unsigned c, unsigned levels) {
  for (; levels != 0; --levels) {
    c = root(c);
    if (above_[c] == none) {
      const unsigned made = fresh();
      above_[c] = made;
    }
    c = above_[c];
  }
  return root(c);
}

unsigned Alignment::class_of(const Value& stream) {
  const auto [at, first] = classes_.try_emplace(&stream, 0);
  if (first) at->second = fresh();
  return at->second;
}

unsigned Alignment::fresh() {
  const auto c = static_cast<unsigned>(joined_.size());
  joined_.push_back(c);
  above_.push_back(none);
  return c;
}

unsigned Alignment::root(unsigned c) {
  while (joined_[c] != c) c = joined_[c] = joined_[joined_[c]];
  return c;
}

void Alignment::join(unsigned a, unsigned b) {
  // What is above two classes that are one is one as well.
  while (a != none && b != none) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    joined_[a] = b;
    const unsigned over = above_[a];
    const unsigned other = above_[b];
    if (other == none) above_[b] = over;
    a = over;
    b = other;
  }
}

void Alignment::join(std::span<Value* const> streams, unsigned with) {
  for (const Value* v : streams)
    if (v->type().kind == Kind::stream) join(class_of(*v), with);
}

void Alignment::join_results(const Op& op, unsigned with) {
  for (const auto& r : op.results())
    if (r->type().kind == Kind::stream) join(class_of(*r), with);
}

void Alignment::add(const Op& op) {
  using namespace ops;
  const auto in = op.operands();
  const unsigned n = op.num_results();
  const unsigned before = fresh();
  const unsigned behind = fresh();
  if (op.is(flow_broadcast)) {
    join(in.first(n), before);
    join(in.subspan(n), behind);
    join(above(behind, static_cast<unsigned>(op.int_attr("levels"))), before);
  } else if (op.is(flow_counter)) {
    join(in, before);
    join(above(behind, 1), before);
  } else if (op.is(flow_reduce)) {
    join(in, before);
    join(above(before, 1), behind);
  } else if (op.is(flow_flatten) || op.is(flow_strip)) {
    join(in, before);
    join(above(before, 2), above(behind, 1));
  } else if (op.is(flow_filter)) {
    join(in, before);
    join(above(before, 1), above(behind, 1));
  } else if (op.is(flow_merge) || op.is(flow_fb_merge)) {
    const unsigned other = fresh();
    join(in.first(n), before);
    join(in.subspan(n), other);
    join(above(other, 1), above(behind, 1));
    join(above(before, 1), above(behind, op.is(flow_merge) ? 1 : 2));
  } else {
    join(in, before);
    join(behind, before);
  }
  join_results(op, behind);
}

}  // namespace revet
