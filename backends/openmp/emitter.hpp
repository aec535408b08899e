/// Writes one function of C++ from the thread IR. One class, its parts in several files:
/// expressions.cpp (values), statements.cpp (blocks, if, while, copies), foreach.cpp (loops and
/// reductions), fork.cpp (pending threads), memory.cpp (arrays, SRAM, views, iterators, checks),
/// emit.cpp (the files around it).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "names.hpp"
#include "plan.hpp"
#include "revet/diagnostics.hpp"
#include "revet/scalar.hpp"
#include "revet/signature.hpp"

namespace revet::openmp {

/// Binding strength of C++ operators, weakest first.
enum class Prec : std::uint8_t {
  conditional,
  logical_or,
  logical_and,
  bit_or,
  bit_xor,
  bit_and,
  equality,
  relational,
  shift,
  additive,
  multiplicative,
  unary,
  postfix
};

/// An expression that stands for an IR value.
///
/// Of a 32-bit integer the C++ type may be either signedness: the bits count, modulo 2^32, and who
/// needs the number asks for it. A narrower type, or i64, has the number itself.
struct Expr {
  std::string text;
  Prec prec = Prec::postfix;
  C type = C::i32;
  bool literal = false;
  std::int64_t number = 0;  ///< of an integer literal
};

/// Lines of code.
class Code {
 public:
  void line(const std::string& text);
  /// A line that ends in `{`, and the end of its block.
  void open(const std::string& text);
  void close(const std::string& text = "}");
  /// At the margin, but for one step.
  void label(const std::string& text);
  void pragma(const std::string& text);
  void append(const Code& code);
  /// One step deeper.
  void append_nested(const Code& code);
  void append_text(const std::string& text) { text_ += text; }
  void open_silently() { ++depth_; }
  void close_and_open(const std::string& text) {
    close(text);
    ++depth_;
  }
  Code nested() const;
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  unsigned depth() const { return depth_; }
  std::size_t lines() const { return lines_; }

 private:
  std::string text_;
  unsigned depth_ = 1;
  std::size_t lines_ = 0;
};

/// The type of an array's elements in memory.
std::string element_name(Type element);

/// The threads of one foreach, or main.
struct Level {
  const Op* op = nullptr;
  bool parallel = false;   ///< runs inside a parallel region
  bool forks = false;      ///< then variables are declared at the thread's start, for gotos
  std::size_t scope = 1;   ///< depth of the scope of its body
  unsigned loops = 0;      ///< C++ loops around the place, within the thread's body
  bool plain_end = false;  ///< `continue` ends a thread
  std::string end_label;   ///< where a thread ends; empty until used
  std::map<const Op*, std::string> resume;  ///< labels behind the forks
  std::vector<std::string> declarations;
  std::vector<std::string> accumulators;  ///< per result; empty where the result is unused
};

/// Pending threads of one foreach, or of main.
struct ForkStack {
  std::string name;
  std::string record;               ///< type of its elements
  std::vector<const Op*> sites;     ///< the forks
  std::vector<Variable*> saved;     ///< what a pending thread keeps
  std::vector<std::string> fields;  ///< where it does
};

/// The parallel loop around the place.
struct Parallel {
  const Op* op = nullptr;
  std::string failure;  ///< empty until used
  std::string failed_label;
  std::string iteration;
  bool jumps = false;               ///< to failed_label
  std::vector<std::string> stacks;  ///< of pending threads, one set per worker
  bool region = false;              ///< the loop stands in a block of the parallel region
};

struct ArrayNames {
  std::string data, size;
  bool uses_data = false, uses_size = false;
};

class Emitter {
 public:
  Emitter(const Op& main, const Signature& signature, const Adapters& adapters, const Plan& plan);

  /// The body of NAME_run after the buffers are synchronised.
  Code body();
  /// Struct definitions that the body uses.
  const std::string& records() const { return records_; }
  const std::vector<std::string>& params() const { return params_; }
  const std::vector<bool>& param_used() const { return param_used_; }
  const std::vector<ArrayNames>& arrays() const { return arrays_; }
  bool uses_workers() const { return uses_workers_; }
  Scopes scopes;
  std::string context_name, program_name, workers_name, run_name, threads_name;
  std::vector<std::string> buffers;  ///< parameters of NAME_run

 private:
  // expressions.cpp
  Expr value(const Value* v);
  Expr literal(const Op& constant);
  Expr arith(const Op& op);
  Expr integer_arith(const Op& op, Scalar scalar);
  Expr wrapping(const Op& op, Scalar scalar);
  Expr compare(const Op& op, Scalar scalar);
  Expr cast(const Op& op);
  Expr select(const Op& op);
  Expr conditional(const Expr& c, const Expr& a, const Expr& b, Type type);
  Expr expression_if(const Op& op);
  Expr computed(const Op& op);
  Expr call(const std::string& function, std::vector<std::string> args, C type);
  Expr binary(const Expr& a, const char* op, const Expr& b, Prec prec, C type);
  Expr convert(const Expr& e, C type);
  Expr number(const Expr& e, Type t);
  Expr bits(const Expr& e);
  Expr as_number(const Value* v);  ///< exactly: its own type, or i64
  Expr as_unsigned(const Value* v);
  Expr as_bits(const Value* v);  ///< a 32-bit integer of either sign
  Expr negated(const Expr& e);
  std::string condition(const Value* v, bool negate = false);
  std::string assignable(const Value* v, const Variable& to);
  std::string initial(const Value* v);
  void reads(const Value* v, std::set<const Variable*>& out) const;

  // statements.cpp
  void block(const Block& block);
  void statement(const Op& op);
  void define(const Op& op, const Expr& e);
  void assign(Variable& to, const Value* from);
  void declare(Variable& variable, const std::string& initial);
  void declare_before(const Op& op);
  /// Simultaneous assignments.
  void copies(std::vector<std::pair<Variable*, const Value*>> moves);
  bool begins_chain(const Block& block) const;
  const Op* only_if(const Block& block) const;
  void if_statement(const Op& op);
  void while_statement(const Op& op);
  void condition_copies(const Op& op, bool leave);
  bool is_silent(const Block& block, const Op& before_end) const;
  void exit_thread();
  void note(const Op& op);
  std::string comment(const Op& op);
  bool ends(const Block& block) const;
  Level& level() { return levels_.back(); }

  // foreach.cpp
  void foreach (const Op& op);
  struct Loop;
  Loop prepare_loop(const Op& op);
  void begin_accumulators(const Op& op, Loop& loop);
  void finish_accumulators(const Op& op, Loop& loop);
  void loop_header(const Op& op, Loop& loop);
  void float_loop(const Op& op, Loop& loop);
  void plain_loop(const Op& op, Loop& loop);
  void parallel_loop(const Op& op, Loop& loop);
  void open_region(const Op& op, Loop& loop);
  void close_region();
  void begin_iteration(const Loop& loop);
  void end_iteration();
  std::string clauses(const Op& op, const Loop& loop) const;
  static bool counts_threads(const Op& op);
  static std::uint64_t worthwhile_iterations(const Op& op);
  void child(const Op& op, Loop& loop);
  void contribute(const Op& yield);
  bool can_use_simd(const Op& op) const;
  bool fails(const Op& op) const;
  std::string identity(const Op& op, unsigned i, C type);
  std::string combine(const std::string& spelling, const std::string& acc, const Expr& e, Type type,
                      C held);

  // fork.cpp
  static bool has_forks(const Block& body);
  void declare_stack(const Op& op);
  void prepare_forks(const Op& op);
  void fork(const Op& op);
  void resume_forks();

  // memory.cpp
  void memory(const Op& op);
  Expr load(const Op& op);
  void store(const Op& op);
  void atomic(const Op& op);
  void open_brace(const Op& op);
  void open_sram(const Op& op);
  void open_view(const Op& op);
  void open_iterator(const Op& op);
  void close(const Op& op);
  void iter_store(const Op& op);
  void iter_next(const Op& op);
  void check(const Op& op);
  void raise(const Op& op, const char* fault, const std::string& name,
             const std::string& arguments);
  std::string data_of(const Value* dram);
  std::string size_of(const Value* dram);
  std::string index(const Value* v);
  std::optional<Expr> wide_index(const Op& op);
  static bool only_index(const Value& v);
  std::string position(const Value* v);
  std::string used(const Adapter& adapter);
  const Adapter& adapter_of(const Value* memory) const { return adapters_.at(memory->def()); }
  std::string& memory_name(const Value* memory) { return memory_names_[memory]; }
  bool is_shared(const Value* memory) const;

  const Op& main_;
  const Signature& signature_;
  const Adapters& adapters_;
  const Plan& plan_;
  Ranges ranges_;
  Code code_;
  std::string records_;
  std::vector<std::string> params_;
  std::vector<bool> param_used_;
  std::vector<ArrayNames> arrays_;
  std::unordered_map<const Value*, unsigned> array_index_;
  bool uses_workers_ = false;
  std::vector<Level> levels_;
  std::map<const Op*, ForkStack> stacks_;
  std::optional<Parallel> parallel_;
  std::unordered_map<const Value*, std::string> memory_names_;
  std::unordered_map<const Value*, std::string> extents_;
  std::unordered_map<const Value*, std::string> tiles_;  ///< or the current value of a WriteIt
  std::unordered_map<const Value*, std::string> checked_index_;
  std::vector<const Value*> braces_;  ///< memories whose C++ scope is open, where threads fork
  std::set<const Value*> closed_;
  std::uint32_t last_line_ = 0;
};

}  // namespace revet::openmp
