/// Lowering of statements: lists, `if`, jumps, declarations.
#include "lower.hpp"

namespace revet {

using ast::StmtKind;

Lowering::End Lowering::block(ast::Block& b) {
  const ast::Block* outer = scope_;
  scope_ = &b;
  std::size_t open = open_.size();
  std::size_t variables = variables_.size();
  End end = statements(b.statements);
  if (end != End::exited) {
    builder_.set_loc(b.close);
    close_memory(open);
  }
  open_.resize(open);
  variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(variables), variables_.end());
  scope_ = outer;
  return end;
}

Lowering::End Lowering::statements(List list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    Stmt& s = *list[i];
    List rest = list.subspan(i + 1);
    if (s.kind == StmtKind::if_ && (s.flow & ast::flow_jumps)) return if_chain(s, 0, rest);
    End end = stmt(s);
    if (end != End::next) return after(end, s.flow, rest);
  }
  return End::next;
}

/// What follows code that ended so: nothing after a jump, `rest` where it went on.
Lowering::End Lowering::after(End end, std::uint8_t flow, List rest) {
  if (end == End::jumped || end == End::exited || rest.empty()) return end;
  return end == End::next ? statements(rest) : unless_jumped(flow, rest);
}

Value* Lowering::flags(std::uint8_t flow) {
  Value* any = nullptr;
  auto add = [&](std::uint8_t kind, int slot) {
    if (!(flow & kind) || slot < 0) return;
    any = any ? builder_.binary(ops::arith_or, any, current(slot)) : current(slot);
  };
  add(ast::flow_break, thread_.loop.broke);
  add(ast::flow_continue, thread_.loop.continued);
  add(ast::flow_return, thread_.returned);
  return any;
}

Lowering::End Lowering::unless_jumped(std::uint8_t flow, List rest) {
  Value* jumped = flags(flow);
  // What never ends sets no flag, and needs none.
  if (!jumped) return statements(rest);
  Loc loc = builder_.loc();
  Op* op = builder_.create(ops::thread_if, {jumped}, {}, {}, 2);
  Arm then_arm = arm(op->region(0), {}, [](Arm&) { return End::jumped; });
  Arm else_arm = arm(op->region(1), {}, [&](Arm&) { return statements(rest); });
  builder_.set_loc(loc);
  merge(*op, then_arm, else_arm);
  return combine(then_arm.end, else_arm.end);
}

Lowering::End Lowering::if_chain(Stmt& s, std::size_t link, List rest) {
  if (link == s.arms.size()) {
    if (!s.body) return statements(rest);
    return after(stmt(*s.body), s.body->flow, rest);
  }
  ast::IfArm& a = s.arms[link];
  Value* c = condition(*a.condition);
  AttrMap attrs;
  if (a.body->kind == StmtKind::block && a.body->block.pragmas.link) {
    attrs.emplace("link", Attr(a.body->block.pragmas.link));
  } else if (link + 1 == s.arms.size() && s.body && s.body->kind == StmtKind::block &&
             s.body->block.pragmas.link) {
    attrs.emplace("link", Attr(s.body->block.pragmas.link));
  }
  builder_.set_loc(a.loc);
  Op* op = builder_.create(ops::thread_if, {c}, {}, std::move(attrs), 2);

  // The rest goes where control goes on; where it does on both sides, behind the `if`.
  bool goes_on = a.body->flow & ast::flow_next;
  bool others_go_on = a.others & ast::flow_next;
  bool jumps = ((a.body->flow | a.others) & ast::flow_jumps) != 0;
  List in_then = jumps && goes_on && !others_go_on ? rest : List{};
  List in_else = jumps && !goes_on ? rest : List{};
  Arm then_arm =
      arm(op->region(0), {}, [&](Arm&) { return after(stmt(*a.body), a.body->flow, in_then); });
  Arm else_arm = arm(op->region(1), {}, [&](Arm&) { return if_chain(s, link + 1, in_else); });
  builder_.set_loc(a.loc);
  merge(*op, then_arm, else_arm);
  End end = combine(then_arm.end, else_arm.end);
  if (end == End::exited) {
    exit_thread();
    return end;
  }
  if (jumps && goes_on != others_go_on) return end;
  return after(end, a.body->flow | a.others, rest);
}

Lowering::End Lowering::stmt(Stmt& s) {
  builder_.set_loc(s.loc);
  switch (s.kind) {
    case StmtKind::error:
    case StmtKind::empty: return End::next;
    case StmtKind::block: return block(s.block);
    case StmtKind::expression: expr(*s.expr); return End::next;
    case StmtKind::declaration: declaration(s); return End::next;
    case StmtKind::memory: memory(*s.memory); return End::next;
    case StmtKind::if_: return if_chain(s, 0, {});
    case StmtKind::while_:
    case StmtKind::do_:
    case StmtKind::for_: return loop(s);
    case StmtKind::foreach:
      foreach (*s.loop)
        ;
      return End::next;
    case StmtKind::replicate: return replicate(s);
    case StmtKind::break_:
      assign(thread_.loop.broke, builder_.constant(type_i1, 1));
      return End::jumped;
    case StmtKind::continue_:
      assign(thread_.loop.continued, builder_.constant(type_i1, 1));
      return End::jumped;
    case StmtKind::return_: return_value(s); return End::jumped;
    case StmtKind::exit_: exit_thread(); return End::exited;
  }
  return End::next;
}

void Lowering::return_value(Stmt& s) {
  if (s.expr) {
    Value* v = expr(*s.expr);
    builder_.set_loc(s.loc);
    assign(thread_.result, convert(v, current(thread_.result)->type()));
  }
  assign(thread_.returned, builder_.constant(type_i1, 1));
}

void Lowering::declaration(Stmt& s) {
  for (ast::Declarator& d : s.declarators) {
    builder_.set_loc(d.loc);
    Value* v = d.init ? expr(*d.init) : builder_.constant_of_bits(s.type, 0);
    builder_.set_loc(d.loc);
    d.symbol->slot = add_variable(convert(v, s.type), d.name);
  }
}

void Lowering::memory(ast::MemoryDecl& m) {
  ast::Symbol& symbol = *m.symbol;
  Value* v = nullptr;
  AttrMap attrs{{"name", Attr(m.name)}};
  if (scope_->pragmas.threads) attrs.emplace("threads", Attr(*scope_->pragmas.threads));
  if (m.form == ast::MemoryForm::sram) {
    builder_.set_loc(m.name_loc);
    v = builder_.create(ops::mem_sram_alloc, {}, {symbol.type}, std::move(attrs))->result();
  } else {
    std::vector<Value*> operands{memory_value(*m.args[0]->symbol)};
    operands.push_back(index_of(*m.args[1]));
    if (m.args.size() > 2) operands.push_back(as(*m.args[2], type_i32));
    builder_.set_loc(m.name_loc);
    const OpInfo& info = [&]() -> const OpInfo& {
      switch (m.form) {
        case ast::MemoryForm::read_view: return ops::mem_read_view;
        case ast::MemoryForm::write_view: return ops::mem_write_view;
        case ast::MemoryForm::modify_view: return ops::mem_modify_view;
        case ast::MemoryForm::read_it: return ops::mem_read_it;
        case ast::MemoryForm::peek_read_it: return ops::mem_peek_read_it;
        case ast::MemoryForm::write_it: return ops::mem_write_it;
        default: return ops::mem_manual_write_it;
      }
    }();
    const Type results[] = {symbol.type};
    v = builder_.create(info, operands, results, std::move(attrs))->result();
  }
  v->set_name(std::string(m.name));
  symbol.slot = static_cast<int>(memories_.size());
  memories_.push_back(v);
  open_.push_back({v, m.form});
}

Lowering::End Lowering::replicate(Stmt& s) {
  AttrMap attrs{{"n", Attr(std::int64_t{static_cast<std::int32_t>(s.expr->bits)})}};
  if (s.block.pragmas.fixed) attrs.emplace("fixed", Attr(true));
  if (s.block.pragmas.link) attrs.emplace("link", Attr(s.block.pragmas.link));
  Op* op = builder_.create(ops::thread_replicate, {}, {}, std::move(attrs), 1);
  Arm body = arm(op->region(), {}, [&](Arm&) { return block(s.block); });
  builder_.set_loc(s.loc);
  if (!body.open()) {
    exit_thread();
    return End::exited;
  }
  std::vector<Value*> values;
  for (auto [slot, value] : body.changed) {
    values.push_back(value);
    assign(slot, op->add_result(value->type(), variables_[static_cast<std::size_t>(slot)].name));
  }
  terminate(*body.block, ops::thread_yield, values);
  return body.end;
}

}  // namespace revet
