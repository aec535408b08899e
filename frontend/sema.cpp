/// The file level: declares every item, then checks constants, DRAM arrays and functions.
#include "sema.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "revet/scalar.hpp"

namespace revet {

using ast::SymbolKind;

void Sema::run() {
  push_scope();
  declare_items();
  for (ast::Item& item : ast_.items) {
    if (item.constant) constant(*item.constant);
    if (item.memory) memory(*item.memory, true);
  }
  for (ast::Item& item : ast_.items) {
    if (diagnostics_.full()) return;
    if (item.function) function(*item.function);
  }
  check_calls();
  if (!main_ && !ast_.broken) {
    error({ast_.file, 1, 1, 0}, "the program has no 'main'");
  }
}

void Sema::declare_items() {
  for (ast::Item& item : ast_.items) {
    if (ast::Function* f = item.function) {
      f->symbol = declare(SymbolKind::function, f->name, f->loc);
      f->symbol->type = f->result;
      f->symbol->function = f;
      if (f->name == "main" && !main_) main_ = f;
    } else if (ast::Constant* c = item.constant) {
      c->symbol = declare(SymbolKind::constant, c->name, c->loc);
      c->symbol->type = c->type;
      constants_[c->symbol] = c;
    } else if (ast::MemoryDecl* m = item.memory) {
      m->symbol = declare(SymbolKind::memory, m->name, m->name_loc);
      m->symbol->form = m->form;
      m->symbol->element = m->element;
      m->symbol->type = dram_of(m->element);
    }
  }
  declare_unknown(ast_.broken_names);
  if (std::find(ast_.broken_names.begin(), ast_.broken_names.end(), "main") !=
      ast_.broken_names.end()) {
    ast_.broken = true;
  }
}

ast::Symbol* Sema::declare(SymbolKind kind, std::string_view name, Loc loc) {
  Symbol* s = ast_.symbol(kind, name, loc);
  s->thread = thread_;
  s->owner = function_;
  order_[s] = static_cast<unsigned>(order_.size());
  std::vector<std::string_view>& scope = scopes_.back();
  std::vector<Symbol*>& stack = visible_[name];
  auto here = std::find(scope.begin(), scope.end(), name);
  if (here != scope.end() && stack.back()->kind != SymbolKind::unknown) {
    error(loc, fmt::format("redefinition of '{}'", name))
        .note(stack.back()->loc, "first defined here");
    return s;
  }
  if (here == scope.end()) {
    scope.push_back(name);
    stack.push_back(s);
  } else {
    stack.back() = s;
  }
  return s;
}

void Sema::declare_unknown(const std::vector<std::string_view>& names) {
  for (std::string_view name : names) {
    if (!find(name)) declare(SymbolKind::unknown, name, {})->type = ast::error_type;
  }
}

void Sema::pop_scope() {
  for (std::string_view name : scopes_.back()) visible_[name].pop_back();
  scopes_.pop_back();
}

ast::Symbol* Sema::find(std::string_view name) const {
  auto it = visible_.find(name);
  return it == visible_.end() || it->second.empty() ? nullptr : it->second.back();
}

void Sema::undeclared(std::string_view name, Loc loc, bool called) {
  if (diagnostics_.full())
    error(loc, "");  // counted, not shown
  else
    report_undeclared(name, loc, called);
  // Once is enough.
  scopes_.back().push_back(name);
  Symbol* s = ast_.symbol(SymbolKind::unknown, name, {});
  s->type = ast::error_type;
  visible_[name].push_back(s);
}

void Sema::report_undeclared(std::string_view name, Loc loc, bool called) {
  std::vector<std::string> candidates;
  for (const auto& [known, symbols] : visible_) {
    if (!symbols.empty() && symbols.back()->kind != SymbolKind::unknown)
      candidates.emplace_back(known);
  }
  if (called) {
    for (const char* b : {"min",
                          "max",
                          "abs",
                          "clamp",
                          "select",
                          "popcount",
                          "clz",
                          "ctz",
                          "rotl",
                          "rotr",
                          "mulhi",
                          "atomic_add",
                          "atomic_sub",
                          "atomic_and",
                          "atomic_or",
                          "atomic_xor",
                          "atomic_min",
                          "atomic_max",
                          "atomic_exchange",
                          "atomic_cas"}) {
      candidates.emplace_back(b);
    }
  }
  std::sort(candidates.begin(), candidates.end());
  Diagnostic& d = error(loc, fmt::format("'{}' is not declared{}", name,
                                         did_you_mean(std::string(name), candidates)));
  if (function_) {
    for (const auto& [local, place] : function_->locals) {
      if (local != name) continue;
      bool later = place.line > loc.line || (place.line == loc.line && place.col >= loc.col);
      if (name == declaring_) {
        d.note(place, "a name is not visible in its own initial value");
        break;
      }
      d.note(place, later ? "declared only here: a name is visible from its declaration on"
                          : "declared here, in a block that has ended");
      break;
    }
  }
}

void Sema::constant(ast::Constant& c) {
  if (c.state == ast::Constant::evaluated) return;
  if (c.state == ast::Constant::active) {
    Diagnostic& d =
        error(c.loc, fmt::format("the constant '{}' is defined in terms of itself", c.name));
    auto it = std::find(active_constants_.begin(), active_constants_.end(), &c);
    for (++it; it < active_constants_.end(); ++it) {
      d.note((*it)->loc, fmt::format("through '{}'", (*it)->name));
    }
    c.symbol->type = ast::error_type;
    return;
  }
  c.state = ast::Constant::active;
  active_constants_.push_back(&c);
  bool good = false;
  if (!c.is_const) {
    error(c.loc, "a variable cannot be declared at file level; write 'const' for a constant");
    c.symbol->kind = SymbolKind::unknown;
  } else if (c.type == type_void) {
    error(c.type_loc, "a constant cannot have type 'void'");
  } else if (!c.init) {
    error(c.loc, fmt::format("the constant '{}' has no value", c.name));
  } else if (value(*c.init)) {
    good = c.init->constant;
    if (!good)
      error(c.init->loc, fmt::format("the value of '{}' is not a constant expression", c.name));
  }
  if (!good) c.symbol->type = ast::error_type;
  if (!is_error(c.symbol->type)) {
    check_conversion(*c.init, c.type);
    c.symbol->bits = convert(c.init->type.kind, c.type.kind, c.init->bits);
  }
  active_constants_.pop_back();
  c.state = ast::Constant::evaluated;
}

void Sema::function(ast::Function& f) {
  function_ = &f;
  thread_ = nullptr;
  facts_[&f];
  if (&f == main_ && f.result != type_void) {
    error(f.result_loc, "'main' must return 'void'");
  }
  push_scope();
  for (ast::Parameter& p : f.parameters) {
    if (p.type == type_void)
      error(p.type_loc, fmt::format("the parameter '{}' cannot have type 'void'", p.name));
    p.symbol = declare(SymbolKind::variable, p.name, p.loc);
    p.symbol->type = p.type == type_void ? ast::error_type : p.type;
  }
  frames_.push_back({Frame::function});
  pragmas(f.body, Owner::other);
  f.flow = statements(f.body.statements);
  bool broken = frames_.back().broken;
  frames_.pop_back();
  pop_scope();
  open_memory_.clear();
  if (f.result != type_void && (f.flow & ast::flow_next) && !broken) {
    error(f.body.close, fmt::format("the end of '{}' can be reached without returning '{}'", f.name,
                                    f.result.source_str()))
        .note(f.loc, "declared here");
  }
  function_ = nullptr;
}

}  // namespace revet
