/// How the checker of mapped graphs reads them; see unit_check.cpp. Nothing of it is used by the
/// passes that map, and it uses nothing of theirs but the names of attributes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mapping/unit_check.hpp"
#include "revet/ops.hpp"

namespace revet::mapping::check {

inline constexpr int nowhere = -1;

/// What a part takes a stream for.
enum class Intake {
  plain,
  left,
  right,   ///< sides of a merge; the right one of a loop's header is its back edge
  parent,  ///< what a broadcast repeats, and the bounds of a counter: one element per list
};

/// A node, or what it does with one stream of its bundle.
struct Part {
  const Op* op;
  unsigned index;  ///< of the result, for a node that has a part per result
  int unit = nowhere;
  struct Taken {
    const Value* stream;
    Intake as;
  };
  std::vector<Taken> takes;
  std::vector<const Value*> gives;
};

struct CheckedUnit {
  UnitKind kind = UnitKind::compute;
  std::string name;
  Position place{-1, -1};
  std::vector<std::size_t> parts;  ///< in an order in which each follows what it takes
};

/// The graph, read from its ops and attributes.
struct Model {
  Model(const Op& graph_, std::vector<Fault>& faults);

  const Part& writer(const Value& stream) const { return parts[writers.at(&stream)]; }
  /// Whether two streams have the same threads in the same order.
  unsigned threads_of(const Value& stream) const;
  /// The threads that a part works on.
  unsigned threads_of(const Part& part) const;

  const Op& graph;
  std::vector<CheckedUnit> units;
  std::vector<Part> parts;
  std::map<const Value*, std::size_t> writers;
  std::map<const Value*, std::vector<std::pair<std::size_t, Intake>>> readers;
  std::map<const Op*, std::vector<int>> memories;      ///< units of each flow.sram
  std::map<std::pair<const Op*, unsigned>, int> back;  ///< header, result -> unit on its back edge

 private:
  void read_units(std::vector<Fault>& faults);
  void read_parts(std::vector<Fault>& faults);
  void order_parts();
  void find_threads();
  std::vector<int> numbers(const Op& op, const char* attr, std::vector<Fault>& faults) const;
  bool join(const Value& a, const Value& b);

  std::map<const Value*, const Value*> same_;  ///< union-find; a root is its own parent
};

bool carries_data(const Value& stream);
/// A context of which every result is a constant.
bool only_constants(const Op& op);
bool is_merging(const Op& op);
bool accesses_sram(const Op& op);
bool accesses_dram(const Op& op);
/// Stages of a pipeline that the node takes.
unsigned stages_needed(const Op& op);

/// Registers of the fullest stage of a unit's pipeline, for the best order of its operations that
/// is tried: the one they stand in, and all others if that one holds more than `limit` values.
unsigned registers_needed(const Model& model, const CheckedUnit& unit, unsigned limit);

/// Rule 14 of unit_check.cpp.
void check_placement(const Model& model, const Machine& machine, std::vector<Fault>& faults);

}  // namespace revet::mapping::check
