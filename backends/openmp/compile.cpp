#include "compile.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/uuid/detail/sha1.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "revet/diagnostics.hpp"
#include "revet/launch.hpp"

extern char** environ;

namespace revet::openmp {
namespace fs = std::filesystem;
namespace {

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return static_cast<bool>(out);
}

/// Exit status of a command whose output goes to `log`, or -1 with errno where it cannot be
/// started.
int spawn(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    errno = failed;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A folder of its own, removed at the end unless it is kept.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& parent) {
    std::string name = (parent / "revet-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
    remove_if_interrupted(path);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty() && !kept) fs::remove_all(path, ignored);
    remove_if_interrupted("");
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  fs::path path;  ///< empty where it could not be made
  bool kept = false;
};

fs::path temporary_directory() {
  std::error_code error;
  const fs::path path = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : path;
}

/// Where compiled programs are kept; the system's temporary folder where nothing better is
/// writable.
fs::path cache_directory() {
  std::vector<fs::path> candidates;
  const auto add = [&](const char* variable, const char* below) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') candidates.push_back(fs::path(value) / below);
  };
  add("REVET_CACHE_DIR", "");
  if (candidates.empty()) add("XDG_CACHE_HOME", "revet");
  if (candidates.empty()) add("HOME", ".cache/revet");
  for (const fs::path& path : candidates) {
    std::error_code error;
    fs::create_directories(path, error);
    if (access(path.c_str(), W_OK | X_OK) == 0) return path;
  }
  return {};
}

/// What -march=native means here.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  std::string text;
  bool model = false, flags = false;
  for (std::string line; std::getline(in, line) && !(model && flags);) {
    const bool is_model = line.starts_with("model name") || line.starts_with("CPU part");
    const bool is_flags = line.starts_with("flags") || line.starts_with("Features");
    if ((is_model && !model) || (is_flags && !flags)) text += line + "\n";
    model |= is_model;
    flags |= is_flags;
  }
  return text;
}

std::string digest(const std::vector<std::string>& parts) {
  boost::uuids::detail::sha1 hash;
  for (const std::string& part : parts) {
    const std::string size = std::to_string(part.size()) + ":";
    hash.process_bytes(size.data(), size.size());
    hash.process_bytes(part.data(), part.size());
  }
  unsigned int words[5];
  hash.get_digest(words);
  std::string text;
  for (const unsigned int word : words) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", word);
    text += digits;
  }
  return text;
}

std::string first_lines(const std::string& text, unsigned count) {
  std::size_t end = 0;
  for (unsigned n = 0; n < count && end != std::string::npos; ++n) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

const std::vector<std::string>& compiler_flags() {
  static const std::vector<std::string> flags{
      "-std=c++20",        "-O3",     "-march=native",        "-fopenmp",
      "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno"};
  return flags;
}

Compiler find_compiler() {
  const char* variable = std::getenv("CXX");
  const std::string cxx = variable != nullptr && *variable != '\0' ? variable : "c++";
  TemporaryFolder folder(temporary_directory());
  const fs::path log = folder.path / "version";
  const auto tries = {std::vector<std::string>{cxx}, words_of(cxx)};
  for (Compiler compiler; const auto& command : tries) {
    if (command.empty() || folder.path.empty()) continue;
    compiler.command = command;
    std::vector<std::string> ask = command;
    ask.emplace_back("--version");
    if (spawn(ask, log) != 0) continue;
    compiler.version = first_lines(read_text(log), 1);
    return compiler;
  }
  throw Error(Exit::usage,
              "the C++ compiler '" + cxx + "' cannot be run (" +
                  (variable != nullptr ? "from $CXX" : "set CXX to one that is there") +
                  "); the backend 'openmp' needs it to run a program");
}

fs::path runtime_headers() {
  const auto has = [](const fs::path& folder) {
    return fs::exists(folder / "revet" / "runtime_ops.hpp");
  };
  const fs::path executable = boost::dll::program_location().parent_path().string();
  const fs::path by_executable = executable / ".." / "include";
  if (has(by_executable)) return by_executable.lexically_normal();
  // From the folder of plugins, lib/revet/plugins.
  const fs::path plugin = boost::dll::this_line_location().parent_path().string();
  const fs::path by_plugin = plugin / ".." / ".." / ".." / "include";
  if (has(by_plugin)) return by_plugin.lexically_normal();
  throw Error(Exit::usage,
              "the runtime's headers are missing: there is no revet/runtime_ops.hpp in " +
                  by_executable.lexically_normal().string());
}

fs::path compile(const Compiler& compiler, const std::string& name, const std::string& source,
                 const std::string& header) {
  const fs::path include = runtime_headers();
  std::vector<std::string> parts{source, header, compiler.version, processor()};
  for (const char* file : {"runtime.h", "runtime_ops.hpp"})
    parts.push_back(read_text(include / "revet" / file));
  for (const auto* list : {&compiler.command, &compiler_flags()})
    parts.insert(parts.end(), list->begin(), list->end());
  const std::string library = name + "-" + digest(parts) + ".so";
  const fs::path cache = cache_directory();
  if (!cache.empty() && fs::exists(cache / library)) return cache / library;

  // Without a cache the folder stays until the process ends, for the library is loaded from it.
  static std::vector<std::unique_ptr<TemporaryFolder>> loaded;
  auto folder = std::make_unique<TemporaryFolder>(cache.empty() ? temporary_directory() : cache);
  const fs::path main = folder->path / (name + ".cpp");
  if (folder->path.empty() || !write_text(main, source) ||
      !write_text(folder->path / (name + ".h"), header))
    throw Error(Exit::usage, "cannot write the emitted program to " +
                                 (cache.empty() ? temporary_directory() : cache).string() + ": " +
                                 std::strerror(errno));
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), compiler_flags().begin(), compiler_flags().end());
  const fs::path made = folder->path / library;
  for (const std::string& word :
       {std::string("-w"), std::string("-fPIC"), std::string("-shared"), std::string("-I"),
        include.string(), std::string("-o"), made.string(), main.string()})
    command.push_back(word);
  const fs::path log = folder->path / "compiler.log";
  const int status = spawn(command, log);
  if (status == -1)
    throw Error(Exit::usage, "the C++ compiler '" + compiler.command[0] +
                                 "' cannot be run: " + std::strerror(errno));
  if (status != 0) {
    // A compiler that was interrupted, as this process is about to be, leaves nothing to look at.
    folder->kept = status != 128 + SIGINT;
    throw InternalError("the emitted program does not compile (" + compiler.command[0] + " gave " +
                        std::to_string(status) + "); it is kept in " + main.string() + "\n" +
                        first_lines(read_text(log), 12));
  }
  if (!cache.empty()) {
    std::error_code error;
    fs::rename(made, cache / library, error);
    if (!error) return cache / library;
  }
  loaded.push_back(std::move(folder));
  return made;
}

}  // namespace revet::openmp
