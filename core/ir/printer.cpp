/// Text form of the IR; see revet/text.hpp for the grammar.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <unordered_map>

#include "../support/hash.hpp"
#include "revet/scalar.hpp"
#include "revet/text.hpp"

namespace revet {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  out += '"';
}

/// Unique names for the values of one top-level op, on top of the module's own.
class Names {
 public:
  void define(const Value* v) {
    std::string base = v->name();
    for (char& c : base)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
    if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) {
      names_[v] = std::to_string(numbers_++);
      return;
    }
    const unsigned n = taken_[base]++;
    names_[v] = n == 0 ? base : fmt::format("{}.{}", base, n);
  }
  const std::string& of(const Value* v) const {
    static const std::string unknown = "<undefined>";
    const auto it = names_.find(v);
    return it == names_.end() ? unknown : it->second;
  }

 private:
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_map<std::string, unsigned> taken_;
  unsigned numbers_ = 0;
};

class Printer {
 public:
  Printer(PrintOptions options, Names names) : options_(options), names_(std::move(names)) {}

  void define(const Op& op) {
    for (const auto& r : op.results()) names_.define(r.get());
    for (const auto& region : op.regions()) {
      for (const auto& block : region->blocks()) {
        labels_[block.get()] = static_cast<unsigned>(labels_.size());
        for (const auto& arg : block->args()) names_.define(arg.get());
        for (Op& inner : *block) define(inner);
      }
    }
  }

  void print(const Op& op, unsigned depth) {
    // Capped, so that a chain of 10,000 nested regions does not print as a hundred million blanks.
    const unsigned indent = std::min(depth, 64u);
    out_.append(indent, ' ');
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (i != 0) out_ += ", ";
      value(op.result(i));
    }
    if (op.num_results() != 0) out_ += " = ";
    out_ += op.name();
    values(op.own_operands());
    if (op.num_successors() != 0) {
      out_ += '[';
      for (unsigned i = 0; i < op.num_successors(); ++i) {
        if (i != 0) out_ += ", ";
        label(op.successor(i));
        if (!op.successor_args(i).empty()) values(op.successor_args(i));
      }
      out_ += ']';
    }
    if (!op.attrs().empty()) {
      out_ += " {";
      bool first = true;
      for (const auto& [name, attr] : op.attrs()) {
        if (!first) out_ += ", ";
        first = false;
        out_ += name + " = " + attr.str();
      }
      out_ += '}';
    }
    if (op.num_regions() != 0) {
      out_ += " (";
      for (unsigned i = 0; i < op.num_regions(); ++i) {
        out_ += i == 0 ? "{\n" : ", {\n";
        region(op.region(i), indent);
        out_.append(indent, ' ');
        out_ += '}';
      }
      out_ += ')';
    }
    out_ += " : (";
    types(op.operands());
    out_ += ") -> (";
    for (unsigned i = 0; i < op.num_results(); ++i)
      out_ += (i == 0 ? "" : ", ") + op.result(i)->type().str();
    out_ += ')';
    const Loc loc = op.loc();
    if (options_.locations && loc.known()) {
      out_ += " loc(";
      append_quoted(out_, file_name(loc.file));
      out_ += fmt::format(":{}:{})", loc.line, loc.col);
    } else if (options_.locations) {
      out_ += " loc(unknown)";
    }
    out_ += '\n';
  }

  std::string take() { return std::move(out_); }

 private:
  void value(const Value* v) { (out_ += '%') += names_.of(v); }
  void values(std::span<Value* const> list) {
    out_ += '(';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out_ += ", ";
      value(list[i]);
    }
    out_ += ')';
  }
  void types(std::span<Value* const> list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += list[i]->type().str();
    }
  }
  void label(const Block* b) { out_ += fmt::format("^bb{}", labels_[b]); }
  void region(const Region& region, unsigned indent) {
    for (const auto& block : region.blocks()) {
      if (region.size() > 1 || block->num_args() != 0) {
        out_.append(indent, ' ');
        label(block.get());
        for (unsigned i = 0; i < block->num_args(); ++i) {
          out_ += i == 0 ? "(" : ", ";
          value(block->arg(i));
          out_ += ": " + block->arg(i)->type().str();
        }
        out_ += block->num_args() != 0 ? "):\n" : ":\n";
      }
      for (const Op& op : *block) print(op, indent + 2);
    }
  }

  PrintOptions options_;
  Names names_;
  std::unordered_map<const Block*, unsigned> labels_;
  std::string out_;
};

}  // namespace

bool operator==(const Attr& a, const Attr& b) {
  if (a.as_float() && b.as_float()) return as_bits(*a.as_float()) == as_bits(*b.as_float());
  return a.v_ == b.v_;
}

std::string Attr::str() const {
  if (const bool* b = as_bool()) return *b ? "true" : "false";
  if (const std::int64_t* i = as_int()) return std::to_string(*i);
  if (const float* f = as_float())
    return std::isfinite(*f) ? fmt::format("{}f", *f) : fmt::format("f32({:#010x})", as_bits(*f));
  if (const Type* t = as_type()) return t->str();
  std::string out;
  if (const std::string* s = as_string()) {
    append_quoted(out, *s);
    return out;
  }
  out = "[";
  for (const Attr& a : *as_array()) out += (out.size() == 1 ? "" : ", ") + a.str();
  return out + "]";
}

std::string print(const Module& module, PrintOptions options) {
  Names module_names;
  for (const Op& op : module.body())
    for (const auto& r : op.results()) module_names.define(r.get());
  std::string out;
  for (const Op& op : module.body()) {
    Printer printer(options, module_names);
    if (op.num_regions() != 0) {
      if (op.num_results() == 0) printer.define(op);
      if (!out.empty()) out += '\n';
    }
    printer.print(op, 0);
    out += printer.take();
  }
  return out;
}

std::string print(const Op& op, PrintOptions options) {
  Names names;
  walk(const_cast<Op&>(op), [&](Op& inner) {
    for (const Value* v : inner.operands()) {
      // What is defined outside keeps its plain name.
      if (!v->def() || !is_ancestor(&op, v->def())) {
        if (names.of(v) == "<undefined>") names.define(v);
      }
    }
  });
  Printer printer(options, std::move(names));
  printer.define(op);
  printer.print(op, 0);
  return printer.take();
}

Level level_of(const Module& module) {
  Level level = Level::thread;
  walk(module, [&](Op& op) { level = std::max(level, op.info().level); });
  return level;
}

std::uint64_t hash_of_text(std::string_view text) {
  Fnv1a hash;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    // A location is the last thing on its line.
    hash.add(line.substr(0, std::min(line.rfind(" loc("), line.size())));
  }
  return hash.value();
}

std::uint64_t hash_of(const Module& module) { return hash_of_text(print(module)); }

}  // namespace revet
