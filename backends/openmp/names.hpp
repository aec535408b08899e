/// Names in emitted C++: the source's names, made unique among those in scope and kept clear of
/// keywords, macros and reserved identifiers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace revet::openmp {

/// `text` as an identifier that is free in C and C++; a `_` is added where it is not, and other
/// characters become `_`.
std::string safe_identifier(std::string_view text);

/// The names declared in the C++ scopes around a place. A name can be used again when its scope has
/// ended.
class Scopes {
 public:
  Scopes() { open(); }
  void open() { scopes_.emplace_back(); }
  void close();
  /// Number of scopes that are open.
  std::size_t depth() const { return scopes_.size(); }
  /// A new name in the innermost scope, or in the `depth`th, made from `wish`.
  std::string declare(std::string_view wish) { return declare(wish, depth()); }
  std::string declare(std::string_view wish, std::size_t depth);
  /// A new name that is not used anywhere else in the function, for labels.
  std::string label(std::string_view wish);

 private:
  std::vector<std::vector<std::string>> scopes_;
  std::set<std::string, std::less<>> visible_;
  std::map<std::string, unsigned, std::less<>> labels_;
};

}  // namespace revet::openmp
