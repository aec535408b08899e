/// Words in place of their parts.
#pragma once

#include "revet/plugin.hpp"

namespace revet {

/// Words through ifs and out of replicate regions. Where an arm of an if gives a part of a word
/// back as it was, and other parts of the word are read behind the if, the word itself comes out of
/// it, with the other arm's value in that place: one value crosses the merge instead of two. True
/// if something changed.
bool carry_words(Module& module, PassContext& context);

}  // namespace revet
