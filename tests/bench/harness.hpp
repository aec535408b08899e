// Measures the code that `revet compile -p openmp` emits against code written by hand: both in one
// process, on the same buffers, with the same number of threads, in turn.
//
// With REVET_BENCH_BASELINE_ONLY defined only the code written by hand is built, checked and
// measured; then neither emitted code nor the runtime is needed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#ifndef REVET_BENCH_BASELINE_ONLY
#include <revet/runtime.h>
#endif

namespace bench {

// A program as the measurement sees it. run gives 0 when all went well.
struct Kernel {
  std::function<void()> init;
  std::function<int()> run;
  std::function<void()> destroy;
};

[[noreturn]] inline void fail(int status, const std::string& message) {
  std::fprintf(stderr, "bench: error: %s\n", message.c_str());
  std::exit(status);
}

// Memory that both programs use.
class Buffer {
 public:
#ifdef REVET_BENCH_BASELINE_ONLY
  explicit Buffer(size_t bytes) : memory_(bytes) {}
  void* host(size_t, bool) { return memory_.data(); }

 private:
  std::vector<std::byte> memory_;
#else
  Buffer(revet_context* context, size_t bytes)
      : context_(context),
        buffer_(revet_create_buffer(
            context, bytes,
            REVET_HOST_READ | REVET_HOST_WRITE | REVET_DEVICE_READ | REVET_DEVICE_WRITE)) {
    if (buffer_ == nullptr) fail(2, revet_error_message(context));
  }

  // The host's view, to be overwritten as a whole or to be read.
  void* host(size_t bytes, bool overwrite) {
    void* memory =
        revet_host_sync(context_, buffer_, bytes, overwrite ? REVET_HOST_WRITE : REVET_HOST_READ);
    if (memory == nullptr) fail(2, revet_error_message(context_));
    return memory;
  }

  revet_buffer* raw() const { return buffer_; }

 private:
  revet_context* context_;
  revet_buffer* buffer_;
#endif
};

// One application's data, and the measurement. usage: PROGRAM DATA_DIR ROUNDS
class Session {
 public:
  Session(int argc, char** argv) {
    if (argc != 3) fail(2, "usage: PROGRAM DATA_DIR ROUNDS");
    folder_ = argv[1];
    rounds_ = std::max(1, std::atoi(argv[2]));
    std::ifstream file(folder_ / "args.txt");
    for (std::string line; std::getline(file, line);) {
      const size_t equals = line.find('=');
      if (equals != std::string::npos) args_[line.substr(0, equals)] = line.substr(equals + 1);
    }
#ifndef REVET_BENCH_BASELINE_ONLY
    context_ = revet_create_context("openmp", "cpu");
    if (context_ == nullptr) fail(2, "cannot create a context");
#endif
  }

  template <typename T>
  T arg(const std::string& name) const {
    const auto found = args_.find(name);
    if (found == args_.end()) fail(2, "no argument '" + name + "' in " + folder_.string());
    return static_cast<T>(std::stoull(found->second));
  }

  template <typename T>
  const T* input(const std::string& name) {
    const std::vector<char> bytes = read(folder_ / (name + ".bin"));
    Array& array = create(name, bytes.size());
    void* memory = array.buffer.host(array.bytes, true);
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(memory));
    return static_cast<const T*>(memory);
  }

  template <typename T>
  T* output(const std::string& name) {
    std::vector<char> expected = read(folder_ / "expected" / (name + ".bin"));
    Array& array = create(name, expected.size());
    array.expected = std::move(expected);
    return static_cast<T*>(array.buffer.host(array.bytes, true));
  }

#ifndef REVET_BENCH_BASELINE_ONLY
  revet_context* context() const { return context_; }
  revet_buffer* buffer(const std::string& name) const { return arrays_.at(name).buffer.raw(); }
#endif

  // Prints threads, bytes and the two medians in seconds (the second "-" without emitted code).
  int compare(const std::function<void()>& by_hand, std::optional<Kernel> emitted) {
    const Kernel hand = {[] {}, [&] { return by_hand(), 0; }, [] {}};
    std::vector<double> hand_times, emitted_times;
    if (emitted) emitted->init();
    for (int round = -1; round < rounds_; round++) {
      // The first round warms up. Who begins alternates, for the sake of the caches.
      const bool hand_first = round % 2 == 0;
      const bool counts = round >= 0;
      if (hand_first) measure("by hand", hand, counts, hand_times);
      if (emitted) measure("emitted", *emitted, counts, emitted_times);
      if (!hand_first) measure("by hand", hand, counts, hand_times);
    }
    if (emitted) emitted->destroy();
    std::printf("%u %zu %.9f ", arg<unsigned>("count"), reported_bytes(), median(hand_times));
    if (emitted) {
      std::printf("%.9f\n", median(emitted_times));
    } else {
      std::printf("-\n");
    }
    return 0;
  }

 private:
  struct Array {
    Buffer buffer;
    size_t bytes;
    std::optional<std::vector<char>> expected;  // of outputs
  };

  static std::vector<char> read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? std::streamoff(file.tellg()) : -1;
    if (size < 0) fail(2, "cannot read " + path.string());
    std::vector<char> bytes(static_cast<size_t>(size));
    file.seekg(0);
    if (!file.read(bytes.data(), size)) fail(2, "cannot read " + path.string());
    return bytes;
  }

  Array& create(const std::string& name, size_t bytes) {
#ifdef REVET_BENCH_BASELINE_ONLY
    Buffer buffer(bytes);
#else
    Buffer buffer(context_, bytes);
#endif
    return arrays_.insert_or_assign(name, Array{std::move(buffer), bytes, {}}).first->second;
  }

  size_t reported_bytes() const {
    std::ifstream file(folder_ / "reported_size.txt");
    size_t bytes = 0;
    if (file >> bytes) return bytes;
    for (const auto& [name, array] : arrays_) bytes += array.bytes;
    return bytes;
  }

  void measure(const char* what, const Kernel& kernel, bool counts, std::vector<double>& times) {
    // Results of an earlier run must not pass for this one's.
    for (auto& [name, array] : arrays_) {
      if (array.expected) std::memset(array.buffer.host(array.bytes, true), 0xa5, array.bytes);
    }
    const auto start = std::chrono::steady_clock::now();
    const int status = kernel.run();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (status != 0) fail(1, std::string(what) + ": " + error_message(status));
    for (auto& [name, array] : arrays_) {
      if (!array.expected) continue;
      const char* got = static_cast<const char*>(array.buffer.host(array.bytes, false));
      const char* want = array.expected->data();
      const auto at = std::mismatch(got, got + array.bytes, want).first - got;
      if (static_cast<size_t>(at) == array.bytes) continue;
      fail(4, std::string(what) + ": array '" + name + "' differs at byte " + std::to_string(at));
    }
    if (counts) times.push_back(elapsed.count());
  }

  std::string error_message(int status) const {
#ifndef REVET_BENCH_BASELINE_ONLY
    if (context_->error != REVET_OK) return revet_error_message(context_);
#endif
    return "run gave " + std::to_string(status);
  }

  static double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    const size_t middle = times.size() / 2;
    return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  }

  std::filesystem::path folder_;
  int rounds_;
  std::map<std::string, std::string> args_;
  std::map<std::string, Array> arrays_;
#ifndef REVET_BENCH_BASELINE_ONLY
  revet_context* context_;
#endif
};

}  // namespace bench

// The emitted program NAME, called with these scalars and buffers; nothing without emitted code.
#ifdef REVET_BENCH_BASELINE_ONLY
#define REVET_BENCH_EMITTED(NAME, session, ...) std::nullopt
#else
#define REVET_BENCH_EMITTED(NAME, session, ...)                                   \
  [&]() -> bench::Kernel {                                                        \
    static NAME##_t program;                                                      \
    return {[&] { NAME##_init(session.context(), &program); },                    \
            [&] { return NAME##_run(session.context(), &program, __VA_ARGS__); }, \
            [&] { NAME##_destroy(session.context(), &program); }};                \
  }()
#endif
