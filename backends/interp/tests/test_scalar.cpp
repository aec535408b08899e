#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "harness.hpp"
#include "order.hpp"
#include "revet/scalar.hpp"

namespace revet {
namespace {

constexpr std::uint32_t min32 = 0x80000000u;
std::uint32_t s(std::int64_t x) { return static_cast<std::uint32_t>(x); }
const Kind integers[] = {Kind::i1, Kind::i8, Kind::i16, Kind::i32, Kind::u8, Kind::u16, Kind::u32};

TEST_CASE("division has the RISC-V results") {
  CHECK(apply(Scalar::div, Kind::i32, s(7), 0) == s(-1));
  CHECK(apply(Scalar::rem, Kind::i32, s(-7), 0) == s(-7));
  CHECK(apply(Scalar::div, Kind::i32, min32, s(-1)) == min32);
  CHECK(apply(Scalar::rem, Kind::i32, min32, s(-1)) == 0);
  CHECK(apply(Scalar::div, Kind::i32, s(-7), 2) == s(-3));
  CHECK(apply(Scalar::rem, Kind::i32, s(-7), 2) == s(-1));
  CHECK(apply(Scalar::div, Kind::u32, 7, 0) == ~0u);
  CHECK(apply(Scalar::div, Kind::u32, s(-1), 2) == 0x7FFFFFFFu);
  CHECK(apply(Scalar::div, Kind::u8, 7, 0) == 0xFFu);
  CHECK(apply(Scalar::div, Kind::i8, s(-128), s(-1)) == s(-128));
}

TEST_CASE("shift counts are modulo 32 and signed shifts keep the sign") {
  CHECK(apply(Scalar::shl, Kind::i32, 1, 33) == 2);
  CHECK(apply(Scalar::shr, Kind::i32, s(-8), 1) == s(-4));
  CHECK(apply(Scalar::shr, Kind::u32, s(-8), 33) == 0x7FFFFFFCu);
  CHECK(apply(Scalar::shl, Kind::u8, 0xFF, 4) == 0xF0);
  CHECK(apply(Scalar::shl, Kind::i8, 0x7F, 1) == s(-2));
  CHECK(apply(Scalar::rotl, Kind::u32, 0x80000001u, 33) == 3);
  CHECK(apply(Scalar::rotr, Kind::u32, 1, 1) == min32);
}

TEST_CASE("arithmetic wraps to its type") {
  CHECK(apply(Scalar::add, Kind::i32, 0x7FFFFFFF, 1) == min32);
  CHECK(apply(Scalar::add, Kind::u8, 255, 1) == 0);
  CHECK(apply(Scalar::mul, Kind::i16, 300, 300) == s(static_cast<std::int16_t>(90000)));
  CHECK(apply(Scalar::mulhi, Kind::i32, s(-1), 2) == s(-1));
  CHECK(apply(Scalar::mulhi, Kind::u32, s(-1), 2) == 1);
  CHECK(apply(Scalar::neg, Kind::i32, min32) == min32);
  CHECK(apply(Scalar::abs, Kind::i32, min32) == min32);
  CHECK(apply(Scalar::abs, Kind::i8, s(-128)) == s(-128));
  CHECK(apply(Scalar::abs, Kind::u32, min32) == min32);
}

TEST_CASE("bit counts") {
  CHECK(apply(Scalar::clz, Kind::u32, 0) == 32);
  CHECK(apply(Scalar::ctz, Kind::i32, 0) == 32);
  CHECK(apply(Scalar::clz, Kind::u8, 1) == 31);
  CHECK(apply(Scalar::clz, Kind::i1, 1) == 31);
  CHECK(apply(Scalar::popcount, Kind::i8, s(-1)) == 32);
}

TEST_CASE("min and max prefer their first operand") {
  const std::uint32_t nan = as_bits(NAN), one = as_bits(1.0f);
  CHECK(apply(Scalar::min, Kind::i32, s(-1), 1) == s(-1));
  CHECK(apply(Scalar::min, Kind::u32, s(-1), 1) == 1);
  CHECK(apply(Scalar::max, Kind::i32, s(-1), 1) == 1);
  CHECK(apply(Scalar::min, Kind::f32, nan, one) == nan);
  CHECK(apply(Scalar::min, Kind::f32, one, nan) == one);
  CHECK(apply(Scalar::max, Kind::f32, as_bits(0.0f), as_bits(-0.0f)) == as_bits(0.0f));
}

TEST_CASE("float comparisons are false on NaN, except !=") {
  const std::uint32_t nan = as_bits(NAN);
  for (const Scalar op : {Scalar::eq, Scalar::lt, Scalar::le, Scalar::gt, Scalar::ge})
    CHECK(apply(op, Kind::f32, nan, nan) == 0);
  CHECK(apply(Scalar::ne, Kind::f32, nan, nan) == 1);
  CHECK(apply(Scalar::eq, Kind::f32, as_bits(0.0f), as_bits(-0.0f)) == 1);
}

TEST_CASE("float to integer saturates") {
  CHECK(convert(Kind::f32, Kind::i32, as_bits(3e9f)) == 0x7FFFFFFFu);
  CHECK(convert(Kind::f32, Kind::i32, as_bits(-3e9f)) == min32);
  CHECK(convert(Kind::f32, Kind::i32, as_bits(-1.9f)) == s(-1));
  CHECK(convert(Kind::f32, Kind::u32, as_bits(-1.0f)) == 0);
  CHECK(convert(Kind::f32, Kind::u32, as_bits(INFINITY)) == ~0u);
  CHECK(convert(Kind::f32, Kind::i32, as_bits(NAN)) == 0);
  CHECK(convert(Kind::f32, Kind::u8, as_bits(300.5f)) == 255);
  CHECK(convert(Kind::f32, Kind::i16, as_bits(-1e9f)) == s(-32768));
  CHECK(convert(Kind::f32, Kind::i1, as_bits(0.25f)) == 1);
  CHECK(convert(Kind::f32, Kind::i1, as_bits(-0.0f)) == 0);
}

TEST_CASE("conversions between integers wrap, to bool they test") {
  CHECK(convert(Kind::i32, Kind::u8, 0x1FF) == 0xFF);
  CHECK(convert(Kind::i32, Kind::i8, 0x1FF) == s(-1));
  CHECK(convert(Kind::i8, Kind::u32, s(-1)) == s(-1));
  CHECK(convert(Kind::i32, Kind::i1, 2) == 1);
  CHECK(convert(Kind::u32, Kind::f32, s(-1)) == as_bits(4294967296.0f));
  CHECK(convert(Kind::i32, Kind::f32, s(-1)) == as_bits(-1.0f));
  CHECK(convert(Kind::i32, Kind::f32, 16777217) == as_bits(16777216.0f));
}

TEST_CASE("every operation is total and keeps contents extended") {
  const std::uint32_t samples[] = {0,     1,     2,          31,         32,         0x7F,
                                   0x80,  0xFF,  0x7FFF,     0x8000,     0x7FFFFFFF, min32,
                                   s(-1), s(-2), 0x7F800000, 0xFFC00000, 1u << 22};
  for (unsigned op = 0; op <= static_cast<unsigned>(Scalar::ctz); ++op) {
    const auto scalar = static_cast<Scalar>(op);
    for (const Kind k : integers) {
      for (const std::uint32_t a : samples) {
        const std::uint32_t x = wrap(k, a);
        for (const std::uint32_t b : samples) {
          const std::uint32_t got = apply(scalar, k, x, wrap(k, b));
          CHECK(got == wrap(k, got));
          apply(scalar, Kind::f32, a, b);
        }
        apply(scalar, k, x);
      }
    }
  }
  for (const Kind from : integers)
    for (const Kind to : integers)
      for (const std::uint32_t a : samples) {
        CHECK(convert(from, to, wrap(from, a)) == wrap(to, convert(from, to, wrap(from, a))));
        convert(Kind::f32, to, a);
      }
}

TEST_CASE("identities of reductions") {
  CHECK(reduction_of("&", Kind::u8).identity == 0xFF);
  CHECK(reduction_of("*", Kind::f32).identity == as_bits(1.0f));
  CHECK(reduction_of("*", Kind::i8).identity == 1);
  CHECK(reduction_of("min", Kind::i32).identity == 0x7FFFFFFFu);
  CHECK(reduction_of("max", Kind::i32).identity == min32);
  CHECK(reduction_of("min", Kind::u16).identity == 0xFFFF);
  CHECK(reduction_of("max", Kind::u16).identity == 0);
  CHECK(reduction_of("min", Kind::f32).identity == as_bits(INFINITY));
  CHECK(reduction_of("max", Kind::i8).identity == s(-128));
  CHECK(reduction_of("&&", Kind::i1).identity == 1);
  CHECK(reduction_of("||", Kind::i1).identity == 0);
  CHECK_FALSE(is_reduction("-"));
}

TEST_CASE("trip counts do not overflow") {
  CHECK(trip_count(Kind::i32, 0, 10, 3) == 4);
  CHECK(trip_count(Kind::i32, 10, 0, 1) == 0);
  CHECK(trip_count(Kind::i32, 10, 0, s(-4)) == 3);
  CHECK(trip_count(Kind::i32, min32, 0x7FFFFFFF, 1) == 0xFFFFFFFFu);
  CHECK(trip_count(Kind::i32, 0x7FFFFFFF, min32, min32) == 2);
  CHECK(trip_count(Kind::u32, 0, s(-1), 1) == 0xFFFFFFFFu);
  CHECK(trip_count(Kind::u8, 250, 255, 2) == 3);
  CHECK(trip_count(Kind::i32, 0, 10, 0) == 0);
}

TEST_CASE("an order is a permutation, and every one of three occurs") {
  for (const std::uint64_t n : {1u, 2u, 3u, 5u, 16u, 17u, 1000u}) {
    for (std::uint64_t key = 1; key < 20; key += 2) {
      const interp::Order order(n, interp::mix(key));
      std::vector<bool> seen(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        REQUIRE(order(i) < n);
        REQUIRE_FALSE(seen[order(i)]);
        seen[order(i)] = true;
      }
    }
  }
  std::set<std::vector<std::uint64_t>> found;
  for (std::uint64_t key = 1; key < 200; ++key) {
    const interp::Order order(3, interp::mix(key));
    found.insert({order(0), order(1), order(2)});
  }
  CHECK(found.size() == 6);
  const interp::Order huge(std::uint64_t{1} << 32, 12345);
  CHECK(huge(0) < std::uint64_t{1} << 32);
  CHECK(huge(0) != huge(1));
}

}  // namespace
}  // namespace revet
