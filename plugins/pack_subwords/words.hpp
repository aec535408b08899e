/// Words of packed values: made by arith.insert, read by arith.extract.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "revet/builder.hpp"

namespace revet {

/// Where a value lies in a word.
struct Slot {
  Value* word;
  Type part;
  unsigned lo;
};

/// A value to be put in a word; it has the part's type, or 32 bits of which no more matter.
struct Part {
  Value* value;
  Type part;
  unsigned lo;
};

/// Reads and writes while a module is packed.
class Words {
 public:
  /// The value of a slot, as a value of `type`.
  Value* read(Builder& b, const Slot& slot, Type type, const std::string& name);
  /// Where a value was read from, if by this.
  std::optional<Slot> slot_of(const Value* v) const;
  /// A word that holds the parts; what is in its other bits does not matter.
  Value* pack(Builder& b, const std::vector<Part>& parts, const std::string& name);

  /// Puts each pack on top of the word that most of its parts were read from, at the same places:
  /// what does not change costs nothing, and a word of which nothing changes is passed on. Moves
  /// reads to where they are used, so that between uses only the word is alive.
  void finish(Module& module);
  std::int64_t reads() const { return made_reads_; }
  std::int64_t writes() const { return made_writes_; }

 private:
  void rebuild(Op& last);
  void sink(Block& block);

  std::unordered_map<const Value*, Op*> reads_;  ///< the extract behind each value read
  std::vector<Op*> read_ops_;                    ///< extracts and the casts behind them, in order
  std::vector<Op*> packs_;                       ///< the last insert of each
  std::int64_t made_reads_ = 0, made_writes_ = 0;
};

}  // namespace revet
