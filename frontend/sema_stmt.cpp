/// Statements: scopes, jumps, loops, pragmas, and how control can leave each of them.
#include <fmt/core.h>

#include <algorithm>

#include "sema.hpp"

namespace revet {

using ast::ExprKind;
using ast::Operator;
using ast::StmtKind;
using ast::SymbolKind;

std::uint8_t Sema::statements(std::vector<Stmt*>& list) {
  std::uint8_t flow = ast::flow_next;
  for (Stmt* s : list) {
    stmt(*s);
    // What follows a jump is checked, but never runs.
    if (flow & ast::flow_next) flow = static_cast<std::uint8_t>((flow & ~ast::flow_next) | s->flow);
  }
  return flow;
}

void Sema::block(ast::Block& b, std::uint8_t& flow) {
  push_scope();
  std::size_t open = open_memory_.size();
  flow = statements(b.statements);
  open_memory_.resize(open);
  pop_scope();
}

void Sema::stmt(Stmt& s) {
  switch (s.kind) {
    case StmtKind::error:
      frames_.back().broken = true;
      for (Frame& f : frames_) f.broken = true;
      declare_unknown(s.names);
      break;
    case StmtKind::empty: break;
    case StmtKind::block:
      pragmas(s.block, Owner::other);
      block(s.block, s.flow);
      break;
    case StmtKind::expression:
      if (s.expr->kind == ExprKind::assign) {
        assign(*s.expr, true);
      } else {
        effect(*s.expr);
      }
      break;
    case StmtKind::declaration: declaration(s); break;
    case StmtKind::memory: memory(*s.memory, false); break;
    case StmtKind::if_: if_statement(s); break;
    case StmtKind::while_:
    case StmtKind::do_:
    case StmtKind::for_: loop(s); break;
    case StmtKind::foreach:
      foreach (*s.loop)
        ;
      break;
    case StmtKind::replicate: replicate(s); break;
    case StmtKind::break_:
    case StmtKind::continue_: jump(s); break;
    case StmtKind::return_: return_statement(s); break;
    case StmtKind::exit_: s.flow = ast::flow_exit; break;
  }
}

void Sema::declaration(Stmt& s) {
  if (s.is_const) error(s.loc, "a constant is declared at file level, outside of functions");
  if (s.type == type_void) error(s.loc, "a variable cannot have type 'void'");
  bool good = s.type != type_void;
  for (ast::Declarator& d : s.declarators) {
    if (d.init) {
      declaring_ = d.name;
      if (is_fork(*d.init)) {
        fork(*d.init);
      } else {
        value(*d.init);
      }
      declaring_ = {};
      if (good) check_conversion(*d.init, s.type);
    }
    d.symbol = declare(good ? SymbolKind::variable : SymbolKind::unknown, d.name, d.loc);
    d.symbol->type = good ? s.type : ast::error_type;
  }
}

namespace {

/// A statement that is the body of another has a scope of its own, braces or not.
bool is_block(const ast::Stmt* s) { return s->kind == StmtKind::block; }

}  // namespace

void Sema::if_statement(Stmt& s) {
  auto arm = [&](Stmt* body) {
    if (is_block(body)) {
      pragmas(body->block, Owner::if_);
      block(body->block, body->flow);
    } else {
      push_scope();
      std::size_t open = open_memory_.size();
      stmt(*body);
      open_memory_.resize(open);
      pop_scope();
    }
  };
  for (ast::IfArm& a : s.arms) {
    condition(*a.condition);
    arm(a.body);
  }
  if (s.body) arm(s.body);
  std::uint8_t flow = s.body ? s.body->flow : static_cast<std::uint8_t>(ast::flow_next);
  for (auto it = s.arms.rbegin(); it != s.arms.rend(); ++it) {
    it->others = flow;
    flow |= it->body->flow;
  }
  s.flow = flow;
}

void Sema::loop(Stmt& s) {
  push_scope();
  if (s.init) stmt(*s.init);
  Frame frame{Frame::loop, &s};
  frame.first_symbol = static_cast<unsigned>(order_.size());
  frames_.push_back(std::move(frame));
  if (s.expr && s.kind != StmtKind::do_) condition(*s.expr);
  if (is_block(s.body)) {
    pragmas(s.body->block, Owner::loop);
    s.pragmas = s.body->block.pragmas;
    block(s.body->block, s.body->flow);
  } else {
    push_scope();
    std::size_t open = open_memory_.size();
    stmt(*s.body);
    open_memory_.resize(open);
    pop_scope();
  }
  if (s.step) effect(*s.step);
  if (s.expr && s.kind == StmtKind::do_) condition(*s.expr);
  frames_.pop_back();
  pop_scope();

  std::uint8_t body = s.body->flow;
  bool endless = !s.expr || (s.expr->constant && s.expr->bits != 0);
  bool tested = s.kind != StmtKind::do_ || (body & (ast::flow_next | ast::flow_continue));
  s.flow = body & (ast::flow_return | ast::flow_exit);
  if ((body & ast::flow_break) || (!endless && tested)) s.flow |= ast::flow_next;
}

void Sema::replicate(Stmt& s) {
  if (auto n = constant_integer(*s.expr, "the number of copies of a replicate")) {
    if (*n < 1)
      error(s.expr->loc,
            fmt::format("the number of copies of a replicate must be positive, not {}", *n));
    if (*n > INT32_MAX) error(s.expr->loc, "the number of copies of a replicate is too large");
  }
  frames_.push_back({Frame::replicate, &s});
  pragmas(s.block, Owner::replicate);
  block(s.block, s.flow);
  frames_.pop_back();
}

void Sema::jump(Stmt& s) {
  bool is_break = s.kind == StmtKind::break_;
  const char* word = is_break ? "break" : "continue";
  s.flow = is_break ? ast::flow_break : ast::flow_continue;
  const Frame* barrier = nullptr;
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    if (it->kind == Frame::loop && !barrier) return;
    if (it->kind == Frame::loop) {
      bool replicate = barrier->kind == Frame::replicate;
      error(s.loc,
            replicate
                ? fmt::format("'{}' may not leave a replicate", word)
                : fmt::format("'{}' cannot leave a foreach: its children are threads of their own",
                              word))
          .note(replicate ? barrier->stmt->loc : barrier->loop_node->loc,
                replicate ? "this replicate" : "this foreach");
      return;
    }
    if (!barrier && (it->kind == Frame::replicate || it->kind == Frame::foreach)) barrier = &*it;
  }
  if (barrier && barrier->kind == Frame::foreach) {
    error(s.loc,
          fmt::format("'{}' cannot leave a foreach: its children are threads of their own", word))
        .note(barrier->loop_node->loc, "this foreach");
  } else {
    error(s.loc, fmt::format("'{}' outside of a loop", word));
  }
}

void Sema::return_statement(Stmt& s) {
  s.flow = ast::flow_return;
  if (s.expr) value(*s.expr);
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    if (it->kind == Frame::loop) continue;
    if (it->kind == Frame::replicate) {
      error(s.loc, "'return' may not leave a replicate").note(it->stmt->loc, "this replicate");
      return;
    }
    if (it->kind == Frame::foreach) {
      ast::Foreach& f = *it->loop_node;
      if (f.reduce.empty() && s.expr) {
        error(s.loc, "a child of a foreach without a reduction returns no value")
            .note(f.loc, "'reduce(..)' would stand at the header of this foreach");
      } else if (!f.reduce.empty() && !s.expr) {
        error(s.loc,
              fmt::format("a child of a foreach with 'reduce({})' must return a value", f.reduce))
            .note(f.loc, "this foreach");
      } else if (s.expr) {
        it->returned.push_back(s.expr->type);
      }
      return;
    }
    break;
  }
  bool is_void = function_->result == type_void;
  if (s.expr && is_void) {
    error(s.expr->loc, fmt::format("'{}' returns no value: its type is 'void'", function_->name))
        .note(function_->loc, "declared here");
  } else if (!s.expr && !is_void) {
    error(s.loc, fmt::format("'{}' must return a value of type '{}'", function_->name,
                             function_->result.source_str()))
        .note(function_->loc, "declared here");
  } else if (s.expr) {
    check_conversion(*s.expr, function_->result);
  }
}

// --- pragmas ------------------------------------------------------------------------------------

void Sema::pragmas(ast::Block& b, Owner owner) {
  for (ast::PragmaItem& p : b.pragma_items) pragma(p, b, owner);
}

void Sema::pragma(ast::PragmaItem& p, ast::Block& b, Owner owner) {
  static const std::vector<std::string> known = {
      "eliminate_hierarchy", "threads", "scalar", "vector", "unroll", "fixed"};
  bool numeric = p.name == "threads" || p.name == "unroll";
  std::string name(p.name);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    diagnostics_.warning(p.loc, "pragma",
                         fmt::format("unknown pragma '{}'{}", name, did_you_mean(name, known)));
    return;
  }
  const char* place = nullptr;
  if (p.name == "eliminate_hierarchy" && owner != Owner::foreach) place = "a foreach";
  if (p.name == "fixed" && owner != Owner::replicate) place = "a replicate";
  if (p.name == "unroll" && owner != Owner::foreach && owner != Owner::loop)
    place = "a foreach or a loop";
  if ((p.name == "scalar" || p.name == "vector") && owner == Owner::other)
    place = "a foreach, loop, replicate or if";
  if (place) {
    error(p.loc, fmt::format("the pragma '{}' belongs in the block of {}", name, place));
    return;
  }
  if (!numeric && p.value) {
    error(p.value->loc, fmt::format("the pragma '{}' takes no value", name));
    return;
  }
  if (!numeric) {
    ast::Pragmas& r = b.pragmas;
    if (p.name == "eliminate_hierarchy") r.eliminate_hierarchy = true;
    if (p.name == "fixed") r.fixed = true;
    if (p.name == "scalar" || p.name == "vector") {
      const char* link = p.name == "scalar" ? "scalar" : "vector";
      if (r.link && r.link != std::string_view(link))
        error(p.loc, "a block cannot be both 'scalar' and 'vector'");
      r.link = link;
    }
    return;
  }
  if (!p.value) {
    error(p.loc, fmt::format("the pragma '{}' needs a value, as in '{}=4'", name, name));
    return;
  }
  auto n = constant_integer(*p.value, fmt::format("the value of the pragma '{}'", name).c_str());
  if (!n) return;
  if (*n < 1 || *n > INT32_MAX) {
    error(p.value->loc,
          fmt::format("the value of the pragma '{}' must be positive, not {}", name, *n));
    return;
  }
  (p.name == "threads" ? b.pragmas.threads : b.pragmas.unroll) = *n;
}

}  // namespace revet
