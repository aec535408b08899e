// From thread IR to flat code.
//
// Calls are expanded where they stand: recursion does not occur, and so functions need no frames.
// Results of while, replicate and call, arguments of a while's body, and casts that keep the bits
// share the register of the value they stand for: it is not written again while they are visible.
// The walk keeps its own stack of tasks, as an else-if chain may nest thousands of regions.
#include <set>

#include "decoder.hpp"
#include "revet/signature.hpp"

namespace revet::interp {
namespace {

constexpr std::size_t most_instructions = std::size_t{1} << 24;  // see races.hpp

}  // namespace

Program Decoder::decode() {
  const Signature signature = signature_of(module_);
  for (const DramArray& array : signature.arrays) {
    arrays_[array.value] = static_cast<std::uint32_t>(program_.written.size());
    program_.written.push_back(false);  // until an op that writes it is met
  }
  const Op& main = *module_.find_func("main");
  program_.levels.emplace_back().op = &main;
  levels_.push_back(0);
  for (const auto& param : main.body().args()) program_.params.push_back(define(param.get()));
  if (main.region().size() > 1)
    decode_blocks(main);
  else
    run(Task{Task::ops, main.body().first()});
  for (Site& site : program_.sites) site.shared |= program_.levels[site.level].has_fork;
  return std::move(program_);
}

void Decoder::run(Task first) {
  tasks_.push_back(first);
  while (!tasks_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    step(task);
  }
}

void Decoder::step(const Task& task) {
  switch (task.what) {
    case Task::ops: decode_ops(task.op); break;
    case Task::if_else: {
      const std::uint32_t jump = emit(*task.op, {.code = Code::jump});
      program_.code[task.at].b = here();
      tasks_.push_back({Task::if_end, task.op, jump});
      tasks_.push_back({Task::ops, task.op->body(1).first()});
      break;
    }
    case Task::if_end: program_.code[task.at].a = here(); break;
    case Task::while_body: tasks_.push_back({Task::ops, task.op->body(1).first()}); break;
    case Task::while_end:
      if (loops_.back().exit != none) program_.code[loops_.back().exit].b = here();
      loops_.pop_back();
      break;
    case Task::foreach_end:
      program_.levels[levels_.back()].after = here();
      levels_.pop_back();
      break;
    case Task::call_end: calls_.pop_back(); break;
  }
}

void Decoder::decode_ops(const Op* op) {
  for (; op; op = op->next()) {
    if (!decode_op(*op)) continue;
    // The tasks of the op's regions were pushed; the ops after it come when they are done.
    const auto at = static_cast<std::ptrdiff_t>(first_region_task_);
    if (op->next()) tasks_.insert(tasks_.begin() + at, Task{Task::ops, op->next()});
    return;
  }
}

bool Decoder::decode_op(const Op& op) {
  using namespace ops;
  first_region_task_ = tasks_.size();
  const std::string_view name = op.name();
  if (name.starts_with("arith.")) return decode_arith(op), false;
  if (name.starts_with("mem.")) return decode_memory(op), false;
  if (op.is(thread_if)) return decode_if(op), true;
  if (op.is(thread_while)) return decode_while(op), true;
  if (op.is(thread_foreach)) return decode_foreach(op), true;
  if (op.is(thread_call)) return decode_call(op), true;
  if (op.is(thread_replicate)) {
    tasks_.push_back({Task::ops, op.body().first()});
    return true;
  }
  if (op.is(thread_yield)) return decode_yield(op), false;
  if (op.is(thread_condition)) return decode_condition(op), false;
  if (op.is(thread_return)) return decode_return(op), false;
  if (op.is(thread_exit)) return decode_exit(op), false;
  if (op.is(thread_fork)) {
    program_.levels[level()].has_fork = true;
    const Slot n = use(op.operand(0));
    emit(op, {.code = Code::fork,
              .kind = op.operand(0)->type().kind,
              .dst = define(op.result()),
              .a = n,
              .b = level()});
    return false;
  }
  unknown(op);
}

void Decoder::decode_if(const Op& op) {
  const std::uint32_t branch = emit(op, {.code = Code::branch_unless, .a = use(op.operand(0))});
  for (const auto& result : op.results()) define(result.get());
  tasks_.push_back({Task::if_else, &op, branch});
  tasks_.push_back({Task::ops, op.body(0).first()});
}

void Decoder::decode_while(const Op& op) {
  Moves moves;
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    const Slot source = use(op.operand(i));
    moves.emplace_back(define(op.body(0).arg(i)), source);
  }
  emit_moves(op, std::move(moves));
  loops_.push_back({here()});
  tasks_.push_back({Task::while_end, &op});
  tasks_.push_back({Task::while_body, &op});
  tasks_.push_back({Task::ops, op.body(0).first()});
}

void Decoder::decode_condition(const Op& op) {
  const Op& loop = *op.parent_op();
  loops_.back().exit = emit(op, {.code = Code::branch_unless, .a = use(op.operand(0))});
  for (unsigned i = 1; i < op.num_operands(); ++i) {
    const Slot value = use(op.operand(i));
    slots_[loop.body(1).arg(i - 1)] = value;
    slots_[loop.result(i - 1)] = value;
  }
}

LevelReduction Decoder::reduction(const Op& op, unsigned i, const Value& value) {
  const Attr* reduce = op.attr("reduce");
  const std::string* spelling = reduce && reduce->as_array() && i < reduce->as_array()->size()
                                    ? (*reduce->as_array())[i].as_string()
                                    : nullptr;
  if (!spelling) throw InternalError("'" + op.name() + "' has a value without a reduction");
  const Kind kind = value.type().kind;
  return {reduction_of(*spelling, kind), kind, none, none};
}

void Decoder::decode_foreach(const Op& op) {
  const auto id = static_cast<std::uint32_t>(program_.levels.size());
  ThreadLevel made;
  made.op = &op;
  made.kind = op.operand(0)->type().kind;
  made.lo = use(op.operand(0));
  made.hi = use(op.operand(1));
  made.step = use(op.operand(2));
  for (unsigned i = 0; i < op.num_results(); ++i) {
    made.reductions.push_back(reduction(op, i, *op.result(i)));
    made.reductions.back().result = define(op.result(i));
  }
  emit(op, {.code = Code::foreach_, .a = id});
  made.body = here();
  program_.levels.push_back(std::move(made));
  levels_.push_back(id);
  program_.levels[id].index = define(op.body().arg(0));
  tasks_.push_back({Task::foreach_end, &op});
  tasks_.push_back({Task::ops, op.body().first()});
}

void Decoder::decode_call(const Op& op) {
  const std::string& callee = op.str_attr("callee");
  const Op* func = module_.find_func(callee);
  if (!func) throw InternalError("thread.call of the unknown function '" + callee + "'");
  for (const Call& call : calls_)
    if (call.op->str_attr("callee") == callee)
      throw Error(Exit::program, op.loc(), "function '" + callee + "' calls itself");
  for (unsigned i = 0; i < op.num_operands(); ++i) slots_[func->body().arg(i)] = use(op.operand(i));
  calls_.push_back({&op, level()});
  tasks_.push_back({Task::call_end, &op});
  tasks_.push_back({Task::ops, func->body().first()});
}

/// Ends the thread. Its own function has closed what it opened; the functions that called it have
/// not: what they have open is closed here, the last opened first.
void Decoder::decode_exit(const Op& op) {
  for (auto call = calls_.rbegin(); call != calls_.rend() && call->level == level(); ++call) {
    std::set<const Value*> closed;
    for (const Op* at = call->op; at && !at->is(ops::thread_func) && !at->is(ops::thread_foreach);
         at = at->parent_op())
      for (const Op* before = at->prev(); before; before = before->prev()) {
        if (ops::closes_scope(*before)) closed.insert(before->operand(0));
        if (ops::opens_scope(*before) && closed.count(before->result()) == 0)
          emit(op, {.code = Code::close, .a = use(before->result())});
      }
  }
  emit(op, {.code = Code::end_thread, .a = level()});
}

void Decoder::decode_return(const Op& op) {
  if (calls_.empty()) {
    emit(op, {.code = Code::end_child, .a = level()});
  } else if (calls_.back().op->num_results() != 0) {
    slots_[calls_.back().op->result()] = use(op.operand(0));
  }
}

void Decoder::decode_yield(const Op& op) {
  using namespace ops;
  const Op& parent = *op.parent_op();
  if (parent.is(thread_foreach)) {
    ThreadLevel& ended = program_.levels[level()];
    for (unsigned i = 0; i < op.num_operands(); ++i)
      ended.reductions[i].contribution = use(op.operand(i));
    emit(op, {.code = Code::end_child, .a = level()});
    return;
  }
  Moves moves;
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    const Slot value = use(op.operand(i));
    if (parent.is(thread_replicate)) slots_[parent.result(i)] = value;
    if (parent.is(thread_if)) moves.emplace_back(use(parent.result(i)), value);
    if (parent.is(thread_while)) moves.emplace_back(use(parent.body(0).arg(i)), value);
  }
  emit_moves(op, std::move(moves));
  if (parent.is(thread_while)) emit(op, {.code = Code::jump, .a = loops_.back().head});
}

void Decoder::emit_moves(const Op& op, Moves moves) {
  std::erase_if(moves, [](const auto& move) { return move.first == move.second; });
  const auto is_source = [&](Slot slot) {
    for (const auto& move : moves)
      if (move.second == slot) return true;
    return false;
  };
  while (!moves.empty()) {
    bool progress = false;
    for (std::size_t i = 0; i < moves.size();) {
      if (is_source(moves[i].first)) {
        ++i;
        continue;
      }
      emit(op, {.code = Code::move, .dst = moves[i].first, .a = moves[i].second});
      moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(i));
      progress = true;
    }
    if (progress || moves.empty()) continue;
    // Only cycles are left: one value steps aside.
    const Slot aside = new_slot();
    const Slot held = moves.front().first;
    emit(op, {.code = Code::move, .dst = aside, .a = held});
    for (auto& move : moves)
      if (move.second == held) move.second = aside;
  }
}

std::uint32_t Decoder::emit(const Op& op, Instr instr) {
  if (program_.code.size() >= most_instructions)
    throw Error(Exit::unfinished, op.loc(), "the program is too large for the interpreter");
  program_.code.push_back(instr);
  program_.origin.push_back(&op);
  return here() - 1;
}

Program decode(const Module& module) { return Decoder(module).decode(); }

}  // namespace revet::interp
