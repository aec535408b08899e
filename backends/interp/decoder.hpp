/// Turns thread IR into flat code; internal to decode.cpp (threads, control flow, registers) and
/// decode_ops.cpp (arithmetic and memory), decode_cfg.cpp (basic blocks).
#pragma once

#include <string_view>
#include <unordered_map>

#include "program.hpp"
#include "revet/diagnostics.hpp"
#include "revet/ops.hpp"

namespace revet::interp {

class Decoder {
 public:
  explicit Decoder(const Module& module) : module_(module) {}

  Program decode();

 private:
  struct Task {
    enum What : std::uint8_t { ops, if_else, if_end, while_body, while_end, foreach_end, call_end };
    What what;
    const Op* op;
    std::uint32_t at = 0;  ///< instruction to patch
  };
  struct Loop {
    std::uint32_t head;
    std::uint32_t exit = none;  ///< the branch that leaves it
  };

  void run(Task first);
  void step(const Task& task);

  /// Decodes the ops from `op` to the end of its block; an op with regions puts the rest off.
  void decode_ops(const Op* op);

  /// True if tasks were pushed.
  bool decode_op(const Op& op);
  void decode_if(const Op& op);
  void decode_while(const Op& op);
  void decode_condition(const Op& op);
  void decode_foreach(const Op& op);
  /// Reduction i of `op`, of values like `value`.
  static LevelReduction reduction(const Op& op, unsigned i, const Value& value);
  void decode_call(const Op& op);
  void decode_exit(const Op& op);
  void decode_return(const Op& op);
  void decode_yield(const Op& op);
  void decode_arith(const Op& op);

  // --- functions of basic blocks ---

  void decode_blocks(const Op& func);
  void find_levels(const Region& region);
  void decode_terminator(const Op& op);
  /// Sets the arguments of a successor and goes there.
  void emit_edge(const Op& op, unsigned successor);

  /// The code of its own that a frequent operation has.
  static Code binary_code(Scalar op, Kind kind);
  void decode_cast(const Op& op);
  void decode_memory(const Op& op);
  void decode_element(const Op& op, Code load, Code store, Code atomic);
  void decode_open(const Op& op, Code code, Mode mode);
  bool is_shared(const Op& open) const;

  [[noreturn]] static void unknown(const Op& op) {
    throw Error(Exit::usage, op.loc(),
                "the interpreter has no meaning for the operation '" + op.name() + "'");
  }

  // --- registers ---

  std::uint32_t level() const { return levels_.back(); }
  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.code.size()); }

  Slot new_slot() {
    const auto slot = static_cast<Slot>(program_.registers.size());
    program_.registers.push_back(0);
    auto& ranges = program_.levels[level()].registers;
    if (!ranges.empty() && ranges.back().second == slot) {
      ++ranges.back().second;
    } else {
      ranges.emplace_back(slot, slot + 1);
    }
    return slot;
  }
  Slot define(const Value* value) { return slots_[value] = new_slot(); }
  /// A value without a register belongs to code that no thread reaches.
  Slot use(const Value* value) {
    const auto found = slots_.find(value);
    return found != slots_.end() ? found->second : define(value);
  }
  Slot constant(std::uint32_t bits) {
    const auto [found, fresh] = constants_.try_emplace(bits, 0);
    if (fresh) {
      found->second = static_cast<Slot>(program_.registers.size());
      program_.registers.push_back(bits);
    }
    return found->second;
  }
  std::uint32_t array(const Value* value) const {
    const auto found = arrays_.find(value);
    if (found == arrays_.end()) throw InternalError("an array that is no result of mem.dram");
    return found->second;
  }

  std::uint32_t emit(const Op& op, Instr instr);

  using Moves = std::vector<std::pair<Slot, Slot>>;  // destination, source
  /// All sources are read before any destination is written.
  void emit_moves(const Op& op, Moves moves);

  const Module& module_;
  Program program_;
  std::vector<Task> tasks_;
  std::size_t first_region_task_ = 0;
  std::vector<std::uint32_t> levels_;
  std::vector<Loop> loops_;
  struct Call {
    const Op* op;
    std::uint32_t level;  ///< of the thread that calls
  };
  std::vector<Call> calls_;  ///< around
  /// Of functions of basic blocks: level and first instruction of each block, jumps to patch.
  std::unordered_map<const Block*, std::uint32_t> block_levels_;
  std::unordered_map<const Block*, std::uint32_t> block_starts_;
  std::vector<std::pair<std::uint32_t, const Block*>> jumps_;
  std::vector<const Block*> block_order_;  ///< blocks behind those that dominate them
  std::unordered_map<const Op*, std::uint32_t> foreach_levels_;
  std::unordered_map<const Value*, Slot> slots_;
  std::unordered_map<const Value*, std::uint32_t> arrays_;
  std::unordered_map<std::uint32_t, Slot> constants_;
};

}  // namespace revet::interp
