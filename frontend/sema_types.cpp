/// Types and constants: promotions, conversions, folding.
#include <fmt/core.h>

#include <utility>

#include "revet/scalar.hpp"
#include "sema.hpp"

namespace revet {

using ast::ExprKind;
using ast::Operator;

Type promoted(Type t) { return t.is_integer() && t != type_u32 ? type_i32 : t; }

Type common_type(Type a, Type b) {
  if (is_error(a) || is_error(b)) return ast::error_type;
  if (a.is_float() || b.is_float()) return type_f32;
  return a == type_u32 || b == type_u32 ? type_u32 : type_i32;
}

void Sema::check_conversion(const Expr& from, Type to) {
  if (is_error(from.type) || is_error(to) || !from.type.is_scalar() || to == type_i1) return;
  bool to_integer = from.type.is_float() && to.is_integer();
  bool narrower = from.type.is_integer() && to.is_integer() && from.type.bits() > to.bits();
  // A 16-bit value with the other sign does not fit either.
  bool other_sign = from.type.is_integer() && to.is_integer() && from.type.bits() == to.bits() &&
                    to.bits() < 32 && from.type != to;
  if (!to_integer && !narrower && !other_sign) return;
  std::string types = fmt::format("'{}' to '{}'", from.type.source_str(), to.source_str());
  if (!from.constant) {
    diagnostics_.warning(from.loc, "narrowing",
                         fmt::format("conversion from {} may lose part of the value", types));
    return;
  }
  std::uint32_t converted = convert(from.type.kind, to.kind, from.bits);
  bool kept = to_integer ? convert(to.kind, Kind::f32, converted) == from.bits : [&] {
    Expr after;
    after.type = to;
    after.bits = converted;
    return integer_of(after) == integer_of(from);
  }();
  if (!kept) {
    diagnostics_.warning(
        from.loc, "narrowing",
        fmt::format("conversion from {} changes the value of the constant", types));
  }
}

void Sema::effect(Expr& e) {
  expr(e);
  if (!e.type.is_memory()) return;
  const Symbol& s = *e.symbol;
  std::string instead = fmt::format("; use an element of it, as in '{}[0]'", s.name);
  if (ast::is_iterator(s.form)) instead = fmt::format("; read it as '*{}'", s.name);
  if (s.form == ast::MemoryForm::write_it || s.form == ast::MemoryForm::manual_write_it)
    instead = ", and cannot be read";
  error(e.loc, fmt::format("'{}' is {}, not a value{}", s.name, ast::with_article(s.form), instead))
      .note(s.loc, "declared here");
  e.type = ast::error_type;
}

bool Sema::value(Expr& e) {
  effect(e);
  if (is_error(e.type)) return false;
  if (e.type.is_scalar()) return true;
  error(e.loc, "this gives no value: its type is 'void'");
  e.type = ast::error_type;
  return false;
}

bool Sema::integer_value(Expr& e, const char* what) {
  if (!value(e)) return false;
  if (e.type.is_integer()) return true;
  error(e.loc, fmt::format("{} must be an integer, not '{}'", what, e.type.source_str()));
  return false;
}

std::optional<std::int64_t> Sema::constant_integer(Expr& e, const char* what) {
  bool outer = std::exchange(constants_only_, true);
  bool good = integer_value(e, what);
  constants_only_ = outer;
  if (!good) return std::nullopt;
  if (e.constant) return integer_of(e);
  error(e.loc, fmt::format("{} must be a constant", what));
  return std::nullopt;
}

namespace {

Scalar scalar_of(Operator op) {
  switch (op) {
    case Operator::or_: return Scalar::or_;
    case Operator::xor_: return Scalar::xor_;
    case Operator::and_: return Scalar::and_;
    case Operator::eq: return Scalar::eq;
    case Operator::ne: return Scalar::ne;
    case Operator::lt: return Scalar::lt;
    case Operator::gt: return Scalar::gt;
    case Operator::le: return Scalar::le;
    case Operator::ge: return Scalar::ge;
    case Operator::shl: return Scalar::shl;
    case Operator::shr: return Scalar::shr;
    case Operator::add: return Scalar::add;
    case Operator::sub: return Scalar::sub;
    case Operator::mul: return Scalar::mul;
    case Operator::div: return Scalar::div;
    default: return Scalar::rem;
  }
}

std::uint32_t as(const ast::Expr& e, Type t) { return convert(e.type.kind, t.kind, e.bits); }

/// The operands of a chain of constants that were taken so far: their bits and type.
struct Folded {
  std::uint32_t bits;
  Kind kind;
  explicit Folded(const ast::Expr& first) : bits(first.bits), kind(first.type.kind) {}

  void take(const ast::ChainOp& o, const ast::Expr& right) {
    if (o.op == Operator::lor || o.op == Operator::land) {
      std::uint32_t a = convert(kind, Kind::i1, bits);
      bits = o.op == Operator::lor ? a | as(right, type_i1) : a & as(right, type_i1);
    } else {
      bool shift = o.op == Operator::shl || o.op == Operator::shr;
      std::uint32_t b = shift ? right.bits : as(right, o.operands);
      bits = apply(scalar_of(o.op), o.operands.kind, convert(kind, o.operands.kind, bits), b);
    }
    kind = o.result.kind;
  }
};

}  // namespace

void Sema::fold_chain(Expr& e) {
  Folded left(*e.operands[0]);
  for (std::size_t i = 0; i < e.ops.size(); ++i) left.take(e.ops[i], *e.operands[i + 1]);
  e.bits = left.bits;
}

std::optional<std::int64_t> Sema::unwrapped(const Expr& e) {
  using Wide = std::optional<std::int64_t>;
  auto combine = [](Operator op, Wide a, Wide b) -> Wide {
    std::int64_t r = 0;
    if (!a || !b) return std::nullopt;
    bool lost = op == Operator::add   ? __builtin_add_overflow(*a, *b, &r)
                : op == Operator::sub ? __builtin_sub_overflow(*a, *b, &r)
                                      : __builtin_mul_overflow(*a, *b, &r);
    return lost ? std::nullopt : Wide(r);
  };
  switch (e.kind) {
    // Never negative, though 2147483648 after a minus has type int.
    case ExprKind::literal: return std::int64_t{e.bits};
    case ExprKind::conditional: return unwrapped(*e.operands[as(*e.operands[0], type_i1) ? 1 : 2]);
    case ExprKind::unary:
      if (e.op == Operator::plus) return unwrapped(*e.operands[0]);
      if (e.op == Operator::neg) return combine(Operator::sub, 0, unwrapped(*e.operands[0]));
      return integer_of(e);
    case ExprKind::chain: break;
    default: return integer_of(e);
  }
  if (e.ops[0].op < Operator::shl || e.ops[0].op > Operator::rem) return integer_of(e);
  Folded folded(*e.operands[0]);
  Wide wide = unwrapped(*e.operands[0]);
  for (std::size_t i = 0; i < e.ops.size(); ++i) {
    const ast::ChainOp& o = e.ops[i];
    const Expr& right = *e.operands[i + 1];
    folded.take(o, right);
    switch (o.op) {
      case Operator::add:
      case Operator::sub:
      case Operator::mul: wide = combine(o.op, wide, unwrapped(right)); break;
      case Operator::shl: wide = combine(Operator::mul, wide, 1LL << (right.bits & 31)); break;
      default: {
        Expr so_far;
        so_far.type = o.result;
        so_far.bits = folded.bits;
        wide = integer_of(so_far);
      }
    }
  }
  return wide;
}

void Sema::fold(Expr& e) {
  for (const Expr* x : e.operands) {
    if (!x->constant) return;
  }
  auto operand = [&](std::size_t i) { return as(*e.operands[i], e.operation); };
  Kind kind = e.operation.kind;
  switch (e.kind) {
    case ExprKind::chain: fold_chain(e); break;
    case ExprKind::cast: e.bits = as(*e.operands[0], e.type); break;
    case ExprKind::conditional:
      e.bits = as(*e.operands[as(*e.operands[0], type_i1) ? 1 : 2], e.type);
      break;
    case ExprKind::unary: {
      std::uint32_t x = as(*e.operands[0], e.type);
      if (e.op == Operator::neg) x = apply(Scalar::neg, e.type.kind, x);
      if (e.op == Operator::compl_) x = ~x;
      if (e.op == Operator::lnot) x ^= 1;
      e.bits = x;
      break;
    }
    case ExprKind::call:
      switch (e.builtin) {
        case ast::Builtin::min: e.bits = apply(Scalar::min, kind, operand(0), operand(1)); break;
        case ast::Builtin::max: e.bits = apply(Scalar::max, kind, operand(0), operand(1)); break;
        case ast::Builtin::mulhi:
          e.bits = apply(Scalar::mulhi, kind, operand(0), operand(1));
          break;
        case ast::Builtin::rotl: e.bits = apply(Scalar::rotl, kind, operand(0), operand(1)); break;
        case ast::Builtin::rotr: e.bits = apply(Scalar::rotr, kind, operand(0), operand(1)); break;
        case ast::Builtin::abs: e.bits = apply(Scalar::abs, kind, operand(0)); break;
        case ast::Builtin::popcount: e.bits = apply(Scalar::popcount, kind, operand(0)); break;
        case ast::Builtin::clz: e.bits = apply(Scalar::clz, kind, operand(0)); break;
        case ast::Builtin::ctz: e.bits = apply(Scalar::ctz, kind, operand(0)); break;
        case ast::Builtin::clamp:
          e.bits = apply(Scalar::min, kind, apply(Scalar::max, kind, operand(0), operand(1)),
                         operand(2));
          break;
        case ast::Builtin::select:
          e.bits = as(*e.operands[0], type_i1) ? operand(1) : operand(2);
          break;
        default: return;
      }
      break;
    default: return;
  }
  e.constant = true;
}

}  // namespace revet
