/// The backend `vrda-untimed`: runs flow graphs in random order, without time.
#pragma once

#include "revet/plugin.hpp"

namespace revet::vrda {

BackendInfo untimed_backend();

}  // namespace revet::vrda
