// Canonical Huffman codes and symbols drawn from their alphabet, for huff-dec and huff-enc.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "gen_common.hpp"

namespace gen {

constexpr int max_code_length = 16;

struct HuffmanCode {
  std::array<uint32_t, 256> code{};
  std::array<uint8_t, 256> length{};
  // By length, element 0 unused; and the symbols in code order.
  std::array<uint32_t, max_code_length + 1> first_code{}, first_index{}, count_len{};
  std::array<uint8_t, 256> symbols{};
};

// Draws symbols with Zipf-like weights 1 / rank^1.25, rounded to parts of 2^16.
class SymbolSource {
 public:
  SymbolSource(size_t alphabet, Random& random) {
    std::array<uint8_t, 256> by_rank;
    std::iota(by_rank.begin(), by_rank.end(), uint8_t{0});
    random.shuffle(std::span<uint8_t>(by_rank));

    // Square roots are exactly rounded everywhere, other powers are not.
    std::vector<double> weight(alphabet);
    for (size_t rank = 0; rank < alphabet; rank++) {
      const auto r = static_cast<double>(rank + 1);
      weight[rank] = 1 / (r * std::sqrt(std::sqrt(r)));
    }
    const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
    for (size_t rank = alphabet; rank-- > 1;) {
      const auto share = static_cast<size_t>(weight[rank] / sum * table_size);
      add(by_rank[rank], std::max(share, size_t{1}));
    }
    add(by_rank[0], table_size - table_.size());
  }

  uint8_t draw(Random& random) const { return table_[random.below(table_size)]; }
  const std::array<uint32_t, 256>& weights() const { return weights_; }

 private:
  static constexpr size_t table_size = 1u << 16;

  void add(uint8_t symbol, size_t share) {
    table_.insert(table_.end(), share, symbol);
    weights_[symbol] = static_cast<uint32_t>(share);
  }

  std::vector<uint8_t> table_;
  std::array<uint32_t, 256> weights_{};
};

// Fills in all tables from the lengths.
inline void assign_codes(HuffmanCode& code) {
  for (const uint8_t length : code.length) {
    if (length > 0) code.count_len[length]++;
  }
  for (size_t length = 1; length < max_code_length; length++) {
    code.first_code[length + 1] = (code.first_code[length] + code.count_len[length]) * 2;
    code.first_index[length + 1] = code.first_index[length] + code.count_len[length];
  }
  auto next_code = code.first_code;
  auto next_index = code.first_index;
  for (size_t symbol = 0; symbol < 256; symbol++) {
    const uint8_t length = code.length[symbol];
    if (length == 0) continue;
    code.code[symbol] = next_code[length]++;
    code.symbols[next_index[length]++] = static_cast<uint8_t>(symbol);
  }
}

// Huffman's algorithm; ties go to the subtree that was made first.
inline HuffmanCode make_code(const std::array<uint32_t, 256>& weights) {
  struct Tree {
    uint32_t weight;
    std::vector<uint8_t> symbols;
  };
  std::vector<Tree> trees;
  using Entry = std::pair<uint32_t, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto push = [&](Tree tree) {
    queue.emplace(tree.weight, trees.size());
    trees.push_back(std::move(tree));
  };
  const auto pop = [&] {
    const size_t index = queue.top().second;
    queue.pop();
    return index;
  };
  for (size_t symbol = 0; symbol < 256; symbol++) {
    if (weights[symbol] > 0) push({weights[symbol], {static_cast<uint8_t>(symbol)}});
  }
  HuffmanCode code;
  if (queue.size() == 1) code.length[trees[0].symbols[0]] = 1;
  while (queue.size() > 1) {
    const size_t a = pop();
    const size_t b = pop();
    Tree merged{trees[a].weight + trees[b].weight, trees[a].symbols};
    merged.symbols.insert(merged.symbols.end(), trees[b].symbols.begin(), trees[b].symbols.end());
    for (const uint8_t symbol : merged.symbols) code.length[symbol]++;
    push(std::move(merged));
  }
  assign_codes(code);
  return code;
}

// A block as a string of bits; the first is bit 31 of word 0.
class BitString {
 public:
  void append(uint32_t code, int length) {
    for (int bit = length; bit-- > 0;) {
      if (size_ % 32 == 0) words_.push_back(0);
      words_.back() |= ((code >> bit) & 1) << (31 - size_ % 32);
      size_++;
    }
  }

  uint32_t size() const { return size_; }
  const std::vector<uint32_t>& words() const { return words_; }
  void clear() {
    words_.clear();
    size_ = 0;
  }

 private:
  std::vector<uint32_t> words_;
  uint32_t size_ = 0;
};

inline std::vector<Option> huffman_options() {
  return {{"block", 64, 1, 1u << 20, "symbols of a block"},
          {"alphabet", 256, 1, 256, "different symbols"}};
}

}  // namespace gen
