#include "revet/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "revet/diagnostics.hpp"

namespace revet {
namespace {

bool limited(const OptionSpec& spec) { return spec.min != INT64_MIN || spec.max != INT64_MAX; }

std::string range(const OptionSpec& spec) {
  if (!limited(spec)) return "";
  if (spec.max == INT64_MAX) return fmt::format(" >= {}", spec.min);
  if (spec.min == INT64_MIN) return fmt::format(" <= {}", spec.max);
  return fmt::format(" from {} to {}", spec.min, spec.max);
}

}  // namespace

std::string expected(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::boolean: return "true or false";
    case OptionType::integer: return "an integer" + range(spec);
    case OptionType::number: return "a number" + range(spec);
    case OptionType::text:
      return spec.choices.empty() ? "text"
                                  : fmt::format("one of {}", fmt::join(spec.choices, ", "));
  }
  return "";
}

std::string describe(const OptionSpec& spec) {
  if (!spec.example.empty()) return fmt::format("{}, required", expected(spec));
  return fmt::format("{}, default {}", expected(spec),
                     spec.fallback.empty() ? "empty" : spec.fallback);
}

ParsedOption parse_option(const OptionSpec& spec, const std::string& text) {
  const auto bad = [&] {
    return ParsedOption{std::nullopt,
                        fmt::format("option '{}' expects {}, got '{}'{}", spec.name, expected(spec),
                                    text, did_you_mean(text, spec.choices))};
  };
  const char* const end = text.data() + text.size();
  const auto out_of_range = [&](double v) {
    return v < static_cast<double>(spec.min) || v > static_cast<double>(spec.max);
  };
  switch (spec.type) {
    case OptionType::boolean:
      if (text != "true" && text != "false") return bad();
      return {text, {}};
    case OptionType::integer: {
      std::int64_t v = 0;
      const auto [p, ec] = std::from_chars(text.data(), end, v);
      if (ec != std::errc() || p != end || v < spec.min || v > spec.max) return bad();
      return {std::to_string(v), {}};
    }
    case OptionType::number: {
      double v = 0;
      const auto [p, ec] = std::from_chars(text.data(), end, v);
      if (ec != std::errc() || p != end || !(v == v) || (limited(spec) && out_of_range(v)))
        return bad();
      return {fmt::format("{}", v), {}};
    }
    case OptionType::text:
      if (!spec.choices.empty() &&
          std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end())
        return bad();
      return {text, {}};
  }
  return bad();
}

OptionValues::OptionValues(const OptionTable& table) {
  for (const OptionSpec& spec : table) values_[spec.name] = spec.fallback;
}

const std::string& OptionValues::text(const std::string& name) const {
  const auto it = values_.find(name);
  if (it == values_.end())
    throw InternalError(fmt::format("option '{}' is read but not declared", name));
  return it->second;
}

std::int64_t OptionValues::integer(const std::string& name) const { return std::stoll(text(name)); }

double OptionValues::number(const std::string& name) const {
  const std::string& t = text(name);
  double v = 0;
  std::from_chars(t.data(), t.data() + t.size(), v);
  return v;
}

}  // namespace revet
