/// What the IR knows about a kind of op. Core ops and plugin ops are described alike; the printer,
/// parser, verifier and `revet ops` work from this alone.
#pragma once

#include <limits>
#include <optional>

#include "revet/ir.hpp"

namespace revet {

enum class Level : std::uint8_t { any, thread, cfg, flow, placed };
const char* level_name(Level level);
/// "thread or cfg".
std::string level_names(const std::vector<Level>& levels);

/// How many of something an op may have; `max` = many means no limit.
struct Count {
  static constexpr unsigned many = std::numeric_limits<unsigned>::max();
  unsigned min = 0;
  unsigned max = 0;
};
inline constexpr Count exactly(unsigned n) { return {n, n}; }
inline constexpr Count at_least(unsigned n) { return {n, Count::many}; }
inline constexpr Count between(unsigned a, unsigned b) { return {a, b}; }

enum class AttrKind : std::uint8_t { boolean, integer, number, string, type, array, any };

struct AttrSpec {
  std::string name;
  AttrKind kind;
  bool required = false;
  std::string help;
};

/// One access of an op to a memory. `memory` is the dram, sram, view or iter operand; null means
/// every memory.
struct Effect {
  enum Kind : std::uint8_t { read, write, atomic, allocate, release } kind;
  Value* memory = nullptr;
  Value* index = nullptr;  ///< element accessed; null where it is a range or unknown
};

/// Collects the messages of an op's own verify function.
class VerifyReport {
 public:
  virtual ~VerifyReport() = default;
  virtual void fail(const Op& op, std::string message) = 0;
};

/// Result of folding: per result either an existing value or a constant.
using Folded = std::vector<std::variant<Value*, Attr>>;

struct OpInfo {
  std::string name;     ///< with its dialect: "thread.while"
  std::string summary;  ///< one line
  Level level = Level::any;
  Count operands;
  Count results;
  Count regions;
  Count successors;
  std::vector<AttrSpec> attrs;
  bool terminator = false;
  /// Its regions hold ops in any order, without terminators (flow graphs).
  bool graph = false;
  /// Appends what the op itself (not its regions) does to memory. Absent: it is treated as reading
  /// and writing everything.
  std::function<void(const Op&, std::vector<Effect>&)> effects;
  /// True if it may end, wait for or split the thread (exit, fork, return); such an op is never
  /// moved or removed.
  bool control = false;
  std::function<void(const Op&, VerifyReport&)> verify;
  /// `constants[i]` is operand i's constant, or null. Must not change the IR.
  std::function<std::optional<Folded>(const Op&, std::span<const Attr* const> constants)> fold;
  /// Writes what the op does in other ops, in front of it, and gives one value per result; the
  /// caller then replaces the op. Ops that have it run on every backend (see expand_ops).
  std::function<std::vector<Value*>(Op&)> expand;
  std::string operand_help;  ///< "cond, inits..."
  std::string result_help;
};

/// True if the op (with everything in its regions) has no effect on memory or control, so that it
/// may be removed when unused and computed earlier or later.
bool is_pure(const Op& op);
/// The effects of the op with everything in its regions; nullopt where something in it is unknown.
std::optional<std::vector<Effect>> effects_of(const Op& op);

/// Replaces every op that has an `expand` hook, also those that an expansion makes; `keep` are
/// names of ops to leave alone. Gives the number of ops replaced. Throws InternalError where an
/// expansion gives values of other types than the op's, or does not end.
std::size_t expand_ops(Module& module, std::span<const std::string> keep = {});

/// Every op that is known: the core's and those of loaded plugins. Op ids are the OpInfos'
/// addresses, which stay valid until the process ends.
class OpRegistry {
 public:
  static OpRegistry& get();
  const OpInfo* find(std::string_view name) const;
  /// `info` must outlive the process's use of it (a static). False where another op has the name.
  bool add(const OpInfo& info, std::string origin);
  const std::string& origin(std::string_view name) const;
  /// In order of names.
  std::vector<const OpInfo*> all() const;
  /// Called with the name of an op that is not known, to load a plugin that provides it.
  std::function<void(std::string_view)> load_missing;

 private:
  OpRegistry();
  std::map<std::string, std::pair<const OpInfo*, std::string>, std::less<>> ops_;
};

}  // namespace revet
