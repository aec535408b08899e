#include "revet/sim/trace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ports.hpp"

namespace revet::sim {

void Trace::only(const std::vector<StreamId>& streams) {
  kept_.assign(streams_.size(), false);
  for (const StreamId s : streams) kept_[s] = true;
}

void Trace::record(StreamId stream, Token token) {
  if (!kept_.empty() && !kept_[stream]) return;
  Token next;
  do {
    next = open_[stream].first(token);
    open_[stream].pass(next);
    streams_[stream].push_back(next);
  } while (next != token);
}

std::string Trace::text(const Graph& graph, Form form) const {
  std::string text;
  for (StreamId s = 0; s < streams_.size(); ++s) {
    if (!kept_.empty() && !kept_[s]) continue;
    const Stream& stream = graph.stream(s);
    text += fmt::format(
        "{} (depth {}, {}): {}\n", stream.name, stream.depth, Type{stream.element}.str(),
        notation(form == Form::link ? encode(streams_[s]) : streams_[s], stream.element));
  }
  return text;
}

// --- checking -----------------------------------------------------------------------------------

namespace {

/// The lists of a stream: data without its content, and barriers.
using Lists = std::vector<unsigned>;  // 0 is data

Lists lists_of(const std::vector<Token>& tokens) {
  Lists lists;
  for (const Token t : tokens) lists.push_back(t.level);
  return lists;
}

/// Without data.
Lists barriers(const Lists& lists) {
  Lists kept;
  for (const unsigned level : lists)
    if (level != 0) kept.push_back(level);
  return kept;
}

/// What remains of the lists when `levels` dimensions become single elements: `with_elements`
/// keeps one for each list of that dimension, as a reduction does.
Lists outer(const Lists& lists, unsigned levels, bool with_elements) {
  Lists kept;
  for (const unsigned level : lists)
    if (level > levels || (with_elements && level == levels)) kept.push_back(level - levels);
  return kept;
}

/// As a flatten makes them.
Lists flattened(const Lists& lists) {
  Lists kept;
  for (const unsigned level : lists)
    if (level != 1) kept.push_back(level == 0 ? 0 : level - 1);
  return kept;
}

/// Elements between barriers.
std::vector<std::size_t> counts(const Lists& lists) {
  std::vector<std::size_t> found(1, 0);
  for (const unsigned level : lists)
    if (level == 0)
      ++found.back();
    else
      found.push_back(0);
  return found;
}

std::size_t elements(const Lists& lists) {
  return static_cast<std::size_t>(std::count(lists.begin(), lists.end(), 0u));
}

class Checker {
 public:
  Checker(const Graph& graph, const Trace& trace) {
    for (StreamId s = 0; s < graph.streams().size(); ++s) {
      lists_.push_back(lists_of(trace.of(s)));
      check_tensor(graph.stream(s), trace.of(s));
    }
    for (const Node& node : graph.nodes()) check_node(node);
  }
  std::vector<std::string> take() { return std::move(faults_); }

 private:
  void check_tensor(const Stream& stream, const std::vector<Token>& tokens) {
    const auto fault = [&](std::size_t i, const char* what) {
      faults_.push_back(fmt::format("stream '{}', token {}: {}", stream.name, i, what));
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Token t = tokens[i];
      if (t.level > stream.depth) return fault(i, "a barrier above the stream's depth");
      if (t.level == stream.depth && i + 1 != tokens.size())
        return fault(i + 1, "a token after the closing barrier");
    }
    if (tokens.empty() || tokens.back().level != stream.depth)
      fault(tokens.size(), "the closing barrier is missing");
  }

  const Lists& in(const Node& node, std::size_t i) const { return lists_[node.in[i]]; }
  const Lists& out(const Node& node, std::size_t i) const { return lists_[node.out[i]]; }

  void require(const Node& node, bool holds, const char* what) {
    if (!holds) faults_.push_back(fmt::format("{}: {}", describe(node), what));
  }
  void require_bundle(const Node& node, const Bundle& streams, std::size_t first, std::size_t count,
                      const char* side) {
    for (std::size_t i = first + 1; i < first + count; ++i)
      require(node, lists_[streams[i]] == lists_[streams[first]], side);
  }

  void check_node(const Node& node) {
    const std::size_t n = node.out.size();
    static constexpr const char* inputs_differ = "inputs of a bundle have different lists";
    require_bundle(node, node.out, 0, n, "outputs have different lists");
    switch (node.kind) {
      case NodeKind::source:
      case NodeKind::sink: return;
      case NodeKind::broadcast:
        require_bundle(node, node.in, 0, n, inputs_differ);
        require(node, out(node, 0) == in(node, n), "the outputs' lists are not those of b");
        require(node, in(node, 0) == outer(in(node, n), node.number, true),
                "a has not one element for each list of b");
        return;
      case NodeKind::counter:
        require_bundle(node, node.in, 0, 3, inputs_differ);
        require(node, in(node, 0) == outer(out(node, 0), 1, true),
                "the output has not one list for each element");
        return;
      case NodeKind::reduce:
        require(node, out(node, 0) == outer(in(node, 0), 1, true),
                "the output has not one element for each list");
        return;
      case NodeKind::flatten:
      case NodeKind::strip:
        require_bundle(node, node.in, 0, n, inputs_differ);
        require(node, out(node, 0) == flattened(in(node, 0)), "the output is not one level less");
        return;
      case NodeKind::filter:
        require_bundle(node, node.in, 0, n + 1, inputs_differ);
        require(node, barriers(out(node, 0)) == barriers(in(node, 0)), "barriers differ");
        require(node, elements(out(node, 0)) <= elements(in(node, 0)), "elements were added");
        return;
      case NodeKind::merge: return check_merge(node, n);
      case NodeKind::fb_merge: return check_header(node, n);
      default:
        require_bundle(node, node.in, 0, node.in.size(), inputs_differ);
        require(node, out(node, 0) == in(node, 0), "the outputs' lists are not the inputs'");
    }
  }

  void check_merge(const Node& node, std::size_t n) {
    require_bundle(node, node.in, 0, n, "inputs a have different lists");
    require_bundle(node, node.in, n, n, "inputs b have different lists");
    const bool equal = barriers(in(node, 0)) == barriers(in(node, n)) &&
                       barriers(in(node, 0)) == barriers(out(node, 0));
    require(node, equal, "barriers differ");
    if (!equal) return;
    std::vector<std::size_t> sum = counts(in(node, 0));
    const std::vector<std::size_t> b = counts(in(node, n));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
    require(node, sum == counts(out(node, 0)), "an element changed its list, or was lost");
  }

  void check_header(const Node& node, std::size_t n) {
    require_bundle(node, node.in, 0, n, "forward inputs have different lists");
    require_bundle(node, node.in, n, n, "back inputs have different lists");
    require(node, barriers(in(node, n)) == barriers(out(node, 0)),
            "the barriers that came back are not those that were sent");
    require(node, barriers(in(node, 0)) == outer(out(node, 0), 1, false),
            "the lists of the loop are not those that entered it");
    require(node, elements(out(node, 0)) == elements(in(node, 0)) + elements(in(node, n)),
            "an element was lost");
  }

  std::vector<Lists> lists_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> check_barriers(const Graph& graph, const Trace& trace) {
  return Checker(graph, trace).take();
}

}  // namespace revet::sim
