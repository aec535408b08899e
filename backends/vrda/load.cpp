#include "load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "revet/ops.hpp"
#include "revet/scalar.hpp"

namespace revet::vrda {
namespace {

/// More copies of a memory than a machine has memory units would only fill the host's memory.
constexpr std::int64_t most_regions = 256;

class Loader {
 public:
  Loader(const Module& module, const Launch& launch) : launch_(launch) {
    for (Op& op : module.body()) {
      if (op.is(ops::mem_dram)) {
        arrays_[op.result()] = graph_.dram(op.str_attr("sym"), op.result()->type().element);
      } else if (op.is(ops::flow_graph)) {
        flow_ = &op;
      }
    }
    if (!flow_) throw InternalError("the module has no flow.graph");
  }

  Loaded run() {
    for (Op& op : flow_->body()) {
      for (const auto& r : op.results())
        if (r->type().kind == Kind::stream) declare(op, *r);
      if (op.is(ops::flow_sram)) count_buffers(op);
    }
    for (Op& op : flow_->body())
      if (op.is(ops::flow_sram)) add_sram(op);
    for (Op& op : flow_->body()) add(op);
    for (const auto& [value, stream] : streams_)
      if (value->unused()) graph_.unused(stream);
    out_.flow = flow_;
    out_.graph = std::move(graph_);
    return std::move(out_);
  }

 private:
  static sim::At at(const Op& op, const std::string& name = {}) {
    return {name.empty() && op.num_results() != 0 ? op.result()->name() : name, op.loc()};
  }

  void declare(const Op& op, const Value& v) {
    const sim::StreamId id = graph_.stream(v.type().element, v.type().size, at(op, v.name()));
    graph_.set_scalar(id, v.type().scalar_link);
    out_.streams.push_back(&v);
    streams_[&v] = id;
  }

  sim::StreamId stream(const Value* v) const { return streams_.at(v); }

  sim::Node node(sim::NodeKind kind, const Op& op, std::span<Value* const> in) {
    sim::Node n;
    n.kind = kind;
    n.name = op.num_results() != 0 ? op.result()->name() : "";
    n.loc = op.loc();
    for (const Value* v : in) n.in.push_back(stream(v));
    for (const auto& r : op.results())
      if (r->type().kind == Kind::stream) n.out.push_back(stream(r.get()));
    return n;
  }

  void add_node(const Op& op, sim::Node n) {
    graph_.add(std::move(n));
    out_.nodes.push_back(&op);
  }

  void add(const Op& op) {
    using namespace ops;
    using sim::NodeKind;
    if (op.is(flow_sram)) return;
    if (op.is(flow_source)) return add_source(op);
    if (op.is(flow_alloc)) return add_alloc(op);
    if (op.name().starts_with("flow.dram_") || op.name().starts_with("flow.sram_") ||
        op.name().starts_with("flow.bulk_") || op.is(flow_free))
      return add_memory(op);
    static const std::vector<std::pair<const OpInfo*, NodeKind>> kinds = {
        {&flow_sink, NodeKind::sink},          {&flow_context, NodeKind::context},
        {&flow_counter, NodeKind::counter},    {&flow_reduce, NodeKind::reduce},
        {&flow_filter, NodeKind::filter},      {&flow_merge, NodeKind::merge},
        {&flow_deal, NodeKind::deal},          {&flow_buffer, NodeKind::buffer},
        {&flow_fb_merge, NodeKind::fb_merge},  {&flow_void_join, NodeKind::void_join},
        {&flow_flatten, NodeKind::flatten},    {&flow_strip, NodeKind::strip},
        {&flow_broadcast, NodeKind::broadcast}};
    for (const auto& [info, kind] : kinds) {
      if (!op.is(*info)) continue;
      sim::Node n = node(kind, op, op.operands());
      if (op.is(flow_context)) n.program = program_of(op);
      if (op.is(flow_filter)) n.polarity = op.flag("polarity");
      if (op.is(flow_broadcast)) n.number = static_cast<std::uint32_t>(op.int_attr("levels"));
      if (op.is(flow_deal)) n.number = static_cast<std::uint32_t>(op.int_attr("keys"));
      if (op.is(flow_buffer)) n.number = static_cast<std::uint32_t>(op.int_attr("depth"));
      if (op.is(flow_reduce) && op.str_attr("op") != "void")
        n.reduction = reduction_of(op.str_attr("op"), op.operand(0)->type().element);
      add_node(op, std::move(n));
      return;
    }
    throw Error(Exit::program, op.loc(),
                fmt::format("'{}' has no meaning in a graph that is run", op.name()));
  }

  /// Memories that share pointers have as many as the smallest has buffers, in all its copies
  /// (Section V-B: "the fused range is defined by the smallest maximum pointer").
  void count_buffers(const Op& op) {
    const std::int64_t regions = op.int_attr("regions", 1);
    const auto buffers =
        static_cast<std::uint32_t>(ops::buffers_of(op) / regions * std::min(regions, most_regions));
    const auto [at, first] = pointers_.emplace(ops::pointer_owner(op.result()), buffers);
    if (!first) at->second = std::min(at->second, buffers);
  }

  void add_sram(const Op& op) {
    const Type t = op.result()->type();
    const std::string& name = ops::memory_name(op.result());
    const std::uint32_t pointers = pointers_.at(ops::pointer_owner(op.result()));
    const bool accessed = ops::is_accessed(*op.result());
    srams_[op.result()] = {graph_.sram(name, t.element, t.size, accessed ? pointers : 0),
                           op.num_operands() == 0
                               ? graph_.pool(name, pointers,
                                             static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                                                 op.int_attr("regions", 1), 1, most_regions)))
                               : 0};
    out_.srams.push_back(&op);
  }

  void add_source(const Op& op) {
    sim::Node n = node(sim::NodeKind::source, op, {});
    std::uint32_t bits = 0;
    for (const ScalarArg& a : launch_.scalars)
      if (a.name == op.str_attr("arg")) bits = a.bits;
    n.tokens = {sim::data_token(bits), sim::barrier(1)};
    add_node(op, std::move(n));
  }

  void add_alloc(const Op& op) {
    sim::Node alloc = node(sim::NodeKind::alloc, op, op.operands().subspan(1));
    alloc.pool = srams_.at(op.operand(0)).second;
    alloc.predicated = op.flag("predicated");
    add_node(op, std::move(alloc));
  }

  void add_memory(const Op& op) {
    using namespace ops;
    using sim::NodeKind;
    static const std::vector<std::pair<const OpInfo*, NodeKind>> kinds = {
        {&flow_dram_load, NodeKind::dram_load},     {&flow_dram_store, NodeKind::dram_store},
        {&flow_dram_atomic, NodeKind::dram_atomic}, {&flow_dram_cas, NodeKind::dram_atomic},
        {&flow_sram_load, NodeKind::sram_load},     {&flow_sram_store, NodeKind::sram_store},
        {&flow_sram_atomic, NodeKind::sram_atomic}, {&flow_sram_cas, NodeKind::sram_atomic},
        {&flow_sram_fill, NodeKind::sram_fill},     {&flow_bulk_load, NodeKind::bulk_load},
        {&flow_bulk_store, NodeKind::bulk_store},   {&flow_free, NodeKind::free}};
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return op.is(*k.first); });
    const bool bulk = op.is(flow_bulk_load) || op.is(flow_bulk_store);
    sim::Node n = node(kind->second, op, op.operands().subspan(bulk ? 2 : 1));
    n.wide_base = bulk;
    for (unsigned i = 0; i < (bulk ? 2u : 1u); ++i) {
      const Value* m = op.operand(i);
      if (m->type().kind == Kind::dram) {
        n.dram = arrays_.at(m);
      } else {
        n.sram = srams_.at(m).first;
        n.pool = srams_.at(m).second;
      }
    }
    n.predicated = op.flag("predicated");
    n.length_predicates = op.flag("length_predicates");
    if (op.is(flow_dram_cas) || op.is(flow_sram_cas))
      n.atomic = Atomic::cas;
    else if (op.has_attr("op"))
      n.atomic = atomic_of(op);
    add_node(op, std::move(n));
  }

  static unsigned part_of(const Op& op) { return static_cast<unsigned>(op.int_attr("lo")); }

  sim::Program program_of(const Op& context) {
    const Block& body = context.body();
    std::vector<Kind> inputs;
    for (const auto& arg : body.args()) inputs.push_back(arg->type().kind);
    sim::Program p(inputs);
    std::unordered_map<const Value*, sim::Program::Register> registers;
    for (unsigned i = 0; i < body.num_args(); ++i) registers[body.arg(i)] = p.input(i);
    const auto of = [&](const Op& op, unsigned i) { return registers.at(op.operand(i)); };
    for (Op& op : body) {
      if (op.is(ops::flow_yield)) {
        for (const Value* v : op.operands()) {
          if (v->type().kind == Kind::none)
            p.output_void();
          else
            p.output(registers.at(v));
        }
      } else if (op.is(ops::arith_constant)) {
        const Kind kind = op.result()->type().kind;
        registers[op.result()] = p.constant(kind, kind == Kind::ptr ? 0 : constant_bits(op));
      } else if (op.is(ops::mem_dram_size)) {
        const std::uint64_t count = launch_.arrays[arrays_.at(op.operand(0))].count;
        registers[op.result(0)] = p.constant(Kind::u32, static_cast<std::uint32_t>(count));
        registers[op.result(1)] = p.constant(Kind::u32, static_cast<std::uint32_t>(count >> 32));
      } else if (op.is(ops::arith_select)) {
        registers[op.result()] = p.select(of(op, 0), of(op, 1), of(op, 2));
      } else if (op.is(ops::arith_cast)) {
        registers[op.result()] = p.cast(op.result()->type().kind, of(op, 0));
      } else if (op.is(ops::arith_extract)) {
        registers[op.result()] = p.extract(op.result()->type().kind, of(op, 0), part_of(op));
      } else if (op.is(ops::arith_insert)) {
        registers[op.result()] = p.insert(of(op, 0), of(op, 1), part_of(op));
      } else if (op.name().starts_with("arith.")) {
        registers[op.result()] = op.num_operands() == 2 ? p.op(scalar_of(op), of(op, 0), of(op, 1))
                                                        : p.op(scalar_of(op), of(op, 0));
      } else {
        throw Error(Exit::program, op.loc(),
                    fmt::format("'{}' has no meaning in a context", op.name()));
      }
    }
    return p;
  }

  const Launch& launch_;
  const Op* flow_ = nullptr;
  sim::Graph graph_;
  Loaded out_;
  std::unordered_map<const Value*, std::uint32_t> arrays_;
  std::unordered_map<const Value*, std::pair<std::uint32_t, std::uint32_t>> srams_;
  std::unordered_map<const Value*, std::uint32_t> pointers_;  ///< of the owner
  std::unordered_map<const Value*, sim::StreamId> streams_;
};

}  // namespace

Loaded load(const Module& module, const Launch& launch) { return Loader(module, launch).run(); }

}  // namespace revet::vrda
