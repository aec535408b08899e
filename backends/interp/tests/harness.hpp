/// Runs `.rir` text on the interpreter with arrays made in memory.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "interp.hpp"
#include "revet/ops.hpp"
#include "revet/scalar.hpp"
#include "revet/text.hpp"

namespace revet::interp::test {

class Program {
 public:
  explicit Program(const std::string& text) {
    static unsigned count = 0;
    const FileId file = sources_.add("test" + std::to_string(count++) + ".rir", text);
    module_ = parse_module(file, sources_, diagnostics_);
    INFO(messages());
    REQUIRE(module_);
    const bool sound = verify(*module_, diagnostics_);
    INFO(messages());
    REQUIRE(sound);
    for (const Param& param : signature_of(*module_).params)
      launch.scalars.push_back({param.name, param.type, 0});
    for (const DramArray& array : signature_of(*module_).arrays) {
      ArrayData data;
      data.name = array.name;
      data.element = array.element;
      data.written = array.written;
      launch.arrays.push_back(std::move(data));
    }
  }

  Program& scalar(std::size_t i, std::int64_t value) {
    launch.scalars[i].bits = static_cast<std::uint32_t>(value);
    return *this;
  }
  Program& array(const std::string& name, const std::vector<std::int64_t>& values) {
    ArrayData& data = find(name);
    data.count = values.size();
    data.load();
    for (std::size_t i = 0; i < values.size(); ++i)
      store_element(data.data(), data.element.kind, i, static_cast<std::uint32_t>(values[i]));
    return *this;
  }
  Program& zeros(const std::string& name, std::size_t n) {
    return array(name, std::vector<std::int64_t>(n));
  }
  Program& option(const std::string& name, const std::string& value) {
    options_[name] = value;
    return *this;
  }
  RunResult run(unsigned reps = 1) {
    const BackendInfo info = backend();
    OptionValues options(info.options);
    for (const auto& [name, value] : options_) options.set(name, value);
    BackendContext context{options, diagnostics_, "test", "", reps, false};
    return info.run(*module_, launch, context);
  }
  std::vector<std::int64_t> get(const std::string& name) {
    const ArrayData& data = find(name);
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < data.count; ++i) {
      const std::uint32_t bits = load_element(data.data(), data.element.kind, i);
      out.push_back(data.element.is_signed() ? std::int64_t{static_cast<std::int32_t>(bits)}
                                             : std::int64_t{bits});
    }
    return out;
  }
  /// Runs, and gives the error's message, with its exit code and line in front.
  std::string error() {
    try {
      run();
    } catch (const Error& e) {
      return fmt::format("{}:{}: {}", static_cast<int>(e.exit), e.diagnostic.loc.line, e.what());
    }
    return "no error";
  }
  std::string messages() const {
    std::string out;
    for (const Diagnostic& d : diagnostics_.all()) {
      out += fmt::format("{}: {}", d.loc.line, d.message);
      for (const Note& note : d.notes) out += fmt::format(" {}: {}", note.loc.line, note.message);
      out += "\n";
    }
    return out;
  }

  const Diagnostics& diagnostics() const { return diagnostics_; }

  Launch launch;

 private:
  ArrayData& find(const std::string& name) {
    for (ArrayData& data : launch.arrays)
      if (data.name == name) return data;
    throw InternalError("no array " + name);
  }

  SourceManager sources_;
  Diagnostics diagnostics_;
  std::unique_ptr<Module> module_;
  std::map<std::string, std::string> options_;
};

using List = std::vector<std::int64_t>;

}  // namespace revet::interp::test
