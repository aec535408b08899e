#include "names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace revet::openmp {
namespace {

/// Sorted. Keywords of C and C++, names that emitted code or its headers use unqualified, and
/// macros with small letters.
constexpr std::array taken{"alignas",       "alignof",      "and",
                           "and_eq",        "asm",          "assert",
                           "auto",          "bitand",       "bitor",
                           "bool",          "break",        "case",
                           "catch",         "char",         "char16_t",
                           "char32_t",      "char8_t",      "class",
                           "co_await",      "co_return",    "co_yield",
                           "compl",         "concept",      "const",
                           "const_cast",    "consteval",    "constexpr",
                           "constinit",     "continue",     "decltype",
                           "default",       "delete",       "do",
                           "double",        "dynamic_cast", "else",
                           "enum",          "errno",        "explicit",
                           "export",        "extern",       "false",
                           "float",         "for",          "friend",
                           "goto",          "if",           "inline",
                           "int",           "linux",        "long",
                           "main",          "module",       "mutable",
                           "namespace",     "new",          "noexcept",
                           "not",           "not_eq",       "nullptr",
                           "offsetof",      "operator",     "or",
                           "or_eq",         "private",      "protected",
                           "public",        "register",     "reinterpret_cast",
                           "requires",      "restrict",     "return",
                           "revet",         "setjmp",       "short",
                           "signed",        "sizeof",       "static",
                           "static_assert", "static_cast",  "stderr",
                           "stdin",         "stdout",       "std",
                           "struct",        "switch",       "template",
                           "this",          "thread_local", "throw",
                           "true",          "try",          "typedef",
                           "typeid",        "typename",     "typeof",
                           "union",         "unix",         "unsigned",
                           "using",         "va_arg",       "va_copy",
                           "va_end",        "va_start",     "virtual",
                           "void",          "volatile",     "wchar_t",
                           "while",         "xor",          "xor_eq"};

bool looks_like_macro(std::string_view name) {
  return name.size() > 1 && std::none_of(name.begin(), name.end(),
                                         [](unsigned char c) { return std::islower(c) != 0; });
}

}  // namespace

std::string safe_identifier(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '_');
    // Two underscores in a row are reserved.
    if (plain && !(c == '_' && !name.empty() && name.back() == '_')) name += c;
    if (!plain && (name.empty() || name.back() != '_')) name += '_';
  }
  // So are a first underscore before a capital and, globally, any first underscore.
  if (name.empty() || name[0] == '_' || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
    name.insert(0, name.starts_with('_') ? "v" : "v_");
  const auto is = [&](const char* word) { return name == word; };
  if (std::any_of(taken.begin(), taken.end(), is) || looks_like_macro(name) ||
      name.ends_with("_t") || name.starts_with("revet_"))
    name += name.ends_with('_') ? "x" : "_";
  return name;
}

void Scopes::close() {
  for (const std::string& name : scopes_.back()) visible_.erase(name);
  scopes_.pop_back();
}

std::string Scopes::declare(std::string_view wish, std::size_t depth) {
  const std::string base = safe_identifier(wish);
  std::string name = base;
  for (unsigned n = 2; visible_.count(name) != 0; ++n)
    name = base + (base.ends_with('_') ? "" : "_") + std::to_string(n);
  visible_.insert(name);
  scopes_[depth - 1].push_back(name);
  return name;
}

std::string Scopes::label(std::string_view wish) {
  const std::string base = safe_identifier(wish);
  const unsigned n = ++labels_[base];
  return n == 1 ? base : base + "_" + std::to_string(n);
}

}  // namespace revet::openmp
