#include "memory.hpp"

#include <algorithm>

#include "messages.hpp"
#include "revet/diagnostics.hpp"
#include "revet/ops.hpp"

namespace revet::interp {
namespace {

/// Positions stop here instead of wrapping; no array is as large.
constexpr std::int64_t farthest = std::int64_t{1} << 62;

/// Of elements base..base+size-1, the k that lie in an array of `count`: first <= k < last.
struct Overlap {
  std::uint32_t first;
  std::uint32_t last;
};
Overlap overlap(std::int64_t base, std::int64_t size, std::uint64_t count) {
  const auto end = static_cast<std::int64_t>(count);
  if (base >= end || base <= -size) return {0, 0};
  const std::int64_t first = std::clamp<std::int64_t>(-base, 0, size);
  const std::int64_t last = std::clamp<std::int64_t>(end - base, first, size);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
}

}  // namespace

Memory::Memory(const Program& program, Launch& launch, Races* races)
    : program_(program), races_(races), free_(program.sites.size()), open_(program.levels.size()) {
  if (launch.arrays.size() != program.written.size())
    throw InternalError("the launch has other arrays than the program");
  for (std::size_t i = 0; i < launch.arrays.size(); ++i) {
    ArrayData& array = launch.arrays[i];
    if (!array.data() && array.count != 0) array.load();
    const bool watched = races && program.written[i];
    arrays_.push_back({array.name, array.element.kind, array.count, array.data(),
                       watched ? std::make_unique<Shadow>(array.name) : nullptr});
  }
}

void Memory::gone(Place place) const {
  const Op& op = *program_.origin[place];
  throw InternalError("'" + ops::memory_name(op.operand(0)) + "' is used by " + op.name() +
                      " in line " + std::to_string(op.loc().line) + " after the end of its scope");
}

void Memory::outside(Place place, std::int64_t index, std::uint64_t size,
                     const char* access) const {
  const Op& op = *program_.origin[place];
  throw Error(Exit::program, op.loc(),
              messages::outside_array(index, ops::memory_name(op.operand(0)), size, access));
}

void Memory::outside(Place place, std::int64_t index, const Object& object) const {
  const Op& op = *program_.origin[place];
  const std::string& name = ops::memory_name(op.operand(0));
  const bool view = object.mode <= Mode::modify_view;
  throw Error(Exit::program, op.loc(),
              view ? messages::outside_view(index, name, object.size)
                   : messages::outside_iterator(index, name, object.size));
}

Object& Memory::make(std::uint32_t site_id, Place place, Handle& handle) {
  const Site& site = program_.sites[site_id];
  std::uint32_t number = static_cast<std::uint32_t>(objects_.size());
  if (!free_[site_id].empty()) {
    number = free_[site_id].back();
    free_[site_id].pop_back();
  } else {
    if (number > number_mask)
      throw Error(Exit::unfinished, site.op->loc(),
                  "too many SRAMs, views and iterators are open for the interpreter");
    Object& made = objects_.emplace_back();
    made.mode = site.mode;
    made.element = site.element;
    made.site = site_id;
    made.size = site.size;
    made.data.resize(std::size_t{site.size} * Type{site.element}.bytes());
    if (races_ && site.shared)
      made.shadow = std::make_unique<Shadow>(ops::memory_name(site.op->result()));
  }
  Object& object = objects_[number];
  object.open = true;
  object.opened = place;
  if (races_ && site.shared) {
    object.since = races_->tick();
    object.shadow->since = object.since;
  }
  ++open_[site.level];
  handle = object.reuse << number_bits | number;
  return object;
}

void Memory::release(std::uint32_t number) {
  Object& object = objects_[number];
  object.open = false;
  object.reuse = (object.reuse + 1) & (~0u >> number_bits);
  free_[object.site].push_back(number);
  --open_[program_.sites[object.site].level];
}

void Memory::close_leftovers(std::uint32_t level) {
  if (open_[level] == 0) return;
  for (std::uint32_t number = 0; number < objects_.size(); ++number) {
    const Object& object = objects_[number];
    if (object.open && program_.sites[object.site].level == level) release(number);
  }
}

// --- copies ---

/// Valid elements first..last-1 from the array, zeros around them.
void Memory::copy_in(Object& object, const Array& array) {
  const std::size_t width = Type{object.element}.bytes();
  std::uint8_t* to = object.data.data();
  std::memset(to, 0, object.first * width);
  std::memset(to + object.last * width, 0, (object.size - object.last) * width);
  if (object.first == object.last) return;
  const auto from = static_cast<std::uint64_t>(object.base + object.first);
  std::memcpy(to + object.first * width, array.data + from * width,
              (object.last - object.first) * width);
  if (object.element != Kind::i1) return;
  for (std::uint32_t k = object.first; k < object.last; ++k) to[k] = to[k] != 0 ? 1 : 0;
}

void Memory::copy_out(Object& object, Array& array, std::uint32_t first, std::uint32_t last,
                      Place place) {
  if (first >= last) return;
  const std::size_t width = Type{object.element}.bytes();
  const auto to = static_cast<std::uint64_t>(object.base + first);
  if (array.shadow)
    for (std::uint32_t k = 0; k < last - first; ++k) races_->write(*array.shadow, to + k, place);
  std::memcpy(array.data + to * width, object.data.data() + first * width, (last - first) * width);
}

// --- SRAM and views ---

Handle Memory::open_sram(std::uint32_t site, Place place) {
  Handle handle;
  Object& sram = make(site, place, handle);
  std::fill(sram.data.begin(), sram.data.end(), std::uint8_t{0});
  return handle;
}

/// Into words that hold several elements of the array.
void Memory::load_words(Object& sram, const Array& array, std::int64_t base, std::int64_t valid,
                        Place place) {
  const std::size_t width = Type{array.element}.bytes();
  const auto room = static_cast<std::int64_t>(sram.data.size() / width);
  const Overlap inside = overlap(base, std::clamp<std::int64_t>(valid, 0, room), array.count);
  std::fill(sram.data.begin(), sram.data.end(), std::uint8_t{0});
  if (sram.shadow)
    for (std::uint32_t k = 0; k < sram.size; ++k) races_->write(*sram.shadow, k, place);
  if (inside.first == inside.last) return;
  const auto from = static_cast<std::uint64_t>(base + inside.first);
  std::memcpy(sram.data.data() + inside.first * width, array.data + from * width,
              (inside.last - inside.first) * width);
  if (!array.shadow) return;
  for (std::uint32_t k = inside.first; k < inside.last; ++k)
    races_->read(*array.shadow, static_cast<std::uint64_t>(base + k), place);
}

void Memory::bulk(Handle handle, std::uint32_t id, std::int64_t base, std::int64_t valid, bool load,
                  Place place) {
  Object& sram = object(handle, place);
  Array& array = arrays_[id];
  if (sram.element != array.element) return load_words(sram, array, base, valid, place);
  const Overlap inside = overlap(base, std::clamp<std::int64_t>(valid, 0, sram.size), array.count);
  sram.base = base;
  sram.first = inside.first;
  sram.last = inside.last;
  if (sram.shadow)
    for (std::uint32_t k = 0; k < sram.size; ++k) {
      if (load) races_->write(*sram.shadow, k, place);
      if (!load && k >= sram.first && k < sram.last) races_->read(*sram.shadow, k, place);
    }
  if (!load) return copy_out(sram, array, sram.first, sram.last, place);
  copy_in(sram, array);
  if (array.shadow)
    for (std::uint32_t k = sram.first; k < sram.last; ++k)
      races_->read(*array.shadow, static_cast<std::uint64_t>(base + k), place);
}

Handle Memory::open_view(std::uint32_t site, std::int64_t base, std::int64_t valid, Place place) {
  Handle handle;
  Object& view = make(site, place, handle);
  Array& array = array_of(view);
  const std::int64_t size = std::clamp<std::int64_t>(valid, 0, view.size);
  const Overlap inside = overlap(base, size, array.count);
  view.base = base;
  view.first = inside.first;
  view.last = inside.last;
  if (view.mode == Mode::write_view) {
    std::fill(view.data.begin(), view.data.end(), std::uint8_t{0});
    return handle;
  }
  copy_in(view, array);
  if (array.shadow)
    for (std::uint32_t k = view.first; k < view.last; ++k)
      races_->read(*array.shadow, static_cast<std::uint64_t>(base + k), place);
  return handle;
}

void Memory::close(Handle handle, Place place) {
  if (handle == no_buffer) return;
  Object& closed = object(handle, place);
  // Stores at the end of a scope are shown where the view or iterator is declared.
  if (closed.mode == Mode::write_view || closed.mode == Mode::modify_view)
    copy_out(closed, array_of(closed), closed.first, closed.last, closed.opened);
  if (closed.mode == Mode::write_it) flush(closed, closed.opened);
  release(handle & number_mask);
}

// --- iterators ---

Handle Memory::open_iter(std::uint32_t site, std::int64_t position, Place place) {
  Handle handle;
  Object& it = make(site, place, handle);
  it.base = it.position = position;
  it.filled = it.done = false;
  if (it.mode == Mode::write_it || it.mode == Mode::manual_it)
    std::fill(it.data.begin(), it.data.end(), std::uint8_t{0});
  return handle;
}

void Memory::fill(Object& it) {
  const Overlap inside = overlap(it.base, it.size, array_of(it).count);
  it.first = inside.first;
  it.last = inside.last;
  copy_in(it, array_of(it));
  it.filled = true;
}

std::uint32_t Memory::iter_load(Object& it, Place place) {
  if (!it.filled) fill(it);
  const std::uint64_t k = offset(it);
  Array& array = array_of(it);
  if (array.shadow && k >= it.first && k < it.last)
    races_->read(*array.shadow, static_cast<std::uint64_t>(it.position), place);
  return load_as(it.element, it.data.data(), k);
}

std::uint32_t Memory::iter_peek(Object& it, std::int64_t k, Place place) {
  if (k < 0 || k >= it.size) outside(place, k, it);
  if (!it.filled) fill(it);
  const std::int64_t position = it.position + k;
  Array& array = array_of(it);
  if (position < 0 || static_cast<std::uint64_t>(position) >= array.count) return 0;
  const auto at = static_cast<std::uint64_t>(position);
  if (array.shadow) races_->read(*array.shadow, at, place);
  const auto in_tile = static_cast<std::uint64_t>(position - it.base);
  return in_tile < it.size ? load_as(it.element, it.data.data(), in_tile)
                           : load_as(it.element, array.data, at);
}

/// Stores the elements passed since the tile began, and begins the next tile.
void Memory::flush(Object& it, Place place) {
  const Overlap inside = overlap(it.base, it.position - it.base, array_of(it).count);
  copy_out(it, array_of(it), inside.first, inside.last, place);
  std::fill(it.data.begin(), it.data.end(), std::uint8_t{0});
  it.base = it.position;
}

void Memory::iter_next(Object& it, std::uint32_t k, Place place) {
  if (it.mode == Mode::manual_it) return iter_next_last(it, false, place);
  it.position = std::min(it.position + std::int64_t{k}, farthest);
  if (it.mode != Mode::write_it) {
    if (offset(it) < it.size) return;
    it.base = it.position;
    it.filled = false;
    return;
  }
  if (k != 1) throw InternalError("a WriteIt advances by more than 1");
  if (offset(it) == it.size) flush(it, place);
}

void Memory::iter_next_last(Object& it, bool last, Place place) {
  const Op& op = *program_.origin[place];
  if (it.done)
    throw Error(Exit::program, op.loc(),
                messages::next_after_last(ops::memory_name(op.operand(0))));
  ++it.position;
  it.done = last;
  if (last || offset(it) == it.size) flush(it, place);
}

}  // namespace revet::interp
