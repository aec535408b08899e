// The model of an HBM2 channel against measurements of a public simulator (Ramulator 2.1,
// controller FRFCFS-RowHit with an open page): directed sequences, and address streams replayed by
// the same rules. Reads of one channel must take the very same clocks; of 32 channels 0.1% at most,
// as the order of channels within a clock is not known; mixes with writes 5%, since when to turn
// between them is the controller's own choice.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>

#include "revet/sim/dram.hpp"

using namespace revet::sim;

namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) out.push_back(part);
  return out;
}

std::vector<Row> read_rows(const std::string& name) {
  std::ifstream in(std::string(REVET_SIM_TEST_DATA) + "/" + name);
  std::string line;
  REQUIRE(std::getline(in, line));
  const std::vector<std::string> head = split(line, ',');
  std::vector<Row> out;
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = split(line, ',');
    REQUIRE(cells.size() == head.size());
    out.emplace_back();
    for (std::size_t i = 0; i < head.size(); ++i) out.back()[head[i]] = cells[i];
  }
  return out;
}

/// "co1 pc1 bg2 co4 ba2 ro14".
DramMapping mapping_of(const std::string& text) {
  static const std::map<std::string, DramMapping::Field> names = {
      {"co", DramMapping::column},         {"ch", DramMapping::channel},
      {"pc", DramMapping::pseudo_channel}, {"bg", DramMapping::bank_group},
      {"ba", DramMapping::bank},           {"ro", DramMapping::row}};
  DramMapping out;
  for (const std::string& field : split(text, ' '))
    out.fields.emplace_back(names.at(field.substr(0, 2)),
                            static_cast<unsigned>(std::stoul(field.substr(2))));
  return out;
}

DramTiming timing_of(unsigned mbps) {
  switch (mbps) {
    case 1600:
      return {1.25, 10, 4, 2, 10, 8, 10, 24, 34, 2, 4, 4, 4, 12, 5, 6, 10, 12, 4, 128, 3120};
    case 1750: return {};
    case 2400:
      return {0.833, 17, 6, 2, 17, 14, 17, 40, 57, 2, 4, 5, 5, 19, 8, 10, 15, 19, 6, 193, 4682};
    default: return {1, 14, 5, 2, 14, 12, 14, 34, 48, 2, 4, 4, 4, 15, 6, 8, 13, 16, 5, 160, 3900};
  }
}

struct Transaction {
  bool write;
  std::uint64_t address;
};

std::uint64_t number(const std::string& text) {
  const std::uint64_t n = std::stoull(text, nullptr, 0);
  switch (text.back()) {
    case 'K': return n << 10;
    case 'M': return n << 20;
    case 'G': return n << 30;
    default: return n;
  }
}

/// The address streams of the measurements.
std::vector<Transaction> stream_of(const Row& row) {
  std::map<std::string, std::uint64_t> given;
  for (const std::string& item : split(row.at("args"), ' ')) {
    const std::size_t eq = item.find('=');
    given[item.substr(0, eq)] = number(item.substr(eq + 1));
  }
  const auto value = [&](const char* key, std::uint64_t fallback) {
    const auto found = given.find(key);
    return found == given.end() ? fallback : found->second;
  };
  const std::string& pattern = row.at("pattern");
  const std::uint64_t n = number(row.at("transactions"));
  const std::uint64_t capacity = value("cap", std::uint64_t{512} << 20);
  std::uint64_t x = value("seed", 1);
  const auto draw = [&] { return x = 6364136223846793005u * x + 1442695040888963407u; };
  std::vector<Transaction> out;
  for (std::uint64_t i = 0; out.size() < n; ++i) {
    if (pattern == "seqr" || pattern == "seqw") {
      out.push_back({pattern == "seqw", 32 * i});
    } else if (pattern == "rw") {
      const std::uint64_t at = 32 * (i / 2);
      out.push_back({i % 2 != 0, i % 2 == 0 ? at : at + value("woff", capacity / 2)});
    } else if (pattern == "stride") {
      const std::uint64_t at = i * value("stride", 64);
      out.push_back({false, at % capacity + 32 * (at / capacity)});
    } else if (pattern == "bankrr") {
      const std::uint64_t bank = i % value("nb", 32) * value("bstep", 1);
      out.push_back({false, (draw() >> 50) << 15 | (bank >> 3) << 13 | (bank & 7) << 6});
    } else {
      const std::uint64_t size = value("size", 32);
      const int shift = 65 - static_cast<int>(std::bit_width(capacity / size));
      const std::uint64_t at = size * (draw() >> shift);
      const bool write = pattern == "randrw" && ((draw() >> 56) & 1) != 0;
      for (std::uint64_t k = 0; k < size / 32 && out.size() < n; ++k)
        out.push_back({write, at + 32 * k});
    }
  }
  return out;
}

struct Replayed {
  std::uint64_t clocks = 0;
  std::uint64_t row_hits = 0;
};

/// At every clock transactions are taken while fewer than `window` are unfinished, each into the
/// queue of its channel, which offers its first to the controller until that refuses.
Replayed replay(const Row& row) {
  const auto unsigned_of = [&](const char* key) {
    return static_cast<unsigned>(number(row.at(key)));
  };
  DramTiming timing = timing_of(unsigned_of("speed_mbps"));
  if (row.at("refresh") == "none") timing.refi = 0;
  if (row.at("org") == "HBM2_4Gb") timing.rfc = 260;
  if (row.at("id").starts_with("J.faw"))
    timing.faw = static_cast<unsigned>(std::stoul(row.at("id").substr(5)));
  const DramMapping mapping = mapping_of(row.at("map"));
  const std::vector<Transaction> transactions = stream_of(row);
  std::vector<DramChannel> channels(unsigned_of("channels"),
                                    DramChannel(timing, unsigned_of("rq"), unsigned_of("wq")));
  std::vector<std::deque<std::pair<std::uint64_t, DramPlace>>> waiting(channels.size());
  std::vector<std::uint64_t> done;
  Replayed out;
  std::uint64_t next = 0, finished = 0;
  while (finished < transactions.size()) {
    for (; next < transactions.size() && next - finished < unsigned_of("window"); ++next) {
      const DramPlace place = place_of(mapping, transactions[next].address);
      waiting[place.channel].emplace_back(next, place);
    }
    for (std::size_t c = 0; c < channels.size(); ++c) {
      auto& queue = waiting[c];
      while (!queue.empty() && channels[c].offer(queue.front().first, queue.front().second,
                                                 transactions[queue.front().first].write))
        queue.pop_front();
      done.clear();
      channels[c].tick(done);
      finished += done.size();
      if (!done.empty()) out.clocks = channels[c].now();
    }
  }
  for (const DramChannel& c : channels) out.row_hits += c.counts().row_hits;
  return out;
}

void compare(const Row& row) {
  INFO(row.at("id"));
  const Replayed got = replay(row);
  const bool writes = row.at("pattern").find('w') != std::string::npos;
  if (!writes && row.at("channels") == "1") {
    CHECK(got.clocks == number(row.at("cycles")));
    CHECK(got.row_hits == number(row.at("row_hits")));
    return;
  }
  const double want = static_cast<double>(number(row.at("cycles")));
  CHECK(std::abs(static_cast<double>(got.clocks) - want) <= (writes ? 0.05 : 0.001) * want);
}

}  // namespace

TEST_CASE("directed sequences of DRAM accesses are exact to the clock", "[dram]") {
  const DramMapping mapping = mapping_of("co1 pc1 bg2 co4 ba2 ro14");
  for (const Row& row : read_rows("dram_sequences.csv")) {
    INFO(row.at("case"));
    DramTiming timing = timing_of(2000);
    timing.refi = 0;
    DramChannel channel(timing);
    const std::vector<std::string> requests = split(row.at("requests"), ' ');
    const std::vector<std::string> offered = split(row.at("offered"), ' ');
    const std::vector<std::string> wanted = split(row.at("done"), ' ');
    std::vector<std::uint64_t> got(requests.size(), 0), done;
    std::size_t next = 0;
    while (channel.now() < 1000) {
      for (; next < requests.size() && number(offered[next]) <= channel.now(); ++next)
        REQUIRE(channel.offer(next, place_of(mapping, number(requests[next].substr(2))),
                              requests[next][0] == 'W'));
      done.clear();
      channel.tick(done);
      for (const std::uint64_t id : done) got[id] = channel.now();
    }
    for (std::size_t i = 0; i < requests.size(); ++i) CHECK(got[i] == number(wanted[i]));
    CHECK(channel.idle());
  }
}

TEST_CASE("address streams take the clocks that were measured", "[dram]") {
  // The shorter ones; the next test has all.
  std::size_t rows = 0;
  for (const Row& row : read_rows("dram_rows.csv"))
    if (row.at("channels") == "1" && number(row.at("cycles")) < 250'000) {
      compare(row);
      ++rows;
    }
  CHECK(rows > 40);
}

TEST_CASE("all address streams, also of 32 channels", "[.][dram-all]") {
  for (const Row& row : read_rows("dram_rows.csv")) compare(row);
}
