/// Executes a decoded program, one thread after another.
#pragma once

#include "memory.hpp"
#include "order.hpp"
#include "program.hpp"
#include "races.hpp"

namespace revet::interp {

struct MachineOptions {
  std::uint64_t seed = 0;       ///< 0: threads in the order of their indices
  std::uint64_t max_steps = 0;  ///< 0: no limit
};

class Machine {
 public:
  /// `races` may be null.
  Machine(const Program& program, Launch& launch, const MachineOptions& options, Races* races);
  void run();
  std::uint64_t threads() const { return threads_; }

 private:
  /// Threads of a fork that have not run yet. Their registers lie on `Activation::saved`.
  struct Pending {
    std::uint64_t next;
    std::uint64_t count;
    Order order;
    std::uint32_t at;  ///< where they go on
    Slot index;
    Races::Mark mark;
  };
  /// A foreach under way.
  struct Activation {
    std::uint64_t started = 0;
    std::uint64_t count = 0;
    std::uint64_t child = 0;  ///< iteration of the child that runs
    std::uint32_t lo = 0;
    std::uint32_t step = 0;
    Order order;
    Races::Mark mark;
    std::vector<Pending> pending;
    std::vector<std::uint32_t> saved;
    /// Per reduction its total, for floats one for each block of iterations.
    std::vector<std::vector<std::uint32_t>> totals;
  };

  std::uint32_t start_foreach(std::uint32_t level, std::uint32_t place);
  std::uint32_t fork(const Instr& instr, std::uint32_t next);
  void contribute(std::uint32_t level);
  std::uint32_t end_thread(std::uint32_t level);
  void start_child(std::uint32_t level);
  void resume(std::uint32_t level);
  void finish(std::uint32_t level);

  std::uint32_t atomic(const Instr& instr, std::uint32_t old) const;
  std::int64_t index(const Instr& instr) const {
    const std::uint32_t bits = registers_[instr.b];
    return (instr.flags & Instr::signed_index) ? std::int64_t{static_cast<std::int32_t>(bits)}
                                               : std::int64_t{bits};
  }
  void dram(const Instr& instr, std::uint32_t place);
  void on_chip(const Instr& instr, std::uint32_t place);
  void bulk(const Instr& in, std::uint32_t place);
  void iterate(const Instr& instr, std::uint32_t place);
  Order order(std::uint64_t n);

  const Program& program_;
  const MachineOptions options_;
  Races* races_;
  Memory memory_;
  std::vector<std::uint32_t> registers_;
  std::vector<Activation> activations_;  ///< per level
  std::uint64_t threads_ = 0;
  std::uint64_t random_;
};

}  // namespace revet::interp
