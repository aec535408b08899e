#include <algorithm>
#include <regex>

#include "harness.hpp"

namespace revet::interp::test {
namespace {

/// Every whole word `from`.
std::string replace(const std::string& text, const std::string& from, const std::string& to) {
  return std::regex_replace(text, std::regex(fmt::format("\\b{}\\b", from)), to);
}

TEST_CASE("a while carries several values, also swapped ones") {
  // Fibonacci: (a, b) -> (b, a + b), and a swap that forms a cycle of moves.
  Program p(R"(
%out = mem.dram() {sym = "out"} : () -> (dram<i32>)
thread.func() {sym = "main", args = ["n"], result = void} ({
^bb0(%n: i32):
  %zero = arith.constant() {value = 0} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  %two = arith.constant() {value = 2} : () -> (i32)
  %i, %a, %b, %x, %y = thread.while(%zero, %zero, %one, %one, %two) ({
  ^bb1(%i1: i32, %a1: i32, %b1: i32, %x1: i32, %y1: i32):
    %c = arith.cmp(%i1, %n) {pred = "lt"} : (i32, i32) -> (i1)
    thread.condition(%c, %i1, %a1, %b1, %x1, %y1) : (i1, i32, i32, i32, i32, i32) -> ()
  }, {
  ^bb2(%i2: i32, %a2: i32, %b2: i32, %x2: i32, %y2: i32):
    %s = arith.add(%a2, %b2) : (i32, i32) -> (i32)
    %j = arith.add(%i2, %one) : (i32, i32) -> (i32)
    thread.yield(%j, %b2, %s, %y2, %x2) : (i32, i32, i32, i32, i32) -> ()
  }) : (i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
  mem.dram_store(%out, %zero, %a) : (dram<i32>, i32, i32) -> ()
  mem.dram_store(%out, %one, %b) : (dram<i32>, i32, i32) -> ()
  mem.dram_store(%out, %two, %x) : (dram<i32>, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  p.zeros("out", 3).scalar(0, 11).run();
  CHECK(p.get("out") == List{89, 144, 2});
  CHECK(p.run().threads == 1);
}

TEST_CASE("if yields values, and its arms may end the thread") {
  Program p(R"(
%out = mem.dram() {sym = "out"} : () -> (dram<i32>)
thread.func() {sym = "main", args = [], result = void} ({
  %lo = arith.constant() {value = 0} : () -> (i32)
  %hi = arith.constant() {value = 6} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  %three = arith.constant() {value = 3} : () -> (i32)
  thread.foreach(%lo, %hi, %one) ({
  ^bb0(%i: i32):
    %c = arith.cmp(%i, %three) {pred = "lt"} : (i32, i32) -> (i1)
    %v = thread.if(%c) ({
      %d = arith.add(%i, %three) : (i32, i32) -> (i32)
      thread.yield(%d) : (i32) -> ()
    }, {
      %e = arith.cmp(%i, %three) {pred = "eq"} : (i32, i32) -> (i1)
      thread.if(%e) ({
        thread.exit() : () -> ()
      }, {
        thread.yield() : () -> ()
      }) : (i1) -> ()
      thread.yield(%i) : (i32) -> ()
    }) : (i1) -> (i32)
    mem.dram_store(%out, %i, %v) : (dram<i32>, i32, i32) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  p.array("out", {9, 9, 9, 9, 9, 9});
  CHECK(p.run().threads == 7);
  CHECK(p.get("out") == List{3, 4, 5, 9, 4, 5});
}

TEST_CASE("nested foreach reads every enclosing thread's values and reduces") {
  Program p(R"(
%out = mem.dram() {sym = "out"} : () -> (dram<i32>)
thread.func() {sym = "main", args = ["n", "m"], result = void} ({
^bb0(%n: i32, %m: i32):
  %lo = arith.constant() {value = 0} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  thread.foreach(%lo, %n, %one) ({
  ^bb1(%i: i32):
    %s, %t = thread.foreach(%i, %m, %one) {reduce = ["+", "max"]} ({
    ^bb2(%j: i32):
      %p = arith.mul(%i, %j) : (i32, i32) -> (i32)
      %q = arith.add(%p, %n) : (i32, i32) -> (i32)
      thread.yield(%q, %j) : (i32, i32) -> ()
    }) : (i32, i32, i32) -> (i32, i32)
    %u = arith.add(%s, %t) : (i32, i32) -> (i32)
    mem.dram_store(%out, %i, %u) : (dram<i32>, i32, i32) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  for (const char* seed : {"0", "1", "77"}) {
    p.zeros("out", 3).scalar(0, 3).scalar(1, 2).option("seed", seed);
    CHECK(p.run().threads == 1 + 3 + 2 + 1);
    // i = 2 has no children: the largest of nothing is the smallest int.
    CHECK(p.get("out") == List{3 + 3 + 1, 4 + 1, INT32_MIN});
    CHECK(p.messages().empty());
  }
}

const char* const range = R"(
%out = mem.dram() {sym = "out"} : () -> (dram<i32>)
thread.func() {sym = "main", args = ["lo", "hi", "step"], result = void} ({
^bb0(%lo: i32, %hi: i32, %step: i32):
  %zero = arith.constant() {value = 0} : () -> (i32)
  %ten = arith.constant() {value = 10} : () -> (i32)
  thread.foreach(%lo, %hi, %step) ({
  ^bb1(%i: i32):
    %old = mem.dram_load(%out, %zero) : (dram<i32>, i32) -> (i32)
    %up = arith.mul(%old, %ten) : (i32, i32) -> (i32)
    %new = arith.add(%up, %i) : (i32, i32) -> (i32)
    mem.dram_store(%out, %zero, %new) : (dram<i32>, i32, i32) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)";

TEST_CASE("children run in the order of their indices, up and down") {
  Program p(range);
  p.option("races", "off");
  p.zeros("out", 1).scalar(0, 1).scalar(1, 8).scalar(2, 3).run();
  CHECK(p.get("out") == List{147});
  p.zeros("out", 1).scalar(0, 9).scalar(1, 2).scalar(2, -2).run();
  CHECK(p.get("out") == List{9753});
}

TEST_CASE("a seed changes the order and is repeatable") {
  Program p(range);
  p.option("races", "off").scalar(0, 1).scalar(1, 9).scalar(2, 1);
  std::set<List> orders;
  for (unsigned seed = 1; seed < 12; ++seed) {
    p.option("seed", std::to_string(seed));
    p.zeros("out", 1).run();
    const List first = p.get("out");
    p.zeros("out", 1).run();
    CHECK(p.get("out") == first);
    orders.insert(first);
  }
  CHECK(orders.size() > 8);
}

TEST_CASE("a step of 0 is an error, also for an empty range") {
  Program p(range);
  p.zeros("out", 1).scalar(0, 4).scalar(1, 4).scalar(2, 0);
  CHECK(p.error() == "1:7: foreach step is 0");
}

TEST_CASE("max-steps ends an endless loop") {
  Program p(R"(
thread.func() {sym = "main", args = [], result = void} ({
  %yes = arith.constant() {value = 1} : () -> (i1)
  thread.while() ({
    thread.condition(%yes) : (i1) -> ()
  }, {
    thread.yield() : () -> ()
  }) : () -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  p.option("max-steps", "1000");
  const std::string error = p.error();
  // Where it stood: at the loop's condition or its end.
  const bool in_loop = error.starts_with("3:5:") || error.starts_with("3:7:");
  CHECK(in_loop);
  CHECK(error.find("the program did not end within max-steps = 1000 operations") !=
        std::string::npos);
}

// Forks twice; every thread appends its number to a decimal.
const char* const forks = R"(
%out = mem.dram() {sym = "out"} : () -> (dram<i32>)
thread.func() {sym = "main", args = ["n", "m"], result = void} ({
^bb0(%n: i32, %m: i32):
  %zero = arith.constant() {value = 0} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  %ten = arith.constant() {value = 10} : () -> (i32)
  %sum = thread.foreach(%zero, %one, %one) {reduce = ["+"]} ({
  ^bb1(%k: i32):
    %i = thread.fork(%n) : (i32) -> (i32)
    %j = thread.fork(%m) : (i32) -> (i32)
    %a = arith.mul(%i, %m) : (i32, i32) -> (i32)
    %b = arith.add(%a, %j) : (i32, i32) -> (i32)
    %old = mem.dram_load(%out, %zero) : (dram<i32>, i32) -> (i32)
    %up = arith.mul(%old, %ten) : (i32, i32) -> (i32)
    %new = arith.add(%up, %b) : (i32, i32) -> (i32)
    mem.dram_store(%out, %zero, %new) : (dram<i32>, i32, i32) -> ()
    thread.yield(%one) : (i32) -> ()
  }) : (i32, i32, i32) -> (i32)
  mem.dram_store(%out, %one, %sum) : (dram<i32>, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)";

TEST_CASE("forks run depth-first in the order of i") {
  Program p(forks);
  p.option("races", "off").zeros("out", 2).scalar(0, 3).scalar(1, 2);
  CHECK(p.run().threads == 1 + 1 + 2 + 3);
  CHECK(p.get("out") == List{12345, 6});
}

TEST_CASE("fork of nothing ends the thread, and of one goes on") {
  Program p(forks);
  p.option("races", "off").zeros("out", 2).scalar(0, -1).scalar(1, 2);
  CHECK(p.run().threads == 2);
  CHECK(p.get("out") == List{0, 0});
  p.zeros("out", 2).scalar(0, 1).scalar(1, 1);
  CHECK(p.run().threads == 2);
  CHECK(p.get("out") == List{0, 1});
}

TEST_CASE("a seed shuffles forks without losing one") {
  Program p(forks);
  p.option("races", "off").scalar(0, 3).scalar(1, 3);
  std::set<List> orders;
  for (unsigned seed = 1; seed < 10; ++seed) {
    p.option("seed", std::to_string(seed)).zeros("out", 2).run();
    const List out = p.get("out");
    CHECK(out[1] == 9);
    std::string digits = std::to_string(out[0]);
    if (digits.size() == 8) digits += '0';
    std::sort(digits.begin(), digits.end());
    CHECK(digits == "012345678");
    orders.insert(out);
  }
  CHECK(orders.size() > 6);
}

TEST_CASE("a fork in a loop keeps each thread's own state") {
  // Every thread doubles itself three times: eight threads, each with another path.
  Program p(R"(
%out = mem.dram() {sym = "out"} : () -> (dram<i32>)
thread.func() {sym = "main", args = [], result = void} ({
  %zero = arith.constant() {value = 0} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  %two = arith.constant() {value = 2} : () -> (i32)
  %three = arith.constant() {value = 3} : () -> (i32)
  thread.foreach(%zero, %one, %one) ({
  ^bb1(%k: i32):
    %n, %path = thread.while(%zero, %zero) ({
    ^bb2(%n1: i32, %p1: i32):
      %c = arith.cmp(%n1, %three) {pred = "lt"} : (i32, i32) -> (i1)
      thread.condition(%c, %n1, %p1) : (i1, i32, i32) -> ()
    }, {
    ^bb3(%n2: i32, %p2: i32):
      %i = thread.fork(%two) : (i32) -> (i32)
      %d = arith.mul(%p2, %two) : (i32, i32) -> (i32)
      %q = arith.add(%d, %i) : (i32, i32) -> (i32)
      %m = arith.add(%n2, %one) : (i32, i32) -> (i32)
      thread.yield(%m, %q) : (i32, i32) -> ()
    }) : (i32, i32) -> (i32, i32)
    %s = thread.foreach(%zero, %path, %one) {reduce = ["+"]} ({
    ^bb4(%x: i32):
      thread.yield(%x) : (i32) -> ()
    }) : (i32, i32, i32) -> (i32)
    mem.dram_store(%out, %path, %s) : (dram<i32>, i32, i32) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  for (const char* seed : {"0", "5"}) {
    p.option("seed", seed).zeros("out", 8);
    CHECK(p.run().threads == 1 + 1 + 7 + 28);
    CHECK(p.get("out") == List{0, 0, 1, 3, 6, 10, 15, 21});
    CHECK(p.messages().empty());
  }
}

TEST_CASE("calls are followed, with a foreach and an exit in the callee") {
  Program p(R"(
%out = mem.dram() {sym = "out"} : () -> (dram<i32>)
thread.func() {sym = "triangle", args = ["n"], result = i32} ({
^bb0(%n: i32):
  %lo = arith.constant() {value = 0} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  %s = thread.foreach(%lo, %n, %one) {reduce = ["+"]} ({
  ^bb1(%j: i32):
    thread.yield(%j) : (i32) -> ()
  }) : (i32, i32, i32) -> (i32)
  thread.return(%s) : (i32) -> ()
}) : () -> ()
thread.func() {sym = "end_if", args = ["c"], result = void} ({
^bb0(%c: i1):
  thread.if(%c) ({
    thread.exit() : () -> ()
  }, {
    thread.yield() : () -> ()
  }) : (i1) -> ()
  thread.return() : () -> ()
}) : () -> ()
thread.func() {sym = "main", args = [], result = void} ({
  %lo = arith.constant() {value = 0} : () -> (i32)
  %hi = arith.constant() {value = 5} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  thread.foreach(%lo, %hi, %one) ({
  ^bb2(%i: i32):
    %a = thread.call(%i) {callee = "triangle"} : (i32) -> (i32)
    %b = thread.call(%hi) {callee = "triangle"} : (i32) -> (i32)
    %c = arith.add(%a, %b) : (i32, i32) -> (i32)
    %d = arith.cmp(%i, %one) {pred = "eq"} : (i32, i32) -> (i1)
    thread.call(%d) {callee = "end_if"} : (i1) -> ()
    mem.dram_store(%out, %i, %c) : (dram<i32>, i32, i32) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  p.zeros("out", 5).run();
  CHECK(p.get("out") == List{10, 0, 11, 13, 16});
}

TEST_CASE("float reductions follow the tree of blocks") {
  Program p(R"(
%in = mem.dram() {sym = "in"} : () -> (dram<f32>)
%out = mem.dram() {sym = "out"} : () -> (dram<f32>)
thread.func() {sym = "main", args = ["n"], result = void} ({
^bb0(%n: i32):
  %lo = arith.constant() {value = 0} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  %s = thread.foreach(%lo, %n, %one) {reduce = ["+"]} ({
  ^bb1(%i: i32):
    %v = mem.dram_load(%in, %i) : (dram<f32>, i32) -> (f32)
    thread.yield(%v) : (f32) -> ()
  }) : (i32, i32, i32) -> (f32)
  mem.dram_store(%out, %lo, %s) : (dram<f32>, i32, f32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  const std::uint32_t n = 2 * reduction_block + 10;
  std::vector<std::int64_t> values;
  float total = 0, block = 0, serial = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const float x = 1.0f / static_cast<float>(3 * i + 1);
    values.push_back(as_bits(x));
    if (i % reduction_block == 0) {
      total += block;
      block = 0;
    }
    block += x;
    serial += x;
  }
  total += block;
  REQUIRE(total != serial);
  p.array("in", values).zeros("out", 1).scalar(0, n).run();
  CHECK(p.get("out") == List{as_bits(total)});
}

TEST_CASE("repetitions start from the original contents") {
  Program p(range);
  p.option("races", "off").zeros("out", 1).scalar(0, 1).scalar(1, 4).scalar(2, 1);
  CHECK(p.run(3).seconds.size() == 3);
  CHECK(p.get("out") == List{123});
}

TEST_CASE("an operation without a meaning is refused by name") {
  static const OpInfo mystery = [] {
    OpInfo info;
    info.name = "test.mystery";
    info.effects = [](const Op&, std::vector<Effect>&) {};
    return info;
  }();
  OpRegistry::get().add(mystery, "test");
  Program p(R"(
thread.func() {sym = "main", args = [], result = void} ({
  test.mystery() : () -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  CHECK(p.error() == "2:3: the interpreter has no meaning for the operation 'test.mystery'");
}

TEST_CASE("arithmetic equals the functions of scalar.hpp") {
  const char* const names[] = {"add", "sub", "mul", "div", "rem",   "and",  "or",  "xor",
                               "shl", "shr", "min", "max", "mulhi", "rotl", "rotr"};
  const Scalar ops[] = {Scalar::add,  Scalar::sub, Scalar::mul,   Scalar::div,  Scalar::rem,
                        Scalar::and_, Scalar::or_, Scalar::xor_,  Scalar::shl,  Scalar::shr,
                        Scalar::min,  Scalar::max, Scalar::mulhi, Scalar::rotl, Scalar::rotr};
  const char* const preds[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const std::int64_t samples[] = {0, 1, -1, 7, 31, 33, INT32_MIN, INT32_MAX, 1 << 20};
  for (const Kind kind : {Kind::i32, Kind::u32}) {
    std::string text = R"(
%out = mem.dram() {sym = "out"} : () -> (dram<T>)
thread.func() {sym = "main", args = ["a", "b"], result = void} ({
^bb0(%a: T, %b: T):
)";
    unsigned at = 0;
    const auto add = [&](const char* name, const char* lines) {
      std::string more = lines;
      more += R"(
  %at.I = arith.constant() {value = I} : () -> (i32)
  mem.dram_store(%out, %at.I, %v.I) : (dram<T>, i32, T) -> ()
)";
      more = replace(more, "OP", name);
      text += replace(more, "I", std::to_string(at++));
    };
    for (const char* name : names) add(name, "  %v.I = arith.OP(%a, %b) : (T, T) -> (T)");
    for (const char* pred : preds)
      add(pred, R"(
  %c.I = arith.cmp(%a, %b) {pred = "OP"} : (T, T) -> (i1)
  %v.I = arith.cast(%c.I) : (i1) -> (T))");
    text += R"(
  thread.return() : () -> ()
}) : () -> ()
)";
    Program p(replace(text, "T", Type{kind}.str()));
    for (const std::int64_t a : samples) {
      for (const std::int64_t b : samples) {
        p.zeros("out", at).scalar(0, a).scalar(1, b).run();
        const List out = p.get("out");
        const auto ua = static_cast<std::uint32_t>(a), ub = static_cast<std::uint32_t>(b);
        for (unsigned i = 0; i < std::size(ops); ++i)
          CHECK(static_cast<std::uint32_t>(out[i]) == apply(ops[i], kind, ua, ub));
        for (unsigned i = 0; i < std::size(preds); ++i)
          CHECK(static_cast<std::uint32_t>(out[std::size(ops) + i]) ==
                apply(static_cast<Scalar>(static_cast<unsigned>(Scalar::eq) + i), kind, ua, ub));
      }
    }
  }
}

}  // namespace
}  // namespace revet::interp::test
