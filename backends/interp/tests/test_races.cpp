#include <functional>
#include <random>
#include <regex>

#include "harness.hpp"
#include "races.hpp"

namespace revet::interp::test {
namespace {

/// A main with the array `a` of i32, an SRAM %s of main, and constants, around `body`. `loc(N)`
/// stands for line N.
std::string program(std::string body) {
  for (std::size_t at = 0; (at = body.find(" loc(", at)) != std::string::npos; at += 5)
    body.replace(at, 5, " loc(\"r.rvt\":1:");
  return R"(
%a = mem.dram() {sym = "a"} : () -> (dram<i32>)
thread.func() {sym = "main", args = [], result = void} ({
  %c0 = arith.constant() {value = 0} : () -> (i32)
  %c1 = arith.constant() {value = 1} : () -> (i32)
  %c2 = arith.constant() {value = 2} : () -> (i32)
  %c3 = arith.constant() {value = 3} : () -> (i32)
  %s = mem.sram_alloc() {name = "s"} : () -> (sram<i32, 8>)
)" + body +
         R"(
  mem.sram_free(%s) : (sram<i32, 8>) -> ()
  thread.return() : () -> ()
}) : () -> ()
)";
}

/// A foreach of two children around `body`.
std::string children(const std::string& body, const char* index = "i") {
  return fmt::format(R"(
  thread.foreach(%c0, %c2, %c1) ({{
  ^bb_{}(%{}: i32):
{}
    thread.yield() : () -> ()
  }}) : (i32, i32, i32) -> ()
)",
                     index, index, body);
}

std::string write(const char* index, int place, const char* memory = "a") {
  const bool dram = memory[0] == 'a';
  return fmt::format("mem.{}_store(%{}, %{}, %c3) : ({}, i32, i32) -> () loc({})\n",
                     dram ? "dram" : "sram", memory, index, dram ? "dram<i32>" : "sram<i32, 8>",
                     place);
}
std::string read(const char* index, int place, const char* memory = "a") {
  const bool dram = memory[0] == 'a';
  return fmt::format("%r{3} = mem.{0}_load(%{1}, %{2}) : ({4}, i32) -> (i32) loc({3})\n",
                     dram ? "dram" : "sram", memory, index, place,
                     dram ? "dram<i32>" : "sram<i32, 8>");
}
std::string atomic(const char* index, int place, const char* memory = "a") {
  const bool dram = memory[0] == 'a';
  return fmt::format(
      "%r{3} = mem.{0}_atomic(%{1}, %{2}, %c1) {{op = \"add\"}} : ({4}, i32, i32) -> (i32) "
      "loc({3})\n",
      dram ? "dram" : "sram", memory, index, place, dram ? "dram<i32>" : "sram<i32, 8>");
}

/// What is reported, with columns for places. Every order of the threads finds the same places,
/// though perhaps at another element.
std::string races(const std::string& body) {
  const auto places = [](const std::string& report) {
    return std::regex_replace(report, std::regex(R"(\[\d+\])"), "[]");
  };
  std::string first;
  for (const char* seed : {"0", "1", "2", "3", "4"}) {
    Program p(program(body));
    p.zeros("a", 16).option("seed", seed).run();
    std::string out;
    for (const Diagnostic& d : p.diagnostics().all()) {
      CHECK(d.severity == Severity::warning);
      CHECK(d.category == "race");
      REQUIRE(d.notes.size() == 1);
      out += fmt::format("{}: {} {}: {}\n", d.loc.col, d.message, d.notes[0].loc.col,
                         d.notes[0].message);
    }
    if (seed[0] == '0') first = out;
    CHECK(places(out) == places(first));
  }
  return first;
}

TEST_CASE("two children that write one element race") {
  CHECK(races(children(write("c2", 7))) ==
        "7: 'a[2]' is written here by one thread .. 7: .. and written here by another\n");
  CHECK(races(children(write("i", 7))).empty());
}

TEST_CASE("a write is named before the read that it races with") {
  const std::string body = "%o = arith.sub(%c1, %i) : (i32, i32) -> (i32)\n";
  CHECK(races(children(body + read("o", 3) + write("i", 4))) ==
        "4: 'a[0]' is written here by one thread .. 3: .. and read here by another\n");
  CHECK(races(children(body + read("i", 3) + write("o", 4))) ==
        "4: 'a[1]' is written here by one thread .. 3: .. and read here by another\n");
}

TEST_CASE("parent and children are ordered") {
  CHECK(races(write("c2", 1) + children(read("c2", 2)) + write("c2", 3) + read("c2", 4)).empty());
  CHECK(races(children(write("i", 1)) + read("c0", 2) + read("c1", 3)).empty());
  // One foreach is over before the next begins.
  CHECK(races(children(write("i", 1)) + children(read("c0", 2), "j")).empty());
}

TEST_CASE("atomics race with other accesses only") {
  CHECK(races(children(atomic("c0", 1))).empty());
  CHECK(races(children(atomic("c0", 1)) + read("c0", 2)).empty());
  CHECK(races(children(atomic("i", 1) + read("c1", 2))) ==
        "1: 'a[1]' is updated atomically here by one thread .. 2: .. and read here by another\n");
  CHECK(
      races(children("%o = arith.sub(%c1, %i) : (i32, i32) -> (i32)\n" + atomic("i", 1) +
                     write("o", 2))) ==
      "2: 'a[1]' is written here by one thread .. 1: .. and updated atomically here by another\n");
}

TEST_CASE("threads of different parents are unordered") {
  CHECK(races(children(children(write("j", 5), "j"))) ==
        "5: 'a[0]' is written here by one thread .. 5: .. and written here by another\n");
  // An outer thread's own inner loops follow each other.
  CHECK(races(children("%s1 = mem.sram_alloc() {name = \"t\"} : () -> (sram<i32, 8>)\n" +
                       children(write("j", 5, "s1"), "j") + children(read("c1", 6, "s1"), "k") +
                       write("c0", 7, "s1") + "mem.sram_free(%s1) : (sram<i32, 8>) -> ()\n"))
            .empty());
}

TEST_CASE("an SRAM of the parent is shared, and a new one has no past") {
  CHECK(races(children(write("c2", 5, "s"))) ==
        "5: 's[2]' is written here by one thread .. 5: .. and written here by another\n");
  CHECK(races(children(write("i", 5, "s")) + read("c1", 6, "s")).empty());
}

const std::string fork = "%f = thread.fork(%c2) : (i32) -> (i32)\n";

TEST_CASE("threads of a fork are unordered with each other and ordered after it") {
  const auto in_child = [](const std::string& body) {
    return "thread.foreach(%c0, %c1, %c1) ({\n^bb_x(%x: i32):\n" + body +
           "thread.yield() : () -> ()\n}) : (i32, i32, i32) -> ()\n";
  };
  CHECK(races(in_child(write("c0", 1) + fork + write("c0", 2))) ==
        "2: 'a[0]' is written here by one thread .. 2: .. and written here by another\n");
  CHECK(races(in_child(write("c0", 1) + fork + read("c0", 2)) + write("c0", 3)).empty());
  CHECK(races(in_child(write("c0", 1) + fork + write("f", 2)) + read("c0", 3)).empty());
  const std::string twice = "%g = thread.fork(%c2) : (i32) -> (i32)\n";
  CHECK(races(in_child(fork + write("f", 1) + twice + read("f", 2))).empty());
  CHECK(races(in_child(fork + twice + write("f", 2))) ==
        "2: 'a[0]' is written here by one thread .. 2: .. and written here by another\n");
  // What the threads of a fork do in loops of their own.
  CHECK(races(in_child(fork + children(write("j", 2), "j"))) ==
        "2: 'a[0]' is written here by one thread .. 2: .. and written here by another\n");
}

TEST_CASE("overlapping views race where they are declared") {
  const auto view = [](const char* mode, const char* base, int place) {
    return fmt::format(
        "%v{2} = mem.{0}(%a, %{1}) {{name = \"v\"}} : (dram<i32>, i32) -> (view<i32, 2>) loc({2})\n"
        "mem.view_close(%v{2}) : (view<i32, 2>) -> () loc(99)\n",
        mode, base, place);
  };
  CHECK(races(children(view("write_view", "i", 4))) ==
        "4: 'a[1]' is written here by one thread .. 4: .. and written here by another\n");
  CHECK(races(children("%e = arith.mul(%i, %c2) : (i32, i32) -> (i32)\n" +
                       view("modify_view", "e", 4)))
            .empty());
  CHECK(races(children(view("read_view", "c0", 4)) + write("c0", 5)).empty());
}

TEST_CASE("elements of a parent's view are watched") {
  CHECK(races("%v = mem.write_view(%a, %c0) {name = \"v\"} : (dram<i32>, i32) -> (view<i32, 2>)\n" +
              children("mem.view_store(%v, %c1, %i) : (view<i32, 2>, i32, i32) -> () loc(3)\n") +
              "mem.view_close(%v) : (view<i32, 2>) -> ()\n") ==
        "3: 'v[1]' is written here by one thread .. 3: .. and written here by another\n");
}

TEST_CASE("iterators read what is dereferenced, not their tile") {
  const std::string it =
      "%it = mem.read_it(%a, %i) {name = \"it\"} : (dram<i32>, i32) -> (iter<i32, 4>)\n"
      "%x = mem.iter_load(%it) : (iter<i32, 4>) -> (i32) loc(4)\n"
      "mem.iter_close(%it) : (iter<i32, 4>) -> ()\n";
  CHECK(races(children(it + write("i", 5))).empty());
  CHECK(races(children(it + "%o = arith.sub(%c1, %i) : (i32, i32) -> (i32)\n" + write("o", 5)))
            .starts_with("5: 'a[1]' is written here by one thread .. 4: .. and read here"));
}

// What eliminate-hierarchy makes of a foreach of 2: the last thread goes on.
TEST_CASE("a decrement marked as a join orders the threads before it") {
  const auto eliminated = [](const char* attrs) {
    return "mem.sram_store(%s, %c0, %c2) : (sram<i32, 8>, i32, i32) -> ()\n" + fork +
           write("f", 1) +
           fmt::format(
               "%old = mem.sram_atomic(%s, %c0, %c1) {{op = \"sub\"{}}} : "
               "(sram<i32, 8>, i32, i32) -> (i32)\n",
               attrs) +
           "%more = arith.cmp(%old, %c1) {pred = \"ne\"} : (i32, i32) -> (i1)\n"
           "thread.if(%more) ({\nthread.exit() : () -> ()\n}, {\nthread.yield() : () -> ()\n}) : "
           "(i1) -> ()\n" +
           read("c0", 2) + read("c1", 3);
  };
  CHECK(races(eliminated(", join = true")).empty());
  Program p(program(eliminated("")));
  p.zeros("a", 2).run();
  CHECK_FALSE(p.messages().empty());
}

TEST_CASE("the option races") {
  Program p(program(children(write("c2", 7))));
  p.zeros("a", 4).option("races", "off").run();
  CHECK(p.messages().empty());
  p.option("races", "error");
  CHECK(p.error().starts_with("1:1: threads race"));
  CHECK_FALSE(p.messages().empty());
}

TEST_CASE("an element is reported once per pair of places, and 20 pairs at most") {
  std::string body;
  for (int i = 0; i < 30; ++i) {
    body += fmt::format("%k{0} = arith.constant() {{value = {0}}} : () -> (i32)\n", i);
    body += write(fmt::format("k{}", i).c_str(), 100 + i);
  }
  Program p(program(children(body + write("c0", 100))));
  p.zeros("a", 30).run();
  CHECK(p.diagnostics().all().size() == 21);
  CHECK(p.diagnostics().all().back().severity == Severity::note);
}

// --- the detector against the definition --------------------------------------------------------

/// A random tree of foreach and fork that calls `access` in the order of execution. A label is the
/// path of (event, child) from main; two accesses are unordered iff their labels first differ in
/// the child of one event.
class RandomThreads {
 public:
  using Label = std::vector<std::pair<unsigned, unsigned>>;
  RandomThreads(unsigned seed, Races& races, std::function<void(const Label&)> access)
      : random_(seed), races_(races), access_(std::move(access)) {}

  void run() {
    const Races::Mark mark = races_.enter();
    races_.next(mark);
    thread({}, 0, 0);
    races_.leave(mark);
  }

  static bool unordered(const Label& a, const Label& b) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (a[i] != b[i]) return a[i].first == b[i].first;
    return false;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

  void thread(const Label& label, unsigned event, unsigned depth) {
    for (unsigned steps = pick(5); steps-- > 0;) {
      const unsigned what = depth > 4 ? 0 : pick(5);
      if (what < 3) {
        access_(label);
        continue;
      }
      const Races::Mark mark = races_.enter();
      const unsigned n = 1 + pick(3);
      for (unsigned i = 0; i < n; ++i) {
        races_.next(mark);
        Label child = label;
        child.emplace_back(event, i);
        thread(child, 0, depth + 1);
      }
      ++event;
      if (what == 3) return;  // a fork: its threads are what became of this one
      races_.leave(mark);
    }
  }

  std::mt19937 random_;
  Races& races_;
  std::function<void(const Label&)> access_;
};

TEST_CASE("the detector agrees with the definition on random programs") {
  constexpr unsigned most = 60;
  interp::Program places;
  std::vector<std::unique_ptr<Op>> ops;
  for (unsigned i = 0; i < most; ++i) {
    const Type result = type_i32;
    ops.push_back(Op::create(ops::arith_constant, Loc{1, i + 1, 1, 1}, {}, {&result, 1},
                             {{"value", Attr(0)}}));
    places.origin.push_back(ops.back().get());
  }
  unsigned races_seen = 0, clean_seen = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    // Every pair of accesses has an element of its own, and all of them have one more.
    Diagnostics diagnostics;
    Races pairs(diagnostics, places);
    Shadow pair_shadow("pair");
    std::vector<RandomThreads::Label> labels;
    unsigned expected = 0;
    RandomThreads(seed, pairs, [&](const RandomThreads::Label& label) {
      const auto me = static_cast<unsigned>(labels.size());
      if (me == most) return;
      for (unsigned other = 0; other < most; ++other) {
        if (other == me) continue;
        const std::uint64_t element = std::min(me, other) * most + std::max(me, other);
        pairs.write(pair_shadow, element, me);
        if (other < me) expected += RandomThreads::unordered(labels[other], label) ? 1 : 0;
      }
      labels.push_back(label);
    }).run();
    REQUIRE(pairs.found() == expected);

    // Reads, writes and atomics of one element: a race is found iff there is one.
    Races one(diagnostics, places);
    Shadow shadow("one");
    std::vector<std::pair<RandomThreads::Label, unsigned>> accesses;
    std::mt19937 kinds(seed);
    bool race = false;
    RandomThreads(seed, one, [&](const RandomThreads::Label& label) {
      if (accesses.size() == most) return;
      const auto place = static_cast<Place>(accesses.size());
      const unsigned kind = kinds() % 12 == 0 ? 2 : kinds() % 6 == 0 ? 1 : 0;
      if (kind == 0) one.read(shadow, 0, place);
      if (kind == 1) one.atomic(shadow, 0, place);
      if (kind == 2) one.write(shadow, 0, place);
      for (const auto& [before, before_kind] : accesses)
        race |= (kind != before_kind || kind == 2) && RandomThreads::unordered(before, label);
      accesses.emplace_back(label, kind);
    }).run();
    REQUIRE((one.found() != 0) == race);
    ++(race ? races_seen : clean_seen);
  }
  CHECK(races_seen > 200);
  CHECK(clean_seen > 200);
}

}  // namespace
}  // namespace revet::interp::test
