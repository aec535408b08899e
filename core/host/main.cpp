/// The `revet` program: picks the command and turns every way to end into an exit code.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "commands.hpp"
#include "provenance.hpp"
#include "revet/abi.hpp"
#include "support/files.hpp"

namespace revet::host {
namespace {

std::string rows(const HelpTable& table, std::size_t width) {
  std::string out;
  for (const auto& [name, text] : table) out += fmt::format("  {:<{}}  {}\n", name, width, text);
  return out;
}

std::string help() {
  HelpTable list;
  for (const Command& c : commands()) list.emplace_back(c.name, c.summary);
  return "Usage: revet COMMAND [OPTIONS]\n\nCompiles dataflow threads to accelerators, CPUs and "
         "GPUs.\n\nCommands\n" +
         rows(list, 10) + "\nOptions\n" + rows(program_options(), 19) +
         "\n`revet COMMAND --help` describes one command. Where a file is expected, - is stdin or "
         "stdout.\n\nExit status\n" +
         rows(exit_codes(), 3) + "\nEnvironment\n" + rows(environment(), 17);
}

void dispatch(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::fputs("revet: error: a command is missing\n", stderr);
    std::fputs(help().c_str(), stderr);
    throw ExitNow{Exit::usage};
  }
  const std::string& name = words[0];
  if (name == "--help" || name == "-h" || name == "help") return answer(help());
  if (name == "--version") {
    const bool verbose = words.size() > 1 && (words[1] == "--verbose" || words[1] == "-v");
    if (words.size() > (verbose ? 2u : 1u))
      throw Error(Exit::usage, "--version takes --verbose and nothing else");
    return answer(version_text(verbose));
  }
  if (name == "--print-abi" || name == "--print-search-dirs") {
    if (words.size() > 1) throw Error(Exit::usage, fmt::format("{} takes no arguments", name));
    if (name == "--print-abi")
      return answer(fmt::format("{} {}\n", REVET_ABI_VERSION_STRING, host_fingerprint()));
    std::string text;
    for (const auto& dir : search_directories({})) text += dir.string() + "\n";
    return answer(text);
  }
  std::vector<std::string> known;
  for (const Command& c : commands()) {
    if (c.name == name) return c.run(c, {words.begin() + 1, words.end()});
    known.push_back(c.name);
  }
  throw Error(Exit::usage, fmt::format("there is no command '{}'{}; see revet --help", name,
                                       did_you_mean(name, known)));
}

/// True where messages are wanted as JSON, whether or not the command line is right.
bool wants_json(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == "--diagnostics=json" ||
        (words[i] == "--diagnostics" && i + 1 < words.size() && words[i + 1] == "json"))
      return true;
  return false;
}

int report(const Diagnostic& d, Exit exit, bool json) {
  fmt::print(stderr, "{}", json ? render_json(d) : render_text(d, SourceManager(), false));
  return static_cast<int>(exit);
}

int report_internal(const char* what, bool json) {
  if (json)
    return report({Severity::error, {}, what, "internal error", {}, {}}, Exit::internal, true);
  fmt::print(stderr,
             "revet: internal error: {}\nThis is a bug in Revet or in a plugin, not in your "
             "program; please report it to whoever made the plugin, else to Revet.\n",
             what);
  return static_cast<int>(Exit::internal);
}

int guarded(const std::vector<std::string>& words) {
  const bool json = wants_json(words);
  try {
    dispatch(words);
    return static_cast<int>(Exit::ok);
  } catch (const ExitNow& e) {
    return static_cast<int>(e.code);
  } catch (const Error& e) {
    return report(e.diagnostic, e.exit, json);
  } catch (const std::bad_alloc&) {
    return report({Severity::error, {}, "out of memory", {}, {}, {}}, Exit::usage, json);
  } catch (const std::exception& e) {
    return report_internal(e.what(), json);
  }
}

extern "C" void on_interrupt(int) {
  remove_temporary();
  constexpr char text[] = "revet: interrupted\n";
  [[maybe_unused]] const auto n = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(static_cast<int>(Exit::interrupted));
}

/// The front end and the walks over the IR recurse with the nesting of the program, so the work is
/// done on a thread with a stack that is large enough for any program they accept. Pages are used
/// only when touched.
constexpr std::size_t stack_bytes = std::size_t{1} << 30;

struct Job {
  std::vector<std::string> words;
  int code = 0;
};

void* run_job(void* job) {
  auto* j = static_cast<Job*>(job);
  j->code = guarded(j->words);
  return nullptr;
}

}  // namespace
}  // namespace revet::host

int main(int argc, char** argv) {
  using namespace revet::host;
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  Job job{{argv + 1, argv + argc}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  std::size_t size = stack_bytes;
  bool started = false;
  for (; !started && size >= (1u << 23); size /= 2) {
    pthread_attr_setstacksize(&attributes, size);
    started = pthread_create(&thread, &attributes, run_job, &job) == 0;
  }
  if (started)
    pthread_join(thread, nullptr);
  else
    run_job(&job);
  return job.code;
}
