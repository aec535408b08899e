/// What host and plugin must agree on, as text: the fingerprint in `revet_plugin` and in the
/// section
/// `.revet.abi`.
#pragma once

#include <cstddef>  // _GLIBCXX_USE_CXX11_ABI

#include "revet/config.hpp"

#define REVET_STRING_(x) #x
#define REVET_STRING(x) REVET_STRING_(x)

#if defined(__clang__)
#define REVET_ABI_COMPILER "clang-" REVET_STRING(__clang_major__)
#else
#define REVET_ABI_COMPILER "gcc-" REVET_STRING(__GNUC__)
#endif

#ifdef _GLIBCXX_DEBUG
#define REVET_ABI_GLIBCXX_DEBUG "1"
#else
#define REVET_ABI_GLIBCXX_DEBUG "0"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define REVET_ABI_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define REVET_ABI_SANITIZER "thread"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REVET_ABI_SANITIZER "address"
#elif __has_feature(thread_sanitizer)
#define REVET_ABI_SANITIZER "thread"
#else
#define REVET_ABI_SANITIZER "none"
#endif
#else
#define REVET_ABI_SANITIZER "none"
#endif

#define REVET_ABI_VERSION_STRING "1"
#define REVET_ABI_FINGERPRINT                                                               \
  "compiler=" REVET_ABI_COMPILER                                                            \
  " standard=" REVET_STRING(__cplusplus) " cxx11-abi=" REVET_STRING(                        \
      _GLIBCXX_USE_CXX11_ABI) " glibcxx-debug=" REVET_ABI_GLIBCXX_DEBUG                     \
                              " sanitizer=" REVET_ABI_SANITIZER " core=" REVET_CORE_VERSION \
                              " headers=" REVET_HEADERS_HASH

/// Recorded and shown, never compared.
#ifdef NDEBUG
#define REVET_ABI_BUILD "release"
#else
#define REVET_ABI_BUILD "debug"
#endif
