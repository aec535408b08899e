#include "revet/plugin.hpp"

#include "interp.hpp"
#include "revet/abi.hpp"

namespace {

void register_interp(revet::Registry& registry) {
  registry.add_backend(revet::interp::backend());
  registry.add_warning("race");
}

}  // namespace

REVET_PLUGIN("revet-backend-interp", "Reference interpreter", register_interp)
