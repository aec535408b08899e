/// Rules that a call graph decides: no recursion, and no fork while the caller's memory is open.
#include <fmt/core.h>

#include <algorithm>

#include "sema.hpp"

namespace revet {

void Sema::find_recursion(ast::Function* f) {
  FunctionFacts& facts = facts_.at(f);
  facts.state = FunctionFacts::active;
  f->may_end = (f->flow & ast::flow_exit) || facts.fork;
  call_path_.push_back(f);
  std::set<const ast::Function*> reported;
  for (const Call& c : facts.calls) {
    FunctionFacts& callee = facts_.at(c.callee);
    if (callee.state == FunctionFacts::unvisited) {
      find_recursion(c.callee);
    } else if (callee.state == FunctionFacts::active && reported.insert(c.callee).second) {
      auto first = std::find(call_path_.begin(), call_path_.end(), c.callee);
      std::string cycle = fmt::format("'{}' calls ", (*first)->name);
      for (auto it = first + 1; it < call_path_.end(); ++it)
        cycle += fmt::format("'{}', which calls ", (*it)->name);
      cycle += first + 1 == call_path_.end() ? "itself" : fmt::format("'{}'", (*first)->name);
      Diagnostic& d = error(c.loc, "functions cannot be recursive: " + cycle);
      for (auto it = first; it < call_path_.end(); ++it)
        d.note((*it)->loc, fmt::format("'{}' is declared here", (*it)->name));
    }
    if (c.own_thread && callee.fork && !facts.fork) facts.fork = callee.fork;
    if (c.own_thread && c.callee->may_end) f->may_end = true;
  }
  call_path_.pop_back();
  facts.state = FunctionFacts::done;
}

void Sema::check_calls() {
  for (ast::Item& item : ast_.items) {
    if (item.function && facts_.at(item.function).state == FunctionFacts::unvisited)
      find_recursion(item.function);
  }
  for (ast::Item& item : ast_.items) {
    if (!item.function) continue;
    for (const Call& c : facts_.at(item.function).calls) {
      const std::optional<Loc>& fork = facts_.at(c.callee).fork;
      if (!fork || c.open.empty()) continue;
      Diagnostic& d = error(
          c.loc, fmt::format("'{}' forks, which a thread cannot do while memory that it declared "
                             "is in scope",
                             c.callee->name));
      d.note(*fork, "the fork is here");
      for (const Symbol* m : c.open) {
        d.note(
            m->loc,
            fmt::format("the {} '{}' is declared here; declare it in an enclosing thread and fork "
                        "inside 'foreach (1)'",
                        ast::spelling(m->form), m->name));
      }
    }
  }
}

}  // namespace revet
