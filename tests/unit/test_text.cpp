/// Text form of the IR: round trips and parse errors.
#include <catch2/catch.hpp>

#include "revet/builder.hpp"
#include "revet/text.hpp"

using namespace revet;

namespace {

std::unique_ptr<Module> parse(const std::string& text, Diagnostics& d) {
  SourceManager sources;
  return parse_module(sources.add("test.rir", text), sources, d);
}

/// The first error of a text that must not parse.
std::string parse_error(const std::string& text) {
  Diagnostics d;
  REQUIRE(parse(text, d) == nullptr);
  REQUIRE(d.error_count() == 1);
  return d.all()[0].message;
}

const char* const sample =
    R"(%a = mem.dram() {size = ["*", 16, "count"], sym = "a"} : () -> (dram<u8>) loc("x.rvt":1:1)

thread.func() {args = ["count"], result = void, sym = "main"} ({
^bb0(%count: i32):
  %0 = arith.constant() {value = 0} : () -> (i32)
  %len = thread.while(%0) ({
  ^bb1(%len.1: i32):
    %go = arith.cmp(%len.1, %count) {pred = "lt"} : (i32, i32) -> (i1)
    thread.condition(%go, %len.1) : (i1, i32) -> ()
  }, {
  ^bb2(%len.2: i32):
    %1 = arith.constant() {value = 1} : () -> (i32)
    %2 = arith.add(%len.2, %1) : (i32, i32) -> (i32)
    thread.yield(%2) : (i32) -> ()
  }) {} : (i32) -> (i32) loc("x.rvt":4:5)
  thread.return() : () -> ()
}) : () -> ()
)";

}  // namespace

TEST_CASE("printing what was parsed gives the text back") {
  std::string text = sample;
  text.replace(text.find(" {} :"), 3, "");
  Diagnostics d;
  const auto m = parse(text, d);
  REQUIRE(m);
  REQUIRE(verify(*m, d));
  const std::string once = print(*m, {.locations = false});
  Diagnostics d2;
  const auto again = parse(print(*m), d2);
  REQUIRE(again);
  CHECK(print(*again) == print(*m));
  CHECK(print(*m->clone()) == print(*m));
  CHECK(hash_of(*m) == hash_of(*again));
  CHECK(once.find("%len.2 ") == std::string::npos);
  CHECK(once.find("%len.2: i32") != std::string::npos);
}

TEST_CASE("value names survive, also equal and missing ones") {
  Module m;
  Builder b(m.body());
  Op* func = b.create(ops::thread_func, {}, {},
                      {{"sym", "main"}, {"args", Attr::Array{}}, {"result", type_void}}, 1);
  Builder in(func->region().add_block());
  Value* x = in.constant(type_i32, 1);
  Value* y = in.constant(type_i32, 2);
  Value* z = in.binary(ops::arith_add, x, y);
  x->set_name("v");
  z->set_name("v");
  in.create(ops::thread_return, {});
  Diagnostics d;
  const auto again = parse(print(m), d);
  REQUIRE(again);
  const Op* add = again->find_func("main")->body().first()->next()->next();
  CHECK(add->result()->name() == "v");
  CHECK(add->operand(0)->name() == "v");
  CHECK(add->operand(1)->name().empty());
}

TEST_CASE("attributes round trip bit for bit") {
  for (const float f : {0.0f, -0.0f, 1.5f, 1e-45f, 3.4028235e38f, 0.1f,
                        std::bit_cast<float>(0x7F800000u), std::bit_cast<float>(0xFFC00001u)}) {
    Module m;
    Builder b(m.body());
    Op* func = b.create(
        ops::thread_func, {}, {},
        {{"sym", "a \"quoted\\ \n name"}, {"args", Attr::Array{}}, {"result", type_void}}, 1);
    Builder in(func->region().add_block());
    in.constant(f);
    in.create(ops::thread_return, {});
    Diagnostics d;
    const auto again = parse(print(m), d);
    REQUIRE(again);
    CHECK(print(*again) == print(m));
    CHECK(*again->body().first()->body().first()->attr("value") == Attr(f));
    CHECK(again->body().first()->str_attr("sym") == "a \"quoted\\ \n name");
  }
}

TEST_CASE("parse errors say what is wrong") {
  const std::string func = "thread.func() {args = [], result = void, sym = \"main\"} ({\n";
  CHECK(parse_error("thread.fun() : () -> ()") ==
        "unknown op 'thread.fun' (did you mean 'thread.func'?)");
  CHECK(parse_error(func + "thread.yield(%x) : (i32) -> ()}) : () -> ()") == "undefined value %x");
  CHECK(parse_error(func + "thread.yield(%x) : () -> ()}) : () -> ()") ==
        "1 operands, but 0 operand types");
  CHECK(parse_error(func) == "expected the name of an op, found the end of the file");
  CHECK(parse_error("\x01") == "unexpected byte 0x01");
  CHECK(parse_error("thread.func() {a = \"x") == "unterminated string");
  CHECK(parse_error("%x = arith.constant() {value = 99999999999999999999} : () -> (i32)") ==
        "'99999999999999999999' is not a 64-bit integer");
  CHECK(parse_error("%x = arith.constant() {value = 1, value = 2} : () -> (i32)") ==
        "attribute 'value' is given twice");
  CHECK(parse_error("%x = arith.constant() {value = 1} : () -> (i33)") ==
        "expected a type, found 'i33'");
  CHECK(parse_error("%x = arith.constant() {value = 1} : () -> (sram<i32, 0>)") ==
        "the size is out of range");
}

TEST_CASE("forward references across blocks resolve") {
  const std::string text =
      "thread.func() {args = [], result = void, sym = \"main\"} ({\n"
      "  thread.yield(%later) : (i32) -> ()\n"
      "  %later = arith.constant() {value = 3} : () -> (i32)\n"
      "}) : () -> ()\n";
  Diagnostics d;
  const auto m = parse(text, d);
  REQUIRE(m);
  CHECK_FALSE(verify(*m, d));  // a use before its definition is for the verifier to refuse
  CHECK(parse_error("thread.func() {args = []} ({\n thread.yield(%l) : (i32) -> ()\n"
                    "  %l = arith.constant() {value = 3} : () -> (u32)\n}) : () -> ()") ==
        "%l has type u32, but was used before as i32");
}
