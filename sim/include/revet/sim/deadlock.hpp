/// Why a run cannot go on (docs, "Never deadlock").
#pragma once

#include <functional>
#include <optional>

#include "revet/sim/node.hpp"

namespace revet::sim {

/// A unit that cannot act, and what it waits for.
struct Wait {
  NodeId node = no_node;
  Stall stall = Stall::none;
  std::string unit;    ///< kind, name and place
  std::string port;    ///< "input 'a0'", "output 'y'" or "pool 'p'"
  std::string waits;   ///< "Ω1", "data", "a token", "room" or "a free pointer"
  std::string from;    ///< the unit at the other end
  std::string holds;   ///< "Ω1 on input 'b0'", ..; empty if nothing
  unsigned depth = 0;  ///< of the stream that it waits on
  Loc loc;
};

/// The smallest buffer whose growth lets the run go on.
struct Release {
  std::uint32_t fifo = 0;
  std::string stream;
  std::string writer, reader;
  std::uint32_t capacity = 0;  ///< tokens, as it is
  std::uint32_t needed = 0;
  Loc loc;
};

struct Deadlock {
  std::uint64_t tokens = 0;  ///< that remain
  std::vector<Wait> chain;   ///< each waits for the next
  bool cycle = false;        ///< and the last for the first
  std::optional<Release> release;
};

/// Runs an instance until no unit can act or `firings` are spent. True if they are spent.
using Continue = std::function<bool(Instance&, std::uint64_t firings)>;

/// Explains an instance in which no unit can act. Buffers are tried by running copies of it.
Deadlock diagnose(const Instance& instance, const Continue& go_on);
std::string render(const Deadlock& deadlock);

}  // namespace revet::sim
