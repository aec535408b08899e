/// The dependence analysis: what conflicts, and which memories keep the order of a thread.
#include <catch2/catch.hpp>

#include "revet/dependence.hpp"
#include "revet/ops.hpp"
#include "revet/text.hpp"

using namespace revet;

namespace {

std::unique_ptr<Module> parsed(const std::string& body) {
  SourceManager sources;
  Diagnostics diagnostics;
  auto module = parse_module(sources.add("t.rir", R"(
%a = mem.dram() {sym = "a"} : () -> (dram<i32>)
%b = mem.dram() {sym = "b"} : () -> (dram<i32>)
thread.func() {args = ["n"], sym = "main", result = void} ({
^bb0(%n: i32):
  %0 = arith.constant() {value = 0} : () -> (i32)
  %1 = arith.constant() {value = 1} : () -> (i32)
)" + body + R"(
  thread.return() : () -> ()
}) : () -> ()
)"),
                             sources, diagnostics);
  for (const Diagnostic& d : diagnostics.all()) FAIL(render_text(d, sources, false));
  return module;
}

std::vector<Effect> effects(const Module& module) {
  std::vector<Effect> out;
  for (const Access& access : accesses_of(*module.find_func("main"))) out.push_back(access.effect);
  return out;
}

}  // namespace

TEST_CASE("accesses conflict where one writes and the place may be the same") {
  const auto module = parsed(R"(
  %r = mem.dram_load(%a, %0) : (dram<i32>, i32) -> (i32)
  %s = mem.dram_load(%a, %n) : (dram<i32>, i32) -> (i32)
  mem.dram_store(%a, %1, %r) : (dram<i32>, i32, i32) -> ()
  mem.dram_store(%b, %0, %r) : (dram<i32>, i32, i32) -> ()
  %o = mem.dram_atomic(%a, %0, %r) {op = "add"} : (dram<i32>, i32, i32) -> (i32)
)");
  const std::vector<Effect> e = effects(*module);
  REQUIRE(e.size() == 5);
  CHECK_FALSE(may_conflict(e[0], e[1]));  // both read
  CHECK_FALSE(may_conflict(e[0], e[2]));  // other constant elements
  CHECK(may_conflict(e[1], e[2]));        // an element that is not known
  CHECK_FALSE(may_conflict(e[2], e[3]));  // other arrays
  CHECK(may_conflict(e[0], e[4]));        // the same element
  CHECK_FALSE(may_conflict(e[2], e[4]));
  const Effect everything{Effect::write, nullptr, nullptr};
  for (const Effect& one : e) CHECK(may_conflict(one, everything));
}

TEST_CASE("arrays that are only read have no order; buffers and what is written have") {
  const auto module = parsed(R"(
  %s = mem.sram_alloc() {name = "s"} : () -> (sram<i32, 4>)
  thread.foreach(%0, %n, %1) ({
  ^bb1(%i: i32):
    %v = mem.dram_load(%a, %i) : (dram<i32>, i32) -> (i32)
    mem.sram_store(%s, %0, %v) : (sram<i32, 4>, i32, i32) -> ()
    mem.dram_store(%b, %i, %v) : (dram<i32>, i32, i32) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  mem.sram_free(%s) : (sram<i32, 4>) -> ()
)");
  Op& main = *module->find_func("main");
  const MemoryClasses classes(main);
  CHECK(classes.size() == 2);
  for (const Access& access : accesses_of(main)) {
    const std::vector<unsigned> of = classes.of(*access.op);
    if (access.op->is(ops::mem_dram_load))
      CHECK(of.empty());
    else
      CHECK(of == std::vector<unsigned>{access.op->is(ops::mem_dram_store) ? 1u : 0u});
  }
}

TEST_CASE("an op that does not say what it does is ordered with everything") {
  const auto module = parsed(R"(
  %v = mem.dram_load(%a, %0) : (dram<i32>, i32) -> (i32)
  thread.call(%v) {callee = "f"} : (i32) -> ()
)");
  Op& main = *module->find_func("main");
  const MemoryClasses classes(main);
  CHECK(classes.size() == 1);  // even an array that is only read here
  for (const Access& access : accesses_of(main))
    CHECK(classes.of(*access.op) == std::vector<unsigned>{0});
}
