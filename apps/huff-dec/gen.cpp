// Data for huff-dec: blocks of symbols in a canonical Huffman code.
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
  const auto copy = [&]<typename T>(const char* name, const T& table) {
    const auto array = data.create<typename T::value_type>(name, table.size());
    std::copy(table.begin(), table.end(), array.begin());
  };
  copy("first_code", code.first_code);
  copy("first_index", code.first_index);
  copy("count_len", code.count_len);
  copy("symbols", code.symbols);

  const auto starts = data.create<uint32_t>("starts", count);
  std::vector<uint32_t> words;
  gen::BitString bits;
  for (uint32_t& start : starts) {
    bits.clear();
    for (uint64_t k = 0; k < block; k++) {
      const uint8_t symbol = source.draw(random);
      bits.append(code.code[symbol], code.length[symbol]);
    }
    start = static_cast<uint32_t>(words.size());
    words.insert(words.end(), bits.words().begin(), bits.words().end());
    if (words.size() > DataSet::max_bytes / 4) {
      throw gen::UsageError("array 'bits' would exceed 2^31 - 1 bytes; lower --count or --block");
    }
  }
  const auto array = data.create<uint32_t>("bits", words.size());
  std::copy(words.begin(), words.end(), array.begin());
}

// The canonical code as a binary tree, walked bit by bit.
class DecodingTree {
 public:
  explicit DecodingTree(DataSet& data) {
    const auto count_len = data.get<uint32_t>("count_len");
    const auto symbols = data.get<uint8_t>("symbols");
    uint32_t code = 0;
    size_t index = 0;
    for (int length = 1; length <= gen::max_code_length; length++) {
      for (uint32_t k = 0; k < count_len[static_cast<size_t>(length)]; k++) {
        add(code++, length, symbols[index++]);
      }
      code *= 2;
    }
  }

  // The child on the side of a bit; 0 where no code leads.
  size_t child(size_t node, uint32_t bit) const { return nodes_[node].child[bit]; }
  int symbol(size_t node) const { return nodes_[node].symbol; }

 private:
  struct Node {
    std::array<size_t, 2> child{};
    int symbol = -1;
  };

  void add(uint32_t code, int length, uint8_t symbol) {
    size_t node = 0;
    for (int bit = length; bit-- > 0;) {
      const uint32_t side = (code >> bit) & 1;
      if (nodes_[node].child[side] == 0) {
        nodes_[node].child[side] = nodes_.size();
        nodes_.emplace_back();
      }
      node = nodes_[node].child[side];
    }
    nodes_[node].symbol = symbol;
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

void solve(DataSet& data) {
  const uint32_t count = data.arg("count");
  const uint64_t block = data.arg("block");
  const auto first_code = data.create<uint32_t>("first_code", gen::max_code_length + 1);
  const auto first_index = data.create<uint32_t>("first_index", gen::max_code_length + 1);
  const auto count_len = data.get<uint32_t>("count_len");
  for (size_t length = 1; length < gen::max_code_length; length++) {
    first_code[length + 1] = (first_code[length] + count_len[length]) * 2;
    first_index[length + 1] = first_index[length] + count_len[length];
  }

  const DecodingTree tree(data);
  const auto bits = data.get<uint32_t>("bits");
  const auto starts = data.get<uint32_t>("starts");
  const auto out = data.create<uint8_t>("out", block * count);
  for (size_t i = 0; i < count; i++) {
    uint64_t position = uint64_t{starts[i]} * 32;
    for (size_t k = 0; k < block; k++) {
      size_t node = 0;
      while (tree.symbol(node) < 0) {
        if (position / 32 >= bits.size()) throw gen::UsageError("block outside array 'bits'");
        node = tree.child(node, (bits[position / 32] >> (31 - position % 32)) & 1);
        if (node == 0) throw gen::UsageError("bits that start no code in array 'bits'");
        position++;
      }
      out[block * i + k] = static_cast<uint8_t>(tree.symbol(node));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const gen::App app = {
      .name = "huff-dec",
      .summary = "Blocks of symbols with Zipf-like weights in their canonical Huffman code.",
      .inputs = {"bits", "starts", "first_code", "first_index", "count_len", "symbols"},
      .outputs = {"out"},
      .derived = {"first_code", "first_index"},
      .default_count = 1u << 20,
      .options = gen::huffman_options(),
      .make = make,
      .solve = solve,
  };
  return gen::generate_main(app, argc, argv);
}
