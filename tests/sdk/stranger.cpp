/// A pass outside the repository: counts the stores of a program.
#include <revet/abi.hpp>
#include <revet/ops.hpp>
#include <revet/plugin.hpp>

namespace {

void register_plugin(revet::Registry& registry) {
  revet::PassInfo info;
  info.id = "count-stores";
  info.summary = "Counts stores";
  info.options = {{"refuse", revet::OptionType::boolean, "false", "fail instead"}};
  info.run = [](revet::Module& module, revet::PassContext& context) -> revet::PassResult {
    if (context.options.boolean("refuse"))
      throw revet::Error(revet::Exit::program, "refused, as asked");
    revet::walk(module, [&](revet::Op& op) {
      if (op.is(revet::ops::mem_dram_store)) context.count("stores");
    });
    return revet::PassResult::of(false);
  };
  registry.add_pass(std::move(info));
}

}  // namespace

REVET_PLUGIN("stranger", "A plugin built against the installed package", register_plugin)
