// What the data generators of the applications share: random numbers, data sets on disk, the
// command line. The formats are those of FORMATS.md.
#pragma once

#include <array>
#include <bit>
#include <boost/program_options.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gen {

static_assert(std::endian::native == std::endian::little, "the data files are little-endian");

// A mistake in the command line, or a file that cannot be read or written: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// xoshiro256** seeded by splitmix64, and distributions in integer arithmetic: the standard
// library's give different numbers on different machines.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15u;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  uint32_t word() { return static_cast<uint32_t>(next() >> 32); }

  // A number below n, 1 <= n <= 2^32; its bias of at most 2^-32 is of no consequence here.
  uint32_t below(uint64_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }

  // A number from low to high, both included.
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<uint64_t>(high - low) + 1));
  }

  bool chance(uint32_t numerator, uint32_t denominator) { return below(denominator) < numerator; }

  // A number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  template <typename T>
  void shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; i--) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::array<uint64_t, 4> state_;
};

// Arrays by name and scalar arguments in order.
class DataSet {
 public:
  static constexpr uint64_t max_bytes = 0x7fffffff;

  void set_arg(const std::string& name, uint64_t value) {
    args_.emplace_back(name, static_cast<uint32_t>(value));
  }

  uint32_t arg(std::string_view name) const {
    for (const auto& [key, value] : args_) {
      if (key == name) return value;
    }
    throw UsageError("args.txt has no '" + std::string(name) + "'");
  }

  const std::vector<std::pair<std::string, uint32_t>>& args() const { return args_; }

  // A new array of zeros.
  template <typename T>
  std::span<T> create(const std::string& name, uint64_t elements) {
    if (elements > max_bytes / sizeof(T)) {
      throw UsageError("array '" + name + "' would have " + std::to_string(elements) +
                       " elements of " + std::to_string(sizeof(T)) +
                       " bytes; no array may exceed 2^31 - 1 bytes");
    }
    std::vector<std::byte>& bytes = arrays_[name];
    bytes.assign(elements * sizeof(T), std::byte{0});
    return view<T>(bytes);
  }

  template <typename T>
  std::span<T> get(const std::string& name) {
    return view<T>(arrays_.at(name));
  }

  const std::vector<std::byte>& bytes(const std::string& name) const { return arrays_.at(name); }
  void set_bytes(const std::string& name, std::vector<std::byte> bytes) {
    arrays_[name] = std::move(bytes);
  }

  std::optional<uint64_t> reported_size;

 private:
  // Byte vectors come from operator new, which aligns for every element type.
  template <typename T>
  static std::span<T> view(std::vector<std::byte>& bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  std::map<std::string, std::vector<std::byte>> arrays_;
  std::vector<std::pair<std::string, uint32_t>> args_;
};

// One size or kind of the generated data, as an option --NAME.
struct Option {
  std::string name;
  uint64_t default_value;
  uint64_t low, high;
  std::string help;
};

using Options = std::map<std::string, uint64_t>;

struct App {
  std::string name;
  std::string summary;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  // Inputs that other inputs determine; solve computes them too.
  std::vector<std::string> derived;
  uint64_t default_count;
  std::vector<Option> options;
  // Makes the arguments and all inputs but the derived ones.
  std::function<void(DataSet&, const Options&, Random&)> make;
  // Computes derived inputs, outputs and the reported size, if any, of valid inputs.
  std::function<void(DataSet&)> solve;
};

namespace detail {

inline uint64_t parse_number(const std::string& text, const Option& option) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < option.low || value > option.high) {
    throw UsageError("option '--" + option.name + "' takes a number from " +
                     std::to_string(option.low) + " to " + std::to_string(option.high) + ", not '" +
                     text + "'");
  }
  return value;
}

inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? std::streamoff(file.tellg()) : -1;
  if (size < 0) throw UsageError("cannot read " + path.string());
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!file) throw UsageError("cannot read " + path.string());
  return bytes;
}

// Through a temporary name, so that an interrupted run leaves no half a file.
inline void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(temporary, path, error);
  if (!file || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw UsageError("cannot write " + path.string());
  }
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

inline void write_data_set(const App& app, const DataSet& data,
                           const std::filesystem::path& folder) {
  const std::filesystem::path expected = folder / "expected";
  std::error_code error;
  std::filesystem::create_directories(expected, error);
  if (error) throw UsageError("cannot create " + expected.string() + ": " + error.message());
  std::string args;
  for (const auto& [name, value] : data.args()) args += name + "=" + std::to_string(value) + "\n";
  write_text(folder / "args.txt", args);
  for (const std::string& name : app.inputs) write_file(folder / (name + ".bin"), data.bytes(name));
  for (const std::string& name : app.outputs) {
    write_file(expected / (name + ".bin"), data.bytes(name));
  }
  if (data.reported_size) {
    write_text(folder / "reported_size.txt", std::to_string(*data.reported_size) + "\n");
  }
}

inline DataSet read_data_set(const App& app, const std::filesystem::path& folder) {
  DataSet data;
  std::ifstream args(folder / "args.txt");
  if (!args) throw UsageError("cannot read " + (folder / "args.txt").string());
  for (std::string line; std::getline(args, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) throw UsageError("args.txt: no '=' in '" + line + "'");
    const Option limits{line.substr(0, equals), 0, 0, 0xffffffffu, ""};
    data.set_arg(limits.name, parse_number(line.substr(equals + 1), limits));
  }
  for (const std::string& name : app.inputs) {
    data.set_bytes(name, read_file(folder / (name + ".bin")));
  }
  return data;
}

// Recomputes what the folder's inputs determine; false when anything there differs.
inline bool verify(const App& app, const std::filesystem::path& folder) {
  DataSet data = read_data_set(app, folder);
  const DataSet original = data;
  app.solve(data);
  bool good = true;
  const auto compare = [&](const std::string& what, std::span<const std::byte> want,
                           std::span<const std::byte> got) {
    const size_t common = std::min(want.size(), got.size());
    size_t at = 0;
    while (at < common && want[at] == got[at]) at++;
    if (at == want.size() && at == got.size()) return;
    std::cerr << "gen: " << (folder / what).string() << " differs from what was computed, at byte "
              << at << "\n";
    good = false;
  };
  for (const std::string& name : app.derived) {
    compare(name + ".bin", original.bytes(name), data.bytes(name));
  }
  for (const std::string& name : app.outputs) {
    const std::string file = "expected/" + name + ".bin";
    compare(file, read_file(folder / file), data.bytes(name));
  }
  if (data.reported_size) {
    const std::string text = std::to_string(*data.reported_size) + "\n";
    compare("reported_size.txt", read_file(folder / "reported_size.txt"),
            std::as_bytes(std::span(text)));
  }
  return good;
}

inline int run(const App& app, int argc, char** argv) {
  namespace po = boost::program_options;
  std::vector<Option> numbers = {
      {"count", app.default_count, 0, 0x7fffffff, "threads"},
      {"seed", 1, 0, ~uint64_t{0}, "the same seed gives the same bytes everywhere"},
  };
  numbers.insert(numbers.end(), app.options.begin(), app.options.end());

  po::options_description described("Options");
  described.add_options()("out", po::value<std::string>()->value_name("DIR"),
                          "write the data set into this folder");
  described.add_options()("verify", po::value<std::string>()->value_name("DIR"),
                          "compute the outputs of the data set there and compare; "
                          "exit status 4 when they differ");
  for (const Option& option : numbers) {
    const std::string value = std::to_string(option.default_value);
    described.add_options()(option.name.c_str(),
                            po::value<std::string>()->value_name("N")->default_value(value),
                            option.help.c_str());
  }
  described.add_options()("help", "print this");

  po::variables_map values;
  try {
    // Abbreviations would make every new option a change to the old ones.
    const int style =
        po::command_line_style::unix_style & ~int{po::command_line_style::allow_guessing};
    po::store(po::command_line_parser(argc, argv)
                  .options(described)
                  .positional(po::positional_options_description())
                  .style(style)
                  .run(),
              values);
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see --help");
  }
  if (values.count("help") != 0) {
    std::cout << "usage: apps/" << app.name << "/gen --out DIR [option]..\n"
              << "       apps/" << app.name << "/gen --verify DIR\n"
              << app.summary << "\n\n"
              << described;
    return 0;
  }
  if (values.count("out") + values.count("verify") != 1) {
    throw UsageError("give either --out DIR or --verify DIR; see --help");
  }
  Options options;
  for (const Option& option : numbers) {
    options[option.name] = parse_number(values[option.name].as<std::string>(), option);
  }

  if (values.count("verify") != 0) return verify(app, values["verify"].as<std::string>()) ? 0 : 4;
  DataSet data;
  data.set_arg("count", options["count"]);
  Random random(options["seed"]);
  app.make(data, options, random);
  app.solve(data);
  write_data_set(app, data, values["out"].as<std::string>());
  return 0;
}

}  // namespace detail

// The whole of a generator's main.
inline int generate_main(const App& app, int argc, char** argv) {
  try {
    return detail::run(app, argc, argv);
  } catch (const UsageError& error) {
    std::cerr << "gen: error: " << error.what() << "\n";
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << "gen: error: not enough memory for data of this size\n";
    return 2;
  }
}

// The finaliser of MurmurHash3, which also spreads the keys of the hash table.
inline uint32_t fmix32(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  h ^= h >> 16;
  return h;
}

}  // namespace gen
