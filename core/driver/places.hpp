/// What locations and predicates of strategies mean for a module.
#pragma once

#include "../plugin/plugins.hpp"
#include "revet/ir.hpp"
#include "strategy.hpp"

namespace revet {

/// Where a predicate is asked.
struct Question {
  const Module& module;
  const Op* place = nullptr;         ///< null: the whole module
  bool changed = false;              ///< whether the step before changed the module
  const Machine* machine = nullptr;  ///< the pipeline's
};

/// `plugins` knows what the named predicates are; every name was checked before.
bool holds(const Predicate& predicate, const Question& question, Plugins& plugins);
/// True if the op is such a place.
bool matches(const Location& location, const Op& op, const Module& module, Plugins& plugins);

/// "main/foreach#0/while#1": the place of an op in its module, as a location would say it; "" for
/// null.
std::string path_of(const Op* op);
/// The op's name without its dialect.
std::string_view short_name(const Op& op);

/// Why a name in the location or predicate is unknown (op, level, property), or "". Decides whether
/// a plain word is an op or a named predicate.
std::string check_names(Location& location, Plugins& plugins);
std::string check_names(Predicate& predicate, Plugins& plugins);

/// Every op below `place` (null: the module), `place` itself first, parents before children.
std::vector<Op*> ops_from(const Module& module, Op* place);
/// The ops directly inside `place` (null: of the module's top level), in program order.
std::vector<Op*> children_of(const Module& module, const Op* place);
/// The op with that serial, or null.
Op* find_op(const Module& module, std::uint64_t serial);

}  // namespace revet
