/// foreach: its range, its child thread, its reduction.
#include <fmt/core.h>

#include "revet/scalar.hpp"
#include "sema.hpp"

namespace revet {

using ast::SymbolKind;

void Sema::foreach_range(ast::Foreach& f) {
  Type index = f.index_type;
  bool good_index = index.is_integer() && index != type_i1;
  if (!good_index) {
    error(f.index_type_loc,
          fmt::format("the index of a foreach must be an integer, not '{}'", index.source_str()));
  }
  struct Bound {
    Expr* e;
    const char* what;
  };
  for (Bound bound :
       {Bound{f.lo, "the lower bound of a foreach"}, Bound{f.hi, "the upper bound of a foreach"},
        Bound{f.step, "the step of a foreach"}}) {
    if (!bound.e || !integer_value(*bound.e, bound.what) || !good_index) continue;
    const Expr& e = *bound.e;
    if (!e.constant) {
      check_conversion(e, index);
      continue;
    }
    if (std::optional<std::int64_t> wide = unwrapped(e); wide != integer_of(e)) {
      error(e.loc,
            fmt::format(
                "{} wraps to {}{}", bound.what, integer_of(e),
                wide ? fmt::format(": {} does not fit '{}'", *wide, e.type.source_str()) : ""));
      continue;
    }
    Expr converted;
    converted.type = index;
    converted.bits = convert(e.type.kind, index.kind, e.bits);
    if (integer_of(converted) != integer_of(e)) {
      error(e.loc, fmt::format("{} is {}, which does not fit the index's type '{}'", bound.what,
                               integer_of(e), index.source_str()))
          .note(f.index_loc, "the index is declared here");
    } else if (bound.e == f.step && e.bits == 0) {
      error(e.loc, "the step of a foreach cannot be 0");
    }
  }
}

void Sema::foreach (ast::Foreach& f) {
  f.result = f.reduce.empty() ? type_void : ast::error_type;
  if (!function_) {
    error(f.loc, "a foreach cannot stand outside of a function");
    f.result = ast::error_type;
    return;
  }
  foreach_range(f);
  if (!f.reduce.empty() && !is_reduction(std::string(f.reduce))) {
    error(f.reduce_loc,
          fmt::format("'{}' is no reduction; there are + * & | ^ min max && ||", f.reduce));
  }
  f.parent = thread_;
  thread_ = &f;
  Frame frame{Frame::foreach, nullptr, &f};
  frames_.push_back(std::move(frame));
  push_scope();
  std::size_t open = open_memory_.size();
  f.index = declare(SymbolKind::variable, f.index_name, f.index_loc);
  f.index->type = f.index_type.is_integer() ? f.index_type : ast::error_type;
  pragmas(f.body, Owner::foreach);
  f.flow = statements(f.body.statements);
  open_memory_.resize(open);
  pop_scope();
  Frame done = std::move(frames_.back());
  frames_.pop_back();
  thread_ = f.parent;
  if (f.reduce.empty()) return;
  if ((f.flow & ast::flow_next) && !done.broken) {
    error(f.body.close,
          "every path through a foreach with a reduction must end in 'return' with a value or in "
          "'exit'")
        .note(f.loc, "this foreach");
  }
  reduction_type(f, done.returned);
}

void Sema::reduction_type(ast::Foreach& f, const std::vector<Type>& returned) {
  std::string op(f.reduce);
  if (!is_reduction(op)) return;
  // Where every child exits, there is nothing to tell the type.
  Type type = type_i32;
  for (std::size_t i = 0; i < returned.size(); ++i) {
    if (is_error(returned[i])) return;
    type = i == 0 ? promoted(returned[i]) : common_type(type, returned[i]);
  }
  if (op == "&&" || op == "||") {
    type = type_i1;
  } else if (type.is_float() && (op == "&" || op == "|" || op == "^")) {
    error(f.reduce_loc, fmt::format("the reduction '{}' takes integers, not 'float'", op));
    return;
  }
  f.result = type;
}

}  // namespace revet
