/// Source files and places in them. Lines and columns are 1-based; columns count characters (code
/// points), not bytes, and a leading byte-order mark has no width.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace revet {

/// An interned file name; 0 means "no file". Names are interned per process, in order of first use.
using FileId = std::uint32_t;

FileId intern_file(std::string_view name);
const std::string& file_name(FileId id);

/// A place in a source file; `length` is the number of characters underlined, 0 and 1 both draw a
/// lone caret.
struct Loc {
  FileId file = 0;
  std::uint32_t line = 0;
  std::uint32_t col = 0;
  std::uint32_t length = 0;

  bool known() const { return file != 0; }
  friend bool operator==(const Loc& a, const Loc& b) {
    return a.file == b.file && a.line == b.line && a.col == b.col;
  }
};

/// Keeps the text of every file that was read, so that diagnostics can show lines of it.
class SourceManager {
 public:
  FileId add(std::string_view name, std::string text);
  bool has(FileId id) const { return texts_.count(id) != 0; }
  const std::string& text(FileId id) const { return texts_.at(id).text; }
  /// The line without its end (LF or CRLF); empty where the file or line is not known.
  std::string_view line(FileId id, std::uint32_t line) const;

 private:
  struct Text {
    std::string text;
    std::vector<std::size_t> line_starts;
  };
  std::map<FileId, Text> texts_;
};

}  // namespace revet
