#include "words.hpp"

#include <algorithm>

#include "revet/ranges.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

unsigned lowest_bit(const Op& op) { return static_cast<unsigned>(op.int_attr("lo")); }

Value* extract(Builder& b, const Slot& slot) {
  return b.create(ops::arith_extract, {slot.word}, {slot.part}, {{"lo", slot.lo}})->result();
}

Value* insert(Builder& b, Value* word, Value* value, unsigned lo) {
  return b.create(ops::arith_insert, {word, value}, {word->type()}, {{"lo", lo}})->result();
}

}  // namespace

Value* Words::read(Builder& b, const Slot& slot, Type type, const std::string& name) {
  Value* const part = extract(b, slot);
  Value* const value = b.cast(part, type);
  value->set_name(name);
  reads_[value] = part->def();
  read_ops_.push_back(part->def());
  if (value != part) read_ops_.push_back(value->def());
  return value;
}

std::optional<Slot> Words::slot_of(const Value* v) const {
  const auto found = reads_.find(v);
  if (found == reads_.end()) return std::nullopt;
  const Op& op = *found->second;
  return Slot{op.operand(0), op.result()->type(), lowest_bit(op)};
}

Value* Words::pack(Builder& b, const std::vector<Part>& parts, const std::string& name) {
  Value* word = b.constant(type_u32, 0);
  for (const Part& p : parts) word = insert(b, word, b.cast(p.value, p.part), p.lo);
  word->set_name(name);
  packs_.push_back(word->def());
  return word;
}

void Words::finish(Module& module) {
  for (Op* last : packs_) rebuild(*last);
  for (Op& op : module.body())
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks()) sink(*block);
  for (auto op = read_ops_.rbegin(); op != read_ops_.rend(); ++op) (*op)->erase();
}

void Words::rebuild(Op& last) {
  struct Written {
    Op* op;
    Op* cast;      ///< of the value to the part's type, or null
    Value* value;  ///< in front of the cast: the part is its low bits
    unsigned bits, lo;
    std::optional<Slot> from;
  };
  std::vector<Written> written;
  Op* at = &last;
  for (; at->is(ops::arith_insert); at = at->operand(0)->def()) {
    Value* const v = at->operand(1);
    Op* cast = v->def();
    if (!cast || !cast->is(ops::arith_cast) || cast->next() != at || reads_.count(v) != 0 ||
        v->type() == type_i1 || !cast->operand(0)->type().is_integer())
      cast = nullptr;
    Value* const value = cast ? cast->operand(0) : v;
    written.push_back(
        {at, cast, value, part_bits(v->type().kind), lowest_bit(*at), slot_of(value)});
  }
  Op& zero = *at;
  std::reverse(written.begin(), written.end());

  const auto same_place = [](const Written& w, const Value* word) {
    return w.from && w.from->word == word && w.from->lo == w.lo &&
           part_bits(w.from->part.kind) == w.bits;
  };
  Value* base = nullptr;
  std::ptrdiff_t most = 0;
  for (const Written& w : written) {
    if (!w.from) continue;
    const auto same = std::count_if(written.begin(), written.end(), [&](const Written& other) {
      return same_place(other, w.from->word);
    });
    if (same > most) {
      most = same;
      base = w.from->word;
    }
  }

  Builder b = Builder::before(last);
  const std::string name = last.result()->name();
  Value* word = base;
  if (!base) {
    std::uint32_t bits = 0;
    for (const Written& w : written)
      if (const Op* c = constant_op(w.value))
        bits = insert_part(w.op->operand(1)->type().kind, bits, constant_bits(*c), w.lo);
    word = b.constant_of_bits(type_u32, bits);
  }
  for (const Written& w : written) {
    if (base ? same_place(w, base) : constant_op(w.value) != nullptr) continue;
    word = insert(b, word, w.op->operand(1), w.lo);
    ++made_writes_;
  }
  if (word != base && word->name().empty()) word->set_name(name);
  last.result()->replace_all_uses_with(word);
  for (auto w = written.rbegin(); w != written.rend(); ++w) {
    w->op->erase();
    if (w->cast && w->cast->result()->unused()) w->cast->erase();
  }
  zero.erase();
}

void Words::sink(Block& block) {
  std::unordered_map<const Value*, Value*> here;
  for (Op* op = block.first(); op; op = op->next()) {
    for (unsigned i = 0; i < op->num_operands(); ++i) {
      const Value* const v = op->operand(i);
      const auto found = reads_.find(v);
      if (found == reads_.end()) continue;
      Value*& made = here[v];
      if (!made) {
        Builder b = Builder::before(*op);
        b.set_loc(found->second->loc());
        made = b.cast(extract(b, *slot_of(v)), v->type());
        made->set_name(v->name());
        ++made_reads_;
      }
      op->set_operand(i, made);
    }
    for (const auto& region : op->regions())
      for (const auto& inner : region->blocks()) sink(*inner);
    if (op->num_regions() != 0) here.clear();
  }
}

}  // namespace revet
