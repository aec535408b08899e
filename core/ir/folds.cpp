/// Folds arith ops: evaluation of constants by scalar.hpp, so that folder, interpreter and
/// simulator cannot disagree, and identities that need no new op.
///
/// An identity is listed only where it holds for every operand: `x / x` is not 1 (x = 0 gives all
/// ones), `x + 0.0f` is not x (x = -0.0f), `x * 1.0f` quiets a signalling NaN. On f32 only
/// identities that pick one of the operands unchanged remain: min, max, select, cast to the same
/// type.
#include "folds.hpp"

#include "revet/ops.hpp"

namespace revet {

std::uint32_t bits_of_attr(const Attr& value, Kind k) {
  if (const bool* b = value.as_bool()) return *b ? 1u : 0u;
  if (const float* f = value.as_float()) return as_bits(*f);
  if (const std::int64_t* i = value.as_int()) return wrap(k, static_cast<std::uint32_t>(*i));
  return 0;
}

Attr attr_of_bits(Kind k, std::uint32_t bits) {
  if (k == Kind::f32) return Attr(as_float(bits));
  if (Type{k}.is_signed()) return Attr(std::int64_t{static_cast<std::int32_t>(bits)});
  return Attr(std::int64_t{bits});
}

namespace {

Folded one(Value* v) { return Folded{v}; }
Folded one(Kind k, std::uint32_t bits) { return Folded{attr_of_bits(k, bits)}; }

/// True if every value of type `a` comes back from a conversion to `b` and then to `a`.
bool survives(Type a, Type b) {
  if (a == b) return true;
  if (!a.is_integer()) return false;
  if (b.is_float()) return a.bits() <= 16;
  return b.is_integer() && b.bits() >= a.bits();
}

/// Results that follow from operands being the same value.
std::optional<Folded> fold_same(Scalar s, Value* x) {
  const Type t = x->type();
  if (s == Scalar::min || s == Scalar::max) return one(x);
  if (!t.is_integer()) return std::nullopt;
  switch (s) {
    case Scalar::and_:
    case Scalar::or_: return one(x);
    case Scalar::sub:
    case Scalar::xor_:
    case Scalar::rem: return one(t.kind, 0);  // x % 0 is x, and then x is 0
    case Scalar::eq:
    case Scalar::le:
    case Scalar::ge: return one(Kind::i1, 1);
    case Scalar::ne:
    case Scalar::lt:
    case Scalar::gt: return one(Kind::i1, 0);
    default: return std::nullopt;
  }
}

/// `x op c` with an integer constant c.
std::optional<Folded> fold_right(Scalar s, Value* x, std::uint32_t c) {
  const Kind k = x->type().kind;
  const std::uint32_t ones = wrap(k, ~0u);
  switch (s) {
    case Scalar::add:
    case Scalar::sub:
    case Scalar::xor_:
      if (c == 0) return one(x);
      break;
    case Scalar::or_:
      if (c == 0) return one(x);
      if (c == ones) return one(k, ones);
      break;
    case Scalar::and_:
      if (c == 0) return one(k, 0);
      if (c == ones) return one(x);
      break;
    case Scalar::mul:
      if (c == 0) return one(k, 0);
      if (c == 1) return one(x);
      break;
    case Scalar::mulhi:
      if (c == 0) return one(k, 0);
      break;
    case Scalar::div:
      if (c == 1) return one(x);
      break;
    case Scalar::rem:
      if (c == 0) return one(x);
      if (c == 1) return one(k, 0);
      break;
    case Scalar::shl:
    case Scalar::shr:
    case Scalar::rotl:
    case Scalar::rotr:
      if (c % 32 == 0) return one(x);  // counts are taken modulo the width, a divisor of 32
      break;
    case Scalar::eq:
    case Scalar::ne: {
      // A bool compared with the constant that makes the comparison equal to it.
      if (c != (s == Scalar::eq ? 1u : 0u)) break;
      if (k == Kind::i1) return one(x);
      const Op* cast = x->def();
      if (cast && cast->is(ops::arith_cast) && cast->operand(0)->type() == type_i1)
        return one(cast->operand(0));
      break;
    }
    default: break;
  }
  return std::nullopt;
}

/// `c op x` with an integer constant c.
std::optional<Folded> fold_left(Scalar s, std::uint32_t c, Value* x) {
  switch (s) {
    case Scalar::add:
    case Scalar::mul:
    case Scalar::mulhi:
    case Scalar::and_:
    case Scalar::or_:
    case Scalar::xor_:
    case Scalar::eq:
    case Scalar::ne: return fold_right(s, x, c);
    case Scalar::rem:
    case Scalar::shl:
    case Scalar::shr:
      if (c == 0) return one(x->type().kind, 0);
      break;
    default: break;
  }
  return std::nullopt;
}

std::optional<Folded> fold_cast(const Op& op, const Attr* c) {
  Value* x = op.operand(0);
  const Type to = op.result()->type();
  if (c) {
    const Kind from = x->type().kind;
    return one(to.kind, convert(from, to.kind, bits_of_attr(*c, from)));
  }
  if (x->type() == to) return one(x);
  const Op* inner = x->def();
  if (inner && inner->is(ops::arith_cast) && inner->operand(0)->type() == to &&
      survives(to, x->type()))
    return one(inner->operand(0));
  return std::nullopt;
}

std::optional<Folded> fold_select(const Op& op, std::span<const Attr* const> constants) {
  Value* cond = op.operand(0);
  const Kind k = op.result()->type().kind;
  auto arm = [&](unsigned i) {
    return constants[i] ? one(k, bits_of_attr(*constants[i], k)) : one(op.operand(i));
  };
  if (constants[0]) return arm(bits_of_attr(*constants[0], Kind::i1) ? 1 : 2);
  if (op.operand(1) == op.operand(2)) return arm(1);
  if (!constants[1] || !constants[2]) return std::nullopt;
  const std::uint32_t a = bits_of_attr(*constants[1], k);
  const std::uint32_t b = bits_of_attr(*constants[2], k);
  if (a == b) return arm(1);
  if (k == Kind::i1 && a == 1) return one(cond);
  return std::nullopt;
}

std::optional<Folded> fold_unary(Scalar s, const Op& op, const Attr* c) {
  Value* x = op.operand(0);
  const Kind k = x->type().kind;
  if (c) return one(op.result()->type().kind, apply(s, k, bits_of_attr(*c, k)));
  const Op* inner = x->def();
  const bool twice = inner && &inner->info() == &op.info();
  if (s == Scalar::neg && twice && x->type().is_integer()) return one(inner->operand(0));
  return std::nullopt;
}

std::optional<Folded> fold_binary(Scalar s, const Op& op, std::span<const Attr* const> constants) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Kind k = a->type().kind;
  const Kind kb = b->type().kind;
  if (constants[0] && constants[1])
    return one(op.result()->type().kind,
               apply(s, k, bits_of_attr(*constants[0], k), bits_of_attr(*constants[1], kb)));
  if (a == b) return fold_same(s, a);
  if (!a->type().is_integer()) return std::nullopt;
  if (constants[1]) return fold_right(s, a, bits_of_attr(*constants[1], kb));
  if (constants[0]) return fold_left(s, bits_of_attr(*constants[0], k), b);
  return std::nullopt;
}

}  // namespace

std::optional<Folded> fold_arith(const Op& op, std::span<const Attr* const> constants) {
  if (op.is(ops::arith_constant)) return std::nullopt;
  switch (const Scalar s = scalar_of(op)) {
    case Scalar::cast: return fold_cast(op, constants[0]);
    case Scalar::select: return fold_select(op, constants);
    case Scalar::neg:
    case Scalar::abs:
    case Scalar::popcount:
    case Scalar::clz:
    case Scalar::ctz: return fold_unary(s, op, constants[0]);
    default: return fold_binary(s, op, constants);
  }
}

/// A part reads what was written to its place, through writes to other places.
std::optional<Folded> fold_extract(const Op& op, std::span<const Attr* const> constants) {
  const Kind k = op.result()->type().kind;
  const auto lo = static_cast<unsigned>(op.int_attr("lo"));
  if (constants[0]) {
    const std::uint32_t word = bits_of_attr(*constants[0], op.operand(0)->type().kind);
    return one(k, extract_part(k, word, lo));
  }
  for (const Op* def = op.operand(0)->def(); def && def->is(ops::arith_insert);
       def = def->operand(0)->def()) {
    const Kind written = def->operand(1)->type().kind;
    const auto at = static_cast<unsigned>(def->int_attr("lo"));
    if (written == k && at == lo) return one(def->operand(1));
    if ((part_mask(written, at) & part_mask(k, lo)) != 0) break;
  }
  return std::nullopt;
}

/// Writing what is there, or two constants.
std::optional<Folded> fold_insert(const Op& op, std::span<const Attr* const> constants) {
  const Value* part = op.operand(1);
  const auto lo = static_cast<unsigned>(op.int_attr("lo"));
  if (constants[0] && constants[1]) {
    const Kind word = op.result()->type().kind;
    const Kind k = part->type().kind;
    return one(word, insert_part(k, bits_of_attr(*constants[0], word),
                                 bits_of_attr(*constants[1], k), lo));
  }
  const Op* def = part->def();
  if (def && def->is(ops::arith_extract) && def->operand(0) == op.operand(0) &&
      def->int_attr("lo") == op.int_attr("lo") && part->type() != type_i1)
    return one(op.operand(0));
  return std::nullopt;
}

}  // namespace revet
