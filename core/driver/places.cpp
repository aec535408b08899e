/// Parses and evaluates locations and predicates.
#include "places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "../support/crash_guard.hpp"
#include "revet/ops.hpp"
#include "revet/text.hpp"

namespace revet {
namespace {

/// '-' and '_' are one character in names of ops and attributes.
bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x == '-' ? '_' : x) == (y == '-' ? '_' : y); });
}

std::string_view without_dialect(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

bool is_op(const Op& op, std::string_view name) {
  return same_name(op.name(), name) || same_name(without_dialect(op.name()), name);
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

/// One filter between the brackets of a location.
std::pair<Predicate, std::string> parse_filter(const std::string& text) {
  const bool negated = text.starts_with('!');
  const std::string word = trimmed(text.substr(negated ? 1 : 0));
  const std::size_t eq = word.find('=');
  if (word == "has-loop" || word.starts_with("has-op ")) return parse_predicate(text);
  Predicate p{.kind = Predicate::attribute, .negated = negated, .text = text};
  p.name = trimmed(word.substr(0, eq));
  if (eq != std::string::npos) p.value = trimmed(word.substr(eq + 1));
  if (!is_word(p.name) || (eq != std::string::npos && p.value.empty()))
    return {p, fmt::format("expected ATTR=V, ATTR, has-loop or has-op OP between [ and ], got '{}'",
                           text)};
  return {p, ""};
}

bool has_loop(const Op& op) {
  return op.is(ops::thread_while) || op.is(ops::thread_foreach) || op.is(ops::cfg_loop_br) ||
         op.is(ops::flow_fb_merge);
}

bool equals(const Attr& attr, const std::string& value) {
  const std::string* text = attr.as_string();
  return attr.str() == value || (text && *text == value);
}

/// The ops directly inside an op, in program order.
std::vector<Op*> inner_ops(const Op& op) {
  std::vector<Op*> out;
  for (const auto& region : op.regions())
    for (const auto& block : region->blocks())
      for (Op& inner : *block) out.push_back(&inner);
  return out;
}

/// The position of `op` among the ops beside it of that name.
unsigned index_among(const Op& op, std::string_view name) {
  unsigned index = 0;
  for (const Op* sibling : inner_ops(*op.parent_op())) {
    if (sibling == &op) break;
    if (is_op(*sibling, name)) ++index;
  }
  return index;
}

bool matches_path(const Location& location, const Op& op) {
  const Op* at = &op;
  for (auto step = location.steps.rbegin(); step != location.steps.rend(); ++step) {
    if (!at->parent_op() || !is_op(*at, step->op) || index_among(*at, step->op) != step->index)
      return false;
    at = at->parent_op();
  }
  return !at->parent_op() && at->str_attr("sym") == location.function;
}

/// An error where no op has that name.
std::string check_op(const std::string& name) {
  std::vector<std::string> known;
  for (const OpInfo* info : OpRegistry::get().all()) {
    if (same_name(info->name, name) || same_name(without_dialect(info->name), name)) return "";
    known.push_back(info->name);
    known.emplace_back(without_dialect(info->name));
  }
  if (OpRegistry::get().find(name)) return "";
  return fmt::format("there is no op '{}'{}", name, did_you_mean(name, known));
}

}  // namespace

std::pair<Location, std::string> parse_location(const std::string& text) {
  Location out;
  out.text = text;
  const auto bad = [&] {
    return std::pair(
        out,
        fmt::format("expected a place, OP[ATTR=V], label:NAME or main/foreach#0, got '{}'", text));
  };
  if (text.starts_with("label:")) {
    out.label = text.substr(6);
    return out.label.empty() ? bad() : std::pair(out, std::string());
  }
  if (text.find('/') != std::string::npos) {
    std::size_t begin = text.find('/');
    out.function = text.substr(0, begin);
    if (out.function.empty()) return bad();
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('/', begin + 1), text.size());
      const std::string step = text.substr(begin + 1, end - begin - 1);
      const std::size_t hash = step.find('#');
      unsigned index = 0;
      if (hash != std::string::npos) {
        const char* last = step.data() + step.size();
        const auto [p, ec] = std::from_chars(step.data() + hash + 1, last, index);
        if (ec != std::errc() || p != last) return bad();
      }
      if (!is_word(step.substr(0, hash))) return bad();
      out.steps.push_back({step.substr(0, hash), index});
      begin = end;
    }
    return {out, ""};
  }
  const std::size_t bracket = text.find('[');
  out.op = trimmed(text.substr(0, bracket));
  if (!is_word(out.op)) return bad();
  if (bracket == std::string::npos) return {out, ""};
  if (text.back() != ']') return bad();
  const std::string list = text.substr(bracket + 1, text.size() - bracket - 2);
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    auto [filter, error] = parse_filter(trimmed(list.substr(begin, end - begin)));
    if (!error.empty()) return {out, error};
    out.filters.push_back(std::move(filter));
    begin = end + 1;
  }
  return {out, ""};
}

std::pair<Predicate, std::string> parse_predicate(const std::string& text) {
  Predicate p{.kind = Predicate::location, .negated = text.starts_with('!'), .text = text};
  const std::string body = trimmed(text.substr(p.negated ? 1 : 0));
  if (body == "has-loop") {
    p.kind = Predicate::has_loop;
  } else if (body == "changed") {
    p.kind = Predicate::changed;
  } else if (body.starts_with("has-op ")) {
    p.kind = Predicate::has_op;
    p.name = trimmed(body.substr(7));
    if (!is_word(p.name)) return {p, fmt::format("expected has-op OP, got '{}'", text)};
  } else if (body.starts_with("level=")) {
    p.kind = Predicate::level;
    p.name = body.substr(6);
  } else {
    auto [location, error] = parse_location(body);
    if (!error.empty())
      return {p, fmt::format("expected has-op OP, has-loop, level=LEVEL, changed, a property or a "
                             "place, got '{}'",
                             text)};
    p.place = std::move(location);
  }
  return {p, ""};
}

std::string check_names(Location& location, Plugins& plugins) {
  if (!location.op.empty())
    if (std::string error = check_op(location.op); !error.empty()) return error;
  for (const Location::Step& step : location.steps)
    if (std::string error = check_op(step.op); !error.empty()) return error;
  for (Predicate& filter : location.filters)
    if (std::string error = check_names(filter, plugins); !error.empty()) return error;
  return "";
}

std::string check_names(Predicate& p, Plugins& plugins) {
  if (p.kind == Predicate::has_op) return check_op(p.name);
  if (p.kind == Predicate::level) {
    std::vector<std::string> known;
    for (const Level level : {Level::thread, Level::cfg, Level::flow, Level::placed}) {
      known.emplace_back(level_name(level));
      if (known.back() == p.name) return "";
    }
    return fmt::format("there is no level '{}'{}; levels are {}", p.name,
                       did_you_mean(p.name, known), fmt::join(known, ", "));
  }
  if (p.kind != Predicate::location) return "";
  const std::string& word = p.place.op;
  const bool plain = !word.empty() && p.place.filters.empty();
  if (plain && (plugins.predicate(word) || plugins.property(word))) {
    p.kind = Predicate::named;
    p.name = word;
    return "";
  }
  std::string error = check_names(p.place, plugins);
  if (error.empty() || !plain) return error;
  std::vector<std::string> known = {"has-loop", "changed"};
  for (const char* kind : {"predicate", "property"})
    for (std::string& name : plugins.names(kind)) known.push_back(std::move(name));
  for (const OpInfo* info : OpRegistry::get().all())
    known.emplace_back(without_dialect(info->name));
  error =
      fmt::format("there is no predicate, property or op '{}'{}", word, did_you_mean(word, known));
  if (plugins.pass(word))
    error += fmt::format("; a pass as condition is {{ pass = \"{}\" }}", word);
  return error;
}

bool holds(const Predicate& p, const Question& q, Plugins& plugins) {
  const auto any_op = [&](const auto& wanted) {
    const std::vector<Op*> ops = ops_from(q.module, const_cast<Op*>(q.place));
    return std::any_of(ops.begin(), ops.end(), [&](const Op* op) { return wanted(*op); });
  };
  const auto plain = [&] {
    switch (p.kind) {
      case Predicate::has_op: return any_op([&](const Op& op) { return is_op(op, p.name); });
      case Predicate::has_loop:
        return any_op([&](const Op& op) { return &op != q.place && has_loop(op); });
      case Predicate::level: return p.name == level_name(level_of(q.module));
      case Predicate::changed: return q.changed;
      case Predicate::attribute:
        for (const auto& [name, attr] : q.place->attrs())
          if (same_name(name, p.name)) return p.value.empty() || equals(attr, p.value);
        return p.value == "false";  // flags that are off are not written
      case Predicate::named: {
        if (const PredicateInfo* info = plugins.predicate(p.name)) {
          bool result = false;
          run_blaming(
              [&] {
                return fmt::format("predicate '{}' of {}", p.name,
                                   plugins.origin("predicate:" + p.name));
              },
              [&] { result = info->holds(q.module, q.place); });
          return result;
        }
        struct Collect : VerifyReport {
          void fail(const Op&, std::string) override { failed = true; }
          bool failed = false;
        } report;
        run_blaming(
            [&] {
              return fmt::format("property '{}' of {}", p.name,
                                 plugins.origin("property:" + p.name));
            },
            [&] { plugins.property(p.name)->check(q.module, q.machine, report); });
        return !report.failed;
      }
      case Predicate::location:
        return any_op([&](const Op& op) { return matches(p.place, op, q.module, plugins); });
    }
    return false;
  };
  return plain() != p.negated;
}

bool matches(const Location& location, const Op& op, const Module& module, Plugins& plugins) {
  if (!location.label.empty()) {
    const Attr* label = op.attr("label");
    return label && equals(*label, location.label);
  }
  if (!location.function.empty()) return matches_path(location, op);
  return is_op(op, location.op) &&
         std::all_of(location.filters.begin(), location.filters.end(), [&](const Predicate& f) {
           return holds(f, Question{module, &op, false}, plugins);
         });
}

std::string_view short_name(const Op& op) { return without_dialect(op.name()); }

std::string path_of(const Op* op) {
  if (!op) return "";
  const Op* parent = op->parent_op();
  if (!parent) return op->has_attr("sym") ? op->str_attr("sym") : std::string(short_name(*op));
  return fmt::format("{}/{}#{}", path_of(parent), short_name(*op),
                     index_among(*op, short_name(*op)));
}

std::vector<Op*> ops_from(const Module& module, Op* place) {
  std::vector<Op*> out;
  const auto add = [&](Op& op) { out.push_back(&op); };
  if (place)
    walk(*place, add);
  else
    walk(module, add);
  return out;
}

std::vector<Op*> children_of(const Module& module, const Op* place) {
  if (place) return inner_ops(*place);
  std::vector<Op*> out;
  for (Op& op : module.body()) out.push_back(&op);
  return out;
}

Op* find_op(const Module& module, std::uint64_t serial) {
  Op* found = nullptr;
  walk(module, [&](Op& op) {
    if (op.serial() == serial) found = &op;
  });
  return found;
}

}  // namespace revet
