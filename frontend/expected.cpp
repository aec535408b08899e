/// Words syntax errors.
#include "expected.hpp"

#include <fmt/core.h>

namespace revet {

std::string expected_message(const Expected& expected, std::string_view after,
                             std::string_view found) {
  std::vector<std::string> alternatives;
  if (expected.declaration) alternatives = {"a function", "'const'", "a DRAM array"};
  if (expected.statement) alternatives = {"a statement"};
  if (expected.expression) alternatives.push_back("an expression");
  if (expected.type) alternatives.push_back("a type");
  if (expected.memory) alternatives.push_back("a memory declaration");
  if (expected.name) alternatives.push_back("a name");
  alternatives.insert(alternatives.end(), expected.tokens.begin(), expected.tokens.end());
  constexpr std::size_t most = 5;
  if (alternatives.size() > most) alternatives.resize(most);

  std::string message = "expected ";
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (i > 0) message += i + 1 == alternatives.size() ? " or " : ", ";
    message += alternatives[i];
  }
  if (alternatives.empty()) message = "unexpected text";
  if (!after.empty()) message += fmt::format(" after {}", after);
  message += found.empty() ? ", found end of file" : fmt::format(", found '{}'", found);
  return message;
}

}  // namespace revet
