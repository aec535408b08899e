// Data for search: text, a pattern, and the tables of Boyer and Moore's algorithm.
#include <algorithm>

#include "gen_common.hpp"

namespace {

using gen::DataSet;
using gen::Options;
using gen::Random;

constexpr uint64_t chunk = 256;

// Letters by how often they stand among a thousand of English text; the rest are blanks.
char random_letter(Random& random) {
  static const std::string letters = [] {
    constexpr int weight[26] = {66, 12, 22, 34, 103, 18, 16, 49, 56, 1,  6, 33, 20,
                                56, 61, 15, 1,  48,  51, 73, 22, 8,  19, 1, 16, 1};
    std::string table;
    for (int i = 0; i < 26; i++) {
      table.append(static_cast<size_t>(weight[i]), static_cast<char>('a' + i));
    }
    table.resize(1000, ' ');
    return table;
  }();
  return letters[random.below(letters.size())];
}

void make(DataSet& data, const Options& options, Random& random) {
  const uint64_t count = options.at("count");
  const uint64_t m = options.at("pattern-length");
  data.set_arg("m", m);
  const auto pattern = data.create<char>("pattern", m);
  const auto text = data.create<char>("text", chunk * count + m - 1);
  for (char& c : pattern) c = random_letter(random);
  for (char& c : text) c = random_letter(random);
  for (uint64_t i = 0; i < count; i++) {
    if (!random.chance(1, 8)) continue;
    const uint64_t start = chunk * i + random.below(chunk);
    std::copy(pattern.begin(), pattern.end(), text.begin() + static_cast<std::ptrdiff_t>(start));
  }
}

// border[j] is the length of the longest proper border of the pattern's first j bytes.
std::vector<int> borders(std::span<const char> pattern) {
  std::vector<int> border(pattern.size() + 1, 0);
  border[0] = -1;
  int k = -1;
  for (size_t j = 0; j < pattern.size(); j++) {
    while (k >= 0 && pattern[static_cast<size_t>(k)] != pattern[j]) {
      k = border[static_cast<size_t>(k)];
    }
    k++;
    border[j + 1] = k;
  }
  return border;
}

void make_tables(DataSet& data, std::span<const char> pattern) {
  const int m = static_cast<int>(pattern.size());
  const auto bad_char = data.create<int32_t>("bad_char", 256);
  std::fill(bad_char.begin(), bad_char.end(), -1);
  for (int j = 0; j < m; j++) {
    bad_char[static_cast<uint8_t>(pattern[static_cast<size_t>(j)])] = j;
  }

  // Strong suffix rule. first[j] is where the widest border of pattern[j..] starts in it.
  const auto shift = data.create<int32_t>("good_suffix", pattern.size() + 1);
  std::vector<int> first(pattern.size() + 1);
  const auto at = [](int i) { return static_cast<size_t>(i); };
  int i = m;
  int j = m + 1;
  first[at(i)] = j;
  while (i > 0) {
    while (j <= m && pattern[at(i - 1)] != pattern[at(j - 1)]) {
      if (shift[at(j)] == 0) shift[at(j)] = j - i;
      j = first[at(j)];
    }
    i--;
    j--;
    first[at(i)] = j;
  }
  // Where no such occurrence exists, the widest border of the whole pattern decides.
  int border = first[0];
  for (i = 0; i <= m; i++) {
    if (shift[at(i)] == 0) shift[at(i)] = border;
    if (i == border) border = first[at(border)];
  }
}

// Counts with the algorithm of Knuth, Morris and Pratt.
void solve(DataSet& data) {
  const uint32_t count = data.arg("count");
  const auto text = data.get<char>("text");
  const auto pattern = data.get<char>("pattern");
  make_tables(data, pattern);
  const auto matches = data.create<int32_t>("matches", count);
  const std::vector<int> border = borders(pattern);
  size_t k = 0;
  for (size_t i = 0; i < text.size(); i++) {
    while (k == pattern.size() || text[i] != pattern[k]) {
      if (k == 0) break;
      k = static_cast<size_t>(border[k]);
    }
    if (text[i] == pattern[k]) k++;
    if (k == pattern.size()) matches[(i + 1 - k) / chunk]++;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const gen::App app = {
      .name = "search",
      .summary = "English-like text with the pattern planted in one chunk of eight.",
      .inputs = {"text", "pattern", "bad_char", "good_suffix"},
      .outputs = {"matches"},
      .derived = {"bad_char", "good_suffix"},
      .default_count = 1u << 19,
      .options = {{"pattern-length", 12, 1, 1u << 20, "length of the pattern"}},
      .make = make,
      .solve = solve,
  };
  return gen::generate_main(app, argc, argv);
}
