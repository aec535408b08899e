/// From SSA to C++: which ops are written where their result is used, and which values share a
/// variable.
///
/// 1. inline.cpp: an op becomes part of its user's expression if that is its only use, stands in
/// the
///    same block, and nothing between them can change what the op reads. An `if` whose regions are
///    expressions is one itself (`&&`, `||`, `?:`).
/// 2. liveness.cpp: liveness by one backward walk. A structured loop keeps alive, all through it,
///    what it uses from outside; so no iteration to a fixed point is needed.
/// 3. The values that a loop or an `if` passes on are merged into one variable where no two of them
///    are alive at the same time with different contents; others are copied. So `if (c) n = n + 1;`
///    comes out as it was written.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapters.hpp"

namespace revet::openmp {

/// Types of C++ expressions; i64 is a loop's counter, whose value is that of the IR's index.
enum class C : std::uint8_t { boolean, i8, i16, i32, u8, u16, u32, i64, f32 };
C c_type(Type type);
const char* c_name(C type);

/// A C++ variable: one value, or several that never disturb each other.
struct Variable {
  Type type;
  std::string hint;             ///< the source's name; may be empty
  bool constant = false;        ///< defined once, by an op of its own block
  const Block* home = nullptr;  ///< block in whose C++ scope it is declared
  const Op* at = nullptr;       ///< the op of that block at which it is
  std::vector<const Value*> members;

  // While emitting:
  std::string name;  ///< empty until declared
  C held = C::i32;   ///< its C++ type
};

struct Plan {
  /// Ops that are part of an expression.
  std::unordered_map<const Op*, bool> inlined;
  /// `thread.if`s that are expressions, inlined or not.
  std::unordered_map<const Op*, bool> expressions;
  std::unordered_map<const Value*, Variable*> variables;
  std::vector<std::unique_ptr<Variable>> owned;
  /// Variables to declare before an op, though it is in the op's regions that they get a value.
  std::unordered_map<const Op*, std::vector<Variable*>> declared_at;
  /// Variables alive after a fork, in order of definition.
  std::unordered_map<const Op*, std::vector<Variable*>> alive_after;

  bool is_inlined(const Op& op) const { return inlined.count(&op) != 0; }
  bool is_expression_if(const Op& op) const { return expressions.count(&op) != 0; }
  Variable* variable(const Value* v) const {
    const auto it = variables.find(v);
    return it == variables.end() ? nullptr : it->second;
  }
};

/// Values that an op uses besides its operands: the bound of the loop that uses a view.
Value* extra_use(const Op& op, const Adapters& adapters);

void plan_expressions(const Op& main, const Adapters& adapters, Plan& plan);
void plan_variables(const Op& main, const Adapters& adapters, Plan& plan);

bool is_load(const Op& op);
/// A conversion that needs no C++ operator, since both types hold the value alike.
bool is_trivial_cast(const Op& op);

}  // namespace revet::openmp
