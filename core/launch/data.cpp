#include "data.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "../support/files.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace fs = std::filesystem;

// --- element access -----------------------------------------------------------------------------

std::uint32_t load_element(const std::uint8_t* memory, Kind element, std::uint64_t i) {
  switch (scalar_type(element).bytes()) {
    case 1: {
      const std::uint8_t b = memory[i];
      return element == Kind::i1 ? std::uint32_t{b != 0} : wrap(element, b);
    }
    case 2: {
      std::uint16_t h;
      std::memcpy(&h, memory + 2 * i, 2);
      return wrap(element, h);
    }
    default: {
      std::uint32_t w;
      std::memcpy(&w, memory + 4 * i, 4);
      return w;
    }
  }
}

void store_element(std::uint8_t* memory, Kind element, std::uint64_t i, std::uint32_t bits) {
  const unsigned n = scalar_type(element).bytes();
  std::memcpy(memory + n * i, &bits, n);  // little-endian: the low bytes come first
}

// --- arrays -------------------------------------------------------------------------------------

void Unmap::operator()(std::uint8_t* p) const { ::munmap(p, bytes); }

void ArrayData::load() {
  if (!memory_) {
    const std::size_t size = std::max<std::size_t>(bytes(), 1);
    void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      throw Error(Exit::program,
                  fmt::format("array '{}' of {} bytes does not fit in memory", name, bytes()));
    memory_ = {static_cast<std::uint8_t*>(p), Unmap{size}};
  }
  if (file.empty()) {
    std::memset(data(), 0, bytes());  // also maps the pages before anything is timed
    return;
  }
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(file_offset));
  in.read(reinterpret_cast<char*>(data()), static_cast<std::streamsize>(bytes()));
  if (!in)
    throw Error(Exit::program, fmt::format("array '{}': cannot read {}", name, file.string()));
}

void Launch::restore() {
  for (ArrayData& a : arrays)
    if (a.written) a.load();
}

namespace {

// --- arguments ----------------------------------------------------------------------------------

struct Argument {
  std::string value;
  Loc loc;
};

std::string trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return std::string(s);
}

std::map<std::string, Argument> read_arguments(const fs::path& path) {
  std::map<std::string, Argument> out;
  const std::string text = read_file(path);
  const FileId file = intern_file(path.string());
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  for (std::uint32_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string entry = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (entry.empty()) continue;
    const Loc loc{file, line, 1, 1};
    const std::size_t eq = entry.find('=');
    if (eq == std::string::npos) throw Error(Exit::program, loc, "expected name=value");
    const std::string name = trim(std::string_view(entry).substr(0, eq));
    if (!out.emplace(name, Argument{trim(std::string_view(entry).substr(eq + 1)), loc}).second)
      throw Error(Exit::program, loc, fmt::format("argument '{}' is given twice", name));
  }
  return out;
}

std::uint32_t parse_argument(const Param& param, const Argument& argument) {
  const std::string& text = argument.value;
  const auto fail = [&](const std::string& expected) {
    throw Error(Exit::program, argument.loc,
                fmt::format("argument '{}' of type {} expects {}, got '{}'", param.name,
                            param.type.source_str(), expected, text));
  };
  if (param.type == type_i1) {
    if (text == "1" || text == "true") return 1;
    if (text != "0" && text != "false") fail("0, 1, true or false");
    return 0;
  }
  if (param.type.is_float()) {
    // Whatever locale a plugin sets: files are written with points.
    static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
    char* end = nullptr;
    const float f = ::strtof_l(text.c_str(), &end, c_locale);
    if (text.empty() || end != text.c_str() + text.size()) fail("a number");
    return as_bits(f);
  }
  std::string_view digits = text;
  const bool negative = digits.starts_with("-");
  if (negative || digits.starts_with("+")) digits.remove_prefix(1);
  const int base = digits.starts_with("0x") || digits.starts_with("0X") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  std::int64_t v = 0;
  const auto [p, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), v, base);
  const bool whole = ec == std::errc() && p == digits.data() + digits.size() && !digits.empty() &&
                     std::isxdigit(static_cast<unsigned char>(digits[0]));
  if (negative) v = -v;
  if (!whole || v < INT32_MIN || v > std::int64_t{UINT32_MAX})
    fail("an integer from -2147483648 to 4294967295");
  return wrap(param.type.kind, static_cast<std::uint32_t>(v));
}

std::vector<ScalarArg> load_scalars(const Signature& signature, const fs::path& directory,
                                    const std::map<std::string, std::string>& overrides) {
  std::map<std::string, Argument> given;
  const fs::path path = directory / "args.txt";
  std::error_code ec;
  if (!directory.empty() && fs::exists(path, ec)) given = read_arguments(path);
  const Loc command_line{intern_file("<--arg>"), 0, 0, 0};
  for (const auto& [name, value] : overrides) given[name] = {value, command_line};
  std::vector<std::string> known;
  for (const Param& p : signature.params) known.push_back(p.name);
  for (const auto& [name, argument] : given)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(Exit::program, argument.loc,
                  fmt::format("main has no parameter '{}'{}", name, did_you_mean(name, known)));
  std::vector<ScalarArg> out;
  for (const Param& p : signature.params) {
    const auto it = given.find(p.name);
    if (it == given.end())
      throw Error(Exit::program,
                  fmt::format("argument '{}' is missing: give it in {} or by --arg {}=VALUE",
                              p.name, directory.empty() ? "args.txt" : path.string(), p.name));
    out.push_back({p.name, p.type, parse_argument(p, it->second)});
  }
  return out;
}

// --- array files --------------------------------------------------------------------------------

/// Fills in count and offset from a NumPy header.
void read_numpy_header(ArrayData& a) {
  const auto fail = [&](const std::string& why) {
    throw Error(Exit::program, fmt::format("array '{}': {} {}", a.name, a.file.string(), why));
  };
  std::ifstream in(a.file, std::ios::binary);
  std::uint8_t lead[12] = {};
  in.read(reinterpret_cast<char*>(lead), 10);
  if (!in || std::memcmp(lead, "\x93NUMPY", 6) != 0) fail("is not a NumPy file");
  std::uint32_t length = lead[8] | static_cast<std::uint32_t>(lead[9]) << 8;
  std::uint64_t start = 10;
  if (lead[6] >= 2) {
    in.read(reinterpret_cast<char*>(lead + 10), 2);
    length |= static_cast<std::uint32_t>(lead[10]) << 16 | static_cast<std::uint32_t>(lead[11])
                                                               << 24;
    start = 12;
  }
  if (length > 65536) fail("has an unreasonable header");
  std::string header(length, '\0');
  in.read(header.data(), length);
  if (!in) fail("has a truncated header");
  const auto field = [&](const std::string& key) {
    const std::size_t at = header.find("'" + key + "'");
    const std::size_t colon = at == std::string::npos ? at : header.find(':', at);
    if (colon == std::string::npos) fail("has no field '" + key + "' in its header");
    return trim(std::string_view(header).substr(colon + 1));
  };
  const char kind = a.element.is_float()    ? 'f'
                    : a.element == type_i1  ? 'b'
                    : a.element.is_signed() ? 'i'
                                            : 'u';
  const std::string want = fmt::format("{}{}", kind, a.element.bytes());
  const std::string descr = field("descr");
  if (descr.size() < 5 || (descr[1] != '<' && descr[1] != '|') || descr.substr(2, 2) != want)
    fail(fmt::format("has elements of type {}, array '{}' needs '<{}'",
                     descr.substr(0, descr.find(',')), a.name, want));
  if (field("fortran_order").starts_with("True")) fail("is in Fortran order");
  const std::string shape = field("shape");
  std::uint64_t count = 1;
  for (std::size_t i = 1; i < shape.size() && shape[i] != ')';) {
    std::uint64_t n = 0;
    const auto [p, ec] = std::from_chars(shape.data() + i, shape.data() + shape.size(), n);
    if (ec != std::errc()) fail("has a damaged shape");
    if (n != 0 && count > UINT64_MAX / n) fail("has a damaged shape");
    count *= n;
    i = static_cast<std::size_t>(p - shape.data());
    while (i < shape.size() && (shape[i] == ',' || shape[i] == ' ')) ++i;
  }
  a.numpy = true;
  a.count = count;
  a.file_offset = start + length;
  std::error_code ec;
  if (fs::file_size(a.file, ec) - a.file_offset != a.bytes())
    fail("is shorter or longer than its header says");
}

/// Finds `name`.bin or .npy in the directory and sets file, offset and count; false where there is
/// neither.
bool find_file(ArrayData& a, const fs::path& directory) {
  std::error_code ec;
  const fs::path raw = directory / (a.name + ".bin");
  const fs::path numpy = directory / (a.name + ".npy");
  if (fs::exists(raw, ec)) {
    a.file = raw;
    if (!fs::is_regular_file(raw, ec))
      throw Error(Exit::program,
                  fmt::format("array '{}': {} is not a regular file", a.name, raw.string()));
    const std::uint64_t size = fs::file_size(raw, ec);
    if (size % a.element.bytes() != 0)
      throw Error(
          Exit::program,
          fmt::format("array '{}': {} has {} bytes, which is no multiple of the element's {}",
                      a.name, raw.string(), size, a.element.bytes()));
    a.count = size / a.element.bytes();
    return true;
  }
  if (!fs::exists(numpy, ec)) return false;
  a.file = numpy;
  read_numpy_header(a);
  return true;
}

}  // namespace

Launch load_launch(const Signature& signature, const fs::path& directory,
                   const std::map<std::string, std::string>& overrides) {
  std::error_code ec;
  if (!directory.empty() && !fs::is_directory(directory, ec))
    throw Error(Exit::program, fmt::format("there is no data directory {}", directory.string()));
  Launch launch;
  launch.scalars = load_scalars(signature, directory, overrides);
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  double total = 0;
  for (const DramArray& array : signature.arrays) {
    ArrayData a;
    a.name = array.name;
    a.element = array.element;
    a.written = array.written;
    const bool has_file = !directory.empty() && find_file(a, directory);
    if (array.size) {
      const std::int64_t n = evaluate_size(*array.size, launch.scalars, array);
      if (n < 0)
        throw Error(Exit::program, array.loc,
                    fmt::format("array '{}' has the negative size {}", a.name, n));
      if (has_file && a.count != static_cast<std::uint64_t>(n))
        throw Error(Exit::program, array.loc,
                    fmt::format("array '{}' has size {}, but {} holds {} elements", a.name, n,
                                a.file.string(), a.count));
      a.count = static_cast<std::uint64_t>(n);
    } else if (!has_file) {
      throw Error(
          Exit::program, array.loc,
          fmt::format("array '{}' has no size, so it needs a file {}.bin or {}.npy{}", a.name,
                      a.name, a.name,
                      directory.empty() ? " (give --data DIR)" : " in " + directory.string()));
    }
    total += static_cast<double>(a.count) * a.element.bytes();
    if (total > memory)
      throw Error(Exit::program, array.loc,
                  fmt::format("array '{}' of {} elements does not fit in memory", a.name, a.count));
    launch.arrays.push_back(std::move(a));
  }
  for (ArrayData& a : launch.arrays) a.load();
  return launch;
}

std::uint64_t reported_bytes(const Launch& launch, const fs::path& directory) {
  const fs::path path = directory / "reported_size.txt";
  std::error_code ec;
  if (!directory.empty() && fs::exists(path, ec)) {
    const std::string text = trim(read_file(path));
    std::uint64_t n = 0;
    const auto [p, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || p != text.data() + text.size())
      throw Error(Exit::program, {intern_file(path.string()), 1, 1, 1},
                  "expected one number of bytes");
    return n;
  }
  std::uint64_t sum = 0;
  for (const ArrayData& a : launch.arrays) sum += a.bytes();
  return sum;
}

void write_outputs(const Launch& launch, const fs::path& directory) {
  std::error_code ec;
  fs::create_directories(directory, ec);
  if (ec)
    throw Error(Exit::usage, fmt::format("cannot make {}: {}", directory.string(), ec.message()));
  for (const ArrayData& a : launch.arrays) {
    if (!a.written) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(a.data()), a.bytes());
    if (!a.numpy) {
      write_file(directory / (a.name + ".bin"), bytes);
      continue;
    }
    std::string text(a.file_offset, '\0');
    std::ifstream(a.file, std::ios::binary)
        .read(text.data(), static_cast<std::streamsize>(text.size()));
    write_file(directory / (a.name + ".npy"), text.append(bytes));
  }
}

namespace {

std::string show(Type type, std::uint32_t bits) {
  if (type.is_float()) return fmt::format("{}", as_float(bits));
  return type.is_signed() ? std::to_string(static_cast<std::int32_t>(bits)) : std::to_string(bits);
}

bool near(float got, float want, const Tolerance& t) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  const double difference = std::abs(static_cast<double>(got) - static_cast<double>(want));
  return difference <= t.absolute + t.relative * std::abs(static_cast<double>(want));
}

}  // namespace

void check_outputs(const Launch& launch, const fs::path& directory,
                   const std::optional<Tolerance>& tolerance) {
  for (const ArrayData& a : launch.arrays) {
    if (!a.written) continue;
    ArrayData want;
    want.name = a.name;
    want.element = a.element;
    const fs::path raw = directory / (a.name + ".bin");
    if (fs::exists(raw) && !fs::is_regular_file(raw))
      throw Error(Exit::usage, fmt::format("cannot read {}: not a regular file", raw.string()));
    const bool found = [&] {
      try {
        return find_file(want, directory);
      } catch (const Error& e) {
        throw Error(Exit::differs, e.what());
      }
    }();
    if (!found)
      throw Error(Exit::usage,
                  fmt::format("there is no {}.bin or {}.npy in {} to check array '{}' against",
                              a.name, a.name, directory.string(), a.name));
    if (want.count != a.count)
      throw Error(Exit::differs, fmt::format("array '{}' has {} elements, {} has {}", a.name,
                                             a.count, want.file.string(), want.count));
    std::ifstream in(want.file, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(want.file_offset));
    const std::uint64_t step = (std::uint64_t{1} << 20) / a.element.bytes();
    std::vector<std::uint8_t> chunk(step * a.element.bytes());
    for (std::uint64_t at = 0; at < a.count; at += step) {
      const std::uint64_t n = std::min(step, a.count - at);
      in.read(reinterpret_cast<char*>(chunk.data()),
              static_cast<std::streamsize>(n * a.element.bytes()));
      if (!in) throw Error(Exit::usage, fmt::format("cannot read {}", want.file.string()));
      if (std::memcmp(chunk.data(), a.data() + at * a.element.bytes(), n * a.element.bytes()) == 0)
        continue;
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint32_t g = load_element(a.data(), a.element.kind, at + i);
        const std::uint32_t w = load_element(chunk.data(), a.element.kind, i);
        if (g == w) continue;
        if (tolerance && a.element.is_float() && near(as_float(g), as_float(w), *tolerance))
          continue;
        throw Error(Exit::differs,
                    fmt::format("output differs: {}[{}] is {}, expected {} ({})", a.name, at + i,
                                show(a.element, g), show(a.element, w), want.file.string()));
      }
    }
  }
}

}  // namespace revet
