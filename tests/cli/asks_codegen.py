#!/usr/bin/env python3
"""What is emitted: rows C5 to C9 and C11 of docs/asks.md. More on C8 and C9 is in tests/programs and the unit tests of folds."""
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from run_program import Program  # noqa: E402
from suite import run_groups  # noqa: E402

SANITIZED = bool(os.environ.get("REVET_SANITIZED"))

FLOATS = """DRAM<float> r[8];
void main(float scale, int n) {
  r[0] = scale * 0.5; r[1] = 1234567.25; r[2] = 1e-10; r[3] = 16777216.0; r[4] = 3.4028235e38; r[5] = scale / 3.0; r[6] = 1000000 + n;
}
"""


def prepare(s):
    s.root = pathlib.Path(s.root).resolve()
    s.build = pathlib.Path(s.revet).resolve().parent.parent
    s.write("f.rvt", FLOATS)
    s.write("d/args.txt", "scale=1.5\nn=234567\n")


LOCALE = """#include <clocale>
#include <locale>
static const bool ready = [] {
  std::locale::global(std::locale(""));
  return std::setlocale(LC_ALL, "") != nullptr;
}();
"""


def locales(s):
    """C5: a locale with decimal commas and grouped digits, which a plugin makes the process's own, changes no byte."""
    if SANITIZED:
        return print("skipped: a sanitizer wants to be loaded first")
    with tempfile.TemporaryDirectory(prefix="revet-locale-") as folder:  # LD_PRELOAD takes no spaces
        try:
            subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"], capture_output=True)
        except FileNotFoundError:
            pass
        if not os.path.exists(f"{folder}/de_DE.UTF-8"):
            return print("skipped: no locale with decimal commas can be made here")
        pathlib.Path(folder, "global.cpp").write_text(LOCALE)
        subprocess.run(["c++", "-shared", "-fPIC", "-o", "global.so", "global.cpp"], cwd=folder, check=True)
        compare_locales(s, dict(os.environ, LC_ALL="C"),
                        dict(os.environ, LOCPATH=folder, LC_ALL="de_DE.UTF-8", LD_PRELOAD=f"{folder}/global.so"))


def compare_locales(s, plain, commas):
    probe = subprocess.run(["printf", "%.1f %s", "0"], env=commas, capture_output=True, text=True)
    s.check("the locale is one with decimal commas", probe.stdout.startswith("0,0"), probe.stdout + probe.stderr)
    s.write("short.toml", '[strategy]\nmain = ["inline"]\n[backend]\nname = "openmp"\n[machine]\nclock-ghz = 1.5\narea-mm2 = 1234567.5\n')
    run = ["run", "f.rvt", "--data", "d", "--stats", "st.json", "--out", "o"]
    for words, files in ((["compile", "f.rvt", "-p", "openmp"], []), (["compile", "f.rvt", "-p", "openmp", "--emit", "rir"], []),
                         (["compile", "f.rvt", "-p", "interp", "--emit", "dot"], []), (["pipeline", "./short.toml"], []),
                         (["pipeline", "./short.toml", "--set", "machine.clock-ghz=2.5"], []), (["passes", "inline", "--json"], []), (["ops"], []),
                         (["reference", "passes"], []), (["compile", "f.rvt", "-p", "openmp", "-o", "e.cpp"], ["e.cpp", "e.h"]),
                         ([*run, "-p", "interp"], ["o/r.bin"]), ([*run, "-p", "openmp"], ["o/r.bin"]),
                         ([*run, "-p", "interp", "--arg", "scale=2.5", "--check", "o", "--tolerance", "0.5,0.5"], ["o/r.bin"])):
        results = []
        for env in (plain, commas):
            done = s.run(words, env=env)
            talk = re.sub(rb"\d+\.\d+ (s|GB/s)", b"", done.stdout)
            results.append((done.returncode, done.stderr, talk, *((s.folder / f).read_bytes() for f in files if (s.folder / f).exists())))
        s.check(f"{' '.join(words)}: the same", results[0] == results[1] and results[0][0] in (0, 4),
                "\n".join(f"{a!r}\n{b!r}"[:1500] for a, b in zip(*results) if a != b))
        if "st.json" in words:
            s.check(f"{' '.join(words)}: the figures are JSON", isinstance(json.loads((s.folder / "st.json").read_text())["seconds"], float))
    rows = json.loads(s.run(["compile", "f.rvt", "-p", "openmp", "--time-passes=json", "-o", "e.cpp"], env=commas).stderr)
    s.check("times are JSON", isinstance(rows["total"]["seconds"], float), str(rows))
    s.run(["compile", "f.rvt", "-p", "openmp", "--strategy-trace", "t.jsonl", "-o", "e.cpp"], env=commas)
    s.check("a trace is JSON", all(isinstance(json.loads(t)["ms"], float) for t in (s.folder / "t.jsonl").read_text().splitlines()))


def constants(s):
    """C6: every float goes through the IR's text and the emitted code without a bit changed."""
    rng = random.Random(5)
    bits = [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001,
            0x3F800000, 0x3F7FFFFF, 0x3F800001, 0x4B800000, 0x4B7FFFFF, 0x5D5E0B6B, 0x3DCCCCCD, 0x33D6BF95, 0xC2F6E979, 0x501502F9]
    bits += [rng.getrandbits(32) for _ in range(300)]
    body = ""
    for i, b in enumerate(bits):
        body += (f"  %i{i} = arith.constant() {{value = {i}}} : () -> (i32)\n  %c{i} = arith.constant() {{value = f32(0x{b:08x})}} : () -> (f32)\n"
                 f"  mem.dram_store(%r, %i{i}, %c{i}) : (dram<f32>, i32, f32) -> ()\n")
    s.write("c.rir", f'%r = mem.dram() {{size = {len(bits)}, sym = "r"}} : () -> (dram<f32>)\n'
            f'thread.func() {{args = [], result = void, sym = "main"}} ({{\n{body}  thread.return() : () -> ()\n}}) : () -> ()\n')
    once = s.case("the IR is read", ["opt", "c.rir"], 0).stdout
    s.write("once.rir", once)
    s.check("and printed the same again", s.run(["opt", "once.rir"]).stdout == once)
    s.check("as numbers where they are finite", once.count(b"f32(0x") <= sum((b >> 23 & 0xFF) == 0xFF for b in bits))
    want = struct.pack(f"<{len(bits)}I", *bits)
    for name, words in (("interp", ["once.rir", "-p", "interp"]), ("openmp", ["once.rir", "-p", "openmp"])):
        s.case(f"{name} runs", ["run", *words, "--out", "o"], 0)
        got = (s.folder / "o/r.bin").read_bytes()
        different = [f"{a:08x} became {b:08x}" for (a,), (b,) in zip(struct.iter_unpack("<I", want), struct.iter_unpack("<I", got)) if a != b]
        s.check(f"{name}: every bit", not different, str(different[:9]))
    emitted = s.run(["compile", "once.rir", "-p", "openmp"]).stdout.decode()
    s.check("no word for inf or nan that C++ has not", not re.search(r"[^\w:.](-?inf|-?nan)f?\b", emitted), emitted[:400])
    s.write("b.rir", '%a = arith.constant() {value = f32(0x7fc0000)} : () -> (f32)\n')
    s.case("too few bits in the text", ["opt", "b.rir"], 1, ["b.rir:1:"])


# Words of C++ and CUDA, macros of the headers that emitted code includes, and names that it uses itself.
WORDS = """alignas alignof and and_eq asm auto bitand bitor case catch char8_t char16_t char32_t class compl concept consteval constexpr constinit
const_cast co_await co_return co_yield decltype default delete double dynamic_cast enum explicit export extern friend goto inline long mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires signed sizeof static
static_assert static_cast struct switch template this thread_local throw try typedef typeid typename union unsigned using virtual volatile
wchar_t xor xor_eq threadIdx blockIdx blockDim gridDim warpSize __global__ __shared__ _A __a a__b _ main std revet NULL EOF errno assert
INT_MAX INFINITY NAN linux unix i386 min max abs clamp select popcount int32_t uint8_t size_t ptrdiff_t bool_ context program run threads
workers omp omp_get_thread_num final override import module _Bool restrict __restrict printf memcpy memset exit_ offsetof va_list""".split()


def names(s):
    """C7: any name of the language can be one of a variable, an array, a parameter, a function, the program."""
    usable = []
    for word in WORDS:
        s.write("n.rvt", f"DRAM<int> o[1];\nvoid main(int {word}) {{ o[0] = {word}; }}\n")
        if s.run(["check", "n.rvt"]).returncode == 0:
            usable.append(word)
    reserved = set(WORDS) - set(usable)
    s.check("few of them are the language's own", len(reserved) < 25, str(sorted(reserved)))
    for kind, text in (
            ("variables", "DRAM<int> o[1];\nvoid main(int n0) {\n" + "".join(f"  int {w} = n0 + {i};\n" for i, w in enumerate(usable))
             + "  int sum = 0;\n" + "".join(f"  sum += {w};\n" for w in usable) + "  o[0] = sum;\n}\n"),
            ("parameters", f"DRAM<int> o[1];\nvoid main({', '.join(f'int {w}' for w in usable if w != 'o')}) {{\n  o[0] = "
             + " + ".join(w for w in usable if w != "o") + ";\n}\n"),
            ("arrays", "".join(f"DRAM<int> {w}[2];\n" for w in usable if w != "main") + "void main(int n0) {\n"
             + "".join(f"  {w}[n0] = {i};\n" for i, w in enumerate(usable) if w != "main") + "}\n"),
            ("functions", "DRAM<int> o[1];\n" + "".join(f"int {w}(int x) {{ return x + {i}; }}\n" for i, w in enumerate(usable) if w != "main")
             + "void main(int n0) {\n  o[0] = " + " + ".join(f"{w}(n0)" for w in usable if w != "main") + ";\n}\n"),
            ("indices", "DRAM<int> o[400];\nvoid main(int n0) {\n" + "".join(
                f"  foreach (2) {{ int {w} => o[{w} + {2 * i}] = {w}; }};\n" for i, w in enumerate(usable)) + "}\n")):
        s.write(f"{kind}.rvt", text)
        s.case(f"{kind} are emitted", ["compile", f"{kind}.rvt", "-p", "openmp", "-o", f"{kind}.cpp"], 0)
        done = subprocess.run(["c++", "-std=c++20", "-fopenmp", "-O0", "-fsyntax-only", "-Wall", "-Werror", "-I", s.build / "include", f"{kind}.cpp"],
                              cwd=s.folder, capture_output=True, text=True)
        s.check(f"{kind}: they compile without a warning", done.returncode == 0, done.stderr[:1500])
    for name in ("class", "int", "main", "std", "7up", "a-b", "NULL", "revet"):
        s.write(f"{name}.rvt", "DRAM<int> o[1];\nvoid main(int n) { o[0] = n; }\n")
        s.case(f"a program {name}", ["compile", f"{name}.rvt", "-p", "openmp", "-o", "program.cpp"], 0)
        done = subprocess.run(["c++", "-std=c++20", "-fopenmp", "-fsyntax-only", "-I", s.build / "include", "program.cpp"], cwd=s.folder,
                              capture_output=True, text=True)
        s.check(f"a program {name} compiles", done.returncode == 0, done.stderr[:800])


CHECKED = """#!/bin/sh
for word do
  shift
  case "$word" in -fwrapv) ;; -O3) set -- "$@" -O1 ;; *) set -- "$@" "$word" ;; esac
done
exec c++ "$@" -fsanitize=undefined -fno-sanitize-recover=undefined
"""


def undefined_behaviour(s):
    """C8, C9, C11: with -fwrapv off and every check for undefined behaviour on, programs about the edges of arithmetic give what they should."""
    if SANITIZED:
        return print("skipped: the sanitizers of the program and of revet would meet")
    compiler = pathlib.Path(s.write("checked-c++", CHECKED))
    compiler.chmod(0o755)
    env = dict(os.environ, CXX=str(compiler), REVET_CACHE_DIR=str(s.folder / "cache"))
    s.write("overflow.cpp", "int main(int c, char**) { volatile int v = 2147483647; return v + c == 7; }\n")
    done = subprocess.run([compiler, "-fwrapv", "-o", "overflow", "overflow.cpp"], cwd=s.folder, capture_output=True)
    if done.returncode != 0:
        return print("skipped: the compiler has no checks for undefined behaviour")
    s.check("overflow is seen", subprocess.run([s.folder / "overflow"], capture_output=True).returncode != 0)
    for name in ("arith_int_pairs", "compound_assignment_int8", "float_to_integer_saturates", "fold_int_literals",
                 "reduce_int8_overflow_and_mixed_widths", "increment_wraps_at_width"):
        path = s.root / f"tests/programs/{name}.rvt"
        program = Program(path)
        s.write(f"{name}/args.txt", "".join(a + "\n" for a in program.args))
        for array, content in program.inputs.items():
            s.write(f"{name}/{array}.bin", content)
        for array, content in program.outputs.items():
            s.write(f"{name}/want/{array}.bin", content)
        done = s.run(["run", str(path), "-p", "openmp", "--data", name, "--out", f"{name}/out"], env=env)
        s.check(f"{name}: no undefined behaviour", done.returncode == 0 and b"runtime error" not in done.stderr, done.stderr[:1500])
        for array, content in program.outputs.items():
            out = s.folder / name / "out" / f"{array}.bin"
            s.check(f"{name}: {array}", out.exists() and out.read_bytes() == content)


if __name__ == "__main__":
    sys.exit(run_groups(prepare, locales, constants, names, undefined_behaviour))
