#include "revet/sim/dram_place.hpp"

#include <algorithm>

namespace revet::sim {

DramPlace place_of(const DramMapping& mapping, std::uint64_t address) {
  DramPlace out;
  std::uint32_t* const fields[] = {&out.column,     &out.channel, &out.pseudo_channel,
                                   &out.bank_group, &out.bank,    &out.row};
  unsigned filled[6] = {};
  std::uint64_t rest = address >> 5;
  for (const auto& [field, bits] : mapping.fields) {
    *fields[field] |= static_cast<std::uint32_t>(rest & ((std::uint64_t{1} << bits) - 1))
                      << filled[field];
    filled[field] += bits;
    rest >>= bits;
  }
  return out;
}

DramDecoder::DramDecoder(const DramMapping& mapping) {
  unsigned filled[6] = {};
  unsigned from = 5;
  for (const auto& [field, bits] : mapping.fields) {
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    if (bits != 0) pieces_.push_back({field, from, filled[field], mask});
    filled[field] += bits;
    from += bits;
  }
  const auto end = std::stable_partition(pieces_.begin(), pieces_.end(), [](const Piece& p) {
    return p.field == DramMapping::channel;
  });
  channel_pieces_ = static_cast<unsigned>(end - pieces_.begin());
}

}  // namespace revet::sim
