/// The table of `mem` ops: constraints, effects and verify functions. revet/ops.hpp says what each
/// means.
#include <fmt/format.h>

#include <algorithm>

#include "op_table.hpp"
#include "revet/scalar.hpp"

namespace revet::ops {
namespace {

/// An access to operand 0 at the element of operand 1.
Effects element(Effect::Kind kind) {
  return [kind](const Op& op, std::vector<Effect>& out) {
    out.push_back({kind, op.operand(0), op.operand(1)});
  };
}

/// An access to operand 0 (or the result, for what opens it) at an unknown place.
Effects whole(std::initializer_list<Effect::Kind> kinds) {
  return [kinds = std::vector(kinds)](const Op& op, std::vector<Effect>& out) {
    for (const Effect::Kind kind : kinds)
      out.push_back({kind, kind == Effect::allocate ? op.result() : op.operand(0), nullptr});
  };
}

/// Using or closing an adapter touches the adapter and the array behind it.
Effects adapter(std::initializer_list<Effect::Kind> own,
                std::initializer_list<Effect::Kind> array) {
  return
      [own = std::vector(own), array = std::vector(array)](const Op& op, std::vector<Effect>& out) {
        for (const Effect::Kind kind : own) out.push_back({kind, op.operand(0), nullptr});
        for (const Effect::Kind kind : array)
          out.push_back({kind, dram_of(op.operand(0)), nullptr});
      };
}

/// Moving a write iterator may store its tile; moving a reader changes the iterator alone.
void advance(const Op& op, std::vector<Effect>& out) {
  out.push_back({Effect::read, op.operand(0), nullptr});
  out.push_back({Effect::write, op.operand(0), nullptr});
  const Op* def = op.operand(0)->def();
  if (!def || !(def->is(mem_read_it) || def->is(mem_peek_read_it)))
    out.push_back({Effect::write, dram_of(op.operand(0)), nullptr});
}

/// Checks a memory access: operand 0 has the kind, operand 1 is an index, then `values` operands of
/// the element type, then the predicate if the attribute says so.
Verify access(Kind memory, bool indexed, unsigned values, bool gives) {
  return [=](const Op& op, VerifyReport& report) {
    const unsigned fixed = 1 + (indexed ? 1 : 0) + values;
    const bool predicated = op.flag("predicated");
    if (op.num_operands() != fixed + (predicated ? 1 : 0))
      return report.fail(op,
                         fmt::format("expects {} operands{}, has {}", fixed + (predicated ? 1 : 0),
                                     predicated ? " (predicated)" : "", op.num_operands()));
    const Type m = op.operand(0)->type();
    if (m.kind != memory) return report.fail(op, "operand 0 has type " + m.str());
    if (indexed)
      expect(is_index(op.operand(1)->type()), op, report, "the index must be i32 or u32");
    for (unsigned i = 0; i < values; ++i)
      expect(op.operand(fixed - values + i)->type() == m.element_type(), op, report,
             "a value operand must have the memory's element type");
    if (predicated)
      expect(op.operand(fixed)->type() == type_i1, op, report, "the predicate must be i1");
    if (gives)
      expect(op.result()->type() == m.element_type(), op, report,
             "the result must have the memory's element type");
  };
}

Verify atomic_access(Kind memory) {
  return [=](const Op& op, VerifyReport& report) {
    const std::string& name = op.str_attr("op");
    if (!atomic_named(name)) {
      const std::vector<std::string> names(std::begin(atomic_names), std::end(atomic_names));
      return report.fail(
          op, fmt::format("unknown atomic operation \"{}\"{}", name, did_you_mean(name, names)));
    }
    access(memory, true, name == "cas" ? 2 : 1, true)(op, report);
    if (op.num_operands() > 0)
      expect(is_index(op.operand(0)->type().element_type()), op, report,
             "an atomic needs elements of type i32 or u32");
  };
}

Verify open_adapter(Kind kind) {
  return [=](const Op& op, VerifyReport& report) {
    const Type d = op.operand(0)->type();
    const Type r = op.result()->type();
    if (d.kind != Kind::dram) return report.fail(op, "operand 0 has type " + d.str());
    for (unsigned i = 1; i < op.num_operands(); ++i)
      expect(is_index(op.operand(i)->type()), op, report, "positions and lengths are i32 or u32");
    if (r.kind != kind || r.element != d.element)
      return report.fail(op, "the result type does not fit the array's");
    if (kind == Kind::view)
      expect(r.size >= 1 && r.size <= 4096, op, report, "a view has 1 to 4096 elements");
    else
      expect(r.size >= 4 && r.size <= 256 && (r.size & (r.size - 1)) == 0, op, report,
             "an iterator's tile is a power of two from 4 to 256");
  };
}

void verify_dram(const Op& op, VerifyReport& report) {
  expect(!op.parent_op(), op, report, "stands at module level");
  expect(op.result()->type().kind == Kind::dram, op, report, "the result is a dram");
}

void verify_next(const Op& op, VerifyReport& report) {
  const bool predicated = op.flag("predicated");
  if (op.num_operands() != 2u + (predicated ? 1 : 0))
    return report.fail(op, "has the wrong number of operands");
  expect(op.operand(0)->type().kind == Kind::iter, op, report, "operand 0 must be an iterator");
  expect(op.operand(1)->type() == (op.is(mem_iter_next) ? type_u32 : type_i1), op, report,
         "operand 1 must be u32 (iter_next) or i1 (iter_next_last)");
}

/// An sram that has a pointer of its own.
bool owns_pointer(Value* v) {
  return v->def() && v->def()->is(mem_sram_alloc) && pointer_owner(v) == v;
}

void verify_sram_alloc(const Op& op, VerifyReport& report) {
  const Type t = op.result()->type();
  expect(t.kind == Kind::sram && t.size >= 1, op, report,
         "the result is an sram of at least one element");
  const unsigned owners = op.num_operands() - (predicate(op) ? 1 : 0);
  if (owners > 1) return report.fail(op, "has the wrong number of operands");
  if (owners == 1)
    expect(owns_pointer(op.operand(0)), op, report,
           "the owner must be an mem.sram_alloc without owner");
  if (const Value* p = predicate(op))
    expect(p->type() == type_i1, op, report, "the predicate must be i1");
  expect(op.int_attr("regions", 1) >= 1, op, report, "`regions` must be at least 1");
}

void verify_sram_free(const Op& op, VerifyReport& report) {
  const unsigned buffers = op.num_operands() - (predicate(op) ? 1 : 0);
  if (buffers == 0) return report.fail(op, "has the wrong number of operands");
  expect(op.operand(0)->type().kind == Kind::sram, op, report, "closes another kind of memory");
  expect(pointer_owner(op.operand(0)) == op.operand(0), op, report,
         "the first buffer must have a pointer of its own");
  for (unsigned i = 1; i < buffers; ++i)
    expect(
        op.operand(i)->type().kind == Kind::sram && pointer_owner(op.operand(i)) == op.operand(0),
        op, report, "the other buffers must share the pointer of the first");
  if (const Value* p = predicate(op))
    expect(p->type() == type_i1, op, report, "the predicate must be i1");
}

Verify closes(Kind kind) {
  return [=](const Op& op, VerifyReport& report) {
    expect(op.operand(0)->type().kind == kind, op, report, "closes another kind of memory");
  };
}

OpInfo mem_op(const char* name, const char* summary, Count operands, Count results, Effects effects,
              Verify verify, std::vector<AttrSpec> attrs, const char* operand_help,
              const char* result_help = "") {
  OpInfo info = make(name, summary, Level::any, operands, results, operand_help, result_help);
  info.effects = std::move(effects);
  info.verify = std::move(verify);
  info.attrs = std::move(attrs);
  return info;
}

const AttrSpec predicated_attr{"predicated", AttrKind::boolean, false,
                               "the last operand is a predicate"};
const AttrSpec checked_attr{"checked", AttrKind::boolean, false,
                            "emitted code verifies the bounds"};
const AttrSpec name_attr{"name", AttrKind::string, false, "name in the source"};
const AttrSpec threads_attr{"threads", AttrKind::integer, false, "pragma: pointers to have"};
}  // namespace

const OpInfo mem_dram = mem_op(
    "mem.dram", "Declares an off-chip array", exactly(0), exactly(1), no_effects, verify_dram,
    {{"sym", AttrKind::string, true, "name"},
     {"size", AttrKind::any, false, "elements, an expression over main's parameters"}},
    "", "the array");
const OpInfo mem_dram_size = mem_op(
    "mem.dram_size", "Number of elements of an array", exactly(1), exactly(2), no_effects,
    [](const Op& op, VerifyReport& report) {
      expect(op.operand(0)->type().kind == Kind::dram, op, report, "the operand is a dram");
      expect(op.result(0)->type() == type_u32 && op.result(1)->type() == type_u32, op, report,
             "the results are u32");
    },
    {}, "array", "low word, high word");
const OpInfo mem_dram_load =
    mem_op("mem.dram_load", "Reads one element", between(2, 3), exactly(1), element(Effect::read),
           access(Kind::dram, true, 0, true), {predicated_attr, checked_attr},
           "array, index[, pred]", "element");
const OpInfo mem_dram_store =
    mem_op("mem.dram_store", "Writes one element", between(3, 4), exactly(0),
           element(Effect::write), access(Kind::dram, true, 1, false),
           {predicated_attr, checked_attr}, "array, index, value[, pred]");
const OpInfo mem_dram_atomic =
    mem_op("mem.dram_atomic", "Changes one element atomically", between(3, 5), exactly(1),
           element(Effect::atomic), atomic_access(Kind::dram),
           {{"op", AttrKind::string, true, "add sub and or xor min max exchange cas"},
            predicated_attr,
            checked_attr},
           "array, index, value[, desired][, pred]", "old element");
namespace {

/// Between a buffer (operand 0) and an array (operand 1).
OpInfo bulk_op(const char* name, const char* summary, bool loads) {
  return mem_op(
      name, summary, between(5, 6), exactly(0),
      [loads](const Op& op, std::vector<Effect>& out) {
        out.push_back({loads ? Effect::write : Effect::read, op.operand(0), nullptr});
        out.push_back({loads ? Effect::read : Effect::write, op.operand(1), nullptr});
      },
      [](const Op& op, VerifyReport& report) {
        if (op.num_operands() != 5u + (op.flag("predicated") ? 1 : 0))
          return report.fail(op, "has the wrong number of operands");
        const Type s = op.operand(0)->type();
        const Type a = op.operand(1)->type();
        const bool same = s.element == a.element;
        const bool words = op.is(mem_bulk_load) && s.element == Kind::u32 &&
                           a.element_type().is_integer() && a.element_type().bytes() < 4 &&
                           a.element != Kind::i1;
        expect(s.kind == Kind::sram && a.kind == Kind::dram && (same || words), op, report,
               "works between an sram and a dram of one element type, and loads words of smaller "
               "elements");
        for (unsigned i = 2; i < 5; ++i)
          expect(is_index(op.operand(i)->type()), op, report,
                 "positions and lengths are i32 or u32");
        if (op.flag("predicated"))
          expect(op.operand(5)->type() == type_i1, op, report, "the predicate must be i1");
      },
      {predicated_attr}, "buffer, array, base, high, valid[, pred]");
}

}  // namespace

const OpInfo mem_bulk_load = bulk_op(
    "mem.bulk_load", "Fills a buffer from an array, u32 also with several elements each", true);
const OpInfo mem_bulk_store = bulk_op("mem.bulk_store", "Stores a buffer to an array", false);
const OpInfo mem_sram_alloc =
    mem_op("mem.sram_alloc", "Allocates a zeroed on-chip buffer", between(0, 2), exactly(1),
           whole({Effect::allocate}), verify_sram_alloc,
           {name_attr,
            threads_attr,
            {"regions", AttrKind::integer, false, "copies of the replicate region with the memory"},
            {"written", AttrKind::boolean, false, "elements are written before they are read"},
            predicated_attr},
           "[owner of its pointer][, pred]", "the buffer");
const OpInfo mem_sram_free = mem_op(
    "mem.sram_free", "Frees on-chip buffers that share one pointer", at_least(1), exactly(0),
    [](const Op& op, std::vector<Effect>& out) {
      for (Value* v : op.operands())
        if (v->type().kind == Kind::sram) out.push_back({Effect::release, v, nullptr});
    },
    verify_sram_free, {predicated_attr}, "buffer[, sharing..][, pred]");
const OpInfo mem_sram_load =
    mem_op("mem.sram_load", "Reads one element", between(2, 3), exactly(1), element(Effect::read),
           access(Kind::sram, true, 0, true), {predicated_attr, checked_attr},
           "buffer, index[, pred]", "element");
const OpInfo mem_sram_store =
    mem_op("mem.sram_store", "Writes one element", between(3, 4), exactly(0),
           element(Effect::write), access(Kind::sram, true, 1, false),
           {predicated_attr, checked_attr}, "buffer, index, value[, pred]");
const OpInfo mem_sram_atomic =
    mem_op("mem.sram_atomic", "Changes one element atomically", between(3, 5), exactly(1),
           element(Effect::atomic), atomic_access(Kind::sram),
           {{"op", AttrKind::string, true, "add sub and or xor min max exchange cas"},
            {"join", AttrKind::boolean, false, "reaching 0 orders the threads that counted down"},
            predicated_attr,
            checked_attr},
           "buffer, index, value[, desired][, pred]", "old element");

namespace {

/// Between a buffer (operand 0) and the pointer of an sram (operand 2), whose data it leaves alone.
OpInfo pointer_op(const char* name, const char* summary, Effect::Kind kind) {
  return mem_op(
      name, summary, exactly(3), exactly(0), element(kind),
      [](const Op& op, VerifyReport& report) {
        const Type buffer = op.operand(0)->type();
        expect(buffer.kind == Kind::sram && buffer.element == Kind::ptr, op, report,
               "operand 0 must be an sram of pointers");
        expect(is_index(op.operand(1)->type()), op, report, "the index must be i32 or u32");
        expect(op.operand(2)->type().kind == Kind::sram, op, report, "operand 2 must be an sram");
      },
      {}, "buffer, index, kept");
}

}  // namespace

const OpInfo mem_pointer_store =
    pointer_op("mem.pointer_store", "Puts the pointer of an sram in a buffer", Effect::write);
const OpInfo mem_pointer_load = pointer_op(
    "mem.pointer_load", "Takes the pointer of an sram from a buffer from here on", Effect::read);

namespace {

OpInfo view_op(const char* name, const char* summary, bool reads) {
  return mem_op(name, summary, between(2, 3), exactly(1),
                reads ? whole({Effect::allocate, Effect::read}) : whole({Effect::allocate}),
                open_adapter(Kind::view), {name_attr, threads_attr}, "array, base[, valid]",
                "the view");
}

OpInfo iterator_op(const char* name, const char* summary) {
  return mem_op(name, summary, exactly(2), exactly(1), whole({Effect::allocate}),
                open_adapter(Kind::iter), {name_attr, threads_attr}, "array, position",
                "the iterator");
}

}  // namespace

const OpInfo mem_read_view = view_op("mem.read_view", "Opens a tile copied in", true);
const OpInfo mem_write_view =
    view_op("mem.write_view", "Opens a tile of zeros, stored when closed", false);
const OpInfo mem_modify_view =
    view_op("mem.modify_view", "Opens a tile copied in, stored when closed", true);
const OpInfo mem_view_load =
    mem_op("mem.view_load", "Reads an element of a view", between(2, 3), exactly(1),
           element(Effect::read), access(Kind::view, true, 0, true),
           {predicated_attr, checked_attr}, "view, k[, pred]", "element");
const OpInfo mem_view_store =
    mem_op("mem.view_store", "Writes an element of a view", between(3, 4), exactly(0),
           element(Effect::write), access(Kind::view, true, 1, false),
           {predicated_attr, checked_attr}, "view, k, value[, pred]");
const OpInfo mem_view_close = mem_op(
    "mem.view_close", "Ends a view; stores it if it may be written", exactly(1), exactly(0),
    [](const Op& op, std::vector<Effect>& out) {
      out.push_back({Effect::release, op.operand(0), nullptr});
      const Op* def = op.operand(0)->def();
      if (!def || !def->is(mem_read_view))
        out.push_back({Effect::write, dram_of(op.operand(0)), nullptr});
    },
    closes(Kind::view), {}, "view");

const OpInfo mem_read_it = iterator_op("mem.read_it", "Opens a forward reader");
const OpInfo mem_peek_read_it =
    iterator_op("mem.peek_read_it", "Opens a forward reader with look-ahead");
const OpInfo mem_write_it = iterator_op("mem.write_it", "Opens a forward writer");
const OpInfo mem_manual_write_it =
    iterator_op("mem.manual_write_it", "Opens a forward writer that is told its last element");
const OpInfo mem_iter_load =
    mem_op("mem.iter_load", "Reads the current element", between(1, 2), exactly(1),
           adapter({Effect::read, Effect::write}, {Effect::read}),
           access(Kind::iter, false, 0, true), {predicated_attr}, "iterator[, pred]", "element");
const OpInfo mem_iter_peek = mem_op(
    "mem.iter_peek", "Reads k elements ahead", between(2, 3), exactly(1),
    adapter({Effect::read, Effect::write}, {Effect::read}), access(Kind::iter, true, 0, true),
    {predicated_attr, checked_attr}, "iterator, k[, pred]", "element");
const OpInfo mem_iter_store =
    mem_op("mem.iter_store", "Sets the current element", between(2, 3), exactly(0),
           adapter({Effect::write}, {}), access(Kind::iter, false, 1, false), {predicated_attr},
           "iterator, value[, pred]");
const OpInfo mem_iter_next = mem_op("mem.iter_next", "Advances by k", between(2, 3), exactly(0),
                                    advance, verify_next, {predicated_attr}, "iterator, k[, pred]");
const OpInfo mem_iter_next_last =
    mem_op("mem.iter_next_last", "Advances by one; says whether that was the last", between(2, 3),
           exactly(0), advance, verify_next, {predicated_attr}, "iterator, last[, pred]");
const OpInfo mem_iter_close = mem_op(
    "mem.iter_close", "Ends an iterator; flushes a WriteIt", exactly(1), exactly(0),
    [](const Op& op, std::vector<Effect>& out) {
      out.push_back({Effect::release, op.operand(0), nullptr});
      const Op* def = op.operand(0)->def();
      if (!def || def->is(mem_write_it))
        out.push_back({Effect::write, dram_of(op.operand(0)), nullptr});
    },
    closes(Kind::iter), {}, "iterator");

}  // namespace revet::ops
