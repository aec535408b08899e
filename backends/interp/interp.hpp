/// The reference interpreter as a backend; see README.md.
#pragma once

#include "revet/plugin.hpp"

namespace revet::interp {

BackendInfo backend();

}  // namespace revet::interp
