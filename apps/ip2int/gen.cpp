// Data for ip2int: valid addresses.
#include "gen_common.hpp"
#include "gen_text.hpp"

namespace {

using gen::DataSet;
using gen::Options;
using gen::Random;

void make(DataSet& data, const Options& options, Random& random) {
  gen::pack_strings(data, options.at("count"), [&] { return gen::random_address(random, 4, 7); });
}

void solve(DataSet& data) {
  const uint32_t count = data.arg("count");
  const auto text = data.get<char>("text");
  const auto offsets = data.get<uint32_t>("offsets");
  const auto addr = data.create<uint32_t>("addr", count);
  for (uint32_t i = 0; i < count; i++) {
    std::string_view rest = gen::string_at(text, offsets[i]);
    for (int octet = 0; octet < 4; octet++) {
      uint32_t value = 0;
      const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      addr[i] = addr[i] * 256 + value;
      rest.remove_prefix(static_cast<size_t>(parsed.ptr - rest.data()));
      if (!rest.empty()) rest.remove_prefix(1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const gen::App app = {
      .name = "ip2int",
      .summary = "Packed strings, all of them IPv4 addresses.",
      .inputs = {"text", "offsets"},
      .outputs = {"addr"},
      .derived = {},
      .default_count = 1u << 23,
      .options = {},
      .make = make,
      .solve = solve,
  };
  return gen::generate_main(app, argc, argv);
}
