// NUL-terminated strings packed into one array, as isipv4 and ip2int read them.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "gen_common.hpp"

namespace gen {

// A decimal number of exactly this many digits that is an octet.
inline std::string random_octet(Random& random, int digits) {
  static constexpr int low[] = {0, 10, 100};
  static constexpr int high[] = {9, 99, 255};
  return std::to_string(random.between(low[digits - 1], high[digits - 1]));
}

// A valid address; of 20 octets, one_digit have one digit and two_digits have two.
inline std::string random_address(Random& random, uint32_t one_digit, uint32_t two_digits) {
  std::string address;
  for (int octet = 0; octet < 4; octet++) {
    if (octet > 0) address += '.';
    const uint32_t kind = random.below(20);
    address += random_octet(random, kind < one_digit ? 1 : kind < one_digit + two_digits ? 2 : 3);
  }
  return address;
}

// Makes `text` and `offsets` of strings that next() gives.
template <typename Next>
void pack_strings(DataSet& data, uint64_t count, Next next) {
  const std::span<uint32_t> offsets = data.create<uint32_t>("offsets", count);
  std::vector<std::byte> text;
  text.reserve(count * 15);
  for (uint32_t& offset : offsets) {
    offset = static_cast<uint32_t>(text.size());
    const std::string string = next();
    const auto bytes = std::as_bytes(std::span(string));
    text.insert(text.end(), bytes.begin(), bytes.end());
    text.push_back(std::byte{0});
    if (text.size() > DataSet::max_bytes) {
      throw UsageError("array 'text' would exceed 2^31 - 1 bytes; lower --count");
    }
  }
  data.set_bytes("text", std::move(text));
}

inline std::string_view string_at(std::span<char> text, uint32_t offset) {
  const std::string_view rest(text.data() + offset, text.size() - offset);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace gen
