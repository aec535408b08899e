/// Evaluates the size expressions of DRAM declarations in 64 bits.
#include <fmt/format.h>

#include <bit>

#include "data.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

__extension__ using Wide = __int128;

class Evaluator {
 public:
  Evaluator(const std::vector<ScalarArg>& scalars, const DramArray& array)
      : scalars_(scalars), array_(array) {}

  std::int64_t eval(const Attr& e) const {
    if (const std::int64_t* i = e.as_int()) return *i;
    if (const std::string* name = e.as_string()) return parameter(*name);
    const Attr::Array* list = e.as_array();
    if (!list || list->empty() || !(*list)[0].as_string()) fail("is malformed");
    const std::string& op = *(*list)[0].as_string();
    const auto arg = [&](std::size_t i) {
      if (i >= list->size()) fail("is malformed");
      return eval((*list)[i]);
    };
    if (op == "?:") return arg(1) != 0 ? arg(2) : arg(3);
    if (op == "&&") return arg(1) != 0 && arg(2) != 0;
    if (op == "||") return arg(1) != 0 || arg(2) != 0;
    const std::int64_t a = arg(1);
    if (op == "neg") return narrow(-static_cast<Wide>(a));
    if (op == "~") return ~a;
    if (op == "!") return a == 0;
    if (op == "abs") return narrow(a < 0 ? -static_cast<Wide>(a) : a);
    const std::int64_t b = arg(2);
    if (op == "+") return narrow(static_cast<Wide>(a) + b);
    if (op == "-") return narrow(static_cast<Wide>(a) - b);
    if (op == "*") return narrow(static_cast<Wide>(a) * b);
    if (op == "/") return b == 0 ? -1 : narrow(static_cast<Wide>(a) / b);
    if (op == "%") return b == 0 ? a : static_cast<std::int64_t>(static_cast<Wide>(a) % b);
    if (op == "<<") return narrow(static_cast<Wide>(a) * (std::int64_t{1} << (b & 31)));
    if (op == ">>") return a >> (b & 31);
    if (op == "&") return a & b;
    if (op == "|") return a | b;
    if (op == "^") return a ^ b;
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    if (op == ">=") return a >= b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "min") return b < a ? b : a;
    if (op == "max") return a < b ? b : a;
    if (op == "clamp") return std::min(std::max(a, b), arg(3));
    fail(fmt::format("has an unknown operation '{}'", op));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Exit::program, array_.loc,
                fmt::format("the size of array '{}' {}", array_.name, what));
  }
  std::int64_t narrow(Wide v) const {
    if (v < INT64_MIN || v > INT64_MAX) fail("overflows 64 bits");
    return static_cast<std::int64_t>(v);
  }
  std::int64_t parameter(const std::string& name) const {
    for (const ScalarArg& s : scalars_) {
      if (s.name != name) continue;
      if (s.type.is_float()) fail(fmt::format("uses the float parameter '{}'", name));
      return s.type.is_signed() ? std::int64_t{static_cast<std::int32_t>(s.bits)}
                                : std::int64_t{s.bits};
    }
    fail(fmt::format("uses '{}', which is no parameter of main", name));
  }

  const std::vector<ScalarArg>& scalars_;
  const DramArray& array_;
};

}  // namespace

std::int64_t evaluate_size(const Attr& size, const std::vector<ScalarArg>& scalars,
                           const DramArray& array) {
  return Evaluator(scalars, array).eval(size);
}

}  // namespace revet
