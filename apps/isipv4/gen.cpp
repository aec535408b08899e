// Data for isipv4: valid addresses and near misses.
#include "gen_common.hpp"
#include "gen_text.hpp"

namespace {

using gen::DataSet;
using gen::Options;
using gen::Random;

std::string join(const std::vector<std::string>& octets) {
  std::string text = octets[0];
  for (size_t i = 1; i < octets.size(); i++) text += "." + octets[i];
  return text;
}

std::string long_string(Random& random) {
  const int length = random.between(65, 200);
  std::string text = random.chance(1, 2) ? gen::random_address(random, 4, 8) : "";
  const int kind = random.between(0, 3);
  while (static_cast<int>(text.size()) < length) {
    switch (kind) {
      case 0: text += static_cast<char>(random.between('0', '9')); break;
      case 1: text += "." + gen::random_octet(random, random.between(1, 3)); break;
      case 2: text += static_cast<char>(random.between('a', 'z')); break;
      default: text += static_cast<char>(random.between(1, 255)); break;
    }
  }
  return text;
}

std::string near_miss(Random& random) {
  std::vector<std::string> octets;
  for (int i = 0; i < 4; i++) octets.push_back(gen::random_octet(random, random.between(1, 3)));
  std::string& octet = octets[random.below(4)];
  static constexpr std::string_view blanks = " \t\n\r\v\f";
  const std::string blank(1, blanks[random.below(blanks.size())]);
  switch (random.below(16)) {
    case 0: return "";
    case 1: octets.resize(static_cast<size_t>(random.between(1, 3))); break;
    case 2: octets.push_back(gen::random_octet(random, random.between(1, 3))); break;
    case 3: octet = ""; break;
    case 4: return "." + join(octets);
    case 5: return join(octets) + ".";
    case 6: octet = std::string(random.chance(1, 2) ? 1 : 2, '0') + octet; break;
    case 7: octet = std::to_string(random.between(256, 999)); break;
    case 8: octet += std::to_string(random.between(100, 9999)); break;
    case 9: octet = (random.chance(1, 2) ? "+" : "-") + octet; break;
    case 10: return random.chance(1, 2) ? blank + join(octets) : join(octets) + blank;
    case 11: octet += blank; break;
    case 12: octet = "0x" + octet; break;
    case 13: return join(octets) + static_cast<char>(random.between('a', 'z'));
    case 14: octet += static_cast<char>(random.between(128, 255)); break;
    default: {
      std::string text = join(octets);
      const size_t dot = text.find('.');
      text[dot] = ",:/;"[random.below(4)];
      return text;
    }
  }
  return join(octets);
}

void make(DataSet& data, const Options& options, Random& random) {
  gen::pack_strings(data, options.at("count"), [&]() -> std::string {
    const uint32_t kind = random.below(1000);
    if (kind < 4) return long_string(random);
    return kind < 400 ? near_miss(random) : gen::random_address(random, 2, 8);
  });
}

bool is_octet(std::string_view text) {
  if (text.empty() || text.size() > 3) return false;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  return value <= 255 && (text.size() == 1 || text[0] != '0');
}

bool is_address(std::string_view text) {
  for (int octet = 0; octet < 3; octet++) {
    const size_t dot = text.find('.');
    if (dot == std::string_view::npos || !is_octet(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return is_octet(text);
}

void solve(DataSet& data) {
  const uint32_t count = data.arg("count");
  const auto text = data.get<char>("text");
  const auto offsets = data.get<uint32_t>("offsets");
  const auto valid = data.create<uint8_t>("valid", count);
  for (uint32_t i = 0; i < count; i++) valid[i] = is_address(gen::string_at(text, offsets[i]));
}

}  // namespace

int main(int argc, char** argv) {
  const gen::App app = {
      .name = "isipv4",
      .summary =
          "Packed strings: six in ten are IPv4 addresses, the rest near misses of many "
          "kinds, one in 250\nlonger than 64 bytes.",
      .inputs = {"text", "offsets"},
      .outputs = {"valid"},
      .derived = {},
      .default_count = 1u << 23,
      .options = {},
      .make = make,
      .solve = solve,
  };
  return gen::generate_main(app, argc, argv);
}
