/// Expressions: names, operators, assignment.
#include <fmt/core.h>

#include "sema.hpp"

namespace revet {

using ast::ExprKind;
using ast::Operator;
using ast::SymbolKind;

void Sema::expr(Expr& e) {
  switch (e.kind) {
    case ExprKind::error:
      for (Expr* x : e.operands) expr(*x);
      e.type = ast::error_type;
      break;
    case ExprKind::literal: e.pure = true; break;
    case ExprKind::name: name(e, Place::value); break;
    case ExprKind::chain: chain(e); break;
    case ExprKind::unary: e.op == Operator::deref ? dereference(e) : unary(e); break;
    case ExprKind::conditional: conditional(e); break;
    case ExprKind::assign: assign(e, false); break;
    case ExprKind::step: step(e, false); break;
    case ExprKind::cast: cast(e); break;
    case ExprKind::call: call(e); break;
    case ExprKind::index: index(e, Place::element); break;
    case ExprKind::method: method(e); break;
    case ExprKind::foreach:
      foreach (*e.loop)
        ;
      e.type = e.loop->result;
      if (e.loop->reduce.empty()) {
        error(
            e.loc,
            "a foreach gives a value only with a reduction, as in 'foreach (n) reduce(+) { .. }'");
        e.type = ast::error_type;
      }
      break;
  }
}

void Sema::name(Expr& e, Place place) {
  Symbol* s = find(e.name);
  if (!s) {
    undeclared(e.name, e.loc, place);
    return;
  }
  e.symbol = s;
  switch (s->kind) {
    case SymbolKind::unknown: break;
    case SymbolKind::variable:
      e.type = s->type;
      e.pure = true;
      break;
    case SymbolKind::constant:
      constant(*constants_.at(s));
      e.type = s->type;
      e.constant = !is_error(s->type);
      e.bits = s->bits;
      e.pure = true;
      break;
    case SymbolKind::memory: e.type = s->type; break;
    case SymbolKind::function:
      error(e.loc, fmt::format("'{}' is a function; call it as '{}(..)'", e.name, e.name))
          .note(s->loc, "declared here");
      break;
  }
}

// --- operators ----------------------------------------------------------------------------------

void Sema::tautology(const ast::ChainOp& o, const Expr* left, const Expr* right) {
  auto is_zero = [](const Expr* e) {
    return e && e->constant && e->type.is_integer() && e->bits == 0;
  };
  auto is_unsigned = [](const Expr* e) {
    return e && !e->constant && e->type.is_integer() && !e->type.is_signed() && e->type != type_i1;
  };
  bool negative = is_unsigned(left) && is_zero(right) && o.op == Operator::lt;
  bool not_negative = is_unsigned(left) && is_zero(right) && o.op == Operator::ge;
  negative = negative || (is_zero(left) && is_unsigned(right) && o.op == Operator::gt);
  not_negative = not_negative || (is_zero(left) && is_unsigned(right) && o.op == Operator::le);
  if (!negative && !not_negative) return;
  const Expr* e = is_zero(right) ? left : right;
  diagnostics_.warning(ast::range(left->loc, right->loc), "tautology",
                       fmt::format("this comparison is always {}: '{}' is never negative",
                                   not_negative ? "true" : "false", e->type.source_str()));
}

Type Sema::chain_step(const Expr& e, std::size_t i, Type left, const Expr* left_expr) {
  const ast::ChainOp& o = e.ops[i];
  const Expr& right = *e.operands[i + 1];
  if (is_error(left) || is_error(right.type)) return ast::error_type;
  bool integers_only = o.op == Operator::or_ || o.op == Operator::xor_ || o.op == Operator::and_ ||
                       o.op == Operator::shl || o.op == Operator::shr || o.op == Operator::rem;
  if (integers_only && (left.is_float() || right.type.is_float())) {
    error(o.loc, fmt::format("'{}' takes integers, not '{}' and '{}'", ast::spelling(o.op),
                             left.source_str(), right.type.source_str()));
    return ast::error_type;
  }
  tautology(o, left_expr, &right);
  bool shift = o.op == Operator::shl || o.op == Operator::shr;
  return shift ? promoted(left) : common_type(left, right.type);
}

void Sema::chain(Expr& e) {
  bool good = true;
  for (Expr* x : e.operands) good = value(*x) && good;
  Type left = e.operands[0]->type;
  for (std::size_t i = 0; i < e.ops.size(); ++i) {
    ast::ChainOp& o = e.ops[i];
    if (o.op == Operator::lor || o.op == Operator::land) {
      o.operands = o.result = type_i1;
    } else {
      o.operands = chain_step(e, i, left, i == 0 ? e.operands[0] : nullptr);
      bool comparison = o.op >= Operator::eq && o.op <= Operator::ge;
      o.result = comparison && !is_error(o.operands) ? type_i1 : o.operands;
    }
    left = o.result;
  }
  e.type = good ? left : ast::error_type;
  e.pure = true;
  for (Expr* x : e.operands) e.pure = e.pure && x->pure;
  if (!is_error(e.type)) fold(e);
}

void Sema::unary(Expr& e) {
  Expr& x = *e.operands[0];
  if (!value(x)) return;
  if (e.op == Operator::compl_ && x.type.is_float()) {
    error(e.loc, "'~' takes an integer, not 'float'");
    return;
  }
  e.type = e.op == Operator::lnot ? type_i1 : promoted(x.type);
  e.pure = x.pure;
  fold(e);
}

void Sema::conditional(Expr& e) {
  bool good = condition(*e.operands[0]);
  good = value(*e.operands[1]) && good;
  good = value(*e.operands[2]) && good;
  if (!good) return;
  Type a = e.operands[1]->type;
  Type b = e.operands[2]->type;
  e.type = a == b ? promoted(a) : common_type(a, b);
  // Two bools stay a bool: nothing tells the difference but conversions that it saves.
  if (a == type_i1 && b == type_i1) e.type = type_i1;
  e.pure = e.operands[0]->pure && e.operands[1]->pure && e.operands[2]->pure;
  fold(e);
}

void Sema::cast(Expr& e) {
  Type to = e.type;
  e.type = ast::error_type;
  if (!value(*e.operands[0])) return;
  if (to == type_void) {
    error(e.loc, "a value cannot be converted to 'void'");
    return;
  }
  e.type = to;
  e.pure = e.operands[0]->pure;
  fold(e);
}

// --- assignment ---------------------------------------------------------------------------------

bool Sema::assignable_variable(Expr& e) {
  Symbol& s = *e.symbol;
  if (s.kind == SymbolKind::constant) {
    error(e.loc, fmt::format("'{}' is a constant and cannot be assigned", s.name))
        .note(s.loc, "declared here");
    return false;
  }
  if (s.thread != thread_) {
    error(e.loc, fmt::format("'{}' belongs to the parent thread; a foreach can only read its "
                             "parent's variables",
                             s.name))
        .note(s.loc, "declared here");
    return false;
  }
  note_assigned(s);
  return true;
}

void Sema::note_assigned(Symbol& variable) {
  unsigned order = order_.at(&variable);
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    if (it->kind == Frame::foreach || it->kind == Frame::function) return;
    if (it->kind != Frame::loop) continue;
    if (order >= it->first_symbol) return;
    if (it->assigned.insert(&variable).second) it->stmt->assigned.push_back(&variable);
  }
}

bool Sema::assignable(Expr& e, bool reads, Place variable) {
  if (e.kind == ExprKind::name) {
    name(e, variable);
    if (is_error(e.type)) return false;
    if (e.type.is_memory()) {
      error(e.loc, fmt::format("the {} '{}' cannot be assigned{}", ast::spelling(e.symbol->form),
                               e.symbol->name,
                               ast::is_iterator(e.symbol->form)
                                   ? fmt::format("; write '*{} = ..'", e.symbol->name)
                                   : ""))
          .note(e.symbol->loc, "declared here");
      return false;
    }
    return assignable_variable(e);
  }
  if (e.kind == ExprKind::index) {
    index(e, Place::element_target);
    if (is_error(e.type)) return false;
    const Symbol& s = *e.operands[0]->symbol;
    if (s.form == ast::MemoryForm::read_view || ast::is_iterator(s.form)) {
      error(e.loc, fmt::format("an element of the {} '{}' cannot be assigned",
                               ast::spelling(s.form), s.name))
          .note(s.loc, "declared here");
      return false;
    }
    return true;
  }
  if (e.kind == ExprKind::unary && e.op == Operator::deref) {
    Symbol* s = iterator_named(*e.operands[0], "'*'", Place::writer);
    if (!s) return false;
    e.symbol = s;
    bool writes =
        s->form == ast::MemoryForm::write_it || s->form == ast::MemoryForm::manual_write_it;
    if (!writes || reads) {
      error(e.loc,
            writes ? fmt::format("the {} '{}' cannot be read", ast::spelling(s->form), s->name)
                   : fmt::format("the {} '{}' cannot be written", ast::spelling(s->form), s->name))
          .note(s->loc, "declared here");
      return false;
    }
    e.type = s->element;
    return true;
  }
  expr(e);
  if (!is_error(e.type))
    error(e.loc, "this cannot be assigned: it is no variable and no element of memory");
  return false;
}

void Sema::assign(Expr& e, bool whole_statement) {
  Expr& left = *e.operands[0];
  Expr& right = *e.operands[1];
  // `it += k` advances.
  if (left.kind == ExprKind::name && e.op != Operator::none) {
    Symbol* s = find(left.name);
    if (s && s->kind == SymbolKind::memory && ast::is_iterator(s->form)) {
      left.symbol = s;
      left.type = s->type;
      if (!iterator_named(left, ast::spelling(e.op), Place::skipped)) {
        value(right);
        return;
      }
      if (e.op == Operator::add) {
        advance(e, *s, right);
      } else {
        error(e.op_loc, fmt::format("an iterator only goes forward: '{}{}=' is not possible",
                                    s->name, ast::spelling(e.op)));
      }
      return;
    }
  }
  // The left side is checked first, as it is evaluated first.
  bool good = assignable(left, e.op != Operator::none,
                         e.op == Operator::add ? Place::skipped : Place::target);
  if (whole_statement && e.op == Operator::none && is_fork(right)) {
    fork(right);
  } else {
    value(right);
  }
  if (!good || is_error(right.type)) return;
  e.type = left.type;
  if (e.op == Operator::none) {
    check_conversion(right, left.type);
    return;
  }
  bool shift = e.op == Operator::shl || e.op == Operator::shr;
  bool integers_only = shift || e.op == Operator::or_ || e.op == Operator::xor_ ||
                       e.op == Operator::and_ || e.op == Operator::rem;
  if (integers_only && (left.type.is_float() || right.type.is_float())) {
    error(e.op_loc, fmt::format("'{}=' takes integers, not '{}' and '{}'", ast::spelling(e.op),
                                left.type.source_str(), right.type.source_str()));
    e.type = ast::error_type;
    return;
  }
  if (!shift) check_conversion(right, left.type);
  e.operation = shift ? promoted(left.type) : common_type(left.type, right.type);
}

void Sema::step(Expr& e, bool of_dereference) {
  Expr& x = *e.operands[0];
  const char* spelling = e.op == Operator::add ? "++" : "--";
  if (x.kind == ExprKind::name) {
    Symbol* s = find(x.name);
    if (s && s->kind == SymbolKind::memory && ast::is_iterator(s->form)) {
      x.symbol = s;
      x.type = s->type;
      if (!iterator_named(x, spelling, Place::stepped)) return;
      e.symbol = s;
      e.type = type_void;
      if (e.op == Operator::sub) {
        error(e.op_loc,
              fmt::format("an iterator only goes forward: '{}--' is not possible", s->name));
      } else if (s->form == ast::MemoryForm::manual_write_it) {
        error(e.loc, fmt::format("a ManualWriteIt advances by '{}.next(last)'", s->name))
            .note(s->loc, "declared here");
      } else if (e.prefix) {
        error(e.loc, fmt::format("an iterator advances by '{}++'", s->name));
      } else {
        return;
      }
      e.type = ast::error_type;
      return;
    }
  }
  if (of_dereference) {
    value(e);
    return;
  }
  bool forward = e.op == Operator::add && !e.prefix;
  if (!assignable(x, true, forward ? Place::stepped : Place::target)) return;
  e.type = x.type;
  e.operation = promoted(x.type);
}

}  // namespace revet
