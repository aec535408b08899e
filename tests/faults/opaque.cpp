/// An op of which nothing is known but its name: what it reads and writes is not declared, so that
/// nothing may be done to it.
#include <revet/abi.hpp>
#include <revet/op_info.hpp>
#include <revet/plugin.hpp>

#include "marker.hpp"

namespace {

const revet::OpInfo opaque = [] {
  revet::OpInfo info;
  info.name = "faulty.opaque";
  info.summary = "Does what nobody knows";
  info.level = revet::Level::thread;
  info.operands = revet::at_least(0);
  info.results = revet::between(0, 1);
  return info;
}();

void register_plugin(revet::Registry& registry) { registry.add_op(opaque); }

}  // namespace

REVET_PLUGIN("fault-opaque", "An op without declared effects", register_plugin)
