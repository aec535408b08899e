/// Sizes and alignments of what the public headers define. Compiled twice, with and without NDEBUG
/// (and the library's assertions); LAYOUT names the function.
#include <vector>

#include "revet/builder.hpp"
#include "revet/plugin.hpp"
#include "revet/ranges.hpp"
#include "revet/signature.hpp"
#include "revet/text.hpp"

namespace revet {

template <typename... T>
std::vector<std::size_t> sizes() {
  return {sizeof(T)..., alignof(T)...};
}

std::vector<std::size_t> LAYOUT() {
  return sizes<Attr, Use, Value, Region, Block, Block::Iterator, Op, Module, Cloning, Type, Loc,
               SourceManager, Count, AttrSpec, Effect, OpInfo, OpRegistry, Builder, OptionSpec,
               ParsedOption, OptionValues, Note, Diagnostic, Diagnostics, Error, InternalError,
               PassResult, PassContext, PassInfo, PropertyInfo, PredicateInfo, EmittedFile,
               BackendContext, RunResult, BackendInfo, Registry, RevetPlugin, ScalarArg, ArrayData,
               Launch, Signature, DramArray, Ranges, Range, PrintOptions>();
}

}  // namespace revet
