// Runs a program: emits, compiles, loads it, and calls it on the launch's arrays, in place.
#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>

#include "compile.hpp"
#include "openmp.hpp"
#include "revet/runtime.h"

namespace revet::openmp {
namespace {

using Start = int(revet_context*, const std::uint32_t* scalars, revet_buffer* const* buffers);

/// C++ that calls NAME_run with arguments from two lists.
std::string start_function(const std::string& name, const Signature& signature) {
  std::string text =
      "\nextern \"C\" int revet_start(revet_context* context, const uint32_t* scalars, "
      "revet_buffer* const* buffers) {\n  " +
      name + "_t program;\n  static_cast<void>(scalars);\n  static_cast<void>(buffers);\n" + "  " +
      name + "_init(context, &program);\n  return " + name + "_run(context, &program";
  for (std::size_t i = 0; i < signature.params.size(); ++i) {
    const std::string bits = "scalars[" + std::to_string(i) + "]";
    switch (signature.params[i].type.kind) {
      case Kind::i1: text += ", " + bits + " != 0"; break;
      case Kind::f32: text += ", std::bit_cast<float>(" + bits + ")"; break;
      case Kind::i8: text += ", static_cast<int8_t>(" + bits + ")"; break;
      case Kind::i16: text += ", static_cast<int16_t>(" + bits + ")"; break;
      case Kind::u8: text += ", static_cast<uint8_t>(" + bits + ")"; break;
      case Kind::u16: text += ", static_cast<uint16_t>(" + bits + ")"; break;
      case Kind::u32: text += ", " + bits; break;
      default: text += ", static_cast<int32_t>(" + bits + ")";
    }
  }
  for (std::size_t i = 0; i < signature.arrays.size(); ++i)
    text += ", buffers[" + std::to_string(i) + "]";
  return text + ");\n}\n";
}

/// The place in the source that emitted code names by file name, line and column.
Loc find_loc(const Module& module, const revet_context& context) {
  Loc found;
  walk(module, [&](Op& op) {
    const Loc loc = op.loc();
    if (found.known() || !loc.known() || static_cast<int>(loc.line) != context.line ||
        static_cast<int>(loc.col) != context.column)
      return;
    if (std::filesystem::path(file_name(loc.file)).filename().string() == context.file) found = loc;
  });
  return found;
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

Start* load(const std::filesystem::path& path) {
  using boost::dll::shared_library;
  // Never unloaded, not even at exit: the OpenMP runtime keeps threads that still stand in it.
  static auto& libraries = *new std::vector<std::unique_ptr<shared_library>>;
  boost::dll::fs::error_code error;
  auto library = std::make_unique<shared_library>();
  library->load(path.string(), error,
                boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  if (error)
    throw Error(Exit::usage,
                "the compiled program " + path.string() + " cannot be loaded: " + error.message());
  libraries.push_back(std::move(library));
  return &libraries.back()->get<Start>("revet_start");
}

}  // namespace

RunResult run(const Module& module, Launch& launch, BackendContext& context) {
  const std::string name = interface_name(context.program);
  BackendContext emitting{
      context.options, context.diagnostics, context.program, name + ".h", 1, false};
  const std::vector<EmittedFile> files = emit(module, emitting);
  const Compiler compiler = find_compiler();
  Start* const start = load(compile(
      compiler, name, files[0].text + start_function(name, signature_of(module)), files[1].text));

  const std::unique_ptr<revet_context, void (*)(revet_context*)> made(
      revet_create_context("openmp", "cpu"), revet_destroy_context);
  if (!made) throw std::bad_alloc();
  made->host_threads = static_cast<unsigned>(context.options.integer("threads"));
  const auto destroy = [&](revet_buffer* buffer) { revet_destroy_buffer(made.get(), buffer); };
  std::vector<std::unique_ptr<revet_buffer, decltype(destroy)>> owned;
  std::vector<revet_buffer*> buffers;
  constexpr unsigned all =
      REVET_HOST_READ | REVET_HOST_WRITE | REVET_DEVICE_READ | REVET_DEVICE_WRITE;
  for (ArrayData& array : launch.arrays) {
    if (array.data() == nullptr && array.count != 0) array.load();
    owned.emplace_back(revet_wrap_buffer(made.get(), array.data(), array.bytes(), all), destroy);
    if (!owned.back())
      throw InternalError(std::string("openmp: ") + revet_error_message(made.get()));
    buffers.push_back(owned.back().get());
  }
  std::vector<std::uint32_t> scalars;
  for (const ScalarArg& scalar : launch.scalars) scalars.push_back(scalar.bits);

  RunResult result;
  for (unsigned rep = 0; rep < std::max(context.reps, 1u); ++rep) {
    if (rep != 0) {
      launch.restore();
      for (revet_buffer* buffer : buffers)
        revet_host_sync(made.get(), buffer, buffer->bytes, REVET_HOST_WRITE);
    }
    const int status = start(made.get(), scalars.data(), buffers.data());
    if (status == REVET_ERROR_PROGRAM)
      throw Error(Exit::program, find_loc(module, *made), revet_error_message(made.get()));
    if (status != REVET_OK)
      throw InternalError(std::string("openmp: ") + revet_error_message(made.get()));
    for (revet_buffer* buffer : buffers)
      revet_host_sync(made.get(), buffer, buffer->bytes, REVET_HOST_READ);
    result.seconds.push_back(made->seconds);
  }
  result.threads = made->threads;
  result.host_threads = made->used_host_threads;
  std::string flags;
  for (const std::string& flag : compiler_flags()) flags += (flags.empty() ? "" : " ") + flag;
  result.extra["compiler"] = json_string(compiler.version);
  result.extra["compiler_flags"] = json_string(flags);
  return result;
}

BackendInfo backend() {
  BackendInfo info;
  info.name = "openmp";
  info.summary = "C++ with OpenMP for CPUs";
  info.requires_ = {"inlined"};
  info.options = {{.name = "threads",
                   .type = OptionType::integer,
                   .fallback = "0",
                   .help = "host threads to run on; 0: as many as OpenMP takes by itself",
                   .min = 0,
                   .max = 65536,
                   .flag = true}};
  info.emit = emit;
  info.run = run;
  return info;
}

}  // namespace revet::openmp
