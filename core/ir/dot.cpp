/// Pictures of modules for Graphviz.
///
/// Every region is a cluster, and so is every block of a region that has several, called as in the
/// text. Values are edges labelled with their type, which of a stream is its element, depth and
/// kind of link. Branches are bold edges labelled with their terminator. A flow.context has no node
/// of its own: its streams come in at the arguments of its body and leave at its flow.yield.
///
/// Branches between clusters make cycles of clusters, which dot ranks with `newrank` only.
#include "dot.hpp"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "revet/ops.hpp"
#include "revet/text.hpp"

namespace revet {

std::string dot_quoted(std::string_view text) {
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

namespace {

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
    for (const Op& op : module.body()) number(op);
    out_ =
        "digraph revet {\n  compound=true;\n  newrank=true;\n  node [shape=box, "
        "fontname=\"monospace\"];\n";
    block(module.body(), 0, 1);
    if (hidden_ != 0) {
      out_ +=
          fmt::format("  label={};\n",
                      dot_quoted(fmt::format("{} of {} ops are drawn", total - hidden_, total)));
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
                          dot_quoted(fmt::format("%{}: {}", arg->name(), arg->type().str())));
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
                        dot_quoted(fmt::format("and {} more ops", skipped)));
  }

  /// As the printer does.
  void number(const Op& op) {
    for (const auto& r : op.regions())
      for (const auto& b : r->blocks()) {
        blocks_.emplace(b.get(), static_cast<unsigned>(blocks_.size()));
        for (const Op& inner : *b) number(inner);
      }
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
      out_ += fmt::format("{}{} [label={}{}];\n", pad, id, dot_quoted(label),
                          closed ? ", style=bold" : "");
      return;
    }
    out_ += fmt::format("{}subgraph cluster_{} {{\n{}  label={};\n", pad, id, pad,
                        dot_quoted(op.is(ops::flow_context) ? label : op.name()));
    for (unsigned i = 0; i < op.num_regions(); ++i) region(op.region(i), i, depth, indent);
    const Op* yield = op.is(ops::flow_context) ? op.body().last() : nullptr;
    if (const auto at = ops_.find(yield); yield && at != ops_.end()) {
      opened_.insert(&op);
      for (const auto& r : op.results()) nodes_[r.get()] = at->second;
    } else {
      out_ += fmt::format("{}  {} [label={}];\n", pad, id, dot_quoted(label));
    }
    out_ += pad + "}\n";
  }

  void region(const Region& r, unsigned number, unsigned depth, unsigned indent) {
    const std::string pad(2 * indent, ' ');
    const bool several = r.blocks().size() > 1;
    if (several)
      out_ += fmt::format("{}  subgraph cluster_r{} {{\n{}    label={};\n", pad, clusters_++, pad,
                          dot_quoted(fmt::format("region {}", number)));
    for (const auto& b : r.blocks()) {
      const unsigned at = clusters_++;
      clusters_of_[b.get()] = at;
      const std::string name =
          several ? fmt::format("^bb{}", blocks_.at(b.get())) : fmt::format("region {}", number);
      out_ += fmt::format("{}  subgraph cluster_b{} {{\n{}    label={};\n", pad, at, pad,
                          dot_quoted(name));
      block(*b, depth + 1, indent + (several ? 3 : 2));
      out_ += pad + "  }\n";
    }
    if (several) out_ += pad + "  }\n";
  }

  /// Edges between what is drawn; what is inside a closed op begins or ends at it.
  void edges(const Op& op) {
    const std::string* to = drawn(&op);
    if (!to) return;
    // Those between the same two nodes are one edge: dot takes long for many.
    std::map<std::pair<std::string, std::string>, std::map<std::string, unsigned>> values;
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      const Value* v = op.operand(i);
      const std::string* from = source(v);
      const std::string& target = opened_.count(&op) ? nodes_[op.body().arg(i)] : *to;
      if (from && *from != target) ++values[{*from, target}][v->type().str()];
    }
    for (const auto& [ends, types] : values) {
      std::string label;
      for (const auto& [type, n] : types)
        label += fmt::format("{}{}{}", label.empty() ? "" : "\n",
                             n > 1 ? fmt::format("{} x ", n) : "", type);
      edge(ends.first, ends.second, "", label);
    }
    if (ops_.count(&op) == 0) return;
    for (unsigned i = 0; i < op.num_successors(); ++i) {
      const Block* b = op.successor(i);
      const Op* first = b->first();
      if (!first || ops_.count(first) == 0) continue;
      // An edge cannot end at the cluster that it begins in.
      const std::string head =
          op.block() == b ? "" : fmt::format("lhead=cluster_b{}, ", clusters_of_.at(b));
      edge(*to, ops_[first], "style=bold, " + head, branch(op, i));
    }
  }

  /// One that goes back does not take part in the order of ranks, which has no cycles then.
  void edge(const std::string& from, const std::string& to, const std::string& how,
            const std::string& label) {
    const bool back = std::stoul(from.substr(1)) > std::stoul(to.substr(1));
    out_ += fmt::format("  {} -> {} [{}{}label={}];\n", from, to, how,
                        back ? "constraint=false, " : "", dot_quoted(label));
  }

  /// Where a value comes from, as far as it is drawn.
  const std::string* source(const Value* v) const {
    if (const auto at = nodes_.find(v); at != nodes_.end()) return &at->second;
    if (v->def())
      if (const std::string* at = drawn(v->def())) return at;
    return v->block()->parent_op() ? drawn(v->block()->parent_op()) : nullptr;
  }

  /// The kind of an edge of control: the terminator, which of its successors, its attributes.
  static std::string branch(const Op& op, unsigned successor) {
    std::string text = op.name();
    if (op.is(ops::cfg_cond_br)) text += successor == 0 ? " true" : " false";
    if (op.is(ops::cfg_foreach_enter)) text += successor == 0 ? " child" : " behind";
    for (const auto& [name, attr] : op.attrs())
      text += attr == Attr(true) ? " " + name : fmt::format(" {} = {}", name, attr.str());
    return text;
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
  std::unordered_map<const Block*, unsigned> blocks_;       ///< N of ^bbN
  std::unordered_map<const Block*, unsigned> clusters_of_;  ///< of those that are drawn
  std::unordered_set<const Op*> opened_;                    ///< contexts drawn without a node
};

}  // namespace

std::string print_dot(const Module& module, std::size_t max_nodes) {
  return DotPrinter(module, max_nodes).take();
}

}  // namespace revet
