/// What a program needs at launch: its scalar arguments and DRAM arrays.
#pragma once

#include "revet/ir.hpp"

namespace revet {

struct Param {
  std::string name;
  Type type;
};

struct DramArray {
  std::string name;
  Type element;
  Value* value = nullptr;      ///< the mem.dram result
  const Attr* size = nullptr;  ///< expression of mem.dram, or null
  Loc loc;
  bool written = false;  ///< some op may write it
};

struct Signature {
  std::vector<Param> params;      ///< of main, in order
  std::vector<DramArray> arrays;  ///< in order of declaration
};

/// Throws Error (exit 1) where the module has no `main`.
Signature signature_of(const Module& module);

}  // namespace revet
