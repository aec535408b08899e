// The checker of mapped graphs: what fits has no fault, and each rule finds the fault planted for
// it.
#include <catch2/catch.hpp>

#include "graphs.hpp"
#include "mapping/netlist.hpp"
#include "mapping/unit_check.hpp"

using namespace revet;
using namespace revet::mapping;
using namespace revet::mapping::testing;
using namespace revet::ops;

namespace {

/// "3 5": the rules that are broken, each once, in the order of the faults.
std::string broken(const Graph& g, const Machine& m = small_machine()) {
  std::string out;
  std::vector<Fault> faults = check_units(*g.op, m);
  if (faults.empty()) faults = check_routed(*g.op, m);
  for (const Fault& f : faults) {
    const std::string rule = f.message.substr(0, f.message.find(':'));
    if ((" " + out + " ").find(" " + rule + " ") == std::string::npos)
      out += (out.empty() ? "" : " ") + rule;
  }
  return out;
}

/// A loop header with `n` streams of data whose back edge is what it gives, filtered.
Op* loop(Graph& g, unsigned n, unsigned unit) {
  std::vector<Value*> operands;
  for (unsigned side = 0; side < 2; ++side)
    for (unsigned i = 0; i < n; ++i)
      operands.push_back(g.source(stream(Kind::i32, false, 2 + side)));
  Op* header = g.node(flow_fb_merge, operands, std::vector<Type>(n, stream(Kind::i32, false, 3)),
                      std::vector<unsigned>(n, unit));
  Value* go = g.source(stream(Kind::i1, false, 3));
  std::vector<Value*> in{go};
  for (unsigned i = 0; i < n; ++i) in.push_back(header->result(i));
  const unsigned behind = g.unit("CU");
  Op* again = g.node(flow_filter, in, std::vector<Type>(n, stream(Kind::i32, false, 3)),
                     std::vector<unsigned>(n, behind), {{"polarity", true}});
  for (unsigned i = 0; i < n; ++i) header->set_operand(n + i, again->result(i));
  return header;
}

}  // namespace

TEST_CASE("rule 1: units of all parts") {
  Graph g;
  const unsigned u = g.unit("CU");
  Op* code = g.code({g.source()}, 2, u);
  CHECK(broken(g).empty());
  SECTION("none") { code->remove_attr("unit"); }
  SECTION("one that there is not") { code->set_attr("unit", Attr::Array{7}); }
  SECTION("of an unknown kind") { g.unit("XU"); }
  SECTION("none for a memory") {
    Value* m = g.node(flow_sram, {}, {sram_of(type_i32, 4)}, {}, {{"threads", 4}})->result();
    g.node(flow_alloc, {m, g.source(stream(Kind::none))}, {stream(Kind::ptr), stream(Kind::none)},
           {g.unit("MU")});
  }
  CHECK(broken(g) == "1");
}

TEST_CASE("rule 2: kinds of units") {
  Graph g;
  Value* array = g.node(mem_dram, {}, {dram_of(type_i32)}, {})->result();
  array->def()->move_before(*g.op);
  const unsigned mu = g.unit("MU"), ag = g.unit("AG");
  Value* m = g.node(flow_sram, {}, {sram_of(type_i32, 4)}, {mu}, {{"threads", 4}})->result();
  const std::vector<Type> loaded{stream(), stream(Kind::none)};
  Value* index = g.code({g.source(stream(Kind::i32, true))}, 4, ag)->result();
  g.node(flow_dram_load, {array, index}, loaded, {ag});
  g.node(flow_sram_load, {m, g.source(stream(Kind::ptr)), g.source()}, loaded, {mu});
  CHECK(broken(g).empty());
  SECTION("a context with a vector on an AG") { index->def()->operand(0)->set_type(stream()); }
  SECTION("a folded context that others read") { g.code({index}, 1, g.unit("CU")); }
  SECTION("two accesses to DRAM on one AG") {
    g.node(flow_dram_load, {array, g.source()}, loaded, {ag});
  }
  SECTION("an access on an MU that is not the memory's") {
    g.node(flow_sram_load, {m, g.source(stream(Kind::ptr)), g.source()}, loaded, {g.unit("MU")});
  }
  SECTION("a buffer on a CU") {
    g.node(flow_buffer, {g.source()}, {stream()}, {g.unit("CU")}, {{"depth", 16}});
  }
  SECTION("a transfer that ends elsewhere") {
    g.node(flow_bulk_load,
           {m, array, g.source(stream(Kind::ptr)), g.source(), g.source(), g.source()},
           {stream(Kind::none)}, {g.unit("AG")}, {{"memory", g.unit("MU")}});
  }
  CHECK(broken(g) == "2");
}

TEST_CASE("rule 3: stages") {
  Graph g;
  const unsigned u = g.unit("CU");
  Value* v = g.code({g.source()}, 4, u)->result();
  g.code({v}, 2, u);
  CHECK(broken(g).empty());
  SECTION("of contexts") { g.code({v}, 1, u); }
  SECTION("of a reduction") {
    g.node(flow_reduce, {v}, {stream(Kind::i32, true, 1)}, {u}, {{"op", "+"}});
  }
  CHECK(broken(g) == "3");
}

TEST_CASE("rule 4: registers, in the best order") {
  Graph g;
  const unsigned u = g.unit("CU");
  Op* context = g.code({g.source(), g.source(), g.source(), g.source()}, 1, u);
  Block& body = context->body();
  Op& yield = *body.terminator();
  Builder b = Builder::before(yield);
  // As it stands %a + %a is a fifth value.
  const auto add = [&](Value* x, Value* y) { return b.binary(arith_add, x, y); };
  Value* twice = add(body.arg(0), body.arg(0));
  Value* rest = add(add(body.arg(1), body.arg(2)), body.arg(3));
  yield.set_operand(0, add(add(twice, rest), body.arg(0)));
  Machine m = small_machine();
  m.compute.registers = 4;
  CHECK(broken(g, m).empty());
  m.compute.registers = 3;
  CHECK(broken(g, m) == "4");
}

TEST_CASE("rule 5: inputs") {
  Graph g;
  const unsigned u = g.unit("CU");
  SECTION("vectors of a context") {
    g.code({g.source(), g.source(), g.source(), g.source(), g.source()}, 4, u);
  }
  SECTION("scalars of a context") {
    std::vector<Value*> in;
    for (int i = 0; i < 5; ++i) in.push_back(g.source(stream(Kind::i32, true)));
    g.code(in, 4, u);
  }
  SECTION("both sides of merges") {
    std::vector<Value*> in;
    for (int i = 0; i < 6; ++i) in.push_back(g.source());
    Op* merge = g.node(flow_merge, in, {stream(), stream(), stream()}, {u, u, g.unit("CU")});
    CHECK(broken(g).empty());
    merge->set_attr("unit", Attr::Array{u, u, u});
  }
  CHECK(broken(g) == "5");
}

TEST_CASE("rule 6: outputs") {
  Graph g;
  Op* code = g.code({g.source()}, 5, g.unit("CU"), 5);
  const unsigned other = g.unit("CU"), third = g.unit("CU");
  for (unsigned i = 0; i < 4; ++i) g.code({code->result(i)}, 1, i < 2 ? other : third);
  CHECK(broken(g).empty());
  g.code({code->result(4)}, 1, third);
  CHECK(broken(g) == "6");
}

TEST_CASE("rule 7: counters") {
  Graph g;
  const unsigned u = g.unit("CU");
  Value* n = g.source(stream(Kind::i32, true));
  Value* up = nullptr;
  for (int i = 0; i < 3; ++i) {
    CHECK(broken(g).empty());
    Value* made = g.node(flow_counter, {n, n, n}, {stream(Kind::i32, false, 3)}, {u})->result();
    // In step, as a node of another unit shows.
    if (up) g.code({up, made}, 1, g.unit("CU"));
    up = made;
  }
  CHECK(broken(g) == "7");
}

TEST_CASE("rule 8: merges are heads") {
  Graph g;
  const unsigned u = g.unit("CU"), v = g.unit("CU");
  Op* code = g.code({g.source()}, 1, v);
  g.node(flow_merge, {code->result(), g.source()}, {stream()}, {u});
  CHECK(broken(g).empty());
  code->set_attr("unit", Attr::Array{u});
  CHECK(broken(g).find('8') == 0);
}

TEST_CASE("rule 9: filters are tails") {
  Graph g;
  const unsigned u = g.unit("CU"), v = g.unit("CU");
  Op* filter = g.node(flow_filter, {g.source(stream(Kind::i1)), g.source()}, {stream()}, {u},
                      {{"polarity", true}});
  Op* code = g.code({filter->result()}, 1, v);
  CHECK(broken(g).empty());
  code->set_attr("unit", Attr::Array{u});
  CHECK(broken(g).find('9') == 0);
}

TEST_CASE("rule 10: no unit waits for itself") {
  Graph g;
  const unsigned u = g.unit("CU"), v = g.unit("CU"), w = g.unit("CU");
  Value* in = g.source();
  Value* first = g.code({in}, 1, u)->result();
  Value* second = g.code({first}, 1, v)->result();
  Op* third = g.code({second}, 1, w);
  CHECK(broken(g).empty());
  third->set_attr("unit", Attr::Array{u});
  CHECK(broken(g) == "10");
}

TEST_CASE("rule 11: one set of threads") {
  Graph g;
  const unsigned u = g.unit("CU");
  SECTION("contexts of two") {
    g.code({g.source()}, 1, u);
    g.code({g.source()}, 1, u);
  }
  SECTION("what comes beside a merge") {
    Value* merged = g.node(flow_merge, {g.source(), g.source()}, {stream()}, {u})->result();
    Value* other = g.code({merged}, 1, g.unit("CU"))->result();
    g.node(flow_void_join, {other, merged}, {stream(Kind::none)}, {g.unit("CU")});
    CHECK(broken(g).empty());
    Value* beside = g.source();
    g.code({beside, other}, 1, g.unit("CU"));
    g.code({beside, merged}, 1, u);
  }
  CHECK(broken(g) == "11");
}

TEST_CASE("rule 12: memories") {
  Graph g;
  const unsigned mu = g.unit("MU");
  Op* sram = g.node(flow_sram, {}, {sram_of(type_i32, 4)}, {mu}, {{"threads", 64}});
  Value* m = sram->result();
  const auto load = [&] {
    g.node(flow_sram_load, {m, g.source(stream(Kind::ptr)), g.source()},
           {stream(), stream(Kind::none)}, {mu});
  };
  load();
  CHECK(broken(g).empty());
  SECTION("bytes") {
    sram->set_attr("threads", 65);
    CHECK(broken(g) == "12");
    sram->set_attr("unit", Attr::Array{mu, g.unit("MU")});
    CHECK(broken(g) == "12");
    sram->set_attr("banks", 2);
    CHECK(broken(g).empty());
  }
  SECTION("contexts") {
    load();
    CHECK(broken(g).empty());
    load();
    CHECK(broken(g) == "5 12");
  }
  SECTION("a buffer beside a memory") {
    g.node(flow_buffer, {g.source()}, {stream()}, {mu}, {{"depth", 16}});
    CHECK(broken(g) == "12");
  }
  SECTION("a long buffer") {
    Op* buffer = g.node(flow_buffer, {g.source()}, {stream()}, {g.unit("MU")}, {{"depth", 256}});
    CHECK(broken(g).empty());
    buffer->set_attr("depth", 257);
    CHECK(broken(g) == "12");
  }
}

TEST_CASE("rule 13: back edges") {
  Graph g;
  Op* header = loop(g, 2, g.unit("CU"));
  CHECK(broken(g).empty());
  const unsigned a = g.unit("MU"), b = g.unit("MU");
  header->set_attr("back", Attr::Array{a, b});
  CHECK(broken(g).empty());
  SECTION("one without") { header->set_attr("back", Attr::Array{a}); }
  SECTION("on a CU") { header->set_attr("back", Attr::Array{a, g.unit("CU")}); }
  CHECK(broken(g) == "13");
  header->set_attr("back", Attr::Array{a, a});
  CHECK(broken(g) == "12");
}

TEST_CASE("rule 14: places and routes") {
  Graph g;
  const unsigned u = g.unit("CU"), v = g.unit("CU"), mu = g.unit("MU");
  Op* first = g.code({g.source()}, 1, u);
  g.code({first->result()}, 1, v);
  Op* header = loop(g, 1, g.unit("CU"));
  header->set_attr("back", Attr::Array{mu});
  const Machine m = small_machine();
  const Links links = links_of(*g.op);
  set_placement(*g.op, links, place_and_route(links.netlist, m, 1));
  CHECK(broken(g).empty());
  SECTION("no route") { first->remove_attr("route"); }
  SECTION("no link to a header") { g.op->remove_attr("links"); }
  SECTION("a link too many") {
    Attr::Array rows = *g.op->attr("links")->as_array();
    rows.push_back(rows[0]);
    g.op->set_attr("links", std::move(rows));
  }
  SECTION("no place") {
    std::vector<Unit> units = units_of(*g.op);
    units.push_back({UnitKind::compute, "outer", "more"});
    set_units(*g.op, units);
  }
  SECTION("another place") {
    std::vector<Unit> units = units_of(*g.op);
    units[u].place = units[v].place;
    set_units(*g.op, units);
  }
  CHECK(broken(g) == "14");
}
