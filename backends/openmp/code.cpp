#include <algorithm>

#include "emitter.hpp"

namespace revet::openmp {

namespace {

constexpr std::size_t columns = 100;
constexpr unsigned deepest = 50;  ///< indentation stops here

/// Where to break a line of code that is too long: after the last blank that is in no string and in
/// no comment; 0 where there is none.
std::size_t break_of(const std::string& text, std::size_t room) {
  bool quoted = false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < text.size() && i < room; ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && text.compare(i, 2, "//") == 0) return 0;
    if (!quoted && text[i] == ' ' && i > 20) at = i;
  }
  return at;
}

}  // namespace

void Code::line(const std::string& text) {
  std::string rest = text;
  const std::size_t start = std::size_t{2} * std::min(depth_, deepest);
  std::size_t indent = start;
  while (indent + rest.size() > columns) {
    const std::size_t at = indent + 40 < columns ? break_of(rest, columns - indent) : 0;
    if (at == 0) break;
    text_.append(indent, ' ');
    (text_ += rest.substr(0, at)) += '\n';
    rest.erase(0, at + 1);
    if (indent == start) indent += 4;
  }
  text_.append(indent, ' ');
  (text_ += rest) += '\n';
  ++lines_;
}

void Code::open(const std::string& text) {
  line(text);
  ++depth_;
}

void Code::close(const std::string& text) {
  --depth_;
  line(text);
}

void Code::label(const std::string& text) {
  --depth_;
  line(text + ":;");
  ++depth_;
}

void Code::pragma(const std::string& text) { (text_ += "#pragma " + text) += '\n'; }

void Code::append(const Code& code) {
  text_ += code.text_;
  lines_ += code.lines_;
}

void Code::append_nested(const Code& code) {
  std::size_t at = 0;
  while (at < code.text_.size()) {
    const std::size_t end = code.text_.find('\n', at) + 1;
    if (code.text_[at] != '#') text_ += "  ";
    text_ += code.text_.substr(at, end - at);
    at = end;
  }
  lines_ += code.lines_;
}

Code Code::nested() const {
  Code code;
  code.depth_ = depth_;
  return code;
}

}  // namespace revet::openmp
