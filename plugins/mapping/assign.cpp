#include "mapping/assign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "mapping/limits.hpp"
#include "revet/builder.hpp"
#include "revet/diagnostics.hpp"

namespace revet::mapping {

using namespace ops;

namespace {

/// A compute unit that is being filled.
struct Draft {
  std::set<Slice> slices;
  unsigned domain = 0;
  bool heads = false;  ///< begins with a merge or a counter
};

class Assigner {
 public:
  Assigner(Op& graph, const Machine& machine)
      : graph_(graph), machine_(machine), domains_(graph), order_(topological(graph)) {
    for (std::size_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
  }

  void run() {
    memories();
    for (Op* op : order_)
      if (is_off_chip(*op)) set({op, 0}, new_unit(UnitKind::address, name_of_op(*op)));
    folds();
    for (Op* op : order_) {
      if (op->is(flow_source) || op->is(flow_sink) || op->is(flow_sram) || is_on_chip(*op) ||
          is_off_chip(*op) || op->is(flow_buffer))
        continue;
      if (op->is(flow_void_join) || is_constant(*op) || assigned({op, 0})) continue;
      if (is_bundle_node(*op))
        bundle(*op);
      else
        pack({op, 0});
    }
    join();
    riders();
    drop_gone();
    write();
  }

 private:
  // --- units

  static std::string name_of_op(const Op& op) {
    for (const auto& r : op.results())
      if (!r->name().empty()) return r->name();
    return op.name().substr(5);
  }

  std::uint32_t new_unit(UnitKind kind, const std::string& name) {
    units_.push_back({kind, "", name, {-1, -1}});
    drafts_.emplace_back();
    return static_cast<std::uint32_t>(units_.size() - 1);
  }
  bool assigned(const Slice& s) const { return unit_.count(s) != 0; }
  void set(const Slice& s, std::uint32_t unit) { unit_[s] = unit; }

  // --- memories

  /// Every SRAM has units of its own: as many as its buffers fill, and as its accesses need
  /// contexts and inputs. The queue of its pointers is in the first.
  void memories() {
    const auto& m = machine_.memory;
    for (Op& op : graph_.body()) {
      if (!op.is(flow_sram)) continue;
      Value* sram = op.result();
      std::vector<Op*> accesses;
      for (const Use& use : sram->uses())
        if (!use.op->is(flow_sram)) accesses.push_back(use.op);
      if (accesses.empty()) continue;
      // Buffers are spread over the first `banks`; the others give contexts.
      const std::uint64_t room = std::max(1u, m.bytes);
      const auto banks = std::max(1u, static_cast<unsigned>((buffer_bytes(op) + room - 1) / room));
      std::vector<std::uint32_t> mine;
      for (unsigned i = 0; i < banks; ++i)
        mine.push_back(new_unit(UnitKind::memory, memory_name(sram)));
      Ports ports(machine_);
      for (Op* access : accesses) {
        std::size_t i = 0;
        while (i < mine.size() && !ports.add(*access, mine[i])) ++i;
        if (i == mine.size()) {
          mine.push_back(new_unit(UnitKind::memory, memory_name(sram)));
          if (!ports.add(*access, mine[i]))
            throw Error(Exit::unfinished, access->loc(),
                        fmt::format("{} takes more than a memory unit of machine '{}' has inputs",
                                    access->name(), machine_.name));
        }
        if (is_off_chip(*access))
          access->set_attr("memory", mine[i]);
        else
          set({access, 0}, mine[i]);
      }
      Attr::Array numbers(mine.begin(), mine.end());
      op.set_attr("unit", std::move(numbers));
      op.set_attr("banks", banks);
    }
    // Buffers of scalars share the width of a memory unit. In front of copies, which a vector in
    // turn goes to, vectors take turns at its ports.
    std::map<std::pair<unsigned, bool>, std::pair<std::uint32_t, unsigned>> open;
    std::map<unsigned, std::uint32_t> of_domain;  // the first
    for (Op* op : order_) {
      if (!op->is(flow_buffer)) continue;
      const Value& v = *op->operand(0);
      if (is_void(v)) continue;
      const bool scalar = link_kind(v) == LinkKind::scalar;
      const bool shares = scalar || op->str_attr("role") == "distribution";
      const unsigned most = !shares ? 1 : scalar ? m.scalar_outputs : m.contexts;
      auto& [unit, used] = open[{scalar ? domains_.of(v) : 0, scalar}];
      if (used == 0 || used >= most) {
        unit = new_unit(UnitKind::memory, name_of_op(*op));
        used = 0;
      }
      used = shares ? used + 1 : most;
      set({op, 0}, unit);
      of_domain.emplace(domains_.of(v), unit);
    }
    // Voids are counted beside the data of their threads.
    for (Op* op : order_) {
      if (!op->is(flow_buffer) || assigned({op, 0})) continue;
      auto [at, first] = of_domain.emplace(domains_.of(*op->operand(0)), no_unit);
      if (first) at->second = new_unit(UnitKind::memory, name_of_op(*op));
      set({op, 0}, at->second);
    }
  }

  // --- what MUs and AGs do besides (section VI-A: "we only map address generation contexts where
  // all inputs are scalar and output-accumulation contexts where the only operation is a void
  // reduction")

  void folds() {
    for (auto op = order_.rbegin(); op != order_.rend(); ++op) {
      if ((*op)->is(flow_context) && !is_constant(**op)) fold_address(**op);
      if ((*op)->is(flow_reduce) && (*op)->str_attr("op") == "void") {
        const Slice from = writer(*(*op)->operand(0));
        if (assigned(from) && units_[unit_.at(from)].kind != UnitKind::compute)
          set({*op, 0}, unit_.at(from));
      }
    }
  }

  /// Scalars that a unit takes with what it has and one more context.
  unsigned inputs_with(const Op& op, std::uint32_t unit) const {
    std::set<const Value*> taken;
    const auto add = [&](const Op& node) {
      for (const Value* v : node.operands())
        if (is_stream(*v) && link_kind(*v) == LinkKind::scalar && v->def() != &op) taken.insert(v);
    };
    add(op);
    for (const auto& [s, u] : unit_)
      if (u == unit) add(*s.op);
    return static_cast<unsigned>(std::count_if(taken.begin(), taken.end(), [&](const Value* v) {
      const Slice from = writer(*v);
      return !is_constant(*v->def()) && (!assigned(from) || unit_.at(from) != unit);
    }));
  }

  void fold_address(Op& op) {
    for (const Value* v : op.operands())
      if (link_kind(*v) == LinkKind::vector) return;
    std::uint32_t unit = no_unit;
    for (const auto& r : op.results())
      for (const Use& use : r->uses()) {
        const Slice s{use.op, 0};
        if (is_bundle_node(*use.op) || !assigned(s)) return;
        if (unit != no_unit && unit_.at(s) != unit) return;
        unit = unit_.at(s);
      }
    if (unit == no_unit || units_[unit].kind == UnitKind::compute) return;
    unsigned& used = folded_stages_[unit];
    const bool memory = units_[unit].kind == UnitKind::memory;
    const unsigned stages = memory ? machine_.memory.stages : machine_.address.stages;
    const unsigned inputs = memory ? machine_.memory.scalar_inputs : machine_.address.scalar_inputs;
    if (used + stages_of(op) > stages || inputs_with(op, unit) > inputs) return;
    used += stages_of(op);
    set({&op, 0}, unit);
  }

  // --- compute units

  /// The slices of a bundle: those that carry data are packed, voids ride with the first.
  void bundle(Op& op) {
    std::vector<Slice> data, voids;
    for (const Slice& s : slices_of(op)) (is_void(*op.result(s.index)) ? voids : data).push_back(s);
    if (data.empty()) {
      data.push_back(voids.front());
      voids.erase(voids.begin());
    }
    // Those with vectors on both sides first: they are the hardest to place.
    if (is_merge(op))
      std::stable_sort(data.begin(), data.end(),
                       [](const Slice& a, const Slice& b) { return vectors(a) > vectors(b); });
    for (const Slice& s : data) pack(s);
    // A void that comes of what the unit gives would make the unit wait for itself.
    for (const Slice& s : voids) {
      const std::uint32_t first = unit_.at(data.front());
      if (is_merge(op)) {
        drafts_[first].slices.insert(s);
        set(s, first);
      } else if (!try_add(s, first)) {
        pack(s);
      }
    }
  }

  static unsigned vectors(const Slice& s) {
    unsigned n = 0;
    for (const Value* v : reads(s)) n += link_kind(*v) == LinkKind::vector;
    return n;
  }

  static bool is_head(const Op& op) { return is_merge(op) || op.is(flow_counter); }

  void pack(const Slice& s) {
    if (follows_filter(s)) return;
    for (const std::uint32_t u : candidates(s))
      if (try_add(s, u)) return;
    const std::uint32_t u = new_unit(UnitKind::compute, name_of_op(*s.op));
    drafts_[u].domain = domains_.working(s);
    if (!try_add(s, u)) {
      throw Error(Exit::unfinished, s.op->loc(),
                  fmt::format("{} does not fit a compute unit of machine '{}': {}", s.op->name(),
                              machine_.name, excess(cost_of({s}), machine_)));
    }
    in_domain_[drafts_[u].domain].push_back(u);
  }

  /// A strip or flatten behind a filter is where that filter is: it only renames barriers.
  bool follows_filter(const Slice& s) {
    if (!s.op->is(flow_strip) && !s.op->is(flow_flatten)) return false;
    const Slice from = writer(*s.op->operand(s.index));
    if (!assigned(from) || units_[unit_.at(from)].kind != UnitKind::compute) return false;
    const Op& op = *from.op;
    if (!op.is(flow_filter) && !op.is(flow_broadcast) && !op.is(flow_counter) &&
        !op.is(flow_strip) && !op.is(flow_flatten))
      return false;
    // Where a port is left: it may carry it out as another kind of link.
    const std::uint32_t u = unit_.at(from);
    std::set<Slice> slices = drafts_[u].slices;
    slices.insert(s);
    if (!fits(cost_of(slices), machine_)) return false;
    drafts_[u].slices = std::move(slices);
    set(s, u);
    return true;
  }

  std::vector<std::uint32_t> candidates(const Slice& s) const {
    std::vector<std::uint32_t> out;
    const auto add = [&](std::uint32_t u) {
      if (units_[u].kind == UnitKind::compute && std::find(out.begin(), out.end(), u) == out.end())
        out.push_back(u);
    };
    // Where the other half of a filter is, then where what it reads comes from or goes, ..
    if (s.op->is(flow_filter))
      for (const Use& use : s.op->operand(1 + s.index)->uses())
        if (use.op->is(flow_filter) && use.op->operand(0) == s.op->operand(0))
          for (const Slice& other : readers(use))
            if (assigned(other)) add(unit_.at(other));
    for (const Value* v : reads(s)) {
      if (const Slice from = writer(*v); assigned(from)) add(unit_.at(from));
      for (const Use& use : v->uses())
        for (const Slice& other : readers(use))
          if (assigned(other)) add(unit_.at(other));
    }
    // .. then anywhere in the domain.
    if (const auto at = in_domain_.find(domains_.working(s)); at != in_domain_.end())
      for (const std::uint32_t u : at->second) add(u);
    return out;
  }

  bool try_add(const Slice& s, std::uint32_t u) {
    return drafts_[u].domain == domains_.working(s) && try_add({s}, is_head(*s.op), u);
  }

  bool try_add(const std::set<Slice>& more, bool heads, std::uint32_t u) {
    Draft& d = drafts_[u];
    std::set<Slice> slices = d.slices;
    slices.insert(more.begin(), more.end());
    heads |= d.heads;
    if (!d.slices.empty()) {
      if (role_mark(*more.begin()->op) != role_mark(*d.slices.begin()->op)) return false;
      const Boundary b = boundary_of(slices);
      // Lanes that a merge or counter makes are there before anything that comes of them.
      if (heads)
        for (const Value* v : b.inputs)
          if (domains_.of(*v) == d.domain && !is_merge_input(*v, slices)) return false;
      if (depends_on_itself(slices, b)) return false;
    }
    if (!fits(cost_of(slices), machine_)) return false;
    d.slices = std::move(slices);
    d.heads = heads;
    for (const Slice& s : more) set(s, u);
    return true;
  }

  /// Units that fit into one, though what they hold would not if it came one by one: both arms of a
  /// branch take a port less than one of them and what goes to the other.
  void join() {
    for (auto& [domain, units] : in_domain_)
      for (std::size_t i = 0; i < units.size(); ++i)
        for (std::size_t k = i + 1; k < units.size();) {
          const Draft& other = drafts_[units[k]];
          if (try_add(other.slices, other.heads, units[i])) {
            gone_.insert(units[k]);
            units.erase(units.begin() + static_cast<std::ptrdiff_t>(k));
            k = i + 1;
          } else {
            ++k;
          }
        }
  }

  static bool is_merge_input(const Value& v, const std::set<Slice>& slices) {
    return std::all_of(v.uses().begin(), v.uses().end(), [&](const Use& use) {
      for (const Slice& s : readers(use))
        if (slices.count(s) != 0 && !is_merge(*use.op)) return false;
      return true;
    });
  }

  /// Nodes of a copy or of work distribution stay apart from others, for the report.
  static std::string role_mark(const Op& op) {
    const Attr* copy = op.attr("copy");
    return op.str_attr("role") + (copy ? copy->str() : "");
  }

  /// Whether an input comes, through other units, of an output.
  bool depends_on_itself(const std::set<Slice>& slices, const Boundary& b) const {
    std::size_t first = order_.size();
    for (const Slice& s : slices) first = std::min(first, place_.at(s.op));
    std::vector<const Op*> work;
    std::set<const Op*> seen;
    const auto visit = [&](const Value* v) {
      const Op* op = v->def();
      if (place_.at(op) >= first && seen.insert(op).second) work.push_back(op);
    };
    for (const Value* v : b.inputs)
      if (!is_merge_input(*v, slices)) visit(v);
    while (!work.empty()) {
      const Op* op = work.back();
      work.pop_back();
      for (Slice s : slices_of(*const_cast<Op*>(op)))
        if (slices.count(s) != 0) return true;
      for (unsigned i = 0; i < forward_operands(*op); ++i)
        if (is_stream(*op->operand(i))) visit(op->operand(i));
    }
    return false;
  }

  /// Units count on without those that are gone, all of which come behind those of memories.
  void drop_gone() {
    std::vector<std::uint32_t> number(units_.size());
    std::vector<Unit> left;
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      number[u] = static_cast<std::uint32_t>(left.size());
      if (gone_.count(u) == 0) left.push_back(units_[u]);
    }
    for (auto& [s, u] : unit_) u = number[u];
    units_ = std::move(left);
  }

  // --- what is free: joins of voids, and constants, go with those that use them

  void riders() {
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      Op& op = **at;
      if ((!op.is(flow_void_join) && !is_constant(op)) || assigned({&op, 0})) continue;
      std::uint32_t unit = no_unit;
      bool several = false;
      for (const auto& r : op.results())
        for (const Use& use : r->uses())
          for (const Slice& s : readers(use)) {
            if (!assigned(s)) continue;
            several |= unit != no_unit && unit != unit_.at(s);
            unit = unit_.at(s);
          }
      // One of several must not hold up the others; before a sink there is none. Then it is where
      // it comes from.
      if (several) unit = no_unit;
      if (unit == no_unit)
        for (const Value* v : op.operands())
          if (const Slice from = writer(*v); unit == no_unit && assigned(from))
            unit = unit_.at(from);
      if (unit == no_unit) unit = new_unit(UnitKind::compute, name_of_op(op));
      set({&op, 0}, unit);
    }
  }

  // --- the result

  std::string role_of(const Slice& s) const {
    if (const std::string& role = s.op->str_attr("role"); !role.empty()) return role;
    const Value* sram = sram_of(*s.op);
    if (sram && is_on_chip(*s.op) && memory_name(sram) == "around") return "live values";
    const std::vector<Value*> out = writes(s);
    const std::vector<Value*> in = reads(s);
    const Value* v = in.empty() ? (out.empty() ? nullptr : out[0]) : in[0];
    if (is_merge(*s.op)) v = out[0];
    return v && domains_.loops(*v) != 0 ? "inner" : "outer";
  }

  void write() {
    std::vector<unsigned> inner(units_.size(), 0), all(units_.size(), 0);
    for (const auto& [s, u] : unit_) {
      const std::string role = role_of(s);
      if (role == "inner") {
        ++inner[u];
      } else if (units_[u].role.empty() || role != "outer") {
        units_[u].role = role;
      }
      ++all[u];
    }
    for (std::size_t u = 0; u < units_.size(); ++u)
      if (inner[u] * 2 >= std::max(1u, all[u]) || units_[u].role.empty())
        if (inner[u] != 0 || units_[u].role.empty())
          units_[u].role = inner[u] != 0 ? "inner" : "outer";
    // Slices are not to be compared any more once nodes are divided.
    std::vector<std::pair<Op*, std::vector<std::uint32_t>>> numbers;
    for (Op* op : order_) {
      if (op->is(flow_source) || op->is(flow_sink) || op->is(flow_sram)) continue;
      numbers.emplace_back(op, std::vector<std::uint32_t>());
      for (const Slice& s : slices_of(*op)) numbers.back().second.push_back(unit_.at(s));
    }
    for (const auto& [op, units] : numbers) {
      if (is_bundle_node(*op) && !is_merge(*op))
        divide(*op, units);
      else
        op->set_attr("unit", Attr::Array(units.begin(), units.end()));
    }
    set_units(graph_, units_);
  }

  /// Only merges decide for all their streams at once. Any other node of a bundle becomes one for
  /// each unit, which need not wait for each other.
  static void divide(Op& op, const std::vector<std::uint32_t>& units) {
    std::vector<std::pair<std::uint32_t, std::vector<unsigned>>> parts;
    for (unsigned i = 0; i < units.size(); ++i) {
      auto at = std::find_if(parts.begin(), parts.end(),
                             [&](const auto& p) { return p.first == units[i]; });
      if (at == parts.end()) at = parts.insert(at, {units[i], {}});
      at->second.push_back(i);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [unit, indices] = parts[i];
      Op* part = &op;
      if (parts.size() != 1) {
        std::vector<Value*> operands;
        std::vector<Type> types;
        if (op.is(flow_filter)) operands.push_back(op.operand(0));
        for (const unsigned r : indices) {
          operands.push_back(op.operand(r + (op.is(flow_filter) ? 1 : 0)));
          types.push_back(op.result(r)->type());
        }
        if (op.is(flow_broadcast)) operands.push_back(op.operand(op.num_operands() - 1));
        Builder b = Builder::before(op);
        part = b.create(op.info(), std::span<Value* const>(operands), std::span<const Type>(types),
                        op.attrs());
        for (std::size_t k = 0; k < indices.size(); ++k) {
          part->result(static_cast<unsigned>(k))->set_name(op.result(indices[k])->name());
          op.result(indices[k])->replace_all_uses_with(part->result(static_cast<unsigned>(k)));
        }
      }
      part->set_attr("unit", Attr::Array(indices.size(), Attr(unit)));
    }
    if (parts.size() != 1) op.erase();
  }

  Op& graph_;
  const Machine& machine_;
  const Domains domains_;
  const std::vector<Op*> order_;
  std::unordered_map<const Op*, std::size_t> place_;
  std::vector<Unit> units_;
  std::vector<Draft> drafts_;
  std::map<Slice, std::uint32_t> unit_;
  std::map<unsigned, std::vector<std::uint32_t>> in_domain_;
  std::map<std::uint32_t, unsigned> folded_stages_;
  std::set<std::uint32_t> gone_;  ///< units that were joined with others
};

}  // namespace

bool assign_units(Op& graph, const Machine& machine) {
  Assigner(graph, machine).run();
  return true;
}

}  // namespace revet::mapping
