/// Folding gives what scalar.hpp computes, for every op and type: on constants, and for identities
/// on every value that the unknown operand can have.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "../../plugins/canonicalize/casts.hpp"
#include "revet/builder.hpp"
#include "revet/scalar.hpp"

using namespace revet;

namespace {

const std::vector<Kind> integers = {Kind::i1, Kind::i8,  Kind::i16, Kind::i32,
                                    Kind::u8, Kind::u16, Kind::u32};
const std::vector<Kind> scalars = {Kind::i1, Kind::i8,  Kind::i16, Kind::i32,
                                   Kind::u8, Kind::u16, Kind::u32, Kind::f32};
const std::vector<const OpInfo*> binary_ops = {
    &ops::arith_add, &ops::arith_sub, &ops::arith_mul,  &ops::arith_div,  &ops::arith_rem,
    &ops::arith_and, &ops::arith_or,  &ops::arith_xor,  &ops::arith_shl,  &ops::arith_shr,
    &ops::arith_min, &ops::arith_max, &ops::arith_rotl, &ops::arith_rotr, &ops::arith_mulhi};
const std::vector<const OpInfo*> float_binary_ops = {&ops::arith_add, &ops::arith_sub,
                                                     &ops::arith_mul, &ops::arith_div,
                                                     &ops::arith_min, &ops::arith_max};
const std::vector<const OpInfo*> unary_ops = {
    &ops::arith_neg, &ops::arith_abs, &ops::arith_popcount, &ops::arith_clz, &ops::arith_ctz};
const std::vector<const char*> predicates = {"eq", "ne", "lt", "le", "gt", "ge"};

/// Register contents at the boundaries of every width, and some between.
std::vector<std::uint32_t> boundary_values(Kind k) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t bits :
       {0u,          1u,          2u,          3u,          5u,          7u,          8u,
        9u,          15u,         16u,         17u,         31u,         32u,         33u,
        63u,         64u,         100u,        0x55u,       0x7Eu,       0x7Fu,       0x80u,
        0x81u,       0xFEu,       0xFFu,       0x100u,      0x7FFEu,     0x7FFFu,     0x8000u,
        0x8001u,     0xFFFEu,     0xFFFFu,     0x10000u,    0x55555555u, 0x7FFFFFFEu, 0x7FFFFFFFu,
        0x80000000u, 0x80000001u, 0xFFFFFFE0u, 0xFFFFFFFEu, 0xFFFFFFFFu}) {
    const std::uint32_t w = wrap(k, bits);
    if (std::find(out.begin(), out.end(), w) == out.end()) out.push_back(w);
  }
  return out;
}

std::vector<std::uint32_t> float_values() {
  using L = std::numeric_limits<float>;
  std::vector<std::uint32_t> out;
  for (const float f : {0.0f,
                        -0.0f,
                        1.0f,
                        -1.0f,
                        0.5f,
                        1.5f,
                        2.5f,
                        255.0f,
                        256.0f,
                        32767.5f,
                        65536.0f,
                        16777217.0f,
                        2147483648.0f,
                        -2147483648.0f,
                        4294967296.0f,
                        1e10f,
                        L::min(),
                        L::denorm_min(),
                        -L::denorm_min(),
                        L::max(),
                        L::lowest(),
                        L::infinity(),
                        -L::infinity()})
    out.push_back(as_bits(f));
  for (const std::uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu})
    out.push_back(nan);
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) out.push_back(static_cast<std::uint32_t>(random()));
  return out;
}

std::vector<std::uint32_t> values_of(Kind k) {
  return k == Kind::f32 ? float_values() : boundary_values(k);
}

/// One op whose operands are block arguments, so that only the constants given are known.
class Folding {
 public:
  Folding(const OpInfo& info, const std::vector<Type>& operands, Type result, AttrMap attrs = {}) {
    std::vector<Value*> args;
    for (const Type t : operands) args.push_back(module_->body().add_arg(t));
    make(info, args, result, std::move(attrs));
  }
  /// Both operands are one value.
  static Folding same(const OpInfo& info, Type t, Type result, AttrMap attrs = {}) {
    Folding out;
    Value* x = out.module_->body().add_arg(t);
    out.make(info, {x, x}, result, std::move(attrs));
    return out;
  }

  /// `known[i]` is operand i's register content where it is constant.
  std::optional<Folded> operator()(const std::vector<std::optional<std::uint32_t>>& known) {
    std::vector<Attr> attrs(known.size());
    std::vector<const Attr*> constants(known.size(), nullptr);
    for (unsigned i = 0; i < known.size(); ++i) {
      if (!known[i]) continue;
      attrs[i] = attr(op_->operand(i)->type(), *known[i]);
      constants[i] = &attrs[i];
    }
    return op_->info().fold(*op_, constants);
  }

  Op& op() { return *op_; }
  Builder builder() { return Builder(module_->body()); }

  /// The attribute of an arith.constant with that register content.
  static Attr attr(Type t, std::uint32_t bits) {
    Module m;
    Builder b(m.body());
    return *b.constant_of_bits(t, bits)->def()->attr("value");
  }
  /// The register content that an arith.constant of the attribute would have; the attribute must
  /// be spelt as Builder spells it.
  static std::uint32_t bits(Type t, const Attr& a) {
    Module m;
    Builder b(m.body());
    const std::uint32_t out =
        constant_bits(*b.create(ops::arith_constant, {}, {t}, {{"value", a}}));
    const bool canonical = attr(t, out) == a;
    REQUIRE(canonical);
    return out;
  }

 private:
  Folding() = default;
  void make(const OpInfo& info, const std::vector<Value*>& operands, Type result, AttrMap attrs) {
    Builder b(module_->body());
    const std::vector<Type> results = {result};
    op_ = b.create(info, operands, results, std::move(attrs));
  }
  std::unique_ptr<Module> module_ = std::make_unique<Module>();
  Op* op_ = nullptr;
};

/// What `folded` says the result is when the operands hold `operands`.
std::uint32_t result_bits(Folding& f, const Folded& folded,
                          const std::vector<std::uint32_t>& operands) {
  REQUIRE(folded.size() == 1);
  if (const Attr* a = std::get_if<Attr>(&folded[0]))
    return Folding::bits(f.op().result()->type(), *a);
  Value* v = std::get<Value*>(folded[0]);
  for (unsigned i = 0; i < f.op().num_operands(); ++i)
    if (f.op().operand(i) == v) {
      REQUIRE(v->type() == f.op().result()->type());
      return operands[i];
    }
  FAIL("folded to a value that is no operand");
  return 0;
}

/// Checks a binary op or comparison on all pairs: both known, one known, none known.
void check_binary(const OpInfo& info, Kind k, Type result, const AttrMap& attrs = {}) {
  const std::vector<std::uint32_t> values = values_of(k);
  Folding f(info, {Type{k}, Type{k}}, result, attrs);
  Folding same = Folding::same(info, Type{k}, result, attrs);
  const Scalar s = scalar_of(f.op());
  INFO(info.name << " on " << Type{k}.str());
  const auto none = f({std::nullopt, std::nullopt});
  REQUIRE_FALSE(none.has_value());
  const auto doubled = same({std::nullopt, std::nullopt});
  for (const std::uint32_t a : values) {
    const auto left = f({a, std::nullopt});
    const auto right = f({std::nullopt, a});
    if (doubled) REQUIRE(result_bits(same, *doubled, {a, a}) == apply(s, k, a, a));
    for (const std::uint32_t b : values) {
      INFO("operands " << a << ", " << b);
      const std::uint32_t expected = apply(s, k, a, b);
      const auto both = f({a, b});
      REQUIRE(both.has_value());
      REQUIRE(result_bits(f, *both, {a, b}) == expected);
      if (left) REQUIRE(result_bits(f, *left, {a, b}) == expected);
      if (right) REQUIRE(result_bits(f, *right, {b, a}) == apply(s, k, b, a));
    }
  }
}

}  // namespace

TEST_CASE("binary ops on integers fold to what apply computes", "[folds]") {
  for (const Kind k : integers)
    for (const OpInfo* info : binary_ops) check_binary(*info, k, Type{k});
}

TEST_CASE("binary ops on floats fold to what apply computes", "[folds]") {
  for (const OpInfo* info : float_binary_ops) check_binary(*info, Kind::f32, type_f32);
}

TEST_CASE("comparisons fold to what apply computes", "[folds]") {
  for (const Kind k : scalars)
    for (const char* pred : predicates) check_binary(ops::arith_cmp, k, type_i1, {{"pred", pred}});
}

TEST_CASE("unary ops fold to what apply computes", "[folds]") {
  for (const Kind k : scalars) {
    for (const OpInfo* info : unary_ops) {
      const bool counts = info != &ops::arith_neg && info != &ops::arith_abs;
      if (counts && k == Kind::f32) continue;
      Folding f(*info, {Type{k}}, counts ? type_i32 : Type{k});
      REQUIRE_FALSE(f({std::nullopt}).has_value());
      for (const std::uint32_t a : values_of(k)) {
        const auto folded = f({a});
        REQUIRE(folded.has_value());
        REQUIRE(result_bits(f, *folded, {a}) == apply(scalar_of(f.op()), k, a));
      }
    }
  }
}

TEST_CASE("casts fold to what convert computes", "[folds]") {
  for (const Kind from : scalars) {
    for (const Kind to : scalars) {
      Folding f(ops::arith_cast, {Type{from}}, Type{to});
      REQUIRE(f({std::nullopt}).has_value() == (from == to));
      for (const std::uint32_t a : values_of(from)) {
        const auto folded = f({a});
        REQUIRE(folded.has_value());
        REQUIRE(result_bits(f, *folded, {a}) == convert(from, to, a));
      }
    }
  }
}

TEST_CASE("a cast there and back folds only where every value survives", "[folds]") {
  for (const Kind a : scalars) {
    for (const Kind b : scalars) {
      Module m;
      Value* x = m.body().add_arg(Type{a});
      Builder builder(m.body());
      Value* there = builder.create(ops::arith_cast, {x}, {Type{b}})->result();
      Op* back = builder.create(ops::arith_cast, {there}, {Type{a}});
      const Attr* unknown[] = {nullptr};
      const auto folded = ops::arith_cast.fold(*back, unknown);
      INFO(Type{a}.str() << " -> " << Type{b}.str() << " -> " << Type{a}.str());
      std::vector<std::uint32_t> values = values_of(a);
      if (a != Kind::f32)
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) values.push_back(wrap(a, bits));
      bool survives = true;
      for (const std::uint32_t v : values) survives &= convert(b, a, convert(a, b, v)) == v;
      REQUIRE(folded.has_value() == survives);
      if (folded) REQUIRE(std::get<Value*>((*folded)[0]) == (a == b ? there : x));
    }
  }
}

TEST_CASE("a cast of a cast is direct only where both give the same", "[folds]") {
  for (const Kind a : scalars) {
    for (const Kind b : scalars) {
      for (const Kind c : scalars) {
        if (!cast_is_direct(Type{a}, Type{b}, Type{c})) continue;
        INFO(Type{a}.str() << " -> " << Type{b}.str() << " -> " << Type{c}.str());
        std::vector<std::uint32_t> values = values_of(a);
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) values.push_back(wrap(a, bits));
        for (const std::uint32_t v : values)
          REQUIRE(convert(b, c, convert(a, b, v)) == convert(a, c, v));
      }
    }
  }
  REQUIRE(cast_is_direct({Kind::u8}, type_i32, type_u32));
  REQUIRE(cast_is_direct(type_i32, type_u32, {Kind::u8}));
  REQUIRE_FALSE(cast_is_direct(type_i32, {Kind::u8}, type_i32));
  REQUIRE_FALSE(cast_is_direct(type_i32, type_u32, type_f32));
}

TEST_CASE("select folds on its condition, equal arms and bool arms", "[folds]") {
  for (const Kind k : scalars) {
    Folding f(ops::arith_select, {type_i1, Type{k}, Type{k}}, Type{k});
    for (const std::uint32_t a : values_of(k)) {
      for (const std::uint32_t b : values_of(k)) {
        for (const std::uint32_t c : {0u, 1u}) {
          const std::uint32_t expected = c ? a : b;
          REQUIRE(result_bits(f, *f({c, std::nullopt, std::nullopt}), {c, a, b}) == expected);
          REQUIRE(result_bits(f, *f({c, a, b}), {c, a, b}) == expected);
          if (const auto folded = f({std::nullopt, a, b}))
            REQUIRE(result_bits(f, *folded, {c, a, b}) == expected);
        }
        REQUIRE(f({std::nullopt, a, b}).has_value() == (a == b || (k == Kind::i1 && a == 1)));
      }
    }
  }
}

TEST_CASE("the identities fire", "[folds]") {
  struct Row {
    const OpInfo* info;
    std::optional<std::uint32_t> a, b;
    std::optional<std::uint32_t> constant;  ///< result; absent: the unknown operand
  };
  const auto x = std::nullopt;
  const std::vector<Row> rows = {
      {&ops::arith_add, x, 0, x},  {&ops::arith_add, 0, x, x},    {&ops::arith_sub, x, 0, x},
      {&ops::arith_mul, x, 1, x},  {&ops::arith_mul, 1, x, x},    {&ops::arith_mul, x, 0, 0},
      {&ops::arith_mul, 0, x, 0},  {&ops::arith_div, x, 1, x},    {&ops::arith_rem, x, 1, 0},
      {&ops::arith_rem, x, 0, x},  {&ops::arith_and, x, 0, 0},    {&ops::arith_and, x, ~0u, x},
      {&ops::arith_or, 0, x, x},   {&ops::arith_or, x, ~0u, ~0u}, {&ops::arith_xor, x, 0, x},
      {&ops::arith_shl, x, 0, x},  {&ops::arith_shl, x, 32, x},   {&ops::arith_shr, x, 0, x},
      {&ops::arith_rotl, x, 0, x}, {&ops::arith_rotr, x, 64, x},  {&ops::arith_mulhi, x, 0, 0}};
  for (const Kind k : {Kind::i32, Kind::u32}) {
    for (const Row& row : rows) {
      Folding f(*row.info, {Type{k}, Type{k}}, Type{k});
      INFO(row.info->name);
      const auto folded = f({row.a, row.b});
      REQUIRE(folded.has_value());
      if (row.constant)
        REQUIRE(Folding::bits(Type{k}, std::get<Attr>((*folded)[0])) == *row.constant);
      else
        REQUIRE(std::get<Value*>((*folded)[0]) == f.op().operand(row.a ? 1 : 0));
    }
    for (const OpInfo* info : {&ops::arith_sub, &ops::arith_xor, &ops::arith_and, &ops::arith_or,
                               &ops::arith_min, &ops::arith_max, &ops::arith_rem})
      REQUIRE(Folding::same(*info, Type{k}, Type{k})({x, x}).has_value());
  }
}

TEST_CASE("identities that need a promise about the operand do not fire", "[folds]") {
  const auto x = std::nullopt;
  for (const OpInfo* info : float_binary_ops) {
    Folding f(*info, {type_f32, type_f32}, type_f32);
    INFO(info->name);
    for (const float c : {0.0f, -0.0f, 1.0f}) {
      REQUIRE_FALSE(f({x, as_bits(c)}).has_value());
      REQUIRE_FALSE(f({as_bits(c), x}).has_value());
    }
  }
  for (const OpInfo* info : {&ops::arith_sub, &ops::arith_div, &ops::arith_add})
    REQUIRE_FALSE(Folding::same(*info, type_f32, type_f32)({x, x}).has_value());
  for (const char* pred : predicates)
    REQUIRE_FALSE(
        Folding::same(ops::arith_cmp, type_f32, type_i1, {{"pred", pred}})({x, x}).has_value());
  REQUIRE_FALSE(Folding::same(ops::arith_div, type_i32, type_i32)({x, x}).has_value());
  REQUIRE_FALSE(Folding(ops::arith_div, {type_i32, type_i32}, type_i32)({0u, x}).has_value());
}

TEST_CASE("a bool compared with a constant is the bool where that is the same", "[folds]") {
  for (const Kind k : integers) {
    for (const char* pred : {"eq", "ne"}) {
      for (const std::uint32_t c : {0u, 1u}) {
        Module m;
        Value* flag = m.body().add_arg(type_i1);
        Builder b(m.body());
        Value* wide = b.cast(flag, Type{k});
        Op* cmp = b.create(ops::arith_cmp, {wide, wide}, {type_i1}, {{"pred", pred}});
        cmp->set_operand(1, b.constant_of_bits(Type{k}, c));
        const Attr value = Folding::attr(Type{k}, c);
        const Attr* constants[] = {nullptr, &value};
        const auto folded = ops::arith_cmp.fold(*cmp, constants);
        const bool same = (std::string(pred) == "eq") == (c == 1);
        REQUIRE(folded.has_value() == same);
        if (same) REQUIRE(std::get<Value*>((*folded)[0]) == flag);
      }
    }
  }
}

TEST_CASE("parts of words fold to what extract_part and insert_part compute", "[folds]") {
  for (const Type word : {type_i32, type_u32})
    for (const Kind k : {Kind::i1, Kind::i8, Kind::u8, Kind::i16, Kind::u16})
      for (unsigned lo = 0; lo < 32; lo += part_bits(k)) {
        Folding extract(ops::arith_extract, {word}, Type{k}, {{"lo", lo}});
        Folding insert(ops::arith_insert, {word, Type{k}}, word, {{"lo", lo}});
        REQUIRE_FALSE(extract({std::nullopt}).has_value());
        for (const std::uint32_t w : values_of(word.kind)) {
          const auto part = extract({w});
          REQUIRE(part.has_value());
          REQUIRE(result_bits(extract, *part, {w}) == extract_part(k, w, lo));
          for (const std::uint32_t v : values_of(k)) {
            REQUIRE_FALSE(insert({std::nullopt, v}).has_value());
            const auto both = insert({w, v});
            REQUIRE(both.has_value());
            REQUIRE(result_bits(insert, *both, {w, v}) == insert_part(k, w, v, lo));
            REQUIRE(extract_part(k, insert_part(k, w, v, lo), lo) == v);
            REQUIRE(((insert_part(k, w, v, lo) ^ w) & ~part_mask(k, lo)) == 0);
          }
        }
      }
}

TEST_CASE("a part reads what was written to its place", "[folds]") {
  Folding outer(ops::arith_insert, {type_u32, Type{Kind::u8}}, type_u32, {{"lo", 8}});
  Builder b = outer.builder();
  Value* const word = outer.op().result();
  Value* const first = outer.op().operand(1);
  const auto extract = [&](Value* from, Kind k, unsigned lo) {
    return b.create(ops::arith_extract, {from}, {Type{k}}, {{"lo", lo}});
  };
  const auto folded = [](const Op& op) {
    const std::vector<const Attr*> none(op.num_operands(), nullptr);
    const auto f = op.info().fold(op, none);
    return f ? std::get<Value*>((*f)[0]) : nullptr;
  };
  REQUIRE(folded(*extract(word, Kind::u8, 8)) == first);
  REQUIRE(folded(*extract(word, Kind::i8, 8)) == nullptr);
  REQUIRE(folded(*extract(word, Kind::u16, 0)) == nullptr);
  REQUIRE(folded(*extract(word, Kind::u8, 0)) == nullptr);
  Value* const half = extract(word, Kind::u16, 16)->result();
  Op* const same = b.create(ops::arith_insert, {word, half}, {type_u32}, {{"lo", 16}});
  REQUIRE(folded(*same) == word);
  Op* const moved = b.create(ops::arith_insert, {word, half}, {type_u32}, {{"lo", 0}});
  REQUIRE(folded(*moved) == nullptr);
  REQUIRE(folded(*extract(moved->result(), Kind::u8, 8)) == nullptr);
  REQUIRE(folded(*extract(same->result(), Kind::u8, 8)) == first);
}
