/// Calls of functions and built-ins.
#include <fmt/core.h>

#include <unordered_map>

#include "sema.hpp"

namespace revet {

using ast::Builtin;
using ast::ExprKind;
using ast::SymbolKind;

namespace {

/// How a built-in treats its operands.
enum class Shape {
  common,   ///< converted to their common type, which is the result's; floats too
  integer,  ///< the same, integers only
  count,    ///< one integer, as int
  rotate,   ///< two integers, as uint
  select,   ///< a condition and two values of their common type
  atomic,   ///< an element of memory and values of its type
};

struct BuiltinRow {
  Builtin builtin;
  std::size_t arguments;
  Shape shape;
};

const BuiltinRow* builtin_named(std::string_view name) {
  static const std::unordered_map<std::string_view, BuiltinRow> table = {
      {"min", {Builtin::min, 2, Shape::common}},
      {"max", {Builtin::max, 2, Shape::common}},
      {"abs", {Builtin::abs, 1, Shape::common}},
      {"clamp", {Builtin::clamp, 3, Shape::common}},
      {"select", {Builtin::select, 3, Shape::select}},
      {"popcount", {Builtin::popcount, 1, Shape::count}},
      {"clz", {Builtin::clz, 1, Shape::count}},
      {"ctz", {Builtin::ctz, 1, Shape::count}},
      {"rotl", {Builtin::rotl, 2, Shape::rotate}},
      {"rotr", {Builtin::rotr, 2, Shape::rotate}},
      {"mulhi", {Builtin::mulhi, 2, Shape::integer}},
      {"atomic_add", {Builtin::atomic_add, 2, Shape::atomic}},
      {"atomic_sub", {Builtin::atomic_sub, 2, Shape::atomic}},
      {"atomic_and", {Builtin::atomic_and, 2, Shape::atomic}},
      {"atomic_or", {Builtin::atomic_or, 2, Shape::atomic}},
      {"atomic_xor", {Builtin::atomic_xor, 2, Shape::atomic}},
      {"atomic_min", {Builtin::atomic_min, 2, Shape::atomic}},
      {"atomic_max", {Builtin::atomic_max, 2, Shape::atomic}},
      {"atomic_exchange", {Builtin::atomic_exchange, 2, Shape::atomic}},
      {"atomic_cas", {Builtin::atomic_cas, 3, Shape::atomic}},
  };
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

}  // namespace

void Sema::call(Expr& e) {
  Symbol* s = find(e.name);
  if (!s && builtin_named(e.name)) {
    builtin(e);
    return;
  }
  if (!s && e.name == "pragma") {
    error(e.loc, "a pragma must come first in its block");
    return;
  }
  bool good = true;
  for (Expr* x : e.operands) good = value(*x) && good;
  if (!s) {
    if (e.name == "fork") {
      error(e.loc,
            "fork can only be the whole right side of a declaration or an assignment statement");
    } else {
      undeclared(e.name, e.name_loc, Place::called);
    }
    return;
  }
  if (s->kind == SymbolKind::unknown) return;
  if (s->kind != SymbolKind::function) {
    error(e.name_loc, fmt::format("'{}' is no function and cannot be called", e.name))
        .note(s->loc, "declared here");
    return;
  }
  ast::Function& f = *s->function;
  e.symbol = s;
  if (&f == main_) {
    error(e.name_loc, "'main' cannot be called");
    return;
  }
  if (e.operands.size() != f.parameters.size()) {
    error(e.loc, fmt::format("'{}' takes {} argument{}, not {}", e.name, f.parameters.size(),
                             f.parameters.size() == 1 ? "" : "s", e.operands.size()))
        .note(f.loc, "declared here");
    return;
  }
  if (function_) {
    Call c{&f, e.name_loc, thread_ == nullptr, {}};
    for (const Symbol* m : open_memory_) {
      if (m->thread == thread_) c.open.push_back(m);
    }
    facts_[function_].calls.push_back(std::move(c));
  }
  for (std::size_t i = 0; i < e.operands.size(); ++i)
    check_conversion(*e.operands[i], f.parameters[i].type);
  if (good) e.type = s->type;
}

bool Sema::argument_count(const Expr& e, std::size_t wanted) {
  if (e.operands.size() == wanted) return true;
  error(e.loc, fmt::format("'{}' takes {} argument{}, not {}", e.name, wanted,
                           wanted == 1 ? "" : "s", e.operands.size()));
  return false;
}

void Sema::builtin(Expr& e) {
  const BuiltinRow& row = *builtin_named(e.name);
  if (!argument_count(e, row.arguments)) return;
  e.builtin = row.builtin;
  if (row.shape == Shape::atomic) {
    atomic(e);
    return;
  }
  bool good = true;
  for (Expr* x : e.operands) good = value(*x) && good;
  if (!good) return;
  std::size_t first = row.shape == Shape::select ? 1 : 0;
  e.operation = promoted(e.operands[first]->type);
  for (std::size_t i = first; i < e.operands.size(); ++i) {
    Type t = e.operands[i]->type;
    e.operation = common_type(e.operation, t);
    bool floats = row.shape == Shape::common || row.shape == Shape::select;
    if (t.is_float() && !floats) {
      error(e.operands[i]->loc, fmt::format("'{}' takes integers, not 'float'", e.name));
      return;
    }
  }
  if (row.shape == Shape::count) e.operation = type_i32;
  if (row.shape == Shape::rotate) e.operation = type_u32;
  e.type = e.operation;
  e.pure = true;
  for (Expr* x : e.operands) e.pure = e.pure && x->pure;
  fold(e);
}

void Sema::atomic(Expr& e) {
  Expr& element = *e.operands[0];
  bool good = true;
  if (element.kind != ExprKind::index) {
    good = value(element);
    if (good) {
      error(element.loc, fmt::format("'{}' needs an element of DRAM or SRAM, as in '{}(a[i], ..)'",
                                     e.name, e.name));
      good = false;
    }
  } else {
    index(element, Place::element_atomic);
    good = !is_error(element.type);
  }
  if (good) {
    const Symbol& s = *element.operands[0]->symbol;
    if (s.form != ast::MemoryForm::dram && s.form != ast::MemoryForm::sram) {
      error(element.loc, fmt::format("'{}' needs an element of DRAM or SRAM, but '{}' is {}",
                                     e.name, s.name, ast::with_article(s.form)))
          .note(s.loc, "declared here");
      good = false;
    } else if (s.element != type_i32 && s.element != type_u32) {
      error(element.loc,
            fmt::format("'{}' needs elements of type 'int' or 'uint', but those of '{}' are '{}'",
                        e.name, s.name, s.element.source_str()))
          .note(s.loc, "declared here");
      good = false;
    }
  }
  for (std::size_t i = 1; i < e.operands.size(); ++i) {
    good = value(*e.operands[i]) && good;
    if (good) check_conversion(*e.operands[i], element.type);
  }
  if (good) e.type = e.operation = element.type;
}

bool Sema::is_fork(const Expr& e) const {
  return e.kind == ExprKind::call && e.name == "fork" && !e.parenthesised && !find("fork");
}

void Sema::fork(Expr& e) {
  e.builtin = Builtin::fork;
  if (!argument_count(e, 1)) {
    for (Expr* x : e.operands) value(*x);
    return;
  }
  Expr& n = *e.operands[0];
  bool good = integer_value(n, "the number of threads of a fork");
  bool blocked = false;
  for (const Symbol* m : open_memory_) blocked = blocked || m->thread == thread_;
  if (blocked) {
    Diagnostic& d = error(e.loc, "a thread cannot fork while memory that it declared is in scope");
    for (const Symbol* m : open_memory_) {
      if (m->thread == thread_)
        d.note(m->loc, fmt::format("the {} '{}' is declared here; declare it in an enclosing "
                                   "thread and fork inside 'foreach (1)'",
                                   ast::spelling(m->form), m->name));
    }
  }
  if (function_ && !thread_ && !facts_[function_].fork) facts_[function_].fork = e.loc;
  if (!good || blocked) return;
  e.operation = promoted(n.type);
  e.type = e.operation;
}

}  // namespace revet
