/// FNV-1a in 64 bits: tells texts and files apart, the same on every machine; not for security.
#pragma once

#include <cstdint>
#include <string_view>

namespace revet {

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      value_ ^= static_cast<unsigned char>(c);
      value_ *= 0x100000001B3u;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

}  // namespace revet
