/// Strategies: the tree that `main` of a pipeline file comes to, with every `$name` put in place.
/// The meaning of each combinator is in docs/pipelines.md; strategy_run.cpp executes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "revet/source.hpp"

namespace revet {

/// A question about a module or a place in it: `has-op OP`, `has-loop`, `level=thread`, `changed`,
/// the name of a property or of a plugin's predicate, or a location; `!` in front negates.
struct Predicate;

/// A place in a module: `OP[ATTR=V]`, `label:NAME` or `main/foreach#0/while#1`.
struct Location {
  struct Step {
    std::string op;
    unsigned index;
  };
  std::string text;                ///< as written
  std::string op;                  ///< with or without its dialect; "" for the other forms
  std::vector<Predicate> filters;  ///< attributes are predicates too
  std::string label;
  std::string function;     ///< of a path
  std::vector<Step> steps;  ///< of a path
};

struct Predicate {
  enum Kind : std::uint8_t { has_op, has_loop, level, changed, attribute, named, location };
  Kind kind = location;
  bool negated = false;
  std::string text = {};   ///< as written
  std::string name = {};   ///< op, level, attribute, property or predicate
  std::string value = {};  ///< of an attribute; "" asks whether it is there
  Location place = {};     ///< of a location
};

/// Both give the error ("expected ..") instead where the text is malformed.
std::pair<Location, std::string> parse_location(const std::string& text);
std::pair<Predicate, std::string> parse_predicate(const std::string& text);

struct Strategy {
  enum Kind : std::uint8_t {
    pass,
    sequence,
    id,
    fail,
    first_of,
    attempt,
    repeat,
    times,
    normalize,
    choose,  ///< if
    negation,
    one,
    all,
    some,
    at,
    check,
    dump,
    note,
  };
  enum Pick : std::uint8_t { outermost, innermost, each, topmost, topmost_some, nth };

  Kind kind = sequence;
  Loc loc;
  std::string path;  ///< "main[2].try": where it stands, for traces and messages
  /// Parts in order. `choose` has then and else (each may be an `id`), and in front of them the
  /// strategy that is its condition if it has no predicate.
  std::vector<Strategy> parts;
  std::size_t entry = 0;               ///< of a pass: its place in Pipeline::entries
  std::optional<Predicate> predicate;  ///< of choose, negation, check
  std::optional<Location> location;    ///< of at
  Pick pick = outermost;               ///< of at
  /// Rounds of times, most rounds of repeat and normalize, place of `at` with pick = N.
  std::int64_t count = 0;
  std::string text;  ///< of dump ("ir" or "dot") and note
  Loc text_loc;      ///< of the predicate or location

  bool contains_entry(std::size_t i) const;
};

/// Most rounds of `repeat` and `normalize` where no `max` is given.
inline constexpr std::int64_t default_max_rounds = 1000;

/// The spelling of a combinator in pipeline files: "first-of", "try", ..; "pass" and "[]" too.
const char* verb_of(Strategy::Kind kind);
const char* pick_name(Strategy::Pick pick);

}  // namespace revet
