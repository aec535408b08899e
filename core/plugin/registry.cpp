#include <fmt/format.h>

#include "revet/plugin.hpp"

namespace revet {

/// Tells the loader that a file holds a copy of this library: a plugin must not.
extern "C" __attribute__((section(".revet.core"), used, retain)) const char revet_core_marker[] =
    "librevet";

const Machine& PassContext::machine() const {
  if (!model) throw Error(Exit::usage, "this pass needs a machine, and the pipeline has none");
  return *model;
}

void Registry::claim(const std::string& what) {
  const auto [it, fresh] = origins.try_emplace(what, origin);
  if (fresh) return;
  const std::size_t colon = what.find(':');
  throw Error(Exit::usage,
              fmt::format("{} '{}' is registered by both {} and {}", what.substr(0, colon),
                          what.substr(colon + 1), it->second, origin));
}

void Registry::add_pass(PassInfo info) {
  claim("pass:" + info.id);
  std::string id = info.id;
  passes_.emplace(std::move(id), std::move(info));
}

void Registry::add_backend(BackendInfo info) {
  claim("backend:" + info.name);
  std::string name = info.name;
  backends_.emplace(std::move(name), std::move(info));
}

void Registry::add_property(PropertyInfo info) {
  claim("property:" + info.name);
  std::string name = info.name;
  properties_.emplace(std::move(name), std::move(info));
}

void Registry::add_predicate(PredicateInfo info) {
  claim("predicate:" + info.name);
  std::string name = info.name;
  predicates_.emplace(std::move(name), std::move(info));
}

void Registry::add_op(const OpInfo& info) {
  claim("op:" + info.name);
  if (!OpRegistry::get().add(info, origin))
    throw Error(Exit::usage, fmt::format("op '{}' is registered by both {} and {}", info.name,
                                         OpRegistry::get().origin(info.name), origin));
}

namespace {

template <typename Map>
const typename Map::mapped_type* lookup(const Map& map, std::string_view key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

}  // namespace

const PassInfo* Registry::pass(std::string_view id) const { return lookup(passes_, id); }
const BackendInfo* Registry::backend(std::string_view name) const {
  return lookup(backends_, name);
}
const PropertyInfo* Registry::property(std::string_view name) const {
  return lookup(properties_, name);
}
const PredicateInfo* Registry::predicate(std::string_view name) const {
  return lookup(predicates_, name);
}

}  // namespace revet
