/// From the checked syntax tree to thread IR.
///
/// Variables become SSA values while the structured statements are walked. What a region of `if` or
/// `replicate` changed becomes results of the op; a loop carries what sema found assigned in it.
/// `break`, `continue` and `return` are variables of type i1 (flags) that are set where they stand;
/// the rest of a block runs under a test of the flags, or simply in the other arm of the `if` that
/// jumped, which is how most code needs no test at all.
#pragma once

#include <memory>
#include <span>

#include "ast.hpp"
#include "revet/builder.hpp"

namespace revet {

class Lowering {
 public:
  explicit Lowering(ast::Ast& ast) : ast_(ast), module_(std::make_unique<Module>()) {}
  std::unique_ptr<Module> run();

 private:
  using Expr = ast::Expr;
  using Stmt = ast::Stmt;

  /// A variable of the source or a flag; its index is its slot.
  struct Variable {
    Value* value;
    std::string name;
  };
  struct Change {
    int slot;
    Value* before;
  };
  struct OpenMemory {
    Value* value;
    ast::MemoryForm form;
  };
  /// Flags of the innermost loop; -1 where nothing sets them.
  struct LoopFlags {
    int broke = -1;
    int continued = -1;
  };
  /// A function's own thread, or a child of a foreach.
  struct Thread {
    int returned = -1;     ///< flag
    int result = -1;       ///< variable
    std::size_t open = 0;  ///< memory below belongs to enclosing threads
    LoopFlags loop;
  };
  /// How control left lowered code. `next`: it goes on. `jumped`: flags are set, or it never
  /// ends. `maybe`: the flags tell. `exited`: the block ends in thread.exit.
  enum class End { next, jumped, maybe, exited };

  /// A region that was lowered.
  struct Arm {
    Block* block = nullptr;
    End end = End::next;
    Value* value = nullptr;                       ///< of an expression
    std::vector<std::pair<int, Value*>> changed;  ///< outer variables, by slot
    bool open() const { return end != End::exited; }
  };

  // --- lower.cpp: the file; variables, regions, scopes ---
  void dram(ast::MemoryDecl& m);
  static Attr size_attr(const Expr& e);
  void function(ast::Function& f);
  int add_variable(Value* value, std::string_view name);
  void assign(int slot, Value* value);
  Value* current(int slot) const { return variables_[static_cast<std::size_t>(slot)].value; }
  /// Lowers into a new block of `region` that has an argument for each of `carried`. `body` gives
  /// how it ended; the caller adds the terminator. Changes are undone.
  template <typename Body>
  Arm arm(Region& region, std::span<const int> carried, Body&& body);
  Arm finish_arm(Block& block, End end, std::size_t log, std::size_t variables);
  /// Ends both arms of an `if` and makes results of what they changed. Returns the value where the
  /// arms have one.
  Value* merge(Op& op, Arm& a, Arm& b);
  void terminate(Block& block, const OpInfo& info, std::span<Value* const> operands);
  void close_memory(std::size_t down_to);
  void exit_thread();
  static End combine(End a, End b);

  // --- lower_expr.cpp ---
  Value* expr(Expr& e);
  Value* as(Expr& e, Type type) { return convert(expr(e), type); }
  Value* condition(Expr& e) { return as(e, type_i1); }
  Value* convert(Value* v, Type type);
  Value* chain(Expr& e);
  Value* short_circuit(ast::Operator op, Value* left, Expr& right);
  Value* unary(Expr& e);
  Value* conditional(Expr& e);
  Value* assignment(Expr& e);
  Value* step(Expr& e);
  Value* binary(ast::Operator op, Value* a, Value* b);
  Value* logical_not(Value* v);
  Value* index_of(Expr& e);
  Value* load(const ast::Symbol& memory, Value* index);
  void store(const ast::Symbol& memory, Value* index, Value* value);
  Value* memory_value(const ast::Symbol& s) const {
    return memories_[static_cast<std::size_t>(s.slot)];
  }

  // --- lower_call.cpp ---
  Value* call(Expr& e);
  Value* builtin(Expr& e);
  Value* atomic(Expr& e);

  // --- lower_stmt.cpp ---
  using List = std::span<Stmt* const>;
  End block(ast::Block& b);
  End statements(List list);
  End stmt(Stmt& s);
  End after(End end, std::uint8_t flow, List rest);
  End unless_jumped(std::uint8_t flow, List rest);
  End if_chain(Stmt& s, std::size_t link, List rest);
  /// The flags that `flow` can set, or null.
  Value* flags(std::uint8_t flow);
  void declaration(Stmt& s);
  void memory(ast::MemoryDecl& m);
  End replicate(Stmt& s);
  void return_value(Stmt& s);

  // --- lower_loop.cpp ---
  End loop(Stmt& s);
  Value* loop_condition(Stmt& s, std::uint8_t stops);
  void while_loop(Stmt& s, Op& op, std::span<const int> carried);
  void do_loop(Stmt& s, Op& op, std::span<const int> carried);
  Value* foreach (ast::Foreach& f);

  ast::Ast& ast_;
  std::unique_ptr<Module> module_;
  Builder builder_;
  std::vector<Variable> variables_;
  std::vector<Change> log_;
  std::vector<Value*> memories_;
  std::vector<OpenMemory> open_;
  Thread thread_;
  const ast::Block* scope_ = nullptr;  ///< the block whose statements are being lowered
};

template <typename Body>
Lowering::Arm Lowering::arm(Region& region, std::span<const int> carried, Body&& body) {
  Builder outer = builder_;
  std::size_t log = log_.size();
  std::size_t variables = variables_.size();
  std::size_t open = open_.size();
  Block& block = region.add_block();
  builder_.set_end(block);
  for (int slot : carried) {
    assign(slot,
           block.add_arg(current(slot)->type(), variables_[static_cast<std::size_t>(slot)].name));
  }
  Arm result;
  End end = body(result);
  if (end != End::exited) close_memory(open);
  open_.resize(open);
  Arm changes = finish_arm(block, end, log, variables);
  changes.value = result.value;
  builder_ = outer;
  return changes;
}

}  // namespace revet
