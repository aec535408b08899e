/// Semantic analysis: resolves names, gives every expression its type, evaluates constants, and
/// checks every rule of the language that a program can break.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "ast.hpp"
#include "revet/diagnostics.hpp"

namespace revet {

class Sema {
 public:
  Sema(ast::Ast& ast, Diagnostics& diagnostics) : ast_(ast), diagnostics_(diagnostics) {}
  /// Annotates the tree; errors are in the diagnostics.
  void run();

 private:
  using Expr = ast::Expr;
  using Stmt = ast::Stmt;
  using Symbol = ast::Symbol;

  // --- sema.cpp: the file, names and scopes ---
  void declare_items();
  Symbol* declare(ast::SymbolKind kind, std::string_view name, Loc loc);
  void declare_unknown(const std::vector<std::string_view>& names);
  Symbol* find(std::string_view name) const;
  /// What a name stands for in its place, and so which names could be meant by one that is unknown.
  enum class Place {
    value,           ///< read
    target,          ///< left of `=`
    stepped,         ///< of `x++`
    skipped,         ///< left of `+=`
    called,          ///< before ( )
    array,           ///< of a view or an iterator
    element,         ///< before [ ]
    element_target,  ///< before [ ], left of `=`
    element_atomic,  ///< before [ ], in an atomic
    reader,          ///< of `*it`
    writer,          ///< of `*it = v`
    ended,           ///< of `it.next(last)`
  };
  bool fits(const Symbol& s, Place place) const;
  /// Reports a name that is not visible.
  void undeclared(std::string_view name, Loc loc, Place place);
  void report_undeclared(std::string_view name, Loc loc, Place place);
  /// " (did you mean 'x'?)", or nothing.
  static std::string suggestion(std::string_view name, std::vector<std::string> candidates);
  void constant(ast::Constant& c);
  void function(ast::Function& f);
  void push_scope() { scopes_.emplace_back(); }
  void pop_scope();
  Diagnostic& error(Loc loc, std::string message) {
    return diagnostics_.error(loc, std::move(message));
  }

  // --- sema_types.cpp: types, conversions, constants ---
  /// Reports what a constant or its conversion loses, or where a value narrows.
  void check_conversion(const Expr& from, Type to);
  /// An expression whose value, if it has one, is not used: anything but the name of memory.
  void effect(Expr& e);
  /// A scalar value; false (reported, or an error before) where it is none.
  bool value(Expr& e);
  bool condition(Expr& e) { return value(e); }
  bool integer_value(Expr& e, const char* what);
  /// An integer constant; nullopt where it is none.
  std::optional<std::int64_t> constant_integer(Expr& e, const char* what);
  /// What a constant integer would be if its + - * << did not wrap; nullopt beyond 64 bits.
  static std::optional<std::int64_t> unwrapped(const Expr& e);
  /// Sets `constant` and `bits` of an expression of known operands.
  void fold(Expr& e);
  void fold_chain(Expr& e);

  // --- sema_expr.cpp ---
  void expr(Expr& e);
  void name(Expr& e, Place place);
  void chain(Expr& e);
  Type chain_step(const Expr& e, std::size_t i, Type left, const Expr* left_expr);
  void tautology(const ast::ChainOp& op, const Expr* left, const Expr* right);
  void unary(Expr& e);
  void conditional(Expr& e);
  void assign(Expr& e, bool whole_statement);
  void step(Expr& e, bool of_dereference);
  void cast(Expr& e);
  /// Checks the left side of an assignment (`reads`: also its old value is used). `variable` is the
  /// place of a variable there.
  bool assignable(Expr& e, bool reads, Place variable);
  bool assignable_variable(Expr& e);
  void note_assigned(Symbol& variable);

  // --- sema_call.cpp: calls and built-ins ---
  void call(Expr& e);
  void builtin(Expr& e);
  void atomic(Expr& e);
  /// True if `e` is `fork(..)` and no function of the program.
  bool is_fork(const Expr& e) const;
  void fork(Expr& e);
  bool argument_count(const Expr& e, std::size_t wanted);

  // --- sema_memory.cpp: memory and its uses ---
  void memory(ast::MemoryDecl& m, bool at_file_level);
  void memory_arguments(ast::MemoryDecl& m);
  /// The memory that an expression names; null (reported) where it names none.
  Symbol* memory_named(Expr& e, Place place);
  void index(Expr& e, Place place);
  void dereference(Expr& e);
  void method(Expr& e);
  /// The iterator that `e` names if this thread may use it.
  Symbol* iterator_named(Expr& e, const char* use, Place place);
  void advance(Expr& e, Symbol& iterator, Expr& amount);

  // --- sema_size.cpp: sizes of DRAM arrays ---
  void dram_size(Expr& e);
  void size_name(Expr& e);

  // --- sema_stmt.cpp ---
  void block(ast::Block& b, std::uint8_t& flow);
  std::uint8_t statements(std::vector<Stmt*>& list);
  void stmt(Stmt& s);
  void declaration(Stmt& s);
  void if_statement(Stmt& s);
  void loop(Stmt& s);
  void replicate(Stmt& s);
  void jump(Stmt& s);
  void return_statement(Stmt& s);
  enum class Owner { other, if_, loop, foreach, replicate };
  void pragmas(ast::Block& b, Owner owner);
  void pragma(ast::PragmaItem& p, ast::Block& b, Owner owner);

  // --- sema_foreach.cpp ---
  void foreach (ast::Foreach& f);
  void foreach_range(ast::Foreach& f);
  void reduction_type(ast::Foreach& f, const std::vector<Type>& returned);

  // --- sema_functions.cpp: rules across calls ---
  void check_calls();
  void find_recursion(ast::Function* f);

  struct Frame {
    enum Kind { function, loop, replicate, foreach } kind;
    Stmt* stmt = nullptr;
    ast::Foreach* loop_node = nullptr;
    unsigned first_symbol = 0;  ///< loops: symbols from here on are declared inside
    std::set<const Symbol*> assigned = {};
    std::vector<Type> returned = {};  ///< foreach
    bool broken = false;              ///< holds text that could not be parsed or typed
  };
  struct Call {
    ast::Function* callee;
    Loc loc;
    bool own_thread;                  ///< not from a child thread
    std::vector<const Symbol*> open;  ///< memory of the calling thread in scope
  };
  struct FunctionFacts {
    std::vector<Call> calls;
    std::optional<Loc> fork;  ///< in its own thread
    enum { unvisited, active, done } state = unvisited;
  };

  ast::Ast& ast_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string_view, std::vector<Symbol*>> visible_;
  std::vector<std::vector<std::string_view>> scopes_;
  std::unordered_map<const Symbol*, unsigned> order_;
  std::unordered_map<const Symbol*, ast::Constant*> constants_;
  std::vector<ast::Constant*> active_constants_;
  std::unordered_map<const ast::Function*, FunctionFacts> facts_;
  std::vector<ast::Function*> call_path_;
  std::vector<const Symbol*> open_memory_;
  std::vector<Frame> frames_;
  std::string_view declaring_;   ///< the variable whose initial value is checked
  bool constants_only_ = false;  ///< within an expression that must be a constant
  ast::Function* function_ = nullptr;
  ast::Function* main_ = nullptr;
  const ast::Foreach* thread_ = nullptr;
};

/// int for bool and the 8- and 16-bit integers.
Type promoted(Type t);
/// C's usual arithmetic conversions.
Type common_type(Type a, Type b);
/// True for the type of an expression in which an error was reported.
inline bool is_error(Type t) { return t == ast::error_type; }

}  // namespace revet
