#include "races.hpp"

#include <algorithm>

namespace revet::interp {

void Shadow::set(Access access, std::uint64_t i, std::uint64_t entry) {
  auto& list = pages[access];
  const std::uint64_t page = i >> page_bits;
  if (page >= list.size()) list.resize(page + 1);
  if (!list[page]) list[page] = std::make_unique<Page>(Page{});
  (*list[page])[i & ((1u << page_bits) - 1)] = entry;
}

bool Races::in_spans(Time time) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), time,
                                      [](Time t, const Span& span) { return t < span.begin; });
  return after != spans_.begin() && time < std::prev(after)->end;
}

void Races::access(Shadow& shadow, std::uint64_t i, Place place, Shadow::Access kind) {
  const auto check = [&](Shadow::Access other) {
    const std::uint64_t entry = shadow.get(other, i);
    const bool race = entry != 0 && unordered(entry >> 24);
    if (race) report(shadow, i, other, static_cast<Place>(entry & 0xFFFFFFu), kind, place);
  };
  check(Shadow::write);
  if (kind != Shadow::read) check(Shadow::read);
  if (kind != Shadow::atomic) check(Shadow::atomic);

  if (kind != Shadow::write) {
    const std::uint64_t kept = shadow.get(kind, i);
    if (kept >> 24 == now_ || (kept != 0 && unordered(kept >> 24))) return;
  }
  shadow.set(kind, i, now_ << 24 | place);
}

void Races::report(const Shadow& shadow, std::uint64_t i, Shadow::Access earlier,
                   Place earlier_place, Shadow::Access later, Place later_place) {
  struct Side {
    Shadow::Access access;
    Place place;
  };
  Side one{earlier, earlier_place};
  Side two{later, later_place};
  // Places and kinds together fit 52 bits. An element of a loop races many times.
  const std::uint64_t key = std::uint64_t{one.place} << 28 | std::uint64_t{two.place} << 4 |
                            static_cast<unsigned>(one.access) << 2 |
                            static_cast<unsigned>(two.access);
  if (!seen_.insert(key).second) return;

  const auto loc = [&](const Side& side) { return program_.origin[side.place]->loc(); };
  const auto where = [&](const Side& side) {
    return Where{loc(side).file, loc(side).line, loc(side).col, side.access};
  };
  if (where(two) < where(one)) std::swap(one, two);
  if (two.access == Shadow::write && one.access != Shadow::write) std::swap(one, two);
  if (!reported_.insert({where(one), where(two), shadow.name}).second) return;
  if (reported_.size() == 1) first_ = loc(one);
  if (reported_.size() > most_reports) {
    if (reported_.size() == most_reports + 1)
      diagnostics_.note(loc(one), "more pairs of accesses race; they are not shown");
    return;
  }

  const auto verb = [](const Side& side) {
    if (side.access == Shadow::write) return "written";
    return side.access == Shadow::read ? "read" : "updated atomically";
  };
  diagnostics_
      .warning(loc(one), "race",
               "'" + shadow.name + "[" + std::to_string(i) + "]' is " + verb(one) +
                   " here by one thread ..")
      .note(loc(two), std::string(".. and ") + verb(two) + " here by another");
}

}  // namespace revet::interp
