/// Syntax errors in the language's own terms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace revet {

/// What may stand at some place: kinds of construct, and tokens that are none of these.
struct Expected {
  bool declaration = false;  ///< at file level
  bool statement = false;
  bool expression = false;
  bool type = false;
  bool memory = false;
  bool name = false;
  std::vector<std::string> tokens;  ///< quoted

  bool only(std::string_view quoted) const {
    return !declaration && !statement && !expression && !type && !memory && !name &&
           tokens.size() == 1 && tokens[0] == quoted;
  }
};

/// `expected ';' after expression, found 'x'`, with at most five alternatives. `after` may be
/// empty; an empty `found` is the end of the file.
std::string expected_message(const Expected& expected, std::string_view after,
                             std::string_view found);

}  // namespace revet
