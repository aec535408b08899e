/// Passes whose whole effect a test can see: they work on the values and marks of constants.
#include <revet/abi.hpp>
#include <revet/builder.hpp>
#include <revet/plugin.hpp>

namespace {

using namespace revet;

bool is_constant(const Op& op) { return op.is(ops::arith_constant); }

/// Adds a constant in front of main's first op.
PassResult grow(Module& module, PassContext& context) {
  Op* main = module.find_func("main");
  if (!main) return PassResult::failure("there is no main");
  Builder::before(*main->body().first()).constant(type_i32, context.options.integer("value"));
  return PassResult::of(true);
}

/// Lowers a constant by one; fails at zero and at other ops.
PassResult count_down(Op& op, PassContext&) {
  if (!is_constant(op)) return PassResult::failure("no constant");
  const std::int64_t value = *op.attr("value")->as_int();
  if (value == 0) return PassResult::failure("it is zero");
  op.set_attr("value", Attr(value - 1));
  return PassResult::of(true);
}

/// Marks any op once: `mark` is an attribute that no op declares, so only what takes any has it.
PassResult mark(Op& op, PassContext& context) {
  const std::string& only = context.options.text("only");
  if (!only.empty() && op.name() != only) return PassResult::failure("another op");
  if (op.num_results() == 0) return PassResult::of(false);
  if (op.result()->name() == "marked") return PassResult::of(false);
  op.result()->set_name("marked");
  return PassResult::of(true);
}

/// Erases an op that nothing uses.
PassResult erase(Op& op, PassContext&) {
  if (!is_constant(op) || !op.result()->unused()) return PassResult::failure("it is needed");
  op.erase();
  return PassResult::of(true);
}

void register_(Registry& registry) {
  const auto add = [&](const char* id, const char* summary, auto&& set) {
    PassInfo info;
    info.id = id;
    info.summary = summary;
    set(info);
    registry.add_pass(std::move(info));
  };
  add("grow", "Adds a constant to main", [](PassInfo& info) {
    info.options = {{"value", OptionType::integer, "3", "of the constant", 0, 9}};
    info.run = grow;
  });
  add("need", "Needs options", [](PassInfo& info) {
    info.options = {
        {"amount", OptionType::integer, "", "how much", 1, 9, {}, "4"},
        {"kind", OptionType::text, "", "what", INT64_MIN, INT64_MAX, {"big", "small"}, "big"}};
    info.run = [](Module&, PassContext&) { return PassResult::of(false); };
  });
  add("refuse", "Always fails", [](PassInfo& info) {
    info.run = [](Module&, PassContext&) { return PassResult::failure("it always does"); };
    info.run_at = [](Op&, PassContext&) { return PassResult::failure("it always does"); };
  });
  add("nothing", "Changes nothing", [](PassInfo& info) {
    info.run_at = [](Op&, PassContext&) { return PassResult::of(false); };
  });
  add("count-down", "Lowers a constant by one", [](PassInfo& info) { info.run_at = count_down; });
  add("mark", "Names a result 'marked'", [](PassInfo& info) {
    info.options = {{"only", OptionType::text, "", "fail at other ops"}};
    info.run_at = mark;
  });
  add("erase", "Erases an unused constant", [](PassInfo& info) { info.run_at = erase; });

  PredicateInfo has_zero;
  has_zero.name = "has-zero";
  has_zero.summary = "Some constant is zero";
  has_zero.holds = [](const Module& module, const Op* place) {
    bool found = false;
    const auto look = [&](Op& op) {
      if (is_constant(op) && op.attr("value")->as_int() && *op.attr("value")->as_int() == 0)
        found = true;
    };
    if (place)
      walk(*const_cast<Op*>(place), look);
    else
      walk(module, look);
    return found;
  };
  registry.add_predicate(std::move(has_zero));
}

}  // namespace

REVET_PLUGIN("toy-passes", "Passes for tests of strategies", register_)
