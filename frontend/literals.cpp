/// Reads literals digit by digit, so that no value wraps unnoticed and each error has a place.
#include "literals.hpp"

#include <fmt/core.h>

#include <charconv>

#include "revet/scalar.hpp"

namespace revet {
namespace {

Literal wrong(std::size_t at, std::string message) {
  return {type_i32, 0, std::move(message), static_cast<unsigned>(at)};
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Literal parse_integer(std::string_view text, bool after_minus) {
  unsigned radix = 10;
  std::size_t at = 0;
  if (text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) radix = 16;
  if (text.size() > 1 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) radix = 2;
  if (radix != 10) at = 2;
  const char* kind = radix == 16 ? "hexadecimal" : radix == 2 ? "binary" : "decimal";
  bool unsigned_suffix = text.back() == 'u' || text.back() == 'U';
  if (unsigned_suffix) text.remove_suffix(1);
  if (at == text.size()) return wrong(0, fmt::format("{} literal without digits", kind));
  if (radix == 10 && text.size() > 1 && text[0] == '0' && digit_value(text[1]) >= 0 &&
      text.find_first_not_of("0123456789") == std::string_view::npos) {
    return wrong(0, "literals with a leading 0 are not supported: there are no octal literals");
  }
  std::uint64_t value = 0;
  bool too_large = false;
  for (; at < text.size(); ++at) {
    int digit = digit_value(text[at]);
    if (digit < 0 || static_cast<unsigned>(digit) >= radix) {
      if (digit < 0 || digit > 9) {
        return wrong(at, fmt::format("invalid suffix '{}' on {} literal", text.substr(at), kind));
      }
      return wrong(at, fmt::format("invalid digit '{}' in {} literal", text[at], kind));
    }
    value = value * radix + static_cast<unsigned>(digit);
    too_large = too_large || value > 0xFFFFFFFFu;
    if (too_large) value = 0;
  }
  if (too_large) return wrong(0, "integer literal does not fit 32 bits");
  bool min_int = after_minus && radix == 10 && !unsigned_suffix && value == 0x80000000u;
  bool fits_int = value <= 0x7FFFFFFFu || min_int;
  return {
      unsigned_suffix || !fits_int ? type_u32 : type_i32, static_cast<std::uint32_t>(value), {}, 0};
}

Literal parse_float(std::string_view text) {
  if (text.back() == 'f' || text.back() == 'F') text.remove_suffix(1);
  std::size_t at = text.find_first_not_of("0123456789.eE+-");
  if (at != std::string_view::npos) {
    return wrong(at, fmt::format("invalid suffix '{}' on float literal", text.substr(at)));
  }
  const char* last = text.data() + text.size();
  float value = 0;
  auto [end, status] = std::from_chars(text.data(), last, value);
  if (end != last) {
    return wrong(static_cast<std::size_t>(end - text.data()),
                 "exponent of float literal has no digits");
  }
  if (status == std::errc::result_out_of_range) {
    long double wide = 0;
    auto range = std::from_chars(text.data(), last, wide);
    bool tiny = range.ec == std::errc() ? wide < 1 : text.find('-') != std::string_view::npos;
    if (!tiny) return wrong(0, "float literal is too large");
    value = 0;
  }
  return {type_f32, as_bits(value), {}, 0};
}

Literal parse_character(std::string_view text) {
  auto result = [](unsigned value) { return Literal{{Kind::u8}, value, {}, 0}; };
  if (text.size() < 2 || text.back() != '\'') return wrong(0, unterminated_character);
  std::string_view body = text.substr(1, text.size() - 2);
  if (body.empty()) return wrong(0, "empty character literal");
  if (body[0] != '\\') {
    if (body.size() > 1) return wrong(0, "character literal with more than one character");
    return result(static_cast<unsigned char>(body[0]));
  }
  constexpr std::string_view escapes = "ntr0\\'\"";
  constexpr std::string_view values("\n\t\r\0\\'\"", 7);
  if (body.size() == 1) return wrong(0, unterminated_character);
  if (body[1] == 'x') {
    if (body.size() != 4 || digit_value(body[2]) < 0 || digit_value(body[3]) < 0) {
      return wrong(1, "'\\x' in a character literal takes two hexadecimal digits");
    }
    return result(static_cast<unsigned>(digit_value(body[2]) * 16 + digit_value(body[3])));
  }
  std::size_t at = escapes.find(body[1]);
  if (at == std::string_view::npos) {
    return wrong(1, fmt::format("unknown escape '\\{}' in character literal", body[1]));
  }
  if (body.size() > 2) return wrong(0, "character literal with more than one character");
  return result(static_cast<unsigned char>(values[at]));
}

}  // namespace

Literal parse_literal(std::string_view text, bool after_minus) {
  if (text[0] == '\'') return parse_character(text);
  bool prefixed = text.size() > 1 && text[0] == '0' &&
                  std::string_view("xXbB").find(text[1]) != std::string_view::npos;
  // `1e-3` and `1.5f` are floats; `12abc` is an integer with a wrong suffix.
  std::size_t digits = text.find_first_not_of("0123456789");
  bool fraction = !prefixed && digits != std::string_view::npos &&
                  (text[digits] == '.' || text[digits] == 'e' || text[digits] == 'E');
  return fraction ? parse_float(text) : parse_integer(text, after_minus);
}

}  // namespace revet
