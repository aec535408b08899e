/// Sizes of DRAM arrays: expressions over main's parameters and constants, evaluated at launch.
#include <fmt/core.h>

#include "sema.hpp"

namespace revet {

using ast::ExprKind;
using ast::Operator;
using ast::SymbolKind;

void Sema::size_name(Expr& e) {
  if (main_) {
    for (ast::Parameter& p : main_->parameters) {
      if (p.name != e.name) continue;
      e.type = p.type;
      if (p.type.is_float())
        error(e.loc, "the size of an array must be an integer, not 'float'")
            .note(p.loc, "declared here");
      return;
    }
  }
  Symbol* s = find(e.name);
  if (s && s->kind == SymbolKind::constant) {
    name(e, Place::value);
    if (!is_error(e.type) && e.type.is_float()) {
      error(e.loc, "the size of an array must be an integer, not 'float'")
          .note(s->loc, "declared here");
    }
    return;
  }
  if (s && s->kind == SymbolKind::unknown) return;
  // Without main, all that is known is that main is missing.
  if (!main_) return;
  std::vector<std::string> candidates;
  for (const ast::Parameter& p : main_->parameters) {
    if (!p.type.is_float()) candidates.emplace_back(p.name);
  }
  for (const ast::Item& item : ast_.items) {
    if (item.constant && !item.constant->type.is_float())
      candidates.emplace_back(item.constant->name);
  }
  error(e.loc,
        fmt::format("'{}' is neither a parameter of 'main' nor a constant, and cannot stand in "
                    "the size of an array{}",
                    e.name, suggestion(e.name, std::move(candidates))))
      .note(main_->loc, "'main' is declared here");
}

void Sema::dram_size(Expr& e) {
  bool built_in = e.kind == ExprKind::call && !find(e.name) &&
                  (e.name == "min" || e.name == "max" || e.name == "abs" || e.name == "clamp" ||
                   e.name == "select");
  switch (e.kind) {
    case ExprKind::error: return;
    case ExprKind::name: size_name(e); return;
    case ExprKind::literal:
      if (e.type.is_float()) error(e.loc, "the size of an array must be an integer, not 'float'");
      return;
    case ExprKind::chain:
    case ExprKind::conditional: break;
    case ExprKind::unary:
      if (e.op == Operator::deref) {
        error(e.loc, "the size of an array cannot depend on memory");
        return;
      }
      break;
    case ExprKind::call:
      if (built_in) {
        std::size_t wanted = e.name == "abs" ? 1 : e.name == "min" || e.name == "max" ? 2 : 3;
        if (!argument_count(e, wanted)) return;
        break;
      }
      [[fallthrough]];
    default:
      error(e.loc,
            "the size of an array is made of main's parameters, constants, operators, min, max, "
            "abs and clamp only");
      return;
  }
  for (Expr* x : e.operands) dram_size(*x);
}

}  // namespace revet
