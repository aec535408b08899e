// foreach: loops, the parallel region around the outermost one, reductions.
#include <algorithm>
#include <utility>

#include "emitter.hpp"

namespace revet::openmp {

using namespace ops;

/// How one foreach is looped over.
struct Emitter::Loop {
  bool parallel = false;
  bool tree = false;  ///< a float reduction of more than one block
  std::string lo, hi, step;
  std::int64_t by = 0;  ///< the step, where it is constant and not 0
  std::string index;    ///< the loop's variable
  std::string count;    ///< of iterations, as an expression
  std::string ordinal;  ///< of the iteration, where it is counted
  std::string header;
  std::uint64_t enough = 0;      ///< iterations from which on a parallel region pays; 0: any number
  bool ordered_by_index = true;  ///< the index grows with the iterations
  std::vector<std::string> totals;  ///< per result: where blocks are added up
  std::vector<C> held;
};

namespace {

const std::string& reduction(const Op& op, unsigned i) {
  return *(*op.attr("reduce")->as_array())[i].as_string();
}

/// The C++ type in which a reduction is accumulated: sums and products wrap, so they are unsigned.
C accumulator_type(const std::string& spelling, Type t) {
  if (t.is_float()) return C::f32;
  if (t == type_i1) return C::boolean;
  if (spelling == "+" || spelling == "*") return C::u32;
  return t.is_signed() || t.bits() < 32 ? C::i32 : C::u32;
}

}  // namespace

std::string Emitter::identity(const Op& op, unsigned i, C type) {
  const Type t = op.result(i)->type();
  const std::uint32_t bits = reduction_of(reduction(op, i), t.kind).identity;
  const std::string& r = reduction(op, i);
  if (type == C::boolean) return bits != 0 ? "true" : "false";
  if (type == C::f32) {
    const float f = as_float(bits);
    return f == 0 ? "0.0f" : f == 1 ? "1.0f" : f < 0 ? "-INFINITY" : "INFINITY";
  }
  if (r == "min" || r == "max") {
    if (t == type_i32) return r == "min" ? "INT32_MAX" : "INT32_MIN";
    if (t == type_u32) return r == "min" ? "UINT32_MAX" : "0";
  }
  if (type == C::u32 && bits == ~0u) return "UINT32_MAX";
  return std::to_string(number_of(t.kind, bits));
}

std::string Emitter::combine(const std::string& r, const std::string& acc, const Expr& e, Type type,
                             C held) {
  const auto text = [&] {
    const bool int_like = held == C::i32 || held == C::u32;
    if (e.type == C::boolean && int_like) return convert(e, held).text;
    return e.type == C::i64 ? convert(e, C::u32).text : e.text;
  };
  if (r == "min" || r == "max")
    return acc + " = std::" + r + "(" + acc + ", " + convert(e, held).text + ");";
  if ((r == "+" || r == "*") && held == C::i32)
    return acc + " " + r + "= " + convert(e, C::u32).text + ";";
  if (r == "&&" || r == "||") return acc + (r == "&&" ? " &= " : " |= ") + e.text + ";";
  if (type.is_float() && r == "*") return acc + " *= " + e.text + ";";
  return acc + " " + r + "= " + text() + ";";
}

Emitter::Loop Emitter::prepare_loop(const Op& op) {
  Loop loop;
  const Value* lo = op.operand(0);
  const Value* hi = op.operand(1);
  const Value* step = op.operand(2);
  const std::string& name = op.body().arg(0)->name();
  const std::string wish = name.empty() ? "i" : name;
  const auto leaf = [&](const Value* v, const char* suffix) {
    const Expr e = as_number(v);
    const Op* def = v->def();
    if (!def || !plan_.is_inlined(*def) || def->is(arith_constant)) return e.text;
    const std::string bound = scopes.declare(v->name().empty() ? wish + suffix : v->name());
    code_.line("const " + std::string(c_name(e.type)) + " " + bound + " = " + e.text + ";");
    return bound;
  };
  loop.lo = leaf(lo, "_first");
  loop.hi = leaf(hi, "_end");
  loop.step = leaf(step, "_step");
  std::int64_t n = 0;
  if (is_constant(step, n)) loop.by = n;

  const Range low = ranges_.of(lo), high = ranges_.of(hi);
  const bool at_most_one = loop.by != 0 && (loop.by > 0 ? high.hi - low.lo : low.hi - high.lo) <=
                                               (loop.by > 0 ? loop.by : -loop.by);
  loop.parallel = !parallel_ && !at_most_one;
  loop.enough = worthwhile_iterations(op);
  std::int64_t first = 0, end = 0;
  if (is_constant(lo, first) && is_constant(hi, end) && loop.by != 0) {
    const auto bits = [](const Value* v) { return constant_bits(*constant_op(v)); };
    const std::uint64_t trips = trip_count(lo->type().kind, bits(lo), bits(hi), bits(step));
    loop.count = std::to_string(trips);
    if (trips < loop.enough) loop.parallel = false;
    loop.enough = 0;
  } else {
    loop.count = "revet::trip_count(" + loop.lo + ", " + loop.hi + ", " + loop.step + ")";
  }
  const auto magnitude = loop.by > 0 ? loop.by : -loop.by;
  const bool short_ = loop.by != 0 && (loop.by > 0 ? high.hi - low.lo : low.hi - high.lo) <=
                                          magnitude * std::int64_t{reduction_block};
  for (const auto& r : op.results())
    if (!r->unused() && r->type().is_float()) loop.tree = loop.parallel || !short_;
  return loop;
}

/// Opens the accumulators of the results that are used.
void Emitter::begin_accumulators(const Op& op, Loop& loop) {
  for (unsigned i = 0; i < op.num_results(); ++i) {
    const Value* result = op.result(i);
    loop.held.push_back(accumulator_type(reduction(op, i), result->type()));
    loop.totals.emplace_back();
    if (result->unused()) continue;
    Variable* variable = plan_.variable(result);
    const C held = loop.held.back();
    const bool narrow =
        result->type().is_integer() && result->type().bits() < 32 && held != C::boolean;
    const bool own = variable->members.size() == 1 && variable->name.empty() && !level().forks;
    if (own && !narrow) variable->held = held;
    if (variable->held == held && !narrow) {
      declare(*variable, identity(op, i, held));
      loop.totals[i] = variable->name;
    } else {
      const std::string hint = variable->hint.empty() ? "total" : variable->hint;
      loop.totals[i] = scopes.declare(hint + "_total");
      code_.line(std::string(c_name(held)) + " " + loop.totals[i] + " = " + identity(op, i, held) +
                 ";");
    }
  }
}

/// Gives the results their values.
void Emitter::finish_accumulators(const Op& op, Loop& loop) {
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (loop.totals[i].empty()) continue;
    Variable* variable = plan_.variable(op.result(i));
    if (variable->name == loop.totals[i]) continue;
    const bool narrow =
        c_type(op.result(i)->type()) != loop.held[i] && op.result(i)->type().bits() < 32;
    declare(*variable, narrow ? std::string(c_name(variable->held)) + "(" + loop.totals[i] + ")"
                              : loop.totals[i]);
  }
}

void Emitter::loop_header(const Op& op, Loop& loop) {
  const Value* arg = op.body().arg(0);
  const std::string wish = arg->name().empty() ? "i" : arg->name();
  Variable* variable = plan_.variable(arg);
  variable->held = C::i64;
  variable->name = scopes.declare(wish);
  loop.index = variable->name;
  const std::string& i = loop.index;
  if (loop.by == 1)
    loop.header =
        "for (int64_t " + i + " = " + loop.lo + "; " + i + " < " + loop.hi + "; ++" + i + ")";
  else if (loop.by > 0)
    loop.header = "for (int64_t " + i + " = " + loop.lo + "; " + i + " < " + loop.hi + "; " + i +
                  " += " + std::to_string(loop.by) + ")";
  else if (loop.by < 0)
    loop.header = "for (int64_t " + i + " = " + loop.lo + "; " + i + " > " + loop.hi + "; " + i +
                  " -= " + std::to_string(-loop.by) + ")";
  loop.ordered_by_index = loop.by > 0;
  if (loop.by != 0) return;
  loop.ordinal = scopes.declare("k");
  loop.header = "for (int64_t " + loop.ordinal + " = 0; " + loop.ordinal + " < " + loop.count +
                "; ++" + loop.ordinal + ")";
}

bool Emitter::fails(const Op& op) const {
  bool found = false;
  walk(const_cast<Op&>(op), [&](Op& inner) {
    std::int64_t step = 0;
    if (inner.flag("checked") || inner.is(mem_iter_next_last)) found = true;
    if (inner.is(mem_iter_next) && inner.operand(0)->def()->is(mem_manual_write_it)) found = true;
    if (&inner != &op && inner.is(thread_foreach) &&
        (!is_constant(inner.operand(2), step) || step == 0))
      found = true;
  });
  return found;
}

/// Straight-line code on memory that other iterations do not wait for.
bool Emitter::can_use_simd(const Op& op) const {
  for (unsigned i = 0; i < op.num_results(); ++i)
    if (op.result(i)->type().is_float() && !op.result(i)->unused()) return false;
  for (const Op& inner : op.body()) {
    if (plan_.is_inlined(inner) || plan_.is_expression_if(inner) || is_pure(inner)) continue;
    if (inner.is(thread_yield)) continue;
    const bool access =
        is_load(inner) ||
        ((inner.is(mem_dram_store) || inner.is(mem_sram_store) || inner.is(mem_view_store)) &&
         !inner.flag("checked"));
    if (!access) return false;
  }
  return true;
}

void Emitter::foreach (const Op& op) {
  const bool braces = level().forks;
  if (braces) {
    code_.open("{");
    scopes.open();
  }
  std::int64_t step = 0;
  if (!is_constant(op.operand(2), step) || step == 0) {
    const Expr e = as_number(op.operand(2));
    code_.open("if (" + (e.prec < Prec::equality ? "(" + e.text + ")" : e.text) + " == 0) {");
    raise(op, "step_is_zero", "", "");
    code_.close();
  }
  Loop loop = prepare_loop(op);
  if (loop.tree || loop.by == 0 || (loop.parallel && loop.by < 64 && loop.by > -64)) {
    std::int64_t n = 0;
    const bool constant =
        loop.by != 0 && is_constant(op.operand(0), n) && is_constant(op.operand(1), n);
    if (!constant) {
      const std::string& index = op.body().arg(0)->name();
      const std::string count = scopes.declare((index.empty() ? "i" : index) + "_count");
      code_.line("const int64_t " + count + " = " + loop.count + ";");
      loop.count = count;
    }
  }
  code_.line(threads_name + " += " + loop.count + ";");
  begin_accumulators(op, loop);
  declare_before(op);
  if (!parallel_ && !loop.parallel && has_forks(op.body())) declare_stack(op);
  if (loop.parallel)
    parallel_loop(op, loop);
  else if (loop.tree)
    float_loop(op, loop);
  else
    plain_loop(op, loop);
  finish_accumulators(op, loop);
  if (braces) {
    scopes.close();
    code_.close();
  }
}

/// The loop itself, with accumulators in loop.totals.
void Emitter::plain_loop(const Op& op, Loop& loop) {
  scopes.open();
  loop_header(op, loop);
  if (loop.parallel) {
    open_region(op, loop);
  } else if (can_use_simd(op)) {
    code_.pragma("omp simd" + clauses(op, loop));
  }
  code_.open(loop.header + " {" + comment(op));
  if (loop.parallel) begin_iteration(loop);
  child(op, loop);
  if (loop.parallel) end_iteration();
  code_.close();
  if (loop.parallel) close_region();
  scopes.close();
}

/// One child: the body of the C++ loop.
void Emitter::child(const Op& op, Loop& loop) {
  if (!loop.ordinal.empty() && loop.ordinal != loop.index && !op.body().arg(0)->unused()) {
    const std::string by =
        loop.by == 1 ? "" : " * " + (loop.by != 0 ? std::to_string(loop.by) : loop.step);
    code_.line("const int64_t " + loop.index + " = " + (loop.lo == "0" ? "" : loop.lo + " + ") +
               loop.ordinal + by + ";");
  }
  Level made;
  made.op = &op;
  made.parallel = parallel_.has_value();
  made.accumulators = loop.totals;
  levels_.push_back(std::move(made));
  prepare_forks(op);
  level().plain_end = !level().forks;

  Code outer = std::exchange(code_, code_.nested());
  scopes.open();
  level().scope = scopes.depth();
  block(op.body());
  scopes.close();
  const Code body = std::exchange(code_, std::move(outer));
  const bool braces = !level().end_label.empty() || level().forks;
  for (const std::string& declaration : level().declarations) code_.line(declaration);
  if (braces && !level().forks) {
    code_.line("{");
    code_.append_nested(body);
    code_.line("}");
  } else {
    code_.append(body);
  }
  if (!level().end_label.empty()) code_.label(level().end_label);
  if (level().forks) resume_forks();
  levels_.pop_back();
}

/// Adds a child's value to the accumulators.
void Emitter::contribute(const Op& yield) {
  const Op& op = *yield.parent_op();
  for (unsigned i = 0; i < op.num_results(); ++i) {
    const std::string& total = level().accumulators[i];
    if (total.empty()) continue;
    const Type t = op.result(i)->type();
    const C held = accumulator_type(reduction(op, i), t);
    const Value* v = yield.operand(i);
    const bool number = reduction(op, i) == "min" || reduction(op, i) == "max";
    code_.line(combine(reduction(op, i), total, number ? as_number(v) : value(v), t, held));
  }
}

/// Blocks of iterations are added up, then the blocks' results, in order.
void Emitter::float_loop(const Op& op, Loop& loop) {
  const std::string wish = op.body().arg(0)->name().empty() ? "i" : op.body().arg(0)->name();
  const std::vector<std::string> totals = loop.totals;
  const std::string size = std::to_string(reduction_block);
  code_.open("{");
  scopes.open();
  const std::string& count = loop.count;
  std::vector<std::string> blocks(totals.size());
  if (loop.parallel)
    for (unsigned i = 0; i < totals.size(); ++i)
      if (!totals[i].empty() && loop.held[i] == C::f32) {
        blocks[i] = scopes.declare(totals[i] + "_blocks");
        code_.line("std::vector<float> " + blocks[i] + "(static_cast<size_t>((" + count + " + " +
                   std::to_string(reduction_block - 1) + ") / " + size + "));");
      }
  scopes.open();
  const std::string block = scopes.declare("block");
  if (loop.parallel) open_region(op, loop);
  code_.open("for (int64_t " + block + " = 0; " + block + " < " + count + "; " + block +
             " += " + size + ") {");
  for (unsigned i = 0; i < totals.size(); ++i)
    if (!totals[i].empty() && loop.held[i] == C::f32) {
      loop.totals[i] = scopes.declare(totals[i] + "_block");
      code_.line("float " + loop.totals[i] + " = " + identity(op, i, C::f32) + ";");
    }
  const std::string end = scopes.declare("block_end");
  code_.line("const int64_t " + end + " = std::min<int64_t>(" + block + " + " + size + ", " +
             count + ");");
  scopes.open();
  Variable* variable = plan_.variable(op.body().arg(0));
  variable->held = C::i64;
  variable->name = loop.index = scopes.declare(wish);
  loop.ordinal = loop.lo == "0" && loop.by == 1 ? loop.index : scopes.declare("k");
  code_.open("for (int64_t " + loop.ordinal + " = " + block + "; " + loop.ordinal + " < " + end +
             "; ++" + loop.ordinal + ") {" + comment(op));
  if (loop.parallel) begin_iteration(loop);
  child(op, loop);
  if (loop.parallel) end_iteration();
  code_.close();
  scopes.close();
  for (unsigned i = 0; i < totals.size(); ++i) {
    if (totals[i].empty() || loop.held[i] != C::f32) continue;
    const Expr e{loop.totals[i], Prec::postfix, C::f32};
    if (loop.parallel)
      code_.line(blocks[i] + "[static_cast<size_t>(" + block + " / " + size +
                 ")] = " + loop.totals[i] + ";");
    else
      code_.line(combine(reduction(op, i), totals[i], e, op.result(i)->type(), C::f32));
  }
  code_.close();
  if (loop.parallel) close_region();
  scopes.close();
  for (unsigned i = 0; i < totals.size(); ++i)
    if (!blocks[i].empty()) {
      scopes.open();
      const std::string part = scopes.declare("part");
      code_.line("for (const float " + part + " : " + blocks[i] + ") " +
                 combine(reduction(op, i), totals[i], {part, Prec::postfix, C::f32},
                         op.result(i)->type(), C::f32));
      scopes.close();
    }
  scopes.close();
  code_.close();
  loop.totals = totals;
}

/// What every iteration of the parallel loop begins and ends with, where it may fail.
void Emitter::begin_iteration(const Loop& loop) {
  if (parallel_->failure.empty()) return;
  parallel_->iteration = !loop.ordinal.empty()   ? loop.ordinal
                         : loop.ordered_by_index ? loop.index
                                                 : "-" + loop.index;
  code_.line("if (" + parallel_->failure + ".before(" + parallel_->iteration + ")) continue;");
  parallel_->failed_label = scopes.label("failed");
  code_.open("{");
}

void Emitter::end_iteration() {
  if (parallel_->failure.empty()) return;
  code_.close();
  if (parallel_->jumps) code_.label(parallel_->failed_label);
  for (const std::string& stack : parallel_->stacks) code_.line(stack + ".clear();");
}

/// Reduction clauses: integers by operator. Floats are added up in blocks instead.
std::string Emitter::clauses(const Op& op, const Loop& loop) const {
  std::map<std::string, std::string> reductions;
  const auto add = [&](const std::string& r, const std::string& name) {
    std::string& names = reductions[r];
    names += (names.empty() ? "" : ", ") + name;
  };
  for (unsigned i = 0; i < op.num_results(); ++i)
    if (!loop.totals[i].empty() && loop.held[i] != C::f32) add(reduction(op, i), loop.totals[i]);
  if (loop.parallel && counts_threads(op)) add("+", threads_name);
  std::string text;
  for (const auto& [r, names] : reductions) text += " reduction(" + r + " : " + names + ")";
  return text;
}

/// True if the children of `op` start or become further threads.
bool Emitter::counts_threads(const Op& op) {
  bool found = false;
  walk(op.region(), [&](Op& inner) {
    if (inner.is(thread_foreach) || inner.is(thread_fork)) found = true;
  });
  return found;
}

/// Iterations that take longer than starting a parallel region does. One that loops itself does.
std::uint64_t Emitter::worthwhile_iterations(const Op& op) {
  constexpr std::uint64_t operations = 16384;
  std::uint64_t size = 1;
  bool loops = false;
  walk(op.region(), [&](Op& inner) {
    ++size;
    if (inner.is(thread_while) || inner.is(thread_foreach) || inner.is(thread_fork)) loops = true;
  });
  return loops ? 0 : operations / size;
}

/// The pragmas of the parallel loop that is written next.
void Emitter::open_region(const Op& op, Loop& loop) {
  uses_workers_ = true;
  std::string schedule = " schedule(dynamic)";
  if (!loop.tree && (loop.by == 0 || (loop.by < 64 && loop.by > -64))) {
    schedule = " schedule(dynamic, revet::chunk_size(" + loop.count + ", " + workers_name + "))";
  }
  std::vector<const Op*> forking;
  walk(const_cast<Op&>(op), [&](Op& inner) {
    if (inner.is(thread_foreach) && has_forks(inner.body())) forking.push_back(&inner);
  });
  std::string workers = " num_threads(" + workers_name + ")";
  if (loop.enough > 1) workers += " if(" + loop.count + " >= " + std::to_string(loop.enough) + ")";
  if (forking.empty()) {
    code_.pragma("omp parallel for" + workers + schedule + clauses(op, loop));
    return;
  }
  // Workers have stacks of their own; the loop is shared out inside the region.
  code_.pragma("omp parallel" + workers);
  code_.open("{");
  for (const Op* inner : forking) declare_stack(*inner);
  code_.pragma("omp for" + schedule + clauses(op, loop));
  parallel_->region = true;
}

void Emitter::close_region() {
  if (parallel_->region) code_.close();
}

void Emitter::parallel_loop(const Op& op, Loop& loop) {
  parallel_.emplace();
  parallel_->op = &op;
  if (fails(op)) {
    parallel_->failure = scopes.declare("failure");
    code_.line("revet::Failure " + parallel_->failure + ";");
  }
  if (loop.tree)
    float_loop(op, loop);
  else
    plain_loop(op, loop);
  const std::string failure = parallel_->failure;
  parallel_.reset();
  if (!failure.empty())
    code_.line("if (" + failure + ") return " + failure + ".finish(" + context_name + ");");
}

}  // namespace revet::openmp
