/// Reads machine files. One table names every key with its range; a file gives all of them, itself
/// or through the file that it is based on (`base`), and no others.
#include "machine_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "../support/files.hpp"
#include "../support/hash.hpp"
#include "revet/text.hpp"
#include "toml_nodes.hpp"

namespace revet {
namespace fs = std::filesystem;
namespace {

using Field = std::variant<unsigned*, int*, double*, bool*, std::string*>;

struct Key {
  const char* name;
  Field field;
  double min, max;
  const char* unit;
};

std::vector<Key> keys_of(Machine& m) {
  constexpr double many = 1'000'000'000;
  auto& g = m.grid;
  auto& c = m.compute;
  auto& u = m.memory;
  auto& a = m.address;
  auto& b = m.buffers;
  auto& n = m.network;
  auto& d = m.dram;
  auto& t = d.timing;
  return {
      {"name", &m.name, 0, 0, "text"},
      {"clock-ghz", &m.clock_ghz, 0.001, 1000, "GHz"},
      {"area-mm2", &m.area_mm2, 0, many, "mm2"},
      {"usable", &m.usable, 0.01, 1, "share of the critical resource"},
      {"grid.rows", &g.rows, 1, 200, "units"},
      {"grid.columns", &g.columns, 2, 200, "units"},
      {"grid.address-columns", &g.address_columns, 1, 100, "units on each side"},
      {"compute.lanes", &c.lanes, 16, 16, "lanes of 32 bits"},
      {"compute.stages", &c.stages, 1, 64, "operations"},
      {"compute.registers", &c.registers, 1, 256, "per stage and lane"},
      {"compute.counters", &c.counters, 1, 64, "counters"},
      {"compute.vector-inputs", &c.vector_inputs, 2, 64, "buffers"},
      {"compute.vector-outputs", &c.vector_outputs, 1, 64, "ports"},
      {"compute.scalar-inputs", &c.scalar_inputs, 2, 64, "buffers"},
      {"compute.scalar-outputs", &c.scalar_outputs, 1, 64, "ports"},
      {"compute.latency", &c.latency, 1, 1000, "cycles"},
      {"memory.bytes", &u.bytes, 64, many, "bytes"},
      {"memory.banks", &u.banks, 1, 64, "banks of 32 bits"},
      {"memory.stages", &u.stages, 0, 64, "operations on addresses"},
      {"memory.contexts", &u.contexts, 1, 64, "accesses"},
      {"memory.vector-inputs", &u.vector_inputs, 1, 64, "buffers"},
      {"memory.scalar-inputs", &u.scalar_inputs, 0, 64, "buffers"},
      {"memory.vector-outputs", &u.vector_outputs, 1, 64, "ports"},
      {"memory.scalar-outputs", &u.scalar_outputs, 0, 64, "ports"},
      {"memory.latency", &u.latency, 1, 1000, "cycles"},
      {"memory.combining", &u.combining, 0, 1, "boolean"},
      {"memory.bank-hash", &u.bank_hash, 0, 1, "boolean"},
      {"memory.queue", &u.queue, 0, 1024, "accesses per bank"},
      {"memory.ideal", &u.ideal, 0, 1, "boolean"},
      {"address.outstanding", &a.outstanding, 1, 1'000'000, "bursts"},
      {"address.burst-bytes", &a.burst_bytes, 64, 64, "bytes"},
      {"address.stages", &a.stages, 0, 64, "operations on addresses"},
      {"address.vector-inputs", &a.vector_inputs, 1, 64, "buffers"},
      {"address.scalar-inputs", &a.scalar_inputs, 0, 64, "buffers"},
      {"address.latency", &a.latency, 1, 1000, "cycles"},
      {"address.coalescing", &a.coalescing, 0, 1, "boolean"},
      {"buffers.vector-depth", &b.vector_depth, 1, 65536, "vectors"},
      {"buffers.scalar-depth", &b.scalar_depth, 1, 65536, "elements"},
      {"buffers.control-depth", &b.control_depth, 16, 65536, "void tokens"},
      {"network.vector-tracks", &n.vector_tracks, 0, 1000, "per direction"},
      {"network.scalar-tracks", &n.scalar_tracks, 0, 1000, "per direction"},
      {"network.control-tracks", &n.control_tracks, 0, 1000, "per direction"},
      {"network.hop-latency", &n.hop_latency, 1, 100, "cycles"},
      {"network.skid", &n.skid, 1, 100, "entries per hop"},
      {"network.dynamic-hop-latency", &n.dynamic_hop_latency, 1, 100, "cycles"},
      {"network.virtual-channels", &n.virtual_channels, 0, 64, "per link"},
      {"network.flit-buffers", &n.flit_buffers, 1, 64, "per virtual channel"},
      {"network.ideal", &n.ideal, 0, 1, "boolean"},
      {"dram.channels", &d.channels, 1, 1024, "channels of two pseudo-channels"},
      {"dram.read-queue", &d.read_queue, 1, 4096, "accesses of 32 bytes"},
      {"dram.write-queue", &d.write_queue, 1, 4096, "accesses of 32 bytes"},
      {"dram.mapping", &d.mapping_text, 0, 0, "fields from the lowest bit up"},
      {"dram.ideal", &d.ideal, 0, 1, "boolean"},
      {"dram.clock-ns", &t.clock_ns, 0.001, 1000, "ns"},
      {"dram.cl", &t.cl, 1, 1000, "clocks"},
      {"dram.cwl", &t.cwl, 1, 1000, "clocks"},
      {"dram.burst", &t.burst, 1, 16, "clocks"},
      {"dram.rcd-rd", &t.rcd_rd, 1, 1000, "clocks"},
      {"dram.rcd-wr", &t.rcd_wr, 1, 1000, "clocks"},
      {"dram.rp", &t.rp, 1, 1000, "clocks"},
      {"dram.ras", &t.ras, 1, 1000, "clocks"},
      {"dram.rc", &t.rc, 1, 1000, "clocks"},
      {"dram.ccd-s", &t.ccd_s, 1, 1000, "clocks"},
      {"dram.ccd-l", &t.ccd_l, 1, 1000, "clocks"},
      {"dram.rrd-s", &t.rrd_s, 1, 1000, "clocks"},
      {"dram.rrd-l", &t.rrd_l, 1, 1000, "clocks"},
      {"dram.faw", &t.faw, 1, 1000, "clocks"},
      {"dram.wtr-s", &t.wtr_s, 1, 1000, "clocks"},
      {"dram.wtr-l", &t.wtr_l, 1, 1000, "clocks"},
      {"dram.rtw", &t.rtw, 1, 1000, "clocks"},
      {"dram.wr", &t.wr, 1, 1000, "clocks"},
      {"dram.rtp", &t.rtp, 1, 1000, "clocks"},
      {"dram.rfc", &t.rfc, 1, 100000, "clocks"},
      {"dram.refi", &t.refi, 0, many, "clocks"},
      {"dram.act", &t.act, 1, 16, "clocks of the row bus"},
      {"throttle.region", &m.throttled_region, -1, 1000000, "copy of a replicate region; -1: none"},
      {"throttle.rate", &m.throttle_rate, 0.01, 1, "share of cycles"},
  };
}

/// "co1 ch5 pc1 bg2 co4 ba2 ro14"
bool read_mapping(const std::string& text, DramMapping& out) {
  static const std::pair<const char*, DramMapping::Field> names[] = {
      {"co", DramMapping::column},         {"ch", DramMapping::channel},
      {"pc", DramMapping::pseudo_channel}, {"bg", DramMapping::bank_group},
      {"ba", DramMapping::bank},           {"ro", DramMapping::row}};
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    const auto* const field = std::find_if(std::begin(names), std::end(names), [&](const auto& n) {
      return word.substr(0, 2) == n.first;
    });
    if (field == std::end(names) || word.size() < 3 || word.size() > 4 ||
        word.find_first_not_of("0123456789", 2) != std::string::npos)
      return false;
    out.fields.emplace_back(field->second, static_cast<unsigned>(std::stoul(word.substr(2))));
  }
  return true;
}

class Reader : private TomlNodes {
 public:
  Reader(SourceManager& sources, Diagnostics& diagnostics)
      : TomlNodes(diagnostics), sources_(sources), keys_(keys_of(*machine_)) {
    for (const Key& k : keys_) names_.push_back(k.name);
  }

  std::shared_ptr<const Machine> read(const Pipeline& pipeline) {
    fs::path file = shipped_machines() / "revet-hpca24.toml";
    std::map<std::string, Setting> own = pipeline.machine;
    if (const auto given = own.find("file"); given != own.end()) {
      file = given->second.value;
      file_loc_ = given->second.loc;
      own.erase(given);
      std::error_code ec;
      if (!file.has_parent_path() && !fs::exists(file, ec)) file = shipped_machines() / file;
    }
    read_file(file, 0);
    // Everything would be missing.
    if (diagnostics().has_errors()) return nullptr;
    for (const auto& [name, setting] : own) settings_[name] = setting;
    for (const auto& [name, setting] : settings_) {
      if (std::find(names_.begin(), names_.end(), name) == names_.end())
        diagnostics().error(setting.key, fmt::format("unknown key '{}' of a machine{}", name,
                                                     did_you_mean(name, names_)));
    }
    for (const Key& k : keys_) apply(k, file);
    if (diagnostics().has_errors()) return nullptr;
    check();
    Fnv1a hash;
    hash.add(machine_->text);
    machine_->hash = fmt::format("{:016x}", hash.value());
    return diagnostics().has_errors() ? nullptr : machine_;
  }

 private:
  /// What a file says wins over what the file says that it is based on.
  void read_file(const fs::path& file, unsigned depth) {
    std::string text;
    try {
      text = revet::read_file(file);
    } catch (const Error& e) {
      if (!file_loc_.known()) throw;
      std::vector<std::string> ship;
      for (const auto& entry : fs::directory_iterator(shipped_machines()))
        ship.push_back(entry.path().filename().string());
      std::sort(ship.begin(), ship.end());
      diagnostics().error(file_loc_,
                          e.what() + did_you_mean(file.filename().string(), ship) +
                              fmt::format("; machines that ship: {}", fmt::join(ship, ", ")));
      return;
    }
    sources_.add(file.string(), text);
    try {
      const toml::table top = toml::parse(text, file.string());
      if (const toml::node* base = top.get("base")) {
        if (const auto name = this->text(*base, "base")) {
          file_loc_ = loc_of(*base);
          if (depth == 8)
            diagnostics().error(file_loc_,
                                "machine files are based on each other more than 8 deep");
          else
            read_file(file.parent_path() / *name, depth + 1);
        }
      }
      read_table(top, "");
    } catch (const toml::parse_error& e) {
      diagnostics().error(loc_of(e.source()), std::string(e.description()));
    }
  }

  void read_table(const toml::table& table, const std::string& prefix) {
    for (auto&& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      if (name == "base") continue;
      if (const toml::table* inner = node.as_table()) {
        read_table(*inner, name + ".");
      } else if (auto s = scalar(node, name)) {
        s->key = loc_of(key);
        settings_[name] = std::move(*s);
      }
    }
  }

  void apply(const Key& k, const fs::path& file) {
    const auto at = settings_.find(k.name);
    if (at == settings_.end()) {
      diagnostics().error({intern_file(file.string()), 1, 1, 1},
                          fmt::format("the machine has no '{}' ({})", k.name, k.unit));
      return;
    }
    const Setting& s = at->second;
    const auto refuse = [&](const std::string& wanted) {
      diagnostics().error(
          s.loc, fmt::format("'{}' expects {} ({}), got '{}'", k.name, wanted, k.unit, s.value));
    };
    const auto number = [&](OptionType type) -> std::optional<double> {
      const bool integer = type == OptionType::integer;
      const std::string range =
          fmt::format("{} from {:g} to {:g}", integer ? "an integer" : "a number", k.min, k.max);
      const bool fits = !s.type || *s.type == type ||
                        (type == OptionType::number && *s.type == OptionType::integer);
      OptionSpec spec;
      spec.name = k.name;
      spec.type = type;
      const ParsedOption parsed = parse_option(spec, s.value);
      if (fits && parsed.value) {
        OptionValues values;
        values.set(k.name, *parsed.value);
        const double v =
            integer ? static_cast<double>(values.integer(k.name)) : values.number(k.name);
        if (v >= k.min && v <= k.max) return v;
      }
      refuse(range);
      return std::nullopt;
    };
    std::string shown;
    if (auto* const* text = std::get_if<std::string*>(&k.field)) {
      if (s.type && *s.type != OptionType::text) return refuse("a string");
      **text = s.value;
      shown = fmt::format("\"{}\"", s.value);
    } else if (auto* const* flag = std::get_if<bool*>(&k.field)) {
      if ((s.type && *s.type != OptionType::boolean) || (s.value != "true" && s.value != "false"))
        return refuse("true or false");
      **flag = s.value == "true";
      shown = s.value;
    } else if (auto* const* real = std::get_if<double*>(&k.field)) {
      const auto v = number(OptionType::number);
      if (!v) return;
      **real = *v;
      shown = fmt::format("{}", *v);
    } else {
      const auto v = number(OptionType::integer);
      if (!v) return;
      if (auto* const* n = std::get_if<unsigned*>(&k.field)) **n = static_cast<unsigned>(*v);
      if (auto* const* n = std::get_if<int*>(&k.field)) **n = static_cast<int>(*v);
      shown = fmt::format("{}", static_cast<std::int64_t>(*v));
    }
    machine_->text += fmt::format("{} = {}\n", k.name, shown);
  }

  /// What no single key can say.
  void check() {
    const Setting& s = settings_["dram.mapping"];
    DramMapping& m = machine_->dram.mapping;
    if (!read_mapping(machine_->dram.mapping_text, m)) {
      diagnostics().error(s.loc,
                          "'dram.mapping' expects fields like \"co1 ch5 pc1 bg2 co4 ba2 "
                          "ro14\" (column, channel, pseudo-channel, bank group, bank, row, "
                          "each with its bits)");
      return;
    }
    const auto bits = [&](DramMapping::Field field) {
      unsigned n = 0;
      for (const auto& [f, width] : m.fields) n += f == field ? width : 0;
      return n;
    };
    if ((std::uint64_t{1} << bits(DramMapping::channel)) != machine_->dram.channels)
      diagnostics().error(s.loc, fmt::format("'dram.mapping' has {} bits for the channel, but "
                                             "'dram.channels' is {}",
                                             bits(DramMapping::channel), machine_->dram.channels));
    if (bits(DramMapping::pseudo_channel) != 1 || bits(DramMapping::bank_group) != 2 ||
        bits(DramMapping::bank) != 2 || m.fields.front().first != DramMapping::column ||
        m.fields.front().second < 1)
      diagnostics().error(s.loc,
                          "'dram.mapping' must begin with a column bit, so that a burst of "
                          "64 bytes stays in a row, and have pc1, bg2 and ba2");
  }

  SourceManager& sources_;
  const std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
  const std::vector<Key> keys_;
  std::vector<std::string> names_;
  std::map<std::string, Setting> settings_;
  Loc file_loc_;
};

}  // namespace

std::shared_ptr<const Machine> read_machine(const Pipeline& pipeline, SourceManager& sources,
                                            Diagnostics& diagnostics) {
  // An executable without its files still runs what needs no machine.
  std::error_code ec;
  if (pipeline.machine.empty() && !fs::exists(shipped_machines(), ec)) return nullptr;
  return Reader(sources, diagnostics).read(pipeline);
}

fs::path shipped_machines() {
  return (executable_path().parent_path() / "../share/revet/pipelines/machines").lexically_normal();
}

std::vector<std::pair<std::string, std::string>> machine_keys() {
  Machine m;
  std::vector<std::pair<std::string, std::string>> out;
  const auto number = [](double v) {
    return v == std::floor(v) ? fmt::format("{:.0f}", v) : fmt::format("{}", v);
  };
  for (const Key& k : keys_of(m)) {
    const bool ranged =
        !std::holds_alternative<bool*>(k.field) && !std::holds_alternative<std::string*>(k.field);
    out.emplace_back(k.name, ranged
                                 ? fmt::format("{}, {} to {}", k.unit, number(k.min), number(k.max))
                                 : k.unit);
  }
  return out;
}

}  // namespace revet
