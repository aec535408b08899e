"""Random threads: foreach, reductions, replicate, fork, functions."""
from adapters import Adapters
from context import Access, Context, Thread, Variable
from expressions import INTEGERS, binary, literal
from tree import Block, Expr, Stmt

REDUCTIONS = {"i": ["+", "*", "&", "|", "^", "min", "max", "&&", "||"], "exact": ["+", "min", "max"], "factor": ["*"]}
RANGES = {"int": (-2**31, 2**31 - 1), "uint": (0, 2**32 - 1), "short": (-2**15, 2**15 - 1), "ushort": (0, 2**16 - 1),
          "int8": (-128, 127), "char": (0, 255)}
SHARED_OPERATORS = [["add", "sub"], ["xor"], ["and"], ["or"], ["min"], ["max"]]
TAGS = (["foreach", "foreach (hi)", "foreach (hi by step)", "foreach (lo to hi)", "foreach (lo to hi by step)",
         "foreach downwards", "foreach of no trips", "foreach over a run-time range"]
        + [f"index of {t}" for t in RANGES] + [f"reduce({op})" for op in REDUCTIONS["i"]]
        + [f"float reduce({op})" for op in REDUCTIONS["exact"] + REDUCTIONS["factor"]]
        + ["replicate", "replicate in replicate", "fork", "fork(0)", "fork assigned", "fork in a loop",
           "fork in nested loops", "fork in a function", "fork in main", "last thread of a fork", "shared atomic",
           "function", "function that writes"]
        + [f"parameter of {t}" for t in [*INTEGERS, "float"]])


class Function:
    """`count`: elements that it owns, from its first parameter on; `cost`: how often its statements run at most."""

    def __init__(self, name, kind, type_):
        self.name, self.kind, self.type = name, kind, type_
        self.parameters = []
        self.count, self.cost, self.levels = 0, 1, 0
        self.forks = False


class Threads(Adapters):
    # --- foreach ---

    def constant_range(self, trips):
        """A range of constants: header, trips as an expression of the index, type of the index."""
        type_ = self.pick(list(RANGES) + ["int"] * 4)
        low, high = RANGES[type_]
        step = self.pick([1, 1, 1, 2, 3, 16])
        down = low < 0 and self.chance(0.25)
        step = -step if down else step
        first = self.pick([0, 0, 0, 1, 5, low, high - abs(step) * trips, low + abs(step) * trips])
        last = first + step * (trips - 1) + (self.random.randint(1, abs(step)) if not down
                                             else -self.random.randint(1, abs(step)))
        if trips == 0:
            last = first if self.chance(0.5) else first - step
        if not (low <= first <= high and low <= last <= high):
            first, last = (0, step * trips)
            if not low <= last <= high:
                return None
        suffix = "u" if type_ == "uint" else ""
        shown = [Expr("i", [f"{n}{suffix}"], (), 20 if n >= 0 else 18) for n in (first, last)]
        simple = first == 0 and not down and self.chance(0.6)
        header = [shown[1]] if simple else [shown[0], " to ", shown[1]]
        tag = "foreach (hi)" if simple else "foreach (lo to hi)"
        tags = ["foreach downwards"] if down else []
        slot = "int({i})" if simple else f"int({{i}} - {first}{suffix})".replace("- -", "+ ")
        if step != 1 or self.chance(0.15):
            header += [f" by {step}{suffix}"]
            tag = tag[:-1] + " by step)"
            slot += f" / {step}" if step != 1 else ""
        return header, slot, type_, [*tags, tag] + (["foreach of no trips"] if trips == 0 else []), []

    def run_time_range(self, ctx, trips):
        """At most `trips`, a power of two less 1, by a value that is not known."""
        mask = Expr("i", [self.value(ctx, "i", 1), f" & {trips}"], (), 8, [8, 0])
        type_ = self.pick(["int", "int", "int", "uint", "short", "char"])
        tags = ["foreach over a run-time range"]
        if self.chance(0.5):
            if self.chance(0.2) and not ctx.find("clamp"):
                inner = Expr("i", ["int(", self.value(ctx, "i", 1), ")"])
                mask = Expr("i", ["clamp(", inner, f", -1, {trips})"])
                type_ = "int"
            return [mask], "int({i})", type_, [*tags, "foreach (hi)"], []
        low = self.unique("lo")
        base = Expr("i", [self.value(ctx, "i", 1), " & 15"], (), 8, [8, 0])
        prelude = [Stmt([f"int {low} = ", base, ";"])]
        header = [low, " to ", Expr("i", [f"{low} + ", mask], (), 12, [0, 13])]
        slot = f"int({{i}}) - {low}"
        if self.chance(0.3):
            header = [low, " to ", Expr("i", [f"{low} + (", mask, ") * 2"], (), 12), " by 2"]
            slot = f"(int({{i}}) - {low}) / 2"
            return header, slot, type_, [*tags, "foreach (lo to hi by step)"], prelude
        return header, slot, type_, [*tags, "foreach (lo to hi)"], prelude

    def child(self, ctx, trips, slot_name, kind="foreach"):
        """The context of a child that has the slot_name'th part of what its parent owns; its first statements."""
        parts = 1 << max(0, trips - 1).bit_length()
        count = ctx.thread.count // parts if ctx.thread.own else 0
        own = self.unique("own") if count else None
        thread = Thread(own, count, None, kind)
        inner = ctx.inner(thread=thread, mult=ctx.runs() * max(1, trips), levels=ctx.levels + 1, loop=False,
                          in_loop=False, can_return=True)
        first = []
        if own:
            first.append(Stmt([f"int {own} = {ctx.thread.own} + {slot_name} * {count};"]))
            if self.chance(0.35):
                thread.width = self.unique("width")
                first.append(Stmt([f"int {thread.width} = {count};"]))
        inner.access = {}
        for m, access in ctx.memories():
            shared = self.shared(m, access, parts, slot_name, thread)
            if shared and not m.is_iterator():
                inner.access[m] = shared
        return inner, first

    def shared(self, m, access, parts, slot_name, thread):
        """What the children of a foreach may do with a memory of their parent."""
        if access.mode != "own":
            return access
        ways = ["read"]
        if m.form != "ReadView" and access.count >= parts:
            ways += ["own", "own"]
        if m.form == "SRAM" and m.element in ("int", "uint"):
            ways += ["atomic"]
        way = self.pick(ways)
        if way == "read":
            return Access("read", access.base, access.count, thread)
        if way == "atomic":
            return Access("atomic", access.base, access.count, thread, self.pick(SHARED_OPERATORS))
        count = access.count // parts
        base = f"{slot_name} * {count}" if not access.base else f"{access.base} + {slot_name} * {count}"
        return Access("own", base, count, thread)

    def foreach(self, ctx, reduce_kind=None):
        """The prelude, and the parts of a foreach with its tags, or None."""
        most = self.limit // ctx.runs()
        if most < 2 or ctx.levels >= self.most_levels:
            return None
        if self.chance(0.3):
            trips = min(most, self.pick([1, 3, 3, 7]))
            trips = (1 << (trips + 1).bit_length() - 1) - 1
            header, slot, type_, tags, prelude = self.run_time_range(ctx, trips)
        else:
            outer = ctx.thread.kind == "main" and not ctx.in_loop
            trips = min(most, self.pick([1, 2, 3, 4, 4, 6, 8, 16] if outer else [0, 1, 1, 2, 2, 3, 3, 4, 5, 8]))
            made = self.constant_range(trips)
            if not made:
                return None
            header, slot, type_, tags, prelude = made
        slot_name = self.unique("s")
        inner, first = self.child(ctx, trips, slot_name)
        inner.scopes[-1][slot_name] = Variable(slot_name, "int", inner.thread, mutable=False)
        inner.result = reduce_kind
        index, index_tags = self.declare(inner, type_)
        first.insert(0, Stmt([f"int {slot_name} = {slot.format(i=index)};"]))
        body = self.block(inner, 5, "foreach", f" {type_} {index} =>")
        body.insert_first(first)
        if reduce_kind:
            body.parts.append(self.returning(inner) if self.chance(0.95) else Stmt(["exit;"], ("exit",)))
        tags += ["foreach", f"index of {type_}", *index_tags]
        return prelude, ["foreach (", *header, ")"], body, tags, f"{type_} {index} = 0;"

    def make_foreach(self, ctx):
        made = self.foreach(ctx)
        if not made:
            return None
        prelude, header, body, tags, hoist = made
        return [*prelude, Stmt([*header, " ", body, self.pick([";", ""])], tuple(tags), hoist)]

    def reduction(self, ctx, kind):
        """A prelude and an expression."""
        inner_kind = self.pick(["exact", "exact", "factor"]) if kind == "f" else "i"
        made = self.foreach(ctx, inner_kind)
        if not made:
            return None
        prelude, header, body, tags, _ = made
        operator = self.pick(REDUCTIONS[inner_kind])
        if kind == "f" or operator == "*":
            body.forget_pragma("eliminate_hierarchy")  # there is no atomic for it
        tags.append(f"{'float ' if kind == 'f' else ''}reduce({operator})")
        return prelude, Expr(kind, [*header, f" reduce({operator}) ", body], tuple(tags))

    def make_reduction(self, ctx):
        kind = "f" if self.floats and self.chance(0.25) else "i"
        made = self.reduction(ctx, kind)
        if not made:
            return None
        prelude, value = made
        type_ = "float" if kind == "f" and self.chance(0.7) else self.pick(["int", "int", "int", "uint", "short",
                                                                            "bool"])
        name, tags = self.declare(ctx, type_)
        return [*prelude, Stmt([f"{type_} {name} = ", value, ";"], ("declaration", *tags))]

    def reduction_value(self, ctx, kind):
        if self.left < 5:
            return None
        made = self.reduction(ctx, kind)
        if not made or made[0]:
            return None
        value = made[1]
        value.tags += ("reduction in an expression",)
        return value

    # --- replicate and fork ---

    def make_replicate(self, ctx):
        inner = ctx.inner(can_return=False, loop=False)
        inner.replicated = True
        body = self.block(inner, 4, "replicate")
        tags = ("replicate", "replicate in replicate") if getattr(ctx, "replicated", False) else ("replicate",)
        return [Stmt([f"replicate ({self.random.randint(1, 5)}) ", body, self.pick([";", ""])], tags)]

    def may_fork(self, ctx, copies):
        thread = ctx.thread
        return (not ctx.has_open_memory() and thread.kind != "function" and not ctx.in_loop
                and not ctx.find("fork") and ctx.levels < self.most_levels and ctx.runs() * copies <= self.limit
                and (not thread.own or thread.width))

    def fork(self, ctx, copies, divide):
        """A fork of at most `copies`, after which the copies own different elements."""
        thread = ctx.thread
        made, tags = [], ["fork"]
        functions = [f for f in self.functions if f.forks and f.copies == copies and not ctx.find(f.name)]
        name = self.unique("f")
        if functions and self.chance(0.5):
            source = self.called(ctx, self.pick(functions), 1, "fork in a function")
        else:
            count = self.pick(["literal", "mask", "clamp"])
            if count == "literal":
                number = self.pick([0, 0, 1, copies, copies, copies, copies])
                inner = literal(str(number))
                if number == 0:
                    tags.append("fork(0)")
            elif count == "mask" or ctx.find("clamp"):
                inner = Expr("i", [self.value(ctx, "i", 1), f" & {copies - 1}"], (), 8, [8, 0])
            else:
                inner = Expr("i", ["clamp(int(", self.value(ctx, "i", 1), f"), -1, {copies})"])
            source = Expr("i", ["fork(", inner, ")"])
        if thread.kind == "main":
            tags.append("fork in main")
        if self.chance(0.15):
            made += [Stmt([f"int {name} = 5;"]), Stmt([f"{name} = ", source, ";"], (*tags, "fork assigned"))]
        else:
            made += [Stmt([f"int {name} = ", source, ";"], tuple(tags))]
        ctx.scopes[-1][name] = Variable(name, "int", thread, mutable=False)
        thread.forks += 1
        if thread.own and divide:
            made += [Stmt([f"{thread.width} /= {copies};"]), Stmt([f"{thread.own} += {name} * {thread.width};"])]
        return made

    def take_share(self, thread, copies):
        """From here on the thread is one of so many copies. Whether a part is left to own."""
        thread.factor *= copies
        thread.forks += 1
        thread.count //= copies
        if thread.count == 0:
            thread.own = None
        return thread.own is not None

    def make_fork(self, ctx):
        copies = self.pick([2, 2, 4])
        if not self.may_fork(ctx, copies):
            return None
        had = ctx.thread.own is not None and ctx.thread.count >= copies
        made = self.fork(ctx, copies, had)
        self.take_share(ctx.thread, copies)
        return made

    def make_fork_loop(self, ctx):
        """Every trip of a loop, or of two nested ones, forks."""
        trips, inner_trips, copies = self.pick([(1, 1), (2, 1), (3, 1), (2, 2), (1, 2)]) + (2,)
        total = copies ** (trips * inner_trips)
        if not self.may_fork(ctx, total) or ctx.levels + 2 > self.most_levels:
            return None
        owns = ctx.thread.own is not None and ctx.thread.count >= total
        self.take_share(ctx.thread, total)
        counter = self.unique("c")
        inside = ctx.inner(mult=ctx.mult * trips, levels=ctx.levels + 1, loop=True, in_loop=True)
        body = [Stmt([f"{counter}++;"])]
        body += self.scoped(inside, 1)
        tags = ["while", "fork in a loop"]
        if inner_trips > 1:
            deeper = inside.inner(mult=inside.mult * inner_trips, levels=inside.levels + 1)
            second = self.unique("c")
            forks = [Stmt([f"{second}++;"]), *self.scoped(deeper, 1), *self.fork(deeper, copies, owns),
                     *self.scoped(deeper, 2)]
            test = Expr("i", [f"{second} < ", literal(str(inner_trips))], (), 10)
            body += [Stmt([f"int {second} = 0;"]), Stmt(["while (", test, ") ", Block(forks)], ("while",))]
            tags.append("fork in nested loops")
        elif self.chance(0.3):
            arm = inside.inner()
            body.append(Stmt(["if (", self.condition(inside), ") ",
                              Block([*self.fork(arm, copies, owns), *self.scoped(arm, 1)])], ("if",)))
        else:
            body += self.fork(inside, copies, owns)
        body += self.scoped(inside, 2)
        test = Expr("i", [f"{counter} < ", literal(str(trips))], (), 10)
        if self.chance(0.4):
            test = binary("&&", test, self.condition(ctx.inner(mult=ctx.mult * (trips + 1))))
        return [Stmt([f"int {counter} = 0;"]), Stmt(["while (", test, ") ", Block(body)], tuple(tags))]

    def scoped(self, ctx, most):
        """Statements in a block of their own, so that no memory is in scope behind them."""
        if self.chance(0.3):
            return []
        return [Stmt([self.block(ctx.inner(), most)], ("block",))]

    def make_last_thread(self, ctx):
        """The last of forked threads to decrement a counter goes on alone (machine.md, shape 20)."""
        if ctx.runs() * 4 > self.limit or ctx.levels + 1 > self.most_levels or ctx.find("fork"):
            return None
        cell, count, thread = self.unique("cell"), self.unique("k"), self.unique("f")
        number = Expr("i", [self.value(ctx, "i", 1), " & 3"], (), 8, [8, 0])
        inner = ctx.inner(thread=Thread(None, 0), mult=ctx.runs() * 4, access={})
        inner.thread.forks += 1
        known = self.accumulator_call(inner, self.value(inner, "i", 1))
        inner.scopes[-1][thread] = Variable(thread, "int", inner.thread, mutable=False)
        each = self.accumulator_call(inner, self.value(inner, "i", 1))
        body = [Stmt([f"int {thread} = fork({count});"], ("fork",)), Stmt([each, ";"]),
                Stmt([f"if (atomic_sub({cell}[0], 1) != 1) ", Block([Stmt(["exit;"], ("exit",))])]),
                Stmt([known, ";"])]
        return [Stmt([Block([
            Stmt([f"SRAM<int, 1> {cell};"]), Stmt([f"int {count} = ", number, ";"]),
            Stmt([f"{cell}[0] = {count};"]),
            Stmt(["foreach (1) ", Block(body, " int one =>"), ";"], ("last thread of a fork",))])], ("block",))]

    # --- functions ---

    def function(self, name):
        kind = self.pick(["i", "i", "i", "f", None]) if self.floats else self.pick(["i", "i", None])
        type_ = {"f": "float", None: "void"}.get(kind) or self.pick(INTEGERS)
        f = Function(name, kind, type_)
        f.count = self.pick([0, 0, 4, 8, 16])
        own = self.unique("own") if f.count else None
        thread = Thread(own, f.count, None, "function")
        ctx = Context(thread)
        ctx.scopes = [dict(self.globals), {}]
        # Room for callers: what a function repeats must leave them something.
        f.cost = self.pick([1, 4, 12, 24])
        ctx.mult = self.limit // f.cost
        ctx.levels = self.most_levels - self.pick([1, 2, 3])
        f.levels = self.most_levels - ctx.levels
        ctx.result = kind
        shown = [f"int {own}"] if own else []
        tags = ["function", "function that writes"] if own else ["function"]
        for _ in range(self.random.randint(0, 3)):
            t = "float" if self.floats and self.chance(0.2) else self.pick(INTEGERS)
            parameter, _ = self.declare(ctx, t)
            f.parameters.append(t)
            shown.append(f"{t} {parameter}")
            tags.append(f"parameter of {t}")
        body = self.block(ctx, 5)
        if kind:
            body.parts.append(self.returning(ctx))
        self.functions.append(f)
        return Stmt([f"{type_} {name}({', '.join(shown)}) ", body], tuple(tags))

    def forking_function(self, name, copies):
        f = Function(name, "i", "int")
        f.forks, f.copies, f.parameters = True, copies, ["int"]
        f.cost, f.levels = 1, 1
        value, old = self.unique("n"), self.unique("f")
        ctx = Context(Thread(None, 0, None, "function"))
        ctx.scopes = [dict(self.globals), {value: Variable(value, "int", ctx.thread)}]
        # What it returns says which copy goes on, so no other return.
        ctx.mult, ctx.levels, ctx.can_return = self.limit, self.most_levels - 1, False
        body = [Stmt([f"int {old} = fork({value} & {copies - 1});"], ("fork",))]
        ctx.scopes[-1][old] = Variable(old, "int", ctx.thread, mutable=False)
        ctx.thread.forks += 1
        body += self.statement(ctx)
        body.append(Stmt([f"return {old};"], ("return value",)))
        self.functions.append(f)
        return Stmt([f"int {name}(int {value}) ", Block(body)], ("function",))
