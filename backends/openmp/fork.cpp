// Forks: a stack of pending threads per worker, never recursion. A fork to n pushes one record, the
// thread goes on as number 0, and whoever ends takes the next number off the top of the stack. A
// thread's variables are declared at its start, so that `goto` may enter its loops.
#include <algorithm>

#include "emitter.hpp"

namespace revet::openmp {

using namespace ops;

namespace {

void forks_of(const Block& block, std::vector<const Op*>& out) {
  for (const Op& op : block) {
    if (op.is(thread_fork)) out.push_back(&op);
    if (op.is(thread_foreach)) continue;
    for (const auto& region : op.regions()) forks_of(region->front(), out);
  }
}

/// True if a fork stands in one of the loops around `op` within its thread.
bool in_forking_loop(const Op& op) {
  for (const Op* at = op.parent_op(); at && !at->is(thread_foreach); at = at->parent_op()) {
    std::vector<const Op*> forks;
    if (!at->is(thread_while)) continue;
    for (const auto& region : at->regions()) forks_of(region->front(), forks);
    if (!forks.empty()) return true;
  }
  return false;
}

bool comes_before(const Op& a, const Op& b, const Block& block) {
  bool found = false, first = false;
  walk(block, [&](Op& op) {
    if (found) return;
    if (&op == &a || &op == &b) {
      found = true;
      first = &op == &a;
    }
  });
  return first;
}

}  // namespace

bool Emitter::has_forks(const Block& body) {
  std::vector<const Op*> forks;
  forks_of(body, forks);
  return !forks.empty();
}

/// Declares the stack of the threads of `op`, and the type of its records.
void Emitter::declare_stack(const Op& op) {
  ForkStack stack;
  forks_of(op.body(), stack.sites);
  for (const Op* site : stack.sites) {
    for (Variable* variable : plan_.alive_after.at(site)) {
      if (std::find(stack.saved.begin(), stack.saved.end(), variable) != stack.saved.end())
        continue;
      // What has one value all through the thread and its forks need not be saved.
      const Op* def = variable->members[0]->def();
      const Value* only = variable->members[0];
      const bool parameter = !def && (only->block() == &op.body());
      if (parameter || (variable->constant && def && !in_forking_loop(*def) &&
                        comes_before(*def, *stack.sites[0], op.body())))
        continue;
      stack.saved.push_back(variable);
    }
  }
  const std::string& name = op.is(thread_foreach) ? op.body().arg(0)->name() : "main";
  stack.record = "Pending_" + std::to_string(stacks_.size() + 1);
  Scopes fields;
  std::string text =
      "/// A fork of the threads of " + (name.empty() ? "a foreach" : "'" + name + "'") +
      " whose numbers next .. n-1 are still to run.\nstruct " + stack.record + " {\n";
  if (stack.sites.size() > 1) text += "  int32_t fork;\n";
  text += "  uint32_t next;\n  uint32_t n;\n";
  for (const char* own : {"fork", "next", "n"}) fields.declare(own);
  for (const Variable* variable : stack.saved) {
    stack.fields.push_back(fields.declare(variable->hint.empty() ? "t" : variable->hint));
    text += "  " + std::string(c_name(variable->held)) + " " + stack.fields.back() + ";\n";
  }
  records_ += text + "};\n\n";
  stack.name = scopes.declare("pending");
  code_.line("std::vector<" + stack.record + "> " + stack.name + ";");
  if (parallel_) parallel_->stacks.push_back(stack.name);
  stacks_[&op] = std::move(stack);
}

void Emitter::prepare_forks(const Op& op) { level().forks = has_forks(op.body()); }

void Emitter::fork(const Op& op) {
  const ForkStack& stack = stacks_.at(level().op);
  const auto site = std::find(stack.sites.begin(), stack.sites.end(), &op) - stack.sites.begin();
  Variable* number = plan_.variable(op.result());
  if (!op.result()->unused()) declare(*number, "");
  const bool is_signed = op.operand(0)->type().is_signed();
  code_.open("{" + comment(op));
  scopes.open();
  const std::string n = scopes.declare("n");
  code_.line("const " + std::string(is_signed ? "int32_t " : "uint32_t ") + n + " = " +
             as_number(op.operand(0)).text + ";");
  code_.open("if (" + n + (is_signed ? " <= 0" : " == 0") + ") {");
  exit_thread();
  code_.close();
  std::string record = "{";
  if (stack.sites.size() > 1) record += std::to_string(site + 1) + ", ";
  record += is_signed ? "1, static_cast<uint32_t>(" + n + ")" : "1, " + n;
  for (Variable* variable : stack.saved) {
    if (variable->name.empty()) declare(*variable, "");
    record += ", " + variable->name;
  }
  code_.line("if (" + n + " > 1) " + stack.name + ".push_back(" + record + "});");
  code_.line(threads_name + " += static_cast<uint64_t>(" + n + ") - 1;");
  if (!op.result()->unused()) code_.line(number->name + " = 0;");
  scopes.close();
  code_.close();
  level().resume[&op] = scopes.label("resume");
  code_.label(level().resume[&op]);
}

/// At the end of a thread: the next of the pending ones, if there is one.
void Emitter::resume_forks() {
  const ForkStack& stack = stacks_.at(level().op);
  const std::string& name = stack.name;
  code_.open("if (!" + name + ".empty()) {");
  scopes.open();
  const std::string top = scopes.declare("top");
  code_.line(stack.record + "& " + top + " = " + name + ".back();");
  for (std::size_t i = 0; i < stack.saved.size(); ++i)
    code_.line(stack.saved[i]->name + " = " + top + "." + stack.fields[i] + ";");
  const std::string number = scopes.declare("number");
  const bool all_used = std::none_of(stack.sites.begin(), stack.sites.end(),
                                     [](const Op* site) { return site->result()->unused(); });
  code_.line((all_used ? "" : "[[maybe_unused]] ") + std::string("const uint32_t ") + number +
             " = " + top + ".next++;");
  const bool several = stack.sites.size() > 1;
  const std::string which = several ? scopes.declare("which") : "";
  if (several) code_.line("const int32_t " + which + " = " + top + ".fork;");
  code_.line("if (" + top + ".next == " + top + ".n) " + name + ".pop_back();");
  for (std::size_t i = 0; i < stack.sites.size(); ++i) {
    const Op& site = *stack.sites[i];
    const bool last = i + 1 == stack.sites.size();
    if (!last) code_.open("if (" + which + " == " + std::to_string(i + 1) + ") {");
    if (!site.result()->unused()) {
      const Variable* variable = plan_.variable(site.result());
      code_.line(variable->name + " = " +
                 (variable->held == C::i32 ? "static_cast<int32_t>(" + number + ")" : number) +
                 ";");
    }
    code_.line("goto " + level().resume.at(&site) + ";");
    if (!last) code_.close();
  }
  scopes.close();
  code_.close();
}

}  // namespace revet::openmp
