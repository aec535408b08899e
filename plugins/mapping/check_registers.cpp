// Liveness over the pipeline of one compute unit.
//
// A pipeline begins with what the unit takes and what its heads (merges, counters, broadcasts)
// give, and ends with what it hands on; filters and outputs take their values from the last stage.
// What only heads take is in their buffers, and constants are in the configuration. Each operation
// reads the registers of one stage and writes those of the next; a reduction has its accumulator in
// one.
#include <algorithm>

#include "mapping/check_model.hpp"

namespace revet::mapping::check {

using namespace ops;

namespace {

struct Step {
  std::vector<std::size_t> reads, writes;  ///< values
};

class Pipeline {
 public:
  Pipeline(const Model& model, const CheckedUnit& unit) : model_(model) {
    for (const std::size_t i : unit.parts) inside_.insert(i);
    for (const std::size_t i : unit.parts) add(model.parts[i]);
    for (const Step& s : steps_)
      for (const std::size_t v : s.writes) made_.insert(v);
  }

  unsigned registers(unsigned limit) {
    const unsigned as_it_stands = most_in_order();
    if (as_it_stands <= limit || steps_.size() > 24) return as_it_stands;
    return some_order(0, limit) ? limit : as_it_stands;
  }

 private:
  std::size_t id(const Value& v) { return ids_.insert({&v, ids_.size()}).first->second; }

  /// What carries a stream inside the unit: the value of a context's code that gives it, or the
  /// stream itself. Null where nothing has to.
  const Value* carrier(const Value* stream) const {
    for (;;) {
      if (!carries_data(*stream)) return nullptr;
      const std::size_t from = model_.writers.at(stream);
      const Op& op = *model_.parts[from].op;
      if (inside_.count(from) == 0 || !op.is(flow_context)) return stream;
      const Value* given = op.body().terminator()->operand(stream->index());
      if (!given->is_argument())
        return given->def()->is(arith_constant) || given->def()->is(mem_dram_size) ? nullptr
                                                                                   : given;
      stream = op.operand(given->index());
    }
  }

  void use(std::vector<std::size_t>& list, const Value* stream) {
    if (const Value* v = carrier(stream)) list.push_back(id(*v));
  }

  void add(const Part& p) {
    const Op& op = *p.op;
    if (op.is(flow_context)) {
      code(op);
    } else if (op.is(flow_reduce) || op.is(flow_deal)) {
      Step s;
      for (const Part::Taken& t : p.takes) use(s.reads, t.stream);
      for (const Value* v : p.gives)
        if (carries_data(*v)) s.writes.push_back(id(*v));
      steps_.push_back(std::move(s));
    } else if (op.is(flow_filter)) {
      for (const Part::Taken& t : p.takes) use(last_, t.stream);
      return;  // it passes what is in the last stage's registers
    } else if (op.is(flow_strip) || op.is(flow_flatten)) {
      const std::size_t from = model_.writers.at(p.takes[0].stream);
      const Op& before = *model_.parts[from].op;
      const bool tail =
          inside_.count(from) != 0 &&
          (before.is(flow_filter) || before.is(flow_strip) || before.is(flow_flatten));
      if (!tail) use(last_, p.takes[0].stream);
      return;
    }
    for (const Value* v : p.gives)
      if (leaves(*v)) use(last_, v);
  }

  bool leaves(const Value& stream) const {
    const auto at = model_.readers.find(&stream);
    if (at == model_.readers.end()) return false;
    return std::any_of(at->second.begin(), at->second.end(), [&](const auto& reader) {
      return inside_.count(reader.first) == 0 || is_merging(*model_.parts[reader.first].op);
    });
  }

  void code(const Op& context) {
    for (const Op& op : context.body()) {
      if (op.is(flow_yield) || op.is(arith_constant) || op.is(mem_dram_size)) continue;
      Step s;
      for (const Value* v : op.operands()) {
        if (v->is_argument())
          use(s.reads, context.operand(v->index()));
        else if (!v->def()->is(arith_constant) && !v->def()->is(mem_dram_size))
          s.reads.push_back(id(*v));
      }
      for (const auto& r : op.results()) s.writes.push_back(id(*r));
      steps_.push_back(std::move(s));
    }
  }

  /// Values that are there before step `mask` is complete and are needed by the other steps.
  unsigned live(std::uint32_t mask) const {
    std::set<std::size_t> needed(last_.begin(), last_.end()), there;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if ((mask >> i & 1) != 0)
        there.insert(steps_[i].writes.begin(), steps_[i].writes.end());
      else
        needed.insert(steps_[i].reads.begin(), steps_[i].reads.end());
    }
    unsigned n = 0;
    for (const std::size_t v : needed) n += made_.count(v) == 0 || there.count(v) != 0;
    return n;
  }

  unsigned most_in_order() const {
    // More steps than bits only where a context is made of free operations; they stand in order.
    std::vector<std::set<std::size_t>> needed(steps_.size() + 1);
    needed.back().insert(last_.begin(), last_.end());
    unsigned most = static_cast<unsigned>(needed.back().size());
    for (std::size_t i = steps_.size(); i-- != 0;) {
      needed[i] = needed[i + 1];
      for (const std::size_t v : steps_[i].writes) needed[i].erase(v);
      needed[i].insert(steps_[i].reads.begin(), steps_[i].reads.end());
      most = std::max(most, static_cast<unsigned>(needed[i].size()));
    }
    return most;
  }

  /// Whether the steps that are not in `mask` can follow without a stage of more than `limit`.
  bool some_order(std::uint32_t mask, unsigned limit) {
    if (live(mask) > limit || !tried_.insert(mask).second || tried_.size() > 200000) return false;
    if (mask == (std::uint32_t{1} << steps_.size()) - 1) return true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if ((mask >> i & 1) != 0) continue;
      const bool ready = std::all_of(steps_[i].reads.begin(), steps_[i].reads.end(),
                                     [&](std::size_t v) { return is_there(v, mask); });
      if (ready && some_order(mask | std::uint32_t{1} << i, limit)) return true;
    }
    return false;
  }

  bool is_there(std::size_t v, std::uint32_t mask) const {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (std::count(steps_[i].writes.begin(), steps_[i].writes.end(), v) != 0)
        return (mask >> i & 1) != 0;
    return true;
  }

  const Model& model_;
  std::set<std::size_t> inside_;
  std::map<const Value*, std::size_t> ids_;
  std::vector<Step> steps_;
  std::vector<std::size_t> last_;  ///< values that the end of the pipeline needs
  std::set<std::size_t> made_;     ///< values that steps write; all others are there from the start
  std::set<std::uint32_t> tried_;
};

}  // namespace

unsigned registers_needed(const Model& model, const CheckedUnit& unit, unsigned limit) {
  return Pipeline(model, unit).registers(limit);
}

}  // namespace revet::mapping::check
