/// Checks the bytes of a source file once, so that the lexer sees ASCII only and never fails.
#include "source_text.hpp"

#include <fmt/core.h>

#include <cctype>
#include <cstdint>

namespace revet {
namespace {

struct CodePoint {
  std::uint32_t value;
  unsigned length;  ///< in bytes; 0 where the first byte begins no well-formed sequence
};

CodePoint decode(std::string_view s) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  unsigned length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || s.size() < length) return {0, 0};
  std::uint32_t value = lead & (0x7Fu >> length);
  for (unsigned i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  bool surrogate = value >= 0xD800 && value < 0xE000;
  if (overlong || surrogate || value > 0x10FFFF) return {0, 0};
  return {value, length};
}

constexpr std::uint32_t byte_order_mark = 0xFEFF;

class Scanner {
 public:
  Scanner(FileId file, std::string_view bytes, Diagnostics& diagnostics)
      : file_(file), bytes_(bytes), diagnostics_(diagnostics) {}

  std::string run() {
    out_.reserve(bytes_.size());
    if (bytes_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
    while (at_ < bytes_.size()) step();
    if (state_ == State::block_comment) {
      diagnostics_.error(comment_, "unterminated comment").loc.length = 2;
      out_.resize(comment_at_);
    }
    return std::move(out_);
  }

 private:
  enum class State { code, line_comment, block_comment, character };

  Loc here(std::uint32_t length = 1) const { return {file_, line_, col_, length}; }

  void put(char c) {
    out_ += c;
    ++col_;
    if (c == '\n') {
      ++line_;
      col_ = 1;
    }
  }

  void step() {
    CodePoint c = decode(bytes_.substr(at_));
    if (c.length == 0) {
      unsigned byte = static_cast<unsigned char>(bytes_[at_++]);
      diagnostics_.error(here(), fmt::format("invalid UTF-8 byte 0x{:02X}", byte));
      put(' ');
    } else if (c.value == 0) {
      ++at_;
      diagnostics_.error(here(), "NUL byte in the source text");
      put(' ');
    } else if (c.length > 1) {
      non_ascii(c);
    } else {
      ascii(static_cast<char>(c.value));
    }
  }

  void non_ascii(CodePoint c) {
    bool in_comment = state_ == State::line_comment || state_ == State::block_comment;
    if (c.value == byte_order_mark) {
      diagnostics_.error(here(), "byte-order mark after the start of the file");
    } else if (!in_comment && !after_non_ascii_) {
      diagnostics_.error(here(), fmt::format("unexpected character '{}': only comments may hold "
                                             "characters outside of ASCII",
                                             bytes_.substr(at_, c.length)));
    }
    at_ += c.length;
    // As a letter it keeps a name together, for later messages.
    bool in_name = !out_.empty() &&
                   (std::isalnum(static_cast<unsigned char>(out_.back())) || out_.back() == '_');
    put(in_comment ? '?' : in_name && c.value != byte_order_mark ? '_' : ' ');
    after_non_ascii_ = true;
  }

  void ascii(char c) {
    after_non_ascii_ = false;
    char next = at_ + 1 < bytes_.size() ? bytes_[at_ + 1] : '\0';
    bool pair = false;  // this character and the next belong together
    switch (state_) {
      case State::code:
        if (c == '/' && next == '/') {
          state_ = State::line_comment;
        } else if (c == '/' && next == '*') {
          state_ = State::block_comment;
          comment_ = here();
          comment_at_ = out_.size();
          pair = true;
        } else if (c == '\'') {
          state_ = State::character;
        }
        break;
      case State::line_comment:
        if (c == '\n') state_ = State::code;
        break;
      case State::block_comment:
        if (c == '*' && next == '/') {
          state_ = State::code;
          pair = true;
        }
        break;
      case State::character:
        if (c == '\\' && (next == '\'' || next == '\\')) {
          pair = true;
        } else if (c == '\'' || c == '\n') {
          state_ = State::code;
        }
        break;
    }
    ++at_;
    put(c);
    if (pair) {
      ++at_;
      put(next);
    }
  }

  FileId file_;
  std::string_view bytes_;
  Diagnostics& diagnostics_;
  std::string out_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t col_ = 1;
  State state_ = State::code;
  bool after_non_ascii_ = false;
  Loc comment_;
  std::size_t comment_at_ = 0;
};

}  // namespace

std::string prepare_source(FileId file, std::string_view bytes, Diagnostics& diagnostics) {
  return Scanner(file, bytes, diagnostics).run();
}

}  // namespace revet
