/// Pictures of modules for Graphviz.
#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "revet/text.hpp"

namespace revet {
namespace {

/// A label: quotes and backslashes escaped, other control characters shown as '?'.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out + '"';
}

void count_by_depth(const Region& region, unsigned depth, std::map<unsigned, std::size_t>& counts) {
  for (const auto& block : region.blocks())
    for (Op& op : *block) {
      ++counts[depth];
      for (const auto& inner : op.regions()) count_by_depth(*inner, depth + 1, counts);
    }
}

std::size_t count_ops(const Region& region) {
  std::size_t n = 0;
  walk(region, [&](Op&) { ++n; });
  return n;
}

class DotPrinter {
 public:
  DotPrinter(const Module& module, std::size_t max_nodes) : left_(max_nodes) {
    std::map<unsigned, std::size_t> counts;
    count_by_depth(const_cast<Module&>(module).region(), 0, counts);
    std::size_t total = 0;
    for (const auto& [depth, n] : counts) total += n;
    // As deep as the limit allows, but functions are always opened.
    std::size_t drawn = 0;
    for (const auto& [depth, n] : counts) {
      drawn += n;
      if (drawn > max_nodes && depth > 1) break;
      max_depth_ = depth;
    }
    out_ = "digraph revet {\n  compound=true;\n  node [shape=box, fontname=\"monospace\"];\n";
    block(module.body(), 0, 1);
    if (hidden_ != 0) {
      out_ += fmt::format("  label={};\n",
                          quoted(fmt::format("{} of {} ops are drawn", total - hidden_, total)));
    }
    walk(module, [&](Op& op) { edges(op); });
    out_ += "}\n";
  }

  std::string take() { return std::move(out_); }

 private:
  void block(const Block& b, unsigned depth, unsigned indent) {
    const std::string pad(2 * indent, ' ');
    for (const auto& arg : b.args()) {
      const std::string id = fmt::format("n{}", next_++);
      nodes_[arg.get()] = id;
      out_ += fmt::format("{}{} [shape=ellipse, label={}];\n", pad, id,
                          quoted(fmt::format("%{}: {}", arg->name(), arg->type().str())));
    }
    std::size_t skipped = 0;
    for (Op& op : b) {
      if (left_ == 0) {
        skipped += 1;
        for (const auto& inner : op.regions()) skipped += count_ops(*inner);
        continue;
      }
      --left_;
      node(op, depth, indent);
    }
    if (skipped == 0) return;
    hidden_ += skipped;
    out_ += fmt::format("{}n{} [style=dashed, label={}];\n", pad, next_++,
                        quoted(fmt::format("and {} more ops", skipped)));
  }

  void node(const Op& op, unsigned depth, unsigned indent) {
    const std::string pad(2 * indent, ' ');
    const std::string id = fmt::format("n{}", next_++);
    ops_[&op] = id;
    std::string label = op.name();
    for (const auto& [name, attr] : op.attrs()) label += fmt::format("\n{} = {}", name, attr.str());
    for (const auto& r : op.results()) {
      nodes_[r.get()] = id;
      if (!r->name().empty()) label += fmt::format("\n-> %{}", r->name());
    }
    std::size_t inside = 0;
    for (const auto& region : op.regions()) inside += count_ops(*region);
    const bool closed = inside != 0 && depth >= max_depth_;
    if (closed) {
      label += fmt::format("\n({} ops inside)", inside);
      hidden_ += inside;
    }
    if (inside == 0 || closed) {
      out_ +=
          fmt::format("{}{} [label={}{}];\n", pad, id, quoted(label), closed ? ", style=bold" : "");
      return;
    }
    out_ += fmt::format("{}subgraph cluster_{} {{\n{}  label={};\n{}  {} [label={}];\n", pad, id,
                        pad, quoted(op.name()), pad, id, quoted(label));
    for (unsigned i = 0; i < op.num_regions(); ++i)
      for (const auto& b : op.region(i).blocks()) {
        out_ += fmt::format("{}  subgraph cluster_{}_{} {{\n{}    label={};\n", pad, id,
                            clusters_++, pad, quoted(fmt::format("region {}", i)));
        block(*b, depth + 1, indent + 2);
        out_ += pad + "  }\n";
      }
    out_ += pad + "}\n";
  }

  /// Edges between what is drawn; what is inside a closed op begins or ends at it.
  void edges(const Op& op) {
    const std::string* to = drawn(&op);
    if (!to) return;
    for (const Value* v : op.operands()) {
      const auto direct = nodes_.find(v);
      const std::string* from = direct != nodes_.end() ? &direct->second : nullptr;
      if (!from && v->def()) from = drawn(v->def());
      if (!from && v->block()->parent_op()) from = drawn(v->block()->parent_op());
      if (from && *from != *to)
        out_ += fmt::format("  {} -> {} [label={}];\n", *from, *to, quoted(v->type().str()));
    }
    if (ops_.count(&op) == 0) return;
    for (unsigned i = 0; i < op.num_successors(); ++i) {
      const Block* b = op.successor(i);
      const Op* first = b->first();
      if (first && ops_.count(first) != 0)
        out_ += fmt::format("  {} -> {} [style=dashed];\n", *to, ops_[first]);
    }
  }

  const std::string* drawn(const Op* op) const {
    for (; op; op = op->parent_op())
      if (const auto it = ops_.find(op); it != ops_.end()) return &it->second;
    return nullptr;
  }

  std::string out_;
  std::size_t left_;
  unsigned max_depth_ = 0;
  unsigned next_ = 0;
  unsigned clusters_ = 0;
  std::size_t hidden_ = 0;
  std::unordered_map<const Value*, std::string> nodes_;
  std::unordered_map<const Op*, std::string> ops_;
};

}  // namespace

std::string print_dot(const Module& module, std::size_t max_nodes) {
  return DotPrinter(module, max_nodes).take();
}

}  // namespace revet
