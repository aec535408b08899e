#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  revet::fuzz::accepts({data, size});
  return 0;
}
