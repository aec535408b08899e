#include "revet/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace revet {

Diagnostic& Diagnostics::add(Diagnostic d, bool keep) {
  d.pass = pass;
  if (!keep) {
    discarded_ = std::move(d);
    return discarded_;
  }
  list_.push_back(std::move(d));
  return list_.back();
}

Diagnostic& Diagnostics::error(Loc loc, std::string message) {
  const bool repeated = std::any_of(list_.begin(), list_.end(), [&](const Diagnostic& d) {
    return d.severity == Severity::error && d.loc == loc && d.message == message;
  });
  const bool keep = !repeated && errors_ < limit;
  if (!repeated) ++errors_;
  return add({Severity::error, loc, std::move(message), {}, {}, {}}, keep);
}

Diagnostic& Diagnostics::warning(Loc loc, std::string category, std::string message) {
  const auto listed = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), category) != names.end();
  };
  const bool keep = listed(enabled) || !listed(disabled);
  return add({Severity::warning, loc, std::move(message), std::move(category), {}, {}}, keep);
}

Diagnostic& Diagnostics::note(Loc loc, std::string message) {
  return add({Severity::note, loc, std::move(message), {}, {}, {}}, true);
}

void Diagnostics::clear() {
  list_.clear();
  errors_ = 0;
}

namespace {

const char* severity_name(Severity s) {
  switch (s) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "";
}

/// Columns that a code point takes on a terminal: 2 for the wide East Asian blocks, 0 for combining
/// marks; enough to keep the caret under its character.
unsigned display_width(char32_t c) {
  if (c >= 0x300 && c <= 0x36F) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                    (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                    (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                    (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

struct CodePoint {
  char32_t value;
  std::size_t bytes;  ///< 1 for an invalid byte
};

CodePoint decode(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char b = byte(0);
  const std::size_t n = b < 0x80 ? 1 : b >= 0xF0 ? 4 : b >= 0xE0 ? 3 : b >= 0xC2 ? 2 : 0;
  if (n == 1) return {b, 1};
  if (n == 0 || s.size() < n) return {0xFFFD, 1};
  char32_t value = b & (0xFFu >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0xFFFD, 1};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  return {value, n};
}

/// The line as shown (tabs expanded, control and invalid bytes replaced) and a line of carets
/// under `loc`. Long lines are cut round the place.
void render_snippet(std::string& out, const Loc& loc, std::string_view line) {
  constexpr std::size_t max_width = 160;
  std::vector<std::string> cells;
  std::vector<std::size_t> widths;
  std::size_t column = 0;
  for (std::size_t i = 0; i < line.size();) {
    const CodePoint c = decode(line.substr(i));
    std::string text;
    std::size_t width = 0;
    if (line[i] == '\t') {
      width = 8 - column % 8;
      text.assign(width, ' ');
    } else if (c.value == 0xFFFD || c.value < 0x20 || c.value == 0x7F) {
      text = "\xEF\xBF\xBD";
      width = 1;
    } else {
      text = std::string(line.substr(i, c.bytes));
      width = display_width(c.value);
    }
    cells.push_back(std::move(text));
    widths.push_back(width);
    column += width;
    i += c.bytes;
  }
  const std::size_t at = loc.col == 0 ? 0 : loc.col - 1;
  std::size_t begin = 0;
  if (at > max_width * 3 / 4 && cells.size() > max_width)
    begin = std::min(at - max_width / 2, cells.size());
  const std::size_t end = std::min(cells.size(), begin + max_width);
  std::string shown;
  std::string carets;
  for (std::size_t i = begin; i < end; ++i) {
    shown += cells[i];
    if (i < at) carets.append(widths[i], ' ');
  }
  std::size_t underline = 0;
  for (std::size_t i = at; i < std::min<std::size_t>(end, at + std::max(1u, loc.length)); ++i)
    underline += widths[i];
  carets.append(at > end ? at - end : 0, ' ');
  carets += '^';
  if (underline > 1) carets.append(underline - 1, '~');
  out += shown + "\n" + carets + "\n";
}

void render_one(std::string& out, Severity severity, const Loc& loc, const std::string& message,
                const std::string& suffix, const SourceManager& sources, bool color) {
  const char* tint = severity == Severity::error     ? "\033[1;31m"
                     : severity == Severity::warning ? "\033[1;35m"
                                                     : "\033[1;36m";
  std::string place;
  if (loc.known()) {
    place = file_name(loc.file) + ":";
    if (loc.line != 0) place += fmt::format("{}:{}:", loc.line, loc.col);
    place += " ";
  } else {
    place = "revet: ";
  }
  if (color)
    out += fmt::format("\033[1m{}{}{}:\033[0m \033[1m{}\033[0m{}\n", place, tint,
                       severity_name(severity), message, suffix);
  else
    out += fmt::format("{}{}: {}{}\n", place, severity_name(severity), message, suffix);
  if (loc.known() && sources.has(loc.file) && loc.line != 0)
    render_snippet(out, loc, sources.line(loc.file, loc.line));
}

}  // namespace

std::string render_text(const Diagnostic& d, const SourceManager& sources, bool color) {
  std::string out;
  std::string suffix;
  if (!d.category.empty()) suffix = fmt::format(" [-W{}]", d.category);
  if (!d.pass.empty()) suffix += fmt::format(" [pass {}]", d.pass);
  render_one(out, d.severity, d.loc, d.message, suffix, sources, color);
  for (const Note& n : d.notes)
    render_one(out, Severity::note, n.loc, n.message, "", sources, color);
  return out;
}

std::string render_json(const Diagnostic& d) {
  using nlohmann::json;
  const auto place = [](const Loc& loc) {
    json j;
    j["file"] = loc.known() ? json(file_name(loc.file)) : json(nullptr);
    j["line"] = loc.line;
    j["col"] = loc.col;
    j["length"] = loc.length;
    return j;
  };
  json j = place(d.loc);
  j["severity"] = severity_name(d.severity);
  j["message"] = d.message;
  j["category"] = d.category.empty() ? json(nullptr) : json(d.category);
  j["pass"] = d.pass.empty() ? json(nullptr) : json(d.pass);
  j["notes"] = json::array();
  for (const Note& n : d.notes) {
    json note = place(n.loc);
    note["message"] = n.message;
    j["notes"].push_back(std::move(note));
  }
  return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const auto fold = [](char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Optimal string alignment: insertions, deletions, substitutions, swaps of neighbours.
    const std::size_t n = name.size();
    const std::size_t m = candidate.size();
    if ((n > m ? n - m : m - n) >= best_distance) continue;
    std::vector<std::vector<std::size_t>> d(n + 1, std::vector<std::size_t>(m + 1));
    for (std::size_t i = 0; i <= n; ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= m; ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= n; ++i) {
      for (std::size_t j = 1; j <= m; ++j) {
        const std::size_t cost = fold(name[i - 1]) == fold(candidate[j - 1]) ? 0 : 1;
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
        if (i > 1 && j > 1 && fold(name[i - 1]) == fold(candidate[j - 2]) &&
            fold(name[i - 2]) == fold(candidate[j - 1]))
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
    if (d[n][m] < best_distance) {
      best_distance = d[n][m];
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = nearest_name(name, candidates);
  return best.empty() ? "" : fmt::format(" (did you mean '{}'?)", best);
}

}  // namespace revet
