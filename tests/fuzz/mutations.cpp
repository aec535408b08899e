/// `TARGET N SEEDS..`: gives a target N mutations of the seeds, the same ones at every run. A seed
/// is a file, or @LIST for a file with a path in each line.
#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>

#include "target.hpp"

namespace revet::fuzz {
namespace {

Bytes read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  require(in.good(), ("the seed can be read: " + path).c_str());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<Bytes> read_seeds(std::span<char*> arguments) {
  std::vector<Bytes> seeds;
  for (const std::string argument : arguments) {
    if (!argument.starts_with('@')) {
      seeds.push_back(read(argument));
      continue;
    }
    std::ifstream list(argument.substr(1));
    for (std::string line; std::getline(list, line);)
      if (!line.empty()) seeds.push_back(read(line));
  }
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<Bytes>& seeds) : seeds_(seeds) {}

  Bytes next() {
    Bytes bytes = seeds_[below(seeds_.size())];
    for (std::uint64_t n = 1 + below(4); n != 0; --n) {
      if (mutate_format && below(2) != 0)
        mutate_format(bytes, random_);
      else
        change(bytes);
    }
    return bytes;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % std::max<std::uint64_t>(n, 1); }
  std::ptrdiff_t place(const Bytes& bytes) {
    return static_cast<std::ptrdiff_t>(below(bytes.size() + 1));
  }

  void change(Bytes& bytes) {
    switch (below(6)) {
      case 0:  // flip bits
        for (std::uint64_t n = 1 + below(4); n != 0 && !bytes.empty(); --n)
          bytes[below(bytes.size())] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1: bytes.resize(bytes.size() - below(bytes.size() + 1)); break;
      case 2: {  // remove some
        const std::size_t at = below(bytes.size());
        const std::size_t n = std::min<std::size_t>(below(16), bytes.size() - at);
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(n));
        break;
      }
      case 3: insert(bytes, piece(bytes)); break;
      case 4: insert(bytes, piece(seeds_[below(seeds_.size())])); break;
      case 5: {
        static constexpr std::array<const char*, 20> texts = {
            "0",     "-1",   "4294967296", "9223372036854775808",
            "1e999", "0x",   "(",          ")",
            "{",     "}",    "\"",         "\\",
            "\n",    "//",   "/*",         "%x.",
            "\r",    "\xff", "=",          "["};
        const std::string text = texts[below(texts.size())];
        insert(bytes, Bytes(text.begin(), text.end()));
        break;
      }
    }
  }

  Bytes piece(const Bytes& from) {
    const std::size_t at = below(from.size());
    const std::size_t n = std::min<std::size_t>(1 + below(64), from.size() - at);
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
  }

  void insert(Bytes& bytes, const Bytes& what) {
    bytes.insert(bytes.begin() + place(bytes), what.begin(), what.end());
  }

  const std::vector<Bytes>& seeds_;
  Random random_{20250101};
};

int run(std::span<char*> arguments) {
  const std::vector<Bytes> seeds = read_seeds(arguments.subspan(1));
  std::size_t good = 0;
  for (const Bytes& seed : seeds) good += accepts(seed) ? 1 : 0;
  require(good != 0, "some of the seeds are right");
  const unsigned long long times = std::strtoull(arguments[0], nullptr, 10);
  Mutator mutator(seeds);
  unsigned long long accepted = 0;
  for (unsigned long long i = 0; i < times; ++i) {
    // Of exactly that size on the heap, so that a sanitizer sees a read beyond the end.
    Bytes bytes = mutator.next();
    bytes.shrink_to_fit();
    if (accepts(bytes)) ++accepted;
  }
  std::printf("%zu of %zu seeds, %llu of %llu mutations accepted\n", good, seeds.size(), accepted,
              times);
  return 0;
}

}  // namespace
}  // namespace revet::fuzz

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s N SEEDS..\n", argv[0]);
    return 2;
  }
  return revet::fuzz::run({argv + 1, static_cast<std::size_t>(argc) - 1});
}
