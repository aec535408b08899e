/// One failing module for each numbered check of the verifier.
#include <catch2/catch.hpp>

#include "revet/text.hpp"

using namespace revet;

namespace {

std::vector<std::string> violations(const std::string& text) {
  SourceManager sources;
  Diagnostics parse_errors;
  const auto m = parse_module(sources.add("v.rir", text), sources, parse_errors);
  for (const Diagnostic& d : parse_errors.all()) INFO(d.message);
  REQUIRE(m);
  Diagnostics d;
  verify(*m, d);
  std::vector<std::string> out;
  for (const Diagnostic& e : d.all()) out.push_back(e.message);
  return out;
}

/// A main around the ops.
std::string in_main(const std::string& ops) {
  return "%a = mem.dram() {sym = \"a\"} : () -> (dram<i32>)\n"
         "thread.func() {args = [\"n\"], result = void, sym = \"main\"} ({\n^bb0(%n: i32):\n" +
         ops + "thread.return() : () -> ()\n}) : () -> ()\n";
}

void expect(const std::string& text, const std::string& message) {
  const auto found = violations(text);
  CAPTURE(found);
  REQUIRE(found.size() == 1);
  CHECK(found[0] == message);
}

}  // namespace

TEST_CASE("a right module has no violations") {
  CHECK(violations(in_main("%x = mem.dram_load(%a, %n) : (dram<i32>, i32) -> (i32)\n")).empty());
}

TEST_CASE("check 1: counts of operands, results, regions, successors") {
  expect(in_main("%x = arith.add(%n) : (i32) -> (i32)\n"),
         "arith.add: expects 2 operands, has 1 [verifier check 1]");
  expect(in_main("arith.add(%n, %n) : (i32, i32) -> ()\n"),
         "arith.add: expects 1 results, has 0 [verifier check 1]");
}

TEST_CASE("check 2: attributes") {
  expect(in_main("%x = arith.cmp(%n, %n) : (i32, i32) -> (i1)\n"),
         "arith.cmp: the attribute 'pred' is missing [verifier check 2]");
  expect(in_main("%x = arith.cmp(%n, %n) {pred = 3} : (i32, i32) -> (i1)\n"),
         "arith.cmp: the attribute 'pred' has the wrong kind [verifier check 2]");
}

TEST_CASE("check 3: blocks end in terminators") {
  expect(in_main("thread.replicate() {n = 2} ({ %x = arith.add(%n, %n) : (i32, i32) -> (i32) }) : "
                 "() -> ()\n"),
         "arith.add: ends a block, but is no terminator [verifier check 3]");
  expect(in_main("thread.exit() : () -> ()\n"),
         "thread.exit: is a terminator in the middle of a block [verifier check 3]");
  expect(in_main("thread.replicate() {n = 2} ({ }) : () -> ()\n"),
         "thread.replicate: has an empty region [verifier check 3]");
}

TEST_CASE("check 4: dominance") {
  expect(in_main("%x = arith.add(%y, %n) : (i32, i32) -> (i32)\n%y = arith.add(%n, %n) : (i32, "
                 "i32) -> (i32)\n"),
         "arith.add: operand 0 (%y) is used where its definition does not dominate [verifier check "
         "4]");
  expect(in_main("thread.replicate() {n = 2} ({ %y = arith.add(%n, %n) : (i32, i32) -> (i32)\n"
                 "thread.yield() : () -> () }) : () -> ()\n%x = arith.neg(%y) : (i32) -> (i32)\n"),
         "arith.neg: operand 0 (%y) is used where its definition does not dominate [verifier check "
         "4]");
}

TEST_CASE("check 5: module level") {
  const auto found = violations("%x = arith.constant() {value = 1} : () -> (i32)\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0] == "arith.constant: stands at module level [verifier check 5]");
}

TEST_CASE("check 6: the ops' own rules") {
  expect(in_main("%x = arith.constant() {value = 300} : () -> (u8)\n"),
         "arith.constant: the value does not fit its type [verifier check 6]");
  expect(in_main("%c = arith.cmp(%n, %n) {pred = \"lt\"} : (i32, i32) -> (i1)\n"
                 "%x = thread.if(%c) ({ thread.yield(%n) : (i32) -> () }, { thread.yield(%c) : "
                 "(i1) -> () }) : (i1) -> (i32)\n"),
         "thread.yield: value 0 has type i1, expected i32 [verifier check 6]");
  expect(
      in_main("%x = mem.dram_atomic(%a, %n, %n) {op = \"ad\"} : (dram<i32>, i32, i32) -> (i32)\n"),
      "mem.dram_atomic: unknown atomic operation \"ad\" (did you mean 'add'?) [verifier check 6]");
  expect(in_main("%x = thread.fork(%n) : (i32) -> (u32)\n"),
         "thread.fork: the result has n's type [verifier check 6]");
}

TEST_CASE("check 6: buffers that share a pointer") {
  const std::string buffers =
      "%s = mem.sram_alloc() : () -> (sram<i32, 4>)\n"
      "%t = mem.sram_alloc(%s) : (sram<i32, 4>) -> (sram<u8, 8>)\n"
      "%u = mem.sram_alloc() : () -> (sram<i32, 4>)\n";
  CHECK(violations(in_main(buffers + "mem.sram_free(%s, %t) : (sram<i32, 4>, sram<u8, 8>) -> ()\n"))
            .empty());
  expect(in_main(buffers + "%v = mem.sram_alloc(%t) : (sram<u8, 8>) -> (sram<u8, 8>)\n"),
         "mem.sram_alloc: the owner must be an mem.sram_alloc without owner [verifier check 6]");
  expect(
      in_main(buffers + "%v = mem.sram_alloc(%n) {predicated = true} : (i32) -> (sram<u8, 8>)\n"),
      "mem.sram_alloc: the predicate must be i1 [verifier check 6]");
  expect(in_main(buffers + "mem.sram_free(%t) : (sram<u8, 8>) -> ()\n"),
         "mem.sram_free: the first buffer must have a pointer of its own [verifier check 6]");
  expect(in_main(buffers + "mem.sram_free(%u, %t) : (sram<i32, 4>, sram<u8, 8>) -> ()\n"),
         "mem.sram_free: the other buffers must share the pointer of the first [verifier check 6]");
}

TEST_CASE("check 6: pointers in buffers") {
  const std::string buffers =
      "%s = mem.sram_alloc() : () -> (sram<ptr, 2>)\n"
      "%t = mem.sram_alloc() : () -> (sram<u32, 2>)\n";
  CHECK(violations(
            in_main(buffers +
                    "mem.pointer_store(%s, %n, %t) : (sram<ptr, 2>, i32, sram<u32, 2>) -> ()\n"
                    "mem.pointer_load(%s, %n, %t) : (sram<ptr, 2>, i32, sram<u32, 2>) -> ()\n"))
            .empty());
  expect(in_main(buffers +
                 "mem.pointer_store(%t, %n, %s) : (sram<u32, 2>, i32, sram<ptr, 2>) -> ()\n"),
         "mem.pointer_store: operand 0 must be an sram of pointers [verifier check 6]");
  expect(
      in_main(buffers +
              "mem.pointer_load(%s, %t, %t) : (sram<ptr, 2>, sram<u32, 2>, sram<u32, 2>) -> ()\n"),
      "mem.pointer_load: the index must be i32 or u32 [verifier check 6]");
  expect(in_main(buffers + "mem.pointer_load(%s, %n, %n) : (sram<ptr, 2>, i32, i32) -> ()\n"),
         "mem.pointer_load: operand 2 must be an sram [verifier check 6]");
}

TEST_CASE("check 7: symbols and calls") {
  expect(in_main("thread.call() {callee = \"f\"} : () -> ()\n"),
         "thread.call: there is no function 'f' [verifier check 7]");
  expect(in_main("thread.call() {callee = \"main\"} : () -> ()\n"),
         "thread.call: does not fit the parameters or the result of 'main' [verifier check 7]");
  expect(in_main("") + "%b = mem.dram() {sym = \"a\"} : () -> (dram<i32>)\n",
         "mem.dram: 'a' is defined twice [verifier check 7]");
}

TEST_CASE("check 8: the blocks of a function fit together") {
  const auto main = [](const std::string& blocks) {
    return "%a = mem.dram() {sym = \"a\"} : () -> (dram<i32>)\n"
           "thread.func() {args = [\"n\"], result = void, sym = \"main\"} ({\n"
           "^bb0(%n: i32):\n"
           "%c = arith.cmp(%n, %n) {pred = \"eq\"} : (i32, i32) -> (i1)\n" +
           blocks + "}) : () -> ()\n";
  };
  const auto check = [&](const std::string& blocks, const std::string& message) {
    expect(main(blocks), message + " [verifier check 8]");
  };
  const std::string br = "cfg.br()[^bb2] : () -> ()\n";
  const std::string ret = "thread.return() : () -> ()\n";
  const std::string split = "cfg.cond_br(%c)[^bb1, ^bb2] : (i1) -> ()\n";
  const std::string loop = "cfg.loop_br()[^bb1] : () -> ()\n^bb1: ";
  const std::string back = "cfg.loop_br()[^bb1] {back = true} : () -> ()\n";
  const std::string leave = "cfg.loop_exit()[^bb4] {loops = 1} : () -> ()\n^bb4: " + ret;
  const std::string round = loop + "cfg.cond_br(%c)[^bb2, ^bb3] : (i1) -> ()\n^bb2: ";
  const std::string enter = "cfg.foreach_enter(%n, %n, %n)[^bb1, ^bb2] : (i32, i32, i32) -> ()\n";
  const std::string reduce = "cfg.reduce() {reduce = []} : () -> ()\n";
  CHECK(violations(main(split + "^bb1: " + br + "^bb2: " + ret)).empty());
  CHECK(violations(main(round + back + "^bb3: " + leave)).empty());
  CHECK(violations(main(enter + "^bb1(%i: i32): " + reduce + "^bb2: " + ret)).empty());

  check(br + "^bb1: " + br + "^bb2: " + ret, "cfg.br: no path leads to its block");
  check(split + "^bb1: cfg.cond_br(%c)[^bb2, ^bb2] : (i1) -> ()\n^bb2: " + ret,
        "cfg.cond_br: is one of 3 edges into a block: more than two must meet two by two");
  check("cfg.cond_br(%c)[^bb0(%n), ^bb1] : (i1, i32) -> ()\n^bb1: " + ret,
        "cfg.cond_br: leads to the entry of the function");
  check("cfg.loop_br()[^bb2] : () -> ()\n^bb2: " + ret,
        "cfg.loop_br: leads to a block that is no loop header: one needs a cfg.loop_br from "
        "outside and one that goes back");
  check("cfg.br()[^bb1] : () -> ()\n^bb1: cfg.cond_br(%c)[^bb1, ^bb2] : (i1) -> ()\n^bb2: " + ret,
        "cfg.br: is on a path that comes round without a cfg.loop_br {back = true}");
  check(round + back + "^bb3: cfg.loop_exit()[^bb4] {loops = 2} : () -> ()\n^bb4: " + ret,
        "cfg.loop_exit: leaves 2 loops, but stands in 1");
  check(round + back + "^bb3: cfg.exit()[^bb4] {loops = 0} : () -> ()\n^bb4: " + ret,
        "cfg.exit: leaves 0 loops, but stands in 1");
  check(round + back + "^bb3: " + ret, "thread.return: ends a thread inside a loop");
  check(enter + "^bb1(%i: i32): " + ret + "^bb2: " + ret,
        "thread.return: ends a child, which cfg.reduce does");
  check(enter + "^bb1(%i: i32): " + br + "^bb2: " + ret, "cfg.br: meets a path of another thread");
  check(split + "^bb1: " + ret + "^bb2: " + ret, "thread.return: is a second end of the thread");
  check(enter + "^bb1(%i: i32): cfg.reduce(%n) {reduce = [\"+\"]} : (i32) -> ()\n^bb2: " + ret,
        "cfg.reduce: gives the block behind the foreach other values than it takes");
}

TEST_CASE("all violations are collected") {
  CHECK(violations(in_main("%x = arith.constant() {value = 300} : () -> (u8)\n"
                           "%y = arith.constant() {value = 3} : () -> (i1)\n"))
            .size() == 2);
}
