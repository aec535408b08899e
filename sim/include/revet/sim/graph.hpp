/// Flow graphs: nodes joined by streams (docs, "Nodes"). A graph is only a description; engines run
/// it and never change it.
///
/// A stream has one writer and any number of readers: each reader has a FIFO of its own, and a
/// token enters all of them at once or none. Streams that carry the live values of one thread are a
/// bundle; filter, merge and fb_merge act on all streams of a bundle at once. A fork is a counter,
/// a broadcast of the thread's bundle, and a flatten.
///
/// Ports, in order. `x..`: any number; voids order a memory operation; [pred] is there only if
/// `predicated`, [high] only if `wide_base`, [desired] only for cas.
///
///   kind                   in                                          out             depth
///   source                                                             x               k
///   sink                   x                                                           k
///   context                x..                                         y..             k -> k
///   broadcast              a.. (k), b (k+levels)                       y..             k+levels
///   counter                min, max, step                              index           k -> k+1
///   reduce                 x                                           acc             k+1 -> k
///   flatten, strip         x..                                         y..             k+1 -> k
///   filter                 pred, x..                                   y..             k -> k
///   merge                  a.., b..                                    y..             k -> k
///   fb_merge               forward.. (k), back.. (k+1)                 y..             k+1
///   deal                   x..                                         y.., key        k -> k
///   buffer                 x                                           y               k -> k
///   void_join              x..                                         void            k -> k
///   dram_load              index, voids.., [pred]                      result, void    k -> k
///   dram_store             index, value, voids.., [pred]               void            k -> k
///   dram_atomic            index, value, [desired], voids.., [pred]    result, void    k -> k
///   sram_load, _store, _atomic: a pointer, then as for DRAM
///   bulk_load, bulk_store  pointer, base, [high], valid, voids.., [pred]  void         k -> k
///   sram_fill              pointer, voids.., [pred]                    void            k -> k
///   alloc                  voids.., [pred]                             pointer, void   k -> k
///   free                   pointer, voids.., [pred]                    void            k -> k
#pragma once

#include <string>
#include <vector>

#include "revet/diagnostics.hpp"
#include "revet/scalar.hpp"
#include "revet/sim/memory.hpp"
#include "revet/sim/program.hpp"
#include "revet/sim/stream.hpp"

namespace revet::sim {

enum class NodeKind : std::uint8_t {
  source,
  sink,
  context,
  broadcast,
  counter,
  reduce,
  flatten,
  strip,
  filter,
  merge,
  fb_merge,
  deal,
  buffer,
  void_join,
  dram_load,
  dram_store,
  dram_atomic,
  sram_load,
  sram_store,
  sram_atomic,
  bulk_load,
  bulk_store,
  sram_fill,
  alloc,
  free,
};
const char* node_kind_name(NodeKind kind);
/// Nodes whose requests a memory or a pool answers: dram_load .. free.
inline bool is_memory_node(NodeKind kind) { return kind >= NodeKind::dram_load; }

using StreamId = std::uint32_t;
using NodeId = std::uint32_t;
using Bundle = std::vector<StreamId>;
inline constexpr StreamId no_stream = ~0u;
inline constexpr NodeId no_node = ~0u;

/// Name and place of a node, for messages.
struct At {
  At(const char* n) : name(n) {}
  At(std::string n, Loc l = {}) : name(std::move(n)), loc(l) {}
  std::string name;
  Loc loc;
};

/// A port of a node.
struct Port {
  NodeId node = no_node;
  std::uint32_t index = 0;
};

struct Stream {
  std::string name;
  Loc loc;
  Kind element = Kind::none;
  unsigned depth = 1;
  /// Tokens that each reader's FIFO holds (but a buffer's, which has its own number); 0: the engine
  /// decides.
  std::uint32_t capacity = 0;
  bool unused = false;  ///< has no reader, and is not meant to have one
  bool scalar = false;  ///< its link carries one element per cycle (timed engine)

  Port writer;
  std::vector<Port> readers;
};

struct Node {
  NodeKind kind = NodeKind::context;
  std::string name;
  Loc loc;
  Bundle in;
  Bundle out;

  std::vector<Token> tokens;  ///< source: what it sends, in any legal spelling
  Program program;            ///< context
  std::uint32_t number = 0;   ///< broadcast: levels; deal: keys; buffer: depth
  Reduction reduction{};      ///< reduce, unless void
  bool polarity = true;       ///< filter: which elements pass
  Atomic atomic{};            ///< atomics
  std::uint32_t dram = 0;     ///< DRAM array of DRAM and bulk nodes
  std::uint32_t sram = 0;     ///< SRAM of SRAM and bulk nodes
  std::uint32_t pool = 0;     ///< of alloc and free
  bool predicated = false;    ///< memory nodes: the last input is the predicate
  /// Bulk nodes: `base` and `high` are the words of a 64-bit position; else base alone is it,
  /// extended by its signedness.
  bool wide_base = false;
  bool length_predicates = false;  ///< bulk nodes: a negative length is no access

  /// Bulk nodes: the input that is the length.
  std::size_t length_input() const { return wide_base ? 3 : 2; }
};

class Graph {
 public:
  // --- the general interface

  std::uint32_t dram(std::string name, Kind element);
  std::uint32_t sram(std::string name, Kind element, std::uint32_t size, std::uint32_t pointers);
  std::uint32_t pool(std::string name, std::uint32_t pointers, std::uint32_t regions = 1);
  /// A stream whose writer and readers are added later.
  StreamId stream(Kind element, unsigned depth, At at);
  NodeId add(Node node);
  /// Connects an input that was no_stream when the node was added.
  void connect(NodeId node, std::size_t input, StreamId stream);
  /// See Stream::capacity.
  void set_capacity(StreamId stream, std::uint32_t tokens) { streams_[stream].capacity = tokens; }
  void set_scalar(StreamId stream, bool scalar) { streams_[stream].scalar = scalar; }
  /// Says that nothing reads the stream.
  void unused(StreamId stream) { streams_[stream].unused = true; }

  /// Reports everything that keeps the graph from running; see validate.cpp for the checks.
  void validate(Diagnostics& diagnostics) const;

  const std::vector<Stream>& streams() const { return streams_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Stream& stream(StreamId id) const { return streams_[id]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const std::vector<DramDecl>& drams() const { return drams_; }
  const std::vector<SramDecl>& srams() const { return srams_; }
  const std::vector<PoolDecl>& pools() const { return pools_; }

  // --- one function per kind of node: adds it and gives its new output streams

  /// A thread's value, then Ω1.
  StreamId source(Kind element, std::uint32_t bits, At at);
  StreamId source(Kind element, unsigned depth, std::vector<Token> tokens, At at);
  NodeId sink(StreamId x, At at);
  Bundle context(Program program, Bundle x, At at);
  Bundle broadcast(Bundle a, StreamId b, unsigned levels, At at);
  StreamId counter(StreamId min, StreamId max, StreamId step, At at);
  StreamId reduce(StreamId x, Reduction reduction, At at);
  StreamId reduce_void(StreamId x, At at) { return reduce(x, {}, std::move(at)); }
  Bundle flatten(Bundle x, At at);
  Bundle strip(Bundle x, At at);
  Bundle filter(StreamId pred, bool polarity, Bundle x, At at);
  Bundle merge(Bundle a, Bundle b, At at);
  struct Header {
    NodeId node;
    Bundle out;
  };
  /// The loop is open until close_loop() gives its back edge.
  Header fb_merge(Bundle forward, At at);
  void close_loop(const Header& header, const Bundle& back);
  struct Dealt {
    Bundle out;
    StreamId key;
  };
  Dealt deal(Bundle x, std::uint32_t keys, At at);
  StreamId buffer(StreamId x, std::uint32_t depth, At at);
  StreamId void_join(Bundle x, At at);

  /// When a memory operation acts: where the predicate holds, after the voids.
  struct When {
    StreamId pred = no_stream;
    Bundle after = {};
  };
  struct Answer {
    StreamId result;
    StreamId done;
  };
  Answer dram_load(std::uint32_t array, StreamId index, When when, At at);
  StreamId dram_store(std::uint32_t array, StreamId index, StreamId value, When when, At at);
  /// `values`: one, or expected and desired for cas.
  Answer dram_atomic(std::uint32_t array, Atomic op, StreamId index, Bundle values, When when,
                     At at);
  Answer sram_load(std::uint32_t sram, StreamId pointer, StreamId index, When when, At at);
  StreamId sram_store(std::uint32_t sram, StreamId pointer, StreamId index, StreamId value,
                      When when, At at);
  Answer sram_atomic(std::uint32_t sram, Atomic op, StreamId pointer, StreamId index, Bundle values,
                     When when, At at);
  /// `base`: one stream, or the low and high words of the position.
  StreamId bulk_load(std::uint32_t array, std::uint32_t sram, StreamId pointer, Bundle base,
                     StreamId valid, When when, At at);
  StreamId bulk_store(std::uint32_t array, std::uint32_t sram, StreamId pointer, Bundle base,
                      StreamId valid, When when, At at);
  StreamId sram_fill(std::uint32_t sram, StreamId pointer, When when, At at);
  Answer alloc(std::uint32_t pool, When when, At at);
  StreamId free(std::uint32_t pool, StreamId pointer, When when, At at);

 private:
  Node make(NodeKind kind, At at, Bundle in) const;
  /// Adds an output like stream `like`, `deeper` levels deeper.
  StreamId output(Node& node, StreamId like, int deeper, Kind element, const char* suffix = "");
  /// Adds an output for each of the streams, `deeper` levels deeper.
  void outputs(Node& node, const Bundle& like, int deeper);
  Bundle lower(NodeKind kind, Bundle x, At at);
  StreamId bulk(NodeKind kind, std::uint32_t array, std::uint32_t sram, Bundle operands, When when,
                At at);
  Node memory_node(NodeKind kind, At at, Bundle operands, When when) const;
  Answer add_answering(Node node, Kind element);
  StreamId add_performing(Node node);

  std::vector<Stream> streams_;
  std::vector<Node> nodes_;
  std::vector<DramDecl> drams_;
  std::vector<SramDecl> srams_;
  std::vector<PoolDecl> pools_;
  std::vector<std::pair<StreamId, Port>> second_writers_;
};

/// "merge 'join' (a.rvt:3:4)"
std::string describe(const Node& node);
/// "(a.rvt:3:4)", or "" where the place is not known.
std::string place_text(Loc loc);

}  // namespace revet::sim
