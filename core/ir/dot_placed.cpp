/// Pictures of placed graphs for Graphviz: each unit is a box at its place on the grid, `dot`
/// itself takes the positions. Nets are lines between the units; those of several values are one.
/// The attributes are those that the passes of plugins/mapping write: a graph's `units`, a node's
/// `unit` and `route`.
///
/// With the figures of a run a box has stripes as long as the shares of the run that the unit was
/// busy, starved and blocked.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "dot.hpp"
#include "revet/diagnostics.hpp"
#include "revet/ops.hpp"

namespace revet {
namespace {

constexpr int cell_width = 120, cell_height = 66;  // points
constexpr const char* colours[] = {"#7fc97f", "#fdc086", "#f0776d"};
constexpr const char* states[] = {"busy", "starved", "blocked"};

std::int64_t number(const Attr& a) { return a.as_int() ? *a.as_int() : 0; }

/// A path may be long: the box has one line for it.
std::string shortened(const std::string& name) {
  constexpr std::size_t most = 16;
  if (name.size() <= most) return name;
  // Not within a character of several bytes.
  std::size_t end = most - 2;
  while (end != 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return name.substr(0, end) + "..";
}

class PlacedPrinter {
 public:
  PlacedPrinter(const Op& graph, const UnitShares* shares) : graph_(graph), shares_(shares) {}

  std::string print() {
    out_ =
        "digraph revet {\n  layout=neato;\n  inputscale=72;\n  splines=line;\n  "
        "outputorder=edgesfirst;\n"
        "  node [shape=box, fixedsize=true, width=1.4, height=0.7, fontname=\"monospace\", "
        "fontsize=9, "
        "style=filled, fillcolor=white];\n  edge [arrowsize=0.5];\n";
    const Attr::Array& rows = *graph_.attr("units")->as_array();
    for (std::size_t u = 0; u < rows.size(); ++u) unit(u, *rows[u].as_array());
    for (const Op& op : graph_.body()) edges(op);
    for (const auto& [ends, look] : edges_) {
      const auto& [from, to, style] = ends;
      out_ += fmt::format("  u{} -> u{} [{}{}];\n", from, to, style,
                          look > 1 ? fmt::format(", fontsize=8, label=\"{}\"", look) : "");
    }
    if (shares_) legend();
    return std::move(out_) + "}\n";
  }

 private:
  void unit(std::size_t u, const Attr::Array& cells) {
    const std::string& kind = *cells[0].as_string();
    const std::string& role = *cells[1].as_string();
    const std::string& name = *cells[2].as_string();
    const std::int64_t row = number(cells[3]), column = number(cells[4]);
    lowest_ = std::max(lowest_, row);
    leftmost_ = std::min(leftmost_, column);
    std::string label = fmt::format("{}{}\n{}", kind, u, shortened(name));
    std::string fill;
    const std::string path = fmt::format("{}{}.{}", kind, u, name);
    if (shares_) {
      const auto at = shares_->find(path);
      if (at == shares_->end())
        throw Error(Exit::usage,
                    fmt::format("the figures have no unit '{}': they are of another graph", path));
      label += '\n';
      double left = 1;
      for (int s = 0; s < 3; ++s) {
        const double share = std::clamp(at->second[static_cast<std::size_t>(s)], 0.0, left);
        label += fmt::format("{}{:.0f}", s == 0 ? "" : "/", share * 100);
        // Graphviz wants stripes that are seen, and the shares below 1 in sum.
        if (share < 0.005) continue;
        fill += fmt::format("{};{:.4f}:", colours[s], share);
        left -= share;
      }
      label += '%';
      if (left < 0.005)
        fill = fill.substr(0, fill.rfind(';'));
      else
        fill += "white";
      fill = fmt::format(", style={}, fillcolor=\"{}\"",
                         fill.find(':') == std::string::npos ? "filled" : "striped", fill);
    }
    out_ += fmt::format("  u{} [pos=\"{},{}!\", label={}, tooltip={}{}{}];\n", u,
                        column * cell_width, -row * cell_height, dot_quoted(label),
                        dot_quoted(role.empty() ? path : path + ", " + role),
                        kind == "AG" ? ", peripheries=2" : "", fill);
  }

  static std::optional<std::int64_t> unit_of(const Op& op, std::size_t slice) {
    const Attr* units = op.attr("unit");
    if (!units || !units->as_array() || units->as_array()->empty()) return std::nullopt;
    const Attr::Array& numbers = *units->as_array();
    return number(numbers[slice < numbers.size() ? slice : 0]);
  }

  void edges(const Op& op) {
    const Attr* routes = op.attr("route");
    if (routes && routes->as_array())
      for (const Attr& route : *routes->as_array()) {
        const Attr::Array& cells = *route.as_array();
        const auto result = static_cast<unsigned>(number(cells[0]));
        const auto from = unit_of(op, result);
        if (!from || result >= op.num_results()) continue;
        const Type type = op.result(result)->type();
        const bool dynamic = cells[1].as_bool() && *cells[1].as_bool();
        const std::string style = fmt::format("style={}, color={}",
                                              type.element == Kind::none ? "dotted"
                                              : type.scalar_link         ? "dashed"
                                                                         : "solid",
                                              dynamic ? "purple" : "gray40");
        for (const Attr& sink : *cells[3].as_array())
          ++edges_[{*from, number((*sink.as_array())[0]), style}];
      }
    if (!op.name().starts_with("flow.bulk_")) return;
    const auto ag = unit_of(op, 0);
    for (const Value* v : op.operands()) {
      if (v->type().kind != Kind::sram || !v->def()) continue;
      const auto memory = unit_of(*v->def(), 0);
      if (!ag || !memory) continue;
      const bool load = op.is(ops::flow_bulk_load);
      ++edges_[{load ? *ag : *memory, load ? *memory : *ag, "style=bold, color=blue"}];
    }
  }

  void legend() {
    const auto entry = [&](int i, const std::string& text, const std::string& fill) {
      out_ += fmt::format("  legend{} [pos=\"{},{}!\", label={}, fillcolor=\"{}\"];\n", i,
                          (leftmost_ + i) * cell_width, -(lowest_ + 2) * cell_height,
                          dot_quoted(text), fill);
    };
    for (int s = 0; s < 3; ++s) entry(s, states[s], colours[s]);
    entry(3, "idle", "white");
    entry(4, "shares of\nthe cycles", "none");
  }

  const Op& graph_;
  const UnitShares* shares_;
  std::string out_;
  std::int64_t lowest_ = 0, leftmost_ = 0;
  /// From, to, how it looks; how many nets.
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, unsigned> edges_;
};

}  // namespace

std::optional<std::string> print_placed_dot(const Module& module, const UnitShares* shares) {
  for (const Op& op : module.body()) {
    if (!op.is(ops::flow_graph)) continue;
    const Attr* rows = op.attr("units");
    if (!rows || !rows->as_array() || rows->as_array()->empty()) return std::nullopt;
    for (const Attr& row : *rows->as_array()) {
      const Attr::Array* cells = row.as_array();
      if (!cells || cells->size() < 5 || !(*cells)[0].as_string() || !(*cells)[1].as_string() ||
          !(*cells)[2].as_string())
        return std::nullopt;
    }
    return PlacedPrinter(op, shares).print();
  }
  return std::nullopt;
}

}  // namespace revet
