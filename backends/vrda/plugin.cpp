#include "revet/plugin.hpp"

#include "revet/abi.hpp"
#include "untimed.hpp"

namespace {

void register_vrda(revet::Registry& registry) {
  registry.add_backend(revet::vrda::untimed_backend());
}

}  // namespace

REVET_PLUGIN("revet-backend-vrda-untimed", "Untimed execution of streaming graphs", register_vrda)
