// Data for huff-enc: blocks of symbols and a canonical Huffman code.
#include "gen_common.hpp"
#include "gen_huffman.hpp"

namespace {

using gen::DataSet;
using gen::Options;
using gen::Random;

void make(DataSet& data, const Options& options, Random& random) {
  const uint64_t count = options.at("count");
  const uint64_t block = options.at("block");
  data.set_arg("block", block);
  const gen::SymbolSource source(options.at("alphabet"), random);
  const gen::HuffmanCode code = gen::make_code(source.weights());
  std::copy(code.code.begin(), code.code.end(), data.create<uint32_t>("code", 256).begin());
  std::copy(code.length.begin(), code.length.end(), data.create<uint8_t>("len", 256).begin());

  const auto symbols = data.create<uint8_t>("in", block * count);
  uint64_t longest = 1;
  for (size_t i = 0; i < count; i++) {
    uint64_t bits = 0;
    for (uint8_t& symbol : symbols.subspan(block * i, block)) {
      symbol = source.draw(random);
      bits += code.length[symbol];
    }
    longest = std::max(longest, bits);
  }
  data.set_arg("stride", (longest + 31) / 32);
}

void solve(DataSet& data) {
  const uint32_t count = data.arg("count");
  const uint64_t block = data.arg("block");
  const uint64_t stride = data.arg("stride");
  const auto symbols = data.get<uint8_t>("in");
  const auto code = data.get<uint32_t>("code");
  const auto len = data.get<uint8_t>("len");
  const auto bits = data.create<uint32_t>("bits", stride * count);
  const auto nbits = data.create<uint32_t>("nbits", count);
  gen::BitString string;
  for (size_t i = 0; i < count; i++) {
    string.clear();
    for (const uint8_t symbol : symbols.subspan(block * i, block)) {
      string.append(code[symbol], len[symbol]);
    }
    if (string.words().size() > stride) throw gen::UsageError("a block exceeds its stride");
    std::copy(string.words().begin(), string.words().end(), bits.subspan(stride * i).begin());
    nbits[i] = string.size();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const gen::App app = {
      .name = "huff-enc",
      .summary =
          "Blocks of symbols with Zipf-like weights, and the canonical Huffman code for "
          "them.\nThe stride is the smallest that holds every block.",
      .inputs = {"in", "code", "len"},
      .outputs = {"bits", "nbits"},
      .derived = {},
      .default_count = 1u << 20,
      .options = gen::huffman_options(),
      .make = make,
      .solve = solve,
  };
  return gen::generate_main(app, argc, argv);
}
