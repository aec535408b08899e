#include "provenance.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <boost/version.hpp>
#include <thread>

#include "build_info.hpp"
#include "revet/abi.hpp"
#include "revet/scalar.hpp"
#include "revet/text.hpp"
#include "support/files.hpp"

namespace revet::host {
namespace {

/// The file of librevet that this process runs.
std::string core_path() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(&hash_of_text), &info) == 0 || !info.dli_fname) return "";
  std::error_code ec;
  const auto path = std::filesystem::canonical(info.dli_fname, ec);
  return ec ? info.dli_fname : path.string();
}

/// The processor, as /proc/cpuinfo names it.
std::string cpu_name() {
  try {
    const std::string text = read_file("/proc/cpuinfo");
    const std::size_t at = text.find("model name");
    if (at == std::string::npos) return "";
    const std::size_t begin = text.find(": ", at);
    const std::size_t end = text.find('\n', at);
    return begin < end ? text.substr(begin + 2, end - begin - 2) : "";
  } catch (const Error&) {
    return "";
  }
}

nlohmann::ordered_json file_entry(const std::string& name, const std::filesystem::path& path) {
  return {{"name", name}, {"file", path.string()}, {"fnv1a64", hash_of_file(path)}};
}

nlohmann::ordered_json value_of(const ScalarArg& a) {
  if (a.type == type_i1) return a.bits != 0;
  if (a.type.is_float()) return as_float(a.bits);
  if (a.type.is_signed()) return static_cast<std::int32_t>(a.bits);
  return a.bits;
}

}  // namespace

std::string version_text(bool verbose) {
  std::string out = "revet " REVET_CORE_VERSION "\n";
  if (!verbose) return out;
  std::string backends;
  Diagnostics quiet;
  for (const std::string& name : Plugins(search_directories({}), quiet).names("backend"))
    backends += (backends.empty() ? "" : ", ") + name;
  return out +
         fmt::format(
             "commit: {}{}\nplugin ABI: {} {}\nbuild: {}\nfeatures: language, pipelines, "
             "plugins; backends {}\nANTLR runtime: {}\nBoost: {}.{}.{}\nexecutable: {}\ncore: "
             "{}\n",
             REVET_COMMIT, REVET_DIRTY ? " with changes" : "", REVET_ABI_VERSION_STRING,
             host_fingerprint(), host_build(), backends.empty() ? "none" : backends,
             REVET_ANTLR_RUNTIME_VERSION, BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
             BOOST_VERSION % 100, executable_path().string(), core_path());
}

nlohmann::ordered_json provenance(const std::vector<std::string>& command, const Pipeline& pipeline,
                                  Plugins& plugins, const Inputs& inputs, const Launch& launch) {
  nlohmann::ordered_json j;
  j["version"] = REVET_CORE_VERSION;
  j["commit"] = REVET_COMMIT;
  j["dirty"] = REVET_DIRTY;
  j["build_flags"] = REVET_CXX_FLAGS;
  j["command"] = command;
  j["pipeline"] = print(pipeline, plugins);
  j["plugins"] = nlohmann::ordered_json::array();
  for (const LoadedPlugin& p : plugins.loaded()) {
    j["plugins"].push_back(file_entry(p.name, p.path));
    j["plugins"].back()["version"] = p.version;
  }
  j["inputs"] = nlohmann::ordered_json::array();
  j["inputs"].push_back(
      {{"name", "program"}, {"file", inputs.program}, {"fnv1a64", inputs.program_hash}});
  const std::filesystem::path arguments = std::filesystem::path(inputs.data) / "args.txt";
  if (std::filesystem::is_regular_file(arguments))
    j["inputs"].push_back(file_entry("args", arguments));
  for (const ArrayData& a : launch.arrays)
    if (!a.file.empty()) j["inputs"].push_back(file_entry(a.name, a.file));
  j["arguments"] = nlohmann::ordered_json::object();
  for (const ScalarArg& a : launch.scalars) j["arguments"][a.name] = value_of(a);
  utsname system = {};
  ::uname(&system);
  j["host"] = {{"system", fmt::format("{} {}", system.sysname, system.release)},
               {"machine", system.machine},
               {"cpu", cpu_name()},
               {"cores", std::thread::hardware_concurrency()}};
  return j;
}

}  // namespace revet::host
