/// The machine that a graph is mapped to and simulated on (paper, section VI-A and Table II). Read
/// from a machine file, in which every number has its unit and source; see docs/machine.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace revet {

/// Distances between the commands of an HBM2 channel, in memory clocks.
struct DramTiming {
  double clock_ns = 1.143;
  unsigned cl = 13, cwl = 5;            ///< RD to first data, WR to first data
  unsigned burst = 2;                   ///< clocks of data of one access: 32 bytes
  unsigned rcd_rd = 13, rcd_wr = 11;    ///< ACT to RD, WR
  unsigned rp = 13, ras = 30, rc = 43;  ///< PRE to ACT, ACT to PRE, ACT to ACT of a bank
  unsigned ccd_s = 2, ccd_l = 4;        ///< column commands: other, same bank group
  unsigned rrd_s = 4, rrd_l = 4;        ///< ACTs: other, same bank group
  unsigned faw = 14;                    ///< window of four ACTs
  unsigned wtr_s = 6, wtr_l = 7;        ///< end of write data to RD
  unsigned rtw = 12;                    ///< RD to WR
  unsigned wr = 14, rtp = 5;            ///< end of write data, RD to PRE
  unsigned rfc = 140, refi = 3413;      ///< length and distance of refreshes; refi 0: none
  unsigned act = 2;                     ///< clocks of the row bus that an ACT takes
};

/// Fields of an address, from the lowest bit up, above the 32 bytes of an access.
struct DramMapping {
  enum Field : std::uint8_t { column, channel, pseudo_channel, bank_group, bank, row };
  std::vector<std::pair<Field, unsigned>> fields;  ///< and their bits
};

enum class UnitKind : std::uint8_t {
  compute,  ///< CU
  memory,   ///< MU
  address,  ///< AG
};
/// "CU", "MU", "AG".
constexpr const char* unit_kind_name(UnitKind kind) {
  return kind == UnitKind::compute ? "CU" : kind == UnitKind::memory ? "MU" : "AG";
}
enum class LinkKind : std::uint8_t { vector, scalar, control };

/// Units are cycles of the machine's clock, bytes, lanes or pieces, unless a field says otherwise.
struct Machine {
  std::string name;
  double clock_ghz = 0;
  double area_mm2 = 0;
  double usable = 0;  ///< share of the critical resource that mapping aims at

  struct {
    unsigned rows = 0, columns = 0;  ///< of CUs and MUs, in a checkerboard
    unsigned address_columns = 0;    ///< of AGs, on each side
  } grid;

  struct {
    unsigned lanes = 0;  ///< of 32 bits
    unsigned stages = 0, registers = 0, counters = 0;
    unsigned vector_inputs = 0, vector_outputs = 0;  ///< buffers, ports
    unsigned scalar_inputs = 0, scalar_outputs = 0;
    unsigned latency = 0;
  } compute;

  struct {
    std::uint32_t bytes = 0;
    unsigned banks = 0;
    unsigned stages = 0;    ///< for addresses
    unsigned contexts = 0;  ///< accesses, each with inputs of its own
    unsigned vector_inputs = 0, scalar_inputs = 0, vector_outputs = 0, scalar_outputs = 0;
    unsigned latency = 0;
    bool combining = false;  ///< atomics of one vector on one word take one slot
    bool bank_hash = false;  ///< the bank of a word depends on all of its address
    unsigned queue = 0;      ///< accesses that wait at each bank
    bool ideal = false;      ///< banks never conflict
  } memory;

  struct {
    unsigned outstanding = 0;  ///< bursts
    unsigned burst_bytes = 0;
    unsigned stages = 0;
    unsigned vector_inputs = 0, scalar_inputs = 0;
    unsigned latency = 0;
    bool coalescing = false;  ///< reads of a burst that is on its way share it
  } address;

  struct {
    unsigned vector_depth = 0, scalar_depth = 0;  ///< vectors, elements
    unsigned control_depth = 0;                   ///< void tokens
  } buffers;

  struct {
    unsigned vector_tracks = 0, scalar_tracks = 0, control_tracks = 0;  ///< per direction
    unsigned hop_latency = 0;
    unsigned skid = 0;  ///< entries of each hop of a static route
    unsigned dynamic_hop_latency = 0;
    unsigned virtual_channels = 0;
    unsigned flit_buffers = 0;  ///< of each virtual channel
    bool ideal = false;         ///< no hops, no limits
  } network;

  struct {
    unsigned channels = 0;
    unsigned read_queue = 0, write_queue = 0;  ///< accesses of 32 bytes, per channel
    bool ideal = false;                        ///< no latency, no limits
    DramTiming timing;
    DramMapping mapping;
    std::string mapping_text;
  } dram;

  /// `throttle = { region = 3, rate = 0.7 }`: the units of that copy of a replicate region act in
  /// this share of the cycles only (Figure 14).
  int throttled_region = -1;
  double throttle_rate = 1;

  std::string text;  ///< the resolved file, keys in order
  std::string hash;  ///< of the text

  unsigned compute_units() const { return grid.rows * grid.columns / 2; }
  unsigned memory_units() const { return grid.rows * grid.columns - compute_units(); }
  unsigned address_generators() const { return grid.rows * grid.address_columns * 2; }
  unsigned units(UnitKind kind) const {
    if (kind == UnitKind::address) return address_generators();
    return kind == UnitKind::compute ? compute_units() : memory_units();
  }
  /// Cycles from input to output of a unit.
  unsigned latency(UnitKind kind) const {
    if (kind == UnitKind::address) return address.latency;
    return kind == UnitKind::compute ? compute.latency : memory.latency;
  }
  /// GB/s: two pseudo-channels of 16 bytes per clock.
  double peak_gbps() const { return dram.channels * 32.0 / dram.timing.clock_ns; }
};

}  // namespace revet
