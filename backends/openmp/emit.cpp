// The files around the program: the interface in NAME.h, and NAME_run with its buffers.
#include <algorithm>
#include <array>
#include <filesystem>

#include "emitter.hpp"
#include "openmp.hpp"
#include "prepare.hpp"

namespace revet::openmp {

using namespace ops;

std::string in_comment(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == '*') c = '?';
  return name;
}

std::string interface_name(const std::string& program) {
  std::string name;
  for (const char c : program) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '_';
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "_");
  // Types of <stdint.h> and <stddef.h>.
  static constexpr std::array taken{"size",    "ptrdiff", "wchar",  "max_align", "int8",
                                    "int16",   "int32",   "int64",  "uint8",     "uint16",
                                    "uint32",  "uint64",  "intptr", "uintptr",   "intmax",
                                    "uintmax", "time",    "off",    "ssize"};
  if (std::find(taken.begin(), taken.end(), name) != taken.end())
    throw Error(Exit::usage, "the interface of a program '" + program + "' would define " + name +
                                 "_t, which C has; give the program another name");
  return name;
}

Emitter::Emitter(const Op& main, const Signature& signature, const Adapters& adapters,
                 const Plan& plan)
    : main_(main), signature_(signature), adapters_(adapters), plan_(plan) {
  context_name = scopes.declare("context");
  program_name = scopes.declare("program");
  for (unsigned i = 0; i < signature.params.size(); ++i) {
    params_.push_back(scopes.declare(signature.params[i].name));
    Variable* variable = plan.variable(main.body().arg(i));
    variable->name = params_.back();
    param_used_.push_back(!main.body().arg(i)->unused());
  }
  for (const DramArray& array : signature.arrays)
    buffers.push_back(scopes.declare(array.name + "_buffer"));
  run_name = scopes.declare("run");
  workers_name = scopes.declare("workers");
  threads_name = scopes.declare("threads");
  for (unsigned i = 0; i < signature.arrays.size(); ++i) {
    ArrayNames names;
    names.data = scopes.declare(signature.arrays[i].name);
    names.size = scopes.declare(names.data + "_size");
    arrays_.push_back(names);
    array_index_[signature.arrays[i].value] = i;
  }
}

Code Emitter::body() {
  levels_.emplace_back();
  level().op = &main_;
  prepare_forks(main_);
  if (!level().forks) {
    block(main_.body());
    if (!ends(main_.body()))
      code_.line("return " + run_name + ".finish(" + threads_name + ", " + workers_name + ");");
    return std::move(code_);
  }
  Code declarations = code_.nested();
  std::swap(code_, declarations);
  declare_stack(main_);
  std::swap(code_, declarations);
  block(main_.body());
  if (!level().end_label.empty()) code_.label(level().end_label);
  resume_forks();
  code_.line("return " + run_name + ".finish(" + threads_name + ", " + workers_name + ");");
  for (const std::string& declaration : level().declarations) declarations.line(declaration);
  declarations.append(code_);
  return declarations;
}

namespace {

std::string parameters(const std::string& name, const Emitter& emitter, const Signature& signature,
                       bool mark_unused) {
  const std::string unused = mark_unused ? "[[maybe_unused]] " : "";
  std::string text = "revet_context* " + emitter.context_name + ", " + unused + name + "_t* " +
                     emitter.program_name;
  for (std::size_t i = 0; i < signature.params.size(); ++i)
    text += ", " + (emitter.param_used()[i] ? "" : unused) +
            c_name(c_type(signature.params[i].type)) + " " + emitter.params()[i];
  for (const std::string& buffer : emitter.buffers) text += ", revet_buffer* " + buffer;
  return text;
}

/// Breaks a parameter list into lines of at most 100 characters.
std::string wrapped(const std::string& head, const std::string& list, const std::string& tail) {
  std::string text = head;
  std::size_t column = head.size();
  std::size_t at = 0;
  while (at < list.size()) {
    std::size_t end = list.find(", ", at);
    end = end == std::string::npos ? list.size() : end + 1;
    const std::string item = list.substr(at, end - at);
    if (column + item.size() + 1 > 98 && at != 0) {
      text += "\n" + std::string(head.size(), ' ');
      column = head.size();
    } else if (at != 0) {
      text += ' ';
      ++column;
    }
    text += item;
    column += item.size();
    at = end == list.size() ? end : end + 1;
  }
  return text + tail;
}

std::string header_text(const std::string& name, const std::string& program, const Emitter& emitter,
                        const Signature& signature) {
  const std::string guard = "REVET_PROGRAM_" + name + "_H";
  return "/* The program '" + program +
         "'. Functions give 0 or an error code of revet/runtime.h. */\n" + "#ifndef " + guard +
         "\n#define " + guard + "\n\n#include <revet/runtime.h>\n\n" +
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + "typedef struct " + name + "_t {\n" +
         "  uint64_t runs; /* contents may change, uses do not */\n} " + name + "_t;\n\n" + "int " +
         name + "_init(revet_context* context, " + name + "_t* program);\n" + "int " + name +
         "_destroy(revet_context* context, " + name + "_t* program);\n" +
         wrapped("int " + name + "_run(", parameters(name, emitter, signature, false), ");\n") +
         "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

/// How an array is accessed by the program.
struct Access {
  bool reads = false;
  bool writes = false;
};

Access access_of(const Op& main, const DramArray& array) {
  Access access;
  access.writes = array.written;
  walk(main.region(), [&](Op& op) {
    const bool reads = op.is(mem_dram_load) || op.is(mem_dram_atomic) || op.is(mem_read_view) ||
                       op.is(mem_modify_view) || op.is(mem_read_it) || op.is(mem_peek_read_it);
    if (reads && op.operand(0) == array.value) access.reads = true;
  });
  return access;
}

std::string prologue(const Op& main, const Emitter& emitter, const Signature& signature) {
  std::string text;
  const std::string& context = emitter.context_name;
  std::string missing;
  for (std::size_t i = 0; i < signature.arrays.size(); ++i) {
    const DramArray& array = signature.arrays[i];
    const ArrayNames& names = emitter.arrays()[i];
    const std::string& buffer = emitter.buffers[i];
    const Access access = access_of(main, array);
    const std::string bytes = "revet_buffer_bytes(" + buffer + ")";
    std::string sync =
        "revet_device_sync(" + context + ", " + buffer + ", " + bytes + ", REVET_DEVICE_READ";
    if (access.writes && access.reads) sync += " | REVET_DEVICE_WRITE";
    sync += ")";
    if (access.writes && !access.reads)
      sync = "revet_device_sync_output(" + context + ", " + buffer + ", " + bytes + ")";
    if (!names.uses_data && !names.uses_size) {
      text += "  static_cast<void>(" + buffer + ");\n";
      continue;
    }
    const std::string element = element_name(array.element);
    const std::string pointer = std::string(access.writes ? "" : "const ") + element + "*";
    text += "  " + pointer + " const " + names.data + " = static_cast<" + pointer + ">(\n      " +
            sync + ");\n";
    missing += (missing.empty() ? "" : " || ") + names.data + " == nullptr";
    if (names.uses_size)
      text += "  const uint64_t " + names.size + " = " + bytes + " / sizeof(" + element + ");\n";
  }
  if (!missing.empty()) {
    Code test;
    test.line("if (" + missing + ") return " + context + "->error;");
    text += test.text();
  }
  if (emitter.uses_workers())
    text += "  const int " + emitter.workers_name + " = revet::host_threads(" + context + ");\n";
  else
    text += "  const int " + emitter.workers_name + " = 1;\n";
  text += "  uint64_t " + emitter.threads_name + " = 1;\n";
  text += "  revet::Run " + emitter.run_name + "(" + context + ");\n";
  return text + "\n";
}

}  // namespace

std::vector<EmittedFile> emit(const Module& original, BackendContext& context) {
  const std::string name = interface_name(context.program);
  const std::unique_ptr<Module> module = original.clone();
  const Signature signature = signature_of(*module);
  Op& main = *module->find_func("main");
  Adapters adapters;
  prepare(main, adapters);
  Plan plan;
  plan_expressions(main, adapters, plan);
  plan_variables(main, adapters, plan);

  Emitter emitter(main, signature, adapters, plan);
  const Code body = emitter.body();
  const std::string header = context.header.empty() ? name + ".h" : context.header;
  std::string source;
  if (main.loc().known())
    source = " from " +
             in_comment(std::filesystem::path(file_name(main.loc().file)).filename().string());
  const std::string declarations =
      header_text(name, in_comment(context.program), emitter, signature);
  // A name that no #include can spell: the header's text itself then.
  const bool can_include = header.find_first_of("\"\n") == std::string::npos;
  std::string text = "// The program '" + in_comment(context.program) +
                     "', emitted by revet for OpenMP" + source + ".\n" +
                     (can_include ? "#include \"" + header + "\"\n" : declarations) +
                     "\n#include <revet/runtime_ops.hpp>\n\n";
  if (!emitter.records().empty())
    text += "namespace {\n\n" + emitter.records() + "}  // namespace\n\n";
  text += "int " + name + "_init(revet_context*, " + name + "_t* program) {\n  *program = {};\n" +
          "  return REVET_OK;\n}\n\n" + "int " + name + "_destroy(revet_context*, " + name +
          "_t*) { return REVET_OK; }\n\n";
  text += wrapped("int " + name + "_run(", parameters(name, emitter, signature, true), ") {\n");
  text += prologue(main, emitter, signature) + body.text() + "}\n";
  return {{".cpp", std::move(text)}, {".h", declarations}};
}

}  // namespace revet::openmp
