#include "crash_guard.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>

#include "revet/diagnostics.hpp"

namespace revet {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool under_sanitizer = true;
#else
constexpr bool under_sanitizer = false;
#endif

constexpr std::array signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr unsigned seconds_to_report = 20;

sigjmp_buf jump;
pthread_t guarded;

/// Only the guarded thread can go back to its own stack; another one sends it there and stays.
extern "C" void on_crash(int signal) {
  if (::pthread_equal(::pthread_self(), guarded) != 0) siglongjmp(jump, signal);
  ::pthread_kill(guarded, signal);
  for (;;) ::pause();
}

/// The report itself hung: the crash happened while the heap was locked.
extern "C" void on_hang(int) {
  constexpr char text[] = "revet: internal error: a plugin crashed and left nothing to report\n";
  [[maybe_unused]] const auto n = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(static_cast<int>(Exit::internal));
}

/// Handlers on a stack of their own, for a crash may be the end of the other; both are put back.
class Handlers {
 public:
  Handlers() : memory_(new char[stack_bytes]) {
    stack_t stack = {};
    stack.ss_sp = memory_.get();
    stack.ss_size = stack_bytes;
    ::sigaltstack(&stack, &old_stack_);
    struct sigaction action = {};
    action.sa_handler = on_crash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &old_[i]);
  }
  ~Handlers() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &old_[i], nullptr);
    ::sigaltstack(&old_stack_, nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  static constexpr std::size_t stack_bytes = 65536;
  std::unique_ptr<char[]> memory_;
  stack_t old_stack_ = {};
  std::array<struct sigaction, signals.size()> old_ = {};
};

}  // namespace

int run_guarded(const std::function<void()>& work) {
  if (under_sanitizer) {
    work();
    return 0;
  }
  guarded = ::pthread_self();
  const Handlers handlers;
  const int signal = sigsetjmp(jump, 1);
  if (signal != 0) {
    std::signal(SIGALRM, on_hang);
    ::alarm(seconds_to_report);
    return signal;
  }
  work();
  return 0;
}

void crash_was_reported() { ::alarm(0); }

void run_blaming(const std::function<std::string()>& who, const std::function<void()>& work) {
  int signal = 0;
  try {
    signal = run_guarded(work);
  } catch (const Error&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw InternalError(fmt::format("{} threw: {}", who(), e.what()));
  } catch (...) {
    throw InternalError(fmt::format("{} threw something that is not a std::exception", who()));
  }
  if (signal != 0) throw InternalError(fmt::format("{} crashed: {}", who(), ::strsignal(signal)));
}

}  // namespace revet
