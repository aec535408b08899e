/// The table of `arith` ops. revet/scalar.hpp says what each computes.
#include <algorithm>

#include "folds.hpp"
#include "op_table.hpp"
#include "revet/builder.hpp"
#include "revet/scalar.hpp"

namespace revet::ops {
namespace {

enum class Operands { any_scalar, numeric, integer, numeric_or_bool, integer_or_bool };

/// Operands and result of one type from the class.
Verify same_type(Operands allowed) {
  return [=](const Op& op, VerifyReport& report) {
    const Type t = op.operand(0)->type();
    for (Value* v : op.operands())
      expect(v->type() == t, op, report, "operands must have one type");
    expect(op.result()->type() == t, op, report, "the result must have the operands' type");
    const bool bool_ok = allowed == Operands::any_scalar || allowed == Operands::numeric_or_bool ||
                         allowed == Operands::integer_or_bool;
    const bool float_ok = allowed == Operands::any_scalar || allowed == Operands::numeric ||
                          allowed == Operands::numeric_or_bool;
    expect(t.is_scalar() && (bool_ok || t != type_i1) && (float_ok || !t.is_float()), op, report,
           "operands have an unsuitable type");
  };
}

void verify_count_bits(const Op& op, VerifyReport& report) {
  expect(op.operand(0)->type().is_integer(), op, report, "the operand must be an integer");
  expect(op.result()->type() == type_i32, op, report, "the result must be i32");
}

void verify_constant(const Op& op, VerifyReport& report) {
  const Type t = op.result()->type();
  const Attr* value = op.attr("value");
  if (!value) return;
  if (t.is_float()) return expect(value->as_float(), op, report, "an f32 needs a float value");
  if (!t.is_integer() || !value->as_int())
    return report.fail(op, "an integer type needs an integer value");
  const std::int64_t v = *value->as_int();
  const std::uint32_t bits = wrap(t.kind, static_cast<std::uint32_t>(v));
  const std::int64_t back =
      t.is_signed() ? std::int64_t{static_cast<std::int32_t>(bits)} : std::int64_t{bits};
  expect(back == v, op, report, "the value does not fit its type");
}

void verify_cmp(const Op& op, VerifyReport& report) {
  static const std::vector<std::string> names = {"eq", "ne", "lt", "le", "gt", "ge"};
  expect(std::find(names.begin(), names.end(), op.str_attr("pred")) != names.end(), op, report,
         "`pred` is one of eq ne lt le gt ge");
  expect(op.operand(0)->type() == op.operand(1)->type() && op.operand(0)->type().is_scalar(), op,
         report, "operands must have one scalar type");
  expect(op.result()->type() == type_i1, op, report, "the result must be i1");
}

void verify_select(const Op& op, VerifyReport& report) {
  expect(op.operand(0)->type() == type_i1, op, report, "the condition must be i1");
  const Type t = op.operand(1)->type();
  expect(t == op.operand(2)->type() && t == op.result()->type() && t.is_scalar(), op, report,
         "both values and the result must have one scalar type");
}

void verify_cast(const Op& op, VerifyReport& report) {
  const Type from = op.operand(0)->type();
  const Type to = op.result()->type();
  const bool number =
      (from.kind == Kind::ptr && to == type_u32) || (from == type_u32 && to.kind == Kind::ptr);
  expect(number || (from.is_scalar() && to.is_scalar()), op, report,
         "converts between scalar types, or between a pointer and u32");
}

void verify_part(const Op& op, Type word, Type part, VerifyReport& report) {
  const unsigned width = part_bits(part.kind);
  const std::int64_t lo = op.int_attr("lo");
  expect(word == type_u32 || word == type_i32, op, report, "the word must be i32 or u32");
  if (width == 0) return report.fail(op, "a part has 8 or 16 bits, or is a bool");
  expect(lo >= 0 && lo + width <= 32 && lo % width == 0, op, report,
         "`lo` is a multiple of the part's width, inside the word");
}

void verify_extract(const Op& op, VerifyReport& report) {
  verify_part(op, op.operand(0)->type(), op.result()->type(), report);
}

void verify_insert(const Op& op, VerifyReport& report) {
  verify_part(op, op.operand(0)->type(), op.operand(1)->type(), report);
  expect(op.result()->type() == op.operand(0)->type(), op, report,
         "the result must have the word's type");
}

std::vector<Value*> expand_extract(Op& op) {
  Builder b = Builder::before(op);
  Value* word = op.operand(0);
  const Type part = op.result()->type();
  if (const std::int64_t lo = op.int_attr("lo"))
    word = b.binary(arith_shr, word, b.constant(word->type(), lo));
  if (part == type_i1) word = b.binary(arith_and, word, b.constant(word->type(), 1));
  return {b.cast(word, part)};
}

std::vector<Value*> expand_insert(Op& op) {
  Builder b = Builder::before(op);
  const Type word = op.result()->type();
  const Kind part = op.operand(1)->type().kind;
  const auto lo = static_cast<unsigned>(op.int_attr("lo"));
  Value* value = b.cast(op.operand(1), word);
  if (Type{part}.is_signed())
    value = b.binary(arith_and, value, b.constant_of_bits(word, part_mask(part, 0)));
  if (lo != 0) value = b.binary(arith_shl, value, b.constant(word, lo));
  Value* const rest =
      b.binary(arith_and, op.operand(0), b.constant_of_bits(word, ~part_mask(part, lo)));
  return {b.binary(arith_or, rest, value)};
}

OpInfo arith_op(const char* name, const char* summary, unsigned operands, Verify verify,
                const char* operand_help, std::vector<AttrSpec> attrs = {}) {
  OpInfo info =
      make(name, summary, Level::any, exactly(operands), exactly(1), operand_help, "value");
  info.verify = std::move(verify);
  info.attrs = std::move(attrs);
  if (operands != 0) info.fold = fold_arith;
  return info;
}

OpInfo part_op(const char* name, const char* summary, unsigned operands, Verify verify,
               const char* operand_help, decltype(OpInfo::fold) fold,
               decltype(OpInfo::expand) expand) {
  OpInfo info = arith_op(name, summary, operands, std::move(verify), operand_help,
                         {{"lo", AttrKind::integer, true, "lowest bit of the part"}});
  info.fold = std::move(fold);
  info.expand = std::move(expand);
  return info;
}

}  // namespace

const OpInfo arith_constant = arith_op("arith.constant", "A constant", 0, verify_constant, "",
                                       {{"value", AttrKind::any, true, "the value"}});
const OpInfo arith_add =
    arith_op("arith.add", "a + b, wrapping", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_sub =
    arith_op("arith.sub", "a - b, wrapping", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_mul =
    arith_op("arith.mul", "a * b, wrapping", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_div =
    arith_op("arith.div", "a / b; all ones where b is 0", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_rem =
    arith_op("arith.rem", "a % b; a where b is 0", 2, same_type(Operands::integer), "a, b");
const OpInfo arith_and =
    arith_op("arith.and", "a & b", 2, same_type(Operands::integer_or_bool), "a, b");
const OpInfo arith_or =
    arith_op("arith.or", "a | b", 2, same_type(Operands::integer_or_bool), "a, b");
const OpInfo arith_xor =
    arith_op("arith.xor", "a ^ b", 2, same_type(Operands::integer_or_bool), "a, b");
const OpInfo arith_shl =
    arith_op("arith.shl", "a << (b mod 32)", 2, same_type(Operands::integer), "a, b");
const OpInfo arith_shr = arith_op("arith.shr", "a >> (b mod 32), arithmetic if signed", 2,
                                  same_type(Operands::integer), "a, b");
const OpInfo arith_min =
    arith_op("arith.min", "b < a ? b : a", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_max =
    arith_op("arith.max", "a < b ? b : a", 2, same_type(Operands::numeric), "a, b");
const OpInfo arith_mulhi =
    arith_op("arith.mulhi", "High half of the product", 2, same_type(Operands::integer), "a, b");
const OpInfo arith_rotl =
    arith_op("arith.rotl", "Rotates left", 2, same_type(Operands::integer), "a, b");
const OpInfo arith_rotr =
    arith_op("arith.rotr", "Rotates right", 2, same_type(Operands::integer), "a, b");
const OpInfo arith_neg = arith_op("arith.neg", "-a", 1, same_type(Operands::numeric), "a");
const OpInfo arith_abs =
    arith_op("arith.abs", "Absolute value, wrapping", 1, same_type(Operands::numeric), "a");
const OpInfo arith_popcount =
    arith_op("arith.popcount", "Number of one bits", 1, verify_count_bits, "a");
const OpInfo arith_clz =
    arith_op("arith.clz", "Leading zeros; 32 for 0", 1, verify_count_bits, "a");
const OpInfo arith_ctz =
    arith_op("arith.ctz", "Trailing zeros; 32 for 0", 1, verify_count_bits, "a");
const OpInfo arith_cmp = arith_op("arith.cmp", "Compares", 2, verify_cmp, "a, b",
                                  {{"pred", AttrKind::string, true, "eq ne lt le gt ge"}});
const OpInfo arith_select = arith_op("arith.select", "c ? a : b", 3, verify_select, "c, a, b");
const OpInfo arith_cast =
    arith_op("arith.cast", "Converts between scalar types", 1, verify_cast, "a");
const OpInfo arith_extract = part_op("arith.extract", "Part of a word, at a fixed boundary", 1,
                                     verify_extract, "word", fold_extract, expand_extract);
const OpInfo arith_insert = part_op("arith.insert", "The word with a part replaced", 2,
                                    verify_insert, "word, value", fold_insert, expand_insert);

}  // namespace revet::ops
