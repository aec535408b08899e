#include "branches.hpp"

#include <algorithm>
#include <map>

#include "revet/builder.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

/// A read of a part of a word.
struct Read {
  Value* word = nullptr;
  unsigned lo = 0, bits = 0;

  bool overlaps(const Read& other) const {
    return lo < other.lo + other.bits && other.lo < lo + bits;
  }
};

Read read_of(const Op* op) {
  if (!op || !op->is(ops::arith_extract)) return {};
  return {op->operand(0), static_cast<unsigned>(op->int_attr("lo")),
          part_bits(op->result()->type().kind)};
}

/// A result of an if that one arm reads from a word.
struct Candidate {
  unsigned result;
  Read read;
};

/// Each use of a value reads it from a word.
void read_at_uses(const Value& v, Value& word, unsigned lo) {
  const auto uses = v.uses();
  for (const Use& use : std::vector<Use>(uses.begin(), uses.end())) {
    Builder b = Builder::before(*use.op);
    Value* const part = b.create(ops::arith_extract, {&word}, {v.type()}, {{"lo", lo}})->result();
    part->set_name(v.name());
    use.op->set_operand(use.index, part);
  }
}

class IfWords {
 public:
  IfWords(Op& op, PassContext& context) : op_(op), context_(context) {}

  bool run() {
    std::map<const Value*, std::vector<Candidate>> found;
    std::vector<Value*> words;  // in the order of the results
    for (unsigned i = 0; i < op_.num_results(); ++i)
      for (unsigned arm = 0; arm < 2; ++arm) {
        const Read read = read_of(yield(arm).operand(i)->def());
        if (!read.word || is_inside(*read.word)) continue;
        if (found[read.word].empty()) words.push_back(read.word);
        found[read.word].push_back({i, read});
        break;
      }
    std::vector<unsigned> done;
    for (Value* word : words) {
      const std::vector<Candidate>& parts = found[word];
      if (!is_worth_it(*word, parts) || !context_.spend()) continue;
      rewrite(*word, parts);
      for (const Candidate& c : parts) done.push_back(c.result);
    }
    std::sort(done.rbegin(), done.rend());
    for (const unsigned i : done) {
      for (unsigned arm = 0; arm < 2; ++arm) yield(arm).erase_operand(i);
      op_.erase_result(i);
    }
    return !done.empty();
  }

 private:
  Op& yield(unsigned arm) const { return *op_.body(arm).last(); }

  bool is_inside(const Value& v) const {
    const Op* at = v.def() ? v.def() : v.block()->parent_op();
    for (; at; at = at->parent_op())
      if (at == &op_) return true;
    return false;
  }

  /// Whether the use comes behind the if, in its block or further in.
  bool is_behind(const Use& use) const {
    const Op* at = use.op;
    while (at && at->block() != op_.block()) at = at->parent_op();
    if (!at || at == &op_) return false;
    for (const Op* op = op_.next(); op; op = op->next())
      if (op == at) return true;
    return false;
  }

  /// The word is read behind the if, but not as a whole and not in these places.
  bool is_worth_it(const Value& word, const std::vector<Candidate>& parts) const {
    bool read = false;
    for (const Use& use : word.uses()) {
      if (!is_behind(use)) continue;
      const Read other = read_of(use.op);
      if (!other.word || std::any_of(parts.begin(), parts.end(),
                                     [&](const Candidate& c) { return c.read.overlaps(other); }))
        return false;
      read = true;
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (parts[i].read.overlaps(parts[k].read)) return false;
    return read;
  }

  void rewrite(Value& word, const std::vector<Candidate>& parts) {
    std::vector<Use> behind;
    for (const Use& use : word.uses())
      if (is_behind(use)) behind.push_back(use);
    for (unsigned arm = 0; arm < 2; ++arm) {
      Builder b = Builder::before(yield(arm));
      Value* made = &word;
      for (const Candidate& c : parts) {
        Value* const v = yield(arm).operand(c.result);
        const Read same = read_of(v->def());
        if (same.word == &word && same.lo == c.read.lo && same.bits == c.read.bits) continue;
        made = b.create(ops::arith_insert, {made, v}, {word.type()}, {{"lo", c.read.lo}})->result();
      }
      yield(arm).add_operand(made);
    }
    Value* const whole = op_.add_result(word.type(), word.name());
    for (const Use& use : behind) use.op->set_operand(use.index, whole);
    for (const Candidate& c : parts) read_at_uses(*op_.result(c.result), *whole, c.read.lo);
    context_.count("words through ifs");
  }

  Op& op_;
  PassContext& context_;
};

}  // namespace

namespace {

/// A region that gives parts of words gives the words, which are read behind it.
bool give_words(Op& region, PassContext& context) {
  Op& yield = *region.body().last();
  if (!yield.is(ops::thread_yield)) return false;
  bool changed = false;
  std::map<const Value*, Value*> words;
  for (unsigned i = region.num_results(); i-- != 0;) {
    const Read read = read_of(yield.operand(i)->def());
    if (!read.word || region.result(i)->unused() || !context.spend()) continue;
    Value*& word = words[read.word];
    if (!word) {
      yield.add_operand(read.word);
      word = region.add_result(read.word->type(), read.word->name());
    }
    read_at_uses(*region.result(i), *word, read.lo);
    yield.erase_operand(i);
    region.erase_result(i);
    context.count("words out of regions");
    changed = true;
  }
  return changed;
}

}  // namespace

bool carry_words(Module& module, PassContext& context) {
  bool changed = false;
  walk(module, [&](Op& op) {
    if (op.is(ops::thread_replicate)) changed |= give_words(op, context);
    if (!op.is(ops::thread_if)) return;
    for (unsigned arm = 0; arm < 2; ++arm)
      if (!op.body(arm).last()->is(ops::thread_yield)) return;
    changed |= IfWords(op, context).run();
  });
  return changed;
}

}  // namespace revet
