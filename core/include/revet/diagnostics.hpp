/// What the user is told about the program, the pipeline or the data: errors, warnings and notes in
/// clang's form or as JSON, and the exceptions that end a run with an exit code of the contract.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "revet/source.hpp"

namespace revet {

/// Exit codes of the command line.
enum class Exit : int {
  ok = 0,
  program = 1,
  usage = 2,
  unfinished = 3,
  differs = 4,
  internal = 70,
  interrupted = 130,
};

enum class Severity { note, warning, error };

struct Note {
  Loc loc;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::error;
  Loc loc;
  std::string message;
  std::string category;  ///< warnings: the NAME of -WNAME; else empty
  std::string pass;      ///< id of the pass that reported it; else empty
  std::vector<Note> notes;

  Diagnostic& note(Loc where, std::string text) {
    notes.push_back({where, std::move(text)});
    return *this;
  }
};

/// Collects diagnostics in the order they are reported. Keeps at most `limit` errors and counts
/// the rest; identical errors at one place are kept once.
class Diagnostics {
 public:
  Diagnostic& error(Loc loc, std::string message);
  /// Kept only if the category is enabled (all but "narrowing" are by default).
  Diagnostic& warning(Loc loc, std::string category, std::string message);
  Diagnostic& note(Loc loc, std::string message);

  bool has_errors() const { return errors_ != 0; }
  std::size_t error_count() const { return errors_; }
  bool full() const { return errors_ >= limit; }
  const std::vector<Diagnostic>& all() const { return list_; }
  void clear();

  std::size_t limit = 20;
  std::vector<std::string> enabled = {};  ///< from -WNAME
  std::vector<std::string> disabled = {
      "narrowing"};  ///< from -Wno-NAME, and what is off by default
  std::string pass;  ///< stamped on what is reported

 private:
  Diagnostic& add(Diagnostic d, bool keep);
  std::vector<Diagnostic> list_;
  Diagnostic discarded_;
  std::size_t errors_ = 0;
};

/// `file:line:col: error: message`, the source line, a caret and range, then notes in the same
/// form. Ends with a newline.
std::string render_text(const Diagnostic& d, const SourceManager& sources, bool color);
/// One JSON object on one line: {"file","line","col","length","severity","message","category",
/// "pass","notes"}.
std::string render_json(const Diagnostic& d);

/// Ends the run with `exit` after printing the diagnostic. The user's family of errors.
class Error : public std::runtime_error {
 public:
  Error(Exit code, Loc loc, std::string message)
      : std::runtime_error(message),
        exit(code),
        diagnostic{Severity::error, loc, std::move(message), {}, {}, {}} {}
  Error(Exit code, std::string message) : Error(code, Loc{}, std::move(message)) {}

  Exit exit;
  Diagnostic diagnostic;
};

/// A broken promise inside Revet (exit 70): never the user's fault.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// The candidate nearest to `name` by edit distance ('-' and '_' count as equal, case as near), or
/// empty where none is near enough to be meant.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);
/// " (did you mean 'x'?)", or "" where nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace revet
