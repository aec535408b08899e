/// Lets 8- and 16-bit values that cross while loops share 32-bit words, and turns AND, shift and OR
/// on fixed boundaries into reads and writes of parts (Section V-B: "we pack these values into a
/// single int32, making sure to minimize permutation for nested loops. We also optimize AND, shift,
/// and OR operations that can be expressed as sub-word reads and writes on fixed boundaries").
///
/// Before:                                  After:
///   %r = thread.while(%a, %b) (              %w0 = arith.insert(%0, %a) {lo = 0}
///     {^bb0(%p: u8, %q: i16): ..             %w1 = arith.insert(%w0, %b) {lo = 16}
///      thread.condition(%c, %p)},            %r = thread.while(%w1) (
///     {^bb1(%x: u8): ..                        {^bb0(%w: u32): %p = arith.extract(%w) {lo = 0} ..
///      thread.yield(%y, %z)})                   thread.condition(%c, %p)},
///                                              {^bb1(%x: u8): ..
///                                               thread.yield(%v)})  (%v holds %y and %z)
///
/// Algorithm: loops are visited from the outside in. What crosses a loop's header are the values it
/// carries and those of its own thread that are used in it or after it; each that fits in 8 or 16
/// bits, by its type or by its range (narrow.hpp), gets a place in a word: that at which it was
/// read from a word of a loop around, with the others of that word, else the first that is free,
/// 16-bit values first. A word with a carried value is carried, and the others in it with it; else
/// it is made in front of the loop. What the condition passes on is packed likewise. Then each pack
/// begins with the word that most of its parts are read from, at the same places, and reads move to
/// their uses (words.hpp). One pass; linear in the values that cross, times their uses.
///
/// Why here: behind the last thread-level pass that moves values, since a `canonicalize` behind it
/// would read through words and merge reads, and before `structure-to-cfg`.
///
/// Does not handle: values that cross an if but no loop; flags that `structure-to-cfg` turns back
/// into branches, which stay as they are, for in a word it would not see them.
#include <algorithm>

#include "branches.hpp"
#include "crossing.hpp"
#include "narrow.hpp"
#include "parts.hpp"
#include "revet/abi.hpp"
#include "revet/plugin.hpp"
#include "revet/scalar.hpp"
#include "words.hpp"

namespace revet {
namespace {

constexpr unsigned word_bytes = 4;

struct Item {
  Value* value;  ///< what is to be found in the word
  Type part;
  std::optional<Slot> wanted;
  std::optional<unsigned> index;  ///< among what the loop carries, or passes on; else it is
  Value* through = nullptr;       ///< this value, which is live through the loop
  unsigned lo = 0;
};

/// Items of one word.
struct Group {
  Value* source = nullptr;  ///< where the first of them were read from
  unsigned taken = 0;       ///< a bit for each byte
  std::vector<Item> items;
  bool keep = false;  ///< also with fewer values than are worth a word
  Value* word = nullptr;

  bool place(Item item, unsigned lo) {
    const unsigned bytes = part_bits(item.part.kind) == 8 ? 1u : 3u;
    if ((taken & (bytes << (lo / 8))) != 0) return false;
    taken |= bytes << (lo / 8);
    item.lo = lo;
    items.push_back(std::move(item));
    return true;
  }
  bool place(const Item& item) {
    const unsigned width = part_bits(item.part.kind);
    for (unsigned lo = 0; lo < 8 * word_bytes; lo += width)
      if (place(item, lo)) return true;
    return false;
  }
  bool carried() const {
    return std::any_of(items.begin(), items.end(), [](const Item& i) { return !!i.index; });
  }
  /// Nothing needs to be done for it: its values are in one word already.
  bool is_word() const {
    return source && std::all_of(items.begin(), items.end(), [&](const Item& i) {
             return i.wanted && i.wanted->word == source && i.wanted->lo == i.lo;
           });
  }
};

/// A flag that is decided by where the thread comes from, as those of break and continue.
bool is_decided(const Value* v, unsigned depth = 0) {
  if (v->type() != type_i1 || depth > 8) return false;
  const auto passed = [&](const Block& block, unsigned i) {
    const Op* last = block.terminator();
    if (last->is(ops::thread_exit)) return false;
    const Value* const from = last->operand(last->is(ops::thread_condition) ? i + 1 : i);
    return constant_op(from) || is_decided(from, depth + 1);
  };
  if (const Op* op = v->def()) {
    if (op->is(ops::thread_if))
      return passed(op->body(0), v->index()) || passed(op->body(1), v->index());
    return op->is(ops::thread_while) && passed(op->body(0), v->index());
  }
  const Op* loop = v->block()->parent_op();
  if (!loop || !loop->is(ops::thread_while)) return false;
  return passed(loop->body(v->block() == &loop->body(0) ? 1 : 0), v->index());
}

class Packing {
 public:
  explicit Packing(PassContext& context)
      : context_(context),
        least_(static_cast<std::size_t>(context.options.integer("min-values"))),
        through_(context.options.boolean("through")),
        narrow_(context.options.boolean("narrow")) {}

  bool run(Module& module) {
    std::vector<Op*> loops;
    walk(module, [&](Op& op) {
      if (op.is(ops::thread_while)) loops.push_back(&op);
    });
    for (Op* loop : loops) visit(*loop);
    words_.finish(module);
    if (changed_) {
      context_.count("reads", words_.reads());
      context_.count("writes", words_.writes());
    }
    return changed_;
  }

 private:
  /// What a value takes in a word, if it may be in one.
  std::optional<Type> part_of(Value* v) {
    if (!v->type().is_integer() || is_decided(v)) return std::nullopt;
    if (!narrow_ && v->type().bits() == 32) return std::nullopt;
    return narrowing_.type_of(v);
  }

  /// Gives places to items; those of words that are not worth it are left out.
  std::vector<Group> grouped(const std::vector<Item>& items, std::vector<Group> groups = {}) {
    std::vector<Item> rest;
    for (const Item& item : items) {
      const auto& wanted = item.wanted;
      if (!wanted || part_bits(wanted->part.kind) != part_bits(item.part.kind)) {
        rest.push_back(item);
        continue;
      }
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const Group& g) { return g.source == wanted->word; });
      if (group == groups.end()) {
        groups.emplace_back().source = wanted->word;
        group = groups.end() - 1;
      }
      if (!group->place(item, wanted->lo)) rest.push_back(item);
    }
    std::stable_sort(rest.begin(), rest.end(), [](const Item& a, const Item& b) {
      const auto rank = [](const Item& i) {
        return std::pair(-static_cast<int>(part_bits(i.part.kind)), i.index ? 0 : 1);
      };
      return rank(a) < rank(b);
    });
    for (const Item& item : rest) {
      if (std::none_of(groups.begin(), groups.end(), [&](Group& g) { return g.place(item); }))
        groups.emplace_back().place(item);
    }
    std::erase_if(groups, [&](const Group& g) {
      if (g.keep) return false;
      const bool done = !g.carried() && g.is_word();
      return g.items.size() < least_ || done || !context_.spend();
    });
    return groups;
  }

  void visit(Op& loop) {
    Op* const condition = loop.body(0).terminator();
    context_.visit();
    if (!condition->is(ops::thread_condition)) return;
    const Crossing crossing(loop);
    std::vector<Group> groups = grouped(header_items(loop, crossing));
    if (groups.empty() && loop.num_results() < least_) return;

    std::vector<Group> passed;  // begins with what words bring that the program does not pass on
    for (Group& group : groups) {
      note(group);
      Builder b = Builder::before(loop);
      group.word = words_.pack(b, first_parts(loop, group), "packed");
      if (group.carried())
        carry(loop, group, crossing, passed);
      else
        replace_through(loop, group, group.word, group.word, group.word, crossing);
    }
    passed = grouped(passed_items(loop, *condition), std::move(passed));
    for (Group& group : passed) pass_on(loop, *condition, group, crossing);
    Op* const end = loop.body(1).terminator();
    if (!end->is(ops::thread_exit))
      for (const Group& group : groups)
        if (group.carried()) go_round(*end, group, passed);
    erase_packed(loop, groups, passed);
    if (!groups.empty() || !passed.empty()) {
      changed_ = true;
      narrowing_.forget();
    }
  }

  /// What crosses the header of a loop.
  std::vector<Item> header_items(Op& loop, const Crossing& crossing) {
    std::vector<Item> items;
    // Proofs use what was proven before: the second round finds more.
    for (const auto& arg : loop.body(0).args()) part_of(arg.get());
    for (unsigned i = 0; i < loop.num_operands(); ++i) {
      Value* const arg = loop.body(0).arg(i);
      if (const auto part = part_of(arg))
        items.push_back({arg, *part, words_.slot_of(loop.operand(i)), i});
    }
    if (!through_) return items;
    for (Value* v : crossing.live_through())
      if (const auto part = part_of(v))
        items.push_back({v, *part, words_.slot_of(v), std::nullopt, v});
    return items;
  }

  /// What the condition passes on to the body and to what is behind the loop.
  std::vector<Item> passed_items(Op& loop, const Op& condition) {
    std::vector<Item> items;
    for (unsigned i = 0; i < loop.num_results(); ++i) {
      Value* const from = condition.operand(i + 1);
      if (constant_op(from)) continue;
      if (const auto part = part_of(from)) items.push_back({from, *part, words_.slot_of(from), i});
    }
    return items;
  }

  static std::vector<Part> first_parts(const Op& loop, const Group& group) {
    std::vector<Part> parts;
    for (const Item& item : group.items)
      parts.push_back({item.index ? loop.operand(*item.index) : item.value, item.part, item.lo});
    return parts;
  }

  void note(const Group& group) {
    context_.count("words");
    for (const Item& item : group.items) context_.count(item.index ? "values" : "values through");
  }

  Value* read(Builder b, const Item& item, Value* word, const Value& like) {
    return words_.read(b, {word, item.part, item.lo}, like.type(), like.name());
  }
  static Builder top(const Block& block) { return Builder::before(*block.first()); }

  /// Replaces the uses of values that are live through the loop by reads of the word as it is
  /// there; null where they stay for now.
  void replace_through(Op& loop, const Group& group, Value* before, Value* body, Value* after,
                       const Crossing& crossing) {
    for (const Item& item : group.items) {
      if (!item.through) continue;
      const auto in = [&](Crossing::Place place, Value* word, const Builder& b) {
        if (!word) return;
        Value* made = nullptr;
        const auto uses = item.through->uses();
        for (const Use& use : std::vector<Use>(uses.begin(), uses.end())) {
          if (crossing.place(use) != place) continue;
          if (!made) made = read(b, item, word, *item.through);
          use.op->set_operand(use.index, made);
        }
      };
      in(Crossing::Place::before, before, top(loop.body(0)));
      in(Crossing::Place::body, body, top(loop.body(1)));
      in(Crossing::Place::after, after, Builder::after(loop));
    }
  }

  /// Makes the word a carried value.
  void carry(Op& loop, Group& group, const Crossing& crossing, std::vector<Group>& passed) {
    Block& before = loop.body(0);
    loop.add_operand(group.word);
    group.word = before.add_arg(type_u32, "packed");
    for (const Item& item : group.items)
      if (item.index)
        item.value->replace_all_uses_with(read(top(before), item, group.word, *item.value));
    replace_through(loop, group, group.word, nullptr, nullptr, crossing);
    Group rest;
    rest.source = group.word;
    rest.keep = true;
    for (Item item : group.items) {
      if (!item.through) continue;
      item.value = read(Builder::before(*before.terminator()), item, group.word, *item.through);
      rest.place(item, item.lo);
    }
    if (!rest.items.empty()) passed.push_back(std::move(rest));
  }

  void pass_on(Op& loop, Op& condition, Group& group, const Crossing& crossing) {
    if (!group.keep) note(group);
    std::vector<Part> parts;
    for (const Item& item : group.items) parts.push_back({item.value, item.part, item.lo});
    Builder b = Builder::before(condition);
    condition.add_operand(words_.pack(b, parts, "packed"));
    group.word = loop.body(1).add_arg(type_u32, "packed");
    Value* const result = loop.add_result(type_u32, "packed");
    for (const Item& item : group.items) {
      if (!item.index) continue;
      Value& arg = *loop.body(1).arg(*item.index);
      Value& r = *loop.result(*item.index);
      if (!arg.unused()) arg.replace_all_uses_with(read(top(loop.body(1)), item, group.word, arg));
      if (!r.unused()) r.replace_all_uses_with(read(Builder::after(loop), item, result, r));
    }
    replace_through(loop, group, nullptr, group.word, result, crossing);
  }

  /// Packs the next values at the end of the body.
  void go_round(Op& end, const Group& group, const std::vector<Group>& passed) {
    std::vector<Part> parts;
    for (const Item& item : group.items) {
      Value* next = item.index ? end.operand(*item.index) : nullptr;
      if (!next) {
        const auto brings = std::find_if(passed.begin(), passed.end(), [&](const Group& g) {
          return g.keep && g.source == group.word;
        });
        next = read(top(*end.block()), item, brings->word, *item.through);
      }
      parts.push_back({next, item.part, item.lo});
    }
    Builder b = Builder::before(end);
    end.add_operand(words_.pack(b, parts, "packed"));
  }

  /// Removes what words took the place of.
  static void erase_packed(Op& loop, const std::vector<Group>& groups,
                           const std::vector<Group>& passed) {
    const auto indices = [](const std::vector<Group>& of) {
      std::vector<unsigned> found;
      for (const Group& group : of)
        for (const Item& item : group.items)
          if (item.index) found.push_back(*item.index);
      std::sort(found.rbegin(), found.rend());
      return found;
    };
    Op& end = *loop.body(1).terminator();
    for (const unsigned i : indices(groups)) {
      loop.erase_operand(i);
      if (!end.is(ops::thread_exit)) end.erase_operand(i);
      loop.body(0).erase_arg(i);
    }
    for (const unsigned i : indices(passed)) {
      loop.body(0).terminator()->erase_operand(i + 1);
      loop.body(1).erase_arg(i);
      loop.erase_result(i);
    }
  }

  PassContext& context_;
  const std::size_t least_;
  const bool through_, narrow_;
  bool changed_ = false;
  Narrowing narrowing_;
  Words words_;
};

PassResult run(Module& module, PassContext& context) {
  context.visit(0);
  const bool parts = context.options.boolean("parts");
  bool changed = parts && rewrite_parts(module, context);
  changed |= Packing(context).run(module);
  // Words make more parts of words.
  while (parts && rewrite_parts(module, context)) changed = true;
  changed |= carry_words(module, context);
  return PassResult::of(changed);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "pack-subwords";
  info.summary = "Lets 8- and 16-bit values that cross loops share words";
  info.options = {
      {"min-values", OptionType::integer, "2", "fewest values that share a word", 2, 4},
      {"through", OptionType::boolean, "true", "also values that a loop does not change"},
      {"narrow", OptionType::boolean, "true", "also 32-bit values whose range fits"},
      {"parts", OptionType::boolean, "true", "and, shift and or become reads and writes of parts"},
  };
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("pack-subwords", "Values that share words", revet::register_)
