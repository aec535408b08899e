#include "revet/source.hpp"

#include <deque>
#include <mutex>
#include <unordered_map>

namespace revet {
namespace {

struct FileTable {
  std::mutex mutex;
  std::deque<std::string> names{""};
  std::unordered_map<std::string, FileId> ids;
};

FileTable& files() {
  static FileTable table;
  return table;
}

}  // namespace

FileId intern_file(std::string_view name) {
  FileTable& table = files();
  const std::lock_guard lock(table.mutex);
  const auto [it, added] =
      table.ids.try_emplace(std::string(name), static_cast<FileId>(table.names.size()));
  if (added) table.names.emplace_back(name);
  return it->second;
}

const std::string& file_name(FileId id) {
  FileTable& table = files();
  const std::lock_guard lock(table.mutex);
  return table.names[id];
}

FileId SourceManager::add(std::string_view name, std::string text) {
  const FileId id = intern_file(name);
  Text& entry = texts_[id];
  entry.text = std::move(text);
  entry.line_starts = {0};
  for (std::size_t i = 0; i < entry.text.size(); ++i)
    if (entry.text[i] == '\n') entry.line_starts.push_back(i + 1);
  return id;
}

std::string_view SourceManager::line(FileId id, std::uint32_t line) const {
  const auto it = texts_.find(id);
  if (it == texts_.end() || line == 0 || line > it->second.line_starts.size()) return {};
  const Text& entry = it->second;
  const std::size_t begin = entry.line_starts[line - 1];
  std::size_t end =
      line < entry.line_starts.size() ? entry.line_starts[line] - 1 : entry.text.size();
  if (end > begin && entry.text[end - 1] == '\r') --end;
  std::string_view text(entry.text.data() + begin, end - begin);
  if (line == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

}  // namespace revet
