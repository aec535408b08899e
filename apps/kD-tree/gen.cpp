// Data for kD-tree: points in a 16-ary tree of splits, and rectangles.
#include <algorithm>
#include <cmath>

#include "gen_common.hpp"

namespace {

using gen::DataSet;
using gen::Options;
using gen::Random;

struct Point {
  int32_t x, y;
};

struct Rectangle {
  int32_t xmin, xmax, ymin, ymax;
};

constexpr int splits_per_node = 15;
constexpr double side = 0x1p31;  // of the square that the points lie in
constexpr double corner = -0x1p30;

bool split_is_on_x(int split) { return split == 0 || (split >= 3 && split <= 6); }

int32_t coordinate(const Point& point, bool on_x) { return on_x ? point.x : point.y; }

// Numbers of nodes and leaves of a tree of this depth.
struct Shape {
  explicit Shape(uint64_t depth) {
    for (uint64_t level = 0; level < depth; level++) {
      inner += leaves;
      leaves *= 16;
    }
  }

  uint64_t inner = 0;
  uint64_t leaves = 1;
};

int32_t to_coordinate(double value) {
  return static_cast<int32_t>(std::clamp(value, corner, corner + side - 1));
}

class Builder {
 public:
  Builder(DataSet& data, const Shape& shape, Random& random)
      : shape_(shape),
        random_(random),
        nodes_(data.create<int32_t>("nodes", 16 * shape.inner)),
        leaf_start_(data.create<uint32_t>("leaf_start", shape.leaves + 1)) {}

  // Sorts the points into leaves.
  void build(std::span<Point> points) {
    points_ = points;
    node(0, points);
    leaf_start_.back() = static_cast<uint32_t>(points.size());
  }

 private:
  void node(uint64_t number, std::span<Point> points) {
    if (number >= shape_.inner) {
      leaf_start_[number - shape_.inner] = static_cast<uint32_t>(points.data() - points_.data());
    } else {
      split(number, 0, points);
    }
  }

  void split(uint64_t number, int t, std::span<Point> points) {
    if (t >= splits_per_node) {
      node(16 * number + 1 + static_cast<uint64_t>(t - splits_per_node), points);
      return;
    }
    const bool on_x = split_is_on_x(t);
    const int32_t value = median(points, on_x);
    nodes_[16 * number + static_cast<uint64_t>(t)] = value;
    // Stable, so that the order of the points does not depend on the library.
    const auto right = std::stable_partition(points.begin(), points.end(), [&](const Point& point) {
      return coordinate(point, on_x) < value;
    });
    const auto left_size = static_cast<size_t>(right - points.begin());
    split(number, 2 * t + 1, points.first(left_size));
    split(number, 2 * t + 2, points.subspan(left_size));
  }

  int32_t median(std::span<const Point> points, bool on_x) {
    if (points.empty()) return to_coordinate(corner + side * random_.unit());
    values_.clear();
    for (const Point& point : points) values_.push_back(coordinate(point, on_x));
    const auto middle = values_.begin() + static_cast<std::ptrdiff_t>(values_.size() / 2);
    std::nth_element(values_.begin(), middle, values_.end());
    return *middle;
  }

  const Shape& shape_;
  Random& random_;
  std::span<int32_t> nodes_;
  std::span<uint32_t> leaf_start_;
  std::span<Point> points_;
  std::vector<int32_t> values_;
};

std::vector<Point> random_points(uint64_t count, uint64_t clusters, Random& random) {
  std::vector<Point> centres(clusters);
  const auto anywhere = [&] { return corner + side * random.unit(); };
  for (Point& centre : centres) centre = {to_coordinate(anywhere()), to_coordinate(anywhere())};
  // A sum of four is near enough to a normal distribution, and needs no logarithm.
  const auto deviation = [&] {
    return side / 64 * (random.unit() + random.unit() + random.unit() + random.unit() - 2);
  };
  std::vector<Point> points(count);
  for (Point& point : points) {
    if (clusters == 0 || random.chance(3, 4)) {
      const double x = anywhere();
      point = {to_coordinate(x), to_coordinate(anywhere())};
    } else {
      const Point& centre = centres[random.below(clusters)];
      const double x = centre.x + deviation();
      point = {to_coordinate(x), to_coordinate(centre.y + deviation())};
    }
  }
  return points;
}

void make(DataSet& data, const Options& options, Random& random) {
  const uint64_t depth = options.at("depth");
  const uint64_t count = options.at("count");
  data.set_arg("depth", depth);
  const Shape shape(depth);

  std::vector<Point> points = random_points(options.at("points"), options.at("clusters"), random);
  Builder(data, shape, random).build(points);
  const auto words = data.create<int32_t>("points", 2 * points.size());
  for (size_t p = 0; p < points.size(); p++) {
    words[2 * p] = points[p].x;
    words[2 * p + 1] = points[p].y;
  }

  // A square of a leaves by a leaves reaches about (a + 1)^2 of them.
  const double per_leaf = static_cast<double>(points.size()) / static_cast<double>(shape.leaves);
  const double wanted = static_cast<double>(options.at("reach"));
  const double reached_leaves = std::max(wanted / std::max(per_leaf, 1.0), 1.0);
  const double leaf_side = side / std::sqrt(static_cast<double>(shape.leaves));
  const double square = std::max(std::sqrt(reached_leaves) - 1, 0.25) * leaf_side;
  const auto queries = data.create<int32_t>("queries", 4 * count);
  for (size_t i = 0; i < count; i++) {
    // The sides differ by up to a factor of four: one is up to doubled, the other up to halved.
    const double stretch = 1 + random.unit();
    const bool wide = random.chance(1, 2);
    const double width = wide ? square * stretch : square / stretch;
    const double height = wide ? square / stretch : square * stretch;
    const double x = corner + (side - width) * random.unit();
    const double y = corner + (side - height) * random.unit();
    queries[4 * i] = to_coordinate(x);
    queries[4 * i + 1] = to_coordinate(x + width);
    queries[4 * i + 2] = to_coordinate(y);
    queries[4 * i + 3] = to_coordinate(y + height);
  }
}

bool is_inside(const Point& p, const Rectangle& r) {
  return r.xmin <= p.x && p.x <= r.xmax && r.ymin <= p.y && p.y <= r.ymax;
}

// One rectangle's way down the tree, side by side.
class Search {
 public:
  Search(DataSet& data, const Shape& shape)
      : shape_(shape),
        nodes_(data.get<int32_t>("nodes")),
        leaf_start_(data.get<uint32_t>("leaf_start")),
        points_(data.get<int32_t>("points")) {}

  int32_t found = 0;
  uint64_t reached = 0;  // points of the leaves on the way

  void run(const Rectangle& r) {
    found = 0;
    reached = 0;
    node(0, r);
  }

 private:
  void node(uint64_t number, const Rectangle& r) {
    if (number < shape_.inner) {
      split(number, 0, r);
      return;
    }
    const uint64_t leaf = number - shape_.inner;
    for (size_t p = leaf_start_[leaf]; p < leaf_start_[leaf + 1]; p++) {
      reached++;
      found += is_inside({points_[2 * p], points_[2 * p + 1]}, r);
    }
  }

  void split(uint64_t number, int t, const Rectangle& r) {
    if (t >= splits_per_node) {
      node(16 * number + 1 + static_cast<uint64_t>(t - splits_per_node), r);
      return;
    }
    const int32_t value = nodes_[16 * number + static_cast<uint64_t>(t)];
    const bool on_x = split_is_on_x(t);
    if ((on_x ? r.xmin : r.ymin) < value) split(number, 2 * t + 1, r);
    if ((on_x ? r.xmax : r.ymax) >= value) split(number, 2 * t + 2, r);
  }

  const Shape& shape_;
  std::span<const int32_t> nodes_;
  std::span<const uint32_t> leaf_start_;
  std::span<const int32_t> points_;
};

void solve(DataSet& data) {
  const uint32_t count = data.arg("count");
  const Shape shape(data.arg("depth"));
  const auto queries = data.get<int32_t>("queries");
  const auto points = data.get<int32_t>("points");
  const auto counts = data.create<int32_t>("counts", count);
  // Small sets are counted without the tree too, which also shows that the tree is a valid one.
  const bool brute_force = uint64_t{count} * points.size() <= 1u << 26;
  Search search(data, shape);
  uint64_t reached = 0;
  for (size_t i = 0; i < count; i++) {
    const Rectangle r = {queries[4 * i], queries[4 * i + 1], queries[4 * i + 2],
                         queries[4 * i + 3]};
    search.run(r);
    counts[i] = search.found;
    reached += search.reached;
    if (!brute_force) continue;
    int32_t inside = 0;
    for (size_t p = 0; p < points.size(); p += 2) {
      inside += is_inside({points[p], points[p + 1]}, r);
    }
    if (inside != counts[i]) throw gen::UsageError("points outside the leaves they belong to");
  }
  data.reported_size = 8 * reached;
}

}  // namespace

int main(int argc, char** argv) {
  const gen::App app = {
      .name = "kD-tree",
      .summary =
          "Points in a tree of splits at the medians, three quarters of them uniform and "
          "the rest in\nclusters, and rectangles in random places.",
      .inputs = {"nodes", "leaf_start", "points", "queries"},
      .outputs = {"counts"},
      .derived = {},
      .default_count = 1u << 17,
      .options = {{"depth", 4, 0, 6, "levels of inner nodes, of 16 children each"},
                  {"points", 1u << 22, 0, (1u << 28) - 1, "points in the tree"},
                  {"clusters", 64, 0, 1u << 20, "clusters that a quarter of the points lie in"},
                  {"reach", 1000, 0, 1u << 30,
                   "points in the leaves that a rectangle reaches, "
                   "on average and about"}},
      .make = make,
      .solve = solve,
  };
  return gen::generate_main(app, argc, argv);
}
