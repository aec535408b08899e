/// The page of the reference about machine files: keys and ranges from the table that the reader
/// uses, values and their sources from the files that ship.
#include "machine_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "driver/machine_file.hpp"
#include "support/files.hpp"

namespace revet::host {
namespace fs = std::filesystem;
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

struct Shown {
  std::string value, source;
};
struct File {
  std::string head;  ///< the comment it begins with
  std::string base;
  std::map<std::string, Shown> keys;
};

/// The '#' of a comment, which is not in a string.
std::size_t comment_of(const std::string& line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return i;
  }
  return line.size();
}

/// A comment behind a value is its source, and goes on in lines that begin with blanks; one at the
/// beginning of a line is that of the values below it that have none.
File read(const fs::path& path) {
  File out;
  std::string table, shared;
  Shown* last = nullptr;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = comment_of(line);
    const std::string code = trimmed(line.substr(0, at));
    const std::string comment = at < line.size() ? trimmed(line.substr(at + 1)) : "";
    if (code.empty()) {
      if (comment.empty()) continue;
      if (at != 0 && last) {
        last->source += " " + comment;
      } else if (out.keys.empty() && out.base.empty()) {
        out.head += (out.head.empty() ? "" : " ") + comment;
      } else {
        shared = comment;
      }
    } else if (code.front() == '[') {
      table = code.substr(1, code.find(']') - 1) + ".";
      shared = comment;
      last = nullptr;
    } else if (const std::size_t eq = code.find('='); eq != std::string::npos) {
      const std::string key = trimmed(code.substr(0, eq)), value = trimmed(code.substr(eq + 1));
      if (key == "base") {
        out.base = value;
        continue;
      }
      last = &(out.keys[table + key] = {value, comment.empty() ? shared : comment});
    }
  }
  return out;
}

}  // namespace

std::string machine_page() {
  const fs::path paper = "revet-hpca24.toml";
  const File file = read(shipped_machines() / paper);
  std::string out = fmt::format(
      "## Keys\n\nValues and sources are those of `{}`. {}\n\n"
      "| key | unit and range | value | source |\n|---|---|---|---|\n",
      paper.string(), file.head);
  for (const auto& [key, unit] : machine_keys()) {
    const auto at = file.keys.find(key);
    if (at == file.keys.end())
      throw InternalError(fmt::format("{} has no '{}'", paper.string(), key));
    out +=
        fmt::format("| `{}` | {} | `{}` | {} |\n", key, unit, at->second.value, at->second.source);
  }
  out += "\n## Machines that ship\n\n| file | what it is | what it changes |\n|---|---|---|\n";
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(shipped_machines()))
    files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  for (const fs::path& name : files) {
    const File variant = read(shipped_machines() / name);
    std::string changes;
    for (const auto& [key, shown] : variant.keys)
      if (!variant.base.empty() && key != "name")
        changes += fmt::format("{}`{} = {}`", changes.empty() ? "" : ", ", key, shown.value);
    out += fmt::format("| `{}` | {} | {} |\n", name.string(), variant.head,
                       changes.empty() ? "gives all keys" : changes);
  }
  return out;
}

}  // namespace revet::host
