// Memory: arrays, SRAM, views, iterators, bounds checks, atomics.
#include <algorithm>
#include <filesystem>

#include "emitter.hpp"

namespace revet::openmp {

using namespace ops;

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (byte < 0x20 || byte == 0x7F || c == '?') {  // ? could start a trigraph
      static constexpr char digits[] = "01234567";
      out += '\\';
      for (const unsigned shift : {6u, 3u, 0u}) out += digits[(byte >> shift) & 7u];
    } else {
      out += c;
    }
  }
  return out + '"';
}

Expr element(const std::string& text, Type type) {
  if (type != type_i1) return {text, Prec::postfix, c_type(type)};
  // A byte is true unless it is 0.
  return {text + " != 0", Prec::equality, C::boolean};
}

std::string zero_of(Type type) {
  return type == type_i1 ? "false" : type.is_float() ? "0.0f" : type == type_u32 ? "0u" : "0";
}

/// True if `other` stands behind `op`, or in an op that does.
bool follows(const Op& other, const Op& op) {
  const Op* around = &other;
  while (around && around->block() != op.block()) around = around->parent_op();
  for (const Op* at = op.next(); at && around; at = at->next())
    if (at == around) return true;
  return false;
}

}  // namespace

std::string element_name(Type element) {
  return element == type_i1 ? "uint8_t" : c_name(c_type(element));
}

std::string Emitter::data_of(const Value* dram) {
  ArrayNames& names = arrays_[array_index_.at(dram)];
  names.uses_data = true;
  return names.data;
}

std::string Emitter::size_of(const Value* dram) {
  ArrayNames& names = arrays_[array_index_.at(dram)];
  names.uses_size = true;
  return names.size;
}

/// As a subscript: a number that C++ extends to 64 bits by itself.
std::string Emitter::index(const Value* v) {
  const auto it = checked_index_.find(v);
  if (it != checked_index_.end()) return it->second;
  if (!plan_.variable(v))
    if (const auto wide = wide_index(*v->def())) return wide->text;
  return as_number(v).text;
}

/// An index that is computed without wrapping, since it would be outside if it wrapped: then a sum
/// that should be above 2^31 - 1 is negative. Loops over such indices can be vectorised.
std::optional<Expr> Emitter::wide_index(const Op& op) {
  if (!(op.is(arith_add) || op.is(arith_sub) || op.is(arith_mul) || op.is(arith_shl)) ||
      op.result()->type() != type_i32 || ranges_.exact(op) ||
      !ranges_.unwrapped(op).within(INT32_MIN, UINT32_MAX))
    return std::nullopt;
  Expr a = as_number(op.operand(0)), b = as_number(op.operand(1));
  const char* symbol = op.is(arith_sub) ? "-" : op.is(arith_add) ? "+" : "*";
  std::int64_t n = 0;
  if (op.is(arith_shl)) {
    if (!is_constant(op.operand(1), n)) return std::nullopt;
    const std::int64_t factor = std::int64_t{1} << (n & 31);
    b = {std::to_string(factor), Prec::postfix, C::i64, true, factor};
  }
  if (a.type != C::i64 && (b.type != C::i64 || b.literal)) a = convert(a, C::i64);
  return binary(a, symbol, b,
                op.is(arith_add) || op.is(arith_sub) ? Prec::additive : Prec::multiplicative,
                C::i64);
}

/// The value is an index of accesses that are not checked, and nothing else.
bool Emitter::only_index(const Value& v) {
  return std::all_of(v.uses().begin(), v.uses().end(), [](const Use& use) {
    const Op& op = *use.op;
    const bool access = op.is(mem_dram_load) || op.is(mem_dram_store) || op.is(mem_dram_atomic) ||
                        op.is(mem_sram_load) || op.is(mem_sram_store) || op.is(mem_sram_atomic) ||
                        op.is(mem_view_load) || op.is(mem_view_store);
    return access && use.index == 1 && !op.flag("checked");
  });
}

/// As an argument that is a 64-bit integer.
std::string Emitter::position(const Value* v) { return as_number(v).text; }

/// Memory that several workers may access: declared outside the parallel loop.
bool Emitter::is_shared(const Value* memory) const {
  if (!parallel_) return false;
  if (memory->type().kind == Kind::dram) return true;
  for (const Op* op = memory->def()->parent_op(); op; op = op->parent_op())
    if (op == parallel_->op) return false;
  return true;
}

void Emitter::memory(const Op& op) {
  if (op.is(mem_sram_alloc)) return open_sram(op);
  if (is_view_open(op)) return open_view(op);
  if (is_iter_open(op)) return open_iterator(op);
  if (op.is(mem_view_close) || op.is(mem_iter_close) || op.is(mem_sram_free)) return close(op);
  if (op.flag("checked")) check(op);
  if (op.is(mem_dram_load) || op.is(mem_sram_load) || op.is(mem_view_load) ||
      op.is(mem_iter_load) || op.is(mem_iter_peek)) {
    if (!op.result()->unused()) define(op, load(op));
  } else if (op.is(mem_dram_store) || op.is(mem_sram_store) || op.is(mem_view_store)) {
    store(op);
  } else if (op.is(mem_dram_atomic) || op.is(mem_sram_atomic)) {
    atomic(op);
  } else if (op.is(mem_iter_store)) {
    iter_store(op);
  } else if (op.is(mem_iter_next) || op.is(mem_iter_next_last)) {
    iter_next(op);
  } else {
    throw Error(Exit::program, op.loc(),
                "the backend 'openmp' has no meaning for the op " + op.name());
  }
  if (op.flag("checked")) checked_index_.erase(op.operand(1));
}

// --- loads and stores ---------------------------------------------------------------------------

Expr Emitter::load(const Op& op) {
  const Value* m = op.operand(0);
  const Type t = op.result()->type();
  std::string text;
  if (op.is(mem_dram_load)) {
    text = data_of(m) + "[" + index(op.operand(1)) + "]";
  } else if (op.is(mem_sram_load) || op.is(mem_view_load)) {
    text = memory_name(m) + "[" + index(op.operand(1)) + "]";
  } else {
    const Value* array = base_memory(m);
    std::string at = memory_name(m);
    std::int64_t k = 0;
    if (op.is(mem_iter_peek) && !(is_constant(op.operand(1), k) && k == 0)) {
      const Expr by = as_number(op.operand(1));
      at += " + " + (by.prec <= Prec::additive ? "(" + by.text + ")" : by.text);
    }
    text = "revet::read(" + data_of(array) + ", " + size_of(array) + ", " + at + ")";
  }
  const Expr e = element(text, t);
  const Value* p = predicate(op);
  if (!p) return e;
  const Expr zero{zero_of(t), Prec::postfix, e.type, false};
  return conditional(value(p), e,
                     t == type_i1 ? Expr{"false", Prec::postfix, C::boolean, true, 0} : zero, t);
}

void Emitter::store(const Op& op) {
  const Value* m = op.operand(0);
  const std::string target = (m->type().kind == Kind::dram ? data_of(m) : memory_name(m)) + "[" +
                             index(op.operand(1)) + "]";
  Variable to;
  to.held = m->type().element == Kind::i1 ? C::u8 : c_type(m->type().element_type());
  std::string tests;
  if (const Value* p = predicate(op)) tests = condition(p);
  if (op.is(mem_view_store) && adapter_of(m).guarded) {
    // An element that is not valid keeps reading 0.
    const std::string valid = extents_.at(m) + ".valid(" + index(op.operand(1)) + ")";
    tests = tests.empty() ? valid : "(" + tests + ") && " + valid;
  }
  const std::string assignment = target + " = " + assignable(op.operand(2), to) + ";";
  code_.line(tests.empty() ? assignment : "if (" + tests + ") " + assignment);
}

void Emitter::atomic(const Op& op) {
  const Value* m = op.operand(0);
  const std::string& name = op.str_attr("op");
  const bool word = name == "and" || name == "or" || name == "xor";
  std::string text = std::string(is_shared(m) ? "revet::Atomic::" : "revet::Plain::") + name +
                     (word ? "_" : "") + "(&" +
                     (m->type().kind == Kind::dram ? data_of(m) : memory_name(m)) + "[" +
                     index(op.operand(1)) + "]";
  const unsigned values = name == "cas" ? 2 : 1;
  Variable to;
  to.held = c_type(m->type().element_type());
  for (unsigned i = 0; i < values; ++i) text += ", " + assignable(op.operand(2 + i), to);
  text += ")";
  const Value* p = predicate(op);
  if (op.result()->unused()) {
    code_.line((p ? "if (" + condition(p) + ") " : "") + text + ";");
    return;
  }
  const Expr e{text, Prec::postfix, to.held};
  const Expr zero{zero_of(m->type().element_type()), Prec::postfix, to.held};
  define(op, p ? conditional(value(p), e, zero, op.result()->type()) : e);
}

// --- checks -------------------------------------------------------------------------------------

/// Reports a failure and leaves the iteration of the parallel loop, or the program.
void Emitter::raise(const Op& op, const char* fault, const std::string& name,
                    const std::string& arguments) {
  const Loc loc = op.loc();
  const std::string file =
      loc.known() ? std::filesystem::path(file_name(loc.file)).filename().string() : "";
  const std::string site = "{revet::Fault::" + std::string(fault) + ", " + quoted(name) + ", " +
                           quoted(file) + ", " + std::to_string(loc.line) + ", " +
                           std::to_string(loc.col) + "}";
  if (parallel_) {
    code_.line(parallel_->failure + ".report(" + parallel_->iteration + ", " + site + arguments +
               ");");
    code_.line("goto " + parallel_->failed_label + ";");
    parallel_->jumps = true;
  } else {
    code_.line("return revet::fail(" + context_name + ", " + site + arguments + ");");
  }
}

void Emitter::check(const Op& op) {
  const Value* m = op.operand(0);
  const Value* i = op.operand(1);
  const Expr e = as_number(i);
  std::string name = e.text;
  const bool at_hand = plan_.variable(i) && plan_.variable(i)->name == name;
  if (!e.literal && !at_hand) {
    // Used by the test, the message and the access.
    name = scopes.declare("index", level().forks ? level().scope : scopes.depth());
    const std::string type = c_name(e.type);
    if (level().forks) level().declarations.push_back(type + " " + name + " = 0;");
    code_.line((level().forks ? "" : "const " + type + " ") + name + " = " + e.text + ";");
    checked_index_[i] = name;
  }
  const char* fault = "read";
  std::string size;
  switch (m->type().kind) {
    case Kind::view: fault = "view"; break;
    case Kind::iter: fault = "iterator"; break;
    default:
      if (op.is(mem_dram_store) || op.is(mem_sram_store)) fault = "write";
      if (op.is(mem_dram_atomic) || op.is(mem_sram_atomic)) fault = "atomic";
  }
  size = m->type().kind == Kind::dram ? size_of(m) : std::to_string(m->type().size);
  std::string test = "static_cast<uint64_t>(" + name + ") >= " + size;
  if (const Value* p = predicate(op)) {
    const Expr c = value(p);
    test = (c.prec < Prec::logical_and ? "(" + c.text + ")" : c.text) + " && " + test;
  }
  code_.open("if (" + test + ") {");
  raise(op, fault, ops::memory_name(m), ", " + name + ", " + size);
  code_.close();
}

// --- scopes -------------------------------------------------------------------------------------

void Emitter::open_brace(const Op& op) {
  if (!level().forks) return;
  code_.open("{");
  scopes.open();
  braces_.push_back(op.result());
}

void Emitter::open_sram(const Op& op) {
  open_brace(op);
  const Type t = op.result()->type();
  const std::string type = element_name(t.element_type());
  const std::string& wish = op.str_attr("name").empty() ? op.result()->name() : op.str_attr("name");
  std::string& name = memory_name(op.result());
  name = scopes.declare(wish.empty() ? "sram" : wish);
  const std::string size = std::to_string(t.size);
  if (adapter_of(op.result()).form == Adapter::Form::stack) {
    const auto uses = op.result()->uses();
    const bool read = std::any_of(uses.begin(), uses.end(),
                                  [](const Use& use) { return use.op->num_results() != 0; });
    code_.line((read ? "" : "[[maybe_unused]] ") + type + " " + name + "[" + size + "] = {};" +
               comment(op));
    return;
  }
  const std::string memory = scopes.declare(name + "_memory");
  code_.line("std::vector<" + type + "> " + memory + "(" + size + ");" + comment(op));
  code_.line(type + "* const " + name + " = " + memory + ".data();");
}

std::string Emitter::used(const Adapter& adapter) {
  if (!adapter.count) return std::to_string(adapter.offset);
  std::int64_t n = 0;
  if (is_constant(adapter.count, n))
    return std::to_string(std::max(adapter.scale * n + adapter.offset, adapter.at_least));
  std::string text = as_number(adapter.count).text;
  if (adapter.scale != 1)
    text = "int64_t{" + std::to_string(adapter.scale) + "} * " +
           (as_number(adapter.count).prec < Prec::unary ? "(" + text + ")" : text);
  if (adapter.offset > 0) text += " + " + std::to_string(adapter.offset);
  if (adapter.offset < 0) text += " - " + std::to_string(-adapter.offset);
  if (adapter.at_least > 0)
    text = "std::max<int64_t>(" + text + ", " + std::to_string(adapter.at_least) + ")";
  return text;
}

void Emitter::open_view(const Op& op) {
  open_brace(op);
  const Value* view = op.result();
  const Adapter& adapter = adapter_of(view);
  const Value* array = op.operand(0);
  const std::string type = element_name(view->type().element_type());
  const std::string size = std::to_string(view->type().size);
  const std::string& wish = op.str_attr("name").empty() ? view->name() : op.str_attr("name");
  const std::string data = data_of(array);
  std::string& name = memory_name(view);
  name = scopes.declare(wish.empty() ? "view" : wish);
  const std::string at = extents_[view] = scopes.declare(name + "_at");
  const std::string tile = tiles_[view] = scopes.declare(name + "_tile");
  code_.line(type + " " + tile + "[" + size + "];" + comment(op));
  code_.line("const revet::Extent " + at + "(" + size_of(array) + ", " + position(op.operand(1)) +
             ", " + size + ", " + (op.num_operands() > 2 ? as_number(op.operand(2)).text : size) +
             ");");
  const std::string all = adapter.in_place ? used(adapter) : "revet::never";
  if (op.is(mem_read_view)) {
    code_.line("const " + type + "* const " + name + " = revet::open_read<" + size + ">(" + data +
               ", " + at + ", " + all + ", " + tile + ");");
  } else if (op.is(mem_write_view)) {
    code_.line(type + "* const " + name + " = revet::open_write<" + size + ">(" + data + ", " + at +
               ", " + all + ", " + (adapter.assigned ? as_number(adapter.count).text : "0") + ", " +
               tile + ");");
  } else if (view->type().element == Kind::i1) {
    code_.line("uint8_t* const " + name + " = revet::open_modify_bool<" + size + ">(" + data +
               ", " + at + ", " + tile + ");");
  } else {
    code_.line(type + "* const " + name + " = revet::open_modify<" + size + ">(" + data + ", " +
               at + ", " + all + ", " + tile + ");");
  }
}

void Emitter::open_iterator(const Op& op) {
  open_brace(op);
  const Value* it = op.result();
  const Adapter& adapter = adapter_of(it);
  const std::string& wish = op.str_attr("name").empty() ? it->name() : op.str_attr("name");
  std::string& name = memory_name(it);
  name = scopes.declare(wish.empty() ? "it" : wish);
  const Expr e = as_number(op.operand(1));
  // Below 0 becomes a position behind every array, and comes round to 0 when it is passed.
  const std::string start = e.literal && e.number >= 0 ? e.text : "uint64_t(" + e.text + ")";
  if (adapter.form == Adapter::Form::position) {
    code_.line("uint64_t " + name + " = " + start + ";" + comment(op));
    if (op.is(mem_write_it) && !adapter.direct) {
      tiles_[it] = scopes.declare(name + "_value");
      code_.line(element_name(it->type().element_type()) + " " + tiles_[it] + " = 0;");
    }
    return;
  }
  const Value* array = op.operand(0);
  code_.line("revet::Writer<" + element_name(it->type().element_type()) + ", " +
             std::to_string(it->type().size) + "> " + name + "(" + data_of(array) + ", " +
             size_of(array) + ", " + start + ");" + comment(op));
}

void Emitter::close(const Op& op) {
  const Value* m = op.operand(0);
  const Op& open = *m->def();
  if (open.is(mem_write_view) || open.is(mem_modify_view))
    code_.line("revet::close_view(" + data_of(open.operand(0)) + ", " + extents_.at(m) + ", " +
               memory_name(m) + ", " + tiles_.at(m) + ");");
  if (open.is(mem_write_it) && adapter_of(m).form == Adapter::Form::writer)
    code_.line(memory_name(m) + ".flush();");
  if (!level().forks) return;
  // A buffer's scope ends at the last use: in one block several closes may exclude each other.
  for (const Value* closed : op.operands()) {
    if (!closed->type().is_memory() || op.block() != closed->def()->block()) continue;
    const auto uses = closed->uses();
    if (std::none_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return follows(*use.op, op); }))
      closed_.insert(closed);
  }
  while (!braces_.empty() && closed_.count(braces_.back()) != 0) {
    braces_.pop_back();
    scopes.close();
    code_.close();
  }
}

// --- iterators ----------------------------------------------------------------------------------

void Emitter::iter_store(const Op& op) {
  const Value* it = op.operand(0);
  const Adapter& adapter = adapter_of(it);
  Variable to;
  to.held = it->type().element == Kind::i1 ? C::u8 : c_type(it->type().element_type());
  const std::string v = assignable(op.operand(1), to);
  std::string text;
  if (adapter.form == Adapter::Form::writer) {
    text = memory_name(it) + ".set(" + v + ");";
  } else if (adapter.direct) {
    const Value* array = base_memory(it);
    text = "revet::write(" + data_of(array) + ", " + size_of(array) + ", " + memory_name(it) +
           ", " + v + ");";
  } else {
    text = tiles_.at(it) + " = " + v + ";";
  }
  const Value* p = predicate(op);
  code_.line((p ? "if (" + condition(p) + ") " : "") + text);
}

void Emitter::iter_next(const Op& op) {
  const Value* it = op.operand(0);
  const Adapter& adapter = adapter_of(it);
  const Op& open = *it->def();
  const std::string& name = memory_name(it);
  const Value* p = predicate(op);
  if (adapter.form == Adapter::Form::writer && open.is(mem_manual_write_it)) {
    code_.open("if (" + (p ? condition(p) + " && " : std::string()) + name + ".done()) {");
    raise(op, "next_after_last", ops::memory_name(it), "");
    code_.close();
  }
  std::vector<std::string> lines;
  if (adapter.form == Adapter::Form::writer) {
    lines.push_back(name + ".next(" +
                    (op.is(mem_iter_next_last) ? value(op.operand(1)).text : "false") + ");");
  } else {
    if (open.is(mem_write_it) && !adapter.direct) {
      const Value* array = base_memory(it);
      lines.push_back("revet::write(" + data_of(array) + ", " + size_of(array) + ", " + name +
                      ", " + tiles_.at(it) + ");");
      lines.push_back(tiles_.at(it) + " = 0;");
    }
    std::int64_t k = 0;
    lines.push_back(is_constant(op.operand(1), k) && k == 1
                        ? "++" + name + ";"
                        : name + " += " + as_number(op.operand(1)).text + ";");
  }
  if (!p) {
    for (const std::string& line : lines) code_.line(line);
    return;
  }
  code_.open("if (" + condition(p) + ") {");
  for (const std::string& line : lines) code_.line(line);
  code_.close();
}

}  // namespace revet::openmp
