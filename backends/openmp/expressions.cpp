// Values as C++ expressions. Arithmetic that may wrap is done on uint32_t: one unsigned operand
// makes a whole sum or product so. Where an interval proves that nothing wraps, it stays as it is.
#include <charconv>
#include <cmath>

#include "emitter.hpp"

namespace revet::openmp {

using namespace ops;

const char* c_name(C type) {
  switch (type) {
    case C::boolean: return "bool";
    case C::i8: return "int8_t";
    case C::i16: return "int16_t";
    case C::i32: return "int32_t";
    case C::u8: return "uint8_t";
    case C::u16: return "uint16_t";
    case C::u32: return "uint32_t";
    case C::i64: return "int64_t";
    case C::f32: return "float";
  }
  return "int32_t";
}

C c_type(Type type) {
  switch (type.kind) {
    case Kind::i1: return C::boolean;
    case Kind::i8: return C::i8;
    case Kind::i16: return C::i16;
    case Kind::u8: return C::u8;
    case Kind::u16: return C::u16;
    case Kind::u32: return C::u32;
    case Kind::f32: return C::f32;
    default: return C::i32;
  }
}

namespace {

bool is_narrow(Type t) { return t.is_integer() && t.bits() < 32; }

std::string wrap_if(const std::string& text, bool parens) {
  return parens ? "(" + text + ")" : text;
}

std::string hex(std::uint32_t n) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, n, 16).ptr;
  return "0x" + std::string(digits, end) + "u";
}

std::string float_literal(float f) {
  if (std::isnan(f)) return "std::bit_cast<float>(" + hex(as_bits(f)) + ")";
  if (std::isinf(f)) return f < 0 ? "-INFINITY" : "INFINITY";
  char digits[64];
  // Subnormals have few digits, which compilers warn about; in hexadecimal they are exact.
  const bool subnormal = f != 0 && std::fabs(f) < 0x1p-126f;
  const auto end =
      subnormal
          ? std::to_chars(digits, digits + sizeof digits, std::fabs(f), std::chars_format::hex).ptr
          : std::to_chars(digits, digits + sizeof digits, std::fabs(f)).ptr;
  std::string text(digits, end);
  if (subnormal) text.insert(0, "0x");
  if (text.find_first_of(".ep") == std::string::npos) text += ".0";
  return (std::signbit(f) ? "-" : "") + text + "f";
}

Expr unsigned_literal(std::uint32_t n) {
  return {n < 65536 ? std::to_string(n) + "u" : hex(n), Prec::postfix, C::u32, true, n};
}

Expr bool_literal(bool b) { return {b ? "true" : "false", Prec::postfix, C::boolean, true, b}; }

const char* symbol(Scalar s) {
  switch (s) {
    case Scalar::add: return "+";
    case Scalar::sub: return "-";
    case Scalar::mul: return "*";
    case Scalar::div: return "/";
    case Scalar::rem: return "%";
    case Scalar::and_: return "&";
    case Scalar::or_: return "|";
    case Scalar::xor_: return "^";
    case Scalar::eq: return "==";
    case Scalar::ne: return "!=";
    case Scalar::lt: return "<";
    case Scalar::le: return "<=";
    case Scalar::gt: return ">";
    default: return ">=";
  }
}

Prec prec_of(Scalar s) {
  switch (s) {
    case Scalar::add:
    case Scalar::sub: return Prec::additive;
    case Scalar::mul:
    case Scalar::div:
    case Scalar::rem: return Prec::multiplicative;
    case Scalar::and_: return Prec::bit_and;
    case Scalar::or_: return Prec::bit_or;
    case Scalar::xor_: return Prec::bit_xor;
    case Scalar::eq:
    case Scalar::ne: return Prec::equality;
    default: return Prec::relational;
  }
}

Scalar opposite(Scalar s) {
  switch (s) {
    case Scalar::eq: return Scalar::ne;
    case Scalar::ne: return Scalar::eq;
    case Scalar::lt: return Scalar::ge;
    case Scalar::le: return Scalar::gt;
    case Scalar::gt: return Scalar::le;
    default: return Scalar::lt;
  }
}

}  // namespace

// --- building -----------------------------------------------------------------------------------

Expr Emitter::binary(const Expr& a, const char* op, const Expr& b, Prec prec, C type) {
  // Compilers warn, and readers stumble, where bit operations and comparisons meet others.
  const bool careful = prec <= Prec::shift;
  const auto mixed = [&](const Expr& e) {
    if (!careful || e.prec >= Prec::unary) return false;
    if (prec == Prec::equality || prec == Prec::relational) return e.prec < Prec::additive;
    if (prec == Prec::logical_and || prec == Prec::logical_or)
      return e.prec < Prec::equality && e.prec != prec;
    return e.prec != prec;
  };
  return {wrap_if(a.text, a.prec < prec || mixed(a)) + " " + op + " " +
              wrap_if(b.text, b.prec <= prec || mixed(b)),
          prec, type};
}

Expr Emitter::call(const std::string& function, std::vector<std::string> args, C type) {
  std::string text = function + "(";
  for (std::size_t i = 0; i < args.size(); ++i) text += (i == 0 ? "" : ", ") + args[i];
  return {text + ")", Prec::postfix, type};
}

Expr Emitter::convert(const Expr& e, C type) {
  if (e.type == type) return e;
  if (e.literal && type == C::u32) return unsigned_literal(static_cast<std::uint32_t>(e.number));
  return call(c_name(type), {e.text}, type);
}

// --- values -------------------------------------------------------------------------------------

Expr Emitter::value(const Value* v) {
  if (const Variable* variable = plan_.variable(v))
    return {variable->name, Prec::postfix, variable->held};
  return computed(*v->def());
}

Expr Emitter::computed(const Op& op) {
  if (op.is(arith_constant)) return literal(op);
  if (op.is(thread_if)) return expression_if(op);
  if (op.info().name.starts_with("mem.")) return load(op);
  return arith(op);
}

Expr Emitter::literal(const Op& constant) {
  const Type t = constant.result()->type();
  const std::uint32_t bits = constant_bits(constant);
  if (t == type_i1) return bool_literal(bits != 0);
  if (t.is_float()) {
    const std::string text = float_literal(as_float(bits));
    return {text, text[0] == '-' ? Prec::unary : Prec::postfix, C::f32, true};
  }
  if (t == type_u32) return unsigned_literal(bits);
  const std::int64_t n = number_of(t.kind, bits);
  return {n == INT32_MIN ? "INT32_MIN" : std::to_string(n), n < 0 ? Prec::unary : Prec::postfix,
          C::i32, true, n};
}

Expr Emitter::number(const Expr& e, Type t) {
  if (t == type_i32 && (e.type == C::u32 || e.type == C::boolean)) return convert(e, C::i32);
  if (t == type_u32 && e.type != C::u32 && e.type != C::i64 && e.type != C::u8 && e.type != C::u16)
    return convert(e, C::u32);
  return e;
}

Expr Emitter::bits(const Expr& e) {
  if (e.type == C::i64) return convert(e, C::u32);
  return e.type == C::boolean ? convert(e, C::i32) : e;
}

Expr Emitter::as_number(const Value* v) { return number(value(v), v->type()); }

Expr Emitter::as_unsigned(const Value* v) { return convert(value(v), C::u32); }

Expr Emitter::as_bits(const Value* v) { return bits(value(v)); }

Expr Emitter::negated(const Expr& e) {
  if (e.literal) return bool_literal(e.number == 0);
  if (e.text[0] == '!' && e.prec == Prec::unary) {
    std::string inner = e.text.substr(1);
    return {inner, Prec::postfix, C::boolean};  // a name, a call or parentheses
  }
  return {"!" + wrap_if(e.text, e.prec < Prec::unary), Prec::unary, C::boolean};
}

std::string Emitter::condition(const Value* v, bool negate) {
  if (!negate) return value(v).text;
  const Op* def = v->def();
  if (def && plan_.is_inlined(*def) && def->is(arith_cmp)) {
    const Scalar s = scalar_of(*def);
    const bool exact = !def->operand(0)->type().is_float() || s == Scalar::eq || s == Scalar::ne;
    if (exact) return compare(*def, opposite(s)).text;
  }
  return negated(value(v)).text;
}

std::string Emitter::assignable(const Value* v, const Variable& to) {
  const Expr e = value(v);
  if (e.type == to.held || e.literal) return e.text;
  const bool both_32 =
      (e.type == C::i32 || e.type == C::u32) && (to.held == C::i32 || to.held == C::u32);
  const bool widens = (to.held == C::i32 || to.held == C::u32) &&
                      (e.type == C::u8 || e.type == C::u16 || e.type == C::i8 || e.type == C::i16);
  return both_32 || widens ? e.text : convert(e, to.held).text;
}

void Emitter::reads(const Value* v, std::set<const Variable*>& out) const {
  if (const Variable* variable = plan_.variable(v)) {
    out.insert(variable);
    return;
  }
  const Op* def = v->def();
  if (!def) return;
  for (const Value* operand : def->operands()) reads(operand, out);
  for (const auto& region : def->regions())
    for (const Value* inner : region->front().terminator()->operands()) reads(inner, out);
}

// --- arithmetic ---------------------------------------------------------------------------------

Expr Emitter::arith(const Op& op) {
  const Scalar s = scalar_of(op);
  if (s == Scalar::cast) return cast(op);
  if (s == Scalar::select) return select(op);
  if (op.is(arith_cmp)) return compare(op, s);
  const Type t = op.operand(0)->type();
  if (t.is_integer()) {
    const Expr e = integer_arith(op, s);
    const C held = c_type(op.result()->type());
    return is_narrow(op.result()->type()) && e.type != held ? convert(e, held) : e;
  }
  const Expr a = value(op.operand(0));
  switch (s) {
    case Scalar::neg: return {"-" + wrap_if(a.text, a.prec <= Prec::unary), Prec::unary, C::f32};
    case Scalar::abs: return call("std::fabs", {a.text}, C::f32);
    case Scalar::min:
    case Scalar::max:
      return call(s == Scalar::min ? "std::min" : "std::max", {a.text, value(op.operand(1)).text},
                  C::f32);
    default: return binary(a, symbol(s), value(op.operand(1)), prec_of(s), C::f32);
  }
}

Expr Emitter::wrapping(const Op& op, Scalar s) {
  const Type t = op.result()->type();
  Expr a = value(op.operand(0)), b = value(op.operand(1));
  const Prec prec = prec_of(s);
  if (is_narrow(t)) {
    if (s == Scalar::mul) a = convert(a, C::u32);
    return binary(a, symbol(s), b, prec, s == Scalar::mul ? C::u32 : C::i32);
  }
  const bool counters = a.type == C::i64 || b.type == C::i64;
  const bool plain = a.type != C::u32 && b.type != C::u32;
  if (ranges_.exact(op) && (t == type_i32 ? plain : counters)) {
    return binary(number(a, t), symbol(s), number(b, t), prec, counters ? C::i64 : C::i32);
  }
  a = a.type == C::boolean ? convert(a, C::u32) : bits(a);
  b = b.type == C::boolean ? convert(b, C::u32) : bits(b);
  if (b.literal && b.type == C::i32 && b.number < 0 && s != Scalar::mul) {
    // x + -1 is better read as x - 1.
    s = s == Scalar::add ? Scalar::sub : Scalar::add;
    b = unsigned_literal(static_cast<std::uint32_t>(-b.number));
  }
  if (a.literal) a = convert(a, C::u32);
  if (b.literal) b = convert(b, C::u32);
  if (a.type != C::u32 && b.type != C::u32) a = convert(a, C::u32);
  return binary(a, symbol(s), b, prec, C::u32);
}

Expr Emitter::integer_arith(const Op& op, Scalar s) {
  const Value* x = op.operand(0);
  const Value* y = op.num_operands() > 1 ? op.operand(1) : nullptr;
  const Type t = x->type();
  const C exact = t.is_signed() ? C::i32 : C::u32;
  std::int64_t n = 0;
  const bool constant = y && is_constant(y, n);
  const auto count = [&]() -> Expr {
    if (constant) return {std::to_string(n & 31), Prec::postfix, C::i32, true, n & 31};
    if (ranges_.of(y).within(0, 31)) return as_bits(y);
    return binary(as_bits(y), "&", {"31", Prec::postfix, C::i32, true, 31}, Prec::bit_and, C::i32);
  };
  switch (s) {
    case Scalar::add:
    case Scalar::sub:
    case Scalar::mul: return wrapping(op, s);
    case Scalar::and_:
    case Scalar::or_:
    case Scalar::xor_: {
      if (t == type_i1) {
        const Expr a = value(x), b = value(y);
        if (s == Scalar::xor_ && b.literal) return b.number != 0 ? negated(a) : a;
        return binary(a, symbol(s), b, prec_of(s), C::boolean);
      }
      Expr a = as_bits(x), b = as_bits(y);
      const bool all_ones = b.literal && static_cast<std::uint32_t>(b.number) == ~0u;
      if (s == Scalar::xor_ && all_ones)
        return {"~" + wrap_if(a.text, a.prec < Prec::unary), Prec::unary,
                a.type == C::u32 ? C::u32 : C::i32};
      const bool is_unsigned = a.type == C::u32 || b.type == C::u32;
      if (is_unsigned && a.literal) a = convert(a, C::u32);
      if (is_unsigned && b.literal) b = convert(b, C::u32);
      return binary(a, symbol(s), b, prec_of(s), is_unsigned ? C::u32 : C::i32);
    }
    case Scalar::shl: return binary(as_unsigned(x), "<<", count(), Prec::shift, C::u32);
    case Scalar::shr: {
      const Expr a = as_number(x);
      const C type = a.type == C::i64 || a.type == C::u32 ? a.type : C::i32;
      return binary(a, ">>", count(), Prec::shift, type);
    }
    case Scalar::div:
    case Scalar::rem: {
      if (constant && n != 0 && n != -1) {
        const Expr a = as_number(x);
        const C type = a.type == C::i64 || a.type == C::u32 ? a.type
                       : exact == C::u32                    ? C::u32
                                                            : C::i32;
        return binary(a, symbol(s), as_number(y), Prec::multiplicative, type);
      }
      return call(s == Scalar::div ? "revet::div" : "revet::rem",
                  {convert(as_number(x), exact).text, convert(as_number(y), exact).text}, exact);
    }
    case Scalar::min:
    case Scalar::max: {
      const Expr a = as_number(x), b = as_number(y);
      const std::string name = s == Scalar::min ? "std::min" : "std::max";
      if (a.type == b.type) return call(name, {a.text, b.text}, a.type);
      const C type = a.type == C::i64 || b.type == C::i64 ? C::i64 : exact;
      return call(name + "<" + c_name(type) + ">", {a.text, b.text}, type);
    }
    case Scalar::mulhi:
      return call("revet::mulhi",
                  {convert(as_number(x), exact).text, convert(as_number(y), exact).text}, exact);
    case Scalar::rotl:
    case Scalar::rotr: {
      const Expr by = constant ? count() : convert(as_bits(y), C::i32);
      return call(s == Scalar::rotl ? "std::rotl" : "std::rotr", {as_unsigned(x).text, by.text},
                  C::u32);
    }
    case Scalar::neg: {
      const Expr e = value(x);
      if (!ranges_.exact(op) || e.type == C::u32)
        return binary(unsigned_literal(0), "-", bits(e), Prec::additive, C::u32);
      const Expr a = number(e, t);
      return {"-" + wrap_if(a.text, a.prec <= Prec::unary), Prec::unary,
              a.type == C::i64 ? C::i64 : C::i32};
    }
    case Scalar::abs:
      return t.is_signed() ? call("revet::abs", {convert(as_number(x), C::i32).text}, C::i32)
                           : value(x);
    case Scalar::popcount: return call("std::popcount", {as_unsigned(x).text}, C::i32);
    case Scalar::clz: return call("std::countl_zero", {as_unsigned(x).text}, C::i32);
    case Scalar::ctz: return call("std::countr_zero", {as_unsigned(x).text}, C::i32);
    default: throw InternalError("openmp: no C++ for " + op.name());
  }
}

Expr Emitter::compare(const Op& op, Scalar s) {
  const Value* x = op.operand(0);
  const Value* y = op.operand(1);
  const Type t = x->type();
  if (t.is_float()) return binary(value(x), symbol(s), value(y), prec_of(s), C::boolean);
  Expr a = value(x), b = value(y);
  if (a.text == b.text) return bool_literal(s == Scalar::eq || s == Scalar::le || s == Scalar::ge);
  const bool equality = s == Scalar::eq || s == Scalar::ne;
  if (t == type_i1) {
    if (equality && b.literal) return (b.number != 0) == (s == Scalar::eq) ? a : negated(a);
    if (!equality) {
      a = convert(a, C::i32);
      b = convert(b, C::i32);
    }
    return binary(a, symbol(s), b, prec_of(s), C::boolean);
  }
  if (equality && a.type != C::i64 && b.type != C::i64) {
    a = bits(a);
    b = bits(b);
    if ((a.type == C::u32) != (b.type == C::u32)) {
      a = a.type == C::u32 ? a : convert(a, C::u32);
      b = b.type == C::u32 ? b : convert(b, C::u32);
    }
  } else {
    a = number(a, t);
    b = number(b, t);
    // Compilers warn of what is always so.
    if (!t.is_signed() && b.literal && b.number == 0 && (s == Scalar::lt || s == Scalar::ge))
      return bool_literal(s == Scalar::ge);
    if (!t.is_signed() && a.literal && a.number == 0 && (s == Scalar::gt || s == Scalar::le))
      return bool_literal(s == Scalar::le);
  }
  return binary(a, symbol(s), b, prec_of(s), C::boolean);
}

Expr Emitter::cast(const Op& op) {
  const Value* x = op.operand(0);
  const Type from = x->type();
  const Type to = op.result()->type();
  const Expr e = value(x);
  if (to == from) return e;
  if (to == type_i1) {
    const Expr zero = from.is_float() ? Expr{"0.0f", Prec::postfix, C::f32} : Expr{"0"};
    return binary(e, "!=", zero, Prec::equality, C::boolean);
  }
  if (from.is_float())
    return call(std::string("revet::to_int<") + c_name(c_type(to)) + ">", {e.text}, c_type(to));
  if (to.is_float()) return call("float", {as_number(x).text}, C::f32);
  if (is_narrow(to)) return convert(e, c_type(to));
  // Of 32 bits: the same number, or the same bits.
  const Range r = ranges_.of(x);
  const Range all = range_of_type(to);
  return e.type == C::i64 && !r.within(all.lo, all.hi) ? convert(e, C::u32) : e;
}

Expr Emitter::select(const Op& op) {
  return conditional(value(op.operand(0)), value(op.operand(1)), value(op.operand(2)),
                     op.result()->type());
}

Expr Emitter::expression_if(const Op& op) {
  const Expr c = value(op.operand(0));
  return conditional(c, value(op.body(0).terminator()->operand(0)),
                     value(op.body(1).terminator()->operand(0)), op.result()->type());
}

Expr Emitter::conditional(const Expr& c, const Expr& a, const Expr& b, Type type) {
  if (type == type_i1) {
    if (a.literal && b.literal) return a.number == b.number ? a : a.number != 0 ? c : negated(c);
    if (b.literal)
      return b.number == 0 ? binary(c, "&&", a, Prec::logical_and, C::boolean)
                           : binary(negated(c), "||", a, Prec::logical_or, C::boolean);
    if (a.literal)
      return a.number != 0 ? binary(c, "||", b, Prec::logical_or, C::boolean)
                           : binary(negated(c), "&&", b, Prec::logical_and, C::boolean);
  }
  Expr x = a, y = b;
  C held = a.type;
  if (type.is_integer() && type != type_i1 && (a.type != b.type || a.type == C::boolean)) {
    const auto is_wide = [](const Expr& e) { return e.type == C::u32 || e.type == C::i64; };
    held = is_wide(a) || is_wide(b) ? C::u32 : C::i32;
    const auto fit = [&](const Expr& e) {
      const bool promotes = e.type != C::boolean && !is_wide(e);
      return held == C::i32 && promotes ? e : convert(e, held);
    };
    x = fit(a);
    y = fit(b);
  }
  const bool bits = c.prec == Prec::bit_or || c.prec == Prec::bit_xor || c.prec == Prec::bit_and;
  return {wrap_if(c.text, bits || c.prec <= Prec::conditional) + " ? " +
              wrap_if(x.text, x.prec <= Prec::conditional) + " : " +
              wrap_if(y.text, y.prec <= Prec::conditional),
          Prec::conditional, held};
}

}  // namespace revet::openmp
