// A read is what an AND with 0xFF or 0xFFFF, a right shift, or a cast picks out of a 32-bit word at
// a multiple of its width; a write is an OR (or a sum, or an exclusive OR) of such a part, shifted
// to its place, with a word that is known to be zero there. Each op is looked at once, operands
// first; what it no longer needs goes.
#include "parts.hpp"

#include <algorithm>
#include <optional>

#include "revet/builder.hpp"
#include "revet/ranges.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

constexpr unsigned most_depth = 16;

bool is_word(const Value* v) { return v->type() == type_i32 || v->type() == type_u32; }

std::optional<std::uint32_t> constant_in(const Value* v) {
  const Op* c = constant_op(v);
  return c && v->type().is_integer() ? std::optional(constant_bits(*c)) : std::nullopt;
}

/// The other operand and the constant, where `v` is that op on a word and a constant.
struct WithConstant {
  Value* x;
  std::uint32_t c;
};
std::optional<WithConstant> match(const Value* v, const OpInfo& info) {
  const Op* op = v->def();
  if (!op || !op->is(info) || !is_word(v)) return std::nullopt;
  if (const auto c = constant_in(op->operand(1))) return WithConstant{op->operand(0), *c};
  if (const auto c = constant_in(op->operand(0)); c && info.name == "arith.and")
    return WithConstant{op->operand(1), *c};
  return std::nullopt;
}

/// 8 for 0xFF, 16 for 0xFFFF, else 0.
unsigned width_of_mask(std::uint32_t mask) { return mask == 0xFF ? 8 : mask == 0xFFFF ? 16 : 0; }

Type part_type(unsigned width, bool is_signed) {
  if (width == 8) return Type{is_signed ? Kind::i8 : Kind::u8};
  return Type{is_signed ? Kind::i16 : Kind::u16};
}

struct Read {
  Value* word;
  Type part;
  unsigned lo;
};

bool fits(unsigned lo, unsigned width) { return width != 0 && lo % width == 0 && lo + width <= 32; }

/// `v` as the extension of a part of a word.
std::optional<Read> read_of(const Value* v) {
  if (const auto a = match(v, ops::arith_and)) {
    const unsigned width = width_of_mask(a->c);
    if (width == 0) return std::nullopt;
    const auto s = match(a->x, ops::arith_shr);
    if (s && fits(s->c, width)) return Read{s->x, part_type(width, false), s->c};
    return Read{a->x, part_type(width, false), 0};
  }
  const auto s = match(v, ops::arith_shr);
  if (!s) return std::nullopt;
  if (const auto a = match(s->x, ops::arith_and); a && s->c < 32) {
    const unsigned width = width_of_mask(a->c >> s->c);
    const bool extended = v->type().is_signed() && (a->c >> 31) != 0;
    if (!extended && fits(s->c, width)) return Read{a->x, part_type(width, false), s->c};
  }
  if (s->c != 16 && s->c != 24) return std::nullopt;
  const unsigned width = 32 - s->c;
  const auto l = match(s->x, ops::arith_shl);
  if (l && l->c <= s->c && fits(s->c - l->c, width))
    return Read{l->x, part_type(width, v->type().is_signed()), s->c - l->c};
  return Read{s->x, part_type(width, v->type().is_signed()), s->c};
}

/// Bits of `v` that are 0 whatever happens.
std::uint32_t zeros(const Value* v, unsigned depth = 0) {
  if (const auto c = constant_in(v)) return ~*c;
  const Op* op = v->def();
  if (!op || depth > most_depth) return 0;
  if (op->is(ops::arith_cast)) {
    const Type from = op->operand(0)->type();
    if (!is_word(v) || !from.is_integer()) return 0;
    if (from.bits() == 32) return zeros(op->operand(0), depth + 1);
    return from.is_signed() ? 0 : ~((1u << from.bits()) - 1);
  }
  if (!is_word(v)) return 0;
  const auto of = [&](unsigned i) { return zeros(op->operand(i), depth + 1); };
  if (op->is(ops::arith_and)) return of(0) | of(1);
  if (op->is(ops::arith_or) || op->is(ops::arith_xor)) return of(0) & of(1);
  if (op->is(ops::arith_select)) return of(1) & of(2);
  if (op->is(ops::arith_insert))
    return of(0) &
           ~part_mask(op->operand(1)->type().kind, static_cast<unsigned>(op->int_attr("lo")));
  if (const auto l = match(v, ops::arith_shl)) {
    const unsigned c = l->c % 32;
    return (of(0) << c) | ((1u << c) - 1);
  }
  const auto r = match(v, ops::arith_shr);
  if (r && !v->type().is_signed() && r->c % 32 != 0)
    return (of(0) >> (r->c % 32)) | ~(~0u >> (r->c % 32));
  return 0;
}

/// The low bits of `value`, at bit lo of a word that is 0 elsewhere.
struct Field {
  Value* value;
  unsigned width, lo;
  unsigned from = 0;  ///< the field is at this bit of `value`
};

std::optional<Field> field_of(Value* v) {
  const Op* op = v->def();
  if (!op || !is_word(v)) return std::nullopt;
  if (const auto l = match(v, ops::arith_shl)) {
    if (l->c == 16 || l->c == 24) return Field{l->x, 32 - l->c, l->c};
    const std::uint32_t zero = zeros(l->x);
    for (const unsigned width : {8u, 16u})
      if (fits(l->c, width) && (zero | ((1u << width) - 1)) == ~0u) return Field{l->x, width, l->c};
    return std::nullopt;
  }
  if (const auto a = match(v, ops::arith_and)) {
    for (const unsigned width : {8u, 16u})
      for (unsigned lo = 0; lo < 32; lo += width) {
        if (a->c != ((1u << width) - 1) << lo) continue;
        const auto l = match(a->x, ops::arith_shl);
        if (l && l->c == lo) return Field{l->x, width, lo};
        return Field{a->x, width, lo, lo};
      }
    return std::nullopt;
  }
  if (!op->is(ops::arith_cast)) return std::nullopt;
  const Type from = op->operand(0)->type();
  if (from == Type{Kind::u8} || from == Type{Kind::u16})
    return Field{op->operand(0), from.bits(), 0};
  return std::nullopt;
}

/// `v` without what does not matter where the bits of `mask` are replaced.
Value* without(Value* v, std::uint32_t mask) {
  const auto a = match(v, ops::arith_and);
  return a && (a->c | mask) == ~0u ? a->x : v;
}

class Rewriting {
 public:
  explicit Rewriting(PassContext& context) : context_(context) {}

  void visit(Block& block) {
    for (Op *op = block.first(), *next; op; op = next) {
      next = op->next();
      context_.visit();
      for (const auto& region : op->regions())
        for (const auto& inner : region->blocks()) visit(*inner);
      if (op->num_results() != 1 || !op->result()->type().is_integer()) continue;
      if (Value* const made = replacement(*op)) {
        made->set_name(op->result()->name());
        op->result()->replace_all_uses_with(made);
        remove(*op);
        changed_ = true;
      }
    }
  }
  bool changed() const { return changed_; }

 private:
  Value* replacement(Op& op) {
    if (op.is(ops::arith_cast)) return read_by_cast(op);
    if (op.is(ops::arith_and) || op.is(ops::arith_shr)) {
      const auto read = read_of(op.result());
      if (!read || !context_.spend()) return nullptr;
      return made_read(op, *read);
    }
    if (op.is(ops::arith_or) || op.is(ops::arith_xor) || op.is(ops::arith_add)) return write(op);
    return nullptr;
  }

  Value* made_read(Op& op, const Read& read) {
    Builder b = Builder::before(op);
    context_.count("parts read");
    Value* const part =
        b.create(ops::arith_extract, {read.word}, {read.part}, {{"lo", read.lo}})->result();
    return b.cast(part, op.result()->type());
  }

  /// A narrowing cast reads the low part; of a part or a shifted word it can do so directly.
  Value* read_by_cast(Op& op) {
    const Type to = op.result()->type();
    Value* const x = op.operand(0);
    if (!is_word(x) || to.bits() >= 32 || to == type_i1 || !x->def()) return nullptr;
    std::optional<Read> read;
    if (const auto s = match(x, ops::arith_shr); s && fits(s->c, to.bits())) {
      read = Read{s->x, to, s->c};
    } else if (x->def()->is(ops::arith_cast)) {
      const Op* inner = x->def()->operand(0)->def();
      if (inner && inner->is(ops::arith_extract) && inner->result()->type() != type_i1 &&
          inner->result()->type().bits() >= to.bits())
        read = Read{inner->operand(0), to, static_cast<unsigned>(inner->int_attr("lo"))};
    }
    if (!read || !context_.spend()) return nullptr;
    return made_read(op, *read);
  }

  Value* write(Op& op) {
    if (!is_word(op.result())) return nullptr;
    for (const unsigned i : {1u, 0u}) {
      const auto field = field_of(op.operand(i));
      if (!field) continue;
      const Type part = part_type(field->width, false);
      const std::uint32_t mask = part_mask(part.kind, field->lo);
      Value* const rest = op.operand(1 - i);
      if ((zeros(rest) & mask) != mask || !context_.spend()) continue;
      Builder b = Builder::before(op);
      context_.count("parts written");
      Value* value = field->value;
      const Op* const cast =
          value->def() && value->def()->is(ops::arith_cast) ? value->def() : nullptr;
      if (field->from != 0)
        value = b.create(ops::arith_extract, {value}, {part}, {{"lo", field->from}})->result();
      else if (cast && cast->operand(0)->type() == part)
        value = cast->operand(0);
      else
        value = b.cast(value, part);
      return b
          .create(ops::arith_insert, {without(rest, mask), value}, {op.result()->type()},
                  {{"lo", field->lo}})
          ->result();
    }
    return nullptr;
  }

  /// Removes the op and what only it needed.
  static void remove(Op& op) {
    const std::vector<Value*> operands(op.operands().begin(), op.operands().end());
    op.erase();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto here = operands.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(operands.begin(), here, operands[i]) != here) continue;
      Op* const def = operands[i]->def();
      if (def && def->num_results() == 1 && def->num_regions() == 0 && operands[i]->unused() &&
          is_pure(*def))
        remove(*def);
    }
  }

  PassContext& context_;
  bool changed_ = false;
};

}  // namespace

bool rewrite_parts(Module& module, PassContext& context) {
  Rewriting rewriting(context);
  for (Op& op : module.body())
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks()) rewriting.visit(*block);
  return rewriting.changed();
}

}  // namespace revet
