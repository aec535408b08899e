/// Options of passes and backends, declared once: parsing, range checks, help and the generated
/// reference all come from the same table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace revet {

enum class OptionType : std::uint8_t { boolean, integer, number, text };

struct OptionSpec {
  std::string name;  ///< spelt with '-'
  OptionType type = OptionType::text;
  std::string fallback;  ///< default, as it would be written; "" for an empty text
  std::string help;      ///< one line
  std::int64_t min = INT64_MIN;
  std::int64_t max = INT64_MAX;
  std::vector<std::string> choices = {};  ///< for text: allowed values, if any
  /// Not empty: the option has no default and must be given; a value to show in the message.
  std::string example = {};
  bool flag = false;  ///< also accepted on the command line of `revet run` as --NAME VALUE
};
using OptionTable = std::vector<OptionSpec>;

/// "an integer from 1 to 4096" and the like.
std::string expected(const OptionSpec& spec);
/// The same with the default.
std::string describe(const OptionSpec& spec);

/// The value in canonical spelling, or an error message ("expects an integer from 1 to 8, got
/// 'x'").
struct ParsedOption {
  std::optional<std::string> value;
  std::string error;
};
ParsedOption parse_option(const OptionSpec& spec, const std::string& text);

/// Values of every option of a table; a missing one is its default.
class OptionValues {
 public:
  OptionValues() = default;
  explicit OptionValues(const OptionTable& table);
  /// `value` must be in canonical spelling.
  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  bool boolean(const std::string& name) const { return text(name) == "true"; }
  std::int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  const std::string& text(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace revet
