/// Parser of the text form of the IR: recursive descent with one token of look-ahead.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <unordered_map>

#include "lexer.hpp"
#include "revet/scalar.hpp"
#include "revet/text.hpp"

namespace revet {
namespace {

using rir::Lexer;
using rir::Stop;
using rir::Token;

constexpr unsigned max_nesting = 20000;

class Parser {
 public:
  Parser(FileId file, std::string_view text, Diagnostics& diagnostics)
      : lexer_(file, text, diagnostics) {
    token_ = lexer_.next();
  }

  std::unique_ptr<Module> module() {
    auto m = std::make_unique<Module>();
    while (token_.kind != Token::end) {
      local_ = {};
      blocks_.clear();
      op(m->body(), module_values_);
      for (const auto& [name, pending] : local_.pending)
        lexer_.fail(pending.loc, fmt::format("undefined value %{}", name));
      for (const auto& [name, entry] : blocks_)
        if (!entry.block) lexer_.fail(entry.loc, fmt::format("undefined block ^{}", name));
    }
    return m;
  }

 private:
  struct Pending {
    Value* placeholder;
    Loc loc;
  };
  struct Scope {
    std::unordered_map<std::string, Value*> values;
    std::map<std::string, Pending> pending;
  };
  struct BlockEntry {
    Block* block = nullptr;
    Loc loc;
    std::vector<std::pair<Op*, unsigned>> waiting;  ///< successors that name it
  };

  // --- tokens -----------------------------------------------------------------------------------
  Token shift() {
    Token t = std::move(token_);
    token_ = lexer_.next();
    return t;
  }
  bool at(std::string_view punct) const {
    return (token_.kind == Token::punct || token_.kind == Token::arrow) && token_.text == punct;
  }
  bool accept(std::string_view punct) {
    if (!at(punct)) return false;
    shift();
    return true;
  }
  [[noreturn]] void expected(const std::string& what) {
    lexer_.fail(token_.loc,
                fmt::format("expected {}, found {}", what,
                            token_.kind == Token::end ? std::string("the end of the file")
                                                      : "'" + token_.text + "'"));
  }
  void expect(std::string_view punct) {
    if (!accept(punct)) expected(fmt::format("'{}'", punct));
  }
  Token expect(Token::Kind kind, const char* what) {
    if (token_.kind != kind) expected(what);
    return shift();
  }
  std::int64_t integer(const Token& t) {
    std::int64_t v = 0;
    const char* end = t.text.data() + t.text.size();
    const auto [p, ec] = std::from_chars(t.text.data(), end, v);
    if (ec != std::errc() || p != end)
      lexer_.fail(t.loc, fmt::format("'{}' is not a 64-bit integer", t.text));
    return v;
  }

  // --- values -----------------------------------------------------------------------------------
  static std::string source_name(const std::string& printed) {
    if (std::isdigit(static_cast<unsigned char>(printed[0]))) return {};
    return printed.substr(0, printed.find('.'));
  }

  void define(Value* v, const Token& t, Scope& scope) {
    v->set_name(source_name(t.text));
    const bool taken = scope.values.count(t.text) != 0 ||
                       (&scope != &module_values_ && module_values_.values.count(t.text) != 0);
    if (taken) lexer_.fail(t.loc, fmt::format("%{} is defined twice", t.text));
    scope.values[t.text] = v;
    const auto it = scope.pending.find(t.text);
    if (it == scope.pending.end()) return;
    if (it->second.placeholder->type() != v->type())
      lexer_.fail(t.loc, fmt::format("%{} has type {}, but was used before as {}", t.text,
                                     v->type().str(), it->second.placeholder->type().str()));
    it->second.placeholder->replace_all_uses_with(v);
    scope.pending.erase(it);
  }

  Value* use(const Token& t, Type type) {
    Value* v = nullptr;
    if (const auto it = local_.values.find(t.text); it != local_.values.end())
      v = it->second;
    else if (const auto m = module_values_.values.find(t.text); m != module_values_.values.end())
      v = m->second;
    else if (const auto p = local_.pending.find(t.text); p != local_.pending.end())
      v = p->second.placeholder;
    if (!v) {
      v = placeholders_.add_arg(type);
      local_.pending[t.text] = {v, t.loc};
    }
    if (v->type() != type)
      lexer_.fail(t.loc,
                  fmt::format("%{} has type {}, not {}", t.text, v->type().str(), type.str()));
    return v;
  }

  // --- types and attributes ---------------------------------------------------------------------
  static Kind kind_of(const std::string& word) {
    static const std::unordered_map<std::string, Kind> kinds = {
        {"void", Kind::none}, {"i1", Kind::i1},     {"i8", Kind::i8},        {"i16", Kind::i16},
        {"i32", Kind::i32},   {"u8", Kind::u8},     {"u16", Kind::u16},      {"u32", Kind::u32},
        {"f32", Kind::f32},   {"ptr", Kind::ptr},   {"dram", Kind::dram},    {"sram", Kind::sram},
        {"view", Kind::view}, {"iter", Kind::iter}, {"stream", Kind::stream}};
    const auto it = kinds.find(word);
    return it == kinds.end() ? Kind::none : it->second;
  }
  static bool is_type(const Token& t) {
    return t.kind == Token::word && (t.text == "void" || kind_of(t.text) != Kind::none);
  }

  Type type() {
    if (!is_type(token_)) expected("a type");
    Type t{kind_of(shift().text)};
    if (t.kind < Kind::dram) return t;
    expect("<");
    if (!is_type(token_)) expected("an element type");
    const Token element = shift();
    t.element = kind_of(element.text);
    if (t.element >= Kind::dram) lexer_.fail(element.loc, "not an element type");
    if (t.kind != Kind::dram) {
      expect(",");
      const Token size = expect(Token::number, "a size");
      const std::int64_t n = integer(size);
      if (n < 1 || n > INT32_MAX) lexer_.fail(size.loc, "the size is out of range");
      t.size = static_cast<std::uint32_t>(n);
    }
    if (t.kind == Kind::stream) {
      expect(",");
      const Token link = expect(Token::word, "'vector' or 'scalar'");
      if (link.text != "vector" && link.text != "scalar")
        lexer_.fail(link.loc, "expected 'vector' or 'scalar'");
      t.scalar_link = link.text == "scalar";
    }
    expect(">");
    return t;
  }

  std::vector<Type> type_list() {
    std::vector<Type> out;
    expect("(");
    if (accept(")")) return out;
    do out.push_back(type());
    while (accept(","));
    expect(")");
    return out;
  }

  Attr attr(unsigned depth = 0) {
    if (depth > 1000) lexer_.fail(token_.loc, "attributes are nested too deeply");
    if (accept("[")) {
      Attr::Array array;
      if (!accept("]")) {
        do array.push_back(attr(depth + 1));
        while (accept(","));
        expect("]");
      }
      return array;
    }
    if (token_.kind == Token::string) return shift().text;
    if (token_.kind == Token::number) return number();
    if (token_.kind == Token::word && (token_.text == "true" || token_.text == "false"))
      return shift().text == "true";
    if (token_.kind == Token::word && token_.text == "f32") {
      shift();
      if (!accept("(")) return type_f32;
      const Token bits = expect(Token::number, "the bits of a float");
      std::uint32_t v = 0;
      const char* begin = bits.text.data() + 2;
      const char* end = bits.text.data() + bits.text.size();
      const bool hex = bits.text.starts_with("0x");
      if (!hex || std::from_chars(begin, end, v, 16).ptr != end || begin == end)
        lexer_.fail(bits.loc, "expected 32 bits in hexadecimal");
      expect(")");
      return as_float(v);
    }
    return type();
  }

  Attr number() {
    const Token t = shift();
    if (t.text.back() != 'f') return integer(t);
    float f = 0;
    const char* end = t.text.data() + t.text.size() - 1;
    const auto [p, ec] = std::from_chars(t.text.data(), end, f);
    if (ec != std::errc() || p != end)
      lexer_.fail(t.loc, fmt::format("'{}' is not a float", t.text));
    return f;
  }

  // --- ops --------------------------------------------------------------------------------------
  std::vector<Token> value_list() {
    std::vector<Token> out;
    expect("(");
    if (accept(")")) return out;
    do out.push_back(expect(Token::value, "a value"));
    while (accept(","));
    expect(")");
    return out;
  }

  void op(Block& into, Scope& results_scope) {
    std::vector<Token> results;
    if (token_.kind == Token::value) {
      do results.push_back(expect(Token::value, "a value"));
      while (accept(","));
      expect("=");
    }
    const Token name = expect(Token::word, "the name of an op");
    const OpInfo* info = OpRegistry::get().find(name.text);
    if (!info) {
      std::vector<std::string> known;
      for (const OpInfo* i : OpRegistry::get().all()) known.push_back(i->name);
      lexer_.fail(name.loc,
                  fmt::format("unknown op '{}'{}", name.text, did_you_mean(name.text, known)));
    }
    const std::vector<Token> operands = value_list();
    std::vector<std::pair<Token, std::vector<Token>>> successors;
    if (accept("[")) {
      do {
        Token label = expect(Token::label, "a block");
        successors.emplace_back(std::move(label), at("(") ? value_list() : std::vector<Token>());
      } while (accept(","));
      expect("]");
    }
    AttrMap attrs;
    if (accept("{")) {
      if (!accept("}")) {
        do {
          const Token key = expect(Token::word, "the name of an attribute");
          expect("=");
          if (!attrs.emplace(key.text, attr()).second)
            lexer_.fail(key.loc, fmt::format("attribute '{}' is given twice", key.text));
        } while (accept(","));
        expect("}");
      }
    }
    // In its place from the start: where parsing stops, everything goes at once, and a use of a
    // value of an inner block before that block is never left behind.
    Op* const op = into.insert(Op::create(*info, name.loc, {}, {}, std::move(attrs)));
    if (accept("(")) {
      do region(op->add_region());
      while (accept(","));
      expect(")");
    }
    expect(":");
    const Loc types_at = token_.loc;
    const std::vector<Type> operand_types = type_list();
    expect("->");
    const std::vector<Type> result_types = type_list();
    std::size_t given = operands.size();
    for (const auto& [label, args] : successors) given += args.size();
    if (operand_types.size() != given)
      lexer_.fail(types_at,
                  fmt::format("{} operands, but {} operand types", given, operand_types.size()));
    if (result_types.size() != results.size())
      lexer_.fail(types_at, fmt::format("{} results, but {} result types", results.size(),
                                        result_types.size()));
    std::size_t n = 0;
    for (const Token& t : operands) op->add_operand(use(t, operand_types[n++]));
    for (const auto& [label, args] : successors) {
      std::vector<Value*> values;
      for (const Token& t : args) values.push_back(use(t, operand_types[n++]));
      BlockEntry& entry = blocks_[label.text];
      if (!entry.block) {
        if (entry.waiting.empty()) entry.loc = label.loc;
        entry.waiting.emplace_back(op, op->num_successors());
      }
      op->add_successor(entry.block, values);
    }
    for (std::size_t i = 0; i < results.size(); ++i)
      define(op->add_result(result_types[i]), results[i], results_scope);
    if (token_.kind == Token::word && token_.text == "loc") op->set_loc(location());
  }

  Loc location() {
    shift();
    expect("(");
    if (token_.kind == Token::word && token_.text == "unknown") {
      shift();
      expect(")");
      return {};
    }
    const Token file = expect(Token::string, "a file name");
    expect(":");
    const Token line = expect(Token::number, "a line");
    expect(":");
    const Token col = expect(Token::number, "a column");
    expect(")");
    return {intern_file(file.text), static_cast<std::uint32_t>(integer(line)),
            static_cast<std::uint32_t>(integer(col)), 1};
  }

  void region(Region& region) {
    if (++nesting_ > max_nesting)
      lexer_.fail(token_.loc, fmt::format("regions are nested too deeply (limit {})", max_nesting));
    expect("{");
    Block* block = nullptr;
    while (!at("}")) {
      if (token_.kind == Token::label) {
        block = &region.add_block();
        block_header(*block);
        continue;
      }
      if (!block) block = &region.add_block();
      op(*block, local_);
    }
    expect("}");
    --nesting_;
  }

  void block_header(Block& block) {
    const Token label = shift();
    BlockEntry& entry = blocks_[label.text];
    if (entry.block) lexer_.fail(label.loc, fmt::format("block ^{} is defined twice", label.text));
    entry.block = &block;
    for (const auto& [op, i] : entry.waiting) op->set_successor(i, &block);
    if (accept("(")) {
      do {
        const Token name = expect(Token::value, "a value");
        expect(":");
        define(block.add_arg(type()), name, local_);
      } while (accept(","));
      expect(")");
    }
    expect(":");
  }

  Lexer lexer_;
  Token token_;
  Scope module_values_;
  Scope local_;
  std::map<std::string, BlockEntry> blocks_;
  unsigned nesting_ = 0;
  Region placeholder_region_{nullptr};
  Block& placeholders_ = placeholder_region_.add_block();
};

}  // namespace

std::unique_ptr<Module> parse_module(FileId file, const SourceManager& sources,
                                     Diagnostics& diagnostics) {
  try {
    return Parser(file, sources.text(file), diagnostics).module();
  } catch (const Stop&) {
    return nullptr;
  }
}

}  // namespace revet
