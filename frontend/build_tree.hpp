/// From ANTLR's tree to the syntax tree. Private to parse.cpp, which keeps ANTLR to itself.
///
/// Children are told apart by their place, as Revet.g4 gives it. A statement or item in which there
/// was an error becomes a node that only knows which names it may have declared.
///
/// Longer than other files: one function per rule of the grammar, kept together in its order.
#pragma once

#include <fmt/core.h>

#include <unordered_map>

#include "ast.hpp"
#include "literals.hpp"
#include "parse_errors.hpp"

namespace revet {
namespace {

enum Precedence {
  prec_assign,
  prec_choice,
  prec_lor,
  prec_land,
  prec_or,
  prec_xor,
  prec_and,
  prec_eq,
  prec_rel,
  prec_shift,
  prec_add,
  prec_mul
};

struct BinaryToken {
  ast::Operator op;
  int precedence;
};

inline const BinaryToken& binary_token(std::string_view text) {
  using ast::Operator;
  static const std::unordered_map<std::string_view, BinaryToken> table = {
      {"=", {Operator::none, prec_assign}},  {"+=", {Operator::add, prec_assign}},
      {"-=", {Operator::sub, prec_assign}},  {"*=", {Operator::mul, prec_assign}},
      {"/=", {Operator::div, prec_assign}},  {"%=", {Operator::rem, prec_assign}},
      {"<<=", {Operator::shl, prec_assign}}, {">>=", {Operator::shr, prec_assign}},
      {"&=", {Operator::and_, prec_assign}}, {"|=", {Operator::or_, prec_assign}},
      {"^=", {Operator::xor_, prec_assign}}, {"?", {Operator::none, prec_choice}},
      {"||", {Operator::lor, prec_lor}},     {"&&", {Operator::land, prec_land}},
      {"|", {Operator::or_, prec_or}},       {"^", {Operator::xor_, prec_xor}},
      {"&", {Operator::and_, prec_and}},     {"==", {Operator::eq, prec_eq}},
      {"!=", {Operator::ne, prec_eq}},       {"<", {Operator::lt, prec_rel}},
      {">", {Operator::gt, prec_rel}},       {"<=", {Operator::le, prec_rel}},
      {">=", {Operator::ge, prec_rel}},      {"<<", {Operator::shl, prec_shift}},
      {">>", {Operator::shr, prec_shift}},   {"+", {Operator::add, prec_add}},
      {"-", {Operator::sub, prec_add}},      {"*", {Operator::mul, prec_mul}},
      {"/", {Operator::div, prec_mul}},      {"%", {Operator::rem, prec_mul}},
  };
  return table.at(text);
}

inline Type type_named(std::string_view word) {
  static const std::unordered_map<std::string_view, Kind> table = {
      {"int", Kind::i32},   {"int32", Kind::i32}, {"uint", Kind::u32},   {"uint32", Kind::u32},
      {"short", Kind::i16}, {"int16", Kind::i16}, {"ushort", Kind::u16}, {"uint16", Kind::u16},
      {"int8", Kind::i8},   {"char", Kind::u8},   {"uint8", Kind::u8},   {"bool", Kind::i1},
      {"float", Kind::f32}, {"void", Kind::none},
  };
  return {table.at(word)};
}

inline ast::MemoryForm form_named(std::string_view word) {
  for (int i = 0;; ++i) {
    auto form = static_cast<ast::MemoryForm>(i);
    if (word == ast::spelling(form)) return form;
  }
}

class TreeBuilder {
 public:
  TreeBuilder(ast::Ast& ast, FileId file, antlr4::TokenStream& tokens, Diagnostics& diagnostics)
      : ast_(ast), file_(file), tokens_(tokens), diagnostics_(diagnostics) {}

  void file(ParserRuleContext* context) {
    for (auto* child : context->children) {
      if (auto* item_context = rule(child)) item(item_context);
    }
  }

 private:
  static antlr4::Token* token(antlr4::tree::ParseTree* node) {
    auto* terminal = dynamic_cast<antlr4::tree::TerminalNode*>(node);
    return terminal ? terminal->getSymbol() : nullptr;
  }
  static ParserRuleContext* rule(antlr4::tree::ParseTree* node) {
    return dynamic_cast<ParserRuleContext*>(node);
  }
  std::string_view text(antlr4::Token* t) const { return text_of(ast_.text, t); }
  bool is(antlr4::tree::ParseTree* node, std::string_view what) const {
    auto* t = token(node);
    return t && text(t) == what;
  }
  Loc loc(antlr4::Token* t) const { return loc_of(file_, t); }
  Loc loc(ParserRuleContext* c) const { return ast::range(loc(c->getStart()), loc(c->getStop())); }

  void names_in(ParserRuleContext* context, std::vector<std::string_view>& names) const {
    if (!context->getStop()) return;
    for (std::size_t i = context->getStart()->getTokenIndex();
         i <= context->getStop()->getTokenIndex(); ++i) {
      if (tokens_.get(i)->getType() == P::IDENT) names.push_back(text(tokens_.get(i)));
    }
  }

  // --- items ---

  void item(ParserRuleContext* context) {
    if (context->exception) {
      names_in(context, ast_.broken_names);
      return;
    }
    auto& children = context->children;
    switch (context->getStart()->getType()) {
      case P::CONST: {
        auto* type = token(children[1]);
        for (auto* child : children) {
          if (auto* c = rule(child)) constant(c, type, true);
        }
        break;
      }
      case P::TYPE: {
        auto* type = token(children[0]);
        auto* name = token(children[1]);
        auto* parameters = rule(children[2]);
        if (parameters && parameters->getRuleIndex() == P::RuleParameters) {
          function(type, name, parameters, rule(children[3]));
          break;
        }
        add_constant(type, name, is(children[2], "=") ? expression(rule(children[3])) : nullptr,
                     false);
        for (auto* child : children) {
          auto* c = rule(child);
          if (c && c->getRuleIndex() == P::RuleDeclarator) constant(c, type, false);
        }
        break;
      }
      default:
        if (auto* c = rule(children[0])) {
          ast_.items.emplace_back().memory = memory(c);
        }
    }
  }

  void constant(ParserRuleContext* context, antlr4::Token* type, bool is_const) {
    auto& children = context->children;
    Expr* init = children.size() > 1 ? expression(rule(children[2])) : nullptr;
    add_constant(type, token(children[0]), init, is_const);
  }

  void add_constant(antlr4::Token* type, antlr4::Token* name, ast::Expr* init, bool is_const) {
    ast::Constant* c = ast_.constant();
    c->type = type_named(text(type));
    c->type_loc = loc(type);
    c->name = text(name);
    c->loc = loc(name);
    c->init = init;
    c->is_const = is_const;
    ast_.items.emplace_back().constant = c;
  }

  void function(antlr4::Token* type, antlr4::Token* name, ParserRuleContext* parameters,
                ParserRuleContext* body) {
    ast::Function* f = ast_.function();
    function_ = f;
    f->result = type_named(text(type));
    f->result_loc = loc(type);
    f->name = text(name);
    f->loc = loc(name);
    auto& children = parameters->children;
    for (std::size_t i = 1; i + 1 < children.size(); i += 3) {
      auto* t = token(children[i]);
      auto* n = token(children[i + 1]);
      f->parameters.push_back({type_named(text(t)), text(n), loc(n), loc(t), nullptr});
      local(text(n), loc(n));
    }
    block(body, 1, f->body);
    ast_.items.emplace_back().function = f;
    function_ = nullptr;
  }

  void local(std::string_view name, Loc place) {
    if (function_) function_->locals.emplace_back(name, place);
  }

  ast::MemoryDecl* memory(ParserRuleContext* context) {
    ast::MemoryDecl* m = ast_.memory();
    auto& children = context->children;
    auto* form = token(children[0]);
    m->form = form_named(text(form));
    m->loc = loc(form);
    std::size_t i = 2;
    for (;; i += 2) {
      auto* argument = rule(children[i]);
      if (auto* type = token(argument->children[0])) {
        if (m->element_loc.known() || !m->template_args.empty()) {
          diagnostics_.error(loc(type), "expected a constant expression, found a type");
        }
        m->element = type_named(text(type));
        m->element_loc = loc(type);
      } else {
        m->template_args.push_back(expression(rule(argument->children[0])));
      }
      if (is(children[i + 1], ">")) break;
    }
    auto* name = token(children[i + 2]);
    m->name = text(name);
    m->name_loc = loc(name);
    i += 3;
    if (i < children.size()) {
      m->has_args = is(children[i], "(");
      for (++i; i < children.size(); ++i) {
        if (auto* c = rule(children[i]))
          (m->has_args ? m->args.emplace_back() : m->size) = expression(c);
      }
    }
    local(m->name, m->name_loc);
    return m;
  }

  // --- statements ---

  /// `first` is the index of the first statement in `context`.
  void block(ParserRuleContext* context, std::size_t first, ast::Block& b) {
    auto& children = context->children;
    b.open = loc(context->getStart());
    b.close = loc(context->getStop());
    bool pragmas = true;
    for (std::size_t i = first; i < children.size(); ++i) {
      auto* c = rule(children[i]);
      if (!c) continue;
      ast::Stmt* s = statement(c);
      pragmas = pragmas && s->kind == ast::StmtKind::expression &&
                s->expr->kind == ast::ExprKind::call && s->expr->name == "pragma";
      if (pragmas) {
        pragma(s->expr, b);
      } else {
        b.statements.push_back(s);
      }
    }
  }

  void pragma(ast::Expr* call, ast::Block& b) {
    for (ast::Expr* e : call->operands) {
      bool valued = e->kind == ast::ExprKind::assign && e->op == ast::Operator::none;
      ast::Expr* name = valued ? e->operands[0] : e;
      if (name->kind != ast::ExprKind::name) {
        diagnostics_.error(e->loc, "expected the name of a pragma");
        continue;
      }
      b.pragma_items.push_back({name->name, name->loc, valued ? e->operands[1] : nullptr});
    }
  }

  ast::Stmt* statement(ParserRuleContext* context) {
    using ast::StmtKind;
    auto& children = context->children;
    auto* start = context->getStart();
    if (context->exception) {
      ast::Stmt* s = ast_.stmt(StmtKind::error, loc(start));
      names_in(context, s->names);
      return s;
    }
    ast::Stmt* s = ast_.stmt(StmtKind::empty, loc(start));
    switch (start->getType()) {
      case P::IF: if_statement(context, s); break;
      case P::WHILE:
        s->kind = StmtKind::while_;
        s->expr = condition(children[1]);
        s->body = statement(rule(children[2]));
        break;
      case P::DO:
        s->kind = StmtKind::do_;
        s->body = statement(rule(children[1]));
        s->expr = condition(children[3]);
        break;
      case P::FOR: for_statement(context, s); break;
      case P::FOREACH:
        s->kind = StmtKind::foreach;
        s->loop = foreach (rule(children[1]), loc(start));
        break;
      case P::REPLICATE:
        s->kind = StmtKind::replicate;
        s->expr = condition(children[1]);
        block(rule(children[2]), 1, s->block);
        break;
      case P::BREAK: s->kind = StmtKind::break_; break;
      case P::CONTINUE: s->kind = StmtKind::continue_; break;
      case P::EXIT: s->kind = StmtKind::exit_; break;
      case P::RETURN:
        s->kind = StmtKind::return_;
        if (children.size() > 1) {
          if (auto* c = rule(children[1])) s->expr = expression(c);
        }
        break;
      case P::MEMORY:
        s->kind = StmtKind::memory;
        s->memory = memory(rule(children[0]));
        break;
      case P::CONST:
      case P::TYPE:
        s->is_const = start->getType() == P::CONST;
        declaration(context, s->is_const ? 1 : 0, s);
        break;
      default:
        if (auto* c = rule(children[0])) {
          if (c->getRuleIndex() == P::RuleBlock) {
            s->kind = StmtKind::block;
            block(c, 1, s->block);
          } else {
            s->kind = StmtKind::expression;
            s->expr = expression(c);
          }
        }
    }
    return s;
  }

  ast::Expr* condition(antlr4::tree::ParseTree* node) {
    return expression(rule(rule(node)->children[1]));
  }

  void if_statement(ParserRuleContext* context, ast::Stmt* s) {
    auto& children = context->children;
    s->kind = ast::StmtKind::if_;
    s->arms.push_back({condition(children[1]), statement(rule(children[2])), s->loc, 0});
    std::size_t i = 3;
    for (; i < children.size() && token(children[i])->getType() == P::ELSE_IF; i += 4) {
      Loc place = loc(token(children[i + 1]));
      if (s->arms.size() == else_if_limit) {
        diagnostics_.error(
            place, fmt::format("more than {} links in a chain of 'else if'", else_if_limit));
        return;
      }
      if (s->arms.size() > else_if_limit) return;
      s->arms.push_back({condition(children[i + 2]), statement(rule(children[i + 3])), place, 0});
    }
    if (i < children.size()) s->body = statement(rule(children[i + 1]));
  }

  void for_statement(ParserRuleContext* context, ast::Stmt* s) {
    auto& children = context->children;
    s->kind = ast::StmtKind::for_;
    std::size_t i = 2;
    if (!is(children[i], ";")) {
      auto* first = token(children[i]);
      s->init = ast_.stmt(ast::StmtKind::expression, first ? loc(first) : loc(rule(children[i])));
      if (first) {
        declaration(context, i, s->init);
      } else {
        s->init->expr = expression(rule(children[i]));
      }
      while (!is(children[i], ";")) ++i;
    }
    ++i;
    if (!is(children[i], ";")) s->expr = expression(rule(children[i++]));
    ++i;
    if (!is(children[i], ")")) s->step = expression(rule(children[i++]));
    s->body = statement(rule(children[i + 1]));
  }

  /// `TYPE declarator, ..` from child `i` of `context` on.
  void declaration(ParserRuleContext* context, std::size_t i, ast::Stmt* s) {
    auto& children = context->children;
    s->kind = ast::StmtKind::declaration;
    s->type = type_named(text(token(children[i])));
    for (++i; i < children.size(); i += 2) {
      auto* c = rule(children[i]);
      if (!c || c->getRuleIndex() != P::RuleDeclarator) break;
      auto* name = token(c->children[0]);
      ast::Expr* init = c->children.size() > 1 ? expression(rule(c->children[2])) : nullptr;
      s->declarators.push_back({text(name), loc(name), init, nullptr});
      local(text(name), loc(name));
    }
  }

  ast::Foreach* foreach (ParserRuleContext* context, Loc place) {
    ast::Foreach* f = ast_.foreach ();
    auto& children = context->children;
    f->loc = place;
    f->hi = expression(rule(children[1]));
    std::size_t i = 2;
    for (; !is(children[i], ")"); i += 2) {
      ast::Expr* e = expression(rule(children[i + 1]));
      if (token(children[i])->getType() == P::TO) {
        f->lo = f->hi;
        f->hi = e;
      } else {
        f->step = e;
      }
    }
    ++i;
    if (token(children[i])->getType() == P::REDUCE) {
      f->reduce = text(token(children[i + 2]));
      f->reduce_loc = loc(token(children[i + 2]));
      i += 4;
    }
    auto* open = token(children[i]);
    auto* type = token(children[i + 1]);
    auto* name = token(children[i + 2]);
    f->index_type = type_named(text(type));
    f->index_type_loc = loc(type);
    f->index_name = text(name);
    f->index_loc = loc(name);
    local(f->index_name, f->index_loc);
    block(context, i + 4, f->body);
    f->body.open = loc(open);
    return f;
  }

  // --- expressions ---

  using Expr = ast::Expr;
  using ExprKind = ast::ExprKind;

  struct Items {
    struct Operator {
      antlr4::Token* token;
      BinaryToken binary;
      Expr* middle;  ///< of ? :
    };
    std::vector<Expr*> operands;
    std::vector<Operator> operators;
    std::size_t at = 0;  ///< the next operator
  };

  /// An expression or templateExpression.
  Expr* expression(ParserRuleContext* context) {
    auto& children = context->children;
    Expr* first = operand(rule(children[0]));
    if (children.size() == 1) return first;
    Items items;
    items.operands.push_back(first);
    for (std::size_t i = 1; i < children.size();) {
      auto* t = token(children[i]);
      Expr* middle = nullptr;
      if (text(t) == "?") {
        middle = expression(rule(children[i + 1]));
        i += 2;
      }
      items.operators.push_back({t, binary_token(text(t)), middle});
      items.operands.push_back(operand(rule(children[i + 1])));
      i += 2;
    }
    return group(items, prec_assign);
  }

  /// Groups from operand `items.at` on, as far as operators bind at least as tightly as `least`.
  Expr* group(Items& items, int least) {
    Expr* left = items.operands[items.at];
    int chain = -1;  // precedence of the chain that `left` is
    while (items.at < items.operators.size()) {
      const Items::Operator o = items.operators[items.at];
      int precedence = o.binary.precedence;
      if (precedence < least) break;
      ++items.at;
      bool from_right = precedence == prec_assign || precedence == prec_choice;
      Expr* right = group(items, from_right ? precedence : precedence + 1);
      Loc place = ast::range(left->loc, right->loc);
      if (from_right) {
        bool assign = precedence == prec_assign;
        Expr* e = ast_.expr(assign ? ExprKind::assign : ExprKind::conditional, place);
        e->operands = assign ? std::vector{left, right} : std::vector{left, o.middle, right};
        e->op = o.binary.op;
        e->op_loc = loc(o.token);
        left = e;
        chain = -1;
        continue;
      }
      if (chain != precedence) {
        Expr* e = ast_.expr(ExprKind::chain, place);
        e->operands.push_back(left);
        left = e;
        chain = precedence;
      }
      left->loc = place;
      left->operands.push_back(right);
      left->ops.push_back({o.binary.op, loc(o.token), {}, {}});
    }
    return left;
  }

  Expr* operand(ParserRuleContext* context) {
    auto& children = context->children;
    std::size_t at = 0;
    while (is_prefix(children[at])) at += token(children[at])->getType() == P::CAST_OPEN ? 3 : 1;
    std::size_t prefixes = at;
    Expr* e = atom(children, at, prefixes > 0 && is(children[prefixes - 1], "-"));
    unsigned suffixes = 0;
    while (at < children.size()) {
      if (++suffixes == nesting_limit + 1) {
        diagnostics_.error(loc(token(children[at])),
                           fmt::format("nested too deeply (limit {})", nesting_limit));
      }
      e = suffix(e, children, at);
      if (suffixes > nesting_limit) break;
    }
    while (prefixes > 0) {
      bool cast = is(children[prefixes - 1], ")");
      std::size_t first = prefixes - (cast ? 3 : 1);
      e = prefix(e, token(children[first]), cast ? token(children[first + 1]) : nullptr);
      prefixes = first;
    }
    return e;
  }

  bool is_prefix(antlr4::tree::ParseTree* node) const {
    auto* t = token(node);
    if (!t) return false;
    return t->getType() == P::CAST_OPEN || (!begins_expression(t->getType()) && text(t) != "(");
  }

  Expr* atom(const std::vector<antlr4::tree::ParseTree*>& children, std::size_t& at,
             bool after_minus) {
    auto* t = token(children[at++]);
    Expr* e = ast_.expr(ExprKind::literal, loc(t));
    e->constant = true;
    switch (t->getType()) {
      case P::NUMBER:
      case P::CHARACTER: {
        Literal literal = parse_literal(text(t), after_minus && at == children.size());
        if (!literal.error.empty()) {
          Loc place = e->loc;
          if (literal.error_at > 0) {
            place.col += literal.error_at;
            place.length -= literal.error_at;
          }
          diagnostics_.error(place, literal.error);
          e->kind = ExprKind::error;
        }
        e->type = literal.type;
        e->bits = literal.bits;
        break;
      }
      case P::TRUE:
      case P::FALSE:
        e->type = type_i1;
        e->bits = t->getType() == P::TRUE;
        break;
      case P::IDENT:
        e->kind = ExprKind::name;
        e->constant = false;
        e->name = text(t);
        break;
      case P::CAST_TYPE:
        e->kind = ExprKind::cast;
        e->constant = false;
        e->type = type_named(text(t));
        e->operands.push_back(expression(rule(children[at + 1])));
        e->loc = ast::range(e->loc, loc(token(children[at + 2])));
        at += 3;
        break;
      case P::FOREACH_VALUE:
        e->kind = ExprKind::foreach;
        e->constant = false;
        e->loop = foreach (rule(children[at++]), loc(t));
        break;
      default: {  // parentheses
        Loc place = ast::range(e->loc, loc(token(children[at + 1])));
        e = expression(rule(children[at]));
        e->loc = place;
        e->parenthesised = true;
        at += 2;
      }
    }
    return e;
  }

  Expr* suffix(Expr* base, const std::vector<antlr4::tree::ParseTree*>& children, std::size_t& at) {
    auto* t = token(children[at++]);
    std::string_view s = text(t);
    Expr* e = ast_.expr(ExprKind::step, base->loc);
    e->op_loc = loc(t);
    antlr4::Token* last = t;
    if (s == "[") {
      e->kind = ExprKind::index;
      e->operands = {base, expression(rule(children[at]))};
      last = token(children[at + 1]);
      at += 2;
    } else if (s == ".") {
      e->kind = ExprKind::method;
      auto* name = token(children[at]);
      e->name = text(name);
      e->name_loc = loc(name);
      e->operands = {base, expression(rule(children[at + 2]))};
      last = token(children[at + 3]);
      at += 4;
    } else if (s == "(") {
      e->kind = ExprKind::call;
      e->name = base->name;
      e->name_loc = base->loc;
      for (; !is(children[at], ")"); ++at) {
        if (auto* c = rule(children[at])) e->operands.push_back(expression(c));
      }
      last = token(children[at++]);
      if (base->kind != ExprKind::name || base->parenthesised) {
        if (base->kind != ExprKind::error)
          diagnostics_.error(base->loc, "only a function can be called, by its name");
        e->kind = ExprKind::error;
      }
    } else {
      e->op = s == "++" ? ast::Operator::add : ast::Operator::sub;
      e->operands = {base};
    }
    e->loc = ast::range(base->loc, loc(last));
    return e;
  }

  Expr* prefix(Expr* base, antlr4::Token* t, antlr4::Token* type) {
    using ast::Operator;
    Expr* e = ast_.expr(ExprKind::unary, ast::range(loc(t), base->loc));
    e->op_loc = loc(t);
    e->operands = {base};
    std::string_view s = text(t);
    if (type) {
      e->kind = ExprKind::cast;
      e->type = type_named(text(type));
    } else if (s == "++" || s == "--") {
      e->kind = ExprKind::step;
      e->prefix = true;
      e->op = s == "++" ? Operator::add : Operator::sub;
    } else {
      e->op = s == "-"   ? Operator::neg
              : s == "+" ? Operator::plus
              : s == "!" ? Operator::lnot
              : s == "~" ? Operator::compl_
                         : Operator::deref;
    }
    return e;
  }

  static constexpr std::size_t else_if_limit = 100000;

  ast::Ast& ast_;
  FileId file_;
  antlr4::TokenStream& tokens_;
  Diagnostics& diagnostics_;
  ast::Function* function_ = nullptr;
};

}  // namespace
}  // namespace revet
