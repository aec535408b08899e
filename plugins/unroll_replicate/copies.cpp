#include "copies.hpp"

#include <algorithm>
#include <bit>

#include "revet/diagnostics.hpp"

namespace revet {
namespace {

bool is_memory_access(const Op& op) {
  return op.name().starts_with("flow.sram_") || op.is(ops::flow_bulk_load) ||
         op.is(ops::flow_bulk_store);
}

unsigned depth_of(const Value& v) { return v.type().size; }

Type scalar_link(Type t, bool scalar) {
  t.scalar_link = scalar;
  return t;
}

/// As link-kinds has it: behind a loop, also where several such streams meet.
bool leaves_loop(const Value& v) {
  const Op& def = *v.def();
  if (!def.is(ops::flow_merge)) return def.is(ops::flow_strip);
  return leaves_loop(*def.operand(v.index())) &&
         leaves_loop(*def.operand(def.num_operands() / 2 + v.index()));
}

}  // namespace

Copies::Copies(const Mark& mark, ReplicateRegion region, const Plan& plan)
    : mark_(mark), region_(std::move(region)), plan_(plan), n_(plan.copies) {}

void Copies::write() {
  if (region_.nodes.empty()) return;
  size_memories();
  if (plan_.vectors) mark_links();
  if (n_ == 1 || region_.entering.empty()) return relabel();
  tables_ = copy_tables(region_, n_);
  place_ = region_.nodes[region_.taken_in];
  b_ = Builder::before(*place_);
  b_.set_loc(mark_.loc);
  numbers_ = region_.hoisted && (!plan_.by_pointer || !region_.hoisted->inside.empty());
  // Threads come to all copies together, a vector at a time; what was taken in goes out no more.
  Bundle vectors = region_.entering;
  for (std::size_t i = 0; i < region_.taken_in; ++i) vectors.push_back(region_.nodes[i]->result());
  for (Value* v : vectors)
    if (depth_of(*v) > 1 && !v->def()->has_attr("link") && !leaves_loop(*v))
      v->set_type(scalar_link(v->type(), false));
  Value* const k = key();
  std::vector<Copy> copies(static_cast<std::size_t>(n_));
  for (std::int64_t i = 0; i < n_; ++i) {
    Copy& copy = copies[static_cast<std::size_t>(i)];
    deliver(copy, i, k);
    add_memories(copy, i);
    fill(copy, i);
  }
  collect(copies);
  erase_region();
  if (region_.hoisted && !plan_.by_pointer) split_pool(copies);
}

void Copies::mark_links() const {
  const auto mark = [](const Value* v) {
    if (depth_of(*v) > 1 && !v->def()->has_attr("link")) v->def()->set_attr("link", "vector");
  };
  for (const Value* v : region_.entering) mark(v);
  for (const Leaving& leaving : region_.leaving)
    for (const Value* v : leaving.values) mark(v);
}

void Copies::relabel() {
  for (Op* op : region_.nodes) place(*op, 0);
}

/// Takes the region's mark off and says which copy the node is in.
void Copies::place(Op& op, std::int64_t copy) const {
  if (mark_.outer.empty())
    op.remove_attr("replicate");
  else
    op.set_attr("replicate", mark_.outer);
  Attr::Array in = {Attr(Attr::Array{Attr(mark_.id), Attr(copy)})};
  if (const Attr* inner = op.attr("copy"); inner && inner->as_array())
    in.insert(in.end(), inner->as_array()->begin(), inner->as_array()->end());
  op.set_attr("copy", std::move(in));
}

Value* Copies::key() {
  Bundle& in = region_.entering;
  if (region_.hoisted) {
    Value* const p = region_.hoisted->pointer;
    return context(
        {p}, {type_u32},
        [&](Builder& b, const Bundle& x) { return Bundle{copy_of_pointer(b, x[0])}; },
        role("distribution"))[0];
  }
  // One stream is enough to count the threads; the others wait at the filters.
  const auto is_void = [](const Value* v) { return v->type().element == Kind::none; };
  const auto found = std::find_if(in.begin(), in.end(), is_void);
  Value* const counted = found == in.end() ? in.front() : *found;
  AttrMap attrs = role("distribution");
  attrs.emplace("keys", n_);
  const Op* deal =
      node(ops::flow_deal, {&counted, 1},
           {scalar_link(counted->type(), false), stream_of(type_u32, depth_of(*counted))},
           std::move(attrs));
  deal->result(0)->set_name(counted->name());
  dealt_ = {counted, deal->result(0)};
  return deal->result(1);
}

void Copies::deliver(Copy& copy, std::int64_t i, Value* key) {
  const auto mine = [&](Builder& b, const Bundle& x) {
    return Bundle{b.cmp("eq", x[0], b.constant(type_u32, i))};
  };
  Bundle operands = context({key}, {type_i1}, mine, role("distribution"));
  std::vector<Type> types;
  for (Value* v : region_.entering) {
    operands.push_back(v == dealt_.first ? dealt_.second : v);
    types.push_back(scalar_link(v->type(), !plan_.vectors));
  }
  const char* const link = plan_.vectors ? "vector" : "scalar";
  AttrMap attrs = role("distribution", link);
  attrs.emplace("polarity", true);
  const Op* filter = node(ops::flow_filter, operands, types, std::move(attrs));
  for (unsigned k = 0; k < region_.entering.size(); ++k) {
    const Value* const v = region_.entering[k];
    Value* out = filter->result(k);
    out->set_name(v->name());
    if (plan_.buffer != 0) {
      AttrMap buffer = role("distribution", link);
      buffer.emplace("depth", plan_.buffer);
      out = node(ops::flow_buffer, {&out, 1}, {out->type()}, std::move(buffer))->result();
      out->set_name(v->name());
    }
    copy.delivered[v] = copy.cloning.values[v] = out;
  }
}

/// The copy's own memories, of the buffers 0 .. T-1. Those that are left of the region's say how
/// many pointers there are.
void Copies::add_memories(Copy& copy, std::int64_t i) {
  if (!numbers_) return;
  const Hoisted& hoisted = *region_.hoisted;
  Value* owner = nullptr;
  for (Value* memory : hoisted.members) {
    const bool inside =
        std::find(hoisted.inside.begin(), hoisted.inside.end(), memory) != hoisted.inside.end();
    if (!inside && (plan_.by_pointer || memory != hoisted.owner)) continue;
    Op& made = *node(ops::flow_sram, {&owner, owner ? 1u : 0u}, {memory->type()},
                     AttrMap(memory->def()->attrs()));
    made.set_loc(memory->def()->loc());
    made.remove_attr("regions");
    if (!plan_.by_pointer && !owner) made.set_attr("threads", buffers_per_copy());
    place(made, i);
    made.result()->set_name(memory->name());
    copy.memories[memory] = made.result();
    if (!owner) owner = made.result();
  }
  if (!plan_.by_pointer) copy.pool = owner;
}

void Copies::fill(Copy& copy, std::int64_t i) {
  if (numbers_ && copy.delivered.count(region_.hoisted->pointer) != 0) {
    Value* const p = copy.delivered.at(region_.hoisted->pointer);
    Value* const number = context({p}, {{Kind::ptr}}, [&](Builder& b, const Bundle& x) {
      return Bundle{b.cast(number_of_pointer(b, x[0]), {Kind::ptr})};
    })[0];
    number->set_name(p->name());
    place(*number->def(), i);
    copy.cloning.values[region_.hoisted->pointer] = number;
  }
  for (const Op* op : region_.nodes)
    copy.nodes.push_back(place_->block()->insert(clone_op(*op, copy.cloning), place_));
  for (std::size_t k = 0; k < copy.nodes.size(); ++k) {
    const Op& original = *region_.nodes[k];
    Op& node = *copy.nodes[k];
    // What goes round a loop was not there yet when its header was copied.
    for (unsigned j = 0; j < node.num_operands(); ++j)
      if (node.operand(j) == original.operand(j))
        node.set_operand(j, copy.cloning.map(original.operand(j)));
    if (original.is(ops::flow_sram_load)) {
      const Tables& tables = tables_[static_cast<std::size_t>(i)];
      const auto own = tables.find(original.operand(0));
      if (own != tables.end()) node.set_operand(0, own->second);
    }
    place(node, i);
  }
  if (!numbers_) return;
  for (std::size_t k = 0; k < copy.nodes.size(); ++k)
    connect_pointers(copy, i, *region_.nodes[k], *copy.nodes[k]);
}

bool Copies::takes_number(const Op& op) const {
  if (moves_bundle(op)) return true;
  const std::vector<Value*>& inside = region_.hoisted->inside;
  if (is_memory_access(op))
    return std::find(inside.begin(), inside.end(), op.operand(0)) != inside.end();
  return op.is(ops::flow_free) && op.operand(0) == region_.hoisted->owner && !plan_.by_pointer;
}

void Copies::connect_pointers(Copy& copy, std::int64_t i, const Op& original, Op& node) {
  if (is_memory_access(original)) {
    if (const auto own = copy.memories.find(original.operand(0)); own != copy.memories.end())
      if (takes_number(original)) node.set_operand(0, own->second);
  } else if (original.is(ops::flow_free) && takes_number(original)) {
    node.set_operand(0, copy.pool);
  }
  if (takes_number(original)) return;
  for (unsigned j = 0; j < node.num_operands(); ++j)
    if (region_.hoisted->streams.count(original.operand(j)) != 0)
      node.set_operand(j, pointer_of(copy, i, node.operand(j)));
}

Value* Copies::pointer_of(Copy& copy, std::int64_t i, Value* number) {
  Value*& made = copy.pointers[number];
  if (made) return made;
  made = context({number}, {{Kind::ptr}}, [&](Builder& b, const Bundle& x) {
    return Bundle{pointer_of_number(b, b.cast(x[0], type_u32), b.constant(type_u32, i))};
  })[0];
  made->set_name(number->name());
  if (plan_.vectors) made->def()->set_attr("link", "vector");
  place(*made->def(), i);
  return made;
}

void Copies::collect(std::vector<Copy>& copies) {
  for (const Leaving& leaving : region_.leaving) {
    std::vector<Bundle> sides;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      Copy& copy = copies[i];
      Bundle side;
      for (Value* v : leaving.values) {
        const auto passing = copy.delivered.find(v);
        Value* out = passing == copy.delivered.end() ? copy.cloning.map(v) : passing->second;
        if (numbers_ && passing == copy.delivered.end() && region_.hoisted->streams.count(v) != 0)
          out = pointer_of(copy, static_cast<std::int64_t>(i), out);
        if (out->def()->str_attr("link") != "vector") out->set_type(scalar_link(out->type(), true));
        side.push_back(out);
      }
      sides.push_back(std::move(side));
    }
    while (sides.size() > 1) {
      std::vector<Bundle> next;
      for (std::size_t i = 0; i + 1 < sides.size(); i += 2)
        next.push_back(merged(sides[i], sides[i + 1]));
      if (sides.size() % 2 != 0) next.push_back(sides.back());
      sides = std::move(next);
    }
    for (std::size_t k = 0; k < leaving.values.size(); ++k)
      for (const Use& use : leaving.uses[k]) use.op->set_operand(use.index, sides[0][k]);
  }
}

Bundle Copies::merged(const Bundle& a, const Bundle& b) {
  Bundle operands = a;
  operands.insert(operands.end(), b.begin(), b.end());
  const bool scalar = depth_of(*a[0]) == 1;
  std::vector<Type> types;
  for (const Value* v : a) types.push_back(scalar_link(v->type(), scalar));
  const Op* merge =
      node(ops::flow_merge, operands, types, role("collection", scalar ? "scalar" : "vector"));
  Bundle out;
  for (unsigned k = 0; k < a.size(); ++k) {
    out.push_back(merge->result(k));
    out.back()->set_name(a[k]->name());
  }
  return out;
}

/// What the memories that are left have room for.
std::int64_t Copies::buffers_per_copy() const {
  std::int64_t fewest = INT64_MAX;
  for (const Value* memory : region_.hoisted->members)
    fewest = std::min(fewest, ops::buffers_of(*memory->def()));
  return std::max<std::int64_t>(1, fewest / n_);
}

/// As many buffers as before in each copy, whatever the number of copies. What stands once has one
/// for each pointer.
void Copies::size_memories() const {
  if (!region_.hoisted) return;
  for (Value* memory : region_.hoisted->members) {
    Op& op = *memory->def();
    if (op.has_attr("regions"))
      op.set_attr("regions", n_);
    else if (op.has_attr("threads"))
      op.set_attr("threads", (op.int_attr("threads") * n_ + mark_.n - 1) / mark_.n);
  }
}

void Copies::erase_region() {
  for (Op* op : region_.nodes) op->drop_operands();
  for (Op* op : region_.nodes) op->erase();
}

// --- nodes --------------------------------------------------------------------------------------

Op* Copies::node(const OpInfo& info, std::span<Value* const> operands,
                 const std::vector<Type>& results, AttrMap attrs, unsigned regions) {
  if (!mark_.outer.empty()) attrs.insert_or_assign("replicate", Attr(mark_.outer));
  Op* const made = b_.create(info, operands, results, std::move(attrs), regions);
  // Main's own thread is one.
  for (const auto& r : made->results())
    if (r->type().kind == Kind::stream && depth_of(*r) == 1)
      r->set_type(scalar_link(r->type(), true));
  return made;
}

Bundle Copies::context(const Bundle& inputs, const std::vector<Type>& elements,
                       const std::function<Bundle(Builder&, const Bundle&)>& body, AttrMap attrs) {
  std::vector<Type> types;
  for (const Type& t : elements) types.push_back(stream_of(t, depth_of(*inputs[0])));
  Op* const made = node(ops::flow_context, inputs, types, std::move(attrs), 1);
  Block& block = made->region().add_block();
  Bundle args;
  for (const Value* v : inputs) args.push_back(block.add_arg({v->type().element}, v->name()));
  Builder inner(block);
  inner.set_loc(b_.loc());
  const Bundle yielded = body(inner, args);
  inner.create(ops::flow_yield, yielded);
  Bundle out;
  for (const auto& r : made->results()) out.push_back(r.get());
  return out;
}

AttrMap Copies::role(const char* what, const char* link) {
  AttrMap out = {{"role", what}};
  if (link) out.emplace("link", link);
  return out;
}

std::int64_t Copies::shift() const { return std::countr_zero(static_cast<std::uint64_t>(n_)); }

Value* Copies::copy_of_pointer(Builder& b, Value* pointer) const {
  Value* const p = b.cast(pointer, type_u32);
  return is_power() ? b.binary(ops::arith_and, p, b.constant(type_u32, n_ - 1))
                    : b.binary(ops::arith_rem, p, b.constant(type_u32, n_));
}

Value* Copies::number_of_pointer(Builder& b, Value* pointer) const {
  Value* const p = b.cast(pointer, type_u32);
  return is_power() ? b.binary(ops::arith_shr, p, b.constant(type_u32, shift()))
                    : b.binary(ops::arith_div, p, b.constant(type_u32, n_));
}

Value* Copies::pointer_of_number(Builder& b, Value* number, Value* copy) const {
  Value* const first = is_power() ? b.binary(ops::arith_shl, number, b.constant(type_u32, shift()))
                                  : b.binary(ops::arith_mul, number, b.constant(type_u32, n_));
  return b.cast(b.binary(ops::arith_add, first, copy), {Kind::ptr});
}

}  // namespace revet
