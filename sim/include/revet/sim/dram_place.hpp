/// Where an address lies in off-chip memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "revet/machine.hpp"

namespace revet::sim {

using revet::DramMapping;

struct DramPlace {
  std::uint32_t channel = 0;
  std::uint32_t pseudo_channel = 0, bank_group = 0, bank = 0, row = 0, column = 0;

  bool operator==(const DramPlace&) const = default;
};
DramPlace place_of(const DramMapping& mapping, std::uint64_t address);

/// `place_of` with the mapping worked out beforehand.
class DramDecoder {
 public:
  explicit DramDecoder(const DramMapping& mapping);
  DramPlace place(std::uint64_t address) const {
    std::array<std::uint32_t, 6> fields{};
    for (const Piece& p : pieces_) fields[p.field] |= p.of(address);
    return {fields[DramMapping::channel],    fields[DramMapping::pseudo_channel],
            fields[DramMapping::bank_group], fields[DramMapping::bank],
            fields[DramMapping::row],        fields[DramMapping::column]};
  }
  std::uint32_t channel(std::uint64_t address) const {
    std::uint32_t out = 0;
    for (unsigned i = 0; i < channel_pieces_; ++i) out |= pieces_[i].of(address);
    return out;
  }

 private:
  struct Piece {
    DramMapping::Field field;
    unsigned from, to;  ///< the lowest bit in the address, in the field
    std::uint32_t mask;
    std::uint32_t of(std::uint64_t address) const {
      return (static_cast<std::uint32_t>(address >> from) & mask) << to;
    }
  };
  std::vector<Piece> pieces_;  ///< those of the channel first
  unsigned channel_pieces_ = 0;
};

}  // namespace revet::sim
