/// DRAM arrays, SRAMs and pools of free pointers: what memory nodes act on (docs, "Memory").
///
/// An SRAM has one buffer of N elements per pointer; element i of the buffer of pointer p has the
/// address p * N + i. Errors of the program (an index outside) throw Error with the place given;
/// errors of the graph (a pointer that does not exist, or is freed twice) throw InternalError.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "revet/launch.hpp"
#include "revet/scalar.hpp"
#include "revet/source.hpp"

namespace revet::sim {

struct DramDecl {
  std::string name;
  Kind element;
};
struct SramDecl {
  std::string name;
  Kind element;
  std::uint32_t size;      ///< elements of one buffer
  std::uint32_t pointers;  ///< buffers
};
struct PoolDecl {
  std::string name;
  std::uint32_t pointers;     ///< 0 .. pointers-1 are free at first
  std::uint32_t regions = 1;  ///< pointer p belongs to copy p % regions of a replicate region
};

/// The host memory of a DRAM array.
struct HostArray {
  std::uint8_t* data = nullptr;
  std::uint64_t count = 0;  ///< elements
};
/// Loads the arrays of a launch, in its order.
std::vector<HostArray> bind(Launch& launch);

/// Free pointers, handed out in the order in which they were freed. A queue for each region, asked
/// in turn: without that, pointers that a region frees together would send it work together again,
/// and it would hold up what is dealt to the others (Section V-B: "native round-robin load
/// balancing").
class Pool {
 public:
  /// Regions take turns. A vector of pointers in each keeps threads that are side by side together,
  /// so that what they ask of DRAM may meet in a burst.
  static constexpr unsigned pointers_per_turn = 16;
  explicit Pool(const PoolDecl& decl);
  bool empty() const { return count_ == 0; }
  std::size_t free_count() const { return count_; }
  std::uint32_t take();
  void give_back(std::uint32_t pointer);

 private:
  std::string name_;
  std::vector<std::deque<std::uint32_t>> free_;  ///< per region
  std::size_t next_;                             ///< region whose turn it is
  unsigned turn_;                                ///< pointers that it gave in this turn
  std::size_t count_ = 0;
  std::vector<bool> taken_;
};

class Memories {
 public:
  Memories(const std::vector<DramDecl>& drams, const std::vector<SramDecl>& srams,
           const std::vector<PoolDecl>& pools, const std::vector<HostArray>& arrays);

  /// The elements of an array, or of the buffer that a pointer selects.
  struct Elements {
    const std::string* name;
    Kind kind;
    bool off_chip;
    std::uint8_t* data;
    std::uint64_t count;
  };
  Elements dram(std::uint32_t id);
  Elements sram(std::uint32_t id, std::uint32_t pointer);
  Pool& pool(std::uint32_t id) { return pools_[id]; }
  const Pool& pool(std::uint32_t id) const { return pools_[id]; }

  /// Loads for the lanes that are on. False, and nothing done, if a pointer or index is outside, or
  /// elements are not whole words.
  bool load_lanes(std::uint32_t sram, const std::uint32_t* pointers, const std::uint32_t* indices,
                  std::uint32_t on, std::uint32_t* to) const;
  /// The same for stores, in the order of the lanes.
  bool store_lanes(std::uint32_t sram, const std::uint32_t* pointers, const std::uint32_t* indices,
                   std::uint32_t on, const std::uint32_t* from);

  std::uint32_t load(const Elements& from, std::int64_t index, Loc place) const;
  void store(const Elements& to, std::int64_t index, std::uint32_t bits, Loc place);
  /// Gives the old value. `desired` is the new value of a cas, whose `value` is the expected one.
  std::uint32_t atomic(const Elements& at, std::int64_t index, Atomic op, std::uint32_t value,
                       std::uint32_t desired, Loc place);
  /// The valid elements of a transfer between `n` elements of a buffer and `count` of an array:
  /// first <= k < last.
  struct Extent {
    std::uint64_t first;
    std::uint64_t last;
  };
  /// Elements of that kind that a buffer holds; its own may be words of several.
  static std::uint64_t room(const Elements& buffer, Kind element);
  static Extent valid_elements(std::uint64_t count, std::uint64_t n, std::int64_t base,
                               std::int64_t valid);
  /// Copies elements base.. of the array to elements 0.. of the buffer. Valid are those k with
  /// 0 <= k < min(N, max(0, valid)) that lie inside the array; the others become 0.
  void bulk_load(const Elements& array, const Elements& buffer, std::int64_t base,
                 std::int64_t valid) const;
  /// Copies the valid elements of the buffer to the array.
  void bulk_store(const Elements& array, const Elements& buffer, std::int64_t base,
                  std::int64_t valid);
  void fill_zero(const Elements& buffer) const;

  /// From here on DRAM writes are noted; undo() takes them back, newest first.
  void note_writes() { noting_ = true; }
  void undo();

 private:
  struct Write {
    std::uint8_t* data;
    Kind kind;
    std::uint64_t index;
    std::uint32_t before;
  };
  bool all_inside(std::uint32_t sram, const std::uint32_t* pointers, const std::uint32_t* indices,
                  std::uint32_t on) const;
  void put(const Elements& to, std::uint64_t index, std::uint32_t bits);

  std::vector<DramDecl> drams_;
  std::vector<SramDecl> srams_;
  std::vector<HostArray> arrays_;
  std::vector<std::vector<std::uint8_t>> buffers_;
  std::vector<Pool> pools_;
  std::vector<Write> writes_;
  bool noting_ = false;
};

}  // namespace revet::sim
