#include "revet/sim/fifo.hpp"

namespace revet::sim {

bool Fifo::replaces_last(Token t) {
  const bool behind_its_list = !t.is_data() && size_ != 0 && last_closing_ + 1u == t.level;
  const bool closes = written_.pass(t);
  const bool replaces = behind_its_list && t.level > 1;
  last_closing_ = closes ? t.level : std::uint8_t{0};
  if (replaces) ring_[(head_ + size_ - 1) & mask()] = t;
  return replaces;
}

void Fifo::grow() {
  std::vector<Token> larger(ring_.size() * 2);
  for (std::uint32_t i = 0; i < size_; ++i) larger[i] = ring_[(head_ + i) & mask()];
  ring_ = std::move(larger);
  head_ = 0;
}

std::vector<Token> Fifo::stored() const {
  std::vector<Token> tokens;
  for (std::uint32_t i = 0; i < size_; ++i) tokens.push_back(ring_[(head_ + i) & mask()]);
  return tokens;
}

}  // namespace revet::sim
