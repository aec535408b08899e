// Rules, each recomputed from the graph and the machine alone:
//   1. Every part of every node has a unit of the graph's; sources, sinks and memories that nothing
//      uses have none.
//   2. The kind of the unit fits: accesses to an SRAM are on one of its MUs and buffers on MUs, an
//      access to DRAM has an AG of its own, all else is on CUs. Joins of voids and constants are
//      anywhere; on an MU or AG there may also be contexts that take no vectors and whose results
//      go nowhere else, and void reductions of what the unit gives (Section VI-A).
//   3. The stages of a unit suffice for all its operations in turn.
//   4. No stage of a CU holds more values than it has registers (check_registers.cpp).
//   5. A unit takes no more vectors and scalars than it has buffers. Each side of each merge is
//   one,
//      even where the unit gives it itself; void tokens need none, nor do constants but at merges.
//   6. It gives no more vectors and scalars than it has ports.
//   7. It has a counter for each of its counters.
//   8. Merges are heads: nothing that the unit computes enters one, but by the back edge of a loop.
//   9. Filters and reductions are tails: behind them the unit only takes off levels and joins
//   voids.
//  10. No CU waits for itself: from its streams no way leads back into it but into a merge.
//  11. All of a CU works on the same threads; if it begins with a merge or counter, it takes no
//  data
//      of those threads from another unit.
//  12. An MU has one SRAM, or buffers of vectors, each a context, or buffers of scalars, or a back
//      edge. Its bytes and contexts suffice.
//  13. If one stream of data on a back edge has an MU, every one of the graph has.
//  14. (check_routed) Where units are placed: each stream has a route to the units that read it,
//  and places and
//      routes keep the rules of route_check.cpp (see check_placement.cpp).
#include "mapping/unit_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mapping/check_model.hpp"

namespace revet::mapping {

using namespace ops;
using namespace check;

namespace {

bool is_scalar(const Value& v) { return v.type().scalar_link; }

class Checker {
 public:
  Checker(const Op& graph, const Machine& machine) : machine_(machine), m_(graph, faults_) {}

  std::vector<Fault> run() {
    // Where parts have no units the other rules have nothing to say.
    if (!faults_.empty()) return std::move(faults_);
    for (const auto& [sram, units] : m_.memories)
      if (units.empty() && used(*sram))
        fault(*sram, "1: '{}' has no memory units", memory_name(sram->result()));
    if (!faults_.empty()) return std::move(faults_);
    for (std::size_t i = 0; i < m_.parts.size(); ++i)
      if (m_.parts[i].unit != nowhere) check_kind(i);
    if (!faults_.empty()) return std::move(faults_);
    for (std::size_t u = 0; u < m_.units.size(); ++u) {
      const CheckedUnit& unit = m_.units[u];
      check_stages(unit);
      check_ports(unit, static_cast<int>(u));
      if (unit.kind == UnitKind::compute) {
        check_registers(unit);
        check_heads_and_tails(unit, static_cast<int>(u));
        check_self(unit, static_cast<int>(u));
        check_threads(unit, static_cast<int>(u));
      }
    }
    check_memories();
    check_back_edges();
    return std::move(faults_);
  }

 private:
  template <typename... Args>
  void fault(const Op& op, fmt::format_string<Args...> format, Args&&... args) {
    faults_.push_back({fmt::format(format, std::forward<Args>(args)...), &op});
  }
  template <typename... Args>
  void unit_fault(const CheckedUnit& u, fmt::format_string<Args...> format, Args&&... args) {
    fault(u.parts.empty() ? m_.graph : *m_.parts[u.parts[0]].op, format,
          std::forward<Args>(args)...);
  }

  const CheckedUnit& unit_of_part(const Part& p) const {
    return m_.units[static_cast<std::size_t>(p.unit)];
  }
  static bool used(const Op& sram) {
    const auto uses = sram.result()->uses();
    return std::any_of(uses.begin(), uses.end(),
                       [](const Use& use) { return !use.op->is(flow_sram); });
  }
  const std::vector<std::pair<std::size_t, Intake>>& readers(const Value& v) const {
    static const std::vector<std::pair<std::size_t, Intake>> none;
    const auto at = m_.readers.find(&v);
    return at == m_.readers.end() ? none : at->second;
  }
  static bool is_transfer(const Op& op) { return op.is(flow_bulk_load) || op.is(flow_bulk_store); }
  /// The memory unit that a transfer fills or empties.
  static int memory_end(const Op& op) { return static_cast<int>(op.int_attr("memory", nowhere)); }
  static const Op* memory_of(const Op& op) {
    for (const Value* v : op.operands())
      if (v->type().kind == Kind::sram) return v->def();
    return nullptr;
  }

  // --- 2

  void check_kind(std::size_t i) {
    const Part& p = m_.parts[i];
    const Op& op = *p.op;
    const CheckedUnit& u = unit_of_part(p);
    const auto wrong = [&] {
      fault(op, "2: {} is on '{}', one of the {}", op.name(), u.name, plural_of(u.kind));
    };
    if (op.is(flow_void_join) || only_constants(op)) return;
    if (accesses_sram(op)) {
      const std::vector<int>& of = m_.memories.at(memory_of(op));
      if (u.kind != UnitKind::memory || std::find(of.begin(), of.end(), p.unit) == of.end())
        fault(op, "2: {} is on '{}', which is no memory unit of '{}'", op.name(), u.name,
              memory_name(memory_of(op)->result()));
    } else if (op.is(flow_buffer)) {
      if (u.kind != UnitKind::memory) wrong();
    } else if (accesses_dram(op)) {
      if (u.kind != UnitKind::address) return wrong();
      if (is_transfer(op)) {
        const std::vector<int>& of = m_.memories.at(memory_of(op));
        if (std::find(of.begin(), of.end(), memory_end(op)) == of.end())
          fault(op, "2: {} ends at no memory unit of '{}'", op.name(),
                memory_name(memory_of(op)->result()));
      }
      for (const std::size_t other : u.parts)
        if (other < i && accesses_dram(*m_.parts[other].op))
          fault(op, "2: {} and {} share '{}'", m_.parts[other].op->name(), op.name(), u.name);
    } else if (u.kind != UnitKind::compute) {
      const bool address = op.is(flow_context) && all_scalar(p) && stays(p);
      const bool sum = op.is(flow_reduce) && op.str_attr("op") == "void" &&
                       m_.writer(*p.takes[0].stream).unit == p.unit;
      if (!address && !sum) wrong();
    }
  }

  static bool all_scalar(const Part& p) {
    return std::all_of(p.takes.begin(), p.takes.end(), [](const Part::Taken& t) {
      return !carries_data(*t.stream) || is_scalar(*t.stream);
    });
  }

  bool stays(const Part& p) const {
    for (const Value* v : p.gives)
      for (const auto& [reader, as] : readers(*v))
        if (m_.parts[reader].unit != p.unit) return false;
    return true;
  }

  // --- 3 to 7

  void check_stages(const CheckedUnit& u) {
    unsigned stages = 0;
    for (const std::size_t i : u.parts) stages += stages_needed(*m_.parts[i].op);
    const unsigned limit = u.kind == UnitKind::compute  ? machine_.compute.stages
                           : u.kind == UnitKind::memory ? machine_.memory.stages
                                                        : machine_.address.stages;
    if (stages > limit)
      unit_fault(u, "3: '{}' needs {} stages, there are {}", u.name, stages, limit);
  }

  void check_registers(const CheckedUnit& u) {
    const unsigned n = registers_needed(m_, u, machine_.compute.registers);
    if (n > machine_.compute.registers)
      unit_fault(u, "4: '{}' needs {} registers in a stage, there are {}", u.name, n,
                 machine_.compute.registers);
  }

  void check_ports(const CheckedUnit& u, int number) {
    std::set<std::pair<const Value*, Intake>> inputs;
    std::set<const Value*> outputs;
    unsigned counters = 0;
    for (const std::size_t i : u.parts) {
      const Part& p = m_.parts[i];
      counters += p.op->is(flow_counter);
      for (const Part::Taken& t : p.takes) {
        if (!carries_data(*t.stream)) continue;
        const bool side = t.as == Intake::left || t.as == Intake::right;
        // One stream that is taken as it is and per list is one buffer that is read twice.
        if (side || m_.writer(*t.stream).unit != number)
          inputs.insert({t.stream, side ? t.as : Intake::plain});
      }
      for (const Value* v : p.gives)
        if (carries_data(*v) && !only_constants(*p.op) && leaves(*v, number)) outputs.insert(v);
    }
    unsigned vectors_in = 0, scalars_in = 0, vectors_out = 0, scalars_out = 0;
    for (const Part& p : m_.parts)
      if (is_transfer(*p.op) && memory_end(*p.op) == number)
        ++(p.op->is(flow_bulk_load) ? vectors_in : vectors_out);
    for (const auto& [v, as] : inputs) ++(is_scalar(*v) ? scalars_in : vectors_in);
    for (const Value* v : outputs) ++(is_scalar(*v) ? scalars_out : vectors_out);
    const auto compare = [&](int rule, unsigned n, unsigned limit, const char* what) {
      if (n > limit)
        unit_fault(u, "{}: '{}' (unit {}) needs {} {}, there are {}", rule, u.name, number, n, what,
                   limit);
    };
    const Machine& m = machine_;
    switch (u.kind) {
      case UnitKind::compute:
        compare(5, vectors_in, m.compute.vector_inputs, "vector inputs");
        compare(5, scalars_in, m.compute.scalar_inputs, "scalar inputs");
        compare(6, vectors_out, m.compute.vector_outputs, "vector outputs");
        compare(6, scalars_out, m.compute.scalar_outputs, "scalar outputs");
        compare(7, counters, m.compute.counters, "counters");
        break;
      case UnitKind::memory:
        compare(5, vectors_in, m.memory.vector_inputs, "vector inputs");
        compare(5, scalars_in, m.memory.scalar_inputs, "scalar inputs");
        compare(6, vectors_out, m.memory.vector_outputs, "vector outputs");
        compare(6, scalars_out, m.memory.scalar_outputs, "scalar outputs");
        break;
      case UnitKind::address:
        compare(5, vectors_in, m.address.vector_inputs, "vector inputs");
        compare(5, scalars_in, m.address.scalar_inputs, "scalar inputs");
        break;
    }
  }

  bool leaves(const Value& v, int unit) const {
    const auto& list = readers(v);
    return std::any_of(list.begin(), list.end(), [&](const auto& reader) {
      const Part& p = m_.parts[reader.first];
      return p.unit != unit || is_merging(*p.op);
    });
  }

  // --- 8, 9

  void check_heads_and_tails(const CheckedUnit& u, int number) {
    for (const std::size_t i : u.parts) {
      const Part& p = m_.parts[i];
      for (const Part::Taken& t : p.takes) {
        const Part& from = m_.writer(*t.stream);
        if (from.unit != number || !carries_data(*t.stream)) continue;
        const bool back = t.as == Intake::right && p.op->is(flow_fb_merge);
        if (is_merging(*p.op) && !back && !only_constants(*from.op))
          fault(*p.op, "8: '{}' computes '{}', which enters a merge of its own", u.name,
                t.stream->name());
        const bool tail = from.op->is(flow_filter) || from.op->is(flow_reduce);
        const bool lowers = p.op->is(flow_strip) || p.op->is(flow_flatten) || is_merging(*p.op) ||
                            p.op->is(flow_void_join);
        if (tail && !lowers)
          fault(*p.op, "9: in '{}' {} is behind {}", u.name, p.op->name(), from.op->name());
      }
    }
  }

  // --- 10

  void check_self(const CheckedUnit& u, int number) {
    std::vector<std::size_t> work;
    std::set<std::size_t> seen;
    // What other units take.
    const auto follow = [&](const Part& p, bool within) {
      for (const Value* v : p.gives)
        for (const auto& [reader, as] : readers(*v)) {
          const Part& r = m_.parts[reader];
          if (as == Intake::right && r.op->is(flow_fb_merge)) continue;
          if (r.unit == number && (within || is_merging(*r.op))) continue;
          // A join of voids and a constant are where they are needed, and wait for nothing else.
          if (r.unit == number && (r.op->is(flow_void_join) || only_constants(*r.op))) {
            if (seen.insert(reader).second) work.push_back(reader);
            continue;
          }
          if (r.unit == number) {
            fault(*r.op, "10: '{}' waits for itself: it takes '{}'", u.name, v->name());
            return;
          }
          if (seen.insert(reader).second) work.push_back(reader);
        }
    };
    for (const std::size_t i : u.parts)
      if (!m_.parts[i].op->is(flow_void_join) && !only_constants(*m_.parts[i].op))
        follow(m_.parts[i], true);
    while (!work.empty()) {
      const std::size_t i = work.back();
      work.pop_back();
      follow(m_.parts[i], false);
    }
  }

  // --- 11

  void check_threads(const CheckedUnit& u, int number) {
    const Part* first = nullptr;
    bool heads = false;
    for (const std::size_t i : u.parts) {
      const Part& p = m_.parts[i];
      if (p.op->is(flow_void_join) || only_constants(*p.op)) continue;
      // What takes off a level or a void of a node stands where the node does.
      if (p.op->is(flow_strip) || p.op->is(flow_flatten)) {
        if (m_.writer(*p.takes[0].stream).unit == number) continue;
      }
      heads = heads || is_merging(*p.op) || p.op->is(flow_counter);
      if (!first)
        first = &p;
      else if (m_.threads_of(*first) != m_.threads_of(p))
        fault(*p.op, "11: in '{}' {} and {} work on different threads", u.name, first->op->name(),
              p.op->name());
    }
    if (!heads || !first) return;
    const unsigned threads = m_.threads_of(*first);
    for (const std::size_t i : u.parts) {
      const Part& p = m_.parts[i];
      if (is_merging(*p.op) || p.op->is(flow_void_join) || only_constants(*p.op)) continue;
      for (const Part::Taken& t : p.takes)
        if (carries_data(*t.stream) && m_.writer(*t.stream).unit != number &&
            m_.threads_of(*t.stream) == threads)
          fault(*p.op, "11: '{}' begins with a merge or counter and takes '{}' of the same threads",
                u.name, t.stream->name());
    }
  }

  // --- 12, 13

  struct Held {
    const Op* sram = nullptr;
    unsigned accesses = 0, vectors = 0, scalars = 0, back_edges = 0;
    std::uint64_t buffer_bytes = 0;
  };

  void check_memories() {
    std::map<int, Held> held;
    for (const auto& [sram, units] : m_.memories) {
      check_bytes(*sram, units);
      for (const int n : units) {
        Held& h = held[n];
        if (m_.units[static_cast<std::size_t>(n)].kind != UnitKind::memory || h.sram)
          fault(*sram, "12: '{}' is on '{}', which is no memory unit of its own",
                memory_name(sram->result()), m_.units[static_cast<std::size_t>(n)].name);
        h.sram = sram;
      }
    }
    for (const Part& p : m_.parts) {
      if (accesses_sram(*p.op)) ++held[p.unit].accesses;
      if (is_transfer(*p.op)) ++held[memory_end(*p.op)].accesses;
      if (!p.op->is(flow_buffer)) continue;
      Held& h = held[p.unit];
      const Value& v = *p.op->result();
      if (carries_data(v)) ++(is_scalar(v) ? h.scalars : h.vectors);
      h.buffer_bytes +=
          carries_data(v) ? 4 * static_cast<std::uint64_t>(p.op->int_attr("depth")) : 0;
    }
    for (const auto& [header, unit] : m_.back)
      if (unit != nowhere) ++held[unit].back_edges;
    for (const auto& [n, h] : held) {
      const CheckedUnit& u = m_.units[static_cast<std::size_t>(n)];
      if ((h.sram != nullptr) + (h.vectors != 0) + (h.scalars != 0) + h.back_edges > 1)
        unit_fault(u, "12: '{}' holds more than one thing", u.name);
      if (std::max(h.accesses, h.vectors) > machine_.memory.contexts)
        unit_fault(u, "12: '{}' needs {} contexts, there are {}", u.name,
                   std::max(h.accesses, h.vectors), machine_.memory.contexts);
      if (h.buffer_bytes > machine_.memory.bytes)
        unit_fault(u, "12: '{}' buffers {} bytes, there are {}", u.name, h.buffer_bytes,
                   machine_.memory.bytes);
    }
  }

  void check_bytes(const Op& sram, const std::vector<int>& units) {
    if (units.empty()) return;
    const Type t = sram.result()->type();
    // A memory that nobody accesses is the queue of its pointers.
    const std::uint64_t each = is_accessed(*sram.result())
                                   ? std::uint64_t{t.size} * t.element_type().bytes()
                                   : type_u32.bytes();
    const std::uint64_t bytes = each * static_cast<std::uint64_t>(buffers_of(sram));
    const auto banks = static_cast<std::uint64_t>(sram.int_attr("banks", 1));
    if (banks > units.size() || bytes > banks * machine_.memory.bytes)
      fault(sram, "12: '{}' has {} bytes, its {} memory units have {} each",
            memory_name(sram.result()), bytes, std::min<std::uint64_t>(banks, units.size()),
            machine_.memory.bytes);
  }

  void check_back_edges() {
    if (m_.back.empty()) return;
    for (const Op& op : m_.graph.body()) {
      if (!op.is(flow_fb_merge)) continue;
      for (unsigned i = 0; i < op.num_results(); ++i) {
        if (!carries_data(*op.result(i))) continue;
        const auto at = m_.back.find({&op, i});
        const bool there = at != m_.back.end() && at->second != nowhere;
        if (!there)
          fault(op, "13: the back edge of '{}' has no memory unit", op.result(i)->name());
        else if (m_.units[static_cast<std::size_t>(at->second)].kind != UnitKind::memory)
          fault(op, "13: the back edge of '{}' is on '{}', which is no memory unit",
                op.result(i)->name(), m_.units[static_cast<std::size_t>(at->second)].name);
      }
    }
  }

  const Machine& machine_;
  std::vector<Fault> faults_;  ///< before the model, which adds to it
  const Model m_;
};

}  // namespace

std::vector<Fault> check_units(const Op& graph, const Machine& machine) {
  return Checker(graph, machine).run();
}

std::vector<Fault> check_routed(const Op& graph, const Machine& machine) {
  std::vector<Fault> faults;
  const Model model(graph, faults);
  if (faults.empty()) check_placement(model, machine, faults);
  return faults;
}

}  // namespace revet::mapping
