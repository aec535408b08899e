/// Whether a view is written all over.
#pragma once

#include "revet/ops.hpp"

namespace revet {

/// Whether each valid element of a WriteView is written before it is stored, so that the buffer
/// need not be zeroed first: a foreach over all of them, whose threads write the element of their
/// index whatever they do.
bool is_written_all_over(const Op& open);

}  // namespace revet
