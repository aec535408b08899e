/// No public header changes a layout under NDEBUG: a debug plugin may run in a release host.
#include <catch2/catch.hpp>
#include <vector>

namespace revet {
std::vector<std::size_t> layout_release();
std::vector<std::size_t> layout_debug();
}  // namespace revet

TEST_CASE("public types are laid out alike in release and debug builds") {
  const auto release = revet::layout_release();
  CHECK(release.size() > 80);
  CHECK(release == revet::layout_debug());
}
