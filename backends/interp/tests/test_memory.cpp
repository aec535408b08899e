#include "harness.hpp"

namespace revet::interp::test {
namespace {

/// A main with arrays `in` and `out` of i32 around `body`, with parameters %p and %q and constants
/// %c0 to %c9.
std::string program(const std::string& body) {
  std::string text = R"(
%in = mem.dram() {sym = "in"} : () -> (dram<i32>)
%out = mem.dram() {sym = "out"} : () -> (dram<i32>)
thread.func() {sym = "main", args = ["p", "q"], result = void} ({
^bb0(%p: i32, %q: i32):
  %yes = arith.constant() {value = 1} : () -> (i1)
  %no = arith.constant() {value = 0} : () -> (i1)
  %u1 = arith.constant() {value = 1} : () -> (u32)
)";
  for (unsigned i = 0; i < 10; ++i)
    text += fmt::format("  %c{0} = arith.constant() {{value = {0}}} : () -> (i32)\n", i);
  text += body;
  return text + "  thread.return() : () -> ()\n}) : () -> ()\n";
}

/// Copies `n` elements of a memory to `out`: loads with the op (memory, index).
std::string copy_to_out(const std::string& load, const std::string& type, unsigned n) {
  std::string text;
  for (unsigned i = 0; i < n; ++i)
    text += fmt::format(R"(
  %l{0} = {1}(%v, %c{0}) : ({2}, i32) -> (i32)
  mem.dram_store(%out, %c{0}, %l{0}) : (dram<i32>, i32, i32) -> ()
)",
                        i, load, type);
  return text;
}

TEST_CASE("a read view holds the valid elements inside the array, else zeros") {
  Program p(
      program("  %v = mem.read_view(%in, %p, %q) {name = \"v\"} : (dram<i32>, i32, i32) -> "
              "(view<i32, 4>)\n" +
              copy_to_out("mem.view_load", "view<i32, 4>", 4) +
              "  mem.view_close(%v) : (view<i32, 4>) -> ()\n"));
  const auto view = [&](std::int64_t base, std::int64_t valid) {
    p.array("in", {10, 11, 12, 13, 14, 15}).zeros("out", 4).scalar(0, base).scalar(1, valid).run();
    return p.get("out");
  };
  CHECK(view(1, 4) == List{11, 12, 13, 14});
  CHECK(view(1, 100) == List{11, 12, 13, 14});
  CHECK(view(1, 2) == List{11, 12, 0, 0});
  CHECK(view(1, -5) == List{0, 0, 0, 0});
  CHECK(view(4, 4) == List{14, 15, 0, 0});
  CHECK(view(-2, 4) == List{0, 0, 10, 11});
  CHECK(view(-2, 3) == List{0, 0, 10, 0});
  CHECK(view(INT32_MIN, 4) == List{0, 0, 0, 0});
  CHECK(view(INT32_MAX, 4) == List{0, 0, 0, 0});
}

TEST_CASE("write and modify views store all valid elements at their close") {
  const std::string store =
      "  mem.view_store(%v, %c1, %c9) : (view<i32, 4>, i32, i32) -> ()\n"
      "  mem.view_store(%v, %c3, %c8) : (view<i32, 4>, i32, i32) -> ()\n"
      "  %x = mem.view_load(%v, %c3) : (view<i32, 4>, i32) -> (i32)\n"
      "  %o = mem.dram_load(%out, %c1) : (dram<i32>, i32) -> (i32)\n"
      "  mem.view_close(%v) : (view<i32, 4>) -> ()\n"
      "  mem.dram_store(%in, %c0, %x) : (dram<i32>, i32, i32) -> ()\n"
      "  mem.dram_store(%in, %c1, %o) : (dram<i32>, i32, i32) -> ()\n";
  const auto open = [](const std::string& mode) {
    return "  %v = mem." + mode + "(%out, %p, %q) : (dram<i32>, i32, i32) -> (view<i32, 4>)\n";
  };
  Program w(program(open("write_view") + store));
  w.zeros("in", 2).array("out", {1, 2, 3, 4, 5}).scalar(0, 0).scalar(1, 3).run();
  CHECK(w.get("out") == List{0, 9, 0, 4, 5});
  // Element 3 is not valid: it ignores the write. The array changes at the close.
  CHECK(w.get("in") == List{0, 2});
  w.zeros("in", 2).array("out", {1, 2, 3, 4, 5}).scalar(0, 3).scalar(1, 4).run();
  CHECK(w.get("out") == List{1, 2, 3, 0, 9});
  w.zeros("in", 2).array("out", {1, 2, 3, 4, 5}).scalar(0, -1).scalar(1, 4).run();
  CHECK(w.get("out") == List{9, 0, 8, 4, 5});

  Program m(program(open("modify_view") + store));
  m.zeros("in", 2).array("out", {1, 2, 3, 4, 5}).scalar(0, 1).scalar(1, 4).run();
  CHECK(m.get("out") == List{1, 2, 9, 4, 8});
  CHECK(m.get("in") == List{8, 2});
}

TEST_CASE("a read iterator skips, fills at the first use, and reads 0 outside") {
  Program p(program(R"(
  %it = mem.read_it(%in, %p) {name = "it"} : (dram<i32>, i32) -> (iter<i32, 4>)
  %k = arith.cast(%q) : (i32) -> (u32)
  mem.dram_store(%in, %c0, %c7) : (dram<i32>, i32, i32) -> ()
  %a = mem.iter_load(%it) : (iter<i32, 4>) -> (i32)
  mem.dram_store(%in, %c1, %c8) : (dram<i32>, i32, i32) -> ()
  mem.iter_next(%it, %k) : (iter<i32, 4>, u32) -> ()
  %b = mem.iter_load(%it) : (iter<i32, 4>) -> (i32)
  mem.iter_next(%it, %u1) : (iter<i32, 4>, u32) -> ()
  %c = mem.iter_load(%it) : (iter<i32, 4>) -> (i32)
  mem.iter_close(%it) : (iter<i32, 4>) -> ()
  mem.dram_store(%out, %c0, %a) : (dram<i32>, i32, i32) -> ()
  mem.dram_store(%out, %c1, %b) : (dram<i32>, i32, i32) -> ()
  mem.dram_store(%out, %c2, %c) : (dram<i32>, i32, i32) -> ()
)"));
  const auto read = [&](std::int64_t pos, std::int64_t skip) {
    p.array("in", {10, 11, 12, 13, 14, 15, 16})
        .zeros("out", 3)
        .scalar(0, pos)
        .scalar(1, skip)
        .run();
    return p.get("out");
  };
  // Element 0 was written before the first use, element 1 after it.
  CHECK(read(0, 1) == List{7, 11, 12});
  CHECK(read(0, 0) == List{7, 7, 11});
  CHECK(read(0, 5) == List{7, 15, 16});
  CHECK(read(2, 3) == List{12, 15, 16});
  CHECK(read(-3, 3) == List{0, 7, 8});
  CHECK(read(-4, 4) == List{0, 7, 8});  // 0 starts a tile, which is filled after the write
  CHECK(read(6, 1) == List{16, 0, 0});
  CHECK(read(-1, -1) == List{0, 0, 0});  // forward by 2^32 - 1
}

TEST_CASE("a peek iterator looks ahead, also beyond its tile") {
  Program p(program(R"(
  %it = mem.peek_read_it(%in, %p) {name = "it"} : (dram<i32>, i32) -> (iter<i32, 4>)
  mem.iter_next(%it, %u1) : (iter<i32, 4>, u32) -> ()
  %a = mem.iter_peek(%it, %q) : (iter<i32, 4>, i32) -> (i32)
  mem.iter_close(%it) : (iter<i32, 4>) -> ()
  mem.dram_store(%out, %c0, %a) : (dram<i32>, i32, i32) -> ()
)"));
  const auto peek = [&](std::int64_t pos, std::int64_t k) {
    p.array("in", {10, 11, 12, 13, 14, 15, 16}).zeros("out", 1).scalar(0, pos).scalar(1, k).run();
    return p.get("out")[0];
  };
  CHECK(peek(0, 0) == 11);
  CHECK(peek(0, 3) == 14);
  CHECK(peek(4, 3) == 0);
  CHECK(peek(-4, 3) == 10);
  p.scalar(1, 4);
  CHECK(p.error() == "1:22: index 4 is outside iterator 'it' of size 4");
  p.scalar(1, -1);
  CHECK(p.error() == "1:22: index -1 is outside iterator 'it' of size 4");
}

TEST_CASE("a write iterator stores zeros for skipped elements and drops what is not passed") {
  Program p(program(R"(
  %it = mem.write_it(%out, %p) {name = "it"} : (dram<i32>, i32) -> (iter<i32, 4>)
  mem.iter_store(%it, %c5) : (iter<i32, 4>, i32) -> ()
  mem.iter_store(%it, %c6) : (iter<i32, 4>, i32) -> ()
  mem.iter_next(%it, %u1) : (iter<i32, 4>, u32) -> ()
  mem.iter_next(%it, %u1) : (iter<i32, 4>, u32) -> ()
  mem.iter_store(%it, %c7) : (iter<i32, 4>, i32) -> ()
  mem.iter_next(%it, %u1) : (iter<i32, 4>, u32) -> ()
  mem.iter_next(%it, %u1) : (iter<i32, 4>, u32) -> ()
  mem.iter_store(%it, %c8) : (iter<i32, 4>, i32) -> ()
  mem.iter_next(%it, %u1) : (iter<i32, 4>, u32) -> ()
  mem.iter_store(%it, %c9) : (iter<i32, 4>, i32) -> ()
  mem.iter_close(%it) : (iter<i32, 4>) -> ()
)"));
  p.zeros("in", 1).array("out", {1, 2, 3, 4, 5, 6, 7}).scalar(0, 1).run();
  CHECK(p.get("out") == List{1, 6, 0, 7, 0, 8, 7});
  p.array("out", {1, 2, 3, 4, 5, 6, 7}).scalar(0, -1).run();
  CHECK(p.get("out") == List{0, 7, 0, 8, 5, 6, 7});
  p.array("out", {1, 2, 3, 4, 5, 6, 7}).scalar(0, 4).run();
  CHECK(p.get("out") == List{1, 2, 3, 4, 6, 0, 7});
}

const char* const manual = R"(
  %it = mem.manual_write_it(%out, %p) {name = "it"} : (dram<i32>, i32) -> (iter<i32, 4>)
  %first = arith.cmp(%q, %c1) {pred = "eq"} : (i32, i32) -> (i1)
  %second = arith.cmp(%q, %c2) {pred = "eq"} : (i32, i32) -> (i1)
  mem.iter_store(%it, %c5) : (iter<i32, 4>, i32) -> ()
  mem.iter_next_last(%it, %first) : (iter<i32, 4>, i1) -> ()
  mem.iter_store(%it, %c6) : (iter<i32, 4>, i32) -> ()
  mem.iter_next_last(%it, %second) : (iter<i32, 4>, i1) -> ()
  mem.iter_close(%it) : (iter<i32, 4>) -> ()
)";

TEST_CASE("a manual write iterator stores at the last increment only") {
  Program p(program(manual));
  p.zeros("in", 1).array("out", {1, 2, 3}).scalar(0, 0).scalar(1, 2).run();
  CHECK(p.get("out") == List{5, 6, 3});
  p.array("out", {1, 2, 3}).scalar(1, 0).run();
  CHECK(p.get("out") == List{1, 2, 3});
  p.array("out", {1, 2, 3}).scalar(1, 1);
  CHECK(p.error() == "1:26: next after the last element of iterator 'it'");
}

TEST_CASE("an SRAM is zeroed at every allocation") {
  Program p(program(R"(
  thread.foreach(%c0, %c3, %c1) ({
  ^bb1(%i: i32):
    %s = mem.sram_alloc() {name = "s"} : () -> (sram<i32, 2>)
    %a = mem.sram_load(%s, %c1) : (sram<i32, 2>, i32) -> (i32)
    mem.sram_store(%s, %c1, %c9) : (sram<i32, 2>, i32, i32) -> ()
    %b = mem.sram_load(%s, %c1) : (sram<i32, 2>, i32) -> (i32)
    %c = arith.sub(%b, %a) : (i32, i32) -> (i32)
    mem.dram_store(%out, %i, %c) : (dram<i32>, i32, i32) -> ()
    mem.sram_free(%s) : (sram<i32, 2>) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
)"));
  p.zeros("in", 1).zeros("out", 3).run();
  CHECK(p.get("out") == List{9, 9, 9});
}

TEST_CASE("an allocation that is predicated off gives no buffer, and its free does nothing") {
  Program p(program(R"(
  thread.foreach(%c0, %c3, %c1) ({
  ^bb1(%i: i32):
    %on = arith.cmp(%i, %c1) {pred = "eq"} : (i32, i32) -> (i1)
    %s = mem.sram_alloc() {name = "s"} : () -> (sram<i32, 2>)
    %t = mem.sram_alloc(%s, %on) {name = "t", predicated = true} : (sram<i32, 2>, i1) -> (sram<i32, 2>)
    %u = mem.sram_alloc(%on) {name = "u", predicated = true} : (i1) -> (sram<i32, 2>)
    %a = mem.sram_load(%t, %c1, %on) {predicated = true} : (sram<i32, 2>, i32, i1) -> (i32)
    mem.sram_store(%t, %c1, %c9, %on) {predicated = true} : (sram<i32, 2>, i32, i32, i1) -> ()
    %b = mem.sram_load(%t, %c1, %on) {predicated = true} : (sram<i32, 2>, i32, i1) -> (i32)
    %c = arith.sub(%b, %a) : (i32, i32) -> (i32)
    mem.dram_store(%out, %i, %c) : (dram<i32>, i32, i32) -> ()
    mem.sram_free(%u, %on) {predicated = true} : (sram<i32, 2>, i1) -> ()
    mem.sram_free(%s, %t) : (sram<i32, 2>, sram<i32, 2>) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
)"));
  p.zeros("in", 1).zeros("out", 3).run();
  CHECK(p.get("out") == List{0, 9, 0});
}

TEST_CASE("what a thread leaves open is freed at its end") {
  Program p(R"(
thread.func() {sym = "main", args = [], result = void} ({
  %lo = arith.constant() {value = 0} : () -> (i32)
  %one = arith.constant() {value = 1} : () -> (i32)
  %n = arith.constant() {value = 3000000} : () -> (i32)
  thread.foreach(%lo, %n, %one) ({
  ^bb1(%i: i32):
    %s = mem.sram_alloc() {name = "s"} : () -> (sram<u8, 1>)
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  CHECK(p.run().threads == 3000001);
}

TEST_CASE("use after the end of a scope is an internal error") {
  Program p(program(R"(
  %s = mem.sram_alloc() {name = "s"} : () -> (sram<i32, 2>)
  mem.sram_free(%s) : (sram<i32, 2>) -> ()
  %t = mem.sram_alloc() {name = "t"} : () -> (sram<i32, 2>)
  mem.sram_store(%s, %c1, %c9) : (sram<i32, 2>, i32, i32) -> ()
  mem.sram_free(%t) : (sram<i32, 2>) -> ()
)"));
  p.zeros("in", 1).zeros("out", 1);
  CHECK_THROWS_AS(p.run(), InternalError);
}

TEST_CASE("buffers that share a pointer end with it") {
  Program p(program(R"(
  %s = mem.sram_alloc() {name = "s"} : () -> (sram<i32, 2>)
  %t = mem.sram_alloc(%s) {name = "t"} : (sram<i32, 2>) -> (sram<i32, 2>)
  mem.sram_free(%s, %t) : (sram<i32, 2>, sram<i32, 2>) -> ()
  mem.sram_store(%t, %c1, %c9) : (sram<i32, 2>, i32, i32) -> ()
)"));
  p.zeros("in", 1).zeros("out", 1);
  CHECK_THROWS_AS(p.run(), InternalError);
}

TEST_CASE("atomics give the old value") {
  std::string body;
  const std::pair<const char*, std::int64_t> cases[] = {
      {"add", 12 + 5}, {"sub", 12 - 5}, {"and", 12 & 5}, {"or", 12 | 5},
      {"xor", 12 ^ 5}, {"min", 5},      {"max", 12},     {"exchange", 5}};
  unsigned at = 0;
  for (const auto& [name, result] : cases)
    body += fmt::format(R"(
  %old_{0} = mem.dram_atomic(%in, %c0, %p) {{op = "{0}"}} : (dram<i32>, i32, i32) -> (i32)
  %now_{0} = mem.dram_load(%in, %c0) : (dram<i32>, i32) -> (i32)
  mem.dram_store(%in, %c0, %old_{0}) : (dram<i32>, i32, i32) -> ()
  mem.dram_store(%out, %c{1}, %now_{0}) : (dram<i32>, i32, i32) -> ()
)",
                        name, at++);
  body += R"(
  %s = mem.sram_alloc() {name = "s"} : () -> (sram<u32, 2>)
  %z = arith.constant() {value = 0} : () -> (u32)
  %a = mem.sram_atomic(%s, %c1, %z, %u1) {op = "cas"} : (sram<u32, 2>, i32, u32, u32) -> (u32)
  %b = mem.sram_atomic(%s, %c1, %z, %z) {op = "cas"} : (sram<u32, 2>, i32, u32, u32) -> (u32)
  %c = mem.sram_load(%s, %c1) : (sram<u32, 2>, i32) -> (u32)
  %d = arith.add(%b, %c) : (u32, u32) -> (u32)
  %e = arith.add(%a, %d) : (u32, u32) -> (u32)
  %f = arith.cast(%e) : (u32) -> (i32)
  mem.dram_store(%out, %c8, %f) : (dram<i32>, i32, i32) -> ()
  mem.sram_free(%s) : (sram<u32, 2>) -> ()
)";
  Program p(program(body));
  p.array("in", {12}).zeros("out", 9).scalar(0, 5).run();
  List expected;
  for (const auto& [name, result] : cases) expected.push_back(result);
  expected.push_back(0 + 1 + 1);
  CHECK(p.get("out") == expected);
  CHECK(p.get("in") == List{12});
}

TEST_CASE("accesses outside are errors that name array, index and size") {
  Program load(program("  %x = mem.dram_load(%in, %p) : (dram<i32>, i32) -> (i32)\n"));
  load.zeros("in", 3).zeros("out", 0).scalar(0, 3);
  CHECK(load.error() == "1:19: index 3 is outside array 'in' of size 3 (read)");
  load.scalar(0, -1);
  CHECK(load.error() == "1:19: index -1 is outside array 'in' of size 3 (read)");
  load.scalar(0, 2);
  CHECK(load.error() == "no error");

  Program store(
      program("  %u = arith.cast(%p) : (i32) -> (u32)\n"
              "  mem.dram_store(%in, %u, %p) : (dram<i32>, u32, i32) -> ()\n"));
  store.zeros("in", 3).zeros("out", 0).scalar(0, -1);
  CHECK(store.error() == "1:20: index 4294967295 is outside array 'in' of size 3 (write)");

  Program atomic(program(R"(
  %s = mem.sram_alloc() {name = "s"} : () -> (sram<i32, 2>)
  %x = mem.sram_atomic(%s, %p, %c1) {op = "add"} : (sram<i32, 2>, i32, i32) -> (i32)
)"));
  atomic.zeros("in", 0).zeros("out", 0).scalar(0, 2);
  CHECK(atomic.error() == "1:21: index 2 is outside array 's' of size 2 (atomic)");

  Program view(program(R"(
  %v = mem.read_view(%in, %c0) {name = "v"} : (dram<i32>, i32) -> (view<i32, 4>)
  %x = mem.view_load(%v, %p) : (view<i32, 4>, i32) -> (i32)
  mem.view_close(%v) : (view<i32, 4>) -> ()
)"));
  view.zeros("in", 1).zeros("out", 0).scalar(0, 4);
  CHECK(view.error() == "1:21: index 4 is outside view 'v' of size 4");
}

TEST_CASE("a predicated-off access is no access") {
  const auto text = [](const char* pred) {
    return program(fmt::format(R"(
  %x = mem.dram_load(%in, %p, %{0}) {{predicated = true}} : (dram<i32>, i32, i1) -> (i32)
  mem.dram_store(%in, %p, %c9, %{0}) {{predicated = true}} : (dram<i32>, i32, i32, i1) -> ()
  %y = mem.dram_atomic(%in, %p, %c1, %{0}) {{op = "add", predicated = true}} : (dram<i32>, i32, i32, i1) -> (i32)
  mem.dram_store(%out, %c0, %x) : (dram<i32>, i32, i32) -> ()
  mem.dram_store(%out, %c1, %y) : (dram<i32>, i32, i32) -> ()
)",
                               pred));
  };
  Program off(text("no"));
  off.array("in", {4}).array("out", {7, 7}).scalar(0, 100).run();
  CHECK(off.get("out") == List{0, 0});
  CHECK(off.get("in") == List{4});
  Program on(text("yes"));
  on.array("in", {4}).array("out", {7, 7}).scalar(0, 0).run();
  CHECK(on.get("out") == List{4, 9});
  CHECK(on.get("in") == List{10});

  Program it(program(R"(
  %it = mem.write_it(%out, %c0) {name = "it"} : (dram<i32>, i32) -> (iter<i32, 4>)
  mem.iter_store(%it, %c5, %no) {predicated = true} : (iter<i32, 4>, i32, i1) -> ()
  mem.iter_next(%it, %u1, %no) {predicated = true} : (iter<i32, 4>, u32, i1) -> ()
  mem.iter_store(%it, %c6, %yes) {predicated = true} : (iter<i32, 4>, i32, i1) -> ()
  mem.iter_next(%it, %u1, %yes) {predicated = true} : (iter<i32, 4>, u32, i1) -> ()
  mem.iter_close(%it) : (iter<i32, 4>) -> ()
)"));
  it.zeros("in", 1).array("out", {1, 1}).run();
  CHECK(it.get("out") == List{6, 1});
}

TEST_CASE("narrow and bool elements") {
  Program p(R"(
%bytes = mem.dram() {sym = "bytes"} : () -> (dram<i8>)
%halves = mem.dram() {sym = "halves"} : () -> (dram<u16>)
%bools = mem.dram() {sym = "bools"} : () -> (dram<i1>)
thread.func() {sym = "main", args = [], result = void} ({
  %c0 = arith.constant() {value = 0} : () -> (i32)
  %c1 = arith.constant() {value = 1} : () -> (i32)
  %b = mem.dram_load(%bytes, %c0) : (dram<i8>, i32) -> (i8)
  %h = arith.cast(%b) : (i8) -> (u16)
  mem.dram_store(%halves, %c1, %h) : (dram<u16>, i32, u16) -> ()
  %v = mem.modify_view(%bools, %c0) {name = "v"} : (dram<i1>, i32) -> (view<i1, 2>)
  %t = mem.view_load(%v, %c0) : (view<i1, 2>, i32) -> (i1)
  %n = arith.cast(%t) : (i1) -> (i8)
  mem.dram_store(%bytes, %c1, %n) : (dram<i8>, i32, i8) -> ()
  mem.view_close(%v) : (view<i1, 2>) -> ()
  thread.return() : () -> ()
}) : () -> ()
)");
  p.array("bytes", {-3, 0}).array("halves", {1, 2, 3}).array("bools", {7, 0});
  CHECK(p.launch.arrays[2].data()[0] == 7);
  p.run();
  CHECK(p.get("halves") == List{1, 65533, 3});
  CHECK(p.get("bytes") == List{-3, 1});
  CHECK(p.launch.arrays[2].data()[0] == 1);  // stored back as a bool
}

}  // namespace
}  // namespace revet::interp::test
