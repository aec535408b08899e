#include "revet/sim/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "revet/diagnostics.hpp"
#include "revet/scalar.hpp"

namespace revet::sim {
namespace {

/// The text is the same on every target.
std::uint64_t checked(const Memories::Elements& in, std::int64_t index, const char* access,
                      Loc place) {
  if (index < 0 || static_cast<std::uint64_t>(index) >= in.count)
    throw Error(Exit::program, place,
                fmt::format("index {} is outside array '{}' of size {} ({})", index, *in.name,
                            in.count, access));
  return static_cast<std::uint64_t>(index);
}

}  // namespace

std::vector<HostArray> bind(Launch& launch) {
  std::vector<HostArray> arrays;
  for (ArrayData& array : launch.arrays) {
    if (!array.data() && array.count != 0) array.load();
    arrays.push_back({array.data(), array.count});
  }
  return arrays;
}

// --- pools --------------------------------------------------------------------------------------

Pool::Pool(const PoolDecl& decl)
    : name_(decl.name),
      free_(std::max(1u, decl.regions)),
      next_(free_.size() - 1),
      turn_(pointers_per_turn),
      count_(decl.pointers),
      taken_(decl.pointers, false) {
  for (std::uint32_t p = 0; p < decl.pointers; ++p) free_[p % free_.size()].push_back(p);
}

std::uint32_t Pool::take() {
  if (free_[next_].empty() || turn_ == pointers_per_turn) {
    turn_ = 0;
    do next_ = (next_ + 1) % free_.size();
    while (free_[next_].empty());
  }
  ++turn_;
  const std::uint32_t pointer = free_[next_].front();
  free_[next_].pop_front();
  --count_;
  taken_[pointer] = true;
  return pointer;
}

void Pool::give_back(std::uint32_t pointer) {
  if (pointer >= taken_.size() || !taken_[pointer])
    throw InternalError(
        fmt::format("pointer {} of pool '{}' is freed but was not allocated", pointer, name_));
  taken_[pointer] = false;
  ++count_;
  free_[pointer % free_.size()].push_back(pointer);
}

// --- memories -----------------------------------------------------------------------------------

Memories::Memories(const std::vector<DramDecl>& drams, const std::vector<SramDecl>& srams,
                   const std::vector<PoolDecl>& pools, const std::vector<HostArray>& arrays)
    : drams_(drams), srams_(srams), arrays_(arrays) {
  if (drams.size() != arrays.size())
    throw InternalError(
        fmt::format("the graph has {} arrays, the launch {}", drams.size(), arrays.size()));
  // Nothing may rely on what a buffer holds when it is taken.
  for (const SramDecl& sram : srams)
    buffers_.emplace_back(std::size_t{sram.size} * sram.pointers * Type{sram.element}.bytes(),
                          std::uint8_t{1});
  for (const PoolDecl& pool : pools) pools_.emplace_back(pool);
}

Memories::Extent Memories::valid_elements(std::uint64_t count, std::uint64_t n, std::int64_t base,
                                          std::int64_t valid) {
  // Far positions must not overflow.
  if (base >= static_cast<std::int64_t>(count) || base <= -static_cast<std::int64_t>(n))
    return {0, 0};
  const std::int64_t wanted = std::clamp<std::int64_t>(valid, 0, static_cast<std::int64_t>(n));
  const std::int64_t first = std::clamp<std::int64_t>(-base, 0, wanted);
  const std::int64_t last =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(count) - base, first, wanted);
  return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last)};
}

Memories::Elements Memories::dram(std::uint32_t id) {
  return {&drams_[id].name, drams_[id].element, true, arrays_[id].data, arrays_[id].count};
}

Memories::Elements Memories::sram(std::uint32_t id, std::uint32_t pointer) {
  const SramDecl& sram = srams_[id];
  if (pointer >= sram.pointers)
    throw InternalError(
        fmt::format("pointer {} of SRAM '{}' is not below {}", pointer, sram.name, sram.pointers));
  const std::size_t bytes = std::size_t{sram.size} * Type{sram.element}.bytes();
  return {&sram.name, sram.element, false, buffers_[id].data() + pointer * bytes, sram.size};
}

void Memories::put(const Elements& to, std::uint64_t index, std::uint32_t bits) {
  if (noting_ && to.off_chip) {
    const Kind raw = to.kind == Kind::i1 ? Kind::u8 : to.kind;  // a bool is kept as it was stored
    writes_.push_back({to.data, raw, index, load_element(to.data, raw, index)});
  }
  store_element(to.data, to.kind, index, bits);
}

void Memories::undo() {
  for (auto write = writes_.rbegin(); write != writes_.rend(); ++write)
    store_element(write->data, write->kind, write->index, write->before);
  writes_.clear();
}

/// All lanes have whole words of the SRAM.
bool Memories::all_inside(std::uint32_t id, const std::uint32_t* pointers,
                          const std::uint32_t* indices, std::uint32_t on) const {
  const SramDecl& sram = srams_[id];
  // Of signed indices, negative ones are larger than this.
  constexpr std::uint32_t most = std::numeric_limits<std::int32_t>::max();
  if (Type{sram.element}.bytes() != 4 || sram.size > most) return false;
  for (; on != 0; on &= on - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(on));
    if (pointers[k] >= sram.pointers || indices[k] >= sram.size) return false;
  }
  return true;
}

bool Memories::load_lanes(std::uint32_t id, const std::uint32_t* pointers,
                          const std::uint32_t* indices, std::uint32_t on, std::uint32_t* to) const {
  if (!all_inside(id, pointers, indices, on)) return false;
  const std::uint8_t* const data = buffers_[id].data();
  const std::size_t size = srams_[id].size;
  for (; on != 0; on &= on - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(on));
    std::memcpy(&to[k], data + (pointers[k] * size + indices[k]) * 4, 4);
  }
  return true;
}

bool Memories::store_lanes(std::uint32_t id, const std::uint32_t* pointers,
                           const std::uint32_t* indices, std::uint32_t on,
                           const std::uint32_t* from) {
  if (!all_inside(id, pointers, indices, on)) return false;
  std::uint8_t* const data = buffers_[id].data();
  const std::size_t size = srams_[id].size;
  for (; on != 0; on &= on - 1) {
    const auto k = static_cast<unsigned>(std::countr_zero(on));
    std::memcpy(data + (pointers[k] * size + indices[k]) * 4, &from[k], 4);
  }
  return true;
}

std::uint32_t Memories::load(const Elements& from, std::int64_t index, Loc place) const {
  return load_element(from.data, from.kind, checked(from, index, "read", place));
}

void Memories::store(const Elements& to, std::int64_t index, std::uint32_t bits, Loc place) {
  put(to, checked(to, index, "write", place), bits);
}

std::uint32_t Memories::atomic(const Elements& at, std::int64_t index, Atomic op,
                               std::uint32_t value, std::uint32_t desired, Loc place) {
  const std::uint64_t i = checked(at, index, "atomic", place);
  const std::uint32_t old = load_element(at.data, at.kind, i);
  put(at, i, apply(op, at.kind, old, value, desired));
  return old;
}

std::uint64_t Memories::room(const Elements& buffer, Kind element) {
  return buffer.count * Type{buffer.kind}.bytes() / Type{element}.bytes();
}

void Memories::bulk_load(const Elements& array, const Elements& buffer, std::int64_t base,
                         std::int64_t valid) const {
  const Extent extent = valid_elements(array.count, room(buffer, array.kind), base, valid);
  const std::size_t width = Type{array.kind}.bytes();
  fill_zero(buffer);
  if (extent.first == extent.last) return;
  const auto from = static_cast<std::uint64_t>(base + static_cast<std::int64_t>(extent.first));
  std::memcpy(buffer.data + extent.first * width, array.data + from * width,
              (extent.last - extent.first) * width);
  if (buffer.kind != Kind::i1) return;
  for (std::uint64_t k = extent.first; k < extent.last; ++k)
    buffer.data[k] = buffer.data[k] != 0 ? 1 : 0;
}

void Memories::bulk_store(const Elements& array, const Elements& buffer, std::int64_t base,
                          std::int64_t valid) {
  const Extent extent = valid_elements(array.count, buffer.count, base, valid);
  for (std::uint64_t k = extent.first; k < extent.last; ++k)
    put(array, static_cast<std::uint64_t>(base + static_cast<std::int64_t>(k)),
        load_element(buffer.data, buffer.kind, k));
}

void Memories::fill_zero(const Elements& buffer) const {
  std::memset(buffer.data, 0, buffer.count * Type{buffer.kind}.bytes());
}

}  // namespace revet::sim
