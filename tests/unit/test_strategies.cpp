/// Strategies: the laws of reference/strategies, a comparison with a second, purely functional
/// implementation on random strategies, and pipelines that read back as they were printed.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "driver/pass_manager.hpp"
#include "driver/places.hpp"
#include "revet/text.hpp"

using namespace revet;
namespace fs = std::filesystem;

namespace {

/// Three constants at depth 1, one of them zero, an if and a foreach with constants inside.
constexpr const char* sample = R"(thread.func() {args = ["n"], result = void, sym = "main"} ({
^bb0(%n: i32):
  %a = arith.constant() {value = 2} : () -> (i32)
  %b = arith.constant() {value = 0} : () -> (i32)
  %c = arith.constant() {value = 1} : () -> (i32)
  %t = arith.cmp(%n, %a) {pred = "lt"} : (i32, i32) -> (i1)
  %r = thread.if(%t) ({
    %d = arith.constant() {value = 1} : () -> (i32)
    thread.yield(%d) : (i32) -> ()
  }, {
    %e = arith.constant() {value = 2} : () -> (i32)
    thread.yield(%e) : (i32) -> ()
  }) : (i1) -> (i32)
  thread.foreach(%b, %n, %c) ({
  ^bb1(%i: i32):
    %f = arith.constant() {value = 3} : () -> (i32)
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
)";

struct Result {
  bool failed = false;
  std::string text;
  bool operator==(const Result&) const = default;
};

class Bench {
 public:
  Bench()
      : plugins_({REVET_TEST_PLUGINS, fs::path(REVET_TEST_PLUGINS) / "../../lib/revet/plugins"},
                 talk_) {
    folder_ = fs::temp_directory_path() / fmt::format("revet-strategies-{}", ::getpid());
    fs::create_directory(folder_);
  }
  ~Bench() { fs::remove_all(folder_); }

  Plugins& plugins() { return plugins_; }

  std::unique_ptr<Module> module(const std::string& text = sample) {
    SourceManager sources;
    Diagnostics diagnostics;
    auto m = parse_module(sources.add("sample.rir", text), sources, diagnostics);
    if (m) verify(*m, diagnostics);
    for (const Diagnostic& d : diagnostics.all()) FAIL(render_text(d, sources, false));
    return m;
  }

  /// The pipeline of a whole file, checked.
  Pipeline pipeline(const std::string& toml) {
    const fs::path file = folder_ / "p.toml";
    std::ofstream(file) << toml;
    return pipeline_in(file, toml);
  }
  Pipeline pipeline_in(const fs::path& file, const std::string& toml = {}) {
    SourceManager sources;
    Diagnostics diagnostics;
    auto p = load_pipeline(file, {}, sources, diagnostics);
    if (p) check(*p, plugins_, {}, diagnostics);
    std::string messages;
    for (const Diagnostic& d : diagnostics.all())
      if (d.severity == Severity::error) messages += render_text(d, sources, false);
    INFO(toml << messages);
    REQUIRE(messages.empty());
    return std::move(*p);
  }

  Result run(const Pipeline& p, RunOptions options = {}) {
    auto m = module();
    options.reproduce.wanted = false;
    Diagnostics diagnostics;
    PipelineReport report;
    Result out;
    try {
      run_pipeline(*m, p, plugins_, options, diagnostics, report);
    } catch (const Error&) {
      out.failed = true;
    } catch (const InternalError& e) {
      FAIL(e.what());
    }
    // A run that fails keeps what was done: only choices go back.
    if (!out.failed) out.text = print(*m, {.locations = false});
    return out;
  }
  /// Runs `main = [BODY]`.
  Result run(const std::string& body) {
    return run(pipeline("[strategy]\nmain = [" + body + "]\n"));
  }

 private:
  Diagnostics talk_;
  Plugins plugins_;
  fs::path folder_;
};

Bench& bench() {
  static Bench b;
  return b;
}

/// A strategy as data, to print as TOML and to run by the model.
struct Node {
  std::string verb;
  std::vector<Node> parts;
  std::string text;  ///< predicate, location, name of the pass
  int n = 0;
};

std::string toml(const Node& s) {
  const auto list = [&] {
    std::string out;
    for (const Node& p : s.parts) out += (out.empty() ? "" : ", ") + toml(p);
    return "[" + out + "]";
  };
  if (s.verb == "pass" || s.verb == "id" || s.verb == "fail")
    return fmt::format("\"{}\"", s.verb == "pass" ? s.text : s.verb);
  if (s.verb == "seq") return list();
  if (s.verb == "first-of" || s.verb == "normalize")
    return fmt::format("{{ {} = {} }}", s.verb, list());
  if (s.verb == "times") return fmt::format("{{ times = {}, do = {} }}", s.n, toml(s.parts[0]));
  if (s.verb == "if")
    return fmt::format("{{ if = \"{}\", then = {}, else = {} }}", s.text, toml(s.parts[0]),
                       toml(s.parts[1]));
  if (s.verb == "ifs")
    return fmt::format("{{ if = [{}], then = {}, else = {} }}", toml(s.parts[0]), toml(s.parts[1]),
                       toml(s.parts[2]));
  if (s.verb == "not") return fmt::format("{{ not = [{}] }}", toml(s.parts[0]));
  if (s.verb == "check") return fmt::format("{{ check = \"{}\" }}", s.text);
  if (s.verb == "nth")
    return fmt::format("{{ at = \"{}\", pick = {}, do = {} }}", s.text, s.n, toml(s.parts[0]));
  if (s.verb.starts_with("at-"))
    return fmt::format("{{ at = \"{}\", pick = \"{}\", do = {} }}", s.text, s.verb.substr(3),
                       toml(s.parts[0]));
  return fmt::format("{{ {} = {} }}", s.verb, toml(s.parts[0]));
}

using State = std::shared_ptr<const Module>;
using Maybe = std::optional<State>;

/// The definitions of the reference, on immutable modules: nothing to undo, no places that move.
class Model {
 public:
  explicit Model(Plugins& plugins) : plugins_(plugins) {}

  Maybe eval(const Node& s, const State& m, std::uint64_t place) {
    const auto part = [&](std::size_t i, const State& on) { return eval(s.parts[i], on, place); };
    if (s.verb == "pass") return pass(s.text, m, place);
    if (s.verb == "id") return m;
    if (s.verb == "fail") return std::nullopt;
    if (s.verb == "seq" || s.verb == "times") {
      Maybe now = m;
      for (int round = 0; round < (s.verb == "seq" ? 1 : s.n); ++round)
        for (std::size_t i = 0; now && i < s.parts.size(); ++i) now = part(i, *now);
      return now;
    }
    if (s.verb == "first-of") {
      for (std::size_t i = 0; i < s.parts.size(); ++i)
        if (Maybe r = part(i, m)) return r;
      return std::nullopt;
    }
    if (s.verb == "try") {
      Maybe r = part(0, m);
      return r ? r : m;
    }
    if (s.verb == "repeat") {
      State now = m;
      for (;;) {
        Maybe r = part(0, now);
        if (!r || same(*r, now)) return now;
        now = *r;
      }
    }
    if (s.verb == "normalize") {
      State now = m;
      while (Maybe r = top_down_changing(s, now, place)) now = *r;
      return now;
    }
    if (s.verb == "if") {
      if (!test(s.text, *m, place)) return part(1, m);
      Maybe r = part(0, m);
      return r ? r : m;
    }
    if (s.verb == "ifs") {
      const Maybe r = part(0, m);
      if (!r) return part(2, m);
      Maybe t = part(1, *r);
      return t ? t : r;
    }
    if (s.verb == "not") return part(0, m) ? std::nullopt : Maybe(m);
    if (s.verb == "check") return test(s.text, *m, place) ? Maybe(m) : std::nullopt;
    if (s.verb == "one" || s.verb == "all" || s.verb == "some") return children(s, m, place);
    return at(s, m, place);
  }

 private:
  static bool same(const State& a, const State& b) { return hash_of(*a) == hash_of(*b); }
  static Op* op(const Module& m, std::uint64_t place) {
    return place == 0 ? nullptr : find_op(m, place);
  }
  bool test(const std::string& text, const Module& m, std::uint64_t place) {
    Predicate p = parse_predicate(text).first;
    REQUIRE(check_names(p, plugins_).empty());
    return holds(p, {m, op(m, place), false}, plugins_);
  }

  Maybe pass(const std::string& name, const State& m, std::uint64_t place) {
    const PassInfo& info = *plugins_.pass(name);
    const OptionValues options(info.options);
    Diagnostics diagnostics;
    PassContext context(options, diagnostics);
    auto copy = m->clone();
    if (place != 0 && !op(*copy, place)) return std::nullopt;
    PassResult r = PassResult::of(false);
    if (place != 0) {
      r = info.run_at(*op(*copy, place), context);
    } else if (info.run) {
      r = info.run(*copy, context);
    } else {
      bool some = false;
      for (Op& top : copy->body()) some |= info.run_at(top, context).outcome != PassResult::failed;
      if (!some) r.outcome = PassResult::failed;
    }
    if (r.outcome == PassResult::failed) return std::nullopt;
    return State(std::move(copy));
  }

  Maybe children(const Node& s, const State& m, std::uint64_t place) {
    State now = m;
    unsigned successes = 0;
    for (const Op* child : children_of(*m, op(*m, place))) {
      if (!find_op(*now, child->serial())) continue;
      const Maybe r = eval(s.parts[0], now, child->serial());
      if (!r && s.verb == "all") return std::nullopt;
      if (!r) continue;
      now = *r;
      ++successes;
      if (s.verb == "one") return now;
    }
    return successes != 0 || s.verb == "all" ? Maybe(now) : std::nullopt;
  }

  Maybe matched(const Node& s, const State& m, std::uint64_t place) {
    const Op* here = op(*m, place);
    if (!here || !matches(parse_location(s.text).first, *here, *m, plugins_)) return std::nullopt;
    return eval(s.parts[0], m, place);
  }

  /// topDown(p; s): s <+ one(topDown s).
  Maybe top_down(const Node& s, const State& m, std::uint64_t place) {
    if (Maybe r = matched(s, m, place)) return r;
    for (const Op* child : children_of(*m, op(*m, place)))
      if (Maybe r = top_down(s, m, child->serial())) return r;
    return std::nullopt;
  }
  Maybe top_down_changing(const Node& s, const State& m, std::uint64_t place) {
    for (const Node& rule : s.parts)
      if (Maybe r = eval(rule, m, place)) {
        if (!same(*r, m)) return r;
        break;
      }
    for (const Op* child : children_of(*m, op(*m, place)))
      if (Maybe r = top_down_changing(s, m, child->serial())) return r;
    return std::nullopt;
  }
  Maybe bottom_up(const Node& s, const State& m, std::uint64_t place) {
    for (const Op* child : children_of(*m, op(*m, place)))
      if (Maybe r = bottom_up(s, m, child->serial())) return r;
    return matched(s, m, place);
  }
  /// tryAll: all(tryAll(try s)); try s.
  State try_all(const Node& s, State m, std::uint64_t place) {
    std::vector<std::uint64_t> inner;
    for (const Op* child : children_of(*m, op(*m, place))) inner.push_back(child->serial());
    for (const std::uint64_t child : inner)
      if (find_op(*m, child)) m = try_all(s, m, child);
    const Maybe r = matched(s, m, place);
    return r ? *r : m;
  }
  /// alltd: s <+ all(alltd s); counts where s succeeded.
  State all_top_down(const Node& s, State m, std::uint64_t place, unsigned& successes) {
    if (const Maybe r = matched(s, m, place)) {
      ++successes;
      return *r;
    }
    std::vector<std::uint64_t> inner;
    for (const Op* child : children_of(*m, op(*m, place))) inner.push_back(child->serial());
    for (const std::uint64_t child : inner)
      if (find_op(*m, child)) m = all_top_down(s, m, child, successes);
    return m;
  }

  Maybe at(const Node& s, const State& m, std::uint64_t place) {
    unsigned successes = 0;
    if (s.verb == "at-outermost") return top_down(s, m, place);
    if (s.verb == "at-innermost") return bottom_up(s, m, place);
    if (s.verb == "at-each") return try_all(s, m, place);
    if (s.verb == "at-all") return all_top_down(s, m, place, successes);
    if (s.verb == "at-some") {
      State r = all_top_down(s, m, place, successes);
      return successes != 0 ? Maybe(r) : std::nullopt;
    }
    int position = 0;
    for (const Op* here : ops_from(*m, op(*m, place)))
      if (matches(parse_location(s.text).first, *here, *m, plugins_) && position++ == s.n)
        return eval(s.parts[0], m, here->serial());
    return std::nullopt;
  }

  Plugins& plugins_;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Node strategy(int depth, bool at_place = false) {
    static const std::vector<std::string> inner = {
        "seq",          "seq",     "first-of", "try",     "repeat", "times", "normalize",
        "if",           "ifs",     "not",      "one",     "all",    "some",  "at-outermost",
        "at-innermost", "at-each", "at-all",   "at-some", "nth"};
    if (depth == 0 || chance(6)) return leaf(at_place);
    Node s;
    s.verb = inner[below(inner.size())];
    std::size_t parts = 1;
    if (s.verb == "seq" || s.verb == "first-of" || s.verb == "normalize") parts = below(3) + 1;
    if (s.verb == "if") parts = 2;
    if (s.verb == "ifs") parts = 3;
    s.n = static_cast<int>(below(4));
    s.text = s.verb == "if" ? predicate() : location();
    const bool place = at_place || s.verb == "one" || s.verb == "all" || s.verb == "some" ||
                       s.verb == "nth" || s.verb.starts_with("at-");
    // Growing would not end under these.
    const bool loop = s.verb == "repeat" || s.verb == "normalize";
    for (std::size_t i = 0; i < parts; ++i) s.parts.push_back(strategy(depth - 1, place || loop));
    return s;
  }

  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool chance(std::size_t n) { return below(n) == 0; }

 private:
  Node leaf(bool at_place) {
    static const std::vector<std::string> local = {"refuse", "nothing", "count-down", "mark",
                                                   "erase"};
    const std::size_t k = below(12);
    if (k == 0) return {"id", {}, {}, 0};
    if (k == 1) return {"fail", {}, {}, 0};
    if (k == 2) return {"check", {}, predicate(), 0};
    if (k == 3 && !at_place) return {"pass", {}, "grow", 0};
    return {"pass", {}, local[below(local.size())], 0};
  }
  std::string predicate() {
    static const std::vector<std::string> list = {
        "has-zero",     "!has-zero",   "has-loop",          "!has-loop",      "has-op if",
        "level=thread", "!level=flow", "constant[value=0]", "main/foreach#0", "inlined"};
    return list[below(list.size())];
  }
  std::string location() {
    static const std::vector<std::string> list = {"constant",
                                                  "arith.constant[value=1]",
                                                  "if",
                                                  "foreach",
                                                  "func",
                                                  "constant[!value=0]",
                                                  "main/if#0/constant#1",
                                                  "main/constant#0",
                                                  "func[has-loop]",
                                                  "if[!has-loop]",
                                                  "while"};
    return list[below(list.size())];
  }
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("strategies obey the laws of their combinators") {
  Generator generator(7);
  for (int i = 0; i < 60; ++i) {
    const std::string s = toml(generator.strategy(2));
    INFO(s);
    const Result r = bench().run(s);
    const Result unchanged = bench().run("");
    CHECK(bench().run("{ try = " + s + " }") == (r.failed ? unchanged : r));
    CHECK(bench().run("{ first-of = [" + s + ", \"id\"] }") == bench().run("{ try = " + s + " }"));
    CHECK(bench().run("{ first-of = [\"fail\", " + s + "] }") == r);
    CHECK(bench().run("{ first-of = [" + s + ", \"fail\"] }") == r);
    CHECK(bench().run("\"id\", " + s) == r);
    CHECK(bench().run(s + ", \"id\"") == r);
    CHECK(bench().run(s + ", \"fail\"").failed);
    CHECK(bench().run("{ times = 1, do = " + s + " }") == r);
    CHECK(bench().run("{ times = 0, do = " + s + " }") == unchanged);
    CHECK(bench().run("{ times = 2, do = " + s + " }") == bench().run(s + ", " + s));
    CHECK(bench().run("{ not = [" + s + "] }") == (r.failed ? unchanged : Result{true, {}}));
    CHECK(bench().run("{ not = { not = [" + s + "] } }") == (r.failed ? r : unchanged));
    CHECK(bench().run("{ if = [" + s + "], then = \"id\", else = \"fail\" }") == r);
    CHECK(bench().run("{ try = [" + s + ", \"grow\", \"fail\"] }") == unchanged);
  }
}

TEST_CASE("leaves have no children: all succeeds there, one and some fail") {
  const std::string leaf = "{ at = \"constant\", pick = \"outermost\", do = ";
  CHECK_FALSE(bench().run(leaf + "{ all = \"refuse\" } }").failed);
  CHECK(bench().run(leaf + "{ one = \"nothing\" } }").failed);
  CHECK(bench().run(leaf + "{ some = \"nothing\" } }").failed);
}

TEST_CASE("repeat ends where a pass changes nothing, and at its max") {
  CHECK(bench().run("{ repeat = \"nothing\" }") == bench().run(""));
  CHECK(bench().run("{ repeat = \"grow\", max = 3 }") ==
        bench().run("\"grow\", \"grow\", \"grow\""));
}

TEST_CASE("random strategies do what the definitions say") {
  Generator generator(2024);
  Model model(bench().plugins());
  unsigned failures = 0;
  for (int i = 0; i < 1500; ++i) {
    Node s = generator.strategy(4);
    s = {"seq", {s}, {}, 0};
    INFO(toml(s));
    const Result got = bench().run(bench().pipeline("[strategy]\nmain = " + toml(s) + "\n"));
    const Maybe want = model.eval(s, State(bench().module()), 0);
    REQUIRE(got.failed == !want);
    if (want) REQUIRE(got.text == print(**want, {.locations = false}));
    failures += got.failed ? 1 : 0;
  }
  // Both outcomes are exercised.
  CHECK(failures > 100);
  CHECK(failures < 1400);
}

TEST_CASE("pipelines read back as they were printed") {
  Generator generator(99);
  for (int i = 0; i < 1000; ++i) {
    std::string strategies = "[strategy]\nmain = [";
    for (std::size_t k = generator.below(4); k-- > 0;)
      strategies += toml(generator.strategy(3)) + ", ";
    strategies +=
        "\"$more\", { pass = \"grow\", value = \"$p\", id = \"g\\\" \\u00e9{}\" }, { note = \"a "
        "\\\"b\\\"\\n\\\\\" }]\n";
    strategies += "more = " + toml(generator.strategy(3)) +
                  "\n[param]\np = { values = [1, 2], default = 2 }\n";
    const Pipeline p = bench().pipeline(strategies);
    const std::string printed = print(p, bench().plugins());
    INFO(strategies << printed);
    const Pipeline again = bench().pipeline(printed);
    REQUIRE(print(again, bench().plugins()) == printed);
    if (i % 5 == 0) REQUIRE(bench().run(again) == bench().run(p));
  }
  for (const auto& entry : fs::directory_iterator(REVET_SHIPPED_PIPELINES)) {
    if (entry.path().extension() != ".toml") continue;
    const std::string printed = print(bench().pipeline_in(entry.path()), bench().plugins());
    CHECK(print(bench().pipeline(printed), bench().plugins()) == printed);
  }
}
