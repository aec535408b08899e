/// Rewrites views and iterators into SRAMs, bulk transfers and pointers (the paper's Table I and
/// Section V: "allocations are replaced with a MemRef allocation and a bulk load (if needed) and
/// deallocations are replaced with a MemRef deallocation and a bulk store (if needed)").
///
/// Before:                                   After:
///   %v = mem.read_view(%a, %base, %n)         %v = mem.sram_alloc() : sram<i32, 16>
///   %x = mem.view_load(%v, %k)                mem.bulk_load(%v, %a, %base, %high, %valid)
///   mem.view_close(%v)                        %x = mem.sram_load(%v, %k)
///                                             mem.sram_free(%v)
///
/// An iterator is a buffer, a local pointer (u8, a live value of the thread), and the position of
/// the tile (64 bits, in SRAM):
///
///   %it = mem.read_it(%a, %pos)               %it = mem.sram_alloc() : sram<i32, 64>
///   thread.while() (..                        %it_tile = mem.sram_alloc() : sram<u32, 2>
///     %x = mem.iter_load(%it)                 thread.while(%p0, %false) (^bb(%p: u8, %filled: i1)
///     mem.iter_next(%it, %1))                   mem.bulk_load(%it, .. %it_tile .., !%filled)
///                                               %x = mem.sram_load(%it, %p) ..
///
/// Algorithm: one walk. A view is a buffer that is filled when it opens and stored when it closes;
/// a store behind its valid elements is left out by a predicate. The pointer of an iterator gets
/// its SSA form on the way: ifs, loops and replicates give back the pointers that are moved inside.
/// The position is fetched and moved only where the pointer leaves the tile, and fetched to fill or
/// flush. A reader fills its buffer at the first dereference behind a move out of the tile (a live
/// bool says that it is filled); a PeekReadIt has a buffer of two tiles. A writer stores a tile
/// when it leaves it, and a WriteIt the rest when it closes; a ManualWriteIt has this one store
/// path only. The element that a writer comes to is zeroed, so that one passed without a write is
/// 0. What only some threads do at a time, to fill, flush or move a tile, is an if; in a loop it is
/// marked to stay a branch (`unlikely`), so that threads with a tile do not wait for DRAM with
/// those without. Linear in the ops, times the nesting of those that move an iterator.
///
/// Why here: before `structure-to-cfg`; CPUs and GPUs are better off with views and iterators as
/// pointers.
///
/// Does not handle: an iterator that is used by a foreach inside its scope; the language has none.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "coverage.hpp"
#include "revet/abi.hpp"
#include "revet/plugin.hpp"
#include "writer.hpp"

namespace revet {
namespace {

class Lowering {
 public:
  explicit Lowering(PassContext& context) : context_(context) {}

  void visit(Block& block) {
    for (Op *op = block.first(), *next; op; op = next) {
      next = op->next();
      context_.visit();
      visit_regions(*op);
      if (lower(*op)) changed_ = true;
    }
  }

  /// The adapters themselves go last: closes in several arms refer to them.
  bool finish() {
    for (Op* op : opened_) op->erase();
    return changed_;
  }

 private:
  // --- live values through control flow ---

  /// Visits what is inside an op; live values that change there become results of it.
  void visit_regions(Op& op) {
    static const std::set<LiveValue> none;
    const auto moved = moved_in_.find(&op);
    const std::set<LiveValue>& values = moved == moved_in_.end() ? none : moved->second;
    const bool loop = op.is(ops::thread_while);
    std::vector<Value*> before;
    for (const LiveValue& v : values) before.push_back(live(v));
    if (loop)
      for (Value* v : before) op.add_operand(v);
    const std::vector<Iterator::Known> known = known_before(op);
    bool first = true;
    for (const auto& region : op.regions()) {
      if (first || !loop)
        enter(known);
      else  // the body of a loop goes on from its condition, of whose values it sees only some
        for (Iterator* it : by_order_) it->known.words.clear();
      first = false;
      Block& block = region->front();
      std::size_t i = 0;
      for (const LiveValue& v : values) {
        live(v) = loop ? block.add_arg(before[i]->type(), before[i]->name()) : before[i];
        ++i;
      }
      for (const auto& inner : region->blocks()) visit(*inner);
      Op* const end = block.terminator();
      if (end && !end->is(ops::thread_exit))
        for (const LiveValue& v : values) end->add_operand(live(v));
    }
    for (const LiveValue& v : values) live(v) = op.add_result(live(v)->type(), live(v)->name());
    if (op.num_regions() != 0) enter(known);
  }

  /// What is known of each iterator in front of an op, but for those that move inside.
  std::vector<Iterator::Known> known_before(const Op& op) const {
    const auto moving = advanced_in_.find(&op);
    std::vector<Iterator::Known> out;
    for (std::size_t i = 0; i < by_order_.size(); ++i) {
      const bool moves = moving != advanced_in_.end() && moving->second.count(i) != 0;
      out.push_back(moves ? Iterator::Known{} : by_order_[i]->known);
    }
    return out;
  }
  void enter(const std::vector<Iterator::Known>& known) {
    for (std::size_t i = 0; i < known.size(); ++i) by_order_[i]->known = known[i];
  }

  Value*& live(const LiveValue& v) { return by_order_[v.first]->live[v.second]; }

  /// Notes for every op around a use which live values of the iterator change inside.
  void note_moves(const Op& open, const Iterator& it) {
    for (const Use& use : open.result()->uses()) {
      const Op& op = *use.op;
      const bool moves = op.is(ops::mem_iter_next) || op.is(ops::mem_iter_next_last);
      const bool fills = op.is(ops::mem_iter_load) || op.is(ops::mem_iter_peek);
      for (const Op* at = &op; at->block() != open.block();) {
        at = at->parent_op();
        if (at->is(ops::thread_foreach))
          throw Error(Exit::program, op.loc(),
                      "an iterator is used by another thread than its own");
        if (moves) advanced_in_[at].insert(by_order_.size() - 1);
        if (moves || (fills && it.by_pointer()))
          moved_in_[at].insert({by_order_.size() - 1, live_pointer});
        if (it.live[live_flag] && (moves || fills))
          moved_in_[at].insert({by_order_.size() - 1, live_flag});
      }
    }
  }

  // --- adapters ---

  bool lower(Op& op) {
    using namespace ops;
    if (op.is(mem_read_view) || op.is(mem_write_view) || op.is(mem_modify_view)) {
      open_view(op);
      return true;
    }
    if (op.is(mem_read_it) || op.is(mem_peek_read_it) || op.is(mem_write_it) ||
        op.is(mem_manual_write_it)) {
      open_iterator(op);
      return true;
    }
    if (op.is(mem_view_load) || op.is(mem_view_store))
      access_view(op);
    else if (op.is(mem_view_close))
      close_view(op);
    else if (op.is(mem_iter_load) || op.is(mem_iter_peek))
      read(op);
    else if (op.is(mem_iter_store))
      write(op);
    else if (op.is(mem_iter_next) || op.is(mem_iter_next_last))
      advance(op);
    else if (op.is(mem_iter_close))
      close_iterator(op);
    else
      return false;
    op.erase();
    return true;
  }

  void open_view(Op& op) {
    Writer w(op);
    const Type t = op.result()->type();
    context_.count("views");
    View v;
    v.array = op.operand(0);
    v.base = op.operand(1);
    v.high = high_word(w, v.base);
    v.stores = !op.is(ops::mem_read_view);
    const auto& uses = op.result()->uses();
    v.is_read = std::any_of(uses.begin(), uses.end(),
                            [](const Use& use) { return use.op->is(ops::mem_view_load); });
    Builder& b = w.builder();
    if (op.num_operands() < 3) {
      v.valid = w.i32(t.size);
    } else {
      const Type u = op.operand(2)->type();
      Value* most = b.constant(u, t.size);
      Value* clamped = b.binary(ops::arith_min, op.operand(2), most);
      v.valid = b.cast(b.binary(ops::arith_max, clamped, b.constant(u, 0)), type_i32);
    }
    const bool loads = !op.is(ops::mem_write_view);
    const bool written = loads || (!v.is_read && is_written_all_over(op));
    v.buffer = w.alloc(op, t.element_type(), t.size, ops::memory_name(op.result()), written);
    if (loads) w.bulk(ops::mem_bulk_load, v.buffer, v.array, v.base, v.high, v.valid);
    views_[op.result()] = v;
    opened_.push_back(&op);
  }

  void access_view(Op& op) {
    Writer w(op);
    const View& v = views_.at(op.operand(0));
    Value* const pred = ops::predicate(op);
    Value* const k = op.operand(1);
    if (op.is(ops::mem_view_load)) {
      op.result()->replace_all_uses_with(named(w.load(v.buffer, k, pred), *op.result()));
      return;
    }
    if (!v.is_read) return w.store(v.buffer, k, op.operand(2), pred);
    // The index is checked first, whether or not the element is valid.
    Value* const old = w.load(v.buffer, k, pred);
    w.store(v.buffer, k, w.builder().select(is_valid(w, v, k), op.operand(2), old), pred);
  }

  /// Whether element k is below `valid` and inside the array.
  static Value* is_valid(Writer& w, const View& v, Value* k) {
    Builder& b = w.builder();
    Op* const size = b.create(ops::mem_dram_size, {v.array}, {type_u32, type_u32});
    Value* const base = b.cast(v.base, type_u32);
    Value* const low = w.add(base, b.cast(k, type_u32));
    Value* const carry = b.cast(b.cmp("lt", low, base), type_u32);
    Value* const high = w.add(b.cast(v.high, type_u32), carry);
    Value* const below =
        b.select(b.cmp("eq", high, size->result(1)), b.cmp("lt", low, size->result(0)),
                 b.cmp("lt", high, size->result(1)));
    return w.both(below, b.cmp("lt", b.cast(k, type_i32), v.valid));
  }

  void close_view(Op& op) {
    Writer w(op);
    const View& v = views_.at(op.operand(0));
    if (v.stores) w.bulk(ops::mem_bulk_store, v.buffer, v.array, v.base, v.high, v.valid);
    w.free(v.buffer);
  }

  void open_iterator(Op& op) {
    Writer w(op);
    const Type t = op.result()->type();
    const std::string& name = ops::memory_name(op.result());
    context_.count("iterators");
    Iterator it;
    it.array = op.operand(0);
    it.tile = t.size;
    it.reads = op.is(ops::mem_read_it) || op.is(ops::mem_peek_read_it);
    it.manual = op.is(ops::mem_manual_write_it);
    if (it.reads) it.stride = stride_of(op, it.tile);
    const std::uint32_t per_word = 4 / t.element_type().bytes();
    if (it.stride.stays_in_tile() && it.stride.unit % per_word == 0 && is_part(t.element_type()))
      it.per_word = per_word;
    const bool ahead = op.is(ops::mem_peek_read_it) && !it.stride.stays_in_tile();
    it.buffer = w.alloc(op, it.per_word == 1 ? t.element_type() : type_u32,
                        (ahead ? 2 * t.size : t.size) / it.per_word, name, it.reads);
    it.position = w.alloc(op, type_u32, cells, name + "_tile", true);
    Builder& b = w.builder();
    w.set_cell(it, cell_low, b.cast(op.operand(1), type_u32));
    w.set_cell(it, cell_high, b.cast(high_word(w, op.operand(1)), type_u32));
    it.live[live_pointer] = b.constant(local_pointer, it.by_pointer() ? it.tile / it.per_word : 0);
    it.live[live_pointer]->set_name(name + "_at");
    const bool has_flag = it.reads ? !it.by_pointer() : it.manual;
    it.live[live_flag] = has_flag ? b.constant(type_i1, 0) : nullptr;
    if (it.live[live_flag]) it.live[live_flag]->set_name(name + (it.reads ? "_filled" : "_ended"));
    Iterator& added = iterators_[op.result()] = it;
    by_order_.push_back(&added);
    note_moves(op, added);
    opened_.push_back(&op);
  }

  void read(Op& op) {
    Writer w(op);
    Iterator& it = iterators_.at(op.operand(0));
    Value* const pred = ops::predicate(op);
    Builder& b = w.builder();
    fill(w, it, pred);
    Value* index = b.cast(it.live[live_pointer], type_i32);
    if (it.per_word != 1) {
      const Op* const k = op.is(ops::mem_iter_peek) ? op.operand(1)->def() : nullptr;
      const auto ahead = static_cast<std::uint32_t>(k ? k->int_attr("value") : 0);
      op.result()->replace_all_uses_with(
          named(read_part(w, it, index, ahead, op.result()->type(), pred), *op.result()));
      return;
    }
    if (op.is(ops::mem_iter_peek)) {
      // k outside 0..N-1 is a bounds error even where it would hit the second tile.
      Value* const k = op.operand(1);
      Value* const n = b.constant(k->type(), it.tile);
      Value* const inside = k->type().is_signed()
                                ? b.binary(ops::arith_and, b.cmp("lt", k, n),
                                           b.cmp("ge", k, b.constant(k->type(), 0)))
                                : b.cmp("lt", k, n);
      index = b.select(inside, w.add(index, b.cast(k, type_i32)), w.i32(-1));
    }
    op.result()->replace_all_uses_with(named(w.load(it.buffer, index, pred), *op.result()));
  }

  /// An element, `ahead` of the local pointer's word, as a part of its word.
  static Value* read_part(Writer& w, Iterator& it, Value* index, std::uint32_t ahead, Type type,
                          Value* pred) {
    const std::uint32_t n = ahead / it.per_word;
    Value* word = pred || it.known.words.count(n) == 0 ? nullptr : it.known.words.at(n);
    if (!word) word = w.load(it.buffer, n == 0 ? index : w.add(index, w.i32(n)), pred);
    if (!pred) it.known.words[n] = word;
    const std::uint32_t lo = ahead % it.per_word * 8 * type.bytes();
    return w.builder().create(ops::arith_extract, {word}, {type}, {{"lo", lo}})->result();
  }

  /// Fills the tile where it is not.
  void fill(Writer& w, Iterator& it, Value* pred) {
    if (it.known.filled) return;
    it.known.filled = pred == nullptr;
    Builder& b = w.builder();
    Value* const size = w.i32(it.buffer->type().size * it.per_word);
    if (!it.by_pointer()) {
      w.where(w.both(w.negated(it.live[live_flag]), pred), nullptr, [&](Writer& arm) -> Value* {
        const Position tile = fetch(arm, it);
        arm.bulk(ops::mem_bulk_load, it.buffer, it.array, tile.low, tile.high, size);
        return nullptr;
      });
      return set_live(w, it, live_flag, b.constant(type_i1, 1), pred);
    }
    Value* const at = it.live[live_pointer];
    const std::uint32_t tile_words = it.tile / it.per_word;
    Value* const left = b.cmp("ge", at, b.constant(local_pointer, tile_words));
    Value* const now = w.where(w.both(left, pred), at, [&](Writer& arm) {
      Builder& inner = arm.builder();
      Position tile = fetch(arm, it);
      if (it.stride.steps == Steps::small) {
        Value* const by =
            inner.binary(ops::arith_sub, inner.cast(at, type_u32), arm.u32(tile_words));
        tile = moved(arm, tile, inner.binary(ops::arith_mul, by, arm.u32(it.per_word)));
      }
      set_position(arm, it, moved(arm, tile, arm.u32(it.tile)));
      arm.bulk(ops::mem_bulk_load, it.buffer, it.array, tile.low, tile.high, size);
      return inner.constant(local_pointer, 0);
    });
    set_live(w, it, live_pointer, now, nullptr);
  }

  void write(Op& op) {
    Writer w(op);
    const Iterator& it = iterators_.at(op.operand(0));
    w.store(it.buffer, w.builder().cast(it.live[live_pointer], type_i32), op.operand(1),
            ops::predicate(op));
  }

  void advance(Op& op) {
    if (iterators_.at(op.operand(0)).reads)
      advance_reader(op);
    else
      advance_writer(op);
  }

  /// Within the tile the pointer moves; else the tile does, to where the skip lands.
  void advance_reader(Op& op) {
    Writer w(op);
    Iterator& it = iterators_.at(op.operand(0));
    it.known = {};
    Value* const pred = ops::predicate(op);
    Builder& b = w.builder();
    Value* const k = op.operand(1);
    Value* const offset = b.cast(it.live[live_pointer], type_u32);
    if (it.by_pointer()) {
      Value* const by = it.per_word == 1 ? k : w.u32(k->def()->int_attr("value") / it.per_word);
      return set_live(w, it, live_pointer, b.cast(w.add(offset, by), local_pointer), pred);
    }
    Value* const stays = b.cmp("lt", k, b.binary(ops::arith_sub, w.u32(it.tile), offset));
    w.where(w.both(w.negated(stays), pred), nullptr, [&](Writer& arm) -> Value* {
      set_position(arm, it, moved(arm, moved(arm, fetch(arm, it), offset), k));
      return nullptr;
    });
    Value* const next = b.select(stays, w.add(offset, k), w.u32(0));
    set_live(w, it, live_pointer, b.cast(next, local_pointer), pred);
    set_live(w, it, live_flag, w.both(it.live[live_flag], stays), pred);
  }

  void advance_writer(Op& op) {
    Writer w(op);
    Iterator& it = iterators_.at(op.operand(0));
    Value* const pred = ops::predicate(op);
    Builder& b = w.builder();
    Value* const last = op.is(ops::mem_iter_next_last) ? op.operand(1) : nullptr;
    Value* const next = w.add(b.cast(it.live[live_pointer], type_u32), w.u32(1));
    Value* const full = b.cmp("eq", next, w.u32(it.tile));
    Value* const ends = last ? b.binary(ops::arith_or, full, last) : full;
    w.where(w.both(ends, pred), nullptr, [&](Writer& arm) -> Value* {
      const Position tile = fetch(arm, it);
      arm.bulk(ops::mem_bulk_store, it.buffer, it.array, tile.low, tile.high,
               arm.builder().cast(next, type_i32));
      set_position(arm, it, moved(arm, tile, next));
      return nullptr;
    });
    Value* const begin = b.select(ends, w.u32(0), next);
    set_live(w, it, live_pointer, b.cast(begin, local_pointer), pred);
    Value* at = b.cast(begin, type_i32);
    // Behind the last element there is none to come to: another `next` is a bounds error.
    if (it.manual) at = b.select(it.live[live_flag], w.i32(it.tile), at);
    w.store(it.buffer, at, b.constant_of_bits(it.buffer->type().element_type(), 0), pred);
    if (last) set_live(w, it, live_flag, last, pred);
  }

  static void set_live(Writer& w, Iterator& it, unsigned which, Value* value, Value* pred) {
    Value*& live = it.live[which];
    const std::string name = live->name();
    live = pred ? w.builder().select(pred, value, live) : value;
    if (live->name().empty()) live->set_name(name);
  }

  /// The position of the tile, in 64 bits.
  struct Position {
    Value* low;
    Value* high;
  };
  static Position fetch(Writer& w, const Iterator& it) {
    return {w.cell(it, cell_low), w.cell(it, cell_high)};
  }

  static Position moved(Writer& w, Position at, Value* step) {
    Value* const sum = w.add(at.low, step);
    Value* const carry = w.builder().cast(w.builder().cmp("lt", sum, step), type_u32);
    return {sum, w.add(at.high, carry)};
  }

  static void set_position(Writer& w, const Iterator& it, Position at) {
    w.set_cell(it, cell_low, at.low);
    w.set_cell(it, cell_high, at.high);
  }

  void close_iterator(Op& op) {
    Writer w(op);
    const Iterator& it = iterators_.at(op.operand(0));
    if (!it.reads && !it.manual) {
      const Position tile = fetch(w, it);
      w.bulk(ops::mem_bulk_store, it.buffer, it.array, tile.low, tile.high,
             w.builder().cast(it.live[live_pointer], type_i32));
    }
    w.free(it.position);
    w.free(it.buffer);
  }

  static Value* named(Value* v, const Value& like) {
    v->set_name(like.name());
    return v;
  }

  PassContext& context_;
  bool changed_ = false;
  std::map<const Value*, View> views_;
  std::map<const Value*, Iterator> iterators_;
  std::vector<Iterator*> by_order_;
  std::unordered_map<const Op*, std::set<LiveValue>> moved_in_;
  std::unordered_map<const Op*, std::set<std::size_t>> advanced_in_;  ///< by the order
  std::vector<Op*> opened_;
};

PassResult run(Module& module, PassContext& context) {
  Lowering lowering(context);
  context.visit(0);
  for (Op& func : module.body())
    if (func.num_regions() != 0) lowering.visit(func.body());
  return PassResult::of(lowering.finish());
}

void verify_lowered(const Module& module, VerifyReport& report) {
  walk(module, [&](Op& op) {
    for (const auto& r : op.results())
      if (r->type().kind == Kind::view || r->type().kind == Kind::iter)
        report.fail(op, "a view or iterator is left");
  });
}

void register_(Registry& registry) {
  PropertyInfo lowered;
  lowered.name = "lowered-adapters";
  lowered.summary = "no view and no iterator is left";
  lowered.verify = verify_lowered;
  registry.add_property(std::move(lowered));

  PassInfo info;
  info.id = "lower-adapters";
  info.summary = "Rewrites views and iterators into SRAMs, bulk transfers and pointers";
  info.establishes = {"lowered-adapters"};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("lower-adapters", "Views and iterators as SRAMs and bulk transfers", revet::register_)
