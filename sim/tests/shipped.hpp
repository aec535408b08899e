/// What tests and benchmarks of the DRAM take from the machine that ships.
#pragma once

#include "revet/machine.hpp"

namespace revet::sim::test {

/// Its address mapping, "co1 ch5 pc1 bg2 co4 ba2 ro14".
inline DramMapping shipped_mapping() {
  return {{{DramMapping::column, 1},
           {DramMapping::channel, 5},
           {DramMapping::pseudo_channel, 1},
           {DramMapping::bank_group, 2},
           {DramMapping::column, 4},
           {DramMapping::bank, 2},
           {DramMapping::row, 14}}};
}

}  // namespace revet::sim::test
