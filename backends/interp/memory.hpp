/// DRAM arrays, and the SRAMs, views and iterators that threads have open.
///
/// A register holds a handle of an open object: its number and, above, a count of how often the
/// number was reused, so that a use after the end of the scope is caught.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "program.hpp"
#include "races.hpp"
#include "revet/launch.hpp"

namespace revet::interp {

inline std::uint32_t load_as(Kind kind, const std::uint8_t* data, std::uint64_t i) {
  const auto get = [&]<class T>(T value) {
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    return static_cast<std::uint32_t>(value);
  };
  switch (kind) {
    case Kind::i1: return data[i] != 0 ? 1u : 0u;
    case Kind::u8: return data[i];
    case Kind::i8: return get(std::int8_t{});
    case Kind::u16: return get(std::uint16_t{});
    case Kind::i16: return get(std::int16_t{});
    default: return get(std::uint32_t{});
  }
}

inline void store_as(Kind kind, std::uint8_t* data, std::uint64_t i, std::uint32_t bits) {
  switch (kind) {
    case Kind::i1:
    case Kind::u8:
    case Kind::i8: data[i] = static_cast<std::uint8_t>(bits); break;
    case Kind::u16:
    case Kind::i16: {
      const auto half = static_cast<std::uint16_t>(bits);
      std::memcpy(data + 2 * i, &half, 2);
      break;
    }
    default: std::memcpy(data + 4 * i, &bits, 4);
  }
}

struct Array {
  std::string name;
  Kind element;
  std::uint64_t count;
  std::uint8_t* data;
  std::unique_ptr<Shadow> shadow;  ///< null where no race is possible or none is looked for
};

using Handle = std::uint32_t;

struct Object {
  Mode mode;
  Kind element;
  bool open = false;
  bool filled;  ///< iterators: the tile holds memory's contents
  bool done;    ///< ManualWriteIt: the last element was passed
  std::uint32_t reuse = 0;
  std::uint32_t site;
  std::uint32_t size;       ///< elements
  Place opened;             ///< the instruction
  std::uint32_t first = 0;  ///< views: elements first <= k < last are valid
  std::uint32_t last = 0;
  std::int64_t base;      ///< views: position of element 0; iterators: of the tile
  std::int64_t position;  ///< iterators
  Time since = 0;
  std::vector<std::uint8_t> data;
  std::unique_ptr<Shadow> shadow;
};

class Memory {
 public:
  /// The handle that an allocation that is predicated off gives: no access finds an object, and
  /// closing it does nothing.
  static constexpr Handle no_buffer = ~0u;

  /// `races` may be null.
  Memory(const Program& program, Launch& launch, Races* races);

  Array& array(std::uint32_t id) { return arrays_[id]; }
  /// `place` is the access, for the message.
  Object& object(Handle handle, Place place) {
    const std::uint32_t number = handle & number_mask;
    if (number >= objects_.size() || !objects_[number].open ||
        objects_[number].reuse != handle >> number_bits)
      gone(place);
    return objects_[number];
  }

  /// Between an SRAM and an array; see ops::mem_bulk_load.
  void bulk(Handle handle, std::uint32_t array, std::int64_t base, std::int64_t valid, bool load,
            Place place);

  Handle open_sram(std::uint32_t site, Place place);
  Handle open_view(std::uint32_t site, std::int64_t base, std::int64_t valid, Place place);
  Handle open_iter(std::uint32_t site, std::int64_t position, Place place);
  /// The end of the scope: stores what is to be stored.
  void close(Handle handle, Place place);
  /// Frees, without storing, whatever the threads of a level have left open.
  void close_leftovers(std::uint32_t level);

  std::uint32_t iter_load(Object& it, Place place);
  std::uint32_t iter_peek(Object& it, std::int64_t k, Place place);
  void iter_store(Object& it, std::uint32_t bits) {
    store_as(it.element, it.data.data(), offset(it), bits);
  }
  void iter_next(Object& it, std::uint32_t k, Place place);
  void iter_next_last(Object& it, bool last, Place place);

  [[noreturn]] void outside(Place place, std::int64_t index, std::uint64_t size,
                            const char* access) const;
  [[noreturn]] void outside(Place place, std::int64_t index, const Object& object) const;

 private:
  static constexpr unsigned number_bits = 20;
  static constexpr std::uint32_t number_mask = (1u << number_bits) - 1;

  Object& make(std::uint32_t site, Place place, Handle& handle);
  void release(std::uint32_t number);
  static std::uint64_t offset(const Object& it) {
    return static_cast<std::uint64_t>(it.position - it.base);
  }
  Array& array_of(const Object& object) { return arrays_[program_.sites[object.site].array]; }
  void load_words(Object& sram, const Array& array, std::int64_t base, std::int64_t valid,
                  Place place);
  void copy_in(Object& object, const Array& array);
  void copy_out(Object& object, Array& array, std::uint32_t first, std::uint32_t last, Place place);
  void fill(Object& it);
  void flush(Object& it, Place place);
  [[noreturn]] void gone(Place place) const;

  const Program& program_;
  Races* races_;
  std::vector<Array> arrays_;
  std::vector<Object> objects_;
  std::vector<std::vector<std::uint32_t>> free_;  ///< per site: numbers whose buffers fit
  std::vector<std::size_t> open_;                 ///< per level: how many are open
};

}  // namespace revet::interp
