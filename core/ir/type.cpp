#include "revet/type.hpp"

#include <fmt/format.h>

namespace revet {
namespace {

const char* kind_name(Kind k) {
  switch (k) {
    case Kind::none: return "void";
    case Kind::i1: return "i1";
    case Kind::i8: return "i8";
    case Kind::i16: return "i16";
    case Kind::i32: return "i32";
    case Kind::u8: return "u8";
    case Kind::u16: return "u16";
    case Kind::u32: return "u32";
    case Kind::f32: return "f32";
    case Kind::ptr: return "ptr";
    case Kind::dram: return "dram";
    case Kind::sram: return "sram";
    case Kind::view: return "view";
    case Kind::iter: return "iter";
    case Kind::stream: return "stream";
  }
  return "";
}

const char* source_name(Kind k) {
  switch (k) {
    case Kind::i1: return "bool";
    case Kind::i8: return "int8";
    case Kind::i16: return "short";
    case Kind::i32: return "int";
    case Kind::u8: return "char";
    case Kind::u16: return "ushort";
    case Kind::u32: return "uint";
    case Kind::f32: return "float";
    default: return "void";
  }
}

}  // namespace

unsigned Type::bits() const {
  switch (kind) {
    case Kind::i1: return 1;
    case Kind::i8:
    case Kind::u8: return 8;
    case Kind::i16:
    case Kind::u16: return 16;
    case Kind::i32:
    case Kind::u32:
    case Kind::f32:
    case Kind::ptr: return 32;
    default: return 0;
  }
}

std::string Type::str() const {
  switch (kind) {
    case Kind::dram: return fmt::format("dram<{}>", kind_name(element));
    case Kind::sram:
    case Kind::view:
    case Kind::iter: return fmt::format("{}<{}, {}>", kind_name(kind), kind_name(element), size);
    case Kind::stream:
      return fmt::format("stream<{}, {}, {}>", kind_name(element), size,
                         scalar_link ? "scalar" : "vector");
    default: return kind_name(kind);
  }
}

std::string Type::source_str() const {
  switch (kind) {
    case Kind::dram: return fmt::format("DRAM<{}>", source_name(element));
    case Kind::sram: return fmt::format("SRAM<{}, {}>", source_name(element), size);
    case Kind::view: return fmt::format("view<{}, {}>", source_name(element), size);
    case Kind::iter: return fmt::format("iterator<{}, {}>", source_name(element), size);
    default: return source_name(kind);
  }
}

}  // namespace revet
