/// The verifier. Its checks, each with a negative test in tests/unit/test_verifier.cpp:
///  1. the numbers of operands, results, regions and successors fit the op's description
///  2. required attributes are there, and attributes have the described kinds
///  3. every region has a block, every block ends in a terminator and has none before its end
///     (graphs have none)
///  4. every operand is defined where it dominates its use (in a graph: in the graph)
///  5. module level holds only declarations; ops of the thread, cfg and flow levels are not mixed
///  6. the op's own rules (types of operands and results, attribute values, the region's yields)
///  7. symbols are unique; calls name a function and fit its parameters and result
///  8. the blocks of a function fit together (verify_blocks.hpp)
/// All violations of a module are collected.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "dominance.hpp"
#include "revet/ops.hpp"
#include "revet/text.hpp"
#include "verify_blocks.hpp"

namespace revet {
namespace {

class Verifier : public VerifyReport {
 public:
  Verifier(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  void fail(const Op& op, std::string message) override { report(6, op, std::move(message)); }

  bool run() {
    const std::size_t before = diagnostics_.error_count();
    symbols();
    define_all(module_.body());
    block(module_.body());
    return diagnostics_.error_count() == before;
  }

 private:
  void report(int check, const Op& op, std::string message) {
    diagnostics_.error(op.loc(),
                       fmt::format("{}: {} [verifier check {}]", op.name(), message, check));
  }

  static bool fits(Count c, std::size_t n) { return n >= c.min && n <= c.max; }

  static std::string describe(Count c) {
    if (c.max == Count::many) return fmt::format("at least {}", c.min);
    if (c.min == c.max) return std::to_string(c.min);
    return fmt::format("{} to {}", c.min, c.max);
  }

  bool counts(const Op& op) {
    const OpInfo& info = op.info();
    bool ok = true;
    const auto check = [&](Count c, std::size_t n, const char* what) {
      if (fits(c, n)) return;
      report(1, op, fmt::format("expects {} {}, has {}", describe(c), what, n));
      ok = false;
    };
    check(info.operands, op.num_operands(), "operands");
    check(info.results, op.num_results(), "results");
    check(info.regions, op.num_regions(), "regions");
    check(info.successors, op.num_successors(), "successors");
    return ok;
  }

  bool attributes(const Op& op) {
    bool ok = true;
    for (const AttrSpec& spec : op.info().attrs) {
      const Attr* a = op.attr(spec.name);
      if (!a) {
        if (spec.required) {
          report(2, op, fmt::format("the attribute '{}' is missing", spec.name));
          ok = false;
        }
        continue;
      }
      const bool fits_kind = [&] {
        switch (spec.kind) {
          case AttrKind::boolean: return a->as_bool() != nullptr;
          case AttrKind::integer: return a->as_int() != nullptr;
          case AttrKind::number: return a->as_float() != nullptr;
          case AttrKind::string: return a->as_string() != nullptr;
          case AttrKind::type: return a->as_type() != nullptr;
          case AttrKind::array: return a->as_array() != nullptr;
          case AttrKind::any: return true;
        }
        return false;
      }();
      if (!fits_kind) {
        report(2, op, fmt::format("the attribute '{}' has the wrong kind", spec.name));
        ok = false;
      }
    }
    return ok;
  }

  void level(const Op& op) {
    const Level l = op.info().level;
    if (!op.parent_op() && op.num_regions() == 0 && !op.is(ops::mem_dram) && l <= Level::thread)
      report(5, op, "stands at module level");
    if (l == Level::any) return;
    if (level_ == Level::any) level_ = l;
    const auto group = [](Level x) { return x == Level::placed ? Level::flow : x; };
    // A function, with what ends it, is the frame of the thread and of the cfg level.
    const bool frame = op.is(ops::thread_func) || op.is(ops::thread_return);
    if (frame && level_ == l) level_ = Level::any;
    if (group(l) != group(level_) && !frame && !level_reported_) {
      report(
          5, op,
          fmt::format("is of level {} in a module of level {}", level_name(l), level_name(level_)));
      level_reported_ = true;
    }
  }

  bool blocks(const Op& op) {
    bool ok = true;
    for (const auto& region : op.regions()) {
      if (region->empty()) {
        report(3, op, "has an empty region");
        ok = false;
        continue;
      }
      for (const auto& b : region->blocks()) {
        if (op.info().graph) continue;
        if (!b->terminator()) {
          report(3, b->empty() ? op : *b->last(),
                 b->empty() ? "has a block without ops" : "ends a block, but is no terminator");
          ok = false;
        }
        for (Op& inner : *b)
          if (inner.info().terminator && inner.next())
            report(3, inner, "is a terminator in the middle of a block");
      }
    }
    return ok;
  }

  /// Order of ops and depth of blocks, for the dominance check.
  void define_all(const Block& b) {
    unsigned n = 0;
    for (Op& op : b) {
      order_[&op] = n++;
      for (const auto& region : op.regions())
        for (const auto& inner : region->blocks()) define_all(*inner);
    }
  }

  bool dominates(const Block& a, const Block& b) {
    return dominance_.try_emplace(b.parent(), *b.parent()).first->second.dominates(a, b);
  }

  bool dominates(const Value& v) {
    const Block* home = v.block();
    if (!home) return false;
    // The op around the use, or the use itself, that stands in the region of the definition.
    const auto found = at_work_.find(home->parent());
    if (found == at_work_.end()) return false;
    const Op* at = found->second;
    if (at->block() != home) return dominates(*home, *at->block());
    if (const Op* around = home->parent_op(); around && around->info().graph) return true;
    return v.is_argument() || order_.at(v.def()) < order_.at(at);
  }

  void block(const Block& b) {
    for (Op& op : b) {
      at_work_[b.parent()] = &op;
      const std::size_t before = diagnostics_.error_count();
      const bool sound = counts(op) & attributes(op) & blocks(op);
      level(op);
      for (unsigned i = 0; i < op.num_operands(); ++i)
        if (!dominates(*op.operand(i)))
          report(4, op,
                 fmt::format("operand {}{} is used where its definition does not dominate", i,
                             op.operand(i)->name().empty()
                                 ? ""
                                 : fmt::format(" (%{})", op.operand(i)->name())));
      if (sound && op.info().verify) op.info().verify(op, *this);
      if (sound && op.is(ops::thread_call)) call(op);
      for (const auto& region : op.regions())
        for (const auto& inner : region->blocks()) block(*inner);
      // What is not sound so far has no structure to check.
      if (op.is(ops::thread_func) && diagnostics_.error_count() == before &&
          (op.region().blocks().size() > 1 || op.body().last()->num_successors() != 0))
        verify_blocks(op, [&](const Op& at, std::string why) { report(8, at, std::move(why)); });
    }
    at_work_.erase(b.parent());
  }

  void symbols() {
    std::unordered_set<std::string> arrays;
    for (Op& op : module_.body()) {
      auto* const set = op.is(ops::mem_dram) ? &arrays : nullptr;
      const std::string& sym = op.str_attr("sym");
      const bool fresh = set                       ? set->insert(sym).second
                         : op.is(ops::thread_func) ? functions_.emplace(sym, &op).second
                                                   : true;
      if (!fresh) report(7, op, fmt::format("'{}' is defined twice", sym));
    }
  }

  void call(const Op& op) {
    const auto it = functions_.find(op.str_attr("callee"));
    if (it == functions_.end())
      return report(7, op, fmt::format("there is no function '{}'", op.str_attr("callee")));
    const Op& func = *it->second;
    if (func.num_regions() != 1 || func.region().empty()) return;
    const auto& params = func.body().args();
    bool ok = params.size() == op.num_operands();
    for (unsigned i = 0; ok && i < params.size(); ++i)
      ok = params[i]->type() == op.operand(i)->type();
    const Type* result = func.attr("result") ? func.attr("result")->as_type() : nullptr;
    const Type given = op.num_results() == 1 ? op.result()->type() : type_void;
    if (!ok || (result && *result != given))
      report(
          7, op,
          fmt::format("does not fit the parameters or the result of '{}'", op.str_attr("callee")));
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  Level level_ = Level::any;
  bool level_reported_ = false;
  std::unordered_map<std::string, const Op*> functions_;
  std::unordered_map<const Op*, unsigned> order_;
  /// In each region around the op being checked: the op there that is it or holds it.
  std::unordered_map<const Region*, const Op*> at_work_;
  std::unordered_map<const Region*, Dominance> dominance_;
};

}  // namespace

bool verify(const Module& module, Diagnostics& diagnostics) {
  return Verifier(module, diagnostics).run();
}

}  // namespace revet
