/// Data folders: whatever is in args.txt and the arrays' files, they are loaded or refused with an
/// error of the user. The first byte says which file the others are; the rest of the folder is
/// right.
#include "launch/data.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "support/files.hpp"
#include "target.hpp"

namespace revet::fuzz {
namespace {

namespace fs = std::filesystem;

class Bench {
 public:
  Bench() : folder_(fs::temp_directory_path() / ("revet-fuzz-data-" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
    signature_.params = {{"n", {Kind::i32}}, {"flag", {Kind::i1}}, {"scale", {Kind::f32}}};
    for (const auto& [name, kind] : {std::pair{"bytes", Kind::u8}, {"words", Kind::i32}}) {
      DramArray array;
      array.name = name;
      array.element = {kind};
      array.written = true;
      signature_.arrays.push_back(array);
    }
  }
  ~Bench() { fs::remove_all(folder_); }

  bool load(char which, const std::string& content) {
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
    write_file(folder_ / "args.txt", "n = 2\nflag = true\nscale = 0.5\n");
    write_file(folder_ / "bytes.bin", "ab");
    if (which != 'w') write_file(folder_ / "words.bin", "12345678");
    const char* names[] = {"args.txt", "words.bin", "words.npy", "reported_size.txt"};
    write_file(folder_ / names[which == 'a'   ? 0
                               : which == 'b' ? 1
                               : which == 'w' ? 2
                                              : 3],
               content);
    try {
      const Launch launch = load_launch(signature_, folder_, {});
      require(launch.scalars.size() == 3 && launch.arrays.size() == 2, "all of it is loaded");
      std::uint64_t bytes = 0;
      for (const ArrayData& a : launch.arrays) bytes += a.bytes();
      if (which == 'b') {
        require(bytes == content.size() + 2, "a raw file is loaded as it is");
        require(std::memcmp(launch.arrays[1].data(), content.data(), content.size()) == 0,
                "a raw file's bytes are the array's");
      }
      require(bytes <= content.size() + 10, "no array is larger than its file");
      reported_bytes(launch, folder_);
      check_outputs(launch, folder_, std::nullopt);
      write_outputs(launch, folder_);
      check_outputs(launch, folder_, std::nullopt);
    } catch (const Error& e) {
      require(e.exit == Exit::program, "the user's fault");
      return false;
    }
    return true;
  }

 private:
  fs::path folder_;
  Signature signature_;
};

}  // namespace

bool accepts(std::span<const std::uint8_t> bytes) {
  static Bench bench;
  if (bytes.empty()) return false;
  const std::string content(bytes.begin() + 1, bytes.end());
  return bench.load(static_cast<char>(bytes[0]), content);
}

}  // namespace revet::fuzz
