/// Finds accesses of unordered threads to one element, of which one writes.
///
/// Two accesses are ordered if the fork-join structure of foreach and fork orders them; atomics
/// order nothing, and two atomics never race. Threads run one at a time and depth-first, so the
/// order needs no labels of its own. Time counts the moments at which a thread starts, forks or
/// opens a memory. What is unordered with the thread that runs now are exactly these spans of the
/// past: for every foreach under way, from its start to the start of the child that runs, and for
/// every fork that this child has passed, from the fork to the start of the branch that runs. The
/// spans are disjoint and nested in order of time: one sorted stack.
///
/// Per element the shadow keeps the last write, one read and one atomic. One read is enough: of two
/// unordered reads the earlier is kept, since whatever is unordered with the later one and comes
/// after it is unordered with the earlier one as well (Feng and Leiserson, "Efficient Detection of
/// Determinacy Races in Cilk Programs", 1997). So every element that is raced for is reported at
/// least once, though not every pair of places that race for it.
///
/// Cost: 8 bytes per element and kind of access, in pages made at the first access, for the arrays
/// that the program may write and the on-chip memories that several threads share.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "program.hpp"
#include "revet/diagnostics.hpp"

namespace revet::interp {

/// An instruction, for reports; below 2^24.
using Place = std::uint32_t;
using Time = std::uint64_t;

/// What is remembered per element of one memory.
struct Shadow {
  enum Access : std::uint8_t { write, read, atomic };
  static constexpr std::uint64_t page_bits = 10;
  using Page = std::array<std::uint64_t, 1u << page_bits>;  ///< time << 24 | place; 0: none

  explicit Shadow(std::string memory_name) : name(std::move(memory_name)) {}

  std::uint64_t get(Access access, std::uint64_t i) const {
    const auto& list = pages[access];
    const std::uint64_t page = i >> page_bits;
    if (page >= list.size() || !list[page]) return 0;
    const std::uint64_t entry = (*list[page])[i & ((1u << page_bits) - 1)];
    return entry >> 24 < since ? 0 : entry;
  }
  void set(Access access, std::uint64_t i, std::uint64_t entry);

  std::string name;
  Time since = 0;  ///< older entries belong to a memory that is gone
  std::array<std::vector<std::unique_ptr<Page>>, 3> pages;
};

class Races {
 public:
  Races(Diagnostics& diagnostics, const Program& program)
      : diagnostics_(diagnostics), program_(program) {}

  /// Where a span stands on the stack.
  struct Mark {
    std::size_t depth = 0;
    Time begin = 0;
  };
  /// A foreach or fork starts; nothing of it has run.
  Mark enter() {
    spans_.push_back({++now_, now_});
    return {spans_.size() - 1, now_};
  }
  /// The next child or branch starts.
  void next(Mark mark) {
    leave(mark);
    spans_.push_back({mark.begin, ++now_});
  }
  void leave(Mark mark) {
    if (spans_.size() > mark.depth) spans_.resize(mark.depth);
  }
  Time tick() { return ++now_; }
  /// All threads forked since then are ordered before what follows: the last one has decremented
  /// the counter that stands for their join.
  void join(Time since) {
    while (!spans_.empty() && spans_.back().begin >= since) spans_.pop_back();
  }

  void read(Shadow& shadow, std::uint64_t i, Place place) {
    access(shadow, i, place, Shadow::read);
  }
  void write(Shadow& shadow, std::uint64_t i, Place place) {
    access(shadow, i, place, Shadow::write);
  }
  void atomic(Shadow& shadow, std::uint64_t i, Place place) {
    access(shadow, i, place, Shadow::atomic);
  }

  /// Pairs of source places, and the first of them.
  std::size_t found() const { return reported_.size(); }
  Loc first() const { return first_; }

 private:
  struct Span {
    Time begin;
    Time end;
  };
  static constexpr std::size_t most_reports = 20;

  bool unordered(Time time) const {
    if (spans_.empty() || time >= spans_.back().end) return false;
    return in_spans(time);
  }
  bool in_spans(Time time) const;
  void access(Shadow& shadow, std::uint64_t i, Place place, Shadow::Access kind);
  void report(const Shadow& shadow, std::uint64_t i, Shadow::Access earlier, Place earlier_place,
              Shadow::Access later, Place later_place);

  Diagnostics& diagnostics_;
  const Program& program_;
  std::vector<Span> spans_;
  Time now_ = 1;
  std::unordered_set<std::uint64_t> seen_;
  using Where = std::tuple<FileId, std::uint32_t, std::uint32_t, int>;
  std::set<std::tuple<Where, Where, std::string>> reported_;
  Loc first_;
};

}  // namespace revet::interp
