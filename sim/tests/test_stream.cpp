#include <catch2/catch.hpp>
#include <map>

#include "support.hpp"

using namespace revet;
using namespace revet::sim;
using namespace revet::sim::test;

namespace {

std::string link(const Tensor& t, unsigned depth) {
  return notation(encode(expand(t, depth)), Kind::u32);
}
std::string expanded(const Tensor& t, unsigned depth) {
  return notation(expand(t, depth), Kind::u32);
}

/// Another legal spelling: implied barriers are spelt or not at random.
std::vector<Token> respell(const std::vector<Token>& full, Random& random) {
  std::vector<Token> spelt;
  OpenLists lists;
  for (std::size_t i = 0; i < full.size(); ++i) {
    const bool closes = lists.pass(full[i]);
    const bool may_go = closes && i + 1 < full.size() && full[i + 1].level == full[i].level + 1u;
    if (!may_go || random.below(2) == 0) spelt.push_back(full[i]);
  }
  return spelt;
}

}  // namespace

TEST_CASE("The two spellings are those of the paper") {
  CHECK(expanded(list({row({0, 1}), row({2})}), 2) == "0 1 Ω1 2 Ω1 Ω2");
  CHECK(link(list({row({0, 1}), row({2})}), 2) == "0 1 Ω1 2 Ω2");
  CHECK(link(list({row({})}), 2) == "Ω1 Ω2");
  CHECK(link(list({row({}), row({})}), 2) == "Ω1 Ω1 Ω2");
  CHECK(link(list({}), 2) == "Ω2");
  CHECK(link(list({list({row({1}), row({})})}), 3) == "1 Ω1 Ω1 Ω3");
  CHECK(link(list({list({row({1})}), list({row({2})})}), 3) == "1 Ω2 2 Ω3");
  CHECK(link(list({list({})}), 3) == "Ω2 Ω3");
  CHECK(link(list({list({row({})})}), 3) == "Ω1 Ω3");
}

TEST_CASE("Values are printed by their kind") {
  CHECK(notation(data_token(~0u), Kind::i8) == "-1");
  CHECK(notation(data_token(~0u), Kind::u32) == "4294967295");
  CHECK(notation(data_token(as_bits(1.5f)), Kind::f32) == "1.5");
  CHECK(notation(data_token(0), Kind::none) == "_");
  CHECK(notation(barrier(15), Kind::none) == "Ω15");
}

TEST_CASE("Decoding gives back what was encoded, and no two tensors are spelt alike") {
  Random random(1);
  std::map<std::pair<unsigned, std::string>, Tensor> seen;
  unsigned empty = 0;
  for (int i = 0; i < 20000; ++i) {
    const unsigned depth = 1 + random.below(5);
    const Tensor t = random_tensor(random, depth, [](Random&) { return Values{0}; });
    const std::vector<Token> full = expand(t, depth);
    const std::vector<Token> short_form = encode(full);
    REQUIRE(decode(short_form) == full);
    REQUIRE(decode(full) == full);
    REQUIRE(tensor_of({full}, depth) == t);
    const auto [at, is_new] = seen.try_emplace({depth, notation(short_form, Kind::u32)}, t);
    REQUIRE(at->second == t);
    if (t.items.empty()) ++empty;
  }
  CHECK(seen.size() > 1000);
  CHECK(empty > 1000);
}

TEST_CASE("Every spelling of a tensor decodes alike") {
  Random random(2);
  unsigned other = 0;
  for (int i = 0; i < 5000; ++i) {
    const unsigned depth = 1 + random.below(5);
    const Tensor t = random_tensor(random, depth, [](Random& r) { return Values{r.below(9)}; });
    const std::vector<Token> full = expand(t, depth);
    const std::vector<Token> spelt = respell(full, random);
    REQUIRE(decode(spelt) == full);
    if (spelt != full && spelt != encode(full)) ++other;
  }
  CHECK(other > 100);
}

TEST_CASE("A FIFO hands out expanded tokens, however they are stored") {
  Random random(3);
  unsigned fused = 0;
  for (int i = 0; i < 5000; ++i) {
    const unsigned depth = 1 + random.below(5);
    const Tensor t = random_tensor(random, depth, [](Random& r) { return Values{r.below(9)}; });
    const std::vector<Token> full = expand(t, depth);
    const std::vector<Token> sent = i % 2 == 0 ? full : respell(full, random);
    Fifo fifo(1 + random.below(4), random.below(2) == 1);
    std::vector<Token> received;
    std::size_t pushes = 0;
    std::size_t stored = 0;
    while (pushes < sent.size() || !fifo.empty()) {
      if (pushes < sent.size() && !fifo.full() && random.below(2) == 0) {
        const std::uint32_t before = fifo.size();
        const bool was_empty = fifo.empty();
        const bool was_first = fifo.push(sent[pushes++]);
        REQUIRE(was_first == was_empty);
        stored += fifo.size() - before;
      } else if (!fifo.empty()) {
        const bool was_full = fifo.full();
        received.push_back(fifo.head());
        const bool made_room = fifo.pop();
        REQUIRE(made_room == (was_full && !fifo.full()));
      }
      REQUIRE(fifo.size() <= fifo.capacity());
    }
    REQUIRE(received == full);
    if (stored < sent.size()) ++fused;
  }
  CHECK(fused > 100);
}

TEST_CASE("A FIFO grows up to its capacity and keeps its order") {
  Fifo fifo(Fifo::unlimited);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    fifo.push(data_token(2 * i));
    fifo.push(data_token(2 * i + 1));
    REQUIRE(fifo.head() == data_token(i));
    fifo.pop();
  }
  CHECK(fifo.size() == 1000);
  CHECK(fifo.peak() == 1001);
  CHECK(!fifo.full());
}
