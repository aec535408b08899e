/// Finds stores that race in every foreach of two children or more, as in
/// `foreach (4) { int i => a[0] = i; }`.
///
/// A store is reported where each child of a foreach surely comes by it, memory and index are the
/// same for all of them, and the value is made from the child's index or from the element itself.
///
/// Algorithm: one walk over the text in the order of evaluation. It keeps for each variable of the
/// child whether all siblings hold the same, and how many conditions and loops are around; what
/// these assign is unknown. Linear in the length of the text.
///
/// Does not handle stores inside of `if` and loops, in functions that the body calls, and in a
/// foreach within the foreach whose children race.
#include "races.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace revet {
namespace {

using ast::Expr;
using ast::ExprKind;
using ast::Foreach;
using ast::Operator;
using ast::Stmt;
using ast::StmtKind;
using ast::Symbol;

/// How a value differs between siblings; combined by the maximum.
enum class Spread {
  same,
  unknown,
  own,  ///< made from the child's index
};

struct Bounds {
  std::int64_t least;
  std::int64_t most;
};

Bounds bounds(const Expr& e) {
  if (e.constant) return {integer_of(e), integer_of(e)};
  bool is_min = e.builtin == ast::Builtin::min;
  if (is_min || e.builtin == ast::Builtin::max) {
    Bounds a = bounds(*e.operands[0]);
    Bounds b = bounds(*e.operands[1]);
    return is_min ? Bounds{std::min(a.least, b.least), std::min(a.most, b.most)}
                  : Bounds{std::max(a.least, b.least), std::max(a.most, b.most)};
  }
  if (e.kind == ExprKind::conditional) {
    Bounds a = bounds(*e.operands[1]);
    Bounds b = bounds(*e.operands[2]);
    return {std::min(a.least, b.least), std::max(a.most, b.most)};
  }
  unsigned bits = e.type.bits() - (e.type.is_signed() ? 1 : 0);
  std::int64_t most = (std::int64_t{1} << bits) - 1;
  return {e.type.is_signed() ? -most - 1 : 0, most};
}

void symbols_of(const Expr& e, std::unordered_set<const Symbol*>& symbols) {
  if (e.symbol) symbols.insert(e.symbol);
  for (const Expr* x : e.operands) symbols_of(*x, symbols);
}

/// True where both hold one variable or array, so that their distance may be small.
bool related(const Expr& a, const Expr& b) {
  std::unordered_set<const Symbol*> of_a;
  std::unordered_set<const Symbol*> of_b;
  symbols_of(a, of_a);
  symbols_of(b, of_b);
  return std::any_of(of_a.begin(), of_a.end(), [&](const Symbol* s) { return of_b.count(s) != 0; });
}

/// False for a foreach of one child at most.
bool has_siblings(const Foreach& f) {
  if (f.step && !f.step->constant) return true;
  std::int64_t step = f.step ? integer_of(*f.step) : 1;
  Bounds lo = f.lo ? bounds(*f.lo) : Bounds{0, 0};
  Bounds hi = bounds(*f.hi);
  if (f.lo && !f.lo->constant && related(*f.lo, *f.hi)) return false;
  return step > 0 ? hi.most - lo.least > step : lo.most - hi.least > -step;
}

bool same_element(const Expr& a, const Expr& b) {
  if (a.kind != ExprKind::index || b.kind != ExprKind::index) return false;
  if (a.operands[0]->symbol != b.operands[0]->symbol) return false;
  const Expr& i = *a.operands[1];
  const Expr& k = *b.operands[1];
  if (i.constant || k.constant) return i.constant && k.constant && integer_of(i) == integer_of(k);
  return i.kind == ExprKind::name && i.symbol == k.symbol;
}

/// False for operators that give the same when they are applied twice, as in `a[0] |= 1`.
bool accumulates(Operator op) {
  return op == Operator::add || op == Operator::sub || op == Operator::mul || op == Operator::div ||
         op == Operator::xor_ || op == Operator::shl || op == Operator::shr;
}

/// The operator of `a[0] = a[0] + ..`; none where `value` is not of that kind.
Operator updated_by(const Expr& element, const Expr& value) {
  if (value.kind != ExprKind::chain || !accumulates(value.ops[0].op)) return Operator::none;
  bool reads = std::any_of(value.operands.begin(), value.operands.end(),
                           [&](const Expr* x) { return same_element(element, *x); });
  return reads ? value.ops[0].op : Operator::none;
}

class Races {
 public:
  explicit Races(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void function(const ast::Function& f) {
    Thread own;
    thread_ = &own;
    statements(f.body.statements);
  }

 private:
  /// A child of a foreach, or a function's own thread.
  struct Thread {
    const Foreach* loop = nullptr;
    std::unordered_map<const Symbol*, Spread> locals = {};
    unsigned conditions = 0;  ///< around what is walked
    bool may_have_ended = false;
  };

  Spread spread_of(const Symbol& s) const {
    if (s.thread != thread_->loop)
      return s.kind == ast::SymbolKind::memory ? Spread::unknown : Spread::same;
    auto it = thread_->locals.find(&s);
    return it == thread_->locals.end() ? Spread::unknown : it->second;
  }

  void assign(const Symbol& s, Spread spread) {
    if (thread_->conditions > 0) spread = std::max(spread, Spread::unknown);
    thread_->locals[&s] = spread;
  }

  template <typename Walk>
  void perhaps(Walk&& walk) {
    ++thread_->conditions;
    walk();
    --thread_->conditions;
  }

  // --- statements ---

  void statements(const std::vector<Stmt*>& list) {
    for (const Stmt* s : list) {
      stmt(*s);
      // Within a condition, the statement that holds it tells.
      if (thread_->conditions == 0 && s->flow != ast::flow_next) thread_->may_have_ended = true;
    }
  }

  void stmt(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::block:
      case StmtKind::replicate: statements(s.block.statements); break;
      case StmtKind::expression: expr(*s.expr); break;
      case StmtKind::declaration:
        for (const ast::Declarator& d : s.declarators)
          thread_->locals[d.symbol] = d.init ? expr(*d.init) : Spread::same;
        break;
      case StmtKind::memory: memory(*s.memory); break;
      case StmtKind::if_: if_statement(s); break;
      case StmtKind::while_:
      case StmtKind::do_:
      case StmtKind::for_:
        if (s.init) stmt(*s.init);
        perhaps([&] {
          if (s.expr) expr(*s.expr);
          stmt(*s.body);
          if (s.step) expr(*s.step);
        });
        break;
      case StmtKind::foreach:
        foreach (*s.loop)
          ;
        break;
      case StmtKind::return_:
        if (s.expr) expr(*s.expr);
        break;
      case StmtKind::error:
      case StmtKind::empty:
      case StmtKind::break_:
      case StmtKind::continue_:
      case StmtKind::exit_: break;
    }
  }

  void if_statement(const Stmt& s) {
    expr(*s.arms[0].condition);
    perhaps([&] {
      for (std::size_t i = 0; i < s.arms.size(); ++i) {
        if (i > 0) expr(*s.arms[i].condition);
        stmt(*s.arms[i].body);
      }
      if (s.body) stmt(*s.body);
    });
  }

  /// What a tile of the child holds differs as its place does.
  void memory(const ast::MemoryDecl& m) {
    Spread spread = Spread::unknown;
    for (std::size_t i = 1; i < m.args.size(); ++i) spread = std::max(spread, expr(*m.args[i]));
    thread_->locals[m.symbol] = spread;
  }

  void foreach (const Foreach& f) {
    for (const Expr* e : {f.lo, f.hi, f.step}) {
      if (e) expr(*e);
    }
    Thread child{&f};
    child.locals[f.index] = Spread::own;
    Thread* parent = std::exchange(thread_, &child);
    statements(f.body.statements);
    thread_ = parent;
  }

  // --- expressions ---

  Spread operands(const Expr& e, Spread least) {
    for (const Expr* x : e.operands) least = std::max(least, expr(*x));
    return least;
  }

  Spread expr(const Expr& e) {
    if (e.constant) return Spread::same;
    switch (e.kind) {
      case ExprKind::literal: return Spread::same;
      case ExprKind::error: return Spread::unknown;
      case ExprKind::name: return spread_of(*e.symbol);
      case ExprKind::chain: return chain(e);
      case ExprKind::cast: return operands(e, Spread::same);
      case ExprKind::unary:
        if (e.op != Operator::deref) return operands(e, Spread::same);
        return spread_of(*e.symbol);
      case ExprKind::conditional: {
        Spread spread = expr(*e.operands[0]);
        perhaps([&] { spread = std::max({spread, expr(*e.operands[1]), expr(*e.operands[2])}); });
        return spread;
      }
      case ExprKind::assign: return assignment(e);
      case ExprKind::step: return step(e);
      case ExprKind::call: return call(e);
      case ExprKind::index:
        return std::max(spread_of(*e.operands[0]->symbol), expr(*e.operands[1]));
      case ExprKind::method: expr(*e.operands[1]); return Spread::unknown;
      case ExprKind::foreach:
        foreach (*e.loop)
          ;
        return Spread::unknown;
    }
    return Spread::unknown;
  }

  Spread chain(const Expr& e) {
    Operator op = e.ops[0].op;
    if (op != Operator::lor && op != Operator::land) return operands(e, Spread::same);
    Spread spread = expr(*e.operands[0]);
    perhaps([&] {
      for (std::size_t i = 1; i < e.operands.size(); ++i)
        spread = std::max(spread, expr(*e.operands[i]));
    });
    return spread;
  }

  Spread call(const Expr& e) {
    bool fork = e.builtin == ast::Builtin::fork;
    bool pure = e.builtin != ast::Builtin::none && e.builtin < ast::Builtin::atomic_add;
    Spread spread = operands(e, pure ? Spread::same : Spread::unknown);
    if (fork || (e.symbol && e.symbol->function->may_end)) thread_->may_have_ended = true;
    return spread;
  }

  Spread assignment(const Expr& e) {
    const Expr& left = *e.operands[0];
    const Expr& right = *e.operands[1];
    if (left.kind == ExprKind::index) {
      Spread at = expr(*left.operands[1]);
      Spread spread = expr(right);
      Operator update = e.op == Operator::none ? updated_by(left, right)
                        : accumulates(e.op)    ? e.op
                                               : Operator::none;
      store(left, at, spread, update);
      return e.op == Operator::none ? spread : std::max(spread, Spread::unknown);
    }
    Spread spread = expr(right);
    if (left.kind != ExprKind::name || left.type.is_memory()) return spread;
    if (e.op != Operator::none) spread = std::max(spread, spread_of(*left.symbol));
    assign(*left.symbol, spread);
    return spread;
  }

  Spread step(const Expr& e) {
    const Expr& x = *e.operands[0];
    if (x.kind == ExprKind::index) {
      store(x, expr(*x.operands[1]), Spread::unknown, e.op);
      return Spread::unknown;
    }
    Spread spread = spread_of(*x.symbol);
    if (!x.type.is_memory()) assign(*x.symbol, spread);
    return spread;
  }

  /// A store of a value to an element whose index is `at`; `update`: made from the element itself.
  void store(const Expr& element, Spread at, Spread value, Operator update) {
    if (!thread_->loop || thread_->conditions > 0 || thread_->may_have_ended) return;
    const Symbol& memory = *element.operands[0]->symbol;
    if (memory.thread == thread_->loop || at != Spread::same) return;
    if (value != Spread::own && update == Operator::none) return;
    if (!has_siblings(*thread_->loop)) return;

    const Expr& index = *element.operands[1];
    std::string name = index.constant ? fmt::format("'{}[{}]'", memory.name, integer_of(index))
                       : index.kind == ExprKind::name
                           ? fmt::format("'{}[{}]'", memory.name, index.name)
                           : fmt::format("one element of '{}'", memory.name);
    std::string message = fmt::format("all threads of a foreach write {}", name);
    if (update == Operator::none) {
      message += ", each a value of its own";
    } else {
      message += " after they read it, and updates can be lost";
      bool shared = memory.form == ast::MemoryForm::dram || memory.form == ast::MemoryForm::sram;
      bool atomic = update == Operator::add || update == Operator::sub || update == Operator::xor_;
      if (shared && atomic && (memory.element == type_i32 || memory.element == type_u32)) {
        message += fmt::format("; use 'atomic_{}'", update == Operator::add   ? "add"
                                                    : update == Operator::sub ? "sub"
                                                                              : "xor");
      }
    }
    diagnostics_.warning(element.loc, "race", message)
        .note(thread_->loop->loc, fmt::format("all iterations write {}", name));
  }

  Diagnostics& diagnostics_;
  Thread* thread_ = nullptr;
};

}  // namespace

void report_races(const ast::Ast& ast, Diagnostics& diagnostics) {
  Races races(diagnostics);
  for (const ast::Item& item : ast.items) {
    if (item.function) races.function(*item.function);
  }
}

}  // namespace revet
