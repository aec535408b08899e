/// Plugins with nothing wrong in themselves: FAULT_NAME, with the pass FAULT_PASS. Each has a
/// global function `helper` that gives another number, as two authors might have by chance.
#include <revet/abi.hpp>
#include <revet/plugin.hpp>

#include "marker.hpp"

__attribute__((visibility("default"), noinline)) int helper() { return FAULT_HELPER; }

namespace {

void register_plugin(revet::Registry& registry) {
  revet::PassInfo info;
  info.id = FAULT_PASS;
  info.summary = "Counts what its helper gives";
  info.run = [](revet::Module&, revet::PassContext& context) {
    context.count("helper", helper());
    return revet::PassResult::of(false);
  };
  registry.add_pass(std::move(info));
}

}  // namespace

REVET_PLUGIN(FAULT_PLUGIN, "A plugin with nothing wrong in itself", register_plugin)
