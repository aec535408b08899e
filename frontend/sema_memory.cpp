/// Memory: its declarations, and what each form allows.
#include <fmt/core.h>

#include <bit>

#include "sema.hpp"

namespace revet {

using ast::ExprKind;
using ast::MemoryForm;
using ast::Operator;
using ast::SymbolKind;

void Sema::memory(ast::MemoryDecl& m, bool at_file_level) {
  const char* form = ast::spelling(m.form);
  bool dram = m.form == MemoryForm::dram;
  bool typed = dram || m.form == MemoryForm::sram;
  bool good = true;
  auto wrong = [&](Loc loc, std::string message) {
    if (good) error(loc, std::move(message));
    good = false;
  };
  if (dram != at_file_level) {
    wrong(m.loc, dram ? "DRAM arrays are declared at file level, outside of functions"
                      : fmt::format("{} is declared inside a function, not at file level",
                                    ast::with_article(m.form)));
  }
  if (typed && !m.element_loc.known())
    wrong(m.loc, fmt::format("{} needs an element type, as in '{}'", form,
                             dram ? "DRAM<int> a;" : "SRAM<int, 16> a;"));
  if (typed && m.element == type_void && m.element_loc.known())
    wrong(m.element_loc, "elements cannot have type 'void'");
  if (!typed && m.element_loc.known())
    wrong(m.element_loc,
          fmt::format("{} takes only a size, as in '{}<16>'; its element type is the array's", form,
                      form));
  std::size_t sizes = dram ? 0 : 1;
  if (m.template_args.size() != sizes) {
    wrong(m.loc, dram ? "DRAM takes only an element type; a size stands after the name, as in "
                        "'DRAM<int> a[n];'"
                      : fmt::format("{} needs one size, as in '{}'", form,
                                    typed ? "SRAM<int, 16> a;"
                                          : fmt::format("{}<16> {}(..)", form, m.name)));
  }
  if (m.size && !dram)
    wrong(m.size->loc, fmt::format("the size of {} stands in '< >'", ast::with_article(m.form)));
  if (typed && m.has_args)
    wrong(m.name_loc, fmt::format("{} takes no arguments", ast::with_article(m.form)));
  if (!typed && !m.has_args) {
    wrong(m.name_loc, fmt::format("a {} needs its array and {}, as in '{}({}, 0)'", form,
                                  ast::is_view(m.form) ? "base" : "position", m.name, "array"));
  }

  if (dram) {
    if (m.size && good && at_file_level) dram_size(*m.size);
    if (!at_file_level) m.symbol = declare(SymbolKind::unknown, m.name, m.name_loc);
    if (!good) m.symbol->kind = SymbolKind::unknown;
    return;
  }

  std::int64_t size = 0;
  if (good) {
    Expr& n = *m.template_args[0];
    auto constant =
        constant_integer(n, fmt::format("the size of {}", ast::with_article(m.form)).c_str());
    size = constant.value_or(0);
    good = constant.has_value();
    if (typed) {
      if (good && (size < 1 || size > INT32_MAX))
        wrong(n.loc, fmt::format("the size of an SRAM must be positive, not {}", size));
    } else if (ast::is_view(m.form)) {
      if (good && (size < 1 || size > 4096))
        wrong(n.loc, fmt::format("the size of a view must be 1 to 4096, not {}", size));
    } else if (good &&
               (size < 4 || size > 256 || !std::has_single_bit(static_cast<std::uint64_t>(size)))) {
      wrong(n.loc,
            fmt::format("the size of an iterator must be a power of two from 4 to 256, not {}",
                        size));
    }
  } else {
    for (Expr* x : m.template_args) expr(*x);
  }
  memory_arguments(m);
  good = good &&
         (typed || (!m.args.empty() && m.args[0]->symbol && m.args[0]->type.kind == Kind::dram));
  if (at_file_level) {
    m.symbol->kind = SymbolKind::unknown;
    return;
  }
  // Visible after its arguments, like any name.
  m.symbol = declare(good ? SymbolKind::memory : SymbolKind::unknown, m.name, m.name_loc);
  Symbol& s = *m.symbol;
  s.type = ast::error_type;
  if (!good) return;
  s.form = m.form;
  s.element = typed ? m.element : m.args[0]->symbol->element;
  s.size = static_cast<std::uint32_t>(size);
  s.type = typed                  ? sram_of(s.element, s.size)
           : ast::is_view(m.form) ? view_of(s.element, s.size)
                                  : iter_of(s.element, s.size);
  open_memory_.push_back(&s);
}

void Sema::memory_arguments(ast::MemoryDecl& m) {
  const char* form = ast::spelling(m.form);
  for (std::size_t i = 0; i < m.args.size(); ++i) {
    Expr& x = *m.args[i];
    if (i > 0) {
      integer_value(x, i == 2                 ? "the number of valid elements"
                       : ast::is_view(m.form) ? "the base of a view"
                                              : "the position of an iterator");
      continue;
    }
    Symbol* array = x.kind == ExprKind::name ? memory_named(x, Place::array) : nullptr;
    if (x.kind != ExprKind::name && value(x))
      error(x.loc, fmt::format("the first argument of a {} is the name of a DRAM array", form));
    if (array && array->form != MemoryForm::dram) {
      error(x.loc, fmt::format("a {} needs a DRAM array, but '{}' is {}", form, array->name,
                               ast::with_article(array->form)))
          .note(array->loc, "declared here");
      x.type = ast::error_type;
    }
  }
  bool view = ast::is_view(m.form);
  bool iterator = ast::is_iterator(m.form);
  if (m.has_args && view && m.args.size() != 2 && m.args.size() != 3) {
    error(
        m.name_loc,
        fmt::format("a {} takes an array, a base and perhaps the number of valid elements", form));
  } else if (m.has_args && iterator && m.args.size() != 2) {
    error(m.name_loc, fmt::format("a {} takes an array and a position", form));
  }
}

ast::Symbol* Sema::memory_named(Expr& e, Place place) {
  if (e.kind != ExprKind::name) {
    if (value(e)) error(e.loc, "this is no array: only named memory can be indexed");
    return nullptr;
  }
  name(e, place);
  if (is_error(e.type)) return nullptr;
  if (e.type.is_memory()) return e.symbol;
  error(e.loc, fmt::format("'{}' has type '{}' and is no array", e.name, e.type.source_str()))
      .note(e.symbol->loc, "declared here");
  return nullptr;
}

void Sema::index(Expr& e, Place place) {
  e.type = ast::error_type;
  Symbol* s = memory_named(*e.operands[0], place);
  bool good = integer_value(*e.operands[1], "an index");
  if (!s) return;
  if (ast::is_iterator(s->form)) {
    if (!iterator_named(*e.operands[0], "'[ ]'", place)) return;
    if (s->form != MemoryForm::peek_read_it) {
      error(e.loc, fmt::format("the {} '{}' cannot be indexed; only a PeekReadIt can",
                               ast::spelling(s->form), s->name))
          .note(s->loc, "declared here");
      return;
    }
  }
  const Expr& k = *e.operands[1];
  if (good && k.constant && s->form != MemoryForm::dram) {
    std::int64_t at = integer_of(k);
    if (at < 0 || at >= std::int64_t{s->size}) {
      diagnostics_
          .warning(k.loc, "bounds",
                   fmt::format("index {} is outside of the {} '{}' of {} elements", at,
                               ast::spelling(s->form), s->name, s->size))
          .note(s->loc, "declared here");
    }
  }
  if (good) e.type = s->element;
}

ast::Symbol* Sema::iterator_named(Expr& e, const char* use, Place place) {
  Symbol* s = nullptr;
  if (e.kind == ExprKind::name) {
    name(e, place);
    if (is_error(e.type)) return nullptr;
    s = e.symbol;
  } else if (!value(e)) {
    return nullptr;
  }
  if (!s || !e.type.is_memory() || !ast::is_iterator(s->form)) {
    Diagnostic& d = error(
        e.loc, s && e.type.is_memory()
                   ? fmt::format("{} needs an iterator, but '{}' is {}", use, s->name,
                                 ast::with_article(s->form))
                   : fmt::format("{} needs the name of an iterator; there are no pointers", use));
    if (s) d.note(s->loc, "declared here");
    return nullptr;
  }
  if (s->thread != thread_) {
    error(e.loc, fmt::format("'{}' is an iterator of the parent thread, which a foreach cannot use",
                             s->name))
        .note(s->loc, "declared here");
    return nullptr;
  }
  return s;
}

void Sema::dereference(Expr& e) {
  Expr& x = *e.operands[0];
  // `*it++` reads, then advances.
  bool advances = x.kind == ExprKind::step && !x.prefix && x.op == Operator::add &&
                  x.operands[0]->kind == ExprKind::name;
  Symbol* s = iterator_named(advances ? *x.operands[0] : x, "'*'", Place::reader);
  if (!s) return;
  if (s->form == MemoryForm::write_it || s->form == MemoryForm::manual_write_it) {
    error(e.loc, fmt::format("the {} '{}' cannot be read", ast::spelling(s->form), s->name))
        .note(s->loc, "declared here");
    return;
  }
  if (advances) {
    step(x, false);
    if (is_error(x.type)) return;
  }
  e.symbol = s;
  e.type = s->element;
}

void Sema::advance(Expr& e, Symbol& iterator, Expr& amount) {
  if (!integer_value(amount, "the distance of an iterator")) return;
  if (iterator.form == MemoryForm::write_it || iterator.form == MemoryForm::manual_write_it) {
    error(e.loc,
          fmt::format("a {} advances by one element at a time: '{}'", ast::spelling(iterator.form),
                      iterator.form == MemoryForm::write_it
                          ? fmt::format("{}++", iterator.name)
                          : fmt::format("{}.next(last)", iterator.name)))
        .note(iterator.loc, "declared here");
    return;
  }
  e.symbol = &iterator;
  e.type = type_void;
}

void Sema::method(Expr& e) {
  Expr& x = *e.operands[0];
  if (e.name != "next") {
    error(e.name_loc,
          fmt::format("there is no '{}'; the only member function is 'next' of a ManualWriteIt",
                      e.name));
    expr(x);
    expr(*e.operands[1]);
    return;
  }
  Symbol* s = iterator_named(x, "'next'", Place::ended);
  bool good = condition(*e.operands[1]);
  if (!s) return;
  if (s->form != MemoryForm::manual_write_it) {
    error(e.loc, fmt::format("'next' belongs to a ManualWriteIt; the {} '{}' advances by '{}++'",
                             ast::spelling(s->form), s->name, s->name))
        .note(s->loc, "declared here");
    return;
  }
  e.symbol = s;
  if (good) e.type = type_void;
}

}  // namespace revet
