/// Lowering of the file, and what all of lowering shares: variables, regions, open memory.
#include "lower.hpp"

#include <algorithm>

#include "prune.hpp"
#include "revet/diagnostics.hpp"

namespace revet {

using ast::ExprKind;
using ast::Operator;

std::unique_ptr<Module> Lowering::run() {
  builder_.set_end(module_->body());
  for (ast::Item& item : ast_.items) {
    if (item.memory) dram(*item.memory);
  }
  for (ast::Item& item : ast_.items) {
    if (item.function) function(*item.function);
  }
  prune(module_->body());
  return std::move(module_);
}

Attr Lowering::size_attr(const Expr& e) {
  auto integer = [&] {
    return e.type.is_signed() && e.kind != ExprKind::literal
               ? std::int64_t{static_cast<std::int32_t>(e.bits)}
               : std::int64_t{e.bits};
  };
  auto form = [&](const char* op) {
    Attr::Array a{Attr(op)};
    for (const Expr* x : e.operands) a.push_back(size_attr(*x));
    return Attr(std::move(a));
  };
  switch (e.kind) {
    case ExprKind::literal: return integer();
    case ExprKind::name: return e.constant ? Attr(integer()) : Attr(e.name);
    case ExprKind::chain: {
      Attr left = size_attr(*e.operands[0]);
      for (std::size_t i = 0; i < e.ops.size(); ++i) {
        Attr right = size_attr(*e.operands[i + 1]);
        left =
            Attr(Attr::Array{Attr(ast::spelling(e.ops[i].op)), std::move(left), std::move(right)});
      }
      return left;
    }
    case ExprKind::conditional: return form("?:");
    case ExprKind::unary:
      if (e.op == Operator::plus) return size_attr(*e.operands[0]);
      return form(e.op == Operator::neg ? "neg" : ast::spelling(e.op));
    default: return form(e.name == "select" ? "?:" : std::string(e.name).c_str());
  }
}

void Lowering::dram(ast::MemoryDecl& m) {
  AttrMap attrs{{"sym", Attr(m.name)}};
  if (m.size) attrs.emplace("size", size_attr(*m.size));
  builder_.set_loc(m.name_loc);
  Value* v = builder_.create(ops::mem_dram, {}, {dram_of(m.element)}, std::move(attrs))->result();
  v->set_name(std::string(m.name));
  m.symbol->slot = static_cast<int>(memories_.size());
  memories_.push_back(v);
}

void Lowering::function(ast::Function& f) {
  Attr::Array names;
  for (const ast::Parameter& p : f.parameters) names.emplace_back(p.name);
  builder_.set_end(module_->body());
  builder_.set_loc(f.loc);
  Op* op =
      builder_.create(ops::thread_func, {}, {},
                      {{"sym", Attr(f.name)}, {"args", std::move(names)}, {"result", f.result}}, 1);
  Block& entry = op->region().add_block();
  builder_.set_end(entry);
  variables_.clear();
  log_.clear();
  open_.clear();
  thread_ = {};
  for (ast::Parameter& p : f.parameters) {
    p.symbol->slot = add_variable(entry.add_arg(p.type, std::string(p.name)), p.name);
  }
  if (f.flow & ast::flow_return)
    thread_.returned = add_variable(builder_.constant(type_i1, 0), "returned");
  if (f.result != type_void)
    thread_.result = add_variable(builder_.constant_of_bits(f.result, 0), "result");
  if (block(f.body) == End::exited) return;
  builder_.set_loc(f.body.close);
  if (f.result == type_void) {
    builder_.create(ops::thread_return, {});
  } else {
    builder_.create(ops::thread_return, {current(thread_.result)});
  }
}

// --- variables and regions ----------------------------------------------------------------------

int Lowering::add_variable(Value* value, std::string_view name) {
  variables_.push_back({value, std::string(name)});
  if (value->name().empty()) value->set_name(std::string(name));
  return static_cast<int>(variables_.size()) - 1;
}

void Lowering::assign(int slot, Value* value) {
  Variable& v = variables_[static_cast<std::size_t>(slot)];
  if (v.value == value) return;
  log_.push_back({slot, v.value});
  v.value = value;
  if (value->name().empty()) value->set_name(v.name);
}

Lowering::Arm Lowering::finish_arm(Block& block, End end, std::size_t log, std::size_t variables) {
  Arm result;
  result.block = &block;
  result.end = end;
  std::vector<Change> changes(log_.begin() + static_cast<std::ptrdiff_t>(log), log_.end());
  log_.resize(log);
  variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(variables), variables_.end());
  std::erase_if(changes,
                [&](const Change& c) { return static_cast<std::size_t>(c.slot) >= variables; });
  // The first change of each variable holds what it was before the region.
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.slot < b.slot; });
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& c = changes[i];
    if (i > 0 && changes[i - 1].slot == c.slot) continue;
    Variable& v = variables_[static_cast<std::size_t>(c.slot)];
    if (v.value != c.before) result.changed.emplace_back(c.slot, v.value);
    v.value = c.before;
  }
  return result;
}

void Lowering::terminate(Block& block, const OpInfo& info, std::span<Value* const> operands) {
  Builder b(block);
  b.set_loc(builder_.loc());
  b.create(info, operands);
}

Value* Lowering::merge(Op& op, Arm& a, Arm& b) {
  std::vector<Value*> from_a;
  std::vector<Value*> from_b;
  Value* value = nullptr;
  if (a.value) {
    from_a.push_back(a.value);
    from_b.push_back(b.value);
    value = op.add_result(a.value->type());
  }
  auto x = a.changed.begin();
  auto y = b.changed.begin();
  while (x != a.changed.end() || y != b.changed.end()) {
    bool in_a = x != a.changed.end() && (y == b.changed.end() || x->first <= y->first);
    bool in_b = y != b.changed.end() && (x == a.changed.end() || y->first <= x->first);
    int slot = in_a ? x->first : y->first;
    Value* left = in_a ? (x++)->second : current(slot);
    Value* right = in_b ? (y++)->second : current(slot);
    // An arm that exits leaves only the other's value.
    if (!a.open()) left = right;
    if (!b.open()) right = left;
    if (!a.open() && !b.open()) continue;
    if ((!a.open() && !in_b) || (!b.open() && !in_a)) continue;
    if (left == right && left == current(slot)) continue;
    from_a.push_back(left);
    from_b.push_back(right);
    assign(slot, op.add_result(left->type(), variables_[static_cast<std::size_t>(slot)].name));
  }
  if (a.open()) terminate(*a.block, ops::thread_yield, from_a);
  if (b.open()) terminate(*b.block, ops::thread_yield, from_b);
  return value;
}

Lowering::End Lowering::combine(End a, End b) {
  if (a == End::exited) return b;
  if (b == End::exited) return a;
  return a == b ? a : End::maybe;
}

// --- open memory --------------------------------------------------------------------------------

void Lowering::close_memory(std::size_t down_to) {
  for (std::size_t i = open_.size(); i > down_to; --i) {
    const OpenMemory& m = open_[i - 1];
    const OpInfo& info = ast::is_view(m.form)       ? ops::mem_view_close
                         : ast::is_iterator(m.form) ? ops::mem_iter_close
                                                    : ops::mem_sram_free;
    builder_.create(info, {m.value});
  }
}

void Lowering::exit_thread() {
  close_memory(thread_.open);
  builder_.create(ops::thread_exit, {});
}

}  // namespace revet
