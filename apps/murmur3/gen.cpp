// Data for murmur3: random words.
#include "gen_common.hpp"

namespace {

using gen::DataSet;
using gen::Options;
using gen::Random;

void make(DataSet& data, const Options& options, Random& random) {
  data.set_arg("seed", options.at("hash-seed"));
  for (uint32_t& word : data.create<uint32_t>("data", 16 * options.at("count"))) {
    word = random.word();
  }
}

// The hash of any byte string, after the published description rather than the fixed-size loop.
uint32_t murmur3(std::span<const uint8_t> bytes, uint32_t seed) {
  uint32_t h = seed;
  uint32_t k = 0;
  const auto scramble = [](uint32_t word) {
    return std::rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u;
  };
  for (size_t i = 0; i < bytes.size(); i++) {
    k |= uint32_t{bytes[i]} << (8 * (i % 4));
    if (i % 4 == 3) {
      h = std::rotl(h ^ scramble(k), 13) * 5 + 0xe6546b64u;
      k = 0;
    }
  }
  h ^= scramble(k);
  return gen::fmix32(h ^ static_cast<uint32_t>(bytes.size()));
}

void solve(DataSet& data) {
  const uint32_t count = data.arg("count");
  const uint32_t seed = data.arg("seed");
  const auto blobs = data.get<uint8_t>("data");
  const auto hash = data.create<uint32_t>("hash", count);
  for (size_t i = 0; i < count; i++) hash[i] = murmur3(blobs.subspan(64 * i, 64), seed);
}

}  // namespace

int main(int argc, char** argv) {
  const gen::App app = {
      .name = "murmur3",
      .summary = "Blobs of 64 random bytes.",
      .inputs = {"data"},
      .outputs = {"hash"},
      .derived = {},
      .default_count = 1u << 21,
      .options = {{"hash-seed", 0x9747b28cu, 0, 0xffffffffu, "the argument seed of the hash"}},
      .make = make,
      .solve = solve,
  };
  return gen::generate_main(app, argc, argv);
}
