#include "elf.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <system_error>

#include "../support/files.hpp"
#include "revet/diagnostics.hpp"

namespace revet {
namespace {

constexpr std::uint16_t host_machine =
#if defined(__x86_64__)
    EM_X86_64;
#elif defined(__aarch64__)
    EM_AARCH64;
#else
    EM_NONE;
#endif

using Bytes = std::span<const std::uint8_t>;

template <typename T>
std::optional<T> read_at(Bytes file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

std::optional<Bytes> slice(Bytes file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.subspan(offset, size);
}

/// The NUL-separated strings of a section; a last one without NUL counts too.
std::vector<std::string> strings_of(Bytes bytes) {
  std::vector<std::string> out;
  std::string current;
  for (const std::uint8_t b : bytes) {
    if (b != 0) {
      current += static_cast<char>(b);
    } else {
      if (!current.empty()) out.push_back(std::move(current));
      current.clear();
    }
  }
  if (!current.empty()) out.push_back(std::move(current));
  return out;
}

}  // namespace

ElfResult read_plugin_sections(Bytes file) {
  ElfResult result;
  const auto fail = [&](std::string why) {
    result.error = std::move(why);
    return result;
  };
  if (file.empty()) return fail("the file is empty");
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    return fail("not a shared object (no ELF header)");
  if (!header) return fail("truncated ELF header");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return fail("not a 64-bit little-endian shared object");
  if (header->e_type != ET_DYN) return fail("not a shared object (another kind of ELF file)");
  if (header->e_machine != host_machine)
    return fail(fmt::format("built for another architecture (ELF machine {}, this host is {})",
                            header->e_machine, host_machine));
  if (header->e_shoff == 0 || header->e_shnum == 0 || header->e_shentsize != sizeof(Elf64_Shdr))
    return fail("not a revet plugin (no section headers)");

  const auto section = [&](std::uint64_t i) -> std::optional<Elf64_Shdr> {
    // e_shnum and i have 16 bits, so the product cannot overflow; the sum may.
    const std::uint64_t offset = i * sizeof(Elf64_Shdr);
    if (offset > UINT64_MAX - header->e_shoff) return std::nullopt;
    return read_at<Elf64_Shdr>(file, header->e_shoff + offset);
  };
  const auto names_header = section(header->e_shstrndx);
  if (!names_header) return fail("damaged ELF file (section names are outside the file)");
  const auto names = slice(file, names_header->sh_offset, names_header->sh_size);
  if (!names) return fail("damaged ELF file (section names are outside the file)");

  bool has_core = false;
  bool has_abi = false;
  bool has_provides = false;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto s = section(i);
    if (!s) return fail("damaged ELF file (section headers are outside the file)");
    if (s->sh_name >= names->size()) continue;
    const auto* begin = reinterpret_cast<const char*>(names->data()) + s->sh_name;
    const std::string_view name(begin, strnlen(begin, names->size() - s->sh_name));
    has_core = has_core || name == ".revet.core";
    if (name != ".revet.abi" && name != ".revet.provides") continue;
    if (name == ".revet.abi" ? has_abi : has_provides)
      return fail(fmt::format("damaged ELF file (section {} occurs twice)", name));
    const auto bytes =
        s->sh_type == SHT_NOBITS ? std::nullopt : slice(file, s->sh_offset, s->sh_size);
    if (!bytes) return fail(fmt::format("damaged ELF file (section {} is outside the file)", name));
    std::vector<std::string> strings = strings_of(*bytes);
    if (name == ".revet.abi") {
      if (strings.size() < 2) return fail("damaged section .revet.abi");
      has_abi = true;
      result.sections.abi_version = strings[0];
      result.sections.fingerprint = strings[1];
      if (strings.size() > 2) result.sections.build = strings[2];
    } else {
      has_provides = true;
      result.sections.provides = std::move(strings);
    }
  }
  if (!has_abi || !has_provides)
    return fail(fmt::format("not a revet plugin (no section {})",
                            has_abi ? ".revet.provides" : ".revet.abi"));
  // What it provides is known all the same: whoever needs it is told why it cannot be had.
  if (has_core)
    return fail("carries its own copy of librevet; link the shared one (target Revet::revet)");
  return result;
}

ElfResult read_plugin_sections(const std::filesystem::path& path) {
  std::error_code ec;
  const auto status = std::filesystem::status(path, ec);
  if (ec) return {{}, ec.message()};
  if (std::filesystem::is_directory(status)) return {{}, "is a directory"};
  if (!std::filesystem::is_regular_file(status)) return {{}, "is not a regular file"};
  try {
    const std::string bytes = read_file(path);
    return read_plugin_sections(
        Bytes(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  } catch (const Error& e) {
    return {{}, e.what()};
  }
}

}  // namespace revet
