/// The buffers of revet/runtime.h, with a device that has memory of its own: every sequence of up
/// to five accesses is compared with a model that knows where the newest data are.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "revet/runtime.h"

namespace {

struct FakeDevice {
  unsigned to_device = 0;
  unsigned to_host = 0;
  bool full = false;
};

FakeDevice& fake(void* state) { return *static_cast<FakeDevice*>(state); }

const revet_device device = {"fake",
                             "gpu",
                             [](void* state, uint64_t bytes) -> void* {
                               return fake(state).full ? nullptr : std::malloc(bytes);
                             },
                             [](void*, void* memory) { std::free(memory); },
                             [](void* state, void* to, const void* from, uint64_t bytes) {
                               ++fake(state).to_device;
                               std::memcpy(to, from, bytes);
                               return 0;
                             },
                             [](void* state, void* to, const void* from, uint64_t bytes) {
                               ++fake(state).to_host;
                               std::memcpy(to, from, bytes);
                               return 0;
                             },
                             [](void*) { return 0; }};

constexpr unsigned all =
    REVET_HOST_READ | REVET_HOST_WRITE | REVET_DEVICE_READ | REVET_DEVICE_WRITE;

struct Context {
  explicit Context(bool with_device) : context(revet_create_context("openmp", "cpu")) {
    if (!with_device) return;
    context->device = &device;
    context->device_state = &state;
  }
  ~Context() { revet_destroy_context(context); }
  FakeDevice state;
  revet_context* context;
};

/// One of the six accesses: a side, and read, write, or both.
struct Access {
  bool on_device;
  bool reads;
  bool writes;
  unsigned flags() const {
    const unsigned host =
        (reads ? 1u * REVET_HOST_READ : 0u) | (writes ? 1u * REVET_HOST_WRITE : 0u);
    return on_device ? host * 4 : host;
  }
};

/// Data are versions: every write makes a new one.
void check(const std::vector<Access>& sequence, bool with_device) {
  Context made(with_device);
  revet_context* const context = made.context;
  revet_buffer* const buffer = revet_create_buffer(context, sizeof(int), all);
  REQUIRE(buffer != nullptr);
  int newest = 0;  // 0: nothing was written
  bool valid[2] = {false, false};
  unsigned copies = 0;
  for (const Access& access : sequence) {
    const bool own = access.on_device;
    int* const p = static_cast<int*>(
        access.on_device ? revet_device_sync(context, buffer, sizeof(int), access.flags())
                         : revet_host_sync(context, buffer, sizeof(int), access.flags()));
    if (access.reads && newest == 0) {
      CHECK(p == nullptr);
      CHECK(context->error == REVET_ERROR_UNWRITTEN);
      continue;
    }
    REQUIRE(p != nullptr);
    if (access.reads) {
      CHECK(*p == newest);
      if (!valid[own]) ++copies;
      valid[own] = true;
    }
    if (access.writes) {
      *p = ++newest;
      valid[own] = true;
      valid[!own] = false;
    }
  }
  CHECK(made.state.to_device + made.state.to_host == (with_device ? copies : 0));
  revet_destroy_buffer(context, buffer);
}

TEST_CASE("every sequence of up to five accesses sees the newest data") {
  const std::vector<Access> accesses = {{false, true, false}, {false, false, true},
                                        {false, true, true},  {true, true, false},
                                        {true, false, true},  {true, true, true}};
  for (const bool with_device : {false, true})
    for (unsigned length = 1, count = 6; length <= 5; ++length, count *= 6)
      for (unsigned number = 0; number < count; ++number) {
        std::vector<Access> sequence;
        for (unsigned i = 0, rest = number; i < length; ++i, rest /= 6)
          sequence.push_back(accesses[rest % 6]);
        check(sequence, with_device);
      }
}

TEST_CASE("wrong calls give a code and a message") {
  Context made(true);
  revet_context* const context = made.context;
  CHECK(revet_create_context("cuda", "gpu") == nullptr);
  CHECK(revet_create_context("openmp", "gpu") == nullptr);
  CHECK(revet_create_buffer(nullptr, 1, all) == nullptr);
  CHECK(revet_create_buffer(context, 1, 0) == nullptr);
  CHECK(context->error == REVET_ERROR_ARGUMENT);

  revet_buffer* const output =
      revet_create_buffer(context, 8, REVET_HOST_READ | REVET_DEVICE_WRITE);
  REQUIRE(output != nullptr);
  CHECK(revet_host_sync(context, output, 8, REVET_HOST_WRITE) == nullptr);
  CHECK(revet_error_message(context) ==
        std::string("a buffer is accessed in a way that it was not created for"));
  CHECK(revet_host_sync(context, output, 8, REVET_DEVICE_READ) == nullptr);
  CHECK(revet_device_sync(context, output, 9, REVET_DEVICE_WRITE) == nullptr);
  CHECK(context->error == REVET_ERROR_ARGUMENT);
  CHECK(revet_device_sync(context, nullptr, 8, REVET_DEVICE_WRITE) == nullptr);
  revet_destroy_buffer(context, output);
  revet_destroy_buffer(context, nullptr);

  CHECK(revet_create_buffer(context, UINT64_MAX, all) == nullptr);
  CHECK(context->error == REVET_ERROR_MEMORY);
  made.state.full = true;
  CHECK(revet_create_buffer(context, 8, all) == nullptr);
  CHECK(context->error == REVET_ERROR_MEMORY);
  CHECK(revet_wait_finished(context) == REVET_OK);
}

TEST_CASE("a side without flags has no memory") {
  Context made(true);
  revet_buffer* const on_device =
      revet_create_buffer(made.context, 8, REVET_DEVICE_READ | REVET_DEVICE_WRITE);
  CHECK(on_device->host == nullptr);
  CHECK(on_device->device != nullptr);
  revet_destroy_buffer(made.context, on_device);
  revet_buffer* const on_host =
      revet_create_buffer(made.context, 8, REVET_HOST_READ | REVET_HOST_WRITE);
  CHECK(on_host->host != nullptr);
  CHECK(on_host->device == nullptr);
  revet_destroy_buffer(made.context, on_host);
}

TEST_CASE("wrapped memory is used where it is") {
  Context made(false);
  int memory[2] = {1, 2};
  revet_buffer* const buffer = revet_wrap_buffer(made.context, memory, sizeof memory, all);
  CHECK(revet_device_sync(made.context, buffer, sizeof memory, REVET_DEVICE_READ) == memory);
  revet_destroy_buffer(made.context, buffer);
  CHECK(memory[1] == 2);

  revet_buffer* const empty = revet_wrap_buffer(made.context, nullptr, 0, all);
  REQUIRE(empty != nullptr);
  CHECK(revet_device_sync(made.context, empty, 0, REVET_DEVICE_READ) != nullptr);
  revet_destroy_buffer(made.context, empty);
  CHECK(revet_wrap_buffer(made.context, nullptr, 1, all) == nullptr);
}

TEST_CASE("an output keeps what is not written, and is zero where nothing ever was") {
  for (const bool with_device : {false, true}) {
    Context made(with_device);
    revet_buffer* const buffer = revet_create_buffer(
        made.context, 2 * sizeof(int), REVET_HOST_READ | REVET_HOST_WRITE | REVET_DEVICE_WRITE);
    auto* const fresh =
        static_cast<int*>(revet_device_sync_output(made.context, buffer, 2 * sizeof(int)));
    REQUIRE(fresh != nullptr);
    CHECK(fresh[1] == 0);
    fresh[0] = 5;
    auto* const host = static_cast<int*>(
        revet_host_sync(made.context, buffer, 2 * sizeof(int), REVET_HOST_READ | REVET_HOST_WRITE));
    CHECK(host[0] == 5);
    host[1] = 7;
    auto* const again =
        static_cast<int*>(revet_device_sync_output(made.context, buffer, 2 * sizeof(int)));
    CHECK(again[1] == 7);
    revet_destroy_buffer(made.context, buffer);
  }
}

}  // namespace
