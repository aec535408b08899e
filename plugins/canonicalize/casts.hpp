/// When a cast of a cast is one cast.
#pragma once

#include "revet/type.hpp"

namespace revet {

/// True if converting every value of `a` to `b` and then to `c` equals converting it to `c`.
inline bool cast_is_direct(Type a, Type b, Type c) {
  if (!a.is_integer() || !b.is_integer()) return false;
  // Every value of `a` is one of `b`.
  if (b.bits() >= a.bits() && a.is_signed() == b.is_signed()) return true;
  if (b.bits() > a.bits() && b.is_signed()) return true;
  // Both ways keep the low bits of `c` (a conversion to i1 compares with 0 instead).
  return b != type_i1 && c != type_i1 && c.is_integer() && b.bits() >= c.bits();
}

}  // namespace revet
