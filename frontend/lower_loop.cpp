/// Lowering of while, do, for and foreach.
#include <algorithm>

#include "lower.hpp"

namespace revet {

using ast::StmtKind;

namespace {

void add_pragmas(AttrMap& attrs, const ast::Pragmas& pragmas) {
  if (pragmas.unroll) attrs.emplace("unroll", Attr(*pragmas.unroll));
  if (pragmas.link) attrs.emplace("link", Attr(pragmas.link));
}

}  // namespace

Lowering::End Lowering::loop(Stmt& s) {
  std::size_t variables = variables_.size();
  if (s.init) stmt(*s.init);
  builder_.set_loc(s.loc);
  LoopFlags outer = thread_.loop;
  thread_.loop = {};
  std::uint8_t flow = s.body->flow;
  std::vector<int> carried;
  for (const ast::Symbol* symbol : s.assigned) carried.push_back(symbol->slot);
  std::sort(carried.begin(), carried.end());
  if (flow & ast::flow_return) {
    carried.push_back(thread_.returned);
    if (thread_.result >= 0) carried.push_back(thread_.result);
  }
  if ((flow & ast::flow_break) && s.kind != StmtKind::do_) {
    thread_.loop.broke = add_variable(builder_.constant(type_i1, 0), "broke");
    carried.push_back(thread_.loop.broke);
  }
  std::vector<Value*> inits;
  for (int slot : carried) inits.push_back(current(slot));
  AttrMap attrs;
  add_pragmas(attrs, s.pragmas);
  Op* op = builder_.create(ops::thread_while, inits, {}, std::move(attrs), 2);
  if (s.kind == StmtKind::do_) {
    do_loop(s, *op, carried);
  } else {
    while_loop(s, *op, carried);
  }
  for (int slot : carried) {
    assign(slot,
           op->add_result(current(slot)->type(), variables_[static_cast<std::size_t>(slot)].name));
  }
  thread_.loop = outer;
  variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(variables), variables_.end());
  if (!(s.flow & ast::flow_next)) return End::jumped;
  return flow & ast::flow_return ? End::maybe : End::next;
}

/// The loop's condition where no flag in `stops` is set; false where one is.
Value* Lowering::loop_condition(Stmt& s, std::uint8_t stops) {
  Value* stop = flags(stops);
  bool always = !s.expr || (s.expr->constant && s.expr->bits != 0);
  if (!stop) return s.expr ? condition(*s.expr) : builder_.constant(type_i1, 1);
  Loc loc = builder_.loc();
  if (always) return logical_not(stop);
  if (s.expr->pure) {
    Value* go_on = logical_not(stop);
    Value* c = condition(*s.expr);
    builder_.set_loc(loc);
    return builder_.binary(ops::arith_and, go_on, c);
  }
  Op* op = builder_.create(ops::thread_if, {stop}, {}, {}, 2);
  Arm stopped = arm(op->region(0), {}, [&](Arm& a) {
    a.value = builder_.constant(type_i1, 0);
    return End::next;
  });
  Arm tested = arm(op->region(1), {}, [&](Arm& a) {
    a.value = condition(*s.expr);
    return End::next;
  });
  builder_.set_loc(loc);
  return merge(*op, stopped, tested);
}

void Lowering::while_loop(Stmt& s, Op& op, std::span<const int> carried) {
  std::uint8_t flow = s.body->flow;
  std::uint8_t stops = flow & (ast::flow_break | ast::flow_return);
  std::vector<Value*> values;
  auto keep_values = [&] {
    values.clear();
    for (int slot : carried) values.push_back(current(slot));
  };
  Value* c = nullptr;
  Arm before = arm(op.region(0), carried, [&](Arm&) {
    builder_.set_loc(s.loc);
    c = loop_condition(s, stops);
    keep_values();
    return End::next;
  });
  builder_.set_loc(s.loc);
  values.insert(values.begin(), c);
  terminate(*before.block, ops::thread_condition, values);

  Arm body = arm(op.region(1), carried, [&](Arm&) {
    if (flow & ast::flow_continue) {
      thread_.loop.continued = add_variable(builder_.constant(type_i1, 0), "continued");
    }
    End end = stmt(*s.body);
    if (end != End::exited && s.step && (flow & (ast::flow_next | ast::flow_continue))) {
      builder_.set_loc(s.step->loc);
      Value* stop = end == End::next ? nullptr : flags(stops);
      if (!stop) {
        expr(*s.step);
      } else {
        Op* guard = builder_.create(ops::thread_if, {stop}, {}, {}, 2);
        Arm stopped = arm(guard->region(0), {}, [](Arm&) { return End::next; });
        Arm stepped = arm(guard->region(1), {}, [&](Arm&) {
          expr(*s.step);
          return End::next;
        });
        merge(*guard, stopped, stepped);
      }
    }
    keep_values();
    return end;
  });
  builder_.set_loc(s.loc);
  if (body.open()) terminate(*body.block, ops::thread_yield, values);
}

void Lowering::do_loop(Stmt& s, Op& op, std::span<const int> carried) {
  std::uint8_t flow = s.body->flow;
  std::uint8_t stops = flow & (ast::flow_break | ast::flow_return);
  std::vector<Value*> values;
  // One iteration is all in `before`; `body` hands the values on.
  Arm before = arm(op.region(0), carried, [&](Arm&) {
    if (flow & ast::flow_break)
      thread_.loop.broke = add_variable(builder_.constant(type_i1, 0), "broke");
    if (flow & ast::flow_continue)
      thread_.loop.continued = add_variable(builder_.constant(type_i1, 0), "continued");
    End end = stmt(*s.body);
    if (end == End::exited) return end;
    builder_.set_loc(s.expr->loc);
    bool tested = flow & (ast::flow_next | ast::flow_continue);
    values.push_back(!tested ? builder_.constant(type_i1, 0)
                             : loop_condition(s, end == End::next ? 0 : stops));
    for (int slot : carried) values.push_back(current(slot));
    return end;
  });
  builder_.set_loc(s.loc);
  if (before.open()) terminate(*before.block, ops::thread_condition, values);
  values.clear();
  Arm body = arm(op.region(1), carried, [&](Arm&) {
    for (int slot : carried) values.push_back(current(slot));
    return End::next;
  });
  terminate(*body.block, ops::thread_yield, values);
}

Value* Lowering::foreach (ast::Foreach& f) {
  Type index = f.index_type;
  Value* lo = f.lo ? as(*f.lo, index) : builder_.constant(index, 0);
  Value* hi = as(*f.hi, index);
  Value* step = f.step ? as(*f.step, index) : builder_.constant(index, 1);
  builder_.set_loc(f.loc);
  AttrMap attrs;
  bool reduces = !f.reduce.empty();
  if (reduces) attrs.emplace("reduce", Attr(Attr::Array{Attr(f.reduce)}));
  if (f.body.pragmas.eliminate_hierarchy) attrs.emplace("eliminate_hierarchy", Attr(true));
  add_pragmas(attrs, f.body.pragmas);
  Op* op = builder_.create(ops::thread_foreach, {lo, hi, step}, {}, std::move(attrs), 1);

  Thread parent = thread_;
  thread_ = {};
  thread_.open = open_.size();
  Value* result = nullptr;
  Arm child = arm(op->region(), {}, [&](Arm&) {
    f.index->slot =
        add_variable(builder_.block()->add_arg(index, std::string(f.index_name)), f.index_name);
    if (f.flow & ast::flow_return)
      thread_.returned = add_variable(builder_.constant(type_i1, 0), "returned");
    if (reduces) thread_.result = add_variable(builder_.constant_of_bits(f.result, 0), "result");
    End end = block(f.body);
    if (reduces) result = current(thread_.result);
    return end;
  });
  thread_ = parent;
  if (child.open()) {
    builder_.set_loc(f.body.close);
    Value* const values[] = {result};
    terminate(*child.block, ops::thread_yield,
              reduces ? std::span<Value* const>(values) : std::span<Value* const>());
    builder_.set_loc(f.loc);
  }
  return reduces ? op->add_result(f.result) : nullptr;
}

}  // namespace revet
