"""Random Revet programs: valid, terminating and free of races by construction.

Every thread owns a part of each output array: its parent's part is divided among the children of a
foreach and the copies of a fork. It reads and writes only there; everything else is input, which
nobody writes, or is changed only by one commuting atomic whose old value nobody uses. Loops are
bounded by counters of their own. `Program(seed)` is always the same program.
"""
import random

import adapters
import expressions
import statements
import threads
from context import Context, Thread, Variable
from threads import SHARED_OPERATORS, Threads
from tree import Block, File, Stmt, text_of

TAGS = sorted(set(expressions.TAGS + statements.TAGS + adapters.TAGS + threads.TAGS)
              | {f"input of {t}" for t in ["int", "uint", "short", "ushort", "int8", "char", "bool", "float"]}
              | {f"output of {t}" for t in ["int", "uint", "short", "ushort", "int8", "char", "bool", "float"]}
              | {"array with a size", "array from a file"}
              | {f"argument {t}" for t in ["int", "uint", "short", "ushort", "int8", "char", "bool", "float"]})
FILE_TYPES = {"int": "i32", "uint": "u32", "short": "i16", "ushort": "u16", "int8": "i8", "char": "u8", "bool": "u8",
              "float": "f32"}
OWNED = 512  # elements of every output array
ARGUMENTS = {"int": ["0", "1", "5", "-3", "100", "-2147483648"], "uint": ["0", "7", "4294967295"],
             "short": ["-300", "32767", "70000"], "ushort": ["3", "65535"], "int8": ["-128", "5"],
             "char": ["200", "300"], "bool": ["0", "1", "true"], "float": ["0.5", "-2e10", "1e-40", "inf"]}


class Array:
    """A DRAM array; `content` as the headers of tests/programs spell it, None: from the size alone."""

    def __init__(self, name, element, size, content=None, operators=None):
        self.name, self.element, self.size, self.content, self.operators = name, element, size, content, operators
        self.kind = "f" if element == "float" else "i"


class Program(Threads):
    limit = 1200  # how often a statement runs at most
    most_levels = 11

    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.left = self.random.choice([20, 50, 80, 120, 180])
        self.names = 0
        self.functions = []
        self.floats = self.chance(0.6)
        self.globals = {}
        self.constant_sizes = []
        self.arguments = []  # (name, type, text)
        items = self.make_constants()
        parameters = self.make_arguments()
        items += self.make_arrays()
        items += self.make_functions()
        items.append(self.make_main(parameters))
        # Names are visible in all of the file.
        if self.chance(0.5):
            self.random.shuffle(items)
        self.tree = File(items)

    def text(self):
        """The program with the headers that run_program.py reads."""
        return self.header() + "\n" + self.body()

    def body(self):
        return text_of(self.tree)

    def header(self):
        lines = []
        if self.arguments:
            lines.append("// args: " + " ".join(f"{n}={v}" for n, _, v in self.arguments))
        lines += [f"// in: {name} = {kind} {content}" for name, kind, content in self.files()]
        return "".join(line + "\n" for line in lines)

    def arrays(self):
        return self.inputs + self.outputs + self.accumulators

    def declared(self):
        """Arrays that the text still declares; the reducer takes declarations out."""
        heads = {s.parts[0] for s in self.tree.parts if isinstance(s.parts[0], str)}
        return [a for a in self.arrays() if any(h.startswith((f"DRAM<{a.element}> {a.name};",
                                                              f"DRAM<{a.element}> {a.name}[")) for h in heads)]

    def file_type(self, array):
        return FILE_TYPES[array.element]

    def files(self):
        """Name, type and content of the arrays that are read from files."""
        return [(a.name, FILE_TYPES[a.element], a.content) for a in self.declared() if a.content]

    # --- top level ---

    def make_constants(self):
        made = []
        for _ in range(self.random.choice([0, 0, 1, 2, 3])):
            name = self.unique("K")
            type_ = self.pick(["int", "int", "uint", "short", "char", "bool"] + ["float"] * self.floats)
            text = {"float": "2.5", "bool": "true"}.get(type_) or str(self.random.randint(1, 12))
            if type_ == "int" and self.constant_sizes and self.chance(0.5):
                before, size = self.pick(self.constant_sizes)
                text = f"{before} + 1"
                self.constant_sizes.append((name, size + 1))
            elif type_ == "int":
                self.constant_sizes.append((name, int(text)))
            self.globals[name] = Variable(name, type_, None, mutable=False, tag="constant global")
            made.append(Stmt([f"const {type_} {name} = {text};"]))
        return made

    def make_arguments(self):
        self.arguments.append(("n", "int", str(self.pick([1, 2, 4, 8, 16]))))
        for type_ in self.random.sample(list(ARGUMENTS), self.random.randint(0, 3)):
            if type_ != "float" or self.floats:
                self.arguments.append((self.unique("arg"), type_, self.pick(ARGUMENTS[type_])))
        return ", ".join(f"{t} {n}" for n, t, _ in self.arguments)

    def make_arrays(self):
        types = ["int", "uint", "short", "ushort", "int8", "char", "bool"] + ["float"] * self.floats
        some = self.random.sample(types[1:], self.random.randint(1, 4))
        self.inputs = [Array(f"in_{t}", t, self.pick([16, 32]), None) for t in ["int", *some]]
        for a in self.inputs:
            a.content = self.content(a)
        some = self.random.sample(types[1:], self.random.randint(1, 4))
        self.outputs = [Array(f"out_{t}", t, OWNED) for t in ["int", *some]]
        for a in self.outputs:
            if self.chance(0.3):
                a.content = f"random {OWNED} {self.random.randrange(1000)}"
        operators = self.random.sample(SHARED_OPERATORS, 2)
        self.accumulators = [Array(f"all_{o[0]}", self.pick(["int", "uint"]), self.pick([1, 4, 8]), None, o)
                             for o in operators]
        made = []
        for a in self.arrays():
            if a.content:
                size, tags = "", ("array from a file",)
            else:
                n = int(self.arguments[0][2])
                size = f"[n * {a.size // n}]" if a.size % n == 0 and self.chance(0.5) else f"[{a.size}]"
                tags = ("array with a size",)
            if a in self.inputs or a in self.outputs:
                tags += (f"{'input' if a in self.inputs else 'output'} of {a.element}",)
            made.append(Stmt([f"DRAM<{a.element}> {a.name}{size};"], tags))
        return made

    def content(self, array):
        if self.chance(0.5) and array.element != "bool":
            return f"random {array.size} {self.random.randrange(1000)}"
        if array.element == "float":
            values = ["0", "1", "2", "-1", "0.5", "-7.25", "100", "-0.0", "inf", "-inf", "nan", "1e-40", "1e10", "3e38"]
        elif array.element == "bool":
            values = ["0", "1", "1", "2", "255"]
        else:
            bits = {"i8": 8, "u8": 8, "i16": 16, "u16": 16}.get(FILE_TYPES[array.element], 32)
            signed = FILE_TYPES[array.element][0] == "i"
            low, high = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
            values = [str(v) for v in (0, 0, 1, 1, 2, 3, 4, 5, 7, 12, 100, high, high - 1, low)]
        return " ".join(self.pick(values) for _ in range(array.size))

    def make_functions(self):
        made = []
        for i in range(self.random.choice([0, 0, 1, 2, 3])):
            total = self.left
            self.left = total * 0.3
            made.append(self.function(f"f{i}"))
            self.left += total * 0.7
        for copies in (2, 4):
            if self.chance(0.2):
                made.append(self.forking_function(f"split{copies}", copies))
        return made

    def make_main(self, parameters):
        thread = Thread("own0", OWNED, None, "main")
        ctx = Context(thread)
        ctx.scopes = [dict(self.globals), {}]
        tags = []
        for name, type_, _ in self.arguments:
            ctx.scopes[-1][name] = Variable(name, type_, thread, tag="argument of main")
            tags.append(f"argument {type_}")
        first = [Stmt(["int own0 = 0;"])]
        body = Block([])
        if self.chance(0.2):
            thread.width = "width0"
            first.append(Stmt([f"int width0 = {OWNED};"]))
            if self.chance(0.3):
                body.parts += self.make_fork(ctx) or []
        phases = self.random.randint(1, 6)
        for left in range(phases, 0, -1):
            # Most of the program is in foreachs of main.
            others = self.left * (left - 1) / left
            self.left -= others
            made = self.statement(ctx) if self.chance(0.3) else None
            body.parts += made or []
            if made and self.jumps(made[-1]):
                break
            body.parts += self.make_foreach(ctx) or []
            self.left = max(0, self.left) + others
        body.insert_first(self.pragma("other") + first)
        return Stmt([f"void main({parameters}) ", body], tuple(tags))
