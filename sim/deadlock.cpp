// Every stalled unit waits for a unit at the other end of one of its streams: the writer of an
// empty input, the reader of a full output, the free nodes of an empty pool. The chain follows
// these edges from a unit that holds something until a unit repeats (the cycle) or waits for
// nothing. Where a merge would take either side, the chain follows the one that is in trouble.
//
// The buffer to grow is found by trying: each full FIFO of the cycle (then of the graph) is made
// unlimited in a copy of the instance, which then runs on; where that frees the units of the chain,
// or goes on for long, a binary search finds the least capacity that does it.
#include "revet/sim/deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ports.hpp"
#include "revet/diagnostics.hpp"
#include "wait_chain.hpp"

namespace revet::sim {
namespace {

class Diagnosis {
 public:
  Diagnosis(const Instance& instance, const Continue& go_on)
      : g_(instance), graph_(instance.graph()), go_on_(go_on) {
    Instance probe = g_;
    probe.trace = nullptr;
    for (NodeId n = 0; n < probe.unit_count(); ++n) steps_.push_back(step(probe, n));
  }

  Deadlock explain() {
    Deadlock found;
    found.tokens = g_.tokens();
    chain_ = find_chain(found.cycle);
    for (const NodeId n : chain_) found.chain.push_back(wait_of(n));
    std::vector<std::uint32_t> tried;
    found.release = best_release(full_fifos(chain_), tried);
    if (!found.release) {
      std::vector<NodeId> all(g_.unit_count());
      for (NodeId n = 0; n < all.size(); ++n) all[n] = n;
      found.release = best_release(full_fifos(all), tried);
    }
    return found;
  }

 private:
  /// Trials end here: a run that has come so far has been released.
  static constexpr std::uint64_t trial_firings = 200'000;
  static constexpr std::size_t most_candidates = 32;

  // --- the chain

  /// It holds something back, or waits for what must come.
  static bool in_trouble(const Instance& g, NodeId n) {
    const Unit& u = g.unit(n);
    for (std::size_t i = 0; i < u.inputs; ++i)
      if (!g.input(u, i).empty()) return true;
    return g.busy(n);
  }
  bool in_trouble(NodeId n) const { return in_trouble(g_, n); }

  /// The full FIFO that keeps a unit from writing an output.
  std::uint32_t full_target(NodeId n) const {
    const Unit& u = g_.unit(n);
    for (const std::uint32_t f : g_.targets(u, steps_[n].port))
      if (g_.fifo(f).full()) return f;
    throw InternalError(fmt::format("{} is stalled on an output with room", describe(*u.node)));
  }

  /// The input that the chain follows from a unit stalled on inputs.
  std::uint32_t followed_input(NodeId n) const {
    const Unit& u = g_.unit(n);
    const std::vector<std::uint32_t> ports = waits_for_either(g_, n, steps_[n]);
    for (const std::uint32_t port : ports)
      if (in_trouble(g_.writer(u.first_in + port))) return port;
    return ports[0];
  }

  /// The unit that has to act first; no_node if there is none.
  NodeId next(NodeId n) const {
    const Unit& u = g_.unit(n);
    switch (steps_[n].stall) {
      case Stall::input: return g_.writer(u.first_in + followed_input(n));
      case Stall::output: return g_.reader(full_target(n));
      case Stall::pointer: return freeing_unit(u.node->pool);
      default: return no_node;
    }
  }

  NodeId freeing_unit(std::uint32_t pool) const {
    NodeId found = no_node;
    for (NodeId n = 0; n < g_.unit_count(); ++n) {
      const Node& node = *g_.unit(n).node;
      if (node.kind != NodeKind::free || node.pool != pool) continue;
      if (found == no_node || (!in_trouble(found) && in_trouble(n))) found = n;
    }
    return found;
  }

  std::vector<NodeId> find_chain(bool& cycle) const {
    return wait_chain(
        g_.unit_count(),
        [&](NodeId n) {
          return steps_[n].stall == Stall::output || steps_[n].stall == Stall::pointer;
        },
        [&](NodeId n) { return steps_[n].stall != Stall::ended && in_trouble(n); },
        [&](NodeId n) { return next(n); }, cycle);
  }

  // --- its description

  Wait wait_of(NodeId n) const {
    const Unit& u = g_.unit(n);
    Wait w;
    w.node = n;
    w.stall = steps_[n].stall;
    w.unit = describe(*u.node);
    w.loc = u.node->loc;
    w.holds = held_by(n);
    const NodeId other = next(n);
    if (other != no_node) w.from = describe(*g_.unit(other).node);
    switch (w.stall) {
      case Stall::input: {
        const std::uint32_t port = followed_input(n);
        w.port = input_name(graph_, *u.node, port);
        w.waits = awaited(u, port);
        w.depth = graph_.stream(u.node->in[port]).depth;
        break;
      }
      case Stall::output:
        w.port = output_name(graph_, *u.node, steps_[n].port);
        w.waits = "room";
        w.depth = graph_.stream(u.node->out[steps_[n].port]).depth;
        break;
      case Stall::pointer:
        w.port = fmt::format("pool '{}'", graph_.pools()[u.node->pool].name);
        w.waits = "a free pointer";
        w.depth = graph_.stream(u.node->out[0]).depth;
        break;
      default: break;
    }
    return w;
  }

  /// What has to come on an input.
  std::string awaited(const Unit& u, std::uint32_t port) const {
    const std::size_t n = u.outputs;
    if (u.kind == NodeKind::fb_merge && u.phase == 2) return fmt::format("Ω{}", u.level);
    if (u.kind == NodeKind::fb_merge && u.phase == 1) return "data or Ω1";
    if (u.kind == NodeKind::merge || u.kind == NodeKind::fb_merge) {
      // Of the same side first, then the barrier that the other side has come to.
      const std::size_t side = port < n ? 0 : n;
      for (std::size_t i = side; i < side + n; ++i)
        if (std::string token = counterpart(u, i); !token.empty()) return token;
      const std::size_t other = u.kind == NodeKind::merge ? n - side : n;
      const Fifo& across = g_.input(u, other);
      if (u.kind == NodeKind::merge && !across.empty() && !across.head().is_data())
        return counterpart(u, other);
      return "a token";
    }
    if (u.kind == NodeKind::broadcast) {
      if (port == n) return "a token";
      const Token b = g_.head(u, n);
      return b.level > u.node->number ? notation(barrier(b.level - u.node->number), Kind::none)
                                      : "data";
    }
    for (std::size_t i = 0; i < u.inputs; ++i)
      if (std::string token = counterpart(u, i); !token.empty()) return token;
    return "a token";
  }
  /// What goes with the token at an input: data, or an equal barrier; empty if it has none.
  std::string counterpart(const Unit& u, std::size_t input) const {
    const Fifo& f = g_.input(u, input);
    if (f.empty()) return "";
    return f.head().is_data() ? "data" : notation(f.head(), Kind::none);
  }

  std::string held_by(NodeId n) const {
    const Unit& u = g_.unit(n);
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
    for (std::size_t i = 0; i < u.inputs; ++i) {
      const Fifo& f = g_.input(u, i);
      if (f.empty()) continue;
      const Kind element = graph_.stream(u.node->in[i]).element;
      const Token head = f.head();
      std::string what = head.is_data() ? "data" : notation(head, element);
      if (head.is_data() && element != Kind::none) what += " " + notation(head, element);
      if (f.size() > 1) what += fmt::format(" and {} more", f.size() - 1);
      add(fmt::format("{} on {}", what, input_name(graph_, *u.node, i)));
    }
    if (u.kind == NodeKind::source && g_.busy(n))
      add(fmt::format("{} tokens to send", u.node->tokens.size() - u.progress));
    if (u.kind == NodeKind::reduce && u.progress != 0)
      add(fmt::format("the sum of {} elements", u.progress));
    if (u.kind == NodeKind::counter && u.phase != 0)
      add(fmt::format("{} indices to send", u.progress));
    if (is_memory_node(u.kind) && g_.memory_queue() != 0 && !g_.queue(u).empty())
      add(fmt::format("{} requests", g_.queue(u).size()));
    return text;
  }

  // --- the buffer to grow

  std::vector<std::uint32_t> full_fifos(const std::vector<NodeId>& units) const {
    std::vector<std::uint32_t> found;
    for (const NodeId n : units)
      if (steps_[n].stall == Stall::output) found.push_back(full_target(n));
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  /// Whether the units of the chain get on with another capacity of a FIFO; `peak` is what was
  /// used of it.
  bool released(std::uint32_t fifo, std::uint32_t capacity, std::uint32_t* peak) const {
    Instance trial = g_;
    trial.trace = nullptr;
    trial.memories.note_writes();
    trial.fifo(fifo).set_capacity(capacity);
    trial.fifo(fifo).reset_peak();
    for (NodeId n = 0; n < trial.unit_count(); ++n) trial.ready.add(n);
    bool goes_on = true;
    try {
      goes_on = go_on_(trial, trial_firings) ||
                std::none_of(chain_.begin(), chain_.end(),
                             [&](NodeId n) { return in_trouble(trial, n); });
    } catch (const Error&) {
      // The program has come to an error of its own.
    } catch (const InternalError&) {
      goes_on = false;
    }
    trial.memories.undo();
    if (peak) *peak = trial.fifo(fifo).peak();
    return goes_on;
  }

  std::optional<Release> best_release(const std::vector<std::uint32_t>& candidates,
                                      std::vector<std::uint32_t>& tried) const {
    std::optional<Release> best;
    for (const std::uint32_t f : candidates) {
      if (tried.size() == most_candidates) break;
      if (std::find(tried.begin(), tried.end(), f) != tried.end()) continue;
      tried.push_back(f);
      std::uint32_t too_small = g_.fifo(f).capacity();
      const std::uint32_t limit =
          best ? too_small + (best->needed - best->capacity) - 1 : Fifo::unlimited;
      std::uint32_t enough = 0;
      if (limit == too_small || !released(f, limit, &enough)) continue;
      enough = std::max(enough, too_small + 1);
      while (enough - too_small > 1) {
        const std::uint32_t middle = too_small + (enough - too_small) / 2;
        (released(f, middle, nullptr) ? enough : too_small) = middle;
      }
      best = describe_release(f, enough);
    }
    return best;
  }

  Release describe_release(std::uint32_t fifo, std::uint32_t needed) const {
    const Unit& reader = g_.unit(g_.reader(fifo));
    const Stream& stream = graph_.stream(reader.node->in[fifo - reader.first_in]);
    return {fifo,
            stream.name,
            describe(*g_.unit(g_.writer(fifo)).node),
            describe(*reader.node),
            g_.fifo(fifo).capacity(),
            needed,
            stream.loc};
  }

  const Instance& g_;
  const Graph& graph_;
  const Continue& go_on_;
  std::vector<Step> steps_;
  std::vector<NodeId> chain_;
};

}  // namespace

Deadlock diagnose(const Instance& instance, const Continue& go_on) {
  return Diagnosis(instance, go_on).explain();
}

std::string render(const Deadlock& deadlock) {
  const auto tokens = [](std::uint64_t n) {
    return fmt::format("{} token{}", n, n == 1 ? "" : "s");
  };
  std::string text = fmt::format("no unit can act, {} remain{}\n", tokens(deadlock.tokens),
                                 deadlock.tokens == 1 ? "s" : "");
  text += deadlock.cycle ? "each of these waits for the next, the last for the first:\n"
                         : "each of these waits for the next:\n";
  for (const Wait& w : deadlock.chain) {
    text += "  " + w.unit;
    if (w.stall == Stall::ended)
      text += " has sent everything";
    else
      text += fmt::format(" waits for {} on {} (depth {})", w.waits, w.port, w.depth);
    if (!w.from.empty())
      text += fmt::format(", {} {}", w.stall == Stall::input ? "from" : "to", w.from);
    if (!w.holds.empty()) text += "; holds " + w.holds;
    text += '\n';
  }
  if (const std::optional<Release>& r = deadlock.release)
    text += fmt::format(
        "the smallest buffer whose growth releases it: stream '{}' from {} to {}: "
        "{} instead of {}\n",
        r->stream, r->writer, r->reader, tokens(r->needed), r->capacity);
  else
    text += "no single buffer's growth releases it\n";
  return text;
}

}  // namespace revet::sim
