/// What the tables of core ops share: the frame of an entry and small checks.
#pragma once

#include "revet/diagnostics.hpp"
#include "revet/ops.hpp"

namespace revet::ops {

using Effects = std::function<void(const Op&, std::vector<Effect>&)>;
using Verify = std::function<void(const Op&, VerifyReport&)>;

inline void no_effects(const Op&, std::vector<Effect>&) {}

inline void expect(bool ok, const Op& op, VerifyReport& report, const char* message) {
  if (!ok) report.fail(op, message);
}

inline bool is_index(Type t) { return t == type_i32 || t == type_u32; }

inline OpInfo make(const char* name, const char* summary, Level level, Count operands,
                   Count results, const char* operand_help, const char* result_help) {
  OpInfo info;
  info.name = name;
  info.summary = summary;
  info.level = level;
  info.operands = operands;
  info.results = results;
  info.operand_help = operand_help;
  info.result_help = result_help;
  info.effects = no_effects;
  return info;
}

}  // namespace revet::ops
