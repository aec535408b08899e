/// What the files of the naive timed engine share; see naive_timed.hpp.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "naive_timed.hpp"
#include "revet/sim/dram_system.hpp"

namespace revet::sim::test {

using Tokens = std::vector<Token>;

struct NaiveLink {
  struct Sent {  ///< a vector, or an element of a scalar link
    Cycle arrival;
    std::deque<Token> tokens;
    std::uint32_t room;
  };
  Mapping::Input timing;
  std::deque<Sent> sent;
  std::deque<std::pair<Cycle, std::uint32_t>> credits;
  std::uint32_t used = 0;
  Cycle last_arrival = 0;
  std::vector<Cycle> ends;  ///< scalar: when each vector's last element has left the pipeline
  LinkCounts counts;

  /// What a reader can take.
  Tokens waiting(Cycle now) const;
  void take(std::size_t tokens, Cycle now);
  bool room(Cycle now);
  void send(const Tokens& tokens, Cycle now, Cycle extra);
};

struct NaiveRequest {
  Tokens results;  ///< of the first output, barrier included
  unsigned open = 0;
  Cycle ready = 0;
};

struct NaiveBurst {
  std::uint64_t address, request;
  unsigned halves;
  bool write;
  std::uint32_t unit;       ///< bulk: of the buffer
  std::uint64_t bytes = 0;  ///< bulk: of all lanes
};

struct NaiveNode {
  NodeId id = 0;
  const Node* node = nullptr;
  std::vector<NaiveLink*> in;
  std::vector<std::vector<NaiveLink*>> out;
  Tokens to_send;                       ///< source
  std::size_t position = 0;             ///< source, deal
  bool closed = false;                  ///< sink
  bool from_second = false;             ///< merge
  std::uint32_t index = 0, stride = 0;  ///< counter
  std::uint64_t left = 0;
  bool counting = false;
  std::vector<std::uint32_t> elements;  ///< reduce: of the list
  enum { forward, drain, round } phase = forward;
  unsigned level = 0;  ///< of the barrier that goes round
  bool seen = false;
  Cycle working_until = 0;
  std::deque<NaiveRequest> requests;
  std::uint64_t first_request = 0;
  std::deque<NaiveBurst> bursts;
  unsigned outstanding = 0;
  UnitCycles::State state = UnitCycles::idle;
  NaiveLink* without_room = nullptr;  ///< of the last attempt
  /// What it waited for since: numbers of links.
  std::optional<std::size_t> waits_for_input, waits_for_room;
};

struct NaivePort {
  Cycle free = 0;
  std::deque<NodeId> waiting;
};

enum class Did { acted, no_input, no_room, no_memory, no_answer };

struct Naive {
  const Graph& graph;
  const Mapping& mapping;
  const Machine& machine;
  const TimedOptions& options;
  Memories memories;
  DramSystem dram;
  Cycle now = 0;
  TimedResult result;
  std::vector<NaiveLink> links;
  std::vector<NaiveNode> nodes;
  std::vector<NaivePort> read_ports, write_ports;  ///< per unit
  /// Of writing or reading, by unit and bank: when it has served what waits for it.
  std::map<std::tuple<bool, std::uint32_t, std::uint64_t>, Cycle> served_by;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> freed;
  std::vector<std::uint64_t> array_base;
  struct Issued {
    NaiveNode* node;
    std::uint64_t request;
    std::uint32_t unit;
    std::uint64_t bytes;
  };
  std::map<std::uint64_t, Issued> issued;
  std::uint64_t next_burst = 0;

  /// The tokens that all of inputs first .. first+count-1 have; nothing if one has none.
  Tokens common(const NaiveNode& n, std::size_t first, std::size_t count) const;
  /// What input i has, as many tokens as `like`.
  Tokens of_input(const NaiveNode& n, std::size_t i, const Tokens& like) const;
  void take(NaiveNode& n, std::size_t i, std::size_t tokens);
  void take_all(NaiveNode& n, std::size_t tokens);
  bool room(NaiveNode& n);
  /// The first input without which the node cannot act, of those that it looks at.
  std::optional<std::size_t> missing(const NaiveNode& n) const;
  void send(NaiveNode& n, std::size_t output, const Tokens& tokens, Cycle extra = 0);
  bool carries_data(StreamId s) const { return graph.stream(s).element != Kind::none; }

  Did act(NaiveNode& n);
  Did act_memory(NaiveNode& n);
  void finish_bursts();

 private:
  Did source(NaiveNode& n);
  Did context(NaiveNode& n);
  Did broadcast(NaiveNode& n);
  Did counter(NaiveNode& n);
  Did reduce(NaiveNode& n);
  Did lower(NaiveNode& n);
  Did filter(NaiveNode& n);
  Did merge(NaiveNode& n);
  Did header(NaiveNode& n);
  void join(NaiveNode& n, std::size_t first, std::size_t from_first, bool first_barrier,
            std::size_t second, std::size_t from_second, bool second_barrier, unsigned level);
  bool passes(NaiveNode& n);
  Did sram(NaiveNode& n);
  Did alloc(NaiveNode& n);
  Did free(NaiveNode& n);
  Did off_chip(NaiveNode& n);
  void accept(NaiveNode& n, const Tokens& tokens);
  void add_bulk(NaiveNode& n, const std::vector<std::uint32_t>& x, std::uint64_t number,
                std::map<std::uint32_t, std::uint64_t>& port_bytes);
  std::vector<std::uint32_t> operands(const NaiveNode& n, std::size_t lane) const;
  bool is_on(const NaiveNode& n, std::size_t lane) const;
  std::uint32_t perform(const NaiveNode& n, const std::vector<std::uint32_t>& x);
  std::uint32_t home(std::uint32_t sram, std::uint32_t pointer) const;
  std::uint64_t bank_of(std::uint64_t word) const;
  bool may_use(const NaivePort& port, NodeId n) const;
  void use(NaivePort& port, Cycle until) const;
};

inline std::size_t lanes_in(const Tokens& t) {
  return t.size() - (!t.empty() && !t.back().is_data() ? 1 : 0);
}
inline unsigned level_of(const Tokens& t) { return t.empty() ? 0 : t.back().level; }
/// To DRAM or from it.
bool is_off_chip(NodeKind kind);

}  // namespace revet::sim::test
