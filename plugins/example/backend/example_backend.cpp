/// A backend that emits sequential C and runs it: each thread to its end before the next begins.
///
///   %s = arith.add(%a, %b) : (i8, i8) -> (i8)      const u v7 = (u)(int8_t)(add_s(v5, v6));
///   thread.foreach(%lo, %hi, %step) ({..})         for (uint64_t i = 0; i < n; ++i) {..}
///   %x = mem.sram_load(%t, %s)                     if (s >= v4_size) return 3; v8 = v4[s];
///
/// Values. Every scalar is a C variable of type `u`, uint32_t, that holds its register content
/// (revet/scalar.hpp): extended to 32 bits, a float as its bits. So all arithmetic is unsigned and
/// nothing in it is undefined; `prelude` says in C what each operation computes. The one result of
/// C that depends on the compiler is the conversion to narrower signed types; all wrap.
///
/// Control flow. A region is a block in braces; results of an op are variables declared in front of
/// it, which the region's yield assigns. The end of a thread is a `goto` to the end of its
/// iteration. Float reductions add up blocks of iterations first (revet/scalar.hpp).
///
/// Memory. DRAM arrays are parameters, an SRAM is a static array: threads do not overlap, so one
/// copy of it is enough. Every access is checked. A failed check returns its number, from which
/// `run` finds the op and says what went wrong, where.
///
/// Does not handle: fork, views, iterators; it refuses programs that have them.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "revet/abi.hpp"
#include "revet/ops.hpp"
#include "revet/plugin.hpp"
#include "revet/ranges.hpp"
#include "revet/scalar.hpp"

namespace {

using namespace revet;
using namespace revet::ops;
namespace fs = std::filesystem;

/// Functions NAME_s, NAME_u and NAME_f on register contents of signed and unsigned types and
/// floats, NAME as in arith.NAME or in the predicate of arith.cmp.
const char* const prelude = R"(
#include <stdint.h>
#include <string.h>
typedef uint32_t u;
typedef int32_t s;
static float number(u bits) { float x; memcpy(&x, &bits, sizeof x); return x; }
static u bits(float x) { u b; memcpy(&b, &x, sizeof b); return b; }
#define OP(name, result) static u name(u a, u b) { return result; }
#define UNARY(name, result) static u name(u a) { return result; }
#define INTEGER(name, result) OP(name##_s, result) OP(name##_u, result)
#define FLOAT(name, op) OP(name##_f, bits(number(a) op number(b)))
#define COMPARE(name, op) \
  OP(name##_s, (s)a op (s)b) OP(name##_u, a op b) OP(name##_f, number(a) op number(b))
INTEGER(add, a + b) INTEGER(sub, a - b) INTEGER(mul, a * b)
FLOAT(add, +) FLOAT(sub, -) FLOAT(mul, *) FLOAT(div, /)
OP(div_u, b == 0 ? ~0u : a / b) OP(rem_u, b == 0 ? a : a % b)
OP(div_s, b == 0 ? ~0u : b == ~0u ? 0u - a : (u)((s)a / (s)b))
OP(rem_s, b == 0 ? a : b == ~0u ? 0u : (u)((s)a % (s)b))
INTEGER(and, a & b) INTEGER(or, a | b) INTEGER(xor, a ^ b)
INTEGER(shl, a << (b & 31)) OP(shr_u, a >> (b & 31)) OP(shr_s, (u)((s)a >> (b & 31)))
INTEGER(rotl, a << (b & 31) | a >> (-b & 31)) INTEGER(rotr, a >> (b & 31) | a << (-b & 31))
OP(mulhi_u, (u)((uint64_t)a * b >> 32)) OP(mulhi_s, (u)((int64_t)(s)a * (s)b >> 32))
COMPARE(eq, ==) COMPARE(ne, !=) COMPARE(lt, <) COMPARE(le, <=) COMPARE(gt, >) COMPARE(ge, >=)
OP(min_s, lt_s(b, a) ? b : a) OP(min_u, lt_u(b, a) ? b : a) OP(min_f, lt_f(b, a) ? b : a)
OP(max_s, lt_s(a, b) ? b : a) OP(max_u, lt_u(a, b) ? b : a) OP(max_f, lt_f(a, b) ? b : a)
INTEGER(exchange, b)
UNARY(neg_s, 0u - a) UNARY(neg_u, 0u - a) UNARY(neg_f, a ^ 0x80000000u)
UNARY(abs_s, (s)a < 0 ? 0u - a : a) UNARY(abs_u, a) UNARY(abs_f, a & 0x7fffffffu)
static u popcount(u a) { u n = 0; for (; a != 0; a >>= 1) n += a & 1; return n; }
static u clz(u a) { u n = 32; for (; a != 0; a >>= 1) --n; return n; }
static u ctz(u a) { return a == 0 ? 32 : popcount((a & -a) - 1); }
static u saturate(float x, double low, double high) {
  return x != x ? 0 : (u)(int64_t)(x < low ? low : x > high ? high : x);
}
static uint64_t trips(int64_t lo, int64_t hi, int64_t step) {
  const int64_t distance = step > 0 ? hi - lo : lo - hi;
  return distance <= 0 ? 0 : (uint64_t)((distance - 1) / (step > 0 ? step : -step) + 1);
}
)";

/// What the emitted function `run` is. Gives 0 or the number of the check that failed, for an
/// access with `index`; adds to `threads`.
using Run = std::uint32_t(const std::uint32_t* scalars, void* const* arrays,
                          const std::uint64_t* sizes, std::int64_t* index, std::uint64_t* threads);

const char* element_type(Kind k) {
  switch (k) {
    case Kind::i8: return "int8_t";
    case Kind::i16: return "int16_t";
    case Kind::i1:
    case Kind::u8: return "uint8_t";
    case Kind::u16: return "uint16_t";
    default: return "u";
  }
}

/// An expression for a register content, wrapped to the type.
std::string wrapped(Type t, const std::string& x) {
  return t.bits() == 8 || t.bits() == 16 ? std::string("(u)(") + element_type(t.kind) + ")(" + x + ")" : x;
}

/// The C function of an operation on a type.
std::string function(const std::string& name, Type t) {
  return name + (t.is_float() ? "_f" : t.is_signed() ? "_s" : "_u");
}

class Emitter {
 public:
  std::string text;
  std::vector<const Op*> checks;  ///< the op that check i + 1 belongs to

  explicit Emitter(const Module& module) {
    text = prelude;
    text += "u run(const u* scalars, void* const* arrays, const uint64_t* sizes, int64_t* index,\n      uint64_t* threads) {\n";
    line("*threads += 1;");
    for (const DramArray& array : signature_of(module).arrays) {
      const std::string i = std::to_string(names_.size()), name = "a" + i;
      line(element_type(array.element.kind) + ("* const " + name) + " = arrays[" + i + "];");
      line("const uint64_t " + name + "_size = sizes[" + i + "];");
      names_[array.value] = name;
    }
    const Block& main = module.find_func("main")->body();
    for (unsigned i = 0; i < main.num_args(); ++i)
      names_[main.arg(i)] = "scalars[" + std::to_string(i) + "]";
    block(main);
    text += "}\n";
  }

 private:
  [[noreturn]] static void refuse(const Op& op) {
    throw Error(Exit::program, op.loc(),
                "backend 'example-backend' does not support '" + op.name() + "'");
  }

  void line(const std::string& code) { text.append(2 * depth_, ' ').append(code).append("\n"); }
  void open(const std::string& code) { line(code + "{"), ++depth_; }
  void close(const std::string& code = "") { --depth_, line("}" + code); }

  const std::string& name(const Value* v) const { return names_.at(v); }
  /// As a signed or unsigned number that C compares, converts and widens.
  std::string number(const Value* v) const { return (v->type().is_signed() ? "(s)" : "") + name(v); }

  std::string declare(const Value* v, const std::string& initial, const char* qualifier = "") {
    const std::string fresh = "v" + std::to_string(values_++);
    line(qualifier + ("u " + fresh) + " = " + initial + ";");
    return names_[v] = fresh;
  }
  void declare_results(const Op& op) {
    for (const auto& result : op.results()) {
      if (!result->type().is_scalar()) refuse(op);
      declare(result.get(), "0");
    }
  }
  void assign_results(const Op& op, const Op& from, unsigned first = 0) {
    for (unsigned i = 0; i < op.num_results(); ++i)
      line(name(op.result(i)) + " = " + name(from.operand(first + i)) + ";");
  }
  void check(const std::string& wrong, const Op& op) {
    checks.push_back(&op);
    line("if (" + wrong + ") return " + std::to_string(checks.size()) + ";");
  }

  void block(const Block& block) {
    for (const Op& op : block) emit(op);
  }

  void emit(const Op& op) {
    if (op.name().starts_with("arith.")) {
      arith(op);
    } else if (op.is(thread_if)) {
      declare_results(op);
      open("if (" + name(op.operand(0)) + ") ");
      block(op.body(0));
      close(" else {"), ++depth_;
      block(op.body(1));
      close();
    } else if (op.is(thread_while)) {
      for (unsigned i = 0; i < op.num_operands(); ++i)
        declare(op.body(0).arg(i), name(op.operand(i)));
      declare_results(op);
      open("for (;;) ");
      block(op.body(0));
      if (op.body(0).terminator()->is(thread_condition)) block(op.body(1));
      close();
    } else if (op.is(thread_condition)) {
      const Op& loop = *op.parent_op();
      open("if (!" + name(op.operand(0)) + ") ");
      assign_results(loop, op, 1);
      line("break;");
      close();
      for (unsigned i = 1; i < op.num_operands(); ++i)
        names_[loop.body(1).arg(i - 1)] = name(op.operand(i));
    } else if (op.is(thread_foreach)) {
      foreach (op);
    } else if (op.is(thread_replicate)) {
      declare_results(op);
      open("");
      block(op.body());
      close();
    } else if (op.is(thread_yield)) {
      yield(op);
    } else if (op.is(thread_exit)) {
      line(end_of_thread_);
    } else if (op.is(thread_return)) {
      line("return 0;");
    } else if (op.is(mem_sram_alloc)) {
      const std::string sram = names_[op.result()] = "m" + std::to_string(values_++);
      const Type type = op.result()->type();
      line("enum { " + sram + "_size = " + std::to_string(type.size) + " };");
      line("static " + std::string(element_type(type.element)) + " " + sram + "[" + sram + "_size];");
      line("memset(" + sram + ", 0, sizeof " + sram + ");");
    } else if (op.is(mem_dram_load) || op.is(mem_sram_load) || op.is(mem_dram_store) ||
               op.is(mem_sram_store) || op.is(mem_dram_atomic) || op.is(mem_sram_atomic)) {
      access(op);
    } else if (!op.is(mem_sram_free)) {
      refuse(op);
    }
  }

  void arith(const Op& op) {
    const Type type = op.result()->type();
    const std::string kind = op.name().substr(6);
    const auto x = [&](unsigned i) { return name(op.operand(i)); };
    std::string value;
    if (op.is(arith_constant)) {
      names_[op.result()] = std::to_string(constant_bits(op)) + "u";
      return;
    }
    const Type from = op.operand(0)->type();
    if (op.is(arith_select)) {
      value = x(0) + " ? " + x(1) + " : " + x(2);
    } else if (op.is(arith_cast)) {
      const Range range = type.is_integer() ? range_of_type(type) : Range{};
      if (from == type)
        value = x(0);
      else if (type == type_i1)
        value = from.is_float() ? "number(" + x(0) + ") != 0" : x(0) + " != 0";
      else if (from.is_float())
        value = "saturate(number(" + x(0) + "), " + std::to_string(range.lo) + ".0, " +
                std::to_string(range.hi) + ".0)";
      else
        value = type.is_float() ? "bits((float)" + number(op.operand(0)) + ")" : wrapped(type, x(0));
    } else if (op.is(arith_popcount) || op.is(arith_clz) || op.is(arith_ctz)) {
      value = kind + "(" + x(0) + ")";
    } else {
      value = function(op.is(arith_cmp) ? op.str_attr("pred") : kind, from) + "(" + x(0);
      value = wrapped(type, value + (op.num_operands() == 2 ? ", " + x(1) : "") + ")");
    }
    declare(op.result(), value, "const ");
  }
