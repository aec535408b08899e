#include "mapping/check_model.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace revet::mapping::check {

using namespace ops;

bool carries_data(const Value& stream) { return stream.type().element != Kind::none; }

bool is_merging(const Op& op) { return op.is(flow_merge) || op.is(flow_fb_merge); }

bool accesses_sram(const Op& op) {
  return op.is(flow_alloc) || op.is(flow_free) || op.is(flow_sram_fill) || op.is(flow_sram_load) ||
         op.is(flow_sram_store) || op.is(flow_sram_atomic) || op.is(flow_sram_cas);
}

bool accesses_dram(const Op& op) {
  return op.is(flow_dram_load) || op.is(flow_dram_store) || op.is(flow_dram_atomic) ||
         op.is(flow_dram_cas) || op.is(flow_bulk_load) || op.is(flow_bulk_store);
}

bool only_constants(const Op& op) {
  if (!op.is(flow_context)) return false;
  for (const Value* v : op.body().terminator()->operands())
    if (v->is_argument() || !(v->def()->is(arith_constant) || v->def()->is(mem_dram_size)))
      return false;
  return true;
}

unsigned stages_needed(const Op& op) {
  if (op.is(flow_deal)) return 1;  // the counter that it keeps
  // Halving 16 lanes four times, and the accumulator; a void has nothing to add up.
  if (op.is(flow_reduce)) return op.str_attr("op") == "void" ? 0 : 5;
  if (!op.is(flow_context)) return 0;
  unsigned stages = 0;
  for (const Op& inner : op.body()) {
    if (inner.is(flow_yield) || inner.is(arith_constant) || inner.is(mem_dram_size)) continue;
    // An operation reads and writes parts of registers as it reads and writes registers.
    if (inner.is(arith_extract) || inner.is(arith_insert)) continue;
    if (inner.is(arith_cast)) {
      const Type from = inner.operand(0)->type(), to = inner.result()->type();
      if (!from.is_float() && !to.is_float() && to.kind != Kind::i1) continue;
    }
    ++stages;
  }
  return stages;
}

namespace {

bool part_per_result(const Op& op) {
  return is_merging(op) || op.is(flow_filter) || op.is(flow_broadcast) || op.is(flow_flatten) ||
         op.is(flow_strip);
}

/// What part `i` of a node takes and gives.
Part part_of(const Op& op, unsigned i) {
  Part p{&op, i, nowhere, {}, {}};
  const unsigned n = op.num_operands();
  const auto take = [&](unsigned operand, Intake as) {
    const Value* v = op.operand(operand);
    if (v->type().kind == Kind::stream) p.takes.push_back({v, as});
  };
  if (is_merging(op)) {
    take(i, Intake::left);
    take(op.num_results() + i, Intake::right);
  } else if (op.is(flow_filter)) {
    take(0, Intake::plain);
    take(i + 1, Intake::plain);
  } else if (op.is(flow_broadcast)) {
    take(i, Intake::parent);
    take(n - 1, Intake::plain);
  } else if (op.is(flow_flatten) || op.is(flow_strip)) {
    take(i, Intake::plain);
  } else {
    for (unsigned k = 0; k < n; ++k) take(k, op.is(flow_counter) ? Intake::parent : Intake::plain);
  }
  if (part_per_result(op))
    p.gives.push_back(op.result(i));
  else
    for (const auto& r : op.results())
      if (r->type().kind == Kind::stream) p.gives.push_back(r.get());
  return p;
}

}  // namespace

Model::Model(const Op& graph_, std::vector<Fault>& faults) : graph(graph_) {
  read_units(faults);
  read_parts(faults);
  order_parts();
  find_threads();
}

void Model::read_units(std::vector<Fault>& faults) {
  const Attr* rows = graph.attr("units");
  if (!rows || !rows->as_array()) return;
  for (const Attr& row : *rows->as_array()) {
    const Attr::Array* cells = row.as_array();
    const std::string* kind = cells && cells->size() >= 3 ? (*cells)[0].as_string() : nullptr;
    CheckedUnit u;
    if (!kind || !(*cells)[2].as_string() || (*kind != "CU" && *kind != "MU" && *kind != "AG")) {
      faults.push_back({fmt::format("1: unit {} is no [kind, role, name]", units.size()), &graph});
    } else {
      u.kind = *kind == "CU"   ? UnitKind::compute
               : *kind == "MU" ? UnitKind::memory
                               : UnitKind::address;
      u.name = *(*cells)[2].as_string();
      if (cells->size() == 5 && (*cells)[3].as_int() && (*cells)[4].as_int())
        u.place = {static_cast<int>(*(*cells)[3].as_int()),
                   static_cast<int>(*(*cells)[4].as_int())};
    }
    units.push_back(std::move(u));
  }
}

std::vector<int> Model::numbers(const Op& op, const char* attr, std::vector<Fault>& faults) const {
  std::vector<int> out;
  const Attr* list = op.attr(attr);
  if (!list || !list->as_array()) return out;
  for (const Attr& a : *list->as_array()) {
    const std::int64_t n = a.as_int() ? *a.as_int() : -1;
    const bool there = n >= 0 && n < static_cast<std::int64_t>(units.size());
    if (!there)
      faults.push_back({fmt::format("1: {} has unit {} of {}", op.name(), n, units.size()), &op});
    out.push_back(there ? static_cast<int>(n) : nowhere);
  }
  return out;
}

void Model::read_parts(std::vector<Fault>& faults) {
  for (const Op& op : graph.body()) {
    std::vector<int> of = numbers(op, "unit", faults);
    if (op.is(flow_sram)) {
      memories[&op] = std::move(of);
      continue;
    }
    const unsigned n = part_per_result(op) ? op.num_results() : 1;
    const bool outside = op.is(flow_source) || op.is(flow_sink);
    if (!outside && of.size() != n)
      faults.push_back(
          {fmt::format("1: {} has {} units for {} parts", op.name(), of.size(), n), &op});
    of.resize(n, nowhere);
    for (unsigned i = 0; i < n; ++i) {
      Part p = part_of(op, i);
      if (!outside) p.unit = of[i];
      for (const Value* v : p.gives) writers[v] = parts.size();
      for (const Part::Taken& t : p.takes) readers[t.stream].emplace_back(parts.size(), t.as);
      parts.push_back(std::move(p));
    }
    if (!op.is(flow_fb_merge)) continue;
    const std::vector<int> on_back = numbers(op, "back", faults);
    std::size_t at = 0;
    for (unsigned i = 0; i < n && at < on_back.size(); ++i)
      if (carries_data(*op.result(i))) back[{&op, i}] = on_back[at++];
  }
}

/// Depth first from what each part takes; back edges are not followed.
void Model::order_parts() {
  std::vector<bool> seen(parts.size(), false);
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // part, next that it takes
  for (std::size_t first = 0; first < parts.size(); ++first) {
    if (seen[first]) continue;
    seen[first] = true;
    stack.emplace_back(first, 0);
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      const Part& p = parts[at];
      if (next == p.takes.size()) {
        if (p.unit != nowhere) units[static_cast<std::size_t>(p.unit)].parts.push_back(at);
        stack.pop_back();
        continue;
      }
      const Part::Taken& t = p.takes[next++];
      if (t.as == Intake::right && p.op->is(flow_fb_merge)) continue;
      const std::size_t from = writers.at(t.stream);
      if (seen[from]) continue;
      seen[from] = true;
      stack.emplace_back(from, 0);
    }
  }
}

// --- threads

bool Model::join(const Value& a, const Value& b) {
  const auto root = [&](const Value* v) {
    while (same_.at(v) != v) v = same_[v] = same_.at(same_.at(v));
    return v;
  };
  const Value *x = root(&a), *y = root(&b);
  if (x == y) return false;
  if (writers.at(x) < writers.at(y)) std::swap(x, y);
  same_[x] = y;
  return true;
}

unsigned Model::threads_of(const Value& stream) const {
  const Value* v = &stream;
  while (same_.at(v) != v) v = same_.at(v);
  return static_cast<unsigned>(writers.at(v));
}

unsigned Model::threads_of(const Part& part) const {
  const Op& op = *part.op;
  const bool begins = is_merging(op) || op.is(flow_counter) || op.is(flow_broadcast);
  if (!begins && !part.takes.empty()) return threads_of(*part.takes[0].stream);
  return part.gives.empty() ? ~0u : threads_of(*part.gives[0]);
}

void Model::find_threads() {
  for (const Part& p : parts)
    for (const Value* v : p.gives) same_[v] = v;
  const auto join_all = [&](const std::vector<const Value*>& values) {
    for (std::size_t i = 1; i < values.size(); ++i) join(*values[0], *values[i]);
  };
  for (const Op& op : graph.body()) {
    if (op.is(flow_sink)) continue;
    std::vector<const Value*> in, out;
    for (const Value* v : op.operands())
      if (v->type().kind == Kind::stream) in.push_back(v);
    for (const auto& r : op.results())
      if (r->type().kind == Kind::stream) out.push_back(r.get());
    if (is_merging(op)) {
      const auto middle = in.begin() + static_cast<std::ptrdiff_t>(in.size() / 2);
      join_all({in.begin(), middle});
      join_all({middle, in.end()});
      join_all(out);
    } else if (op.is(flow_broadcast)) {
      out.push_back(in.back());
      in.pop_back();
      join_all(in);
      join_all(out);
    } else if (part_per_result(op) || op.is(flow_counter) || op.is(flow_reduce)) {
      join_all(in);
      join_all(out);
    } else {
      in.insert(in.end(), out.begin(), out.end());
      join_all(in);
    }
  }
  // Filters by one predicate keep the same threads; so do nodes of a kind that take a level off the
  // same threads. What that joins may show more of it.
  const auto unbuffered = [&](const Value* v) {
    while (v->def()->is(flow_buffer)) v = v->def()->operand(0);
    return v;
  };
  std::map<std::pair<const Value*, bool>, const Value*> filters;
  for (const Op& op : graph.body())
    if (op.is(flow_filter)) {
      const auto [at, first] =
          filters.insert({{unbuffered(op.operand(0)), op.flag("polarity")}, op.result(0)});
      if (!first) join(*at->second, *op.result(0));
    }
  for (bool more = true; more;) {
    more = false;
    std::map<std::pair<unsigned, const OpInfo*>, const Value*> lowered;
    for (const Op& op : graph.body()) {
      if (!op.is(flow_flatten) && !op.is(flow_strip) && !op.is(flow_reduce)) continue;
      const auto [at, first] =
          lowered.insert({{threads_of(*op.operand(0)), &op.info()}, op.result(0)});
      if (!first) more |= join(*at->second, *op.result(0));
    }
  }
}

}  // namespace revet::mapping::check
