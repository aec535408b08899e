/// The syntax tree, as parse.cpp builds it and sema annotates it.
///
/// An Ast owns every node until it dies; nodes point to each other freely. Long chains are flat:
/// `a + b + c` is one node with three operands, `else if` a list of arms. Names are views into the
/// source text that the Ast holds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "revet/source.hpp"
#include "revet/type.hpp"

namespace revet::ast {

/// The type of an expression in which an error was reported: it goes with everything, silently.
inline constexpr Type error_type{Kind::ptr};

enum class Operator : std::uint8_t {
  // binary, by precedence
  lor,
  land,
  or_,
  xor_,
  and_,
  eq,
  ne,
  lt,
  gt,
  le,
  ge,
  shl,
  shr,
  add,
  sub,
  mul,
  div,
  rem,
  // unary
  neg,
  plus,
  lnot,
  compl_,
  deref,
  none,
};
const char* spelling(Operator op);

enum class MemoryForm : std::uint8_t {
  dram,
  sram,
  read_view,
  write_view,
  modify_view,
  read_it,
  peek_read_it,
  write_it,
  manual_write_it,
};
const char* spelling(MemoryForm form);
/// `a ReadView`, `an SRAM`, `a DRAM array`
std::string with_article(MemoryForm form);
inline bool is_view(MemoryForm f) {
  return f >= MemoryForm::read_view && f <= MemoryForm::modify_view;
}
inline bool is_iterator(MemoryForm f) { return f >= MemoryForm::read_it; }

struct Expr;
struct Stmt;
struct Foreach;
struct Function;

enum class SymbolKind : std::uint8_t { variable, constant, memory, function, unknown };

/// What a name stands for.
struct Symbol {
  SymbolKind kind = SymbolKind::variable;
  std::string_view name;
  Loc loc;
  Type type;                           ///< of variable, constant; result of a function
  std::uint32_t bits = 0;              ///< of a constant
  MemoryForm form = MemoryForm::dram;  ///< of memory
  Type element;                        ///< of memory
  std::uint32_t size = 0;              ///< of memory other than DRAM
  Function* function = nullptr;
  /// The foreach whose child threads own it; null: the function's own thread, or the file.
  const Foreach* thread = nullptr;
  const Function* owner = nullptr;  ///< null at file level
  int slot = -1;                    ///< lowering's index of a variable or memory
};

enum class ExprKind : std::uint8_t {
  error,
  literal,      ///< bits, type
  name,         ///< name -> symbol
  chain,        ///< operands joined by ops of one precedence, from the left
  unary,        ///< op operands[0]; deref: *it
  conditional,  ///< operands[0] ? operands[1] : operands[2]
  assign,       ///< operands[0] op= operands[1]; op none for plain =
  step,         ///< ++ or -- (op add or sub) of operands[0]; prefix
  cast,         ///< to type
  call,         ///< name(operands)
  index,        ///< operands[0][operands[1]]
  method,       ///< operands[0].name(operands[1])
  foreach,      ///< with a reduction
};

/// Functions of the language that every program can use and redeclare.
enum class Builtin : std::uint8_t {
  none,
  min,
  max,
  abs,
  clamp,
  select,
  popcount,
  clz,
  ctz,
  rotl,
  rotr,
  mulhi,
  atomic_add,
  atomic_sub,
  atomic_and,
  atomic_or,
  atomic_xor,
  atomic_min,
  atomic_max,
  atomic_exchange,
  atomic_cas,
  fork,
};

struct ChainOp {
  Operator op;
  Loc loc;
  Type operands;  ///< sema: both sides are converted to this (left alone for && and ||)
  Type result;
};

struct Expr {
  ExprKind kind = ExprKind::error;
  Operator op = Operator::none;
  bool prefix = false;
  bool parenthesised = false;
  Loc loc;
  Loc op_loc;
  std::string_view name;
  Loc name_loc;
  std::vector<Expr*> operands;
  std::vector<ChainOp> ops;
  Foreach* loop = nullptr;

  // sema:
  Type type = error_type;
  std::uint32_t bits = 0;  ///< of a literal, and of everything with `constant`
  bool constant = false;
  bool pure = false;  ///< no effect, no access to memory, no call
  Symbol* symbol = nullptr;
  Builtin builtin = Builtin::none;
  Type operation;  ///< assign with op, step, builtins: the type in which it is computed
};

/// The value of a constant integer.
inline std::int64_t integer_of(const Expr& e) {
  return e.type.is_signed() ? std::int64_t{static_cast<std::int32_t>(e.bits)}
                            : std::int64_t{e.bits};
}

/// How a statement can end, as a set.
enum Flow : std::uint8_t {
  flow_none = 0,
  flow_next = 1,
  flow_break = 2,
  flow_continue = 4,
  flow_return = 8,
  flow_exit = 16,
};
inline constexpr std::uint8_t flow_jumps = flow_break | flow_continue | flow_return;

struct PragmaItem {
  std::string_view name;
  Loc loc;
  Expr* value = nullptr;
};

/// sema: what the pragmas of a block say.
struct Pragmas {
  bool eliminate_hierarchy = false;
  bool fixed = false;
  std::optional<std::int64_t> threads;
  std::optional<std::int64_t> unroll;
  const char* link = nullptr;  ///< "scalar", "vector"
};

struct Block {
  Loc open;
  Loc close;
  std::vector<PragmaItem> pragma_items;
  std::vector<Stmt*> statements;
  Pragmas pragmas;
};

struct Declarator {
  std::string_view name;
  Loc loc;
  Expr* init = nullptr;
  Symbol* symbol = nullptr;
};

struct MemoryDecl {
  MemoryForm form = MemoryForm::dram;
  Loc loc;
  std::string_view name;
  Loc name_loc;
  /// `type` of `DRAM<type>`; element_loc is unknown where there is none.
  Type element;
  Loc element_loc;
  std::vector<Expr*> template_args;  ///< without the element type
  Expr* size = nullptr;              ///< in [ ]
  bool has_args = false;             ///< a list in ( )
  std::vector<Expr*> args;
  Symbol* symbol = nullptr;
};

struct IfArm {
  Expr* condition;
  Stmt* body;
  Loc loc;
  std::uint8_t others = 0;  ///< sema: the flow of the arms and the `else` after it
};

enum class StmtKind : std::uint8_t {
  error,
  empty,
  block,
  expression,
  declaration,
  memory,
  if_,
  while_,
  do_,
  for_,
  foreach,
  replicate,
  break_,
  continue_,
  return_,
  exit_,
};

struct Stmt {
  StmtKind kind = StmtKind::error;
  Loc loc;
  Block block;           ///< block, replicate
  Expr* expr = nullptr;  ///< expression, return, condition of loops, N of replicate
  Type type;             ///< of a declaration
  bool is_const = false;
  std::vector<Declarator> declarators;
  MemoryDecl* memory = nullptr;
  std::vector<IfArm> arms;  ///< if: `if` and each `else if`
  Stmt* body = nullptr;     ///< of loops; `else` of an if
  Stmt* init = nullptr;     ///< of a for
  Expr* step = nullptr;     ///< of a for
  Foreach* loop = nullptr;
  std::vector<std::string_view> names;  ///< error: what the broken text may have declared

  // sema:
  std::uint8_t flow = flow_next;
  std::vector<Symbol*> assigned;  ///< loops: the outer variables that it assigns
  Pragmas pragmas;                ///< loops: those of the body's block
};

struct Foreach {
  Loc loc;
  Expr* lo = nullptr;  ///< null: 0
  Expr* hi = nullptr;
  Expr* step = nullptr;     ///< null: 1
  std::string_view reduce;  ///< empty: none
  Loc reduce_loc;
  Type index_type;
  Loc index_type_loc;
  std::string_view index_name;
  Loc index_loc;
  Block body;

  // sema:
  const Foreach* parent = nullptr;
  Symbol* index = nullptr;
  Type result;
  std::uint8_t flow = flow_next;  ///< of the body
};

struct Parameter {
  Type type;
  std::string_view name;
  Loc loc;
  Loc type_loc;
  Symbol* symbol = nullptr;
};

struct Function {
  Type result;
  Loc result_loc;
  std::string_view name;
  Loc loc;
  std::vector<Parameter> parameters;
  Block body;
  /// Every local declaration, in order, for messages about names that are not visible.
  std::vector<std::pair<std::string_view, Loc>> locals;
  bool broken = false;  ///< its text could not be parsed to the end

  // sema:
  Symbol* symbol = nullptr;
  std::uint8_t flow = flow_next;
  bool may_end = false;  ///< a call may be the caller's end: it exits, or forks into no threads
};

struct Constant {
  Type type;
  Loc type_loc;
  std::string_view name;
  Loc loc;
  Expr* init = nullptr;
  bool is_const = true;
  Symbol* symbol = nullptr;
  enum { unevaluated, active, evaluated } state = unevaluated;  ///< sema
};

struct Item {
  Function* function = nullptr;
  Constant* constant = nullptr;
  MemoryDecl* memory = nullptr;
};

struct Ast {
  FileId file = 0;
  std::string text;
  std::vector<Item> items;
  std::vector<std::string_view> broken_names;  ///< what broken text at file level may have declared
  bool broken = false;                         ///< there were syntax errors

  Expr* expr(ExprKind kind, Loc loc) {
    Expr& e = exprs_.emplace_back();
    e.kind = kind;
    e.loc = loc;
    return &e;
  }
  Stmt* stmt(StmtKind kind, Loc loc) {
    Stmt& s = stmts_.emplace_back();
    s.kind = kind;
    s.loc = loc;
    return &s;
  }
  Foreach* foreach () { return &foreachs_.emplace_back(); }
  Function* function() { return &functions_.emplace_back(); }
  Constant* constant() { return &constants_.emplace_back(); }
  MemoryDecl* memory() { return &memories_.emplace_back(); }
  Symbol* symbol(SymbolKind kind, std::string_view name, Loc loc) {
    Symbol& s = symbols_.emplace_back();
    s.kind = kind;
    s.name = name;
    s.loc = loc;
    return &s;
  }

 private:
  std::deque<Expr> exprs_;
  std::deque<Stmt> stmts_;
  std::deque<Foreach> foreachs_;
  std::deque<Function> functions_;
  std::deque<Constant> constants_;
  std::deque<MemoryDecl> memories_;
  std::deque<Symbol> symbols_;
};

/// From `a` to the end of `b`, where both are on one line; else `a`.
inline Loc range(Loc a, Loc b) {
  if (a.line == b.line && b.col + b.length > a.col) a.length = b.col + b.length - a.col;
  return a;
}

}  // namespace revet::ast
