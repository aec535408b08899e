/// The backend that simulates mapped graphs cycle by cycle.
#pragma once

#include "revet/plugin.hpp"

namespace revet::vrda {

BackendInfo timed_backend();

}  // namespace revet::vrda
