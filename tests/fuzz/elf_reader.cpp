/// Fuzzes the reader of plugin sections: whatever the bytes are, it says what is wrong with them or
/// gives sections that are in the file. A libFuzzer target; with REVET_FUZZ_MAIN a program,
/// `elf_reader PLUGIN N`, that gives it N mutations of a plugin, the same ones at every run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "plugin/elf.hpp"

namespace {

void require(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", text);
  std::abort();
}

void check(std::span<const std::uint8_t> file) {
  const revet::ElfResult result = revet::read_plugin_sections(file);
  const revet::PluginSections& s = result.sections;
  if (result.error.empty())
    require(!s.abi_version.empty() && !s.fingerprint.empty(), "what was read is complete");
  std::size_t bytes = s.abi_version.size() + s.fingerprint.size() + s.build.size();
  for (const std::string& name : s.provides) {
    require(!name.empty(), "no name is empty");
    bytes += name.size();
  }
  // The two sections may lie over each other.
  require(bytes <= 2 * file.size(), "what was read is in the file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({data, size});
  return 0;
}

#ifdef REVET_FUZZ_MAIN

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

class Mutator {
 public:
  explicit Mutator(Bytes file) : file_(std::move(file)) {
    std::memcpy(&header_, file_.data(), sizeof header_);
  }

  Bytes next() {
    Bytes bytes = file_;
    for (std::uint64_t n = 1 + below(3); n != 0; --n) {
      switch (below(4)) {
        case 0: flip_bits(bytes); break;
        case 1: overwrite_header_field(bytes); break;
        case 2: overwrite_section_field(bytes); break;
        case 3: cut(bytes); break;
      }
    }
    return bytes;
  }

 private:
  struct Field {
    std::size_t offset;
    std::size_t size;
  };
#define REVET_FIELD(type, name) \
  Field { offsetof(type, name), sizeof(type::name) }
  static constexpr std::array header_fields = {
      REVET_FIELD(Elf64_Ehdr, e_ident),     REVET_FIELD(Elf64_Ehdr, e_type),
      REVET_FIELD(Elf64_Ehdr, e_machine),   REVET_FIELD(Elf64_Ehdr, e_shoff),
      REVET_FIELD(Elf64_Ehdr, e_shentsize), REVET_FIELD(Elf64_Ehdr, e_shnum),
      REVET_FIELD(Elf64_Ehdr, e_shstrndx)};
  static constexpr std::array section_fields = {
      REVET_FIELD(Elf64_Shdr, sh_name), REVET_FIELD(Elf64_Shdr, sh_type),
      REVET_FIELD(Elf64_Shdr, sh_offset), REVET_FIELD(Elf64_Shdr, sh_size)};
#undef REVET_FIELD

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  /// What tends to break arithmetic on offsets: the ends of the ranges, and the file's own sizes.
  std::uint64_t interesting() {
    const std::uint64_t size = file_.size();
    const std::array<std::uint64_t, 14> values = {0,
                                                  1,
                                                  UINT64_MAX,
                                                  UINT64_MAX - 63,
                                                  UINT64_MAX / 64,
                                                  INT64_MAX,
                                                  std::uint64_t{1} << 63,
                                                  UINT32_MAX,
                                                  UINT16_MAX,
                                                  size,
                                                  UINT64_MAX - size + 1,
                                                  header_.e_shoff,
                                                  header_.e_shnum,
                                                  random_()};
    return values[below(values.size())] + below(3) - 1;
  }

  void overwrite(Bytes& bytes, std::uint64_t at, std::size_t size) {
    const std::uint64_t value = interesting();
    const std::size_t n = std::min(size, sizeof value);
    if (at <= bytes.size() && bytes.size() - at >= n) std::memcpy(bytes.data() + at, &value, n);
  }

  void overwrite_header_field(Bytes& bytes) {
    const Field field = header_fields[below(header_fields.size())];
    overwrite(bytes, field.offset, field.size);
  }

  void overwrite_section_field(Bytes& bytes) {
    const Field field = section_fields[below(section_fields.size())];
    overwrite(bytes, header_.e_shoff + below(header_.e_shnum) * sizeof(Elf64_Shdr) + field.offset,
              field.size);
  }

  void flip_bits(Bytes& bytes) {
    if (bytes.empty()) return;
    // Most of a plugin is code that the reader never looks at.
    const std::size_t tail = static_cast<std::size_t>(header_.e_shoff);
    for (std::uint64_t n = 1 + below(8); n != 0; --n) {
      const bool headers = below(4) != 0 && bytes.size() > tail;
      const std::size_t at = headers ? tail + below(bytes.size() - tail) : below(bytes.size());
      bytes[at] ^= static_cast<std::uint8_t>(1u << below(8));
    }
  }

  void cut(Bytes& bytes) {
    const bool near_the_end = below(2) != 0;
    const std::size_t most = near_the_end ? std::min<std::size_t>(bytes.size(), 256) : bytes.size();
    bytes.resize(bytes.size() - below(most + 1));
  }

  Bytes file_;
  Elf64_Ehdr header_ = {};
  std::mt19937_64 random_{20250101};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s PLUGIN N\n", argv[0]);
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  Bytes file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!revet::read_plugin_sections(std::span<const std::uint8_t>(file)).error.empty()) {
    std::fprintf(stderr, "%s is no plugin to begin with\n", argv[1]);
    return 2;
  }
  const unsigned long long times = std::strtoull(argv[2], nullptr, 10);
  Mutator mutator(std::move(file));
  unsigned long long accepted = 0;
  for (unsigned long long i = 0; i < times; ++i) {
    // Of exactly that size on the heap, so that a sanitizer sees a read beyond the end.
    Bytes bytes = mutator.next();
    bytes.shrink_to_fit();
    check(bytes);
    if (revet::read_plugin_sections(std::span<const std::uint8_t>(bytes)).error.empty()) ++accepted;
  }
  std::printf("%llu mutations, %llu of them still read as plugins\n", times, accepted);
  return 0;
}

#endif
