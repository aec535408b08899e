// Blocks, `if`, `while`, and the copies that pass values through them.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "emitter.hpp"
#include "openmp.hpp"

namespace revet::openmp {

using namespace ops;

namespace {

/// The operator of `x = x OP y`, where the op's first operand is x.
const char* compound(const Op& op) {
  if (op.is(arith_add)) return "+";
  if (op.is(arith_sub)) return "-";
  if (op.is(arith_mul)) return "*";
  if (op.is(arith_and)) return "&";
  if (op.is(arith_or)) return "|";
  if (op.is(arith_xor)) return "^";
  if (op.is(arith_shl)) return "<<";
  if (op.is(arith_shr)) return ">>";
  return nullptr;
}

}  // namespace

std::string Emitter::comment(const Op& op) {
  const Loc loc = op.loc();
  if (!loc.known() || loc.line == last_line_) return "";
  last_line_ = loc.line;
  return "  // " + in_comment(std::filesystem::path(file_name(loc.file)).filename().string()) +
         ":" + std::to_string(loc.line);
}

bool Emitter::ends(const Block& block) const { return block.terminator()->is(thread_exit); }

// --- variables ----------------------------------------------------------------------------------

void Emitter::declare(Variable& variable, const std::string& initial) {
  if (variable.name.empty()) {
    const std::string hint = variable.hint.empty() ? "t" : variable.hint;
    if (level().forks) {
      variable.name = scopes.declare(hint, level().scope);
      level().declarations.push_back(std::string(c_name(variable.held)) + " " + variable.name +
                                     " = " + (variable.held == C::boolean ? "false" : "0") + ";");
    } else {
      variable.name = scopes.declare(hint);
      const std::string type =
          (variable.constant ? "const " : "") + std::string(c_name(variable.held));
      code_.line(type + " " + variable.name + (initial.empty() ? "" : " = " + initial) + ";");
      return;
    }
  }
  if (!initial.empty()) code_.line(variable.name + " = " + initial + ";");
}

void Emitter::declare_before(const Op& op) {
  const auto it = plan_.declared_at.find(&op);
  if (it == plan_.declared_at.end()) return;
  for (Variable* variable : it->second)
    if (variable->name.empty()) declare(*variable, "");
}

/// The op's result gets its value.
void Emitter::define(const Op& op, const Expr& e) {
  Variable* variable = plan_.variable(op.result());
  // A number that comes from a loop's counter stays as wide, so that loops can be vectorised.
  if (e.type == C::i64 && variable->constant && !level().forks) variable->held = C::i64;
  if (variable->constant && !level().forks && only_index(*op.result())) {
    if (const auto wide = wide_index(op)) {
      variable->held = C::i64;
      declare(*variable, convert(*wide, C::i64).text);
      return;
    }
  }
  const bool same = e.type == variable->held || e.literal;
  const bool both_32 = (e.type == C::i32 || e.type == C::u32 || e.type == C::u8 ||
                        e.type == C::u16 || e.type == C::i8 || e.type == C::i16) &&
                       (variable->held == C::i32 || variable->held == C::u32);
  if (!variable->name.empty() && !variable->constant) {
    if (const char* symbol = compound(op)) {
      // `x = x + y` as `x += y`.
      const Variable* first = plan_.variable(op.operand(0));
      const std::string start = variable->name + " " + symbol + " ";
      const bool plain = op.result()->type().bits() == 32 && e.prec != Prec::postfix;
      if (first == variable && plain && e.text.starts_with(start) &&
          op.result()->type() != type_i1) {
        std::string rest = e.text.substr(start.size());
        code_.line(variable->name + " " + symbol + "= " + rest + ";");
        return;
      }
    }
  }
  declare(*variable, same || both_32 ? e.text : convert(e, variable->held).text);
}

void Emitter::assign(Variable& to, const Value* from) {
  const Op* def = from->def();
  if (def && plan_.is_inlined(*def) && !to.name.empty() && def->num_operands() == 2) {
    const char* symbol = compound(*def);
    const bool plain = from->type() != type_i1 && from->type().bits() == 32;
    if (symbol && plain) {
      const std::string text = assignable(from, to);
      for (const std::string& left : {to.name, "uint32_t(" + to.name + ")"}) {
        const std::string start = left + " " + symbol + " ";
        if (!text.starts_with(start) || plan_.variable(def->operand(0)) != &to) continue;
        std::string rest = text.substr(start.size());
        const bool shift = def->is(arith_shl) || def->is(arith_shr);
        if (left != to.name) {
          // The other operand must make it unsigned then; a shift keeps the left operand's type.
          if (shift || from->type() != type_i32) continue;
          const Expr e = value(def->operand(1));
          rest = convert(as_bits(def->operand(1)), C::u32).text;
          if (e.type == C::boolean) rest = "uint32_t(" + e.text + ")";
        }
        // A right operand of the same strength was in parentheses, which it needs no longer.
        if (rest.front() == '(' && rest.find(')') == rest.size() - 1)
          rest = rest.substr(1, rest.size() - 2);
        code_.line(to.name + " " + symbol + "= " + rest + ";");
        return;
      }
    }
  }
  declare(to, assignable(from, to));
}

void Emitter::copies(std::vector<std::pair<Variable*, const Value*>> moves) {
  std::erase_if(moves, [&](const auto& m) { return plan_.variable(m.second) == m.first; });
  // A target is overwritten when no other source reads it any longer; in a cycle, the source is
  // computed first.
  while (!moves.empty()) {
    const auto is_read = [&](const std::pair<Variable*, const Value*>& m) {
      return std::any_of(moves.begin(), moves.end(), [&](const auto& other) {
        if (&other == &m) return false;
        std::set<const Variable*> read;
        reads(other.second, read);
        return read.count(m.first) != 0;
      });
    };
    const auto free =
        std::find_if(moves.begin(), moves.end(), [&](const auto& m) { return !is_read(m); });
    if (free != moves.end()) {
      assign(*free->first, free->second);
      moves.erase(free);
      continue;
    }
    const auto [target, source] = moves.front();
    moves.erase(moves.begin());
    // A label may follow where threads fork, and no jump may pass a declaration.
    const bool braces = level().forks;
    if (braces) {
      code_.open("{");
      scopes.open();
    }
    const std::string next = scopes.declare("next_" + target->name);
    code_.line("const " + std::string(c_name(target->held)) + " " + next + " = " +
               assignable(source, *target) + ";");
    copies(std::move(moves));
    code_.line(target->name + " = " + next + ";");
    if (braces) {
      scopes.close();
      code_.close();
    }
    return;
  }
}

// --- blocks -------------------------------------------------------------------------------------

void Emitter::block(const Block& block) {
  for (const Op& op : block) {
    if (plan_.is_inlined(op)) continue;
    statement(op);
  }
  // Scopes that the block leaves open, since it ends the thread.
  while (level().forks && !braces_.empty() && braces_.back()->def()->block() == &block) {
    braces_.pop_back();
    scopes.close();
    code_.close();
  }
}

void Emitter::statement(const Op& op) {
  if (op.info().terminator) {
    if (op.is(thread_exit)) exit_thread();
    const Op* parent = op.parent_op();
    if (op.is(thread_yield) && parent->is(thread_foreach)) contribute(op);
    if (op.is(thread_yield) && parent->is(thread_if)) {
      std::vector<std::pair<Variable*, const Value*>> moves;
      for (unsigned i = 0; i < parent->num_results(); ++i)
        if (!parent->result(i)->unused())
          moves.emplace_back(plan_.variable(parent->result(i)), op.operand(i));
      copies(std::move(moves));
    }
    if (op.is(thread_yield) && parent->is(thread_while)) {
      std::vector<std::pair<Variable*, const Value*>> moves;
      for (unsigned i = 0; i < parent->num_operands(); ++i)
        if (const Value* arg = parent->body(0).arg(i); !arg->unused())
          moves.emplace_back(plan_.variable(arg), op.operand(i));
      copies(std::move(moves));
    }
    return;
  }
  if (plan_.is_expression_if(op)) {
    if (!op.result()->unused()) define(op, expression_if(op));
    return;
  }
  if (op.is(thread_while)) return while_statement(op);
  if (op.is(thread_if)) return if_statement(op);
  if (op.is(thread_foreach)) return foreach (op);
  declare_before(op);
  if (op.is(thread_fork)) return fork(op);
  if (op.name().starts_with("mem.")) return memory(op);
  if (op.name().starts_with("arith.")) {
    if (!op.result()->unused()) define(op, arith(op));
    return;
  }
  throw Error(Exit::program, op.loc(),
              "the backend 'openmp' has no meaning for the op " + op.name());
}

// --- if -----------------------------------------------------------------------------------------

/// An else that may be no more than another if.
bool Emitter::begins_chain(const Block& block) const {
  const Op* found = nullptr;
  for (const Op& op : block) {
    if (plan_.is_inlined(op) || op.info().terminator) continue;
    if (found) return false;
    found = &op;
  }
  return found && found->is(thread_if) && !plan_.is_expression_if(*found);
}

/// The one statement of an else that can go on as `else if`, or null.
const Op* Emitter::only_if(const Block& block) const {
  if (!begins_chain(block) || !block.terminator()->is(thread_yield)) return nullptr;
  const Op* found = block.first();
  while (plan_.is_inlined(*found)) found = found->next();
  if (ends(found->body(0)) || ends(found->body(1))) return nullptr;
  // It declares nothing, and nothing is copied behind it.
  for (const auto& r : found->results())
    if (!r->unused() && plan_.variable(r.get())->name.empty()) return nullptr;
  const Op& end = *block.terminator();
  for (unsigned i = 0; i < end.num_operands(); ++i) {
    const Value* to = block.parent_op()->result(i);
    if (!to->unused() && plan_.variable(to) != plan_.variable(end.operand(i))) return nullptr;
  }
  const auto declared = plan_.declared_at.find(found);
  if (declared == plan_.declared_at.end()) return found;
  for (const Variable* variable : declared->second)
    if (variable->name.empty()) return nullptr;
  return found;
}

void Emitter::if_statement(const Op& op) {
  const bool exits[2] = {ends(op.body(0)), ends(op.body(1))};
  // Where one arm only yields values that are at hand, a variable starts with them.
  unsigned simple = 2;
  const auto only_yields = [&](unsigned r) {
    for (const Op& inner : op.body(r))
      if (!inner.info().terminator && !inner.is(arith_constant)) return false;
    return true;
  };
  if (!exits[0] && !exits[1])
    simple = only_yields(1) ? 1 : only_yields(0) && !begins_chain(op.body(1)) ? 0 : 2;
  std::set<const Variable*> started;
  for (unsigned i = 0; simple < 2 && i < op.num_results(); ++i) {
    Variable* variable = plan_.variable(op.result(i));
    if (op.result(i)->unused() || !variable->name.empty()) continue;
    const Value* v = op.body(simple).terminator()->operand(i);
    const Variable* source = plan_.variable(v);
    if (source == variable || (source && source->name.empty())) continue;
    declare(*variable, assignable(v, *variable));
    started.insert(variable);
  }
  declare_before(op);

  const unsigned depth = code_.depth();
  const auto arm = [&](const Op& of, unsigned r) {
    Code outer = std::exchange(code_, code_.nested());
    if (code_.depth() == depth) code_.open_silently();
    scopes.open();
    if (started.empty() || &of != &op || r != simple) {
      block(of.body(r));
    } else {
      // What the variables started with is not assigned again.
      std::vector<std::pair<Variable*, const Value*>> moves;
      for (unsigned i = 0; i < op.num_results(); ++i) {
        Variable* variable = plan_.variable(op.result(i));
        if (!op.result(i)->unused() && started.count(variable) == 0)
          moves.emplace_back(variable, op.body(r).terminator()->operand(i));
      }
      copies(std::move(moves));
    }
    scopes.close();
    std::swap(code_, outer);
    return outer.text();
  };
  const std::string note = comment(op);
  const auto print = [&](const std::string& head, const std::string& body) {
    code_.open(head);
    code_.append_text(body);
  };
  if (exits[0]) {
    print("if (" + condition(op.operand(0)) + ") {" + note, arm(op, 0));
    code_.close();
    // What follows needs no else.
    block(op.body(1));
    return;
  }
  if (exits[1]) {
    print("if (" + condition(op.operand(0), true) + ") {" + note, arm(op, 1));
    code_.close();
    block(op.body(0));
    return;
  }
  const std::string then = arm(op, 0);
  if (const Op* next = only_if(op.body(1)); next && started.empty() && !then.empty()) {
    print("if (" + condition(op.operand(0)) + ") {" + note, then);
    const Op* last = &op;
    for (; next; next = only_if(next->body(1))) {
      const std::string here = comment(*next);
      code_.close_and_open("} else if (" + condition(next->operand(0)) + ") {" + here);
      code_.append_text(arm(*next, 0));
      last = next;
    }
    const std::string other = arm(*last, 1);
    if (!other.empty()) code_.close_and_open("} else {");
    code_.append_text(other);
    code_.close();
    return;
  }
  const std::string other = arm(op, 1);
  if (then.empty() && other.empty()) return;
  if (then.empty()) {
    print("if (" + condition(op.operand(0), true) + ") {" + note, other);
    code_.close();
    return;
  }
  print("if (" + condition(op.operand(0)) + ") {" + note, then);
  if (!other.empty()) code_.close_and_open("} else {");
  code_.append_text(other);
  code_.close();
}

// --- while --------------------------------------------------------------------------------------

/// Whether the ops of a block up to `end` need no statement.
bool Emitter::is_silent(const Block& block, const Op& end) const {
  for (const Op& op : block) {
    if (&op == &end) return true;
    if (!plan_.is_inlined(op)) return false;
  }
  return true;
}

/// Copies at thread.condition: to the results where the loop is left, else to the body's arguments.
void Emitter::condition_copies(const Op& op, bool leave) {
  const Op& condition = *op.body(0).terminator();
  std::vector<std::pair<Variable*, const Value*>> moves;
  for (unsigned i = 0; i < op.num_results(); ++i) {
    const Value* to = leave ? op.result(i) : op.body(1).arg(i);
    if (!to->unused()) moves.emplace_back(plan_.variable(to), condition.operand(i + 1));
  }
  copies(std::move(moves));
}

void Emitter::while_statement(const Op& op) {
  std::vector<std::pair<Variable*, const Value*>> inits;
  for (unsigned i = 0; i < op.num_operands(); ++i)
    if (const Value* arg = op.body(0).arg(i); !arg->unused())
      inits.emplace_back(plan_.variable(arg), op.operand(i));
  copies(std::move(inits));
  declare_before(op);

  const Op& end = *op.body(0).terminator();
  if (end.is(thread_exit)) {  // never comes to the condition
    code_.open("{");
    scopes.open();
    block(op.body(0));
    scopes.close();
    code_.close();
    return;
  }
  const auto stays = [&](unsigned i, const Value* to) {
    return to->unused() || plan_.variable(to) == plan_.variable(end.operand(i + 1));
  };
  bool leaves_alone = true, enters_alone = true, repeats_alone = true;
  for (unsigned i = 0; i < op.num_results(); ++i) {
    leaves_alone &= stays(i, op.result(i));
    enters_alone &= stays(i, op.body(1).arg(i));
  }
  const Op& last = *op.body(1).terminator();
  for (unsigned i = 0; last.is(thread_yield) && i < op.num_operands(); ++i) {
    const Value* arg = op.body(0).arg(i);
    repeats_alone &= arg->unused() || plan_.variable(arg) == plan_.variable(last.operand(i));
  }

  const std::string note = comment(op);
  ++level().loops;
  if (is_silent(op.body(0), end)) {
    const Value* c = end.operand(0);
    code_.open("while (" + condition(c) + ") {" + note);
    scopes.open();
    condition_copies(op, false);
    block(op.body(1));
    scopes.close();
    code_.close();
    --level().loops;
    condition_copies(op, true);
    return;
  }
  std::set<const Variable*> tested;
  reads(end.operand(0), tested);
  const bool tests_outside = std::none_of(
      tested.begin(), tested.end(), [&](const Variable* v) { return v->home == &op.body(0); });
  const bool body_is_empty = last.is(thread_yield) && is_silent(op.body(1), last) && repeats_alone;
  if (leaves_alone && enters_alone && body_is_empty && (tests_outside || level().forks)) {
    code_.open("do {" + note);
    scopes.open();
    block(op.body(0));
    scopes.close();
    code_.close("} while (" + condition(end.operand(0)) + ");");
    --level().loops;
    return;
  }
  code_.open("while (true) {" + note);
  scopes.open();
  block(op.body(0));
  if (leaves_alone) {
    code_.line("if (" + condition(end.operand(0), true) + ") break;");
  } else {
    code_.open("if (" + condition(end.operand(0), true) + ") {");
    condition_copies(op, true);
    code_.line("break;");
    code_.close();
  }
  condition_copies(op, false);
  block(op.body(1));
  scopes.close();
  code_.close();
  --level().loops;
}

// --- end of a thread ----------------------------------------------------------------------------

void Emitter::exit_thread() {
  if (levels_.size() == 1 && !level().forks) {
    code_.line("return " + run_name + ".finish(" + threads_name + ", " + workers_name + ");");
    uses_workers_ = true;
    return;
  }
  if (level().plain_end && level().loops == 0) {
    code_.line("continue;");
    return;
  }
  if (level().end_label.empty()) level().end_label = scopes.label("end_of_thread");
  code_.line("goto " + level().end_label + ";");
}

}  // namespace revet::openmp
