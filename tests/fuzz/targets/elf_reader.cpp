/// The reader of plugin sections: whatever the bytes are, it says what is wrong with them or gives
/// sections that are in the file.
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "plugin/elf.hpp"
#include "target.hpp"

namespace revet::fuzz {

bool accepts(std::span<const std::uint8_t> file) {
  const ElfResult result = read_plugin_sections(file);
  const PluginSections& s = result.sections;
  if (result.error.empty())
    require(!s.abi_version.empty() && !s.fingerprint.empty(), "what was read is complete");
  std::size_t bytes = s.abi_version.size() + s.fingerprint.size() + s.build.size();
  for (const std::string& name : s.provides) {
    require(!name.empty(), "no name is empty");
    bytes += name.size();
  }
  // The two sections may lie over each other.
  require(bytes <= 2 * file.size(), "what was read is in the file");
  return result.error.empty();
}

namespace {

/// Changes of the headers, which say where everything else is.
class HeaderMutator {
 public:
  HeaderMutator(Bytes& bytes, Random& random) : bytes_(bytes), random_(random) {
    std::memcpy(&header_, bytes.data(), std::min(bytes.size(), sizeof header_));
  }

  void run() {
    switch (below(3)) {
      case 0: flip_bits(); break;
      case 1: {
        const Field field = header_fields[below(header_fields.size())];
        overwrite(field.offset, field.size);
        break;
      }
      case 2: {
        const Field field = section_fields[below(section_fields.size())];
        const std::uint64_t section = below(std::max<std::uint64_t>(header_.e_shnum, 1));
        overwrite(header_.e_shoff + section * sizeof(Elf64_Shdr) + field.offset, field.size);
        break;
      }
    }
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
    const std::uint64_t size = bytes_.size();
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

  void overwrite(std::uint64_t at, std::size_t size) {
    const std::uint64_t value = interesting();
    const std::size_t n = std::min(size, sizeof value);
    if (at <= bytes_.size() && bytes_.size() - at >= n) std::memcpy(bytes_.data() + at, &value, n);
  }

  void flip_bits() {
    // Most of a plugin is code that the reader never looks at.
    const std::uint64_t tail = header_.e_shoff;
    for (std::uint64_t n = 1 + below(8); n != 0; --n) {
      const bool headers = below(4) != 0 && bytes_.size() > tail;
      const std::uint64_t at = headers ? tail + below(bytes_.size() - tail) : below(bytes_.size());
      bytes_[at] ^= static_cast<std::uint8_t>(1u << below(8));
    }
  }

  Bytes& bytes_;
  Random& random_;
  Elf64_Ehdr header_ = {};
};

}  // namespace

void mutate_format(Bytes& bytes, Random& random) {
  if (!bytes.empty()) HeaderMutator(bytes, random).run();
}

}  // namespace revet::fuzz
