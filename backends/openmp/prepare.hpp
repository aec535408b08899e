/// Brings a module into the form that is emitted: no replicate, no unused computations, and the
/// number of elements that a loop uses of a view computed before the view.
#pragma once

#include "adapters.hpp"

namespace revet::openmp {

/// Changes `main`; what it finds out about views and iterators goes to `adapters`.
void prepare(Op& main, Adapters& adapters);

}  // namespace revet::openmp
