#include "revet/sim/graph.hpp"

#include <fmt/format.h>

#include <array>

namespace revet::sim {

const char* node_kind_name(NodeKind kind) {
  static constexpr std::array names{
      "source",     "sink",        "context",   "broadcast",  "counter",
      "reduce",     "flatten",     "strip",     "filter",     "merge",
      "fb_merge",   "deal",        "buffer",    "void_join",  "dram_load",
      "dram_store", "dram_atomic", "sram_load", "sram_store", "sram_atomic",
      "bulk_load",  "bulk_store",  "sram_fill", "alloc",      "free"};
  return names[static_cast<std::size_t>(kind)];
}

std::string place_text(Loc loc) {
  if (!loc.known()) return "";
  return fmt::format("({}:{}:{})", file_name(loc.file), loc.line, loc.col);
}

std::string describe(const Node& node) {
  const std::string place = place_text(node.loc);
  return fmt::format("{} '{}'{}{}", node_kind_name(node.kind), node.name, place.empty() ? "" : " ",
                     place);
}

// --- the general interface ----------------------------------------------------------------------

std::uint32_t Graph::dram(std::string name, Kind element) {
  drams_.push_back({std::move(name), element});
  return static_cast<std::uint32_t>(drams_.size() - 1);
}

std::uint32_t Graph::sram(std::string name, Kind element, std::uint32_t size,
                          std::uint32_t pointers) {
  srams_.push_back({std::move(name), element, size, pointers});
  return static_cast<std::uint32_t>(srams_.size() - 1);
}

std::uint32_t Graph::pool(std::string name, std::uint32_t pointers, std::uint32_t regions) {
  pools_.push_back({std::move(name), pointers, regions});
  return static_cast<std::uint32_t>(pools_.size() - 1);
}

StreamId Graph::stream(Kind element, unsigned depth, At at) {
  Stream& made = streams_.emplace_back();
  made.name = std::move(at.name);
  made.loc = at.loc;
  made.element = element;
  made.depth = depth;
  return static_cast<StreamId>(streams_.size() - 1);
}

NodeId Graph::add(Node node) {
  const auto id = static_cast<NodeId>(nodes_.size());
  for (std::size_t i = 0; i < node.in.size(); ++i)
    if (node.in[i] != no_stream)
      streams_[node.in[i]].readers.push_back({id, static_cast<std::uint32_t>(i)});
  for (std::size_t i = 0; i < node.out.size(); ++i) {
    Stream& written = streams_[node.out[i]];
    const Port port{id, static_cast<std::uint32_t>(i)};
    if (written.writer.node == no_node)
      written.writer = port;
    else
      second_writers_.emplace_back(node.out[i], port);
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::connect(NodeId node, std::size_t input, StreamId stream) {
  StreamId& at = nodes_[node].in[input];
  if (at != no_stream)
    throw InternalError(
        fmt::format("input {} of {} is connected twice", input, describe(nodes_[node])));
  at = stream;
  streams_[stream].readers.push_back({node, static_cast<std::uint32_t>(input)});
}

// --- one function per kind of node --------------------------------------------------------------

Node Graph::make(NodeKind kind, At at, Bundle in) const {
  Node node;
  node.kind = kind;
  node.name = std::move(at.name);
  node.loc = at.loc;
  node.in = std::move(in);
  return node;
}

StreamId Graph::output(Node& node, StreamId like, int deeper, Kind element, const char* suffix) {
  const int depth = static_cast<int>(streams_[like].depth) + deeper;
  node.out.push_back(
      stream(element, static_cast<unsigned>(std::max(depth, 0)), At{node.name + suffix, node.loc}));
  return node.out.back();
}

void Graph::outputs(Node& node, const Bundle& like, int deeper) {
  for (const StreamId x : like)
    output(node, x, deeper, streams_[x].element, fmt::format(".{}", node.out.size()).c_str());
}

StreamId Graph::source(Kind element, std::uint32_t bits, At at) {
  return source(element, 1, {data_token(bits), barrier(1)}, std::move(at));
}

StreamId Graph::source(Kind element, unsigned depth, std::vector<Token> tokens, At at) {
  Node node = make(NodeKind::source, at, {});
  node.tokens = std::move(tokens);
  node.out = {stream(element, depth, std::move(at))};
  return nodes_[add(std::move(node))].out[0];
}

NodeId Graph::sink(StreamId x, At at) { return add(make(NodeKind::sink, std::move(at), {x})); }

Bundle Graph::context(Program program, Bundle x, At at) {
  Node node = make(NodeKind::context, std::move(at), std::move(x));
  for (std::size_t i = 0; i < program.output_count(); ++i)
    output(node, node.in.at(0), 0, program.output_kind(i), fmt::format(".{}", i).c_str());
  node.program = std::move(program);
  return nodes_[add(std::move(node))].out;
}

Bundle Graph::broadcast(Bundle a, StreamId b, unsigned levels, At at) {
  Node node = make(NodeKind::broadcast, std::move(at), std::move(a));
  node.number = levels;
  outputs(node, node.in, static_cast<int>(levels));
  node.in.push_back(b);
  return nodes_[add(std::move(node))].out;
}

StreamId Graph::counter(StreamId min, StreamId max, StreamId step, At at) {
  Node node = make(NodeKind::counter, std::move(at), {min, max, step});
  output(node, min, 1, streams_[min].element);
  return nodes_[add(std::move(node))].out[0];
}

StreamId Graph::reduce(StreamId x, Reduction reduction, At at) {
  Node node = make(NodeKind::reduce, std::move(at), {x});
  node.reduction = reduction;
  output(node, x, -1, streams_[x].element);
  return nodes_[add(std::move(node))].out[0];
}

Bundle Graph::lower(NodeKind kind, Bundle x, At at) {
  Node node = make(kind, std::move(at), std::move(x));
  outputs(node, node.in, -1);
  return nodes_[add(std::move(node))].out;
}
Bundle Graph::flatten(Bundle x, At at) {
  return lower(NodeKind::flatten, std::move(x), std::move(at));
}
Bundle Graph::strip(Bundle x, At at) { return lower(NodeKind::strip, std::move(x), std::move(at)); }

Bundle Graph::filter(StreamId pred, bool polarity, Bundle x, At at) {
  Node node = make(NodeKind::filter, std::move(at), {pred});
  node.polarity = polarity;
  node.in.insert(node.in.end(), x.begin(), x.end());
  outputs(node, x, 0);
  return nodes_[add(std::move(node))].out;
}

Bundle Graph::merge(Bundle a, Bundle b, At at) {
  Node node = make(NodeKind::merge, std::move(at), std::move(a));
  outputs(node, node.in, 0);
  node.in.insert(node.in.end(), b.begin(), b.end());
  return nodes_[add(std::move(node))].out;
}

Graph::Header Graph::fb_merge(Bundle forward, At at) {
  Node node = make(NodeKind::fb_merge, std::move(at), std::move(forward));
  const std::size_t n = node.in.size();
  outputs(node, node.in, 1);
  node.in.resize(2 * n, no_stream);
  const NodeId id = add(std::move(node));
  return {id, nodes_[id].out};
}

void Graph::close_loop(const Header& header, const Bundle& back) {
  if (back.size() != header.out.size())
    throw InternalError(fmt::format("the back edge of {} has {} streams, not {}",
                                    describe(nodes_[header.node]), back.size(), header.out.size()));
  for (std::size_t i = 0; i < back.size(); ++i) connect(header.node, back.size() + i, back[i]);
}

Graph::Dealt Graph::deal(Bundle x, std::uint32_t keys, At at) {
  Node node = make(NodeKind::deal, std::move(at), std::move(x));
  node.number = keys;
  outputs(node, node.in, 0);
  const StreamId key = output(node, node.in.at(0), 0, Kind::u32, ".key");
  Bundle out = node.out;
  out.pop_back();
  add(std::move(node));
  return {std::move(out), key};
}

StreamId Graph::buffer(StreamId x, std::uint32_t depth, At at) {
  Node node = make(NodeKind::buffer, std::move(at), {x});
  node.number = depth;
  output(node, x, 0, streams_[x].element);
  return nodes_[add(std::move(node))].out[0];
}

StreamId Graph::void_join(Bundle x, At at) {
  Node node = make(NodeKind::void_join, std::move(at), std::move(x));
  output(node, node.in.at(0), 0, Kind::none);
  return nodes_[add(std::move(node))].out[0];
}

// --- memory nodes -------------------------------------------------------------------------------

Node Graph::memory_node(NodeKind kind, At at, Bundle operands, When when) const {
  Node node = make(kind, std::move(at), std::move(operands));
  node.in.insert(node.in.end(), when.after.begin(), when.after.end());
  node.predicated = when.pred != no_stream;
  if (node.predicated) node.in.push_back(when.pred);
  return node;
}

Graph::Answer Graph::add_answering(Node node, Kind element) {
  const StreamId result = output(node, node.in.at(0), 0, element);
  const StreamId done = output(node, node.in[0], 0, Kind::none, ".done");
  add(std::move(node));
  return {result, done};
}

StreamId Graph::add_performing(Node node) {
  const StreamId done = output(node, node.in.at(0), 0, Kind::none);
  add(std::move(node));
  return done;
}

Graph::Answer Graph::dram_load(std::uint32_t array, StreamId index, When when, At at) {
  Node node = memory_node(NodeKind::dram_load, std::move(at), {index}, std::move(when));
  node.dram = array;
  return add_answering(std::move(node), drams_[array].element);
}

StreamId Graph::dram_store(std::uint32_t array, StreamId index, StreamId value, When when, At at) {
  Node node = memory_node(NodeKind::dram_store, std::move(at), {index, value}, std::move(when));
  node.dram = array;
  return add_performing(std::move(node));
}

Graph::Answer Graph::dram_atomic(std::uint32_t array, Atomic op, StreamId index, Bundle values,
                                 When when, At at) {
  values.insert(values.begin(), index);
  Node node = memory_node(NodeKind::dram_atomic, std::move(at), std::move(values), std::move(when));
  node.dram = array;
  node.atomic = op;
  return add_answering(std::move(node), drams_[array].element);
}

Graph::Answer Graph::sram_load(std::uint32_t sram, StreamId pointer, StreamId index, When when,
                               At at) {
  Node node = memory_node(NodeKind::sram_load, std::move(at), {pointer, index}, std::move(when));
  node.sram = sram;
  return add_answering(std::move(node), srams_[sram].element);
}

StreamId Graph::sram_store(std::uint32_t sram, StreamId pointer, StreamId index, StreamId value,
                           When when, At at) {
  Node node =
      memory_node(NodeKind::sram_store, std::move(at), {pointer, index, value}, std::move(when));
  node.sram = sram;
  return add_performing(std::move(node));
}

Graph::Answer Graph::sram_atomic(std::uint32_t sram, Atomic op, StreamId pointer, StreamId index,
                                 Bundle values, When when, At at) {
  values.insert(values.begin(), {pointer, index});
  Node node = memory_node(NodeKind::sram_atomic, std::move(at), std::move(values), std::move(when));
  node.sram = sram;
  node.atomic = op;
  return add_answering(std::move(node), srams_[sram].element);
}

StreamId Graph::bulk(NodeKind kind, std::uint32_t array, std::uint32_t sram, Bundle operands,
                     When when, At at) {
  const bool wide_base = operands.size() == 4;
  Node node = memory_node(kind, std::move(at), std::move(operands), std::move(when));
  node.dram = array;
  node.sram = sram;
  node.wide_base = wide_base;
  return add_performing(std::move(node));
}

StreamId Graph::bulk_load(std::uint32_t array, std::uint32_t sram, StreamId pointer, Bundle base,
                          StreamId valid, When when, At at) {
  base.insert(base.begin(), pointer);
  base.push_back(valid);
  return bulk(NodeKind::bulk_load, array, sram, std::move(base), std::move(when), std::move(at));
}

StreamId Graph::bulk_store(std::uint32_t array, std::uint32_t sram, StreamId pointer, Bundle base,
                           StreamId valid, When when, At at) {
  base.insert(base.begin(), pointer);
  base.push_back(valid);
  return bulk(NodeKind::bulk_store, array, sram, std::move(base), std::move(when), std::move(at));
}

StreamId Graph::sram_fill(std::uint32_t sram, StreamId pointer, When when, At at) {
  Node node = memory_node(NodeKind::sram_fill, std::move(at), {pointer}, std::move(when));
  node.sram = sram;
  return add_performing(std::move(node));
}

Graph::Answer Graph::alloc(std::uint32_t pool, When when, At at) {
  Node node = memory_node(NodeKind::alloc, std::move(at), {}, std::move(when));
  node.pool = pool;
  return add_answering(std::move(node), Kind::ptr);
}

StreamId Graph::free(std::uint32_t pool, StreamId pointer, When when, At at) {
  Node node = memory_node(NodeKind::free, std::move(at), {pointer}, std::move(when));
  node.pool = pool;
  return add_performing(std::move(node));
}

}  // namespace revet::sim
