/// Passes that throw, crash, lie about what they did, or leave a module that is wrong; and other
/// hooks that throw.
#undef NDEBUG
#include <cassert>
#include <cstdlib>
#include <revet/abi.hpp>
#include <revet/builder.hpp>
#include <revet/plugin.hpp>
#include <stdexcept>
#include <thread>

#include "marker.hpp"

namespace {

using namespace revet;

/// A change that leaves the module right.
void change(Module& module) {
  Builder::before(*module.find_func("main")->body().first()).constant(type_i32, 1);
}

void write_to_null() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

int recurse(const volatile int& end) {
  volatile char frame[1024];
  frame[0] = 1;
  return end != 0 ? 0 : recurse(end) + frame[0];
}

void overflow_stack() {
  volatile int end = 0;
  end = recurse(end);
}

void free_twice() {
  int* volatile memory = new int(1);
  delete memory;
  delete memory;
}

void crash_in_a_thread() { std::thread(write_to_null).join(); }

void divide_by_zero() {
  volatile int zero = 0;
  zero = 7 / zero;
}

void fail_assertion() {
  volatile int two = 2;
  assert(two + two == 5);
}

void add(Registry& registry, const char* id, std::function<PassResult(Module&, PassContext&)> run,
         std::vector<std::string> establishes = {}) {
  PassInfo info;
  info.id = id;
  info.summary = "Faulty";
  info.establishes = std::move(establishes);
  info.run = std::move(run);
  registry.add_pass(std::move(info));
}

void add_crash(Registry& registry, const char* id, void (*crash)()) {
  add(registry, id, [crash](Module&, PassContext&) {
    crash();
    return PassResult::of(false);
  });
}

void add_passes(Registry& registry) {
  add(registry, "throws-std",
      [](Module&, PassContext&) -> PassResult { throw std::runtime_error("the tables are full"); });
  add(registry, "throws-int", [](Module&, PassContext&) -> PassResult { throw 42; });
  add(registry, "throws-error", [](Module&, PassContext&) -> PassResult {
    throw Error(Exit::program, "the program is too odd");
  });
  PassInfo at;
  at.id = "throws-at";
  at.summary = "Faulty, at a place";
  at.run_at = [](Op&, PassContext&) -> PassResult {
    throw std::runtime_error("the tables are full");
  };
  registry.add_pass(std::move(at));

  add_crash(registry, "writes-to-null", write_to_null);
  add_crash(registry, "aborts", [] { std::abort(); });
  add_crash(registry, "fails-assertion", fail_assertion);
  add_crash(registry, "overflows-stack", overflow_stack);
  add_crash(registry, "frees-twice", free_twice);
  add_crash(registry, "crashes-in-a-thread", crash_in_a_thread);
  add_crash(registry, "divides-by-zero", divide_by_zero);

  add(registry, "says-changed", [](Module&, PassContext&) { return PassResult::of(true); });
  add(registry, "says-unchanged", [](Module& module, PassContext&) {
    change(module);
    return PassResult::of(false);
  });
  add(registry, "fails-after-change", [](Module& module, PassContext&) {
    change(module);
    return PassResult::failure("changed its mind");
  });
  add(registry, "breaks-ir", [](Module& module, PassContext&) {
    module.find_func("main")->body().last()->erase();
    return PassResult::of(true);
  });
  const auto claim = [](Module&, PassContext&) { return PassResult::of(false); };
  add(registry, "claims-empty", claim, {"fault-empty"});
  add(registry, "claims-checked", claim, {"fault-throws"});
}

void register_plugin(Registry& registry) {
  add_passes(registry);
  registry.add_property(
      {"fault-empty", "The module has no ops", [](const Module& module, VerifyReport& report) {
         for (const Op& op : module.body()) report.fail(op, "is still there");
       }});
  registry.add_property({"fault-throws", "Its check throws", [](const Module&, VerifyReport&) {
                           throw std::runtime_error("the tables are full");
                         }});
  registry.add_predicate({"fault-throws", "Throws", [](const Module&, const Op*) -> bool {
                            throw std::runtime_error("the tables are full");
                          }});
  BackendInfo backend;
  backend.name = "faulty";
  backend.summary = "Emits nothing but exceptions";
  backend.options = {{"how", OptionType::text, "std", "what it throws", 0, 0, {"std", "int"}}};
  backend.emit = [](const Module&, BackendContext& context) -> std::vector<EmittedFile> {
    if (context.options.text("how") == "int") throw 42;
    throw std::runtime_error("the tables are full");
  };
  registry.add_backend(std::move(backend));
}

}  // namespace

REVET_PLUGIN("fault-passes", "Passes and other hooks with faults", register_plugin)
