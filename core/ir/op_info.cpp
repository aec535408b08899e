#include "revet/op_info.hpp"

#include "core_ops.hpp"

namespace revet {

const char* level_name(Level level) {
  switch (level) {
    case Level::any: return "any";
    case Level::thread: return "thread";
    case Level::cfg: return "cfg";
    case Level::flow: return "flow";
    case Level::placed: return "placed";
  }
  return "";
}

std::string level_names(const std::vector<Level>& levels) {
  std::string out;
  for (const Level level : levels)
    out += (out.empty() ? "" : " or ") + std::string(level_name(level));
  return out;
}

bool is_pure(const Op& op) {
  if (op.info().control || !op.info().effects) return false;
  std::vector<Effect> effects;
  op.info().effects(op, effects);
  if (!effects.empty()) return false;
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op& inner : *block)
        if (!inner.info().terminator || inner.info().control) {
          if (!is_pure(inner)) return false;
        }
  return true;
}

namespace {

bool collect_effects(const Op& op, std::vector<Effect>& out) {
  if (!op.info().effects) return false;
  op.info().effects(op, out);
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op& inner : *block)
        if (!collect_effects(inner, out)) return false;
  return true;
}

}  // namespace

std::optional<std::vector<Effect>> effects_of(const Op& op) {
  std::vector<Effect> out;
  if (!collect_effects(op, out)) return std::nullopt;
  return out;
}

OpRegistry& OpRegistry::get() {
  static OpRegistry registry;
  return registry;
}

OpRegistry::OpRegistry() {
  for (const OpInfo* info : core_ops()) ops_.emplace(info->name, std::pair(info, "core"));
}

const OpInfo* OpRegistry::find(std::string_view name) const {
  auto it = ops_.find(name);
  if (it == ops_.end() && load_missing) {
    load_missing(name);
    it = ops_.find(name);
  }
  return it == ops_.end() ? nullptr : it->second.first;
}

bool OpRegistry::add(const OpInfo& info, std::string origin) {
  const auto [it, fresh] = ops_.try_emplace(info.name, &info, std::move(origin));
  // A plugin that is registered a second time brings what is there already.
  return fresh || it->second.first == &info;
}

const std::string& OpRegistry::origin(std::string_view name) const {
  return ops_.find(name)->second.second;
}

std::vector<const OpInfo*> OpRegistry::all() const {
  std::vector<const OpInfo*> out;
  for (const auto& [name, entry] : ops_) out.push_back(entry.first);
  return out;
}

}  // namespace revet
