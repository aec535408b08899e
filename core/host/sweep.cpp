/// `revet sweep`: one program through one pipeline at many points of its options, with what each
/// point costs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "commands.hpp"
#include "launch/data.hpp"
#include "provenance.hpp"
#include "support/files.hpp"

namespace revet::host {
namespace {

using nlohmann::ordered_json;

struct Axis {
  std::string key;
  std::vector<std::string> values;
};

using Point = std::vector<std::string>;  ///< a value per axis

struct Arguments {
  std::string pipeline;
  std::vector<std::string> vary;
  std::string design = "cartesian";
  std::string data;
  std::string check;
  std::string report;
  std::string launcher = "local";
  std::string estimate = "count-ops";
  std::vector<std::string> args;
};

struct Row {
  Point point;
  std::string status = "ok";  ///< "failed" where a pass or the run ended with an error
  int exit = 0;
  std::string outputs;  ///< "equal", "differ"; empty where nothing was run
  std::uint64_t threads = 0;
  std::map<std::string, std::int64_t> estimate;
};

/// What the estimate of a graph is made of (plugins/count_ops), in the order of the table.
constexpr const char* columns[] = {"contexts",     "values into merges", "words through loops",
                                   "vector links", "scalar links",       "void links",
                                   "memory units", "allocators",         "address generators"};

Axis parse_axis(const std::string& item) {
  const std::size_t eq = item.find('=');
  if (eq == std::string::npos || eq == 0)
    throw Error(Exit::usage, fmt::format("--vary {}: expected KEY=V1,V2,..", item));
  Axis axis{item.substr(0, eq), {}};
  for (std::size_t begin = eq + 1; begin <= item.size();) {
    const std::size_t end = std::min(item.find(',', begin), item.size());
    axis.values.push_back(item.substr(begin, end - begin));
    if (axis.values.back().empty())
      throw Error(Exit::usage, fmt::format("--vary {}: a value is empty", item));
    begin = end + 1;
  }
  return axis;
}

/// Points such that every two values of two axes occur together in one: in each, the first pair
/// that is not covered yet, then for every other axis the value that covers most.
std::vector<Point> pairwise(const std::vector<Axis>& axes, const Point& first) {
  using Pair = std::array<std::size_t, 4>;  // axis, value, later axis, value
  using Choice = std::vector<std::optional<std::size_t>>;
  std::set<Pair> open;
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (std::size_t j = i + 1; j < axes.size(); ++j)
      for (std::size_t v = 0; v < axes[i].values.size(); ++v)
        for (std::size_t w = 0; w < axes[j].values.size(); ++w) open.insert({i, v, j, w});
  const auto pair = [](std::size_t i, std::size_t v, std::size_t j, std::size_t w) {
    return i < j ? Pair{i, v, j, w} : Pair{j, w, i, v};
  };
  const auto cover = [&](const Choice& chosen) {
    for (std::size_t i = 0; i < axes.size(); ++i)
      for (std::size_t j = i + 1; j < axes.size(); ++j) open.erase({i, *chosen[i], j, *chosen[j]});
  };
  std::vector<Point> out = {first};
  cover(Choice(axes.size(), 0));
  while (!open.empty()) {
    Choice chosen(axes.size());
    const Pair next = *open.begin();
    chosen[next[0]] = next[1];
    chosen[next[2]] = next[3];
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (chosen[i]) continue;
      std::size_t best = 0, most = 0;
      for (std::size_t v = 0; v < axes[i].values.size(); ++v) {
        std::size_t covered = 0;
        for (std::size_t j = 0; j < axes.size(); ++j)
          if (j != i && chosen[j]) covered += open.count(pair(i, v, j, *chosen[j]));
        if (covered > most) {
          most = covered;
          best = v;
        }
      }
      chosen[i] = best;
    }
    cover(chosen);
    out.emplace_back();
    for (std::size_t i = 0; i < axes.size(); ++i) out.back().push_back(axes[i].values[*chosen[i]]);
  }
  return out;
}

/// All points of a design, the first values first; the last axis varies fastest.
std::vector<Point> points_of(const std::vector<Axis>& axes, const std::string& design) {
  Point first;
  for (const Axis& a : axes) first.push_back(a.values[0]);
  std::vector<Point> out = {first};
  if (design == "one-at-a-time") {
    for (std::size_t i = 0; i < axes.size(); ++i)
      for (std::size_t k = 1; k < axes[i].values.size(); ++k) {
        out.push_back(first);
        out.back()[i] = axes[i].values[k];
      }
    return out;
  }
  if (design == "paired") {
    for (const Axis& a : axes)
      if (a.values.size() != axes[0].values.size())
        throw Error(Exit::usage,
                    fmt::format("--design paired: {} has {} values, but {} has {}", axes[0].key,
                                axes[0].values.size(), a.key, a.values.size()));
    for (std::size_t k = 1; k < axes[0].values.size(); ++k) {
      out.emplace_back();
      for (const Axis& a : axes) out.back().push_back(a.values[k]);
    }
    return out;
  }
  if (design == "pairwise") return pairwise(axes, first);
  if (design != "cartesian")
    throw Error(
        Exit::usage,
        fmt::format("--design is cartesian, paired, pairwise or one-at-a-time, not '{}'{}", design,
                    did_you_mean(design, {"cartesian", "paired", "pairwise", "one-at-a-time"})));
  std::size_t total = 1;
  for (const Axis& a : axes) {
    total *= a.values.size();
    if (total > 1000000) throw Error(Exit::usage, "the sweep has more than 1000000 points");
  }
  out.clear();
  for (std::size_t n = 0; n < total; ++n) {
    Point p(axes.size());
    std::size_t rest = n;
    for (std::size_t i = axes.size(); i-- > 0; rest /= axes[i].values.size())
      p[i] = axes[i].values[rest % axes[i].values.size()];
    out.push_back(std::move(p));
  }
  return out;
}

/// KEY=V as an override. KEY is what --set takes, or ID.enabled with true or false.
void apply(const Axis& axis, const std::string& value, Overrides& overrides) {
  constexpr std::string_view suffix = ".enabled";
  if (!axis.key.ends_with(suffix)) {
    overrides.set.push_back(axis.key + "=" + value);
    return;
  }
  if (value != "true" && value != "false")
    throw Error(Exit::usage, fmt::format("--vary {}: a pass is enabled = true or false, not '{}'",
                                         axis.key, value));
  const std::string id = axis.key.substr(0, axis.key.size() - suffix.size());
  (value == "true" ? overrides.enable : overrides.disable).push_back(id);
}

std::string describe(const std::vector<Axis>& axes, const Point& point) {
  std::string out;
  for (std::size_t i = 0; i < axes.size(); ++i)
    out += fmt::format("{}{}={}", i == 0 ? "" : " ", axes[i].key, point[i]);
  return out;
}

/// The arrays of the first point that ran, for the others to equal.
using Contents = std::map<std::string, std::vector<std::uint8_t>>;

bool equal_first(const Launch& launch, Contents& first) {
  Contents now;
  for (const ArrayData& a : launch.arrays) now[a.name].assign(a.data(), a.data() + a.bytes());
  if (first.empty()) first = now;
  return now == first;
}

class Sweep {
 public:
  Sweep(Arguments a, Common common, std::string input, std::vector<Axis> axes)
      : a_(std::move(a)),
        common_(std::move(common)),
        input_(std::move(input)),
        axes_(std::move(axes)),
        arguments_(arguments_of(a_.args)) {}

  Row run(const Point& point) {
    Row row;
    row.point = point;
    Common common = common_;
    for (std::size_t i = 0; i < axes_.size(); ++i) apply(axes_[i], point[i], common.overrides);
    try {
      in_session(common, [&](Session& session) { measure(session, row); });
    } catch (const ExitNow& e) {
      // A wrong command line is wrong at every point.
      if (e.code == Exit::usage) throw;
      row.status = "failed";
      row.exit = static_cast<int>(e.code);
      fmt::print(stderr, "revet: the sweep goes on behind the point {}\n", describe(axes_, point));
    }
    return row;
  }

  ordered_json provenance_of() {
    ordered_json j;
    in_session(common_, [&](Session& session) {
      Pipeline pipeline = session.read_pipeline(a_.pipeline);
      Program program = session.load_program(input_);
      session.check_pipeline(pipeline, program);
      j = provenance(common_.run.reproduce.command, pipeline, session.plugins(),
                     {input_, program.hash, a_.data}, Launch());
    });
    return j;
  }

 private:
  void measure(Session& session, Row& row) {
    Pipeline pipeline = session.read_pipeline(a_.pipeline);
    Program program = session.load_program(input_);
    session.check_pipeline(pipeline, program);
    session.run_passes(*program.module, pipeline);
    estimate(session, pipeline, *program.module, row);
    if (a_.data.empty()) return;
    const BackendInfo* backend =
        pipeline.backend.empty() ? nullptr : session.plugins().backend(pipeline.backend);
    if (!backend || !backend->run)
      throw Error(Exit::usage, fmt::format("pipeline '{}' has no backend that runs programs; "
                                           "without --data a sweep only compiles",
                                           pipeline.name));
    Launch launch = load_launch(signature_of(*program.module), a_.data, arguments_);
    BackendContext context{pipeline.backend_options, session.diagnostics, program.name, "", 1,
                           common_.verbose,          pipeline.model};
    session.run_backend(*program.module, pipeline, [&](const BackendInfo& b) {
      row.threads = b.run(*program.module, launch, context).threads;
    });
    session.flush();
    if (!a_.check.empty()) {
      row.outputs = "differ";
      check_outputs(launch, a_.check, std::nullopt);
      row.outputs = "equal";
    } else {
      row.outputs = equal_first(launch, first_) ? "equal" : "differ";
    }
  }

  /// Statistics of the pass that --estimate names, on what the pipeline made.
  void estimate(Session& session, const Pipeline& pipeline, Module& module, Row& row) {
    const PassInfo* const pass = session.plugins().pass(a_.estimate);
    if (!pass)
      throw Error(Exit::usage,
                  fmt::format("--estimate: there is no pass '{}'{}", a_.estimate,
                              did_you_mean(a_.estimate, session.plugins().names("pass"))));
    const OptionValues options(pass->options);
    PassContext context(options, session.diagnostics);
    context.model = pipeline.model;
    const std::unique_ptr<Module> copy = module.clone();
    pass->run(*copy, context);
    session.flush();
    row.estimate = context.statistics;
  }

  const Arguments a_;
  const Common common_;
  const std::string input_;
  const std::vector<Axis> axes_;
  const std::map<std::string, std::string> arguments_;
  Contents first_;
};

std::string markdown(const std::string& input, const Arguments& a, const std::vector<Axis>& axes,
                     const std::vector<Row>& rows) {
  std::vector<std::string> shown;
  for (const char* c : columns)
    if (std::any_of(rows.begin(), rows.end(),
                    [&](const Row& r) { return r.estimate.count(c) != 0; }))
      shown.emplace_back(c);
  std::string out = fmt::format("# {} with {}\n\n|", input, a.pipeline);
  for (const Axis& axis : axes) out += fmt::format(" {} |", axis.key);
  for (const std::string& c : shown) out += fmt::format(" {} |", c);
  out += " outputs |\n|";
  for (std::size_t i = 0; i < axes.size(); ++i) out += "---|";
  for (std::size_t i = 0; i < shown.size(); ++i) out += "--:|";
  out += "---|\n";
  for (const Row& row : rows) {
    out += "|";
    for (const std::string& v : row.point) out += fmt::format(" {} |", v);
    for (const std::string& c : shown) {
      const auto found = row.estimate.find(c);
      out += row.estimate.empty()
                 ? " |"
                 : fmt::format(" {} |", found == row.estimate.end() ? 0 : found->second);
    }
    const std::string outputs = row.outputs.empty() ? "not run" : row.outputs;
    out += fmt::format(" {} |\n",
                       row.status == "ok" ? outputs : fmt::format("FAIL (exit {})", row.exit));
  }
  return out;
}

ordered_json json_of(const std::string& input, const Arguments& a, const std::vector<Axis>& axes,
                     const std::vector<Row>& rows, ordered_json made_by) {
  ordered_json j = {
      {"schema", 1}, {"program", input}, {"pipeline", a.pipeline}, {"design", a.design}};
  for (const Axis& axis : axes) j["axes"].push_back({{"key", axis.key}, {"values", axis.values}});
  j["points"] = ordered_json::array();
  for (const Row& row : rows) {
    ordered_json p;
    for (std::size_t i = 0; i < axes.size(); ++i) p["settings"][axes[i].key] = row.point[i];
    p["status"] = row.status;
    p["exit"] = row.exit;
    p["outputs"] = row.outputs.empty() ? ordered_json(nullptr) : ordered_json(row.outputs);
    p["threads"] = row.outputs.empty() ? ordered_json(nullptr) : ordered_json(row.threads);
    p["statistics"] = row.estimate;
    j["points"].push_back(std::move(p));
  }
  j["made_by"] = std::move(made_by);
  return j;
}

}  // namespace

void sweep_command(const Command& command, const std::vector<std::string>& words) {
  Arguments a;
  Common common;
  po::options_description own("Options");
  own.add_options()("pipeline,p", po::value(&a.pipeline)->value_name("PIPELINE"),
                    "shipped pipeline or file")(
      "vary", po::value(&a.vary)->composing()->value_name("KEY=V1,V2,.."),
      "an option to vary: what --set takes, or ID.enabled=true,false for a pass")(
      "design", po::value(&a.design)->value_name("D"),
      "cartesian (default); paired; pairwise: all values of every two; one-at-a-time, from the "
      "first "
      "values")("data", po::value(&a.data)->value_name("DIR"),
                "also run every point on this data; all outputs must be equal")(
      "check", po::value(&a.check)->value_name("DIR"),
      "compare the outputs with the files there instead of with the first point's")(
      "arg", po::value(&a.args)->composing()->value_name("NAME=V"),
      "an argument of main (wins over args.txt)")("report", po::value(&a.report)->value_name("DIR"),
                                                  "write sweep.md and sweep.json there")(
      "estimate", po::value(&a.estimate)->value_name("PASS"),
      "pass whose statistics are the columns (default count-ops)")(
      "launcher", po::value(&a.launcher)->value_name("L"), "local");
  const po::variables_map values = parse_options(command, words, own, one_input(), common);
  const std::string input = required_input(command, values);
  if (input == "-")
    throw Error(Exit::usage, "a sweep reads its program at every point: not from -");
  if (a.pipeline.empty()) throw Error(Exit::usage, "a pipeline is missing: -p PIPELINE");
  if (a.vary.empty()) throw Error(Exit::usage, "nothing varies: --vary KEY=V1,V2,..");
  if (a.launcher != "local")
    throw Error(Exit::usage, fmt::format("--launcher {}: only local is there", a.launcher));
  if (!a.check.empty() && a.data.empty())
    throw Error(Exit::usage, "--check needs --data: without it nothing runs");
  std::vector<Axis> axes;
  for (const std::string& item : a.vary) {
    axes.push_back(parse_axis(item));
    for (std::size_t i = 0; i + 1 < axes.size(); ++i)
      if (axes[i].key == axes.back().key)
        throw Error(Exit::usage, fmt::format("--vary: '{}' varies twice", axes[i].key));
  }

  Sweep sweep(a, common, input, axes);
  const std::vector<Point> points = points_of(axes, a.design);
  // Before the work, not behind it.
  std::error_code error;
  if (!a.report.empty()) std::filesystem::create_directories(a.report, error);
  if (error) throw Error(Exit::usage, fmt::format("cannot make {}: {}", a.report, error.message()));
  std::vector<Row> rows;
  for (const Point& point : points) rows.push_back(sweep.run(point));
  const ordered_json j = json_of(input, a, axes, rows, sweep.provenance_of());
  const std::string text = markdown(input, a, axes, rows);
  if (!a.report.empty()) {
    write_file(std::filesystem::path(a.report) / "sweep.md", text);
    write_file(std::filesystem::path(a.report) / "sweep.json", json_text(j));
  }
  answer(common.json ? json_text(j) : text);
  int worst = 0;
  for (const Row& row : rows)
    worst =
        std::max({worst, row.exit, row.outputs == "differ" ? static_cast<int>(Exit::differs) : 0});
  if (worst != 0) {
    fmt::print(
        stderr, "revet: error: {} of {} points failed or differ\n",
        std::count_if(rows.begin(), rows.end(),
                      [](const Row& r) { return r.status != "ok" || r.outputs == "differ"; }),
        rows.size());
    throw ExitNow{static_cast<Exit>(worst)};
  }
}

}  // namespace revet::host
