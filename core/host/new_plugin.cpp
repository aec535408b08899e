/// `revet new-plugin`: a plugin project from the templates of the installation.
#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "support/files.hpp"

namespace revet::host {
namespace fs = std::filesystem;
namespace {

/// The templates are the projects of plugins/example; their names are `example-KIND` throughout.
fs::path templates() {
  return (executable_path().parent_path() / "../share/revet/templates").lexically_normal();
}

/// `name` is spelt with '-' for users and with '_' in C++ and file names.
std::string renamed(std::string text, const std::string& kind, const std::string& name) {
  std::string snake = name;
  std::replace(snake.begin(), snake.end(), '-', '_');
  replace_all(text, "example-" + kind, name);
  replace_all(text, "example_" + kind, snake);
  return text;
}

bool is_name(const std::string& name) {
  const auto ok = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' && name.back() != '-' &&
         name.find("--") == std::string::npos && std::all_of(name.begin(), name.end(), ok);
}

}  // namespace

void new_plugin_command(const Command& command, const std::vector<std::string>& words) {
  Common common;
  std::string kind = "pass";
  po::options_description own("Options");
  own.add_options()("kind", po::value(&kind)->value_name("K"), "pass (default), op or backend");
  const po::variables_map values = parse_options(command, words, own, one_input(), common);
  if (values.count("input") == 0)
    throw Error(Exit::usage, fmt::format("a name is missing; usage: revet {} {}", command.name,
                                         command.synopsis));
  const std::string name = values["input"].as<std::vector<std::string>>()[0];
  const std::vector<std::string> kinds = {"pass", "op", "backend"};
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw Error(Exit::usage, fmt::format("--kind is one of {}, not '{}'{}", fmt::join(kinds, ", "),
                                         kind, did_you_mean(kind, kinds)));
  if (!is_name(name))
    throw Error(Exit::usage,
                fmt::format("'{}' is no name for a plugin: lower-case letters, digits and single "
                            "'-', beginning with a letter, as in my-pass",
                            name));
  // Targets that every CMake project has.
  const std::vector<std::string> taken = {"all",  "clean",   "edit-cache", "help", "install",
                                          "list", "package", "test",       "revet"};
  if (std::find(taken.begin(), taken.end(), name) != taken.end())
    throw Error(Exit::usage,
                fmt::format("'{}' cannot be the name of a plugin: CMake needs it", name));
  const fs::path from = templates() / kind;
  if (!fs::is_directory(from))
    throw Error(Exit::usage, fmt::format("there are no templates in {}", from.string()));
  std::error_code ec;
  if (!fs::create_directory(name, ec))
    throw Error(Exit::usage, fmt::format("cannot make the folder {}: {}", name,
                                         ec ? ec.message() : "it is there already"));
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path to =
        fs::path(name) / renamed(fs::relative(entry.path(), from).string(), kind, name);
    if (entry.is_directory())
      fs::create_directory(to);
    else
      write_file(to, renamed(read_file(entry.path()), kind, name));
  }
  const std::string prefix = (executable_path().parent_path() / "..").lexically_normal().string();
  answer(fmt::format(
      "{0}/ is a complete {1} plugin. To build and test it:\n"
      "  cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH='{2}'\n"
      "  cmake --build {0}/build\n"
      "  ctest --test-dir {0}/build --output-on-failure\n",
      name, kind, prefix.ends_with('/') ? prefix.substr(0, prefix.size() - 1) : prefix));
}

}  // namespace revet::host
