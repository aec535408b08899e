#include "toml_nodes.hpp"

#include <fmt/format.h>

namespace revet {
namespace {

const char* type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a float";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date or time";
  }
}

}  // namespace

Loc TomlNodes::loc_of(const toml::source_region& region) const {
  const std::uint32_t length =
      region.begin.line == region.end.line && region.end.column > region.begin.column
          ? region.end.column - region.begin.column
          : 1;
  return {intern_file(region.path ? *region.path : ""), region.begin.line, region.begin.column,
          length};
}

void TomlNodes::unknown(const toml::key& key, const std::vector<std::string>& known,
                        const std::string& where) const {
  const std::string name(key.str());
  diagnostics_.error(loc_of(key),
                     fmt::format("unknown key '{}' {}{}", name, where, did_you_mean(name, known)));
}

void TomlNodes::wrong_type(const toml::node& node, const std::string& what,
                           const std::string& expected) const {
  diagnostics_.error(loc_of(node),
                     fmt::format("{} must be {}, found {}", what, expected, type_name(node)));
}

std::optional<Setting> TomlNodes::scalar(const toml::node& node, const std::string& what) const {
  const auto setting = [&](OptionType type, std::string value) {
    return Setting{std::move(value), loc_of(node), loc_of(node), type};
  };
  if (const auto s = node.as_string()) return setting(OptionType::text, s->get());
  if (const auto i = node.as_integer())
    return setting(OptionType::integer, std::to_string(i->get()));
  if (const auto f = node.as_floating_point())
    return setting(OptionType::number, fmt::format("{}", f->get()));
  if (const auto b = node.as_boolean())
    return setting(OptionType::boolean, b->get() ? "true" : "false");
  wrong_type(node, what, "a string, number or boolean");
  return std::nullopt;
}

std::optional<std::string> TomlNodes::text(const toml::node& node, const std::string& what) const {
  if (const auto s = node.as_string()) return s->get();
  wrong_type(node, what, "a string");
  return std::nullopt;
}

std::vector<std::pair<std::string, Loc>> TomlNodes::text_list(const toml::node& node,
                                                              const std::string& what) const {
  std::vector<std::pair<std::string, Loc>> out;
  const toml::array* list = node.as_array();
  if (!list) {
    wrong_type(node, what, "an array of strings");
    return out;
  }
  for (const toml::node& item : *list)
    if (const auto s = text(item, what)) out.emplace_back(*s, loc_of(item));
  return out;
}

}  // namespace revet
