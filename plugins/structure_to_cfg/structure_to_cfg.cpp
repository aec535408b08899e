/// Turns the structured control flow of main into basic blocks whose terminators say how paths
/// meet.
///
/// Before:                                     After:
///   %r = thread.if(%c) (                        cfg.cond_br(%c)[^then, ^else]
///     {%x = ..; thread.yield(%x)},            ^then: %x = ..; cfg.br()[^join(%x)]
///     {thread.exit()})                        ^else: cfg.exit()[^end] {loops = 0}
///   mem.dram_store(%a, %i, %r)                ^join(%r): mem.dram_store(%a, %i, %r)
///   thread.yield()                              cfg.br()[^end]
///                                             ^end: cfg.reduce()
///
/// Algorithm: one walk that moves every op into the block it belongs to. An if becomes a diamond, a
/// while a header with one edge from outside and one back edge, a foreach an entry, its children's
/// blocks and the block behind it. Exits go to the end of the child they are in, or of main; where
/// more than two edges meet there, they meet pairwise first. A loop whose body never comes round is
/// no loop. Then the flags that the front end makes of break, continue and early return turn back
/// into branches (jumps.hpp), and blocks lose what they do not need. Linear but for the jumps, each
/// of which costs as many blocks as its values live through.
///
/// Why here: the last pass on thread IR for a vRDA; `cfg-to-flow` reads merges, counters and
/// reductions off the terminators.
///
/// Does not handle: calls, views and iterators (it requires what removes them).
#include <algorithm>

#include "jumps.hpp"
#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

/// False where every path through the block ends the thread.
bool reaches_end(const Block& block) {
  for (Op& op : block) {
    if (op.is(ops::thread_exit)) return false;
    if (op.is(ops::thread_if) && !reaches_end(op.body(0)) && !reaches_end(op.body(1))) return false;
    if ((op.is(ops::thread_while) || op.is(ops::thread_replicate)) && !reaches_end(op.body(0)))
      return false;
  }
  return true;
}

class Flattening {
 public:
  Flattening(Op& func, PassContext& context) : region_(func.region()), context_(context) {}

  void run() {
    // The old entry block becomes a store of ops to take from; the parameters move to the new one.
    Block& old = region_.front();
    block_ = &region_.add_block();
    for (const auto& arg : old.args()) {
      Value* const made = block_->add_arg(arg->type(), arg->name());
      arg->replace_all_uses_with(made);
    }
    thread([&] { emit(old); },
           [](const Op& last, Builder& b, std::span<Value* const> values) {
             b.set_loc(last.loc());
             b.create(ops::thread_return, values);
           },
           *old.terminator(), {});
    region_.erase_block(old);
  }

 private:
  struct Thread {
    unsigned loops = 0;      ///< loops around, within the thread
    std::vector<Op*> exits;  ///< cfg.exits whose successor `meet` sets
  };

  Builder at_end(const Op& like) {
    Builder b(*block_);
    b.set_loc(like.loc());
    return b;
  }

  /// Every terminator says which replicate regions its block is in.
  Op* finish_block(const Op& like, const OpInfo& info, std::span<Value* const> own,
                   std::initializer_list<std::pair<Block*, std::span<Value* const>>> successors,
                   AttrMap attrs = {}) {
    if (!replicates_.empty()) attrs.emplace("replicate", Attr(replicates_));
    Builder b = at_end(like);
    Op* op = b.create(info, own, {}, std::move(attrs));
    for (const auto& [to, args] : successors) op->add_successor(to, args);
    block_ = nullptr;
    return op;
  }

  /// Flattens one thread: `body` emits its blocks, `end` writes what ends it in the last block.
  template <typename Body, typename End>
  void thread(const Body& body, const End& end, const Op& last, const std::vector<Type>& values) {
    Thread saved = std::move(thread_);
    thread_ = Thread{};
    body();
    // `block_` is where the thread ends normally, null where it never does.
    // Main always has an end block, so that every function at this level shows a terminator of it.
    if (thread_.exits.empty() && !last.info().terminator) {
      Builder b = at_end(last);
      end(last, b, last_values_);
    } else {
      meet(last, end, values);
    }
    block_ = nullptr;
    thread_ = std::move(saved);
  }

  /// Brings all edges to one end block, two at a time.
  template <typename End>
  void meet(const Op& last, const End& end, const std::vector<Type>& values) {
    struct Edge {
      Block* from;  ///< ends in an unfinished edge
      bool data;    ///< carries values
      std::vector<Value*> args;
      Op* exit;  ///< a cfg.exit whose successor is to be set
    };
    std::vector<Edge> edges;
    if (block_) edges.push_back({block_, true, last_values_, nullptr});
    for (Op* exit : thread_.exits) edges.push_back({nullptr, false, {}, exit});
    const auto connect = [&](Edge& e, Block& to) {
      if (e.exit) {
        e.exit->set_successor(0, &to);
      } else {
        block_ = e.from;
        finish_block(last, ops::cfg_br, {}, {{&to, e.args}});
      }
    };
    for (;;) {
      Block& join = region_.add_block();
      std::vector<Value*> args;
      const bool is_last = edges.size() <= 2;
      const bool data = is_last || edges[0].data || edges[1].data;
      if (data)
        for (const Type t : values) args.push_back(join.add_arg(t));
      connect(edges[0], join);
      if (edges.size() > 1) connect(edges[1], join);
      block_ = &join;
      if (is_last) {
        Builder b = at_end(last);
        end(last, b, args);
        return;
      }
      edges.erase(edges.begin(), edges.begin() + 2);
      if (data) {
        edges.push_back({&join, true, args, nullptr});
      } else {
        Op* exit = finish_block(last, ops::cfg_exit, {}, {{&join, {}}}, {{"loops", 0}});
        edges.push_back({nullptr, false, {}, exit});
      }
    }
  }

  /// Moves the ops of `from` to where they belong. Afterwards `block_` is the block to go on in,
  /// null where the thread has ended, and `last_values_` what the terminator passes on.
  void emit(Block& from) {
    for (Op *op = from.first(), *next; op && block_; op = next) {
      next = op->next();
      context_.visit();
      if (op->is(ops::thread_if))
        emit_if(*op);
      else if (op->is(ops::thread_while))
        emit_while(*op);
      else if (op->is(ops::thread_foreach))
        emit_foreach(*op);
      else if (op->is(ops::thread_replicate))
        emit_replicate(*op);
      else if (op->is(ops::thread_fork))
        emit_fork(*op);
      else if (op->is(ops::thread_exit))
        emit_exit(*op);
      else if (op->info().terminator)
        last_values_.assign(op->operands().begin(), op->operands().end());
      else
        block_->insert(from.take(*op));
    }
  }

  void replace_results(Op& op, Block& by) {
    for (unsigned i = 0; i < op.num_results(); ++i) {
      Value* arg = by.add_arg(op.result(i)->type(), op.result(i)->name());
      op.result(i)->replace_all_uses_with(arg);
    }
  }

  /// The pragma of a block is kept where its links come from.
  static AttrMap link_of(const Op& op) {
    const Attr* const link = op.attr("link");
    return link ? AttrMap{{"link", *link}} : AttrMap{};
  }

  void emit_if(Op& op) {
    Block& first = region_.add_block();
    Block& second = region_.add_block();
    Value* const condition = op.operand(0);
    AttrMap attrs = link_of(op);
    if (op.flag("unlikely")) attrs.emplace("unlikely", true);
    finish_block(op, ops::cfg_cond_br, {&condition, 1}, {{&first, {}}, {&second, {}}},
                 std::move(attrs));
    struct Arm {
      Block* end;
      std::vector<Value*> values;
    };
    std::vector<Arm> arms;
    for (unsigned r = 0; r < 2; ++r) {
      block_ = r == 0 ? &first : &second;
      emit(op.body(r));
      if (block_) arms.push_back({block_, last_values_});
    }
    if (arms.empty()) return;
    Block& join = region_.add_block();
    replace_results(op, join);
    for (const Arm& arm : arms) {
      block_ = arm.end;
      finish_block(op, ops::cfg_br, {}, {{&join, arm.values}});
    }
    block_ = &join;
    context_.count("ifs");
  }

  void emit_while(Op& op) {
    const bool loops = reaches_end(op.body(0)) && reaches_end(op.body(1));
    Block& header = region_.add_block();
    Block& before = op.body(0);
    for (unsigned i = 0; i < before.num_args(); ++i) {
      Value* arg = header.add_arg(before.arg(i)->type(), before.arg(i)->name());
      before.arg(i)->replace_all_uses_with(arg);
    }
    finish_block(op, loops ? ops::cfg_loop_br : ops::cfg_br, {}, {{&header, op.operands()}},
                 loops ? link_of(op) : AttrMap{});
    if (loops) ++thread_.loops;
    block_ = &header;
    emit(before);
    if (!block_) return;  // the condition is never reached: not counted as a loop
    const std::vector<Value*> passed(last_values_.begin() + 1, last_values_.end());
    Value* const condition = last_values_[0];
    Block& body = region_.add_block();
    Block& leave = region_.add_block();
    Block& old = op.body(1);
    std::vector<Value*> left;
    for (unsigned i = 0; i < old.num_args(); ++i) {
      old.arg(i)->replace_all_uses_with(body.add_arg(old.arg(i)->type(), old.arg(i)->name()));
      left.push_back(leave.add_arg(old.arg(i)->type(), op.result(i)->name()));
    }
    finish_block(op, ops::cfg_cond_br, {&condition, 1}, {{&body, passed}, {&leave, passed}});
    block_ = &body;
    emit(old);
    if (block_) finish_block(op, ops::cfg_loop_br, {}, {{&header, last_values_}}, {{"back", true}});
    if (loops) --thread_.loops;
    block_ = &leave;
    Block& after = region_.add_block();
    replace_results(op, after);
    if (loops)
      finish_block(op, ops::cfg_loop_exit, {}, {{&after, left}}, {{"loops", 1}});
    else
      finish_block(op, ops::cfg_br, {}, {{&after, left}});
    block_ = &after;
    context_.count("whiles");
  }

  void emit_foreach(Op& op) {
    Block& first = region_.add_block();
    Block& after = region_.add_block();
    Block& old = op.body();
    old.arg(0)->replace_all_uses_with(first.add_arg(old.arg(0)->type(), old.arg(0)->name()));
    replace_results(op, after);
    AttrMap attrs;
    for (const char* name : {"eliminate_hierarchy", "threads", "unroll", "link"})
      if (const Attr* a = op.attr(name)) attrs.emplace(name, *a);
    finish_block(op, ops::cfg_foreach_enter, op.operands(), {{&first, {}}, {&after, {}}},
                 std::move(attrs));
    const Attr reduce = op.attr("reduce") ? *op.attr("reduce") : Attr(Attr::Array{});
    std::vector<Type> types;
    for (const auto& r : op.results()) types.push_back(r->type());
    block_ = &first;
    thread([&] { emit(old); },
           [&](const Op& last, Builder& b, std::span<Value* const> values) {
             b.set_loc(last.loc());
             AttrMap end = {{"reduce", reduce}};
             if (!replicates_.empty()) end.emplace("replicate", Attr(replicates_));
             b.create(ops::cfg_reduce, values, {}, std::move(end));
           },
           op, types);
    block_ = &after;
    context_.count("foreachs");
  }

  void emit_replicate(Op& op) {
    Attr::Array mark = {Attr(static_cast<std::int64_t>(next_replicate_++)), *op.attr("n"),
                        Attr(op.flag("fixed"))};
    // The region has blocks of its own, so that the mark holds for all of a block.
    Block& inside = region_.add_block();
    finish_block(op, ops::cfg_br, {}, {{&inside, {}}}, link_of(op));
    replicates_.push_back(Attr(std::move(mark)));
    block_ = &inside;
    emit(op.body());
    const std::vector<Value*> values = last_values_;
    Block* const end = block_;
    if (end) {
      Block& after = region_.add_block();
      replace_results(op, after);
      finish_block(op, ops::cfg_br, {}, {{&after, values}});
      block_ = &after;
    }
    replicates_.pop_back();
  }

  void emit_fork(Op& op) {
    Block& next = region_.add_block();
    replace_results(op, next);
    finish_block(op, ops::cfg_fork, op.operands(), {{&next, {}}});
    block_ = &next;
  }

  void emit_exit(Op& op) {
    // Where it goes is known when the thread is complete; until then it goes to its own block.
    Block* const here = block_;
    Op* exit = finish_block(op, ops::cfg_exit, {}, {{here, {}}},
                            {{"loops", static_cast<std::int64_t>(thread_.loops)}});
    thread_.exits.push_back(exit);
  }

  Region& region_;
  PassContext& context_;
  Block* block_ = nullptr;  ///< where ops go; null where no path leads
  std::vector<Value*> last_values_;
  Thread thread_;
  Attr::Array replicates_;  ///< around, each [id, n, fixed]
  unsigned next_replicate_ = 0;
};

/// Each round of jumps may make the flags of a loop further out constant.
constexpr unsigned most_rounds = 16;

PassResult run(Module& module, PassContext& context) {
  Op* main = module.find_func("main");
  if (!main) return PassResult::failure("there is no main");
  Flattening(*main, context).run();
  Edges edges(main->region());
  simplify_blocks(main->region(), edges);
  for (unsigned round = 0; round < most_rounds; ++round) {
    const std::int64_t jumps = thread_jumps(main->region(), edges);
    if (jumps == 0) break;
    context.count("jumps", jumps);
    simplify_blocks(main->region(), edges);
  }
  return PassResult::of(true);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "structure-to-cfg";
  info.summary = "Structured control flow as basic blocks with annotated terminators";
  info.output = Level::cfg;
  info.requires_ = {"inlined", "lowered-adapters"};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("structure-to-cfg", "Structured control flow as basic blocks", revet::register_)
