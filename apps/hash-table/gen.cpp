// Data for hash-table: a table with linear probing, and keys to look up.
#include <algorithm>
#include <unordered_map>

#include "gen_common.hpp"

namespace {

using gen::DataSet;
using gen::Options;
using gen::Random;

constexpr uint32_t empty = 0xffffffffu;

// The slot that holds the key, or else the empty one that ends its run.
size_t find_slot(std::span<const uint32_t> table, uint32_t mask, uint32_t key) {
  uint32_t slot = gen::fmix32(key) & mask;
  while (table[2 * slot] != empty && table[2 * slot] != key) slot = (slot + 1) & mask;
  return slot;
}

void make(DataSet& data, const Options& options, Random& random) {
  const uint64_t slots = options.at("slots");
  if (!std::has_single_bit(slots)) throw gen::UsageError("--slots must be a power of two");
  const auto mask = static_cast<uint32_t>(slots - 1);
  data.set_arg("mask", mask);
  const auto table = data.create<uint32_t>("table", 2 * slots);
  std::fill(table.begin(), table.end(), empty);

  // One slot at least stays empty, or a look-up would not end.
  std::vector<uint32_t> keys(std::min(slots * options.at("load") / 100, slots - 1));
  for (uint32_t& key : keys) {
    size_t slot;
    do {
      key = random.word();
      slot = find_slot(table, mask, key);
    } while (key == empty || table[2 * slot] != empty);
    table[2 * slot] = key;
    table[2 * slot + 1] = random.word();
  }

  const auto hits = static_cast<uint32_t>(keys.empty() ? 0 : options.at("hits"));
  for (uint32_t& query : data.create<uint32_t>("queries", options.at("count"))) {
    if (random.chance(hits, 100)) {
      query = keys[random.below(keys.size())];
    } else {
      do query = random.word();
      while (table[2 * find_slot(table, mask, query)] != empty);
    }
  }
}

void solve(DataSet& data) {
  const auto table = data.get<uint32_t>("table");
  const auto queries = data.get<uint32_t>("queries");
  const auto result = data.create<uint32_t>("result", queries.size());
  // A table without an order to probe in: it cannot share a mistake with the programs.
  std::unordered_map<uint32_t, uint32_t> values;
  values.reserve(table.size() / 2);
  for (size_t i = 0; i < table.size(); i += 2) {
    if (table[i] != empty) values[table[i]] = table[i + 1];
  }
  for (size_t i = 0; i < queries.size(); i++) {
    const auto found = values.find(queries[i]);
    result[i] = found == values.end() ? empty : found->second;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const gen::App app = {
      .name = "hash-table",
      .summary = "A table of random keys and values with linear probing, and keys to look up.",
      .inputs = {"table", "queries"},
      .outputs = {"result"},
      .derived = {},
      .default_count = 1u << 23,
      .options = {{"slots", 1u << 22, 1, 1u << 27, "slots of the table, a power of two"},
                  {"load", 50, 0, 100, "per cent of the slots in use"},
                  {"hits", 50, 0, 100, "per cent of the queries that are in the table"}},
      .make = make,
      .solve = solve,
  };
  return gen::generate_main(app, argc, argv);
}
