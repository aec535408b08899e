/// The file level: declares every item, then checks constants, DRAM arrays and functions.
#include "sema.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "races.hpp"
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
  if (!diagnostics_.has_errors()) report_races(ast_, diagnostics_);
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

void Sema::undeclared(std::string_view name, Loc loc, Place place) {
  if (diagnostics_.full())
    error(loc, "");  // counted, not shown
  else
    report_undeclared(name, loc, place);
  // Once is enough.
  scopes_.back().push_back(name);
  Symbol* s = ast_.symbol(SymbolKind::unknown, name, {});
  s->type = ast::error_type;
  visible_[name].push_back(s);
}

bool Sema::fits(const Symbol& s, Place place) const {
  using ast::MemoryForm;
  bool own = s.thread == thread_;
  if (s.kind == SymbolKind::function)
    return place == Place::called && s.function != main_ && s.function != function_;
  if (s.kind == SymbolKind::constant)
    return place == Place::value && constants_.at(&s)->state != ast::Constant::active;
  if (s.kind == SymbolKind::variable) {
    if (place == Place::value) return !constants_only_;
    return own && (place == Place::target || place == Place::stepped || place == Place::skipped);
  }
  if (s.kind != SymbolKind::memory) return false;
  bool shared = s.form == MemoryForm::dram || s.form == MemoryForm::sram;
  bool written = s.form == MemoryForm::write_view || s.form == MemoryForm::modify_view;
  bool reader = own && (s.form == MemoryForm::read_it || s.form == MemoryForm::peek_read_it);
  bool manual = own && s.form == MemoryForm::manual_write_it;
  switch (place) {
    case Place::value:
    case Place::target:
    case Place::called: return false;
    case Place::stepped: return reader || (own && s.form == MemoryForm::write_it);
    case Place::skipped:
    case Place::reader: return reader;
    case Place::array: return s.form == MemoryForm::dram;
    case Place::element:
      return shared || ast::is_view(s.form) || (own && s.form == MemoryForm::peek_read_it);
    case Place::element_target: return shared || written;
    case Place::element_atomic: return shared && (s.element == type_i32 || s.element == type_u32);
    case Place::writer: return manual || (own && s.form == MemoryForm::write_it);
    case Place::ended: return manual;
  }
  return false;
}

std::string Sema::suggestion(std::string_view name, std::vector<std::string> candidates) {
  // Every name of one letter is near to every other; only its case tells that it could be meant.
  if (name.size() == 1) {
    auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    std::erase_if(candidates, [&](const std::string& c) {
      return c.size() != 1 || lower(c[0]) != lower(name[0]);
    });
  }
  std::sort(candidates.begin(), candidates.end());
  return did_you_mean(name, candidates);
}

void Sema::report_undeclared(std::string_view name, Loc loc, Place place) {
  std::vector<std::string> candidates;
  for (const auto& [known, symbols] : visible_) {
    if (!symbols.empty() && fits(*symbols.back(), place)) candidates.emplace_back(known);
  }
  if (place == Place::called) {
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
      if (!find(b)) candidates.emplace_back(b);
    }
  }
  Diagnostic& d = error(
      loc, fmt::format("'{}' is not declared{}", name, suggestion(name, std::move(candidates))));
  if (function_) {
    for (const auto& [local, at] : function_->locals) {
      if (local != name) continue;
      bool later = at.line > loc.line || (at.line == loc.line && at.col >= loc.col);
      if (name == declaring_) {
        d.note(at, "a name is not visible in its own initial value");
        break;
      }
      d.note(at, later ? "declared only here: a name is visible from its declaration on"
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
