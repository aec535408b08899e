#include "emitter.hpp"

namespace revet::openmp {

void Code::line(const std::string& text) {
  text_.append(2 * depth_, ' ');
  (text_ += text) += '\n';
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

Code Code::nested() const {
  Code code;
  code.depth_ = depth_;
  return code;
}

}  // namespace revet::openmp
