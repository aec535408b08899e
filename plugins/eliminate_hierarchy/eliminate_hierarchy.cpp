/// Turns a foreach that asks for it into a fork: its threads count themselves down in memory, and
/// the last one goes on in the parent's place (Section V-A, Figure 9).
///
/// Before:                                     After:
///   thread.foreach(0, %n, 1)                    %left = mem.sram_alloc()
///     {eliminate_hierarchy} ({                  %n.u = .. number of children
///   ^bb(%i): work(%i)                           thread.if(%some) ({
///     thread.yield()                              mem.sram_store(%left, 0, %n.u)
///   })                                            %i = thread.fork(%n.u)
///   rest                                          work(%i)
///                                                 %before = mem.sram_atomic(%left, 0, 1)
///                                                   {op = "sub", join}
///                                                 thread.if(%before != 1)
///                                                   ({thread.exit() {join}}, ..)
///                                                 thread.yield()
///                                               }, {thread.yield()})
///                                               mem.sram_free(%left)
///                                               rest
///
/// Algorithm: outermost foreachs first. Without children the fork is passed by. Every end of a
/// child goes to the count-down: exits become i1 values (endings.hpp), and a fork of k in a child
/// counts k - 1 more first. The count-down is a join: it waits for all that its thread did, and
/// what follows waits for it. Reductions are atomics on buffers beside the count; like it, they
/// belong to one parent, and the last thread frees them. They are allocated in the parent's block,
/// also for no children, so that `fuse-allocations` lets them share a pointer with what the parent
/// has open there: a pointer is live in all of the children. Linear.
///
/// Why here: behind `lower-adapters`, since the parent's open views must be plain buffers for its
/// last child to close; before `if-to-select` and `fuse-allocations`, which work on what it makes.
///
/// Does not handle: steps that are no constants (0 is an error at run time that a fork could not
/// report); reductions without an atomic; ops of plugins with unknown effects in the body.
#include <fmt/format.h>

#include "endings.hpp"
#include "revet/abi.hpp"
#include "revet/dependence.hpp"
#include "revet/diagnostics.hpp"
#include "revet/plugin.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

const char* atomic_for(const std::string& reduction) {
  static constexpr std::pair<std::string_view, const char*> table[] = {
      {"+", "add"},   {"&", "and"},   {"|", "or"},   {"^", "xor"},
      {"min", "min"}, {"max", "max"}, {"&&", "and"}, {"||", "or"}};
  for (const auto& [spelling, atomic] : table)
    if (reduction == spelling) return atomic;
  return nullptr;
}

/// One reduction as an element of a buffer.
struct Slot {
  Value* buffer = nullptr;
  std::int64_t index = 0;
  const char* atomic = nullptr;
  std::uint32_t identity = 0;
  Type type;     ///< of the result
  Type element;  ///< of the buffer: i32 or u32
};

class Elimination {
 public:
  Elimination(Op& loop, PassContext& context) : loop_(loop), context_(context) {}

  /// Gives the ifs where the foreach was; throws Error where it must stay.
  Op& run() {
    const Type index = loop_.operand(0)->type();
    const std::uint32_t step = constant_step();
    check_body();
    plan_reductions();

    Builder b = Builder::before(loop_);
    // In front of the count, so that nothing stands between that and the branch on it.
    allocate_buffers(b);
    Value* const n = count(b, step);
    std::vector<Type> types;
    for (const Slot& s : slots_) types.push_back(s.type);
    Value* const some = b.cmp("ne", n, b.constant(type_u32, 0));
    Op& made = *b.create(ops::thread_if, {&some, 1}, types, {}, 2);
    for (unsigned i = 0; i < slots_.size(); ++i) {
      loop_.result(i)->replace_all_uses_with(made.result(i));
      made.result(i)->set_name(loop_.result(i)->name());
    }

    Builder in(made.region(0).add_block());
    in.set_loc(loop_.loc());
    open(in, n);
    Value* const i = in.create(ops::thread_fork, {n}, {type_u32}, {{"join", true}})->result();
    Value* const distance =
        in.binary(ops::arith_mul, in.cast(i, index), in.constant_of_bits(index, step));
    Value* const at = in.binary(ops::arith_add, loop_.operand(0), distance);
    at->set_name(loop_.body().arg(0)->name());
    body(in, *at);
    count_down(in);
    in.create(ops::thread_yield, results(in));

    Builder none(made.region(1).add_block());
    none.set_loc(loop_.loc());
    std::vector<Value*> identities;
    for (const Slot& s : slots_)
      identities.push_back(none.constant_of_bits(s.type, wrap(s.type.kind, s.identity)));
    none.create(ops::thread_yield, identities);
    for (Value* buffer : buffers_) b.create(ops::mem_sram_free, {buffer});
    loop_.erase();
    context_.count("foreachs");
    return made;
  }

 private:
  [[noreturn]] void refuse(Loc loc, const std::string& why) const {
    throw Error(Exit::program, loc, "eliminate_hierarchy is not possible here: " + why);
  }

  std::uint32_t constant_step() const {
    const Op* const def = loop_.operand(2)->def();
    if (!def || !def->is(ops::arith_constant))
      refuse(loop_.loc(), "the step is not a constant, so that it could be 0");
    const std::uint32_t step = constant_bits(*def);
    if (step == 0) refuse(loop_.loc(), "the step is 0");
    return step;
  }

  void check_body() const {
    for (const Access& access : accesses_of(loop_))
      if (!access.effect.memory)
        refuse(access.op->loc(),
               fmt::format("'{}' may access every memory, and so depends on the other children",
                           access.op->name()));
  }

  void plan_reductions() {
    for (unsigned i = 0; i < loop_.num_results(); ++i) {
      const std::string& spelling = *(*loop_.attr("reduce")->as_array())[i].as_string();
      Slot s;
      s.type = loop_.result(i)->type();
      s.atomic = s.type.is_float() ? nullptr : atomic_for(spelling);
      if (!s.atomic)
        refuse(
            loop_.loc(),
            fmt::format("the children depend on each other through the reduction {} of {}{}{}{}, "
                        "and there is no atomic for it",
                        spelling, s.type.str(), loop_.result(i)->name().empty() ? "" : " '",
                        loop_.result(i)->name(), loop_.result(i)->name().empty() ? "" : "'"));
      s.element = s.type.is_signed() ? type_i32 : type_u32;
      s.identity = reduction_of(spelling, s.type.kind).identity;
      slots_.push_back(s);
    }
  }

  /// Number of children, as u32. A difference of narrow types does not overflow in 32 bits, and one
  /// of 32-bit types is right as an unsigned number.
  Value* count(Builder& b, std::uint32_t step) const {
    const Type index = loop_.operand(0)->type();
    const bool down = index.is_signed() && static_cast<std::int32_t>(step) < 0;
    Value* const low = loop_.operand(down ? 1 : 0);
    Value* const high = loop_.operand(down ? 0 : 1);
    const std::uint32_t stride = down ? 0u - step : step;
    const auto wide = [&](Value* v) {
      return b.cast(index.is_signed() ? b.cast(v, type_i32) : v, type_u32);
    };
    Value* n = b.binary(ops::arith_sub, wide(high), wide(low));
    if (stride != 1) {
      Value* const one = b.constant(type_u32, 1);
      n = b.binary(ops::arith_sub, n, one);
      n = b.binary(ops::arith_div, n, b.constant_of_bits(type_u32, stride));
      n = b.binary(ops::arith_add, n, one);
    }
    return b.select(b.cmp("lt", low, high), n, b.constant(type_u32, 0));
  }

  /// Every element is written before the fork.
  Value* allocate(Builder& b, Type element, std::int64_t size, const char* name) {
    Type type{Kind::sram};
    type.element = element.kind;
    type.size = static_cast<std::uint32_t>(size);
    Value* const made = b.create(ops::mem_sram_alloc, {}, std::span<const Type>(&type, 1),
                                 {{"name", name}, {"written", true}})
                            ->result();
    made->set_name(name);
    buffers_.push_back(made);
    return made;
  }

  /// For the count, and the reductions of each signedness.
  void allocate_buffers(Builder& b) {
    left_ = allocate(b, type_u32, 1, "left");
    for (const Type element : {type_i32, type_u32}) {
      std::vector<Slot*> here;
      for (Slot& s : slots_)
        if (s.element == element) here.push_back(&s);
      if (here.empty()) continue;
      Value* const buffer = allocate(b, element, static_cast<std::int64_t>(here.size()), "reduced");
      for (std::size_t k = 0; k < here.size(); ++k) {
        here[k]->buffer = buffer;
        here[k]->index = static_cast<std::int64_t>(k);
      }
    }
  }

  void open(Builder& b, Value* n) const {
    b.create(ops::mem_sram_store, {left_, b.constant(type_i32, 0), n});
    for (const Slot& s : slots_)
      b.create(ops::mem_sram_store, {s.buffer, b.constant(type_i32, s.index),
                                     b.constant_of_bits(s.element, s.identity)});
  }

  /// Moves the children's ops behind the fork, and lets those that did not exit contribute.
  void body(Builder& b, Value& index) {
    Block& from = loop_.body();
    from.arg(0)->replace_all_uses_with(&index);
    Endings endings([&](Builder& at, Value* k) {
      Value* const more = at.binary(ops::arith_sub, at.cast(k, type_u32), at.constant(type_u32, 1));
      at.create(ops::mem_sram_atomic, {left_, at.constant(type_i32, 0), more}, {type_u32},
                {{"op", "add"}});
    });
    std::vector<Type> types;
    for (const Slot& s : slots_) types.push_back(s.type);
    endings.rewrite(from, types);
    Op& end = *from.last();
    const std::vector<Value*> values(end.operands().begin(), end.operands().end());
    end.erase();
    b.block()->splice(nullptr, from);
    if (slots_.empty()) return;
    // An atomic's predicate is an operand, so that no if is needed around it.
    Value* const goes_on = b.negated(values.back());
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Slot& s = slots_[i];
      b.create(ops::mem_sram_atomic,
               {s.buffer, b.constant(type_i32, s.index), b.cast(values[i], s.element), goes_on},
               {s.element}, {{"op", s.atomic}, {"predicated", true}});
    }
  }

  void count_down(Builder& b) {
    Value* const one = b.constant(type_u32, 1);
    Value* const before = b.create(ops::mem_sram_atomic, {left_, b.constant(type_i32, 0), one},
                                   {type_u32}, {{"op", "sub"}, {"join", true}})
                              ->result();
    Value* const last = b.cmp("eq", before, one);
    Op* const branch = b.create(ops::thread_if, {&last, 1}, {}, {}, 2);
    Builder goes_on(branch->region(0).add_block());
    Builder ends(branch->region(1).add_block());
    goes_on.set_loc(loop_.loc());
    ends.set_loc(loop_.loc());
    goes_on.create(ops::thread_yield, {});
    ends.create(ops::thread_exit, {}, {}, {{"join", true}});
  }

  std::vector<Value*> results(Builder& b) const {
    std::vector<Value*> out;
    for (const Slot& s : slots_)
      out.push_back(b.cast(
          b.create(ops::mem_sram_load, {s.buffer, b.constant(type_i32, s.index)}, {s.element})
              ->result(),
          s.type));
    return out;
  }

  Op& loop_;
  PassContext& context_;
  std::vector<Slot> slots_;
  Value* left_ = nullptr;
  std::vector<Value*> buffers_;
};

/// Outermost first: children of children then count in their own parent's buffer alone.
bool eliminate(Block& block, PassContext& context) {
  bool changed = false;
  for (Op *op = block.first(), *next; op; op = next) {
    context.visit();
    if (op->is(ops::thread_foreach) && op->flag("eliminate_hierarchy") && context.spend()) {
      op = &Elimination(*op, context).run();
      changed = true;
    }
    next = op->next();
    for (const auto& region : op->regions())
      for (const auto& inner : region->blocks()) changed |= eliminate(*inner, context);
  }
  return changed;
}

PassResult run(Module& module, PassContext& context) {
  return PassResult::of(eliminate(module.body(), context));
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "eliminate-hierarchy";
  info.summary = "foreachs with the pragma become forks whose last thread goes on";
  info.requires_ = {"inlined", "lowered-adapters"};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("eliminate-hierarchy", "foreachs as forks", revet::register_)
