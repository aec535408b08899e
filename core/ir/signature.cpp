#include "revet/signature.hpp"

#include <algorithm>

#include "revet/diagnostics.hpp"
#include "revet/ops.hpp"

namespace revet {

namespace {

/// main, a function or a graph.
const Op& main_of(const Module& module) {
  for (Op& op : module.body())
    if ((op.is(ops::thread_func) || op.is(ops::flow_graph)) && op.str_attr("sym") == "main")
      return op;
  throw Error(Exit::program, "the program has no function 'main'");
}

std::vector<Param> params_of(const Op& main) {
  std::vector<Param> out;
  const Attr::Array& names = *main.attr("args")->as_array();
  const Attr* types = main.attr("types");
  for (unsigned i = 0; i < names.size(); ++i)
    out.push_back({*names[i].as_string(),
                   types ? *(*types->as_array())[i].as_type() : main.body().arg(i)->type()});
  return out;
}

}  // namespace

Signature signature_of(const Module& module) {
  Signature out;
  out.params = params_of(main_of(module));
  for (Op& op : module.body()) {
    if (!op.is(ops::mem_dram)) continue;
    out.arrays.push_back({op.str_attr("sym"), op.result()->type().element_type(), op.result(),
                          op.attr("size"), op.loc(), false});
  }
  walk(module, [&](Op& op) {
    std::vector<Effect> effects;
    const bool known = static_cast<bool>(op.info().effects);
    if (known) op.info().effects(op, effects);
    for (DramArray& array : out.arrays) {
      const bool writes = std::any_of(effects.begin(), effects.end(), [&](const Effect& e) {
        return (e.kind == Effect::write || e.kind == Effect::atomic) && e.memory == array.value;
      });
      // A plugin's op may write everything; a call does what its callee's own ops do.
      if (writes || (!known && !op.is(ops::thread_call))) array.written = true;
    }
  });
  return out;
}

}  // namespace revet
