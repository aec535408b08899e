#include "verify_blocks.hpp"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "revet/ops.hpp"

namespace revet {
namespace {

struct Loop {
  const Block* header;
  const Loop* around;
};

/// Where a block is: the foreach whose child it belongs to, null in main, and its loops.
struct Place {
  const Op* enter = nullptr;
  const Loop* loop = nullptr;
  bool operator==(const Place&) const = default;
};

bool is_back(const Op& terminator) {
  return terminator.is(ops::cfg_loop_br) && terminator.flag("back");
}

class Check {
 public:
  using Fail = std::function<void(const Op&, std::string)>;
  Check(const Op& func, const Fail& fail) : func_(func), fail_(fail) {}

  void run() {
    reach();
    if (!sound_) return;
    place();
    if (!sound_) return;
    if (!ends_[nullptr]) fail(func_, "no thread.return ends it");
    for (const auto& block : func_.region().blocks()) {
      const Op& t = *block->last();
      if (!t.is(ops::cfg_foreach_enter)) continue;
      if (const Op* end = ends_[&t])
        results(t, *end);
      else
        fail(t, "no cfg.reduce ends its children");
    }
  }

 private:
  void fail(const Op& op, std::string message) {
    sound_ = false;
    fail_(op, std::move(message));
  }

  /// Edges into the blocks that main's entry leads to.
  void reach() {
    const Region& region = func_.region();
    const Block& entry = region.front();
    std::set<const Block*> reached = {&entry};
    std::vector<const Block*> todo = {&entry};
    while (!todo.empty()) {
      const Op& t = *todo.back()->last();
      todo.pop_back();
      for (unsigned i = 0; i < t.num_successors(); ++i) {
        const Block* const to = t.successor(i);
        into_[to].push_back(&t);
        if (reached.insert(to).second) todo.push_back(to);
      }
    }
    for (const auto& block : region.blocks()) {
      if (reached.count(block.get()) == 0)
        fail(*block->first(), "no path leads to its block");
      else
        edges(*block, block.get() == &entry);
    }
  }

  void edges(const Block& block, bool entry) {
    const auto& into = into_[&block];
    if (entry && !into.empty()) return fail(*into[0], "leads to the entry of the function");
    if (into.size() > 2)
      return fail(*into[2], fmt::format("is one of {} edges into a block: more than two must meet "
                                        "two by two",
                                        into.size()));
    std::size_t loops = 0, back = 0;
    for (const Op* t : into) {
      loops += t->is(ops::cfg_loop_br) ? 1 : 0;
      back += is_back(*t) ? 1 : 0;
    }
    if (loops != 0 && (loops != 2 || back != 1))
      fail(*into[0],
           "leads to a block that is no loop header: one needs a cfg.loop_br from outside "
           "and one that goes back");
  }

  /// Goes through the blocks, each behind those that lead to it.
  void place() {
    const Block& entry = func_.region().front();
    std::map<const Block*, std::size_t> missing;
    for (const auto& [block, into] : into_)
      for (const Op* t : into) missing[block] += is_back(*t) ? 0 : 1;
    places_[&entry];
    ends_[nullptr];
    std::vector<const Block*> todo = {&entry};
    std::size_t done = 0;
    while (!todo.empty()) {
      const Op& t = *todo.back()->last();
      todo.pop_back();
      ++done;
      const Place from = places_.at(t.block());
      if (t.is(ops::cfg_reduce) || t.is(ops::thread_return)) {
        end(t, from);
        continue;
      }
      for (unsigned i = 0; i < t.num_successors(); ++i) {
        if (is_back(t)) {
          if (!from.loop || from.loop->header != t.successor(i))
            fail(t, "goes back to a block that is not the header of the innermost loop around it");
          continue;
        }
        go(t, i, from);
        if (--missing[t.successor(i)] == 0) todo.push_back(t.successor(i));
      }
    }
    if (!sound_ || done == func_.region().blocks().size()) return;
    for (const auto& block : func_.region().blocks())
      if (missing[block.get()] != 0)
        return fail(*into_[block.get()][0],
                    "is on a path that comes round without a cfg.loop_br {back = true}");
  }

  /// The edge by successor `i` gives its block a place.
  void go(const Op& t, unsigned i, Place place) {
    const Block* const to = t.successor(i);
    if (t.is(ops::cfg_foreach_enter) && i == 0) {
      place = {&t, nullptr};
      ends_[&t];
    } else if (t.is(ops::cfg_loop_br)) {
      place.loop = &loops_.emplace_back(Loop{to, place.loop});
    } else if (t.is(ops::cfg_loop_exit) || t.is(ops::cfg_exit)) {
      const std::int64_t leaves = t.int_attr("loops");
      const bool exit = t.is(ops::cfg_exit);
      std::int64_t around = 0;
      for (const Loop* l = place.loop; l; l = l->around) {
        if (exit || around < leaves) place.loop = l->around;
        ++around;
      }
      if (exit ? leaves != around : leaves < 1 || leaves > around)
        fail(t, fmt::format("leaves {} loops, but stands in {}", leaves, around));
    }
    const auto [known, fresh] = places_.emplace(to, place);
    if (!fresh && !(known->second == place))
      fail(t, known->second.enter == place.enter
                  ? "meets a path from other loops than those around it"
                  : "meets a path of another thread");
  }

  void end(const Op& t, const Place& place) {
    if (t.is(ops::cfg_reduce) != (place.enter != nullptr))
      return fail(t, place.enter ? "ends a child, which cfg.reduce does"
                                 : "ends main, which thread.return does");
    if (place.loop) return fail(t, "ends a thread inside a loop");
    const Op*& end = ends_[place.enter];
    if (end) return fail(t, "is a second end of the thread");
    end = &t;
  }

  void results(const Op& enter, const Op& end) {
    const Block& after = *enter.successor(1);
    bool fits = after.num_args() == end.num_operands();
    for (unsigned i = 0; fits && i < after.num_args(); ++i)
      fits = after.arg(i)->type() == end.operand(i)->type();
    if (!fits) fail(end, "gives the block behind the foreach other values than it takes");
  }

  const Op& func_;
  const Fail& fail_;
  bool sound_ = true;
  std::map<const Block*, std::vector<const Op*>> into_;
  std::map<const Block*, Place> places_;
  std::map<const Op*, const Op*> ends_;  ///< of the children of each foreach, and of main
  std::deque<Loop> loops_;
};

}  // namespace

void verify_blocks(const Op& func, const std::function<void(const Op&, std::string)>& fail) {
  Check(func, fail).run();
}

}  // namespace revet
