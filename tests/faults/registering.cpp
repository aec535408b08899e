/// Plugins that are what they say until they are linked or registered. FAULT is one of the names
/// below.
#include <revet/abi.hpp>
#include <revet/plugin.hpp>
#include <stdexcept>
#include <string>

#include "marker.hpp"

namespace absent {
int function(const std::string& text);  // defined nowhere
}
extern "C" int fault_dependency();  // defined in a library that the loader does not find

namespace {

enum Fault {
  throws_std,
  throws_int,
  throws_error,
  crashes,
  registers_more,
  registers_less,
  undefined_symbol,
  missing_dependency,
};
constexpr Fault fault = FAULT;

void add_pass(revet::Registry& registry, const std::string& id) {
  revet::PassInfo info;
  info.id = id;
  info.summary = "Does nothing";
  info.run = [](revet::Module&, revet::PassContext&) { return revet::PassResult::of(false); };
  registry.add_pass(std::move(info));
}

void register_plugin(revet::Registry& registry) {
  add_pass(registry, FAULT_NAME);
  if constexpr (fault == throws_std) throw std::runtime_error("no licence found");
  if constexpr (fault == throws_int) throw 42;
  if constexpr (fault == throws_error)
    throw revet::Error(revet::Exit::program, "its table is not there");
  if constexpr (fault == crashes) {
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
  }
  if constexpr (fault == registers_more) add_pass(registry, "fault-not-announced");
  if constexpr (fault == undefined_symbol) add_pass(registry, std::to_string(absent::function("")));
  if constexpr (fault == missing_dependency)
    if (fault_dependency() != 1) throw std::runtime_error("another library of that name");
}

}  // namespace

REVET_PLUGIN(FAULT_NAME, "A plugin that cannot be linked or registered", register_plugin)
