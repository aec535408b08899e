/// Keeps values that a replicate region does not need in a buffer instead of sending them through
/// it (Section V-B: "we reuse the single live pointer into a replicate (if one has been hoisted) to
/// bufferize live values around it").
///
/// Before:                                     After:
///   %a = mem.sram_alloc() {regions = 4}         %a = mem.sram_alloc() {regions = 4}
///                                               %s = mem.sram_alloc(%a) {written}
///                                               mem.sram_store(%s, 0, %x)
///   thread.replicate() {n = 4} ({..})           thread.replicate() {n = 4} ({..})
///                                               %y = mem.sram_load(%s, 0)
///   mem.sram_free(%a)                           mem.sram_free(%a, %s)
///   use(%x)                                     use(%y)
///
/// Algorithm: for each region whose pointer has been hoisted, in program order, the scalars that
/// are defined before it, used behind it, and not used inside or only in front of a loop there,
/// which then does not carry them. They are those of its block and, if that is an arm of an if,
/// those of the blocks around, where the if gives the value that was loaded as a further result.
/// Each has a buffer of one element: several in one would take turns at its port. What is loaded
/// behind one region is stored again for the next. What is a few ops away from the others, from
/// values of enclosing threads and from constants is computed again instead. Constants stay: they
/// are no streams. The pointers of open buffers wait likewise; since an sram is the same value
/// before and behind, they need no results, and may be of any block of the thread. A region with a
/// loop that has no hoisted pointer gets one in front of it. Values x uses.
///
/// Why here: behind `hoist-allocations`, which leaves the pointer that addresses the buffers; the
/// free of the pointer stays behind the loads. A pointer of its own is one of a buffer around the
/// region, which a program may have there too.
///
/// Does not handle: values of a loop's iteration that are live around the region and the rest of
/// the loop because the next iteration needs them; forks in regions without a hoisted pointer,
/// whose threads would each free one.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

/// Ops that it may take to compute a value behind a region instead of keeping it.
constexpr unsigned most_recomputed = 4;

/// A value, and how far out it is used behind the region: 0 in the region's block, 1 behind the if
/// around that, ..
struct Around {
  Value* value;
  std::size_t levels;
};

/// Calls `f` on `op` and what is inside it, as far as it belongs to the same thread.
template <typename F>
void walk_thread(Op& op, const F& f) {
  f(op);
  if (op.is(ops::thread_foreach)) return;
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op& inner : *block) walk_thread(inner, f);
}

/// One around another, from the region on, ops of one thread that all end up behind the region.
using Nest = std::vector<Op*>;

/// Where the ops of some blocks stood when they were numbered. What has been added since stands
/// nowhere.
class Positions {
 public:
  explicit Positions(const Nest& nest) {
    for (const Op* at : nest)
      for (const Op& op : *at->block()) positions_.emplace(&op, positions_.size());
  }

  /// True if `op` is in the block of `at`, or in an op of it, and behind `at`.
  bool is_behind(const Op& op, const Op& at) const {
    for (const Op* o = &op; o; o = o->parent_op()) {
      if (o->block() != at.block()) continue;
      const auto found = positions_.find(o);
      return found != positions_.end() && found->second > positions_.at(&at);
    }
    return false;
  }

 private:
  std::unordered_map<const Op*, std::size_t> positions_;
};

/// What of a region lies in front of its last loop. Children have loops of their own.
class LastLoop {
 public:
  explicit LastLoop(const Op& region) { number(region, true); }

  bool exists() const { return last_ != nullptr; }

  /// True if the last loop does not carry a value for this use of it, in the region: as an initial
  /// value it is another one in the loop.
  bool is_behind(const Op& use) const {
    return last_ && positions_.at(&use) <= positions_.at(last_);
  }

 private:
  void number(const Op& op, bool in_thread) {
    positions_.emplace(&op, positions_.size());
    if (in_thread && op.is(ops::thread_while)) last_ = &op;
    in_thread &= !op.is(ops::thread_while) && !op.is(ops::thread_foreach);
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks())
        for (const Op& inner : *block) number(inner, in_thread);
  }

  std::unordered_map<const Op*, std::size_t> positions_;
  const Op* last_ = nullptr;
};

class Bufferizing {
 public:
  Bufferizing(Op& replicate, PassContext& context)
      : replicate_(replicate),
        context_(context),
        around_(around(replicate)),
        nest_(ifs_of(around_)),
        positions_(around_),
        last_loop_(replicate),
        before_(Builder::before(replicate)),
        behind_(Builder::after(replicate)),
        next_(replicate.next()) {}

  bool run() {
    owner_ = hoisted_pointer();
    const bool own = !owner_;
    if (own && !may_have_pointer()) {
      context_.count("kept: no hoisted pointer");
      return false;
    }
    const std::vector<Around> values = values_around();
    const std::vector<Value*> pointers = pointers_around();
    const std::size_t found = values.size() + pointers.size();
    // A pointer of its own goes through the region itself.
    const std::int64_t fewest = context_.options.integer("min-values") + (own ? 1 : 0);
    if (static_cast<std::int64_t>(found) < fewest) {
      if (found != 0) context_.count("kept: min-values");
      return false;
    }
    if (!context_.spend()) return false;
    context_.count("regions");
    bufferize(values, pointers);
    if (own && owner_) {
      context_.count("own pointers");
      free_own();
    }
    return true;
  }

 private:
  static Nest around(Op& replicate) {
    Nest out = {&replicate};
    // A block that ends in an exit leads nowhere behind its op.
    for (Op* at = replicate.parent_op();
         at && !at->is(ops::thread_func) && !at->is(ops::thread_foreach) &&
         !out.back()->block()->last()->is(ops::thread_exit);
         at = at->parent_op())
      out.push_back(at);
    return out;
  }

  /// The region, and the ifs directly around it.
  static Nest ifs_of(const Nest& around) {
    const auto end = std::find_if(around.begin() + 1, around.end(),
                                  [](const Op* op) { return !op->is(ops::thread_if); });
    return {around.begin(), end};
  }

  /// In the order in which they are defined.
  std::vector<Around> values_around() const {
    std::vector<Around> out;
    for (std::size_t level = nest_.size(); level-- > 0;) {
      const auto add = [&](Value* v) {
        if (const auto levels = levels_behind(*v, level)) out.push_back({v, *levels});
      };
      const Block& block = *nest_[level]->block();
      for (const auto& arg : block.args()) add(arg.get());
      for (Op* op = block.first(); op != nest_[level]; op = op->next())
        if (!op->is(ops::arith_constant) && !op->is(ops::mem_dram_size))
          for (const auto& r : op->results()) add(r.get());
    }
    return out;
  }

  /// How far out a value of the block of `nest_[level]` is used behind the region; nullopt where it
  /// is not, or is needed inside as long as the region lasts.
  std::optional<std::size_t> levels_behind(const Value& v, std::size_t level) const {
    if (!v.type().is_scalar()) return std::nullopt;
    std::optional<std::size_t> out;
    for (const Use& use : v.uses()) {
      if (is_ancestor(&replicate_, use.op)) {
        if (!last_loop_.is_behind(*use.op)) return std::nullopt;
        continue;
      }
      for (std::size_t i = out ? *out + 1 : 0; i <= level; ++i)
        if (positions_.is_behind(*use.op, *nest_[i])) out = i;
    }
    return out;
  }

  /// Open buffers with a pointer of their own that is needed behind the region, and not inside as
  /// long as that lasts.
  std::vector<Value*> pointers_around() const {
    std::vector<Value*> out;
    for (std::size_t level = 0; level < around_.size(); ++level)
      for (Op* op = around_[level]->block()->first(); op != around_[level]; op = op->next()) {
        if (!op->is(ops::mem_sram_alloc) || op == owner_) continue;
        Value* const v = op->result();
        if (ops::pointer_owner(v) != v || is_kept(v)) continue;
        std::vector<const Op*> users;
        for (const Use& use : v->uses()) {
          users.push_back(use.op);
          if (use.op->is(ops::mem_sram_alloc))
            for (const Use& other : use.op->result()->uses()) users.push_back(other.op);
        }
        const bool needed = std::any_of(users.begin(), users.end(), [&](const Op* user) {
          return is_ancestor(&replicate_, user) && !last_loop_.is_behind(*user);
        });
        if (!needed && std::any_of(users.begin(), users.end(),
                                   [&](const Op* user) { return may_follow(*user, level); }))
          out.push_back(v);
      }
    return out;
  }

  /// True if the pointer waits in a buffer already: it is taken out right behind the region.
  bool is_kept(const Value* v) const {
    for (const Op* op = replicate_.next(); op; op = op->next()) {
      if (op->is(ops::mem_pointer_load) && op->operand(2) == v) return true;
      if (!is_pure(*op) && !op->is(ops::mem_pointer_load) && !op->is(ops::mem_sram_load))
        return false;
    }
    return false;
  }

  /// True if the thread may come to an op, outside of the region, when it is through the region and
  /// before it leaves the block of `around_[level]`.
  bool may_follow(const Op& op, std::size_t level) const {
    if (is_ancestor(&replicate_, &op)) return false;
    for (std::size_t i = 0; i <= level; ++i) {
      if (positions_.is_behind(op, *around_[i])) return true;
      if (i < level && around_[i + 1]->is(ops::thread_while) && is_ancestor(around_[i + 1], &op))
        return true;
    }
    return false;
  }

  /// The allocation in front of the region whose pointer is its own: used inside, and freed there
  /// at exits and behind it at last.
  Op* hoisted_pointer() const {
    for (Op* op = replicate_.prev(); op; op = op->prev()) {
      if (!op->is(ops::mem_sram_alloc) || !op->has_attr("regions") || op->num_operands() != 0)
        continue;
      bool inside = false, behind = false, elsewhere = false;
      for (const Use& use : op->result()->uses()) {
        const bool in = is_ancestor(&replicate_, use.op);
        inside |= in;
        if (!use.op->is(ops::mem_sram_free) || in) continue;
        const bool at_end =
            use.op->block() == replicate_.block() && positions_.is_behind(*use.op, replicate_);
        (at_end ? behind : elsewhere) = true;
      }
      for (const Use& use : op->result()->uses())
        if (use.op->is(ops::mem_sram_alloc))
          for (const Use& access : use.op->result()->uses())
            inside |= is_ancestor(&replicate_, access.op);
      if (inside && behind && !elsewhere) return op;
    }
    return nullptr;
  }

  /// True if the region may get a pointer in front of it for nothing but what is around it: there
  /// is a loop that is worth it, and no fork, whose threads would each free it.
  bool may_have_pointer() const {
    bool forks = false;
    walk_thread(replicate_, [&](const Op& op) { forks |= op.is(ops::thread_fork); });
    return context_.options.boolean("own-pointer") && last_loop_.exists() && !forks;
  }

  /// Frees the pointer that was taken for the buffers behind the loads, and at exits in the region.
  void free_own() {
    std::vector<Value*> buffers = {owner_->result()};
    for (const Use& use : owner_->result()->uses())
      if (use.op->is(ops::mem_sram_alloc)) buffers.push_back(use.op->result());
    std::vector<Op*> exits;
    walk_thread(replicate_, [&](Op& op) {
      if (op.is(ops::thread_exit)) exits.push_back(&op);
    });
    for (Op* exit : exits) Builder::before(*exit).create(ops::mem_sram_free, buffers);
    behind_.create(ops::mem_sram_free, buffers);
  }

  void bufferize(const std::vector<Around>& values, const std::vector<Value*>& pointers) {
    Value* const at_store = before_.constant(type_i32, 0);
    Value* const at_load = behind_.constant(type_i32, 0);
    std::map<const Value*, Value*> behind;
    std::size_t stored = 0;
    for (const Around& a : values) {
      Value* const v = a.value;
      unsigned ops = most_recomputed;
      if (!follows(*v, behind, ops)) {
        Value* const buffer = allocate(v->type());
        before_.create(ops::mem_sram_store, {buffer, at_store, v});
        behind[v] = behind_.create(ops::mem_sram_load, {buffer, at_load}, {v->type()})->result();
        ++stored;
      }
      Value& there = computed(*v, behind);
      there.set_name(v->name());
      replace(*v, there, a.levels);
    }
    for (Value* v : pointers) {
      Value* const buffer = allocate({Kind::ptr});
      before_.create(ops::mem_pointer_store, {buffer, at_store, v});
      behind_.create(ops::mem_pointer_load, {buffer, at_load, v});
    }
    for (Value* at : {at_store, at_load})
      if (at->unused()) at->def()->erase();
    count("values", stored);
    count("computed again", values.size() - stored);
    count("pointers", pointers.size());
  }

  /// A constant or a value of an enclosing thread: no stream of this one.
  bool is_given(const Value& v) const {
    if (const Op* def = v.def();
        def && (def->is(ops::arith_constant) || def->is(ops::mem_dram_size)))
      return true;
    return thread_of(*v.block()) != thread_of(*replicate_.block());
  }

  /// The foreach whose child runs a block; null in main.
  static const Op* thread_of(const Block& block) {
    const Op* at = block.parent_op();
    while (at && !at->is(ops::thread_foreach)) at = at->parent_op();
    return at;
  }

  /// True if a value is no more than `ops` ops away from what is given and what is there behind the
  /// region.
  bool follows(const Value& v, const std::map<const Value*, Value*>& behind, unsigned& ops) const {
    if (behind.count(&v) != 0 || is_given(v)) return true;
    const Op* const def = v.def();
    if (!def || def->num_results() != 1 || def->num_regions() != 0 || !is_pure(*def) || ops == 0)
      return false;
    --ops;
    const auto operands = def->operands();
    return std::all_of(operands.begin(), operands.end(),
                       [&](const Value* o) { return follows(*o, behind, ops); });
  }

  /// The value as it is computed behind the region.
  Value& computed(Value& v, std::map<const Value*, Value*>& behind) {
    if (is_given(v)) return v;
    Value*& made = behind[&v];
    if (!made) {
      Cloning cloning;
      for (Value* o : v.def()->operands()) cloning.values[o] = &computed(*o, behind);
      made = replicate_.block()->insert(clone_op(*v.def(), cloning), next_)->result();
    }
    return *made;
  }

  void count(const char* statistic, std::size_t n) {
    if (n != 0) context_.count(statistic, static_cast<std::int64_t>(n));
  }

  /// A buffer beside the owner's, or the first, which takes a pointer.
  Value* allocate(Type element) {
    Type type{Kind::sram};
    type.element = element.kind;
    type.size = 1;
    AttrMap attrs = {{"name", "around"}, {"written", true}};
    if (const std::int64_t threads = owner_ ? number_of_pointers() : 0; threads != 0)
      attrs.emplace("threads", threads);
    std::vector<Value*> owner;
    if (owner_) owner.push_back(owner_->result());
    Op* const made = before_.create(ops::mem_sram_alloc, owner, {&type, 1}, std::move(attrs));
    made->result()->set_name("around");
    if (owner_)
      free_too(*made->result());
    else
      owner_ = made;
    return made->result();
  }

  /// How many pointers the program says that there are, of which each has a buffer; 0 where it does
  /// not say.
  std::int64_t number_of_pointers() const {
    std::int64_t threads = owner_->int_attr("threads");
    for (const Use& use : owner_->result()->uses())
      if (use.op->is(ops::mem_sram_alloc) && use.op->has_attr("regions"))
        if (const std::int64_t t = use.op->int_attr("threads"); t != 0)
          threads = threads == 0 ? t : std::min(threads, t);
    return threads * owner_->int_attr("regions");
  }

  void free_too(Value& buffer) const {
    std::vector<std::pair<Op*, std::vector<Value*>>> frees;
    for (const Use& use : owner_->result()->uses()) {
      if (!use.op->is(ops::mem_sram_free)) continue;
      std::vector<Value*> operands(use.op->operands().begin(), use.op->operands().end());
      operands.insert(operands.end() - (use.op->flag("predicated") ? 1 : 0), &buffer);
      frees.emplace_back(use.op, std::move(operands));
    }
    for (const auto& [free, operands] : frees) free->set_operands(operands);
  }

  /// What uses the value behind the region takes the one that was loaded.
  void replace(Value& value, Value& loaded, std::size_t levels) const {
    Value* now = &loaded;
    for (std::size_t level = 0;; ++level) {
      const Op& at = *nest_[level];
      const std::vector<Use> uses(value.uses().begin(), value.uses().end());
      for (const Use& use : uses)
        if (positions_.is_behind(*use.op, at)) use.op->set_operand(use.index, now);
      if (level == levels) return;
      Op& around = *nest_[level + 1];
      for (unsigned r = 0; r < 2; ++r) {
        Op* const end = around.body(r).last();
        if (end->is(ops::thread_yield))
          end->add_operand(&around.region(r) == at.block()->parent() ? now : &value);
      }
      now = around.add_result(value.type(), value.name());
    }
  }

  Op& replicate_;
  PassContext& context_;
  Nest around_;
  Nest nest_;
  Positions positions_;
  LastLoop last_loop_;
  Builder before_;  ///< in front of the region
  Builder behind_;
  Op* next_;
  Op* owner_ = nullptr;  ///< whose pointer the buffers have
};

bool visit(Op& op, PassContext& context) {
  context.visit();
  bool changed = op.is(ops::thread_replicate) && Bufferizing(op, context).run();
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op *inner = block->first(), *next; inner; inner = next) {
        next = inner->next();
        changed |= visit(*inner, context);
      }
  return changed;
}

PassResult run(Module& module, PassContext& context) {
  context.visit(0);
  bool changed = false;
  for (Op& op : module.body()) changed |= visit(op, context);
  return PassResult::of(changed);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "bufferize-replicate";
  info.summary = "Values that are live around a replicate region wait in a buffer";
  info.requires_ = {"inlined"};
  info.options = {
      {"min-values", OptionType::integer, "1",
       "fewest values and pointers around a region for which it gets a buffer", 1, 1'000'000},
      {"own-pointer", OptionType::boolean, "true",
       "regions with a loop and no hoisted pointer get one for what is around them"}};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("bufferize-replicate", "Buffers around replicate regions", revet::register_)
