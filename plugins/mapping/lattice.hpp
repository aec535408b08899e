/// Slots of units and the switches between them, by number, for the placer and the router.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "mapping/place.hpp"

namespace revet::mapping {

class Lattice {
 public:
  explicit Lattice(const Machine& machine)
      : rows(static_cast<int>(machine.grid.rows)),
        fringe(static_cast<int>(machine.grid.address_columns)),
        width(static_cast<int>(machine.grid.columns) + 2 * fringe) {}

  const int rows;
  const int fringe;  ///< columns of AGs on each side
  const int width;   ///< columns of units, AGs included; columns count from 0 here

  int slots() const { return rows * width; }
  int row_of(int slot) const { return slot / width; }
  int column_of(int slot) const { return slot % width; }
  Position position(int slot) const { return {row_of(slot), column_of(slot) - fringe}; }
  UnitKind kind_at(int row, int column) const {
    if (column < fringe || column >= width - fringe) return UnitKind::address;
    return (row + column - fringe) % 2 == 0 ? UnitKind::compute : UnitKind::memory;
  }

  int switches() const { return (rows + 1) * (width + 1); }
  int switch_at(int row, int column) const { return row * (width + 1) + column; }
  int switch_row(int s) const { return s / (width + 1); }
  int switch_column(int s) const { return s % (width + 1); }
  std::array<int, 4> corners(int slot) const {
    const int first = switch_at(row_of(slot), column_of(slot));
    return {first, first + 1, first + width + 1, first + width + 2};
  }

  /// Links are numbered by the switch that they leave and their direction; some numbers at the
  /// border stand for none.
  int links() const { return switches() * 4; }
  static int link(int from, Direction d) { return from * 4 + static_cast<int>(d); }
  static int link_from(int link) { return link / 4; }
  static Direction link_direction(int link) { return static_cast<Direction>(link % 4); }
  /// The switch at the other end, or -1.
  int link_to(int link) const {
    const int from = link_from(link), row = switch_row(from), column = switch_column(from);
    switch (link_direction(link)) {
      case Direction::north: return row > 0 ? from - width - 1 : -1;
      case Direction::east: return column < width ? from + 1 : -1;
      case Direction::south: return row < rows ? from + width + 1 : -1;
      case Direction::west: return column > 0 ? from - 1 : -1;
    }
    return -1;
  }
  int real_links() const { return 2 * (rows * (width + 1) + (rows + 1) * width); }
  SwitchLink name_of_link(int link) const {
    const int from = link_from(link);
    return {switch_row(from), switch_column(from) - fringe, link_direction(link)};
  }
};

/// The box around the pins of a net.
struct Box {
  int top, bottom, left, right;

  void add(int row, int column) {
    top = std::min(top, row);
    bottom = std::max(bottom, row);
    left = std::min(left, column);
    right = std::max(right, column);
  }
  /// Links that a tree needs at least, from a driver at (row, column): one across each line of
  /// switches that has a sink beyond it. The corners of a unit are two lines, so that neighbours
  /// need none.
  int links(int row, int column) const {
    return std::max(0, row - top - 1) + std::max(0, bottom - row - 1) +
           std::max(0, column - left - 1) + std::max(0, right - column - 1);
  }
  int cells() const { return (bottom - top + 1) * (right - left + 1); }
};

}  // namespace revet::mapping
