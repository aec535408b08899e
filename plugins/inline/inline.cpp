/// Puts the body of every called function in place of the call, so that main is all there is.
///
/// Before:                                      After:
///   thread.func() {sym = "twice", ..}            thread.func() {sym = "main", ..}
///     ({^bb0(%x: i32):                             ({^bb0(%n: i32):
///       %y = arith.add(%x, %x)                         %y = arith.add(%n, %n)
///       thread.return(%y)})                            mem.dram_store(%a, %n, %y)
///   thread.func() {sym = "main", ..}                   thread.return()})
///     ({^bb0(%n: i32):
///       %r = thread.call(%n) {callee = "twice"}
///       mem.dram_store(%a, %n, %r)
///       thread.return()})
///
/// Algorithm: depth-first over the call graph, callees before callers, so a body is complete when
/// it is copied, or moved where this is its only call; a call of a function that is still being
/// visited closes a cycle, which is an error. Linear in the size of the result. A function ends in
/// one return, which gives the call's value, or in an exit, which replaces the rest of the caller's
/// block. Every exit that was copied ends the caller's thread: the views, iterators and SRAMs that
/// this thread has open at the call are closed before it, the last opened first. A stack kept while
/// walking the caller knows them. Functions that call functions twice grow as powers of two;
/// `max-ops` makes that an error.
///
/// Why here: first of all, since no other pass looks through a call.
///
/// Does not handle: sharing of code. Each call but an only one is a copy.
#include <algorithm>
#include <map>
#include <vector>

#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

const OpInfo& closing_op(const Value* scope) {
  switch (scope->type().kind) {
    case Kind::view: return ops::mem_view_close;
    case Kind::iter: return ops::mem_iter_close;
    default: return ops::mem_sram_free;
  }
}

class Inliner {
 public:
  Inliner(Module& module, PassContext& context)
      : context_(context), max_ops_(context.options.integer("max-ops")) {
    context.visit(0);
    for (Op& op : module.body())
      if (op.is(ops::thread_func)) functions_[op.str_attr("sym")] = &op;
    walk(module, [&](Op& op) {
      context_.visit();
      if (op.is(ops::thread_call)) ++calls_[op.str_attr("callee")];
    });
  }

  /// Inlines all calls below `func`, callees first.
  void visit(Op& func) {
    state_[&func] = State::active;
    path_.push_back(&func);
    visit(func.body(), {});
    path_.pop_back();
    state_[&func] = State::done;
    walk(func, [&](Op&) { ++size_[&func]; });
  }

 private:
  enum class State : std::uint8_t { fresh, active, done };

  /// `open`: scopes that the thread has open where the block begins.
  void visit(Block& block, std::vector<Value*> open) {
    for (Op *op = block.first(), *next; op; op = next) {
      next = op->next();
      if (op->is(ops::thread_call)) {
        Op* callee = complete_callee(*op);
        if (!callee || !reserve(*op, *callee)) return;
        if (!inline_call(*op, *callee, open)) return;
        continue;
      }
      if (ops::opens_scope(*op)) open.push_back(op->result());
      if (ops::closes_scope(*op)) std::erase(open, op->operand(0));
      const bool child = op->is(ops::thread_foreach);
      for (const auto& region : op->regions())
        for (const auto& inner : region->blocks())
          visit(*inner, child ? std::vector<Value*>{} : open);
    }
  }

  /// The function called, with no call left in it; null after an error.
  Op* complete_callee(const Op& call) {
    const auto it = functions_.find(call.str_attr("callee"));
    if (it == functions_.end()) {
      context_.diagnostics.error(call.loc(),
                                 "call of the unknown function '" + call.str_attr("callee") + "'");
      return nullptr;
    }
    Op& callee = *it->second;
    switch (state_[&callee]) {
      case State::active: report_cycle(call, callee); return nullptr;
      case State::fresh: visit(callee); break;
      case State::done: break;
    }
    return &callee;
  }

  void report_cycle(const Op& call, const Op& callee) {
    std::string cycle;
    for (auto f = std::find(path_.begin(), path_.end(), &callee); f != path_.end(); ++f)
      cycle += (*f)->str_attr("sym") + " -> ";
    cycle += callee.str_attr("sym");
    context_.diagnostics.error(call.loc(), "functions cannot be recursive: " + cycle);
  }

  /// Counts the copy that is about to be made; an error where that is too much.
  bool reserve(const Op& call, const Op& callee) {
    if (is_only_call(call)) return true;
    copied_ += size_[&callee];
    if (copied_ <= max_ops_) return true;
    context_.diagnostics.error(call.loc(),
                               "inlining '" + callee.str_attr("sym") + "' here gives more than " +
                                   std::to_string(max_ops_) + " ops in all (option max-ops)");
    return false;
  }

  bool is_only_call(const Op& call) { return calls_[call.str_attr("callee")] == 1; }

  /// False where the call never returns; then the block ends in an exit.
  bool inline_call(Op& call, Op& callee, const std::vector<Value*>& open) {
    Block& block = *call.block();
    const bool move = is_only_call(call);
    Cloning cloning;
    for (unsigned i = 0; i < call.num_operands(); ++i) {
      if (move)
        callee.body().arg(i)->replace_all_uses_with(call.operand(i));
      else
        cloning.values[callee.body().arg(i)] = call.operand(i);
    }
    context_.count("calls inlined");

    const Op& end = *callee.body().terminator();
    for (Op *op = callee.body().first(), *next; op; op = next) {
      next = op->next();
      if (op->is(ops::thread_return)) break;
      Op* placed = block.insert(move ? callee.body().take(*op) : clone_op(*op, cloning), &call);
      close_before_exits(*placed, open);
    }
    if (end.is(ops::thread_return)) {
      if (call.num_results() != 0) {
        Value* value = cloning.map(end.operand(0));
        if (value->name().empty()) value->set_name(call.result()->name());
        call.result()->replace_all_uses_with(value);
      }
      call.erase();
      // What is left of a moved body must not refer to where it went: that may go first.
      if (move) callee.body().terminator()->set_operands({});
      return true;
    }
    for (Op *op = block.last(), *previous;; op = previous) {
      previous = op->prev();
      const bool last = op == &call;
      op->erase();
      if (last) return false;
    }
  }

  /// Closes the caller's scopes before every exit of the caller's own thread in `op`.
  void close_before_exits(Op& op, const std::vector<Value*>& open) {
    if (open.empty() || op.is(ops::thread_foreach)) return;
    if (op.is(ops::thread_exit)) {
      Builder b = Builder::before(op);
      for (auto scope = open.rbegin(); scope != open.rend(); ++scope)
        b.create(closing_op(*scope), {*scope});
    }
    for (const auto& region : op.regions())
      for (const auto& block : region->blocks())
        for (Op& inner : *block) close_before_exits(inner, open);
  }

  PassContext& context_;
  const std::int64_t max_ops_;
  std::int64_t copied_ = 0;
  std::map<std::string, Op*, std::less<>> functions_;
  std::map<std::string, unsigned, std::less<>> calls_;  ///< of each function, in the whole module
  std::map<const Op*, State> state_;
  std::map<const Op*, std::int64_t> size_;  ///< ops of a complete function
  std::vector<const Op*> path_;
};

PassResult run(Module& module, PassContext& context) {
  Op* main = module.find_func("main");
  if (!main) {
    context.diagnostics.error({}, "the program has no function 'main'");
    return PassResult::of(false);
  }
  Inliner(module, context).visit(*main);
  if (context.diagnostics.has_errors()) return PassResult::of(true);
  for (Op *op = module.body().first(), *next; op; op = next) {
    next = op->next();
    if (!op->is(ops::thread_func) || op == main) continue;
    op->erase();
    context.count("functions removed");
  }
  return PassResult::of(!context.statistics.empty());
}

void verify_inlined(const Module& module, VerifyReport& report) {
  for (Op& func : module.body())
    if (func.is(ops::thread_func) && func.str_attr("sym") != "main")
      report.fail(func, "function '" + func.str_attr("sym") + "' is left, only main may be");
  walk(module, [&](Op& op) {
    if (op.is(ops::thread_call)) report.fail(op, "a call is left");
  });
}

void register_(Registry& registry) {
  PropertyInfo inlined;
  inlined.name = "inlined";
  inlined.summary = "main is the only function and nothing is called";
  inlined.verify = verify_inlined;
  registry.add_property(std::move(inlined));

  PassInfo info;
  info.id = "inline";
  info.summary = "Inlines every call; only main remains";
  info.establishes = {"inlined"};
  info.options = {
      {"max-ops", OptionType::integer, "1000000", "most ops to copy in all", 1, 1000000000}};
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("inline", "Inlining of all calls into main", revet::register_)
