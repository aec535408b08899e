/// What a context computes for one thread: straight-line code on registers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "revet/scalar.hpp"

namespace revet::sim {

/// Built once, in order: inputs, then constants, operations and outputs in any order.
class Program {
 public:
  using Register = std::uint16_t;

  /// One register per input of the context; void inputs have one too, whose content is 0.
  explicit Program(std::vector<Kind> inputs);
  Program() : Program(std::vector<Kind>{}) {}

  Register input(std::size_t i) const { return static_cast<Register>(i); }
  Register constant(Kind kind, std::uint32_t bits);
  /// A binary operation or comparison on operands of one kind.
  Register op(Scalar op, Register a, Register b);
  /// neg, abs, popcount, clz, ctz.
  Register op(Scalar op, Register a);
  Register select(Register condition, Register a, Register b);
  Register cast(Kind to, Register a);
  /// A part of a word, or the word with a part replaced by the value.
  Register extract(Kind to, Register word, unsigned lo);
  Register insert(Register word, Register value, unsigned lo);
  void output(Register value) { outputs_.push_back(value); }
  void output_void() { outputs_.push_back(no_register); }

  std::size_t input_count() const { return inputs_; }
  std::size_t output_count() const { return outputs_.size(); }
  std::size_t register_count() const { return kinds_.size(); }
  Kind kind(Register r) const { return kinds_[r]; }
  Kind output_kind(std::size_t i) const {
    return outputs_[i] == no_register ? Kind::none : kinds_[outputs_[i]];
  }

  /// Register contents before the first run: constants, and 0 elsewhere.
  const std::vector<std::uint32_t>& initial() const { return initial_; }
  /// Executes on registers whose inputs are set.
  void run(std::uint32_t* registers) const;
  /// The same for several threads at once: register r of lane k is at r * 16 + k; constants are in
  /// every lane (see initial_lanes). Up to 16 lanes.
  void run_lanes(std::uint32_t* registers, unsigned lanes) const;
  std::vector<std::uint32_t> initial_lanes() const;
  /// The lanes of an output; null for a void.
  const std::uint32_t* lanes(std::size_t i, const std::uint32_t* registers) const {
    return outputs_[i] == no_register ? nullptr : registers + std::size_t{outputs_[i]} * 16;
  }
  std::uint32_t output(std::size_t i, const std::uint32_t* registers) const {
    return outputs_[i] == no_register ? 0 : registers[outputs_[i]];
  }

 private:
  static constexpr Register no_register = 0xFFFF;
  enum class Shape : std::uint8_t { binary, unary, select, cast, extract, insert };
  struct Instruction {
    Shape shape;
    Scalar op;
    Kind kind;                 ///< of the operands
    Kind to;                   ///< of the result
    Register result, a, b, c;  ///< c of parts: the lowest bit
  };

  Register add_register(Kind kind, std::uint32_t bits);
  Register add(Instruction instruction);

  std::size_t inputs_;
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> initial_;
  std::vector<Instruction> code_;
  std::vector<Register> outputs_;
};

}  // namespace revet::sim
