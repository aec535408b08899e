/// Maps basic blocks to a graph of streaming-tensor nodes (Section V, "mapping CFGs to dataflow").
///
/// Before:                                      After:
///   ^bb0(%n):                                    %n = flow.source() {arg = "n"}
///     cfg.foreach_enter(0, %n, 1)[^bb1, ^bb2]    %i = flow.counter(%zero, %n, %one)
///   ^bb1(%i):                                    %v = flow.dram_store(%a, %i, %i, %void)
///     mem.dram_store(%a, %i, %i)                 %w = flow.reduce(%v) {op = "void"}
///     cfg.reduce()                               flow.sink(%w)
///   ^bb2: thread.return()
///
/// Algorithm: blocks are written behind those that lead to them. What a block needs arrives as a
/// bundle of streams: its arguments, the values of other blocks of the thread that are live in it,
/// and a void that waits for what the thread did before. Values of enclosing threads are broadcast
/// to the blocks that use them; what depends on those alone is computed anew in each block rather
/// than carried round a loop. Two edges meet in a merge, at a loop header in a forward-backward
/// merge whose back side is connected when the back edge is reached. In a block, element-wise ops
/// between memory operations form contexts, a memory operation is a node of its own, ordered behind
/// the last void of its class of memory. A branch filters, leaving a loop strips, a foreach counts
/// and broadcasts to its children and reduces what they yield, a fork counts, broadcasts and
/// flattens, an exit is a filter that passes nothing. Linear but for the liveness analysis.
///
/// Why here: between `structure-to-cfg` and the passes that fit the graph to a machine.
///
/// Does not handle: plugin ops on memory (they are expanded before).
#include <algorithm>

#include "mapping.hpp"
#include "revet/abi.hpp"
#include "revet/builder.hpp"
#include "revet/plugin.hpp"

namespace revet {
namespace {

Type element_of(const Value* v) {
  const Type t = v->type();
  return t.kind == Kind::sram ? Type{Kind::ptr} : t;
}

/// True for nodes that give an element when one has arrived from each operand, whatever later
/// passes find out about them: a context may turn out not to need what it is given.
bool waits_for_operands(const Op& op) {
  return op.is(ops::flow_void_join) || op.is(ops::flow_alloc) || op.is(ops::flow_free) ||
         op.name().starts_with("flow.dram_") || op.name().starts_with("flow.sram_") ||
         op.name().starts_with("flow.bulk_");
}

/// Of how many streams it is asked what they wait for: a bound for long blocks, where a void more
/// does not matter.
constexpr std::size_t most_looked_at = 1024;

}  // namespace

void Mapping::run() {
  AttrMap attrs = {{"sym", *func_.attr("sym")}, {"args", *func_.attr("args")}};
  Attr::Array types;
  for (const auto& arg : func_.body().args()) types.emplace_back(arg->type());
  attrs.emplace("types", Attr(std::move(types)));
  Op* graph =
      module_.body().insert(Op::create(ops::flow_graph, func_.loc(), {}, {}, std::move(attrs), 1));
  b_ = Builder(graph->region().add_block());
  b_.set_loc(func_.loc());
  start();
  // Every block is complete when its last forward edge has arrived.
  while (!ready_.empty()) {
    Block* block = ready_.back();
    ready_.pop_back();
    write(*block);
  }
  finish();
}

void Mapping::start() {
  const Attr::Array& names = *func_.attr("args")->as_array();
  Bundle first;
  const Block& entry = func_.body();
  for (unsigned i = 0; i < entry.num_args(); ++i)
    first.push_back(
        node(ops::flow_source, {}, {stream_of(entry.arg(i)->type(), 1)}, {{"arg", names[i]}})
            ->result());
  first.push_back(node(ops::flow_source, {}, {stream_of(type_void, 1)})->result());
  arriving_[&entry].edges.push_back(std::move(first));
  ready_.push_back(const_cast<Block*>(&entry));
}

void Mapping::arrive(Block& to, Bundle bundle) {
  Arriving& a = arriving_[&to];
  a.edges.push_back(std::move(bundle));
  if (a.edges.size() == blocks_.of(to).edges) ready_.push_back(&to);
}

void Mapping::arrive_back(Block& header, const Bundle& bundle) {
  Op* merge = arriving_[&header].header;
  for (Value* v : bundle) merge->add_operand(v);
}

Bundle Mapping::bundle_for(const State& s, const Block& to, std::span<Value* const> args) const {
  Bundle out;
  for (const Value* v : args) out.push_back(s.streams.at(v));
  for (const Value* v : blocks_.of(to).live) out.push_back(s.streams.at(v));
  out.push_back(s.thread);
  return out;
}

Bundle Mapping::last_of(const Bundle& voids) {
  std::set<const Value*> waited_for;
  std::vector<const Value*> todo(voids.begin(), voids.end());
  while (!todo.empty() && waited_for.size() < most_looked_at) {
    const Op* const def = todo.back()->def();
    todo.pop_back();
    if (!def || !waits_for_operands(*def)) continue;
    for (const Value* v : def->operands())
      if (v->type().kind == Kind::stream && waited_for.insert(v).second) todo.push_back(v);
  }
  Bundle out;
  for (Value* v : voids)
    if (waited_for.count(v) == 0 && std::find(out.begin(), out.end(), v) == out.end())
      out.push_back(v);
  return out;
}

Value* Mapping::joined(const State& s, const Bundle& voids) {
  const Bundle last = last_of(voids);
  if (last.size() == 1) return last[0];
  return node(ops::flow_void_join, std::span<Value* const>(last), {stream_of(type_void, s.depth)})
      ->result();
}

void Mapping::write(Block& block) {
  context_.visit();
  const BlockInfo& info = blocks_.of(block);
  Arriving& a = arriving_[&block];
  b_.set_loc(block.first()->loc());
  replicate_ = block.last()->attr("replicate");
  State s;
  s.depth = info.depth;
  Bundle bundle = a.edges[0];
  if (info.is_header) {
    link_ = a.link;
    a.header =
        node(ops::flow_fb_merge, std::span<Value* const>(bundle), types_at(bundle, info.depth));
    name_like(results_of(*a.header), bundle);
    bundle = results_of(*a.header);
  } else if (a.edges.size() == 2) {
    Bundle operands = bundle;
    operands.insert(operands.end(), a.edges[1].begin(), a.edges[1].end());
    const Bundle merged = results_of(
        *node(ops::flow_merge, std::span<Value* const>(operands), types_at(bundle, info.depth)));
    name_like(merged, bundle);
    bundle = merged;
  }
  link_ = nullptr;
  std::size_t k = 0;
  for (const auto& arg : block.args()) define(s, arg.get(), bundle[k++]);
  for (const Value* v : info.live) define(s, v, bundle[k++]);
  s.thread = bundle[k];
  for (const unsigned c : info.classes) s.voids[c] = s.thread;
  receive(s, block, bundle[0]);

  std::vector<Op*> pending;
  for (Op& op : block) {
    b_.set_loc(op.loc());
    if (op.info().terminator) break;
    if (is_memory(op)) {
      flush(s, pending);
      memory(s, op);
    } else {
      pending.push_back(&op);
    }
  }
  flush(s, pending);
  b_.set_loc(block.last()->loc());
  end(s, *block.last());
}

void Mapping::receive(State& s, const Block& block, Value* structure) {
  std::map<const Op*, std::vector<Value*>> by_foreach;
  std::vector<const Op*> order;
  for (Value* v : blocks_.of(block).outer) {
    const Op& enter = blocks_.foreach_below(*v, block);
    if (by_foreach[&enter].empty()) order.push_back(&enter);
    by_foreach[&enter].push_back(v);
  }
  for (const Op* enter : order) {
    const std::vector<Value*>& values = by_foreach.at(enter);
    Bundle from;
    for (const Value* v : values) from.push_back(entered_.at(enter).at(v));
    const Bundle here = broadcast(from, structure);
    for (std::size_t i = 0; i < values.size(); ++i) define(s, values[i], here[i]);
  }
}

void Mapping::define(State& s, const Value* v, Value* stream) {
  s.streams[v] = stream;
  if (stream->name().empty()) stream->set_name(v->name());
}

bool Mapping::is_memory(const Op& op) {
  return op.name().starts_with("mem.") && !op.is(ops::mem_dram_size);
}

void Mapping::flush(State& s, std::vector<Op*>& pending) {
  if (pending.empty()) return;
  const auto inside = [&](const Op* op) {
    return std::find(pending.begin(), pending.end(), op) != pending.end();
  };
  Bundle inputs;
  std::vector<const Value*> input_values;
  std::vector<const Value*> outputs;
  for (const Op* op : pending) {
    for (const Value* v : op->operands()) {
      if (v->type().kind == Kind::dram || (v->def() && inside(v->def()))) continue;
      if (std::find(input_values.begin(), input_values.end(), v) != input_values.end()) continue;
      input_values.push_back(v);
      inputs.push_back(s.streams.at(v));
    }
    for (const auto& r : op->results()) {
      const auto uses = r->uses();
      if (std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return !inside(u.op); }))
        outputs.push_back(r.get());
    }
  }
  if (outputs.empty()) {
    pending.clear();
    return;
  }
  if (inputs.empty()) inputs.push_back(s.thread);
  std::vector<Type> types;
  for (const Value* v : outputs) types.push_back(stream_of(v->type(), s.depth));
  b_.set_loc(pending.front()->loc());
  Op* context = node(ops::flow_context, std::span<Value* const>(inputs), std::move(types), {}, 1);
  Block& body = context->region().add_block();
  Cloning cloning;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value* arg = body.add_arg({inputs[i]->type().element}, inputs[i]->name());
    if (i < input_values.size()) cloning.values[input_values[i]] = arg;
  }
  for (const Op* op : pending) body.insert(clone_op(*op, cloning));
  std::vector<Value*> results;
  for (const Value* v : outputs) results.push_back(cloning.map(const_cast<Value*>(v)));
  Builder inner(body);
  inner.set_loc(pending.back()->loc());
  inner.create(ops::flow_yield, results);
  for (unsigned i = 0; i < context->num_results(); ++i) {
    context->result(i)->set_name(outputs[i]->name());
    s.streams[outputs[i]] = context->result(i);
  }
  pending.clear();
}

void Mapping::end(State& s, const Op& t) {
  using namespace ops;
  link_ = t.attr("link");
  if (t.is(cfg_loop_br) && link_) arriving_[t.successor(0)].link = link_;
  // What takes a bundle takes all of it at once: one void says as much as one per class. Children
  // need not wait for what they do not touch.
  if (!t.is(cfg_foreach_enter)) merge_voids(s);
  if (t.is(cfg_br)) {
    arrive(*t.successor(0), bundle_for(s, *t.successor(0), t.successor_args(0)));
  } else if (t.is(cfg_loop_br)) {
    const Bundle bundle = bundle_for(s, *t.successor(0), t.successor_args(0));
    if (t.flag("back"))
      arrive_back(*t.successor(0), bundle);
    else
      arrive(*t.successor(0), bundle);
  } else if (t.is(cfg_cond_br)) {
    for (unsigned i = 0; i < 2; ++i) {
      Block& to = *t.successor(i);
      Bundle bundle =
          filtered(s.streams.at(t.operand(0)), i == 0, bundle_for(s, to, t.successor_args(i)));
      if (i == 0 && t.flag("unlikely")) bundle.front()->def()->set_attr("unlikely", true);
      arrive(to, std::move(bundle));
    }
  } else if (t.is(cfg_loop_exit)) {
    Bundle bundle = bundle_for(s, *t.successor(0), t.successor_args(0));
    for (std::int64_t i = 0; i < t.int_attr("loops"); ++i) bundle = lowered(flow_strip, bundle);
    arrive(*t.successor(0), std::move(bundle));
  } else if (t.is(cfg_exit)) {
    exit(s, t);
  } else if (t.is(cfg_foreach_enter)) {
    enter(s, t);
  } else if (t.is(cfg_reduce)) {
    reduce(s, t);
  } else if (t.is(cfg_fork)) {
    fork(s, t);
  } else if (t.is(thread_return)) {
    node(flow_sink, {s.thread}, {});
  }
}

void Mapping::exit(State& s, const Op& t) {
  Block& to = *t.successor(0);
  std::vector<std::pair<Type, std::int64_t>> wanted = {{type_i1, 0}};
  for (const auto& arg : to.args()) wanted.emplace_back(element_of(arg.get()), 0);
  for (const Value* v : blocks_.of(to).live) wanted.emplace_back(element_of(v), 0);
  const Bundle made = constants(s.thread, wanted);
  Bundle bundle(made.begin() + 1, made.end());
  bundle.push_back(s.thread);
  bundle = filtered(made[0], true, bundle);
  for (std::int64_t i = 0; i < t.int_attr("loops"); ++i) bundle = lowered(ops::flow_strip, bundle);
  arrive(to, std::move(bundle));
}

void Mapping::enter(State& s, const Op& t) {
  Block& body = *t.successor(0);
  Block& after = *t.successor(1);
  const Type index = t.operand(0)->type();
  Op* counter =
      node(ops::flow_counter,
           {s.streams.at(t.operand(0)), s.streams.at(t.operand(1)), s.streams.at(t.operand(2))},
           {stream_of(index, s.depth + 1)});
  for (const Value* v : blocks_.broadcast_at(t)) entered_[&t][v] = s.streams.at(v);
  // The children wait for what the parent did, and then the parent for them; classes that they
  // do not touch pass by, like its live values.
  State inside = s;
  std::erase_if(inside.voids, [&](const auto& v) { return !blocks_.touches(t, v.first); });
  merge_voids(inside);
  Bundle bundle = {counter->result()};
  const Bundle down = broadcast(bundle_for(inside, body, {}), counter->result());
  bundle.insert(bundle.end(), down.begin(), down.end());
  Arriving& behind = arriving_[&after];
  for (const Value* v : blocks_.of(after).live) behind.by_foreach.push_back(s.streams.at(v));
  for (const auto& [c, v] : s.voids)
    if (!blocks_.touches(t, c) && v != s.thread) behind.voids_by_foreach.push_back(v);
  arrive(body, std::move(bundle));
}

void Mapping::reduce(State& s, const Op& t) {
  const Op& enter = *blocks_.of(*t.block()).enter;
  Block& after = *enter.successor(1);
  Bundle bundle;
  const Attr::Array& operators = *t.attr("reduce")->as_array();
  for (unsigned i = 0; i < t.num_operands(); ++i)
    bundle.push_back(node(ops::flow_reduce, {s.streams.at(t.operand(i))},
                          {stream_of(t.operand(i)->type(), s.depth - 1)}, {{"op", operators[i]}})
                         ->result());
  Arriving& behind = arriving_[&after];
  bundle.insert(bundle.end(), behind.by_foreach.begin(), behind.by_foreach.end());
  State parent;
  parent.depth = s.depth - 1;
  Bundle voids = behind.voids_by_foreach;
  voids.push_back(
      node(ops::flow_reduce, {s.thread}, {stream_of(type_void, parent.depth)}, {{"op", "void"}})
          ->result());
  bundle.push_back(joined(parent, voids));
  arrive(after, std::move(bundle));
}

void Mapping::fork(State& s, const Op& t) {
  Block& to = *t.successor(0);
  const Type index = t.operand(0)->type();
  const Bundle range = constants(s.thread, {{index, 0}, {index, 1}});
  Op* counter = node(ops::flow_counter, {range[0], s.streams.at(t.operand(0)), range[1]},
                     {stream_of(index, s.depth + 1)}, {{"fork", true}});
  const Bundle copies = broadcast(bundle_for(s, to, t.successor_args(0)), counter->result());
  // The index is the block's first argument, the others follow.
  Bundle bundle = {counter->result()};
  bundle.insert(bundle.end(), copies.begin(), copies.end());
  arrive(to, lowered(ops::flow_flatten, bundle));
}

void Mapping::finish() {
  for (Op *op = module_.body().first(), *next; op; op = next) {
    next = op->next();
    if (op->is(ops::thread_func)) op->erase();
  }
}

namespace {

PassResult run(Module& module, PassContext& context) {
  Op* main = module.find_func("main");
  if (!main) return PassResult::failure("there is no main");
  Mapping(module, *main, context).run();
  return PassResult::of(true);
}

void register_(Registry& registry) {
  PassInfo info;
  info.id = "cfg-to-flow";
  info.summary = "Basic blocks as a graph of streaming-tensor nodes";
  info.input = Level::cfg;
  info.output = Level::flow;
  info.run = run;
  registry.add_pass(std::move(info));
}

}  // namespace
}  // namespace revet

REVET_PLUGIN("cfg-to-flow", "Basic blocks as a streaming graph", revet::register_)
