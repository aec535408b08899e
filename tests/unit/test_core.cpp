/// Options, names, source lines, ELF reader, size expressions.
#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "launch/data.hpp"
#include "plugin/elf.hpp"
#include "plugin/plugins.hpp"
#include "revet/diagnostics.hpp"
#include "revet/options.hpp"
#include "revet/scalar.hpp"
#include "support/files.hpp"

using namespace revet;

TEST_CASE("options are parsed against their declaration") {
  const OptionSpec n{"n", OptionType::integer, "4", "help", 1, 8};
  CHECK(parse_option(n, "8").value == "8");
  CHECK(parse_option(n, "9").error == "option 'n' expects an integer from 1 to 8, got '9'");
  CHECK_FALSE(parse_option(n, "").value);
  CHECK_FALSE(parse_option(n, "3x").value);
  CHECK_FALSE(parse_option(n, "99999999999999999999").value);
  const OptionSpec b{"b", OptionType::boolean, "false", "help"};
  CHECK(parse_option(b, "true").value == "true");
  CHECK(parse_option(b, "yes").error == "option 'b' expects true or false, got 'yes'");
  OptionSpec c{"c", OptionType::text, "off", "help"};
  c.choices = {"off", "warn", "error"};
  CHECK(parse_option(c, "wran").error ==
        "option 'c' expects one of off, warn, error, got 'wran' (did you mean 'warn'?)");
  const OptionSpec f{"f", OptionType::number, "0.5", "help"};
  CHECK(parse_option(f, "1e3").value == "1000");
  CHECK_FALSE(parse_option(f, "nan").value);
  CHECK_FALSE(parse_option(f, "0,5").value);
  OptionValues values({n, b, c, f});
  CHECK(values.integer("n") == 4);
  CHECK(values.number("f") == 0.5);
  CHECK_THROWS_AS(values.text("unknown"), InternalError);
}

TEST_CASE("names near enough are suggested") {
  CHECK(nearest_name("if_to_select", {"inline", "if-to-select"}) == "if-to-select");
  CHECK(nearest_name("canonicalise", {"inline", "canonicalize"}) == "canonicalize");
  CHECK(nearest_name("xyz", {"inline", "canonicalize"}).empty());
  CHECK(nearest_name("", {"a"}).empty() == false);
}

TEST_CASE("diagnostics keep the first errors and count the rest") {
  Diagnostics d;
  d.limit = 2;
  const FileId f = intern_file("d.rvt");
  for (unsigned i = 1; i <= 5; ++i) d.error({f, i, 1, 1}, "bad").note({f, 1, 1, 1}, "here");
  d.error({f, 1, 1, 1}, "bad");
  CHECK(d.error_count() == 5);
  CHECK(d.all().size() == 2);
  d.warning({}, "narrowing", "off by default");
  CHECK(d.all().size() == 2);
}

TEST_CASE("snippets line up under tabs, wide characters and CRLF") {
  SourceManager sources;
  const FileId f = sources.add("s.rvt", "\xEF\xBB\xBFint x;\r\n\t// \xE6\xBC\xA2 y\r\n");
  const Diagnostic first{Severity::error, {f, 1, 5, 1}, "m", {}, {}, {}};
  CHECK(render_text(first, sources, false) == "s.rvt:1:5: error: m\nint x;\n    ^\n");
  const Diagnostic second{Severity::error, {f, 2, 7, 1}, "m", {}, {}, {}};
  CHECK(render_text(second, sources, false) ==
        "s.rvt:2:7: error: m\n        // \xE6\xBC\xA2 y\n              ^\n");
}

TEST_CASE("the ELF reader refuses damaged files wherever they are cut or changed") {
  const auto path = executable_path();
  const std::string text = read_file(path);
  std::vector<std::uint8_t> file(text.begin(), text.end());
  CHECK(read_plugin_sections(std::span(file)).error ==
        "not a revet plugin (no section .revet.abi)");
  CHECK(read_plugin_sections(std::span(file).first(0)).error == "the file is empty");
  for (std::size_t n = 1; n < file.size(); n = n * 5 / 4 + 1)
    CHECK_FALSE(read_plugin_sections(std::span(file).first(n)).error.empty());
  for (std::size_t at = 0; at < sizeof(Elf64_Ehdr); ++at) {
    for (const std::uint8_t value : std::initializer_list<std::uint8_t>{0x00, 0x7F, 0xFF}) {
      std::vector<std::uint8_t> changed = file;
      changed[at] = value;
      CHECK_FALSE(read_plugin_sections(std::span(changed)).error.empty());
    }
  }
  CHECK(read_plugin_sections(std::filesystem::path("/")).error == "is a directory");
}

TEST_CASE("size expressions are evaluated in 64 bits") {
  const std::vector<ScalarArg> args = {{"n", type_i32, static_cast<std::uint32_t>(-3)},
                                       {"m", type_u32, 0xFFFFFFFFu}};
  DramArray array;
  array.name = "a";
  const auto eval = [&](Attr e) { return evaluate_size(e, args, array); };
  CHECK(eval(Attr::Array{"*", 16, "m"}) == 16 * std::int64_t{0xFFFFFFFF});
  CHECK(eval(Attr::Array{"neg", "n"}) == 3);
  CHECK(eval(Attr::Array{"/", 7, 0}) == -1);
  CHECK(eval(Attr::Array{"%", 7, 0}) == 7);
  CHECK(eval(Attr::Array{"?:", Attr::Array{"<", "n", 0}, 1,
                         Attr::Array{"*", "m", Attr::Array{"*", "m", "m"}}}) == 1);
  CHECK_THROWS_WITH(eval(Attr::Array{"*", "m", Attr::Array{"*", "m", "m"}}),
                    "the size of array 'a' overflows 64 bits");
  CHECK_THROWS_WITH(eval("k"), "the size of array 'a' uses 'k', which is no parameter of main");
}

TEST_CASE("trip counts do not overflow") {
  const auto u = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  CHECK(trip_count(Kind::i32, u(INT32_MIN), u(INT32_MAX), 1) == 0xFFFFFFFFu);
  CHECK(trip_count(Kind::i32, u(INT32_MAX), u(INT32_MIN), u(INT32_MIN)) == 2);
  CHECK(trip_count(Kind::u32, 0, 0xFFFFFFFFu, 0x80000000u) == 2);
  CHECK(trip_count(Kind::i32, 5, 5, u(-1)) == 0);
  CHECK(trip_count(Kind::i32, 0, 10, 3) == 4);
  CHECK(trip_count(Kind::u8, 250, 255, 3) == 2);
}
