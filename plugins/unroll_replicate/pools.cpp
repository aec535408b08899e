// A pool per copy in place of the one that was hoisted, for distribution in a fixed order: the
// copies take turns, and a thread waits for a buffer of its copy although others may have some.
#include "copies.hpp"

namespace revet {

void Copies::split_pool(const std::vector<Copy>& copies) {
  Bundle pools;
  for (const Copy& copy : copies) pools.push_back(copy.pool);
  const auto uses = region_.hoisted->owner->uses();
  const std::vector<Use> before(uses.begin(), uses.end());
  for (const Use& use : before) {
    if (use.op->is(ops::flow_alloc))
      split_alloc(*use.op, pools);
    else if (use.op->is(ops::flow_free))
      split_free(*use.op, pools);
  }
  // What is left of them counts the pointers of no pool.
  for (auto at = region_.hoisted->members.rbegin(); at != region_.hoisted->members.rend(); ++at)
    if ((*at)->unused()) (*at)->def()->erase();
}

/// One alloc per pool, each for the threads of its copy; its pointers are numbers of buffers, 0
/// where it has nothing to do.
void Copies::split_alloc(Op& alloc, const Bundle& pools) {
  b_ = Builder::before(alloc);
  Value* const go = alloc.operand(1);
  const unsigned depth = go->type().size;
  AttrMap attrs = role("distribution");
  attrs.emplace("keys", n_);
  const Op* deal =
      node(ops::flow_deal, {&go, 1}, {stream_of(type_void, depth), stream_of(type_u32, depth)},
           std::move(attrs));
  Bundle inputs = {deal->result(1)};
  if (Value* p = ops::predicate(alloc)) inputs.push_back(p);
  const std::vector<Type> bools(pools.size(), type_i1);
  const Bundle mine = context(
      inputs, bools,
      [&](Builder& b, const Bundle& x) {
        Bundle out;
        for (std::int64_t i = 0; i < n_; ++i)
          out.push_back(
              b.both(b.cmp("eq", x[0], b.constant(type_u32, i)), x.size() > 1 ? x[1] : nullptr));
        return out;
      },
      role("distribution"));
  Bundle parts = {deal->result(1)};
  Bundle voids;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    AttrMap one = role("distribution");
    one.emplace("predicated", true);
    const Bundle operands = {pools[i], deal->result(0), mine[i]};
    const Op* made =
        node(ops::flow_alloc, operands,
             {stream_of({Kind::ptr}, depth), stream_of(type_void, depth)}, std::move(one));
    parts.push_back(made->result(0));
    voids.push_back(made->result(1));
  }
  Value* const pointer = context(
      parts, {{Kind::ptr}},
      [&](Builder& b, const Bundle& x) {
        Value* number = b.cast(x[1], type_u32);
        for (std::size_t i = 2; i < x.size(); ++i)
          number = b.binary(ops::arith_or, number, b.cast(x[i], type_u32));
        return Bundle{pointer_of_number(b, number, x[0])};
      },
      role("distribution"))[0];
  pointer->set_name(alloc.result(0)->name());
  Value* const done =
      node(ops::flow_void_join, voids, {stream_of(type_void, depth)}, role("distribution"))
          ->result();
  alloc.result(0)->replace_all_uses_with(pointer);
  alloc.result(1)->replace_all_uses_with(done);
  alloc.erase();
}

void Copies::split_free(Op& free, const Bundle& pools) {
  b_ = Builder::before(free);
  const unsigned depth = free.result()->type().size;
  Bundle inputs = {free.operand(1)};
  if (Value* p = ops::predicate(free)) inputs.push_back(p);
  std::vector<Type> types(pools.size() + 1, type_i1);
  types[0] = {Kind::ptr};
  const Bundle mine = context(
      inputs, types,
      [&](Builder& b, const Bundle& x) {
        Bundle out = {b.cast(number_of_pointer(b, x[0]), {Kind::ptr})};
        Value* const copy = copy_of_pointer(b, x[0]);
        for (std::int64_t i = 0; i < n_; ++i)
          out.push_back(
              b.both(b.cmp("eq", copy, b.constant(type_u32, i)), x.size() > 1 ? x[1] : nullptr));
        return out;
      },
      role("collection"));
  const auto ordered = static_cast<std::size_t>(free.int_attr("ordered"));
  const auto waits = free.operands().subspan(2, ordered);
  Bundle voids;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    Bundle operands = {pools[i], mine[0]};
    operands.insert(operands.end(), waits.begin(), waits.end());
    operands.push_back(mine[i + 1]);
    AttrMap attrs = role("collection");
    attrs.emplace("predicated", true);
    if (ordered != 0) attrs.emplace("ordered", static_cast<std::int64_t>(ordered));
    voids.push_back(
        node(ops::flow_free, operands, {stream_of(type_void, depth)}, std::move(attrs))->result());
  }
  Value* const done =
      node(ops::flow_void_join, voids, {stream_of(type_void, depth)}, role("collection"))->result();
  free.result()->replace_all_uses_with(done);
  free.erase();
}

}  // namespace revet
