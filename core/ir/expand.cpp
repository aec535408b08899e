/// Replaces ops that plugins bring by what their `expand` hooks write in front of them.
#include <fmt/format.h>

#include <algorithm>

#include "revet/diagnostics.hpp"
#include "revet/op_info.hpp"

namespace revet {
namespace {

/// Expansions that were made by expansions of expansions ..; an op that expands into itself reaches
/// it.
constexpr unsigned max_rounds = 100;

void expand(Op& op) {
  const std::vector<Value*> values = op.info().expand(op);
  const auto broken = [&](const std::string& why) {
    return InternalError(fmt::format("the expansion of op '{}' (plugin {}) {}", op.name(),
                                     OpRegistry::get().origin(op.name()), why));
  };
  if (values.size() != op.num_results())
    throw broken(fmt::format("gives {} values for {} results", values.size(), op.num_results()));
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (values[i]->type() != op.result(i)->type())
      throw broken(fmt::format("gives a value of type {} for a result of type {}",
                               values[i]->type().str(), op.result(i)->type().str()));
    if (values[i]->name().empty()) values[i]->set_name(op.result(i)->name());
    op.result(i)->replace_all_uses_with(values[i]);
  }
  op.erase();
}

}  // namespace

std::size_t expand_ops(Module& module, std::span<const std::string> keep) {
  std::size_t replaced = 0;
  for (unsigned round = 0; round < max_rounds; ++round) {
    std::vector<Op*> found;
    walk(module, [&](Op& op) {
      if (op.info().expand && std::find(keep.begin(), keep.end(), op.name()) == keep.end())
        found.push_back(&op);
    });
    if (found.empty()) return replaced;
    // Inner ops come after the ops around them, so that none is erased before its turn.
    for (auto op = found.rbegin(); op != found.rend(); ++op) expand(**op);
    replaced += found.size();
  }
  throw InternalError("the expansions of plugin ops do not end: an op expands into itself");
}

}  // namespace revet
