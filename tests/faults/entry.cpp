/// A plugin whose sections and `revet_plugin` are written by hand, so that one of them can be wrong
/// or missing. CMakeLists.txt defines what differs from a right one; FAULT_ENTRY is a statement on
/// the struct `p`.
#include <revet/abi.hpp>
#include <revet/plugin.hpp>

#include "marker.hpp"

#ifndef FAULT_SECTION_ABI
#define FAULT_SECTION_ABI REVET_ABI_VERSION_STRING
#endif
#ifndef FAULT_SECTION_FINGERPRINT
#define FAULT_SECTION_FINGERPRINT REVET_ABI_FINGERPRINT
#endif
#ifndef FAULT_ENTRY
#define FAULT_ENTRY
#endif
#define FAULT_SECTION(name) __attribute__((section(name), used, retain))

namespace {

void register_plugin(revet::Registry& registry) {
  revet::PassInfo info;
  info.id = FAULT_NAME;
  info.summary = "Does nothing";
  info.run = [](revet::Module&, revet::PassContext&) { return revet::PassResult::of(false); };
  registry.add_pass(std::move(info));
}

[[maybe_unused]] constexpr RevetPlugin entry() {
  RevetPlugin p = {revet::plugin_magic,     sizeof(RevetPlugin), revet::plugin_abi_version,
                   REVET_ABI_FINGERPRINT,   FAULT_NAME,          "1",
                   "A plugin with a fault", register_plugin};
  FAULT_ENTRY;
  return p;
}

}  // namespace

extern "C" {

#ifndef FAULT_NO_SECTIONS
FAULT_SECTION(".revet.abi")
extern const char fault_abi_section[] =
    FAULT_SECTION_ABI "\0" FAULT_SECTION_FINGERPRINT "\0" REVET_ABI_BUILD;
FAULT_SECTION(".revet.provides")
extern const char fault_provides_section[] = "pass:" FAULT_NAME "\0";
#endif

#ifdef FAULT_OWN_CORE
FAULT_SECTION(".revet.core")
extern const char fault_core_section[] = "another librevet";
#endif

#ifndef FAULT_NO_ENTRY
__attribute__((visibility("default"), used)) extern constinit const RevetPlugin revet_plugin =
    entry();
#endif
}
