/// What emitted C++ calls: the language's arithmetic where C++ has no equal operator, tiles,
/// iterators, atomics, and run-time errors. Nothing here is undefined for any argument (indices
/// excepted), and nothing depends on compiler flags.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <type_traits>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "revet/runtime.h"

namespace revet {

// --- arithmetic
// -----------------------------------------------------------------------------------

/// Quotient; all ones where b is 0, and the smallest value by -1 is itself.
constexpr int32_t div(int32_t a, int32_t b) {
  if (b == 0) return -1;
  return b == -1 ? static_cast<int32_t>(0u - static_cast<uint32_t>(a)) : a / b;
}
constexpr uint32_t div(uint32_t a, uint32_t b) { return b == 0 ? ~uint32_t{0} : a / b; }

/// Remainder; a where b is 0.
constexpr int32_t rem(int32_t a, int32_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}
constexpr uint32_t rem(uint32_t a, uint32_t b) { return b == 0 ? a : a % b; }

/// The upper half of the product.
constexpr int32_t mulhi(int32_t a, int32_t b) {
  return static_cast<int32_t>((int64_t{a} * b) >> 32);
}
constexpr uint32_t mulhi(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
}

/// The absolute value; the smallest value is its own.
constexpr int32_t abs(int32_t a) {
  return a < 0 ? static_cast<int32_t>(0u - static_cast<uint32_t>(a)) : a;
}

/// Towards zero and into the type's range; 0 for NaN.
template <class T>
inline T to_int(float x) {
  // Every bound is exact in double.
  constexpr double low = std::numeric_limits<T>::min();
  constexpr double high = std::numeric_limits<T>::max();
  const double value = x;
  if (value <= low) return std::numeric_limits<T>::min();
  if (value >= high) return std::numeric_limits<T>::max();
  return value == value ? static_cast<T>(value) : T{0};
}

/// Iterations of a foreach from lo to hi; 0 where step is.
constexpr int64_t trip_count(int64_t lo, int64_t hi, int64_t step) {
  if (step == 0) return 0;
  const int64_t distance = step > 0 ? hi - lo : lo - hi;
  return distance <= 0 ? 0 : (distance - 1) / (step > 0 ? step : -step) + 1;
}

// --- arrays
// ---------------------------------------------------------------------------------------

/// The element, or 0 outside the array.
template <class T>
inline T read(const T* array, uint64_t size, uint64_t position) {
  if (position < size) [[likely]]
    return array[position];
  return T{};
}

/// Nothing outside the array.
template <class T>
inline void write(T* array, uint64_t size, uint64_t position, std::type_identity_t<T> value) {
  if (position < size) [[likely]]
    array[position] = value;
}

// --- views
// ----------------------------------------------------------------------------------------

/// As a view's number of used elements: it must not be used in place.
inline constexpr int64_t never = std::numeric_limits<int64_t>::max() / 2;

/// The valid elements of a view: those of 0 .. min(n, valid)-1 that lie inside the array.
class Extent {
 public:
  constexpr Extent(uint64_t size, int64_t base, int64_t n, int64_t valid)
      : end_(static_cast<int64_t>(size)), base_(base), wanted_(std::min(n, valid)) {}

  int64_t base() const { return base_; }
  int64_t first() const { return std::max<int64_t>(-base_, 0); }
  int64_t last() const { return std::min(wanted_, end_ - base_); }
  bool valid(int64_t k) const { return k >= first() && k < last(); }
  /// Elements 0 .. used-1 are valid, so that they can be used in place.
  bool holds(int64_t used) const {
    return base_ >= 0 && base_ <= end_ && used <= wanted_ && base_ + used <= end_;
  }

 private:
  int64_t end_;     ///< of the array
  int64_t base_;    ///< position of element 0
  int64_t wanted_;  ///< valid elements, if the array held them all
};

// GCC cannot see that a tile which is stored was filled.
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/// Fills a tile of n elements from the array, with zeros for those that are not valid. Out of line,
/// like all that tiles at the ends of arrays need, so that it does not burden loops over the
/// others.
template <class T>
[[gnu::noinline]] T* copy_in(const T* array, Extent at, int64_t n, T* tile) {
  for (int64_t k = 0; k < n; ++k) tile[k] = at.valid(k) ? array[at.base() + k] : T{};
  return tile;
}

template <class T>
[[gnu::noinline]] T* clear(int64_t n, T* tile) {
  for (int64_t k = 0; k < n; ++k) tile[k] = T{};
  return tile;
}

template <class T>
[[gnu::noinline]] void copy_out(T* array, Extent at, const T* tile) {
  for (int64_t k = at.first(); k < at.last(); ++k) array[at.base() + k] = tile[k];
}

/// A view to read: the array itself if elements 0 .. used-1 are valid, else a copy in `tile`.
template <int64_t N, class T>
inline const T* open_read(const T* array, const Extent& at, int64_t used, T* tile) {
  if (at.holds(used)) [[likely]]
    return array + at.base();
  return copy_in(array, at, N, tile);
}

/// A view to write: the array itself if elements 0 .. used-1 are valid, else `tile`. It starts as
/// zeros but for elements 0 .. assigned-1, to which the caller is going to store.
template <int64_t N, class T>
inline T* open_write(T* array, const Extent& at, int64_t used, int64_t assigned, T* tile) {
  if (!at.holds(used)) [[unlikely]]
    return clear(N, tile);
  for (int64_t k = std::max<int64_t>(assigned, 0); k < at.last(); ++k) array[at.base() + k] = T{};
  return array + at.base();
}

/// A view to read and write.
template <int64_t N, class T>
inline T* open_modify(T* array, const Extent& at, int64_t used, T* tile) {
  if (at.holds(used)) [[likely]]
    return array + at.base();
  return copy_in(array, at, N, tile);
}

/// The same of bools: in the copy, and so where it is stored, a byte is 0 or 1.
template <int64_t N>
inline uint8_t* open_modify_bool(const uint8_t* array, const Extent& at, uint8_t* tile) {
  for (int64_t k = 0; k < N; ++k) tile[k] = at.valid(k) && array[at.base() + k] != 0 ? 1 : 0;
  return tile;
}

/// Stores the valid elements of a view that is not the array itself.
template <class T>
inline void close_view(T* array, const Extent& at, const T* view, const T* tile) {
  if (view == tile) [[unlikely]]
    copy_out(array, at, tile);
}

// --- iterators
// ------------------------------------------------------------------------------------

/// A forward writer with a tile of N elements, which are stored when all of them were passed.
template <class T, uint64_t N>
class Writer {
 public:
  Writer(T* array, uint64_t size, uint64_t position)
      : array_(array), size_(size), base_(position) {}
  void set(T value) { value_ = value; }
  /// Passes the current element; after the last one, stores what is left.
  void next(bool last) {
    tile_[passed_++] = value_;
    value_ = T{};
    done_ = last;
    if (last || passed_ == N) flush();
  }
  bool done() const { return done_; }
  void flush() {
    for (uint64_t k = 0; k < passed_; ++k) write(array_, size_, base_ + k, tile_[k]);
    base_ += passed_;
    passed_ = 0;
  }

 private:
  T* array_;
  uint64_t size_;
  uint64_t base_;        ///< position of the tile
  uint64_t passed_ = 0;  ///< elements of the tile
  T value_{};            ///< of the current element
  bool done_ = false;
  T tile_[N];
};

#pragma GCC diagnostic pop

// --- atomics
// --------------------------------------------------------------------------------------

/// Read, change, write: atomic among host threads, or (Plain) for memory of one host thread only.
/// All give the old value and order nothing else.
struct Atomic {
  template <class T>
  static T add(T* p, std::type_identity_t<T> v) {
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
  }
  template <class T>
  static T sub(T* p, std::type_identity_t<T> v) {
    return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED);
  }
  template <class T>
  static T and_(T* p, std::type_identity_t<T> v) {
    return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);
  }
  template <class T>
  static T or_(T* p, std::type_identity_t<T> v) {
    return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
  }
  template <class T>
  static T xor_(T* p, std::type_identity_t<T> v) {
    return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);
  }
  template <class T>
  static T exchange(T* p, std::type_identity_t<T> v) {
    return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);
  }
  template <class T>
  static T cas(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
  }
  template <class T>
  static T min(T* p, std::type_identity_t<T> v) {
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (v < old &&
           !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
  }
  template <class T>
  static T max(T* p, std::type_identity_t<T> v) {
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < v &&
           !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
  }
};

struct Plain {
  template <class T>
  static T set(T* p, uint32_t v) {
    const T old = *p;
    *p = static_cast<T>(v);
    return old;
  }
  template <class T>
  static uint32_t bits(T v) {
    return static_cast<uint32_t>(v);
  }
  template <class T>
  static T add(T* p, std::type_identity_t<T> v) {
    return set(p, bits(*p) + bits(v));
  }
  template <class T>
  static T sub(T* p, std::type_identity_t<T> v) {
    return set(p, bits(*p) - bits(v));
  }
  template <class T>
  static T and_(T* p, std::type_identity_t<T> v) {
    return set(p, bits(*p) & bits(v));
  }
  template <class T>
  static T or_(T* p, std::type_identity_t<T> v) {
    return set(p, bits(*p) | bits(v));
  }
  template <class T>
  static T xor_(T* p, std::type_identity_t<T> v) {
    return set(p, bits(*p) ^ bits(v));
  }
  template <class T>
  static T exchange(T* p, std::type_identity_t<T> v) {
    return set(p, bits(v));
  }
  template <class T>
  static T cas(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
    return set(p, bits(*p == expected ? desired : *p));
  }
  template <class T>
  static T min(T* p, std::type_identity_t<T> v) {
    return set(p, bits(std::min(*p, v)));
  }
  template <class T>
  static T max(T* p, std::type_identity_t<T> v) {
    return set(p, bits(std::max(*p, v)));
  }
};

// --- run-time errors
// ------------------------------------------------------------------------------

enum class Fault : uint8_t { read, write, atomic, view, iterator, next_after_last, step_is_zero };

/// A place in the program that may fail.
struct Site {
  Fault fault;
  const char* name;  ///< of the array, SRAM, view or iterator
  const char* file;
  int line;
  int column;
};

/// Sets the context's error and gives its code.
inline int fail(revet_context* context, const Site& site, int64_t index = 0, uint64_t size = 0) {
  static constexpr const char* accesses[] = {"read", "write", "atomic"};
  char message[sizeof context->message];
  const auto i = static_cast<long long>(index);
  const auto n = static_cast<unsigned long long>(size);
  switch (site.fault) {
    case Fault::next_after_last:
      std::snprintf(message, sizeof message, "next after the last element of iterator '%s'",
                    site.name);
      break;
    case Fault::step_is_zero: std::snprintf(message, sizeof message, "foreach step is 0"); break;
    case Fault::view:
    case Fault::iterator:
      std::snprintf(message, sizeof message, "index %lld is outside %s '%s' of size %llu", i,
                    site.fault == Fault::view ? "view" : "iterator", site.name, n);
      break;
    default:
      std::snprintf(message, sizeof message, "index %lld is outside array '%s' of size %llu (%s)",
                    i, site.name, n, accesses[static_cast<unsigned>(site.fault)]);
  }
  revet_set_error(context, REVET_ERROR_PROGRAM, message);
  std::snprintf(context->file, sizeof context->file, "%s", site.file);
  context->line = site.line;
  context->column = site.column;
  return context->error;
}

/// The first failure, in the order of iterations, of a parallel loop. Iterations after one that
/// failed need not run; those before it do, since they may fail too.
class Failure {
 public:
  static constexpr int64_t none = std::numeric_limits<int64_t>::max();

  bool before(int64_t iteration) const {
    return first_.load(std::memory_order_relaxed) < iteration;
  }
  explicit operator bool() const { return first_.load(std::memory_order_relaxed) != none; }
  void report(int64_t iteration, const Site& site, int64_t index = 0, uint64_t size = 0) {
    const std::lock_guard lock(mutex_);
    if (iteration >= first_.load(std::memory_order_relaxed)) return;
    first_.store(iteration, std::memory_order_relaxed);
    site_ = site;
    index_ = index;
    size_ = size;
  }
  /// After the loop.
  int finish(revet_context* context) const { return fail(context, site_, index_, size_); }

 private:
  std::atomic<int64_t> first_{none};
  std::mutex mutex_;
  Site site_{};
  int64_t index_ = 0;
  uint64_t size_ = 0;
};

// --- running
// --------------------------------------------------------------------------------------

/// Host threads to run on.
inline int host_threads(const revet_context* context) {
#ifdef _OPENMP
  return context->host_threads != 0 ? static_cast<int>(context->host_threads)
                                    : omp_get_max_threads();
#else
  static_cast<void>(context);
  return 1;
#endif
}

/// Iterations that a worker takes at a time: few enough that all workers end together, many enough
/// that taking them costs nothing.
inline int64_t chunk_size(int64_t iterations, int workers) {
  return std::clamp<int64_t>(iterations / (int64_t{workers} * 16), 1, 1024);
}

/// Measures a run and leaves its statistics in the context.
class Run {
 public:
  explicit Run(revet_context* context)
      : context_(context), start_(std::chrono::steady_clock::now()) {}
  int finish(uint64_t threads, int workers) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    revet_clear_error(context_);
    context_->seconds = taken.count();
    context_->threads = threads;
    context_->used_host_threads = static_cast<unsigned>(workers);
    return REVET_OK;
  }

 private:
  revet_context* context_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace revet
