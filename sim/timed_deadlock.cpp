// Why a timed run cannot go on: as deadlock.cpp does, by following from a node that is stalled to
// the one at the other end of what it waits for. The buffer to grow is found by letting copies of
// the run go on with it.
#include <fmt/format.h>

#include <algorithm>

#include "ports.hpp"
#include "revet/diagnostics.hpp"
#include "timed_instance.hpp"
#include "wait_chain.hpp"

namespace revet::sim {

class TimedDiagnosis {
 public:
  explicit TimedDiagnosis(const TimedInstance& instance) : g_(instance) {}

  /// Asks each node what it waits for, once everything has come to rest: an attempt that succeeded
  /// would write to memory, which copies share.
  void ask() {
    TimedInstance probe = g_;
    probe.quiet_ = true;
    for (TimedNode& n : probe.nodes_) stalls_.push_back(n.step(probe, n));
  }

  std::string deadlock() const {
    Deadlock found;
    found.tokens = g_.tokens();
    const std::vector<std::uint32_t> chain = find_chain(found.cycle);
    for (const std::uint32_t n : chain) found.chain.push_back(wait_of(n));
    found.release = release(chain);
    return fmt::format("deadlock at cycle {}: {}", g_.now, render(found));
  }

  std::string no_end(const std::string& what) const {
    std::string text = fmt::format("{}; {} tokens are under way\n", what, g_.tokens());
    for (const TimedNode& n : g_.nodes_) {
      if (n.kind != NodeKind::fb_merge || n.phase == 0) continue;
      text += fmt::format("  {} waits for {}\n", g_.describe(n),
                          n.phase == 1 ? "the threads of its loop to leave" : "its last barrier");
    }
    return text;
  }

 private:
  static constexpr std::uint32_t none = no_node;
  static constexpr Cycle trial_cycles = 100'000;
  static constexpr std::size_t most_candidates = 32;

  const TimedNode& node(std::uint32_t n) const { return g_.nodes_[n]; }

  bool in_trouble(std::uint32_t n) const {
    const TimedNode& t = node(n);
    if (stalls_[n].kind == Attempt::ended) return false;
    for (std::size_t i = 0; i < t.inputs; ++i)
      if (!g_.input(t, i).empty()) return true;
    return t.phase != 0 || t.kind == NodeKind::source || t.kind == NodeKind::sink ||
           (t.kind == NodeKind::reduce && t.progress != 0);
  }

  /// Inputs of which one at least has to come; the first is what the node says.
  std::vector<std::uint32_t> awaited_inputs(std::uint32_t n) const {
    const TimedNode& t = node(n);
    std::vector<std::uint32_t> ports{stalls_[n].port};
    const bool merging =
        t.kind == NodeKind::merge || (t.kind == NodeKind::fb_merge && t.phase == 0);
    if (!merging) return ports;
    // Also the other side, where nothing of it has come.
    const std::size_t other = ports[0] < t.outputs ? t.outputs : 0;
    for (std::size_t i = other; i < other + t.outputs; ++i)
      if (g_.input(t, i).empty()) {
        ports.push_back(static_cast<std::uint32_t>(i));
        break;
      }
    return ports;
  }

  std::uint32_t followed_input(std::uint32_t n) const {
    const std::vector<std::uint32_t> ports = awaited_inputs(n);
    for (const std::uint32_t port : ports)
      if (in_trouble(g_.writers_[node(n).first_in + port])) return port;
    return ports[0];
  }

  std::uint32_t full_channel(std::uint32_t n) const {
    for (const std::uint32_t c : g_.targets(node(n), stalls_[n].port))
      if (g_.channels_[c].used() >= g_.channels_[c].capacity()) return c;
    return none;
  }

  std::uint32_t next(std::uint32_t n) const {
    const TimedNode& t = node(n);
    switch (stalls_[n].kind) {
      case Attempt::no_input: return g_.writers_[t.first_in + followed_input(n)];
      case Attempt::no_output: {
        const std::uint32_t c = full_channel(n);
        return c == none ? none : g_.readers_[c];
      }
      case Attempt::no_memory: {
        if (t.kind != NodeKind::alloc) return none;
        std::uint32_t found = none;
        for (std::uint32_t i = 0; i < g_.nodes_.size(); ++i)
          if (node(i).kind == NodeKind::free && node(i).node->pool == t.node->pool &&
              (found == none || (!in_trouble(found) && in_trouble(i))))
            found = i;
        return found;
      }
      default: return none;
    }
  }

  std::vector<std::uint32_t> find_chain(bool& cycle) const {
    return wait_chain(
        g_.nodes_.size(),
        [&](std::uint32_t n) {
          return stalls_[n].kind == Attempt::no_output || stalls_[n].kind == Attempt::no_memory;
        },
        [&](std::uint32_t n) { return in_trouble(n); }, [&](std::uint32_t n) { return next(n); },
        cycle);
  }

  Wait wait_of(std::uint32_t i) const {
    const TimedNode& n = node(i);
    Wait w;
    w.unit = g_.describe(n);
    w.loc = n.node->loc;
    w.holds = held_by(n);
    if (const std::uint32_t other = next(i); other != none) w.from = g_.describe(node(other));
    switch (stalls_[i].kind) {
      case Attempt::no_input: {
        const std::uint32_t port = followed_input(i);
        w.stall = Stall::input;
        w.port = input_name(g_.graph, *n.node, port);
        w.waits = n.kind == NodeKind::fb_merge && n.phase == 2   ? fmt::format("Ω{}", n.level)
                  : n.kind == NodeKind::fb_merge && n.phase == 1 ? "data or Ω1"
                                                                 : "a token";
        w.depth = g_.graph.stream(n.node->in[port]).depth;
        break;
      }
      case Attempt::no_output:
        w.stall = Stall::output;
        w.port = output_name(g_.graph, *n.node, stalls_[i].port);
        w.waits = "room";
        w.depth = g_.graph.stream(n.node->out[stalls_[i].port]).depth;
        break;
      case Attempt::no_memory:
        w.stall = Stall::pointer;
        w.port = n.kind == NodeKind::alloc
                     ? fmt::format("pool '{}'", g_.graph.pools()[n.node->pool].name)
                     : "its memory";
        w.waits = n.kind == NodeKind::alloc ? "a free pointer" : "an answer";
        w.depth = g_.graph.stream(n.node->out[0]).depth;
        break;
      default: w.stall = Stall::ended; break;
    }
    return w;
  }

  std::string held_by(const TimedNode& n) const {
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
    for (std::size_t i = 0; i < n.inputs; ++i) {
      const Channel& c = g_.input(n, i);
      if (c.empty()) continue;
      const View v = c.peek(Channel::never);
      const std::string what = v.lanes != 0 ? "data" : notation(barrier(v.level), Kind::none);
      const std::uint64_t more = c.tokens() - 1;
      add(fmt::format("{}{} on {}", what, more != 0 ? fmt::format(" and {} more", more) : "",
                      input_name(g_.graph, *n.node, i)));
    }
    if (n.kind == NodeKind::source && n.progress < g_.tokens_of(n).size())
      add(fmt::format("{} tokens to send", g_.tokens_of(n).size() - n.progress));
    if (n.kind == NodeKind::reduce && n.progress != 0)
      add(fmt::format("the sum of {} elements", n.progress));
    if (n.kind == NodeKind::counter && n.phase != 0)
      add(fmt::format("{} indices to send", n.progress));
    return text;
  }

  // --- the buffer to grow

  /// Whether nodes of the chain act again with that capacity.
  bool released(std::uint32_t channel, std::uint32_t capacity,
                const std::vector<std::uint32_t>& chain) const {
    TimedInstance trial = g_;
    trial.memories.note_writes();
    trial.channels_[channel].set_capacity(capacity);
    for (std::uint32_t n = 0; n < trial.nodes_.size(); ++n) trial.wake(n, trial.now + 1);
    bool goes_on = true;
    try {
      trial.quiet_ = true;
      const auto end = trial.loop(trial.now + trial_cycles);
      goes_on = end != TimedOutcome::finished || trial.finished();
      if (end == TimedOutcome::finished && !goes_on) {
        TimedDiagnosis after(trial);
        after.ask();
        goes_on = std::none_of(chain.begin(), chain.end(),
                               [&](std::uint32_t n) { return after.in_trouble(n); });
      }
    } catch (const Error&) {
      // The program has come to an error of its own.
    } catch (const InternalError&) {
      goes_on = false;
    }
    trial.memories.undo();
    return goes_on;
  }

  std::optional<Release> release(const std::vector<std::uint32_t>& chain) const {
    std::vector<std::uint32_t> candidates;
    const auto collect = [&](std::uint32_t n) {
      if (stalls_[n].kind != Attempt::no_output) return;
      const std::uint32_t c = full_channel(n);
      if (c != none && std::find(candidates.begin(), candidates.end(), c) == candidates.end())
        candidates.push_back(c);
    };
    for (const std::uint32_t n : chain) collect(n);
    for (std::uint32_t n = 0; n < g_.nodes_.size(); ++n) collect(n);
    if (candidates.size() > most_candidates) candidates.resize(most_candidates);
    std::optional<Release> best;
    for (const std::uint32_t c : candidates) {
      const std::uint32_t is = g_.channels_[c].capacity();
      std::uint32_t too_small = is;
      std::uint32_t enough = best ? is + (best->needed - best->capacity) - 1 : 1u << 20;
      if (enough <= too_small || !released(c, enough, chain)) continue;
      while (enough - too_small > 1) {
        const std::uint32_t middle = too_small + (enough - too_small) / 2;
        (released(c, middle, chain) ? enough : too_small) = middle;
      }
      const TimedNode& reader = node(g_.readers_[c]);
      const Stream& stream = g_.graph.stream(reader.node->in[c - reader.first_in]);
      best =
          Release{c,      stream.name, g_.describe(node(g_.writers_[c])), g_.describe(reader), is,
                  enough, stream.loc};
    }
    return best;
  }

  const TimedInstance& g_;
  std::vector<Attempt> stalls_;
};

std::string diagnose(TimedInstance& g, TimedOutcome outcome) {
  TimedDiagnosis diagnosis(g);
  switch (outcome) {
    case TimedOutcome::deadlock: diagnosis.ask(); return diagnosis.deadlock();
    case TimedOutcome::no_progress:
      return diagnosis.no_end(
          fmt::format("no progress: no thread ended from cycle {} to {} (option no-progress = {})",
                      g.last_progress, g.now, g.options.no_progress));
    default:
      return diagnosis.no_end(
          fmt::format("the cycle limit was reached: {} (option max-cycles); a thread ended last at "
                      "cycle {}",
                      g.now, g.last_progress));
  }
}

}  // namespace revet::sim
