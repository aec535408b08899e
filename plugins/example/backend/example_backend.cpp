/// A backend that emits sequential C and runs it: every thread to its end before the next begins.
///
///   %s = arith.add(%a, %b) : (i8, i8) -> (i8)      int8_t v7 = i_add(v5, v6);
///   %x = mem.sram_load(%t, %s)                     CHECK(at, m4_size, 3)  v8 = m4[at];
///
/// Values are variables of the C type that fits. Integers are computed in 64 bits, where all
/// results are right, and wrap when they are assigned, so nothing is undefined in C. A region is a
/// block. Its yield assigns to variables in front of it. An SRAM is a static array.
///
/// Does not handle: fork, atomics, views and iterators; programs that have them are refused.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "revet/abi.hpp"
#include "revet/ops.hpp"
#include "revet/plugin.hpp"
#include "revet/ranges.hpp"
#include "revet/scalar.hpp"

namespace {
using namespace revet;
using namespace revet::ops;
using std::string, std::to_string;

/// i_NAME on integers and f_NAME on floats are arith.NAME, or arith.cmp with the predicate NAME.
const char* const prelude = R"(#include <math.h>
#include <stdint.h>
#include <string.h>
typedef uint32_t u; typedef uint64_t u64; typedef struct { void* data; u64 size; } array;
#define INT(name, result) static int64_t i_##name(int64_t a, int64_t b) { return result; }
#define FLOAT(name, result) static float f_##name(float a, float b) { return result; }
#define BOTH(name, result) INT(name, result) FLOAT(name, result)
BOTH(add, a + b) BOTH(sub, a - b) INT(mul, (u64)a * b) FLOAT(mul, a * b)
INT(div, b == 0 ? -1 : a / b) FLOAT(div, a / b) INT(rem, b == 0 ? a : a % b)
INT(and, a & b) INT(or, a | b) INT(xor, a ^ b) INT(mulhi, (u64)a * b >> 32) FLOAT(abs, fabsf(a))
INT(shl, (u)a << (b & 31)) INT(rotl, (u)a << (b & 31) | (u)a >> (-b & 31))
INT(shr, a >> (b & 31)) INT(rotr, (u)a >> (b & 31) | (u)a << (-b & 31))
BOTH(min, b < a ? b : a) BOTH(max, a < b ? b : a) BOTH(neg, -a) INT(abs, a < 0 ? -a : a)
BOTH(eq, a == b) BOTH(ne, a != b) BOTH(lt, a < b) BOTH(le, a <= b) BOTH(gt, a > b) BOTH(ge, a >= b)
static int ones(u x) { int n = 0; for (; x != 0; x >>= 1) n += x & 1; return n; }
static int width(u x) { int n = 0; for (; x != 0; x >>= 1) ++n; return n; }
INT(popcount, ones(a)) INT(clz, 32 - width(a)) INT(ctz, (u)a == 0 ? 32 : width(a & -a) - 1)
static float number(u bits) { float f; memcpy(&f, &bits, sizeof f); return f; }
static int64_t fit(float x, double l, double h) { return x != x ? 0 : x < l ? l : x > h ? h : x; }
static u64 trips(int64_t lo, int64_t hi, int64_t step) {
  if (step < 0) return lo > hi ? (lo - hi - 1) / -step + 1 : 0;
  return lo < hi ? (hi - lo - 1) / step + 1 : 0;
}
#define CHECK(at, size, n) if ((u64)(at) >= (size)) { wrong[0] = at; wrong[1] = size; return n; }
// Gives 0 or the number of the check that failed.
u run(const u* args, const array* arrays, int64_t* wrong, u64* threads) {
  *threads = 1;
)";
struct Array {
  void* data;
  std::uint64_t size;
};
using Run = std::uint32_t(const std::uint32_t*, const Array*, std::int64_t*, std::uint64_t*);

string c_type(Type t) {
  if (t == type_i1) return "_Bool";
  return t.is_float() ? "float" : (t.is_signed() ? "int" : "uint") + to_string(t.bits()) + "_t";
}
string literal(Type t, std::uint32_t bits) {
  return t.is_float() ? "number(" + to_string(bits) + "u)" : to_string(number_of(t.kind, bits));
}
string call(const string& operation, Type t, const string& a, const string& b) {
  return (t.is_float() ? "f_" : "i_") + operation + "(" + a + ", " + b + ")";
}

/// How a foreach makes one of its results.
Reduction reduction(const Value& result) {
  const Attr::Array& spellings = *result.def()->attr("reduce")->as_array();
  return reduction_of(*spellings[result.index()].as_string(), result.type().kind);
}
string identity(const Value& result) { return literal(result.type(), reduction(result).identity); }

struct Emitter {
  std::ostringstream code;
  std::vector<const Op*> checks;  ///< check i + 1 is about this op
  std::map<const Value*, string> names;
  string end_of_thread = "return 0;";
  unsigned depth = 1;

  explicit Emitter(const Module& module) {
    code << prelude;
    for (const DramArray& array : signature_of(module).arrays) {
      const string i = to_string(names.size()), a = names[array.value] = "a" + i;
      const bool bytes = array.element == type_i1;  // each false or, whatever it holds, true
      line(bytes ? "uint8_t" : c_type(array.element), "* const ", a, " = arrays[", i, "].data;");
      line("const u64 ", a, "_size = arrays[", i, "].size;");
    }
    const Block& main = module.find_func("main")->body();
    for (const auto& arg : main.args()) {
      const string bits = "args[" + to_string(arg->index()) + "]";
      declare(arg.get(), arg->type().is_float() ? "number(" + bits + ")" : bits);
    }
    block(main);
    code << "}\n";
  }

  template <class... Part>
  void line(const Part&... parts) {
    ((code << string(2 * depth, ' ')) << ... << parts) << '\n';
  }
  void open(const string& head) { line(head, "{"), ++depth; }
  void close() { --depth, line("}"); }
  const string& name(const Value* v) const { return names.at(v); }
  const string& operand(const Op& op, unsigned i) const { return name(op.operand(i)); }
  void assign(const Value* v, const string& value) { line(name(v), " = ", value, ";"); }
  void declare(const Value* v, const string& value) {
    names[v] = "v" + to_string(names.size());
    line(c_type(v->type()), " ", name(v), " = ", value, ";");
  }
  void declare_results(const Op& op) {
    for (const auto& result : op.results()) declare(result.get(), "0");
  }
  void block(const Block& block) {
    for (const Op& op : block) emit(op);
  }

  void emit(const Op& op) {
    if (op.name().starts_with("arith.")) return arith(op);
    if (op.is(thread_if) || op.is(thread_replicate)) {
      declare_results(op);
      for (unsigned i = 0; i < op.num_regions(); ++i) {
        open(op.is(thread_replicate) ? "" : i == 0 ? "if (" + operand(op, 0) + ") " : "else ");
        block(op.body(i));
        close();
      }
    } else if (op.is(thread_while)) {
      for (unsigned i = 0; i < op.num_operands(); ++i) declare(op.body(0).arg(i), operand(op, i));
      declare_results(op);
      open("for (;;) ");
      block(op.body(0));
      if (op.body(0).last()->is(thread_condition)) block(op.body(1));
      close();
    } else if (op.is(thread_condition)) {
      const Op& loop = *op.parent_op();
      for (unsigned i = 1; i < op.num_operands(); ++i) {
        names[loop.body(1).arg(i - 1)] = operand(op, i);
        assign(loop.result(i - 1), operand(op, i));
      }
      line("if (!", operand(op, 0), ") break;");
    } else if (op.is(thread_foreach)) {
      children(op);
    } else if (op.is(thread_yield)) {
      yield(op, *op.parent_op());
    } else if (op.is(thread_exit) || op.is(thread_return)) {
      line(end_of_thread);
    } else {
      memory(op);
    }
  }

  void arith(const Op& op) {
    const Type type = op.result()->type();
    if (op.is(arith_constant)) return declare(op.result(), literal(type, constant_bits(op)));
    const Type from = op.operand(0)->type();
    const string &a = operand(op, 0), &b = operand(op, op.num_operands() - 1);
    string value = a;
    if (op.is(arith_select))
      value += " ? " + operand(op, 1) + " : " + b;
    else if (!op.is(arith_cast))
      value = call(op.is(arith_cmp) ? op.str_attr("pred") : op.name().substr(6), from, a, b);
    else if (from.is_float() && type.is_integer() && type != type_i1)
      value = "fit(" + a + ", " + to_string(range_of_type(type).lo) + ".0, " +
              to_string(range_of_type(type).hi) + ".0)";
    declare(op.result(), value);
  }

  void memory(const Op& op) {
    if (op.is(mem_sram_free)) return;
    if (op.is(mem_sram_alloc)) {
      const Type type = op.result()->type();
      const string m = names[op.result()] = "m" + to_string(names.size());
      line("enum { ", m, "_size = ", type.size, " };");
      line("static ", c_type(type.element_type()), " ", m, "[", m, "_size];");
      return line("memset(", m, ", 0, sizeof ", m, ");");
    }
    const bool load = op.is(mem_dram_load) || op.is(mem_sram_load);
    if (!load && !op.is(mem_dram_store) && !op.is(mem_sram_store))
      throw Error(Exit::program, op.loc(),
                  "backend 'example-backend' does not support '" + op.name() + "'");
    const string& m = operand(op, 0);
    declare_results(op);
    open(predicate(op) ? "if (" + name(predicate(op)) + ") " : "");
    line("const int64_t at = ", operand(op, 1), ";");
    checks.push_back(&op);
    line("CHECK(at, ", m, "_size, ", checks.size(), ")");
    line(load ? name(op.result()) + " = " + m + "[at];" : m + "[at] = " + operand(op, 2) + ";");
    close();
  }

  /// A foreach. It reduces blocks of iterations first (see revet/scalar.hpp).
  void children(const Op& op) {
    const string size = to_string(reduction_block), lo = operand(op, 0), step = operand(op, 2);
    const string trips = "trips(" + lo + ", " + operand(op, 1) + ", " + step + ")";
    for (const auto& result : op.results()) declare(result.get(), identity(*result));
    checks.push_back(&op);
    line("CHECK(", step, " == 0, 1, ", checks.size(), ")");
    line("*threads += ", trips, ";");
    open("for (u64 block = 0, end = " + trips + "; block < end; block += " + size + ") ");
    for (const auto& r : op.results())
      line(c_type(r->type()), " block_", name(r.get()), " = ", identity(*r), ";");
    open("for (u64 i = block; i < end && i < block + " + size + "; ++i) ");
    declare(op.body().arg(0), "(u)" + lo + " + (u)i * (u)" + step);
    const string outer = std::exchange(end_of_thread, "goto end_" + name(op.body().arg(0)) + ";");
    block(op.body());
    end_of_thread = outer;
    line("end_", name(op.body().arg(0)), ":;");
    close();
    for (const auto& r : op.results()) reduce(*r, name(r.get()), "block_" + name(r.get()));
    close();
  }

  void reduce(const Value& result, const string& total, const string& x) {
    static const std::map<Scalar, const char*> operations = {
        {Scalar::add, "add"},  {Scalar::mul, "mul"}, {Scalar::and_, "and"}, {Scalar::or_, "or"},
        {Scalar::xor_, "xor"}, {Scalar::min, "min"}, {Scalar::max, "max"}};
    line(total, " = ", call(operations.at(reduction(result).op), result.type(), total, x), ";");
  }

  void yield(const Op& op, const Op& parent) {
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      if (parent.is(thread_foreach))
        reduce(*parent.result(i), "block_" + name(parent.result(i)), operand(op, i));
      else if (parent.is(thread_while))
        line(c_type(op.operand(i)->type()), " next", i, " = ", operand(op, i), ";");
      else
        assign(parent.result(i), operand(op, i));
    }
    for (unsigned i = 0; parent.is(thread_while) && i < op.num_operands(); ++i)
      assign(parent.body(0).arg(i), "next" + to_string(i));
  }
};

/// Compiles the code and loads it for good.
Run* load(const string& code) {
  const char* const temporary = std::getenv("TMPDIR");
  string folder = string(temporary != nullptr ? temporary : "/tmp") + "/example-backend-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw Error(Exit::usage, "cannot make folder " + folder);
  const string source = folder + "/program.c", library = folder + "/program.so";
  std::ofstream(source) << code;
  const string command = "${CC:-cc} -std=c11 -O1 -w -ffp-contract=off -fPIC -shared -o '" +
                         library + "' '" + source + "'";
  const bool compiled = std::system(command.c_str()) == 0;
  void* const handle = compiled ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  std::filesystem::remove_all(folder);
  if (!compiled) throw Error(Exit::usage, "the C compiler ($CC, or cc) failed: " + command);
  if (handle == nullptr) throw Error(Exit::usage, dlerror());
  return reinterpret_cast<Run*>(dlsym(handle, "run"));
}

RunResult run(const Module& module, Launch& launch, BackendContext& context) {
  const Emitter emitter(module);
  Run* const program = load(emitter.code.str());
  std::vector<std::uint32_t> args;
  std::vector<Array> arrays;
  for (const ScalarArg& arg : launch.scalars) args.push_back(arg.bits);
  for (const ArrayData& array : launch.arrays) arrays.push_back({array.data(), array.count});
  RunResult result;
  for (unsigned rep = 0; rep < context.reps; ++rep) {
    if (rep != 0) launch.restore();
    std::int64_t wrong[2] = {0, 0};
    const auto start = std::chrono::steady_clock::now();
    const auto failed = program(args.data(), arrays.data(), wrong, &result.threads);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (failed != 0) {
      const Op& op = *emitter.checks[failed - 1];
      if (op.is(thread_foreach)) throw Error(Exit::program, op.loc(), "foreach step is 0");
      throw Error(Exit::program, op.loc(),
                  "index " + to_string(wrong[0]) + " is outside array '" +
                      memory_name(op.operand(0)) + "' of size " + to_string(wrong[1]) +
                      (op.num_results() != 0 ? " (read)" : " (write)"));
    }
    result.seconds.push_back(taken.count());
  }
  return result;
}

void register_plugin(Registry& registry) {
  BackendInfo info;
  info.name = "example-backend";
  info.summary = "Sequential C";
  info.requires_ = {"inlined"};
  info.emit = [](const Module& module, BackendContext&) {
    return std::vector<EmittedFile>{{".c", Emitter(module).code.str()}};
  };
  info.run = run;
  registry.add_backend(std::move(info));
}

}  // namespace

REVET_PLUGIN("revet-backend-example-backend", "Sequential C", register_plugin)
