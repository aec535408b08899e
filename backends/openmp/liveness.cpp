// Which values are alive at the same time, and which can therefore share a variable. See plan.hpp.
#include <algorithm>
#include <unordered_set>

#include "plan.hpp"

namespace revet::openmp {
namespace {

using namespace ops;

/// Numbers of values, in order of definition.
using Set = std::vector<unsigned>;

bool insert(Set& set, unsigned v) {
  const auto it = std::lower_bound(set.begin(), set.end(), v);
  if (it != set.end() && *it == v) return false;
  set.insert(it, v);
  return true;
}
void remove(Set& set, unsigned v) {
  const auto it = std::lower_bound(set.begin(), set.end(), v);
  if (it != set.end() && *it == v) set.erase(it);
}
void add(Set& set, const Set& more) {
  Set out;
  out.reserve(set.size() + more.size());
  std::set_union(set.begin(), set.end(), more.begin(), more.end(), std::back_inserter(out));
  set = std::move(out);
}

/// Two values that would best be one variable.
struct Affinity {
  const Value* a;
  const Value* b;
  unsigned depth;  ///< of loops: copies there cost most
};

class Liveness {
 public:
  Liveness(const Op& main, const Adapters& adapters, Plan& plan)
      : adapters_(adapters), plan_(plan) {
    number(main.body(), 0, &main);
    affinities(main.body(), 0);
    together_.resize(values_.size());
    Set live;
    block(main.body(), live, {});
    merge();
    make_variables();
  }

 private:
  // --- values ---

  void define(const Value* v) {
    if (!v->type().is_scalar()) return;
    if (v->def() && plan_.is_inlined(*v->def())) return;
    numbers_[v] = static_cast<unsigned>(values_.size());
    values_.push_back(v);
  }

  void number(const Block& block, unsigned depth, const Op* level) {
    depth_[&block] = depth;
    level_[&block] = level;
    for (const auto& arg : block.args()) define(arg.get());
    for (const Op& op : block) {
      order_[&op] = static_cast<unsigned>(order_.size());
      if (!plan_.is_expression_if(op))
        for (const auto& region : op.regions())
          number(region->front(), depth + 1, op.is(thread_foreach) ? &op : level);
      for (const auto& r : op.results()) define(r.get());
    }
  }

  /// Adds the variables that the expression of `v` reads.
  void use(const Value* v, Set& set) const {
    const auto it = numbers_.find(v);
    if (it != numbers_.end()) {
      insert(set, it->second);
      return;
    }
    const Op* def = v->def();
    if (!def || !v->type().is_scalar()) return;
    expression(*def, set);
  }

  /// Adds what the op reads where it is an expression.
  void expression(const Op& op, Set& set) const {
    for (const Value* operand : op.operands()) use(operand, set);
    for (const auto& region : op.regions())
      for (const Value* v : region->front().terminator()->operands()) use(v, set);
  }

  /// What the op and everything in it uses; definitions inside are removed.
  void outer_uses(const Op& op, Set& set) const {
    if (plan_.is_inlined(op)) return;
    if (plan_.is_expression_if(op)) {
      expression(op, set);
      return;
    }
    for (const Value* operand : op.operands()) use(operand, set);
    if (const Value* v = extra_use(op, adapters_)) use(v, set);
    for (const auto& region : op.regions()) region_uses(region->front(), set);
  }

  void region_uses(const Block& block, Set& set) const {
    for (const Op& op : block) outer_uses(op, set);
    for (const Op& op : block)
      for (const auto& r : op.results())
        if (const auto it = numbers_.find(r.get()); it != numbers_.end()) remove(set, it->second);
    for (const auto& arg : block.args())
      if (const auto it = numbers_.find(arg.get()); it != numbers_.end()) remove(set, it->second);
  }

  // --- liveness ---

  void defined(const Value* v, Set& live) {
    const auto it = numbers_.find(v);
    if (it == numbers_.end()) return;
    remove(live, it->second);
    if (v->unused() || candidates_.count(it->second) == 0) return;
    for (const unsigned other : live) {
      if (candidates_.count(other) == 0) continue;
      together_[it->second].insert(other);
      together_[other].insert(it->second);
    }
  }
  /// Several values defined at once.
  void defined_together(const auto& list, Set& live) {
    for (const auto& v : list) {
      const auto it = numbers_.find(v.get());
      if (it == numbers_.end() || v->unused()) continue;
      insert(live, it->second);
    }
    for (const auto& v : list) {
      const auto it = numbers_.find(v.get());
      if (it == numbers_.end() || v->unused()) continue;
      remove(live, it->second);
      Set others = live;
      defined(v.get(), others);
      insert(live, it->second);
    }
    for (const auto& v : list)
      if (const auto it = numbers_.find(v.get()); it != numbers_.end()) remove(live, it->second);
  }

  /// `live` goes from what is alive after the block to what is alive before it. `at_exit` is alive
  /// when a thread of this level ends.
  void block(const Block& block, Set& live, const Set& at_exit) {
    for (const Op* op = block.last(); op; op = op->prev()) step(*op, live, at_exit);
  }

  void step(const Op& op, Set& live, const Set& at_exit) {
    if (plan_.is_inlined(op)) return;
    if (op.is(thread_exit)) {
      live = at_exit;
    } else if (op.is(thread_if) && !plan_.is_expression_if(op)) {
      defined_together(op.results(), live);
      Set other = live;
      block(op.body(0), live, at_exit);
      block(op.body(1), other, at_exit);
      add(live, other);
      use(op.operand(0), live);
    } else if (op.is(thread_while)) {
      loop(op, live, at_exit);
    } else if (op.is(thread_foreach)) {
      foreach (op, live)
        ;
    } else if (plan_.is_expression_if(op)) {
      defined_together(op.results(), live);
      expression(op, live);
    } else {
      if (op.is(thread_fork)) {
        Set after = live;
        remove(after, numbers_.at(op.result()));
        forks_.emplace_back(&op, std::move(after));
      }
      defined_together(op.results(), live);
      yielded(op, live);
    }
  }

  /// Operands; what a terminator passes to an unused result is not used.
  void yielded(const Op& op, Set& live) {
    const Op* parent = op.parent_op();
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      if (op.is(thread_yield) && parent->is(thread_while)) {
        if (parent->body(0).arg(i)->unused()) continue;
      } else if (op.is(thread_yield) && parent->result(i)->unused()) {
        continue;
      } else if (op.is(thread_condition) && i > 0) {
        if (parent->result(i - 1)->unused() && parent->body(1).arg(i - 1)->unused()) continue;
      }
      use(op.operand(i), live);
    }
    if (const Value* v = extra_use(op, adapters_)) use(v, live);
  }

  void loop(const Op& op, Set& live, const Set& at_exit) {
    defined_together(op.results(), live);
    const Set after = live;
    Set through = live;
    Set inside;
    for (const auto& region : op.regions()) region_uses(region->front(), inside);
    add(through, inside);

    live = through;
    block(op.body(1), live, at_exit);
    defined_together(op.body(1).args(), live);
    add(live, through);
    block(op.body(0), live, at_exit);
    defined_together(op.body(0).args(), live);
    for (unsigned i = 0; i < op.num_operands(); ++i)
      if (!op.body(0).arg(i)->unused()) use(op.operand(i), live);
  }

  void foreach (const Op& op, Set & live) {
    // The results are accumulators, which live as long as the loop does; so do its bounds.
    Set through = live;
    for (const auto& r : op.results())
      if (!r->unused()) insert(through, numbers_.at(r.get()));
    Set inside;
    region_uses(op.body(), inside);
    for (const Value* operand : op.operands()) use(operand, inside);
    add(through, inside);

    Set body = through;
    block(op.body(), body, through);
    live = through;
    defined_together(op.results(), live);
    for (const Value* operand : op.operands()) use(operand, live);
  }

  // --- merging ---

  void prefer(const Value* a, const Value* b, unsigned depth) {
    const auto x = numbers_.find(a);
    const auto y = numbers_.find(b);
    if (x == numbers_.end() || y == numbers_.end() || a->unused() || b->unused()) return;
    candidates_.insert(x->second);
    candidates_.insert(y->second);
    affinities_.push_back({a, b, depth});
  }

  void affinities(const Block& block, unsigned depth) {
    for (const Op& op : block) {
      if (plan_.is_expression_if(op)) continue;
      const unsigned inner = depth + (op.is(thread_while) || op.is(thread_foreach) ? 1 : 0);
      for (const auto& region : op.regions()) affinities(region->front(), inner);
      if (op.is(thread_if)) {
        for (unsigned r = 0; r < 2; ++r) {
          const Op* end = op.body(r).terminator();
          if (!end->is(thread_yield)) continue;
          for (unsigned i = 0; i < op.num_results(); ++i)
            prefer(op.result(i), end->operand(i), depth);
        }
      } else if (op.is(thread_while)) {
        const Op* condition = op.body(0).terminator();
        const Op* yield = op.body(1).terminator();
        if (yield->is(thread_yield))
          for (unsigned i = 0; i < op.num_operands(); ++i)
            prefer(op.body(0).arg(i), yield->operand(i), inner);
        if (condition->is(thread_condition))
          for (unsigned i = 0; i < op.num_results(); ++i) {
            prefer(op.body(1).arg(i), condition->operand(i + 1), inner);
            prefer(op.result(i), condition->operand(i + 1), depth);
          }
        for (unsigned i = 0; i < op.num_operands(); ++i)
          prefer(op.body(0).arg(i), op.operand(i), depth);
      }
    }
  }

  unsigned find(unsigned v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }

  void merge() {
    parent_.resize(values_.size());
    std::vector<Set> members(values_.size());
    for (unsigned v = 0; v < values_.size(); ++v) {
      parent_[v] = v;
      members[v] = {v};
    }
    // Within a depth, what the source calls by one name comes first: so a swap stays one.
    const auto other_name = [](const Affinity& a) { return a.a->name() != a.b->name(); };
    std::stable_sort(
        affinities_.begin(), affinities_.end(), [&](const Affinity& a, const Affinity& b) {
          return a.depth != b.depth ? a.depth > b.depth : other_name(a) < other_name(b);
        });
    for (const Affinity& want : affinities_) {
      if (is_index(want.a) || is_index(want.b)) continue;
      unsigned a = find(numbers_.at(want.a));
      unsigned b = find(numbers_.at(want.b));
      if (a == b || level_.at(want.a->block()) != level_.at(want.b->block())) continue;
      if (is_param(want.a) || is_param(want.b)) continue;
      if (members[a].size() < members[b].size()) std::swap(a, b);
      const bool disturb = std::any_of(members[b].begin(), members[b].end(), [&](unsigned v) {
        return std::any_of(members[a].begin(), members[a].end(),
                           [&](unsigned w) { return together_[v].count(w) != 0; });
      });
      if (disturb) continue;
      parent_[b] = a;
      add(members[a], members[b]);
    }
  }

  static bool is_index(const Value* v) {
    return v->is_argument() && v->block()->parent_op()->is(thread_foreach);
  }
  static bool is_param(const Value* v) {
    return v->is_argument() && v->block()->parent_op()->is(thread_func);
  }

  // --- variables ---

  struct Place {
    const Block* block;
    const Op* at;
  };
  /// Where a value gets its contents.
  static Place place_of(const Value* v) {
    if (const Op* def = v->def()) return {def->block(), def};
    const Op* parent = v->block()->parent_op();
    const bool before = parent->is(thread_while) && v->block() == &parent->body(0);
    if (before) return {parent->block(), parent};
    return {v->block(), v->block()->first()};
  }

  void make_variables() {
    std::unordered_map<unsigned, Variable*> made;
    for (unsigned v = 0; v < values_.size(); ++v) {
      Variable*& variable = made[find(v)];
      if (!variable) {
        plan_.owned.push_back(std::make_unique<Variable>());
        variable = plan_.owned.back().get();
        variable->type = values_[v]->type();
        variable->held = c_type(variable->type);
      }
      variable->members.push_back(values_[v]);
      plan_.variables[values_[v]] = variable;
    }
    for (const auto& variable : plan_.owned) finish(*variable);
    for (const auto& [fork, alive] : forks_) {
      std::vector<Variable*>& list = plan_.alive_after[fork];
      for (const unsigned v : alive) {
        Variable* variable = plan_.variables.at(values_[v]);
        if (level_.at(values_[v]->block()) == level_.at(fork->block()) &&
            std::find(list.begin(), list.end(), variable) == list.end())
          list.push_back(variable);
      }
    }
  }

  void finish(Variable& variable) {
    for (const Value* v : variable.members)
      if (variable.hint.empty()) variable.hint = v->name();
    Place place = place_of(variable.members[0]);
    for (const Value* v : variable.members) place = common(place, place_of(v));
    variable.home = place.block;
    variable.at = place.at;
    const Value* only = variable.members[0];
    const Op* def = only->def();
    const bool structured = def && (def->is(thread_while) || def->is(thread_foreach) ||
                                    (def->is(thread_if) && !plan_.is_expression_if(*def)));
    variable.constant = variable.members.size() == 1 && ((def && !structured) || is_body_arg(only));
    if (!variable.constant && place.at && !is_index(only) && !is_param(only)) {
      const bool by_itself = std::any_of(
          variable.members.begin(), variable.members.end(),
          [&](const Value* v) { return v->def() == place.at && place.at->num_regions() == 0; });
      const bool expression = plan_.is_expression_if(*place.at);
      if (!by_itself && !expression && !only->unused())
        plan_.declared_at[place.at].push_back(&variable);
    }
  }

  static bool is_body_arg(const Value* v) {
    const Op* parent = v->is_argument() ? v->block()->parent_op() : nullptr;
    return parent && parent->is(thread_while) && v->block() == &parent->body(1);
  }

  /// The first op, of the innermost block that holds both places, that is at or around one of them.
  Place common(Place a, Place b) const {
    unsigned da = depth_.at(a.block), db = depth_.at(b.block);
    const auto up = [](Place& p) {
      p.at = p.block->parent_op();
      p.block = p.at->block();
    };
    for (; da > db; --da) up(a);
    for (; db > da; --db) up(b);
    while (a.block != b.block) {
      up(a);
      up(b);
    }
    return order_.at(a.at) <= order_.at(b.at) ? a : b;
  }

  const Adapters& adapters_;
  Plan& plan_;
  std::unordered_map<const Value*, unsigned> numbers_;
  std::vector<const Value*> values_;
  std::unordered_map<const Op*, unsigned> order_;
  std::unordered_map<const Block*, unsigned> depth_;
  std::unordered_map<const Block*, const Op*> level_;  ///< whose threads execute the block
  std::vector<Affinity> affinities_;
  std::unordered_set<unsigned> candidates_;
  std::vector<std::unordered_set<unsigned>> together_;
  std::vector<std::pair<const Op*, Set>> forks_;
  std::vector<unsigned> parent_;
};

}  // namespace

void plan_variables(const Op& main, const Adapters& adapters, Plan& plan) {
  Liveness(main, adapters, plan);
}

}  // namespace revet::openmp
