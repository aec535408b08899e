"""Random expressions, made of what is visible at a place."""
import random

from tree import ASSIGN, PRIMARY, UNARY, Expr

INTEGERS = ["int", "uint", "short", "ushort", "int8", "char", "bool",
            "int32", "uint32", "int16", "uint16", "uint8"]
BINARY = {"*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<": 10, ">": 10, "<=": 10,
          ">=": 10, "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4}
ARITHMETIC = ["*", "/", "+", "-"]
INTEGER_ONLY = ["%", "<<", ">>", "&", "^", "|"]
COMPARISONS = ["<", ">", "<=", ">=", "==", "!="]
ASSIGNMENTS = ["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="]
FLOAT_ASSIGNMENTS = ["=", "+=", "-=", "*=", "/="]
BUILTINS = {"min": 2, "max": 2, "abs": 1, "clamp": 3, "select": 3, "popcount": 1, "clz": 1, "ctz": 1,
            "rotl": 2, "rotr": 2, "mulhi": 2}
FLOAT_BUILTINS = ["min", "max", "abs", "clamp", "select"]
ATOMICS = ["add", "sub", "and", "or", "xor", "min", "max", "exchange", "cas"]
LITERALS = {
    "decimal": ["0", "1", "2", "3", "4", "5", "7", "8", "10", "31", "32", "100", "255", "256", "1000", "65535",
                "2147483647", "2147483648", "4294967295"],
    "negative": ["-1", "-2", "-7", "-128", "-32768", "-2147483648"],
    "unsigned": ["0u", "1u", "3u", "255u", "4294967295u"],
    "hex": ["0x2a", "0xff", "0x80000000", "0x7fffu", "0xdeadbeef"],
    "binary": ["0b101", "0b1u", "0b11110000"],
    "character": ["'a'", "'\\n'", "'\\t'", "'\\r'", "'\\0'", "'\\\\'", "'\\''", "'\\\"'", "'\\xe9'"],
    "bool": ["true", "false"],
}
FLOATS = ["0.0", "1.0", "1.5f", "0.5", "2.0", "-1.0", "1e-3", "3.25e2", "1e30", "1e-40", "16777216.0", "3e9",
          "2.5e-1f", ".5", "7.f"]
TAGS = ([f"operator {op}" for op in BINARY] + [f"float operator {op}" for op in ARITHMETIC]
        + [f"float comparison {op}" for op in COMPARISONS]
        + [f"unary {op}" for op in "-+~!"] + ["float unary -", "float unary !", "?:", "float ?:"]
        + [f"value of {op}" for op in ASSIGNMENTS]
        + [f"value of {op}" for op in ("x++", "x--", "++x", "--x")]
        + [f"built-in {b}" for b in BUILTINS] + [f"float built-in {b}" for b in FLOAT_BUILTINS]
        + [f"atomic_{a}" for a in ATOMICS] + [f"atomic on {m}" for m in ("DRAM", "SRAM")]
        + [f"conversion {t}(x)" for t in [*INTEGERS, "float"]] + [f"conversion ({t})x" for t in [*INTEGERS, "float"]]
        + ["float to integer", "integer to float"]
        + [f"literal {k}" for k in LITERALS] + ["literal float", "constant global", "argument of main"]
        + ["variable of an enclosing thread", "call in an expression", "reduction in an expression"]
        + [f"read of {m}" for m in ("DRAM", "own DRAM", "SRAM", "ReadView", "WriteView", "ModifyView", "ReadIt",
                                    "PeekReadIt")]
        + ["*it++", "it[k]", "memory of an enclosing thread", "read of an accumulator"]
        + [f"index by {f}" for f in ("mask", "remainder", "clamp", "min", "literal")])


def literal(text, *tags):
    return Expr("i", [text], tags, UNARY if text[0] == "-" else PRIMARY)


def binary(op, left, right, *tags):
    prec = BINARY[op]
    floats = "f" in (left.kind, right.kind)
    kind = "f" if floats and op in ARITHMETIC else "i"
    if floats and op in COMPARISONS:
        tags += (f"float comparison {op}",)
    else:
        tags += (f"{'float ' if kind == 'f' else ''}operator {op}",)
    return Expr(kind, [left, f" {op} ", right], tags, prec, [prec, 0, prec + 1])


def call(name, arguments, kind, *tags):
    parts = [f"{name}("]
    for i, a in enumerate(arguments):
        parts += [", ", a] if i else [a]
    return Expr(kind, [*parts, ")"], tags)


class Expressions:
    """Values. `self.random` decides; `self.left` is what the size of the program still allows."""

    random: random.Random

    def pick(self, choices):
        return self.random.choice(choices)

    def chance(self, p):
        return self.random.random() < p

    def weighted(self, table):
        names = list(table)
        return self.random.choices(names, [table[n] for n in names])[0]

    def value(self, ctx, kind=None, depth=None):
        depth = self.random.choice([0, 1, 1, 2, 2, 3]) if depth is None else depth
        kind = kind or ("f" if self.floats and self.chance(0.25) else "i")
        self.left -= 0.2
        if self.left < 0:
            depth = 0
        return self.integer(ctx, depth) if kind == "i" else self.float(ctx, depth)

    def identity(self, ctx):
        """A value that often differs between the threads of a foreach or fork, and between the trips of a loop."""
        names = [v for v in ctx.variables("i") if not v.mutable and v.thread is not None]
        return self.variable(ctx, self.pick(names[:3])) if names else self.value(ctx, "i", 1)

    def condition(self, ctx):
        if self.chance(0.5):
            left = self.identity(ctx)
            if self.chance(0.5):
                left = binary(self.pick(["&", "%"]), left, literal(self.pick(["1", "2", "3"])))
            right = literal(self.pick("0112")) if self.chance(0.7) else self.value(ctx, "i", 1)
            return binary(self.pick(COMPARISONS), left, right)
        if self.chance(0.7):
            return binary(self.pick(COMPARISONS), self.value(ctx, depth=1), self.value(ctx, depth=1))
        return self.value(ctx)

    # --- integers ---

    def integer(self, ctx, depth):
        if depth <= 0:
            return self.integer_atom(ctx)
        form = self.weighted({"arithmetic": 26, "comparison": 9, "logical": 6, "unary": 8, "?:": 6, "builtin": 14,
                              "cast": 9, "assign": 3, "step": 4, "call": 5, "reduce": 2, "atomic": 4, "element": 18,
                              "atom": 10})
        made = None
        if form == "arithmetic":
            made = binary(self.pick(ARITHMETIC + INTEGER_ONLY), self.integer(ctx, depth - 1),
                          self.integer(ctx, depth - 1))
        elif form == "comparison":
            kind = "f" if self.floats and self.chance(0.3) else "i"
            made = binary(self.pick(COMPARISONS), self.value(ctx, kind, depth - 1), self.value(ctx, None, depth - 1))
        elif form == "logical":
            made = binary(self.pick(["&&", "||"]), self.value(ctx, None, depth - 1),
                          self.value(ctx, None, depth - 1))
        elif form == "unary":
            op = self.pick("-+~!")
            if op == "!" and self.floats and self.chance(0.3):
                made = Expr("i", ["!", self.float(ctx, depth - 1)], ("float unary !",), UNARY, [0, UNARY])
            else:
                made = Expr("i", [op, self.integer(ctx, depth - 1)], (f"unary {op}",), UNARY, [0, UNARY])
        elif form == "?:":
            made = self.conditional(ctx, "i", depth)
        elif form == "builtin":
            made = self.integer_builtin(ctx, depth)
        elif form == "cast":
            made = self.conversion(ctx, self.pick(INTEGERS), depth)
        elif form in ("assign", "step"):
            made = self.assignment(ctx, "i", depth) if form == "assign" else self.step(ctx, "i")
        elif form == "call":
            made = self.call_value(ctx, "i", depth)
        elif form == "reduce":
            made = self.reduction_value(ctx, "i")
        elif form == "atomic":
            made = self.own_atomic(ctx, depth)
        elif form == "element":
            made = self.element(ctx, "i", depth)
        return made or self.integer_atom(ctx)

    def integer_atom(self, ctx):
        names = ctx.variables("i")
        if names and self.chance(0.75):
            return self.variable(ctx, self.pick(names))
        if self.chance(0.2):
            return self.element(ctx, "i", 0) or literal("1", "literal decimal")
        form = self.weighted({"decimal": 12, "negative": 2, "unsigned": 2, "hex": 2, "binary": 1, "character": 2,
                              "bool": 1})
        values = LITERALS[form]
        small = form == "decimal" and self.chance(0.7)
        return literal(self.pick(values[:8] if small else values), f"literal {form}")

    def variable(self, ctx, v):
        tags = (v.tag,) if v.tag else ()
        if v.thread not in (ctx.thread, None):
            tags += ("variable of an enclosing thread",)
        return Expr(v.kind, [v.name], tags)

    def integer_builtin(self, ctx, depth):
        name = self.pick([b for b in BUILTINS if not ctx.find(b)])
        arguments = [self.integer(ctx, depth - 1) for _ in range(BUILTINS[name])]
        if name == "select":
            arguments[0] = self.value(ctx, None, depth - 1)
        return call(name, arguments, "i", f"built-in {name}")

    def conditional(self, ctx, kind, depth):
        values = [self.value(ctx, kind, depth - 1) for _ in range(2)]
        return Expr(kind, [self.value(ctx, None, depth - 1), " ? ", values[0], " : ", values[1]],
                    ("?:" if kind == "i" else "float ?:",), 3, [4, 0, 1, 0, 3])

    def conversion(self, ctx, type_, depth):
        to = "f" if type_ == "float" else "i"
        inner = self.value(ctx, "f" if self.floats and self.chance(0.4) else "i", depth - 1)
        return self.converted(type_, inner, to)

    def converted(self, type_, inner, to="i"):
        tags = ()
        if inner.kind != to:
            tags = ("float to integer" if to == "i" else "integer to float",)
        if self.chance(0.5):
            return Expr(to, [f"{type_}(", inner, ")"], (f"conversion {type_}(x)", *tags))
        return Expr(to, [f"({type_})", inner], (f"conversion ({type_})x", *tags), UNARY, [0, UNARY])

    # --- floats ---

    def float(self, ctx, depth):
        if depth <= 0:
            return self.float_atom(ctx)
        form = self.weighted({"arithmetic": 30, "unary": 5, "?:": 6, "builtin": 14, "cast": 14, "assign": 3, "step": 3,
                              "call": 3, "reduce": 2, "element": 14, "atom": 8})
        made = None
        if form == "arithmetic":
            operands = [self.float(ctx, depth - 1), self.value(ctx, None, depth - 1)]
            self.random.shuffle(operands)
            made = binary(self.pick(ARITHMETIC), *operands)
        elif form == "unary":
            made = Expr("f", ["-", self.float(ctx, depth - 1)], ("float unary -",), UNARY, [0, UNARY])
        elif form == "?:":
            made = self.conditional(ctx, "f", depth)
        elif form == "builtin":
            name = self.pick(FLOAT_BUILTINS)
            arguments = [self.value(ctx, None, depth - 1) for _ in range(BUILTINS[name])]
            arguments[-1] = self.float(ctx, depth - 1)
            made = call(name, arguments, "f", f"float built-in {name}")
        elif form == "cast":
            made = self.conversion(ctx, "float", depth)
        elif form in ("assign", "step"):
            made = self.assignment(ctx, "f", depth) if form == "assign" else self.step(ctx, "f")
        elif form == "call":
            made = self.call_value(ctx, "f", depth)
        elif form == "reduce":
            made = self.reduction_value(ctx, "f")
        elif form == "element":
            made = self.element(ctx, "f", depth)
        return made or self.float_atom(ctx)

    def float_atom(self, ctx):
        names = ctx.variables("f")
        if names and self.chance(0.6):
            return self.variable(ctx, self.pick(names))
        text = self.pick(FLOATS)
        return Expr("f", [text], ("literal float",), UNARY if text[0] == "-" else PRIMARY)

    # --- memory ---

    def index(self, ctx, size, depth=1):
        """An integer in 0..size-1."""
        if size == 1 or self.chance(0.12):
            return literal(str(self.random.randrange(size)), "index by literal")
        power = size & (size - 1) == 0
        form = self.weighted({"mask": 60 if power else 0, "remainder": 10, "min": 4, "clamp": 6})
        inner = self.identity(ctx) if self.chance(0.4) else self.value(ctx, "i", max(0, depth - 1))
        if form == "min" and not ctx.find("min"):
            return call("min", [Expr("i", ["uint(", inner, ")"]), literal(f"{size - 1}u")], "i", "index by min")
        if form == "clamp" and not ctx.find("clamp"):
            return call("clamp", [Expr("i", ["int(", inner, ")"]), literal("0"), literal(str(size - 1))], "i",
                        "index by clamp")
        if form == "mask" or power:
            return Expr("i", [inner, f" & {size - 1}"], ("index by mask",), 8, [8, 0])
        return Expr("i", ["uint(", inner, f") % {size}u"], ("index by remainder",), 13)

    def offset_index(self, ctx, base, count, depth=1):
        inner = self.index(ctx, count, depth)
        return Expr("i", [f"{base} + ", inner], (), 12, [0, 13]) if base else inner

    def indexed(self, ctx, name, base, count, kind, tags, depth=1):
        return Expr(kind, [f"{name}[", self.offset_index(ctx, base, count, depth), "]"], tags)

    def element(self, ctx, kind, depth):
        """A read of one element of any memory that this place may read."""
        ways = [("input", a) for a in self.inputs if a.kind == kind]
        if ctx.thread.own:
            ways += [("output", a) for a in self.outputs if a.kind == kind] * 2
        held = [("memory", p) for p in ctx.memories()
                if p[0].kind == kind and p[1].mode != "atomic" and not p[0].form.endswith("WriteIt")]
        if kind == "i" and ctx.thread.kind == "main" and ctx.thread.forks == 0 and ctx.thread.width is None:
            ways += [("accumulator", a) for a in self.accumulators]
        if held and self.chance(0.6):
            ways = held
        if not ways:
            return None
        way, what = self.pick(ways)
        if way == "input":
            return self.indexed(ctx, what.name, "", what.size, kind, ("read of DRAM",), depth)
        if way == "output":
            return self.indexed(ctx, what.name, ctx.thread.own, ctx.thread.count, kind, ("read of own DRAM",), depth)
        if way == "accumulator":
            return self.indexed(ctx, what.name, "", what.size, kind, ("read of an accumulator",), depth)
        m, access = what
        tags = (f"read of {m.form}",)
        if m.thread is not ctx.thread:
            tags += ("memory of an enclosing thread",)
        if not m.is_iterator():
            return self.indexed(ctx, m.name, access.base, access.count, kind, tags, depth)
        if m.form == "PeekReadIt" and self.chance(0.6):
            return self.indexed(ctx, m.name, "", m.size, kind, (*tags, "it[k]"), depth)
        if m.free_reads and self.chance(0.3):
            return Expr(kind, [f"*{m.name}++"], (*tags, "*it++"), UNARY)
        return Expr(kind, [f"*{m.name}"], tags, UNARY)

    def place(self, ctx, kind=None, depth=1, memory_only=False):
        """Something that may be assigned here: an expression, or None."""
        ways = []
        if not memory_only:
            ways += [("variable", v) for v in ctx.assignable(kind)] * 2
        if ctx.thread.own:
            ways += [("output", a) for a in self.outputs if kind in (None, a.kind) and a.name not in ctx.frozen]
        held = [("memory", p) for p in ctx.memories()
                if kind in (None, p[0].kind) and p[1].mode == "own" and not p[0].is_iterator()
                and p[0].form != "ReadView"]
        if held and self.chance(0.5):
            ways = held
        if not ways:
            return None
        way, what = self.pick(ways)
        if way == "variable":
            return Expr(what.kind, [what.name], ())
        if way == "output":
            return self.indexed(ctx, what.name, ctx.thread.own, ctx.thread.count, what.kind, ("write of DRAM",), depth)
        m, access = what
        return self.indexed(ctx, m.name, access.base, access.count, m.kind, (f"write of {m.form}",), depth)

    def assigned(self, ctx, depth, target, what="value of"):
        floats = target.kind == "f"
        right = self.value(ctx, None, depth)
        ops = FLOAT_ASSIGNMENTS if floats or right.kind == "f" else ASSIGNMENTS
        op = "=" if self.chance(0.4) else self.pick(ops)
        return Expr(target.kind, [target, f" {op} ", right], (f"{what} {op}",), ASSIGN, [PRIMARY, 0, ASSIGN])

    def assignment(self, ctx, kind, depth):
        target = self.place(ctx, kind, 0)
        return target and self.assigned(ctx, depth - 1, target)

    def stepped(self, target, what="value of"):
        form = self.pick(["x++", "x--", "++x", "--x"])
        parts = [target, form[1:]] if form[0] == "x" else [form[:2], target]
        prec = 19 if form[0] == "x" else UNARY
        return Expr(target.kind, parts, (f"{what} {form}",), prec, [PRIMARY, PRIMARY])

    def step(self, ctx, kind):
        target = self.place(ctx, kind, 0)
        return target and self.stepped(target)

    def own_atomic(self, ctx, depth):
        """An atomic on an element that no other thread touches, so that its old value is known."""
        ways = []
        if ctx.thread.own:
            ways += [(a.name, ctx.thread.own, ctx.thread.count, "DRAM") for a in self.outputs
                     if a.element in ("int", "uint") and a.name not in ctx.frozen]
        ways += [(m.name, a.base, a.count, "SRAM") for m, a in ctx.memories()
                 if m.form == "SRAM" and m.element in ("int", "uint") and a.mode == "own"]
        if not ways:
            return None
        on_chip = [w for w in ways if w[3] == "SRAM"]
        name, base, count, where = self.pick(on_chip if on_chip and self.chance(0.6) else ways)
        operator = self.pick(ATOMICS)
        arguments = [self.indexed(ctx, name, base, count, "i", ())]
        arguments += [self.value(ctx, None, depth - 1) for _ in range(2 if operator == "cas" else 1)]
        return call(f"atomic_{operator}", arguments, "i", f"atomic_{operator}", f"atomic on {where}")

    # --- calls ---

    def callable(self, ctx, kinds):
        """Functions that may be called here: what they write and how long they run must fit."""
        out = []
        for f in self.functions:
            fits = ctx.runs() * f.cost <= self.limit and ctx.levels + f.levels <= self.most_levels
            owns = not f.count or (ctx.thread.own and ctx.thread.count >= f.count and not ctx.frozen)
            if f.kind in kinds and fits and owns and not f.forks and not ctx.find(f.name):
                out.append(f)
        return out

    def called(self, ctx, f, depth, *tags):
        arguments = []
        if f.count:
            shift = self.random.randrange(ctx.thread.count // f.count) * f.count
            arguments.append(Expr("i", [f"{ctx.thread.own} + {shift}"], (), 12))
        arguments += [self.value(ctx, None, depth) for _ in f.parameters]
        return call(f.name, arguments, f.kind or "i", *tags)

    def call_value(self, ctx, kind, depth):
        found = self.callable(ctx, [kind])
        return self.called(ctx, self.pick(found), depth - 1, "call in an expression") if found else None

    def reduction_value(self, ctx, kind):
        raise NotImplementedError
