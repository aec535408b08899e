#include "dominance.hpp"

#include <algorithm>

namespace revet {
namespace {

/// Blocks that are reached from the entry, each behind those that lead to it but for back edges.
std::vector<const Block*> reverse_postorder(const Region& region) {
  std::vector<const Block*> out;
  std::unordered_map<const Block*, unsigned> next = {{&region.front(), 0}};
  std::vector<const Block*> stack = {&region.front()};
  while (!stack.empty()) {
    const Block* const block = stack.back();
    const Op* const last = block->last();
    unsigned& i = next[block];
    if (!last || i == last->num_successors()) {
      out.push_back(block);
      stack.pop_back();
      continue;
    }
    const Block* const to = last->successor(i++);
    if (next.emplace(to, 0).second) stack.push_back(to);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

Dominance::Dominance(const Region& region) {
  const std::vector<const Block*> order = reverse_postorder(region);
  const std::size_t n = order.size();
  std::unordered_map<const Block*, std::size_t> number;
  for (std::size_t i = 0; i < n; ++i) number[order[i]] = i;
  std::vector<std::vector<std::size_t>> before(n);
  for (std::size_t i = 0; i < n; ++i)
    if (const Op* last = order[i]->last())
      for (unsigned k = 0; k < last->num_successors(); ++k)
        before[number.at(last->successor(k))].push_back(i);

  std::vector<std::size_t> parent(n, n);
  parent[0] = 0;
  const auto common = [&](std::size_t a, std::size_t b) {
    while (a != b) (a > b ? a : b) = parent[std::max(a, b)];
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 1; i < n; ++i) {
      std::size_t now = n;
      for (const std::size_t p : before[i])
        if (parent[p] != n) now = now == n ? p : common(now, p);
      if (parent[i] != now) {
        parent[i] = now;
        changed = true;
      }
    }
  }

  // Sizes of the subtrees, then places in preorder: a child begins behind the children before it.
  std::vector<std::size_t> size(n, 1);
  for (std::size_t i = n; i-- > 1;) size[parent[i]] += size[i];
  std::vector<std::size_t> first(n, 0), used(n, 1);
  for (std::size_t i = 1; i < n; ++i) {
    first[i] = first[parent[i]] + used[parent[i]];
    used[parent[i]] += size[i];
  }
  for (std::size_t i = 0; i < n; ++i) tree_[order[i]] = {first[i], first[i] + size[i]};
}

bool Dominance::dominates(const Block& a, const Block& b) const {
  const auto below = tree_.find(&b);
  if (below == tree_.end()) return true;
  const auto above = tree_.find(&a);
  return above != tree_.end() && above->second.first <= below->second.first &&
         below->second.first < above->second.last;
}

}  // namespace revet
