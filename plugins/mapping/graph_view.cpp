#include "mapping/graph_view.hpp"

#include <algorithm>

namespace revet::mapping {

using namespace ops;

LinkKind link_kind(const Value& v) {
  if (is_void(v)) return LinkKind::control;
  return v.type().scalar_link ? LinkKind::scalar : LinkKind::vector;
}

bool is_merge(const Op& op) { return op.is(flow_merge) || op.is(flow_fb_merge); }

bool is_bundle_node(const Op& op) {
  return is_merge(op) || op.is(flow_filter) || op.is(flow_broadcast) || op.is(flow_flatten) ||
         op.is(flow_strip);
}

bool is_on_chip(const Op& op) {
  return op.name().starts_with("flow.sram_") || op.is(flow_alloc) || op.is(flow_free);
}

bool is_off_chip(const Op& op) {
  return op.name().starts_with("flow.dram_") || op.name().starts_with("flow.bulk_");
}

unsigned forward_operands(const Op& op) {
  return op.is(flow_fb_merge) ? op.num_operands() / 2 : op.num_operands();
}

bool is_constant_op(const Op& op) { return op.is(arith_constant) || op.is(mem_dram_size); }

bool is_constant(const Op& op) {
  if (!op.is(flow_context)) return false;
  const std::span<Value* const> given = op.body().terminator()->operands();
  return std::all_of(given.begin(), given.end(),
                     [](const Value* v) { return v->def() && is_constant_op(*v->def()); });
}

Value* sram_of(const Op& op) {
  if (!is_on_chip(op) && !op.name().starts_with("flow.bulk_")) return nullptr;
  for (Value* v : op.operands())
    if (v->type().kind == Kind::sram) return v;
  return nullptr;
}

AttrMap marks_of_place(const Op& op) {
  AttrMap out;
  for (const char* name : {"replicate", "copy", "role"})
    if (const Attr* a = op.attr(name)) out.emplace(name, *a);
  return out;
}

bool takes_stage(const Op& op) {
  if (op.is(arith_constant) || op.is(arith_extract) || op.is(arith_insert) ||
      op.is(mem_dram_size) || op.is(flow_yield))
    return false;
  // Conversions to or from floats compute, and so does the test that makes a bool.
  if (op.is(arith_cast)) {
    const Kind from = op.operand(0)->type().kind;
    const Kind to = op.result()->type().kind;
    return from == Kind::f32 || to == Kind::f32 || to == Kind::i1;
  }
  return true;
}

unsigned stages_of(const Op& node) {
  if (node.is(flow_context)) {
    unsigned n = 0;
    for (const Op& op : node.body()) n += takes_stage(op);
    return n;
  }
  // A tree over 16 lanes and the accumulator.
  if (node.is(flow_reduce)) return node.str_attr("op") == "void" ? 0 : 5;
  return node.is(flow_deal) ? 1 : 0;
}

std::vector<Value*> reads(const Slice& s) {
  const Op& op = *s.op;
  const unsigned half = op.num_operands() / 2;
  if (is_merge(op)) return {op.operand(s.index), op.operand(half + s.index)};
  if (op.is(flow_filter)) return {op.operand(0), op.operand(1 + s.index)};
  if (op.is(flow_broadcast)) return {op.operand(s.index), op.operand(op.num_operands() - 1)};
  if (op.is(flow_flatten) || op.is(flow_strip)) return {op.operand(s.index)};
  std::vector<Value*> out;
  for (Value* v : op.operands())
    if (is_stream(*v) && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
  return out;
}

std::vector<Value*> writes(const Slice& s) {
  if (is_bundle_node(*s.op)) return {s.op->result(s.index)};
  std::vector<Value*> out;
  for (const auto& r : s.op->results())
    if (is_stream(*r)) out.push_back(r.get());
  return out;
}

std::vector<Slice> slices_of(Op& op) {
  std::vector<Slice> out;
  const unsigned n = is_bundle_node(op) ? op.num_results() : 1;
  for (unsigned i = 0; i < n; ++i) out.push_back({&op, i});
  return out;
}

std::vector<Slice> readers(const Use& use) {
  Op& op = *use.op;
  if (is_merge(op)) return {{&op, use.index % (op.num_operands() / 2)}};
  if (op.is(flow_filter) && use.index != 0) return {{&op, use.index - 1}};
  if (op.is(flow_broadcast) && use.index + 1 != op.num_operands()) return {{&op, use.index}};
  if (op.is(flow_flatten) || op.is(flow_strip)) return {{&op, use.index}};
  return slices_of(op);
}

Slice writer(const Value& v) { return {v.def(), is_bundle_node(*v.def()) ? v.index() : 0}; }

std::vector<Op*> topological(const Op& graph) {
  std::map<const Op*, unsigned> open;
  std::vector<Op*> order;
  const auto forward = [](const Op& op, unsigned operand) {
    return is_stream(*op.operand(operand)) && operand < forward_operands(op);
  };
  for (Op& op : graph.body()) {
    unsigned n = 0;
    for (unsigned i = 0; i < op.num_operands(); ++i) n += forward(op, i);
    open[&op] = n;
    if (n == 0) order.push_back(&op);
  }
  for (std::size_t at = 0; at < order.size(); ++at)
    for (const auto& r : order[at]->results())
      for (const Use& use : r->uses())
        if (forward(*use.op, use.index) && --open[use.op] == 0) order.push_back(use.op);
  return order;
}

// --- domains

Domains::Domains(const Op& graph) {
  for (Op& op : graph.body())
    for (const auto& r : op.results())
      if (is_stream(*r)) {
        ids_[r.get()] = static_cast<unsigned>(parents_.size());
        parents_.push_back(static_cast<unsigned>(parents_.size()));
      }
  for (Op& op : graph.body()) {
    const auto join_all = [&](unsigned from, unsigned to) {
      for (unsigned i = from + 1; i < to; ++i) join(*op.operand(from), *op.operand(i));
    };
    const auto join_results = [&] {
      for (unsigned i = 1; i < op.num_results(); ++i) join(*op.result(0), *op.result(i));
    };
    const unsigned n = op.num_operands();
    if (op.is(flow_sram) || op.is(flow_sink) || op.is(flow_source)) continue;
    if (is_merge(op)) {
      join_all(0, n / 2);
      join_all(n / 2, n);
      join_results();
    } else if (op.is(flow_broadcast)) {
      join_all(0, n - 1);
      for (const auto& r : op.results()) join(*r, *op.operand(n - 1));
    } else if (is_bundle_node(op) || op.is(flow_counter) || op.is(flow_reduce)) {
      join_all(0, n);
      join_results();
    } else {
      const Value* first = nullptr;
      for (const Value* v : op.operands()) {
        if (!is_stream(*v)) continue;
        if (first) join(*first, *v);
        first = v;
      }
      for (const auto& r : op.results())
        if (first && is_stream(*r)) join(*first, *r);
    }
  }
  // Nodes of one decision may stand apart, one for each unit.
  const std::vector<Op*> order = topological(graph);
  std::map<std::pair<const Value*, bool>, const Value*> filtered;
  std::map<std::pair<unsigned, const OpInfo*>, const Value*> lowered;
  for (const Op* op : order) {
    if (op->is(flow_filter)) {
      const auto [at, first] =
          filtered.insert({{op->operand(0), op->flag("polarity")}, op->result(0)});
      if (!first) join(*at->second, *op->result(0));
    }
    if (op->is(flow_strip) || op->is(flow_flatten) || op->is(flow_reduce)) {
      const auto [at, first] = lowered.insert({{of(*op->operand(0)), &op->info()}, op->result(0)});
      if (!first) join(*at->second, *op->result(0));
    }
  }
  levels(order);
}

unsigned Domains::root(unsigned i) const {
  while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
  return i;
}

void Domains::join(const Value& a, const Value& b) {
  const unsigned x = root(ids_.at(&a)), y = root(ids_.at(&b));
  parents_[std::max(x, y)] = std::min(x, y);
}

unsigned Domains::working(const Slice& s) const {
  const Op& op = *s.op;
  if (is_merge(op) || op.is(flow_counter) || op.is(flow_broadcast)) return of(*op.result(0));
  const std::vector<Value*> in = reads(s);
  return of(in.empty() ? *op.result(0) : *in[0]);
}

void Domains::levels(const std::vector<Op*>& order) {
  for (Op* op : order) {
    std::pair<unsigned, unsigned> level{0, 0};
    for (const Value* v : op->operands())
      if (const auto at = levels_.find(v); at != levels_.end()) level = std::max(level, at->second);
    if (op->is(flow_fb_merge)) level = {level.first + 1, level.second + 1};
    if (op->is(flow_strip) && level.first != 0) level = {level.first - 1, level.second - 1};
    if (op->is(flow_counter)) ++level.second;
    if ((op->is(flow_flatten) || op->is(flow_reduce)) && level.second != 0) --level.second;
    for (const auto& r : op->results())
      if (is_stream(*r)) levels_[r.get()] = level;
  }
}

}  // namespace revet::mapping
