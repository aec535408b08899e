#include "revet/plugin.hpp"

#include "revet/abi.hpp"
#include "timed.hpp"
#include "untimed.hpp"

namespace {

void register_vrda(revet::Registry& registry) {
  registry.add_backend(revet::vrda::untimed_backend());
  registry.add_backend(revet::vrda::timed_backend());
}

}  // namespace

REVET_PLUGIN("revet-backend-vrda", "Simulation of streaming graphs, timed and untimed",
             register_vrda)
