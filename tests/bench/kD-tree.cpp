// kD-tree by hand (apps/FORMATS.md, section 8).
#include "harness.hpp"
#ifndef REVET_BENCH_BASELINE_ONLY
#include "kD-tree.h"
#endif

namespace {

struct Tree {
  int inner;  // number of inner nodes
  const int* nodes;
  const uint32_t* leaf_start;
  const int* points;
};

struct Rectangle {
  int xmin, xmax, ymin, ymax;
};

int count_in_node(const Tree& tree, int node, const Rectangle& r);

// t is a split, or from 15 on a child.
int count_below_split(const Tree& tree, int node, int t, const Rectangle& r) {
  if (t >= 15) return count_in_node(tree, 16 * node + 1 + t - 15, r);
  const int value = tree.nodes[16 * node + t];
  const bool on_x = t == 0 || (t >= 3 && t <= 6);
  int found = 0;
  if ((on_x ? r.xmin : r.ymin) < value) found += count_below_split(tree, node, 2 * t + 1, r);
  if ((on_x ? r.xmax : r.ymax) >= value) found += count_below_split(tree, node, 2 * t + 2, r);
  return found;
}

int count_in_node(const Tree& tree, int node, const Rectangle& r) {
  if (node < tree.inner) return count_below_split(tree, node, 0, r);
  const int* point = tree.points + 2 * size_t{tree.leaf_start[node - tree.inner]};
  const int* const end = tree.points + 2 * size_t{tree.leaf_start[node - tree.inner + 1]};
  int found = 0;
  for (; point != end; point += 2) {
    const int x = point[0];
    const int y = point[1];
    // Without branches, so that compilers can use vectors.
    found += (x >= r.xmin) & (x <= r.xmax) & (y >= r.ymin) & (y <= r.ymax);
  }
  return found;
}

void kd_tree(int count, int depth, const int* nodes, const uint32_t* leaf_start, const int* points,
             const int* queries, int* counts) {
  Tree tree = {0, nodes, leaf_start, points};
  for (int level = 0; level < depth; level++) tree.inner = 16 * tree.inner + 1;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++) {
    const int* q = queries + 4 * i;
    counts[i] = count_in_node(tree, 0, {q[0], q[1], q[2], q[3]});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Session session(argc, argv);
  const auto count = session.arg<int>("count");
  const auto depth = session.arg<int>("depth");
  const auto* nodes = session.input<int>("nodes");
  const auto* leaf_start = session.input<uint32_t>("leaf_start");
  const auto* points = session.input<int>("points");
  const auto* queries = session.input<int>("queries");
  auto* counts = session.output<int>("counts");
  return session.compare(
      [&] { kd_tree(count, depth, nodes, leaf_start, points, queries, counts); },
      REVET_BENCH_EMITTED(kD_tree, session, count, depth, session.buffer("nodes"),
                          session.buffer("leaf_start"), session.buffer("points"),
                          session.buffer("queries"), session.buffer("counts")));
}
