"""Random statements of one thread. Each maker gives a list of statements, or None where it cannot stand."""
from expressions import ASSIGNMENTS, COMPARISONS, INTEGERS, Access, Expressions, Memory, Variable, binary, literal
from tree import Block, Expr, Stmt

# Some are contextual words of the language, some the names of built-ins, which these then hide.
NAMES = ["a", "b", "d", "e", "g", "p", "q", "r", "t", "v", "x", "y", "z", "by", "to", "reduce", "scalar", "unroll",
         "pragma", "clz", "rotl", "mulhi", "next", "threads"]
ITERATOR_SIZES = [4, 4, 4, 8, 8, 16, 32, 64, 128, 256]
COMMON = {"declaration": 16, "assignment": 16, "step": 5, "store": 18, "atomic": 5, "accumulate": 7, "if": 14,
          "while": 5, "do": 3, "for": 6, "endless": 3, "break": 2, "continue": 2, "return": 1, "exit": 1, "block": 3,
          "empty": 1, "call": 5, "foreach": 10, "reduction": 6, "replicate": 5, "fork": 5, "fork_loop": 4,
          "last_thread": 1, "sram": 5, "read_view": 4, "write_view": 4, "modify_view": 4, "read_it": 4,
          "peek_read_it": 3, "write_it": 4, "manual_write_it": 3, "move": 4}
TAGS = (["declaration", "declaration without value", "two declarators", "shadowing", "pragma threads", "pragma scalar",
         "pragma vector", "pragma unroll", "pragma fixed", "pragma eliminate_hierarchy"]
        + [f"variable of {t}" for t in [*INTEGERS, "float"]]
        + [f"statement {op}" for op in ASSIGNMENTS] + [f"statement {op}" for op in ("x++", "x--", "++x", "--x")]
        + [f"write of {m}" for m in ("DRAM", "SRAM", "WriteView", "ModifyView", "WriteIt", "ManualWriteIt")]
        + ["if", "if else", "else if", "if without braces", "while", "while with step in condition", "do while", "for",
           "for downwards", "for with two variables", "while (true)", "for (;;)", "break", "continue", "return",
           "return value", "exit", "block", "empty statement", "statement after a jump", "call statement"]
        + ["SRAM", "ReadView", "WriteView", "ModifyView", "ReadIt", "PeekReadIt", "WriteIt", "ManualWriteIt"]
        + ["view with valid", "view without valid", "ReadView of own DRAM", "ReadIt of own DRAM", "it++", "it += k",
           "next(last)", "next(false)", "next(true)"])


class Statements(Expressions):
    # --- blocks ---

    def block(self, ctx, most=4, owner="other", head=""):
        """`ctx` is the block's own context. It gets a share of the statements that are left."""
        others = self.left * (1 - self.random.uniform(0.4, 0.9))
        self.left -= others
        statements = self.pragma(owner)
        for _ in range(self.random.randint(1, most)):
            made = self.statement(ctx)
            statements += made
            if made and self.jumps(made[-1]):
                if self.chance(0.85):
                    break
                statements[-1].tags += ("statement after a jump",)
        self.left += others
        return Block(statements, head)

    @staticmethod
    def jumps(statement):
        return statement.tags[:1] and statement.tags[0] in ("break", "continue", "return", "return value", "exit")

    def pragma(self, owner):
        if not self.chance(0.12):
            return []
        items = {f"threads={self.random.randint(1, 8)}": "threads"} if self.chance(0.5) else {}
        if owner != "other" and self.chance(0.5):
            link = self.pick(["scalar", "vector"])
            items[link] = link
        if owner in ("foreach", "loop") and self.chance(0.5):
            items[f"unroll={self.random.randint(1, 4)}"] = "unroll"
        if owner == "foreach" and self.chance(0.5):
            items["eliminate_hierarchy"] = "eliminate_hierarchy"
        if owner == "replicate" and self.chance(0.7):
            items["fixed"] = "fixed"
        names = list(items)
        self.random.shuffle(names)
        return [Stmt([f"pragma({', '.join(names)});"], tuple(f"pragma {items[n]}" for n in names))] if names else []

    def statement(self, ctx):
        self.left -= 1
        for _ in range(20):
            name = self.weighted(COMMON if self.left > 0 else {"assignment": 3, "store": 4, "accumulate": 2})
            made = getattr(self, f"make_{name}")(ctx)
            if made:
                return made
        return [Stmt([";"], ("empty statement",))]

    def unique(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def declare(self, ctx, type_):
        """A new variable, perhaps with the name of one around. Call when its value is made."""
        here = ctx.scopes[-1]
        free = [n for n in NAMES if n not in here]
        name = self.pick(free) if free else self.unique("n")
        tags = [f"variable of {type_}"]
        if isinstance(ctx.find(name), Variable):
            tags.append("shadowing")
        here[name] = Variable(name, type_, ctx.thread)
        return name, tags

    # --- variables ---

    def make_declaration(self, ctx):
        type_ = "float" if self.floats and self.chance(0.25) else self.pick(INTEGERS[:7] + ["int"] * 5 + INTEGERS)
        if self.chance(0.12):
            name, tags = self.declare(ctx, type_)
            return [Stmt([f"{type_} {name};"], ("declaration without value", *tags))]
        value = self.value(ctx)
        name, tags = self.declare(ctx, type_)
        parts = [f"{type_} {name} = ", value]
        if self.chance(0.1):
            second = self.value(ctx)
            other, more = self.declare(ctx, type_)
            parts += [f", {other} = ", second]
            tags += [*more, "two declarators"]
        return [Stmt([*parts, ";"], ("declaration", *tags))]

    def make_assignment(self, ctx):
        names = ctx.assignable()
        if not names:
            return None
        v = self.pick(names)
        made = self.assigned(ctx, None, Expr(v.kind, [v.name]), "statement")
        return [Stmt([made, ";"])]

    def make_step(self, ctx):
        target = self.place(ctx, None, 1)
        return target and [Stmt([self.stepped(target, "statement"), ";"])]

    def make_store(self, ctx):
        target = self.place(ctx, None, 2, memory_only=True)
        if target and self.chance(0.25):
            value = self.element(ctx, target.kind, 1)
            if value:
                return [Stmt([target, " = ", value, ";"], ("statement =",))]
        return target and [Stmt([self.assigned(ctx, None, target, "statement"), ";"])]

    def make_atomic(self, ctx):
        made = self.own_atomic(ctx, 2)
        if not made:
            return None
        if self.chance(0.3):
            return [Stmt([made, ";"])]
        name, tags = self.declare(ctx, "int")
        return [Stmt([f"int {name} = ", made, ";"], tuple(tags))]

    def accumulator_call(self, ctx, value):
        """An atomic on data of all threads: one commuting operator per memory, the old value unused."""
        ways = [(a.name, a.operators, "", a.size, "DRAM") for a in self.accumulators]
        ways += [(m.name, a.operators, a.base, a.count, "SRAM") for m, a in ctx.memories() if a.mode == "atomic"] * 4
        name, operators, base, count, where = self.pick(ways)
        operator = self.pick(operators)
        return Expr("i", [f"atomic_{operator}(", self.indexed(ctx, name, base, count, "i", ()), ", ", value, ")"],
                    (f"atomic_{operator}", f"atomic on {where}", "shared atomic"))

    def make_accumulate(self, ctx):
        made = self.accumulator_call(ctx, self.value(ctx, "i"))
        return [Stmt([*([f"int {self.unique('old')} = "] if self.chance(0.5) else []), made, ";"])]

    # --- branches and jumps ---

    def make_if(self, ctx):
        if self.chance(0.1):
            target = self.place(ctx)
            if target:
                inner = Stmt([self.assigned(ctx, 1, target, "statement"), ";"])
                return [Stmt(["if (", self.condition(ctx), ") ", inner], ("if without braces",))]
        parts = ["if (", self.condition(ctx), ") ", self.block(ctx.inner(), 3, "if")]
        tags = ["if"]
        while self.chance(0.2):
            parts += [" else if (", self.condition(ctx), ") ", self.block(ctx.inner(), 3, "if")]
            tags.append("else if")
        if self.chance(0.4):
            parts += [" else ", self.block(ctx.inner(), 3, "if")]
            tags.append("if else")
        return [Stmt(parts, tuple(tags))]

    def make_block(self, ctx):
        return [Stmt([self.block(ctx.inner(), 3)], ("block",))]

    def make_empty(self, ctx):
        return [Stmt([";"], ("empty statement",))]

    def guarded(self, ctx, jump):
        """Most jumps are conditional, so that something follows them."""
        if self.chance(0.04):
            return [jump]
        return [Stmt(["if (", self.condition(ctx), ") ", Block([jump])], ("if",))]

    def at_times(self, ctx, statement):
        """Under a condition now and then: what an iterator passes without a write is 0."""
        if self.chance(0.5):
            return statement
        return Stmt(["if (", self.condition(ctx), ") ", Block([statement])], ("if",))

    def make_break(self, ctx):
        return self.guarded(ctx, Stmt(["break;"], ("break",))) if ctx.loop else None

    def make_continue(self, ctx):
        return self.guarded(ctx, Stmt(["continue;"], ("continue",))) if ctx.loop else None

    def make_exit(self, ctx):
        rare = ctx.thread.kind == "main" and self.chance(0.85)
        return None if rare else self.guarded(ctx, Stmt(["exit;"], ("exit",)))

    def make_return(self, ctx):
        if not ctx.can_return or (ctx.thread.kind == "main" and self.chance(0.85)):
            return None
        return self.guarded(ctx, self.returning(ctx))

    def returning(self, ctx):
        if ctx.result is None:
            return Stmt(["return;"], ("return",))
        return Stmt(["return ", self.result_value(ctx), ";"], ("return value",))

    def result_value(self, ctx):
        if ctx.result in ("i", "f"):
            return self.value(ctx, ctx.result)
        # Floats whose sums and extremes, or products, do not depend on the order of the children.
        if ctx.result == "factor":
            return Expr("f", [self.value(ctx, "i", 1), " & 1 ? 2.0 : ", self.pick(["1.0", "-1.0"])], (), 3, [8, 0, 0])
        small = Expr("i", [self.value(ctx, "i", 1), " & 1023"], (), 8, [8, 0])
        return self.converted("float", small, "f")

    def make_call(self, ctx):
        found = self.callable(ctx, [None, "i", "f"])
        if not found:
            return None
        return [Stmt([self.called(ctx, self.pick(found), 1), ";"], ("call statement",))]

    # --- loops: a counter that nothing else writes bounds each ---

    def trips(self, ctx):
        most = self.limit // ctx.runs()
        if most < 2 or ctx.levels >= self.most_levels:
            return 0
        if ctx.mult == 1 and self.chance(0.04):
            return min(most, self.pick([17, 40, 70, 300]))
        return min(most, self.pick([0, 1, 1, 2, 2, 3, 3, 4, 5]))

    def loop_body(self, ctx, trips, first=None, counter=None, tail=None):
        """`first` and what `tail` makes of the body's context stand at its ends."""
        if counter:
            ctx.scopes[-1][counter] = Variable(counter, "int", ctx.thread, mutable=False)
        inner = ctx.inner(mult=ctx.mult * max(1, trips), levels=ctx.levels + 1, loop=True, in_loop=True)
        body = self.block(inner, 4 if trips < 16 else 1, "loop")
        if first:
            body.insert_first([first])
        if tail:
            body.parts += tail(inner)
        return body

    def make_while(self, ctx):
        trips = self.trips(ctx)
        if ctx.levels >= self.most_levels or (not trips and self.chance(0.8)):
            return None
        counter = self.unique("c")
        start = Stmt([f"int {counter} = 0;"])
        wide = ctx.inner(mult=ctx.mult * (trips + 1))
        if self.chance(0.25):
            head = Expr("i", [f"{counter}++ < ", literal(str(trips))], (), 10)
            body = self.loop_body(ctx, trips, None, counter)
            tag = "while with step in condition"
        else:
            head = Expr("i", [f"{counter} < ", literal(str(trips))], (), 10)
            body = self.loop_body(ctx, trips, Stmt([f"{counter}++;"]), counter)
            tag = "while"
        if self.chance(0.4):
            other = self.condition(wide)
            head = binary("&&", *([head, other] if self.chance(0.7) else [other, head]))
        return [start, Stmt(["while (", head, ") ", body], (tag,))]

    def make_do(self, ctx):
        trips = self.trips(ctx)
        if not trips:
            return None
        counter = self.unique("c")
        body = self.loop_body(ctx, trips, Stmt([f"{counter}++;"]), counter)
        test = Expr("i", [f"{counter} < ", literal(str(trips))], (), 10)
        if self.chance(0.5):
            test = binary("&&", test, self.condition(ctx.inner(mult=ctx.mult * trips)))
        return [Stmt([f"int {counter} = 0;"]), Stmt(["do ", body, " while (", test, ");"], ("do while",))]

    def make_for(self, ctx):
        trips = self.trips(ctx)
        if ctx.levels >= self.most_levels:
            return None
        counter = self.unique("j")
        scope = ctx.inner()
        type_ = self.pick(["int", "int", "int", "uint", "short", "char", "int8"])
        step = self.pick([1, 1, 2, 3])
        down = type_ in ("int", "short", "int8") and trips < 30 and self.chance(0.25)
        if trips * step > 100:
            type_ = "int"
        scope.scopes[-1][counter] = Variable(counter, type_, ctx.thread, mutable=False)
        start, tags = [f"{type_} {counter} = 0"], ["for"]
        test = Expr("i", [f"{counter} < ", literal(str(trips * step))], (), 10)
        advance = f"{counter} += {step}" if step > 1 else self.pick([f"{counter}++", f"++{counter}"])
        if down:
            start, tags = [f"{type_} {counter} = ", literal(str(trips))], ["for", "for downwards"]
            test = Expr("i", [f"{counter} > 0"], (), 10)
            advance = f"{counter}--"
        if self.chance(0.15):
            value = self.value(ctx, None, 1)
            other, more = self.declare(scope, type_)
            start += [f", {other} = ", value]
            tags += ["for with two variables", *more]
        if self.chance(0.3):
            test = binary("&&", test, self.condition(scope.inner(mult=ctx.mult * (trips + 1))))
        body = self.loop_body(scope, trips)
        hoist = f"{type_} {counter} = 0;"
        return [Stmt(["for (", *start, "; ", test, f"; {advance}) ", body], tuple(tags), hoist)]

    def make_endless(self, ctx):
        trips = self.trips(ctx)
        if not trips:
            return None
        counter = self.unique("c")
        body = self.loop_body(ctx, trips, Stmt([f"if ({counter}++ == ", literal(str(trips)), ") ",
                                                Block([Stmt(["break;"], ("break",))])]), counter)
        head, tag = ("while (true) ", "while (true)") if self.chance(0.5) else ("for (;;) ", "for (;;)")
        return [Stmt([f"int {counter} = 0;"]), Stmt([head, body], (tag,))]

    # --- on-chip memory and adapters ---

    def open(self, ctx, memory, access):
        ctx.scopes[-1][memory.name] = memory
        ctx.access[memory] = access
        memory.declared_in = ctx.runs()

    def used(self, ctx, memory):
        """A few accesses right behind a declaration, so that most memories have some."""
        made = self.sweep(ctx, memory) if self.chance(0.3) else []
        for _ in range(self.random.choice([0, 1, 2, 3])):
            access = ctx.access[memory]
            element = self.indexed(ctx, memory.name, access.base, access.count, memory.kind, ())
            out = self.place(ctx, memory.kind, 1)
            if memory.form != "ReadView" and (self.chance(0.6) or not out):
                element.tags = (f"write of {memory.form}",)
                made.append(Stmt([self.assigned(ctx, None, element, "statement"), ";"]))
            elif out:
                element.tags = (f"read of {memory.form}",)
                made.append(Stmt([out, self.pick([" = ", " += "]), element, ";"]))
        return made

    def sweep(self, ctx, memory):
        """Writes and folds every element, so that none goes unseen."""
        target = self.place(ctx, memory.kind, 0)
        if ctx.runs() * memory.size > self.limit or ctx.levels >= self.most_levels or not target:
            return []
        counter, sum_ = self.unique("j"), self.unique("h")
        at = f"{memory.name}[{counter}]"
        body = [Stmt([f"{sum_} = {sum_} * 3 + {at};"], (f"read of {memory.form}",))]
        if memory.form != "ReadView":
            write = Stmt([f"{at} += {counter} * 5 + 1;"], (f"write of {memory.form}",))
            body = [write, *body] if self.chance(0.7) else [*body, self.at_times(ctx, write)]
        start = Stmt([f"{'float' if memory.kind == 'f' else 'int'} {sum_} = 0;"])
        loop = Stmt([f"for (int {counter} = 0; {counter} < ", literal(str(memory.size)), f"; {counter}++) ",
                     Block(body)], ("for",), f"int {counter} = 0;")
        return [start, loop, Stmt([target, f" = {sum_};"])]

    def make_sram(self, ctx):
        type_ = "float" if self.floats and self.chance(0.15) else self.pick(["int", "int", "uint", *INTEGERS])
        text, size = self.pick([("1", 1), ("2", 2), ("4", 4), ("4", 4), ("5", 5), ("8", 8), ("8", 8), ("16", 16),
                                ("(1 << 3)", 8), ("2 * 3", 6), *self.constant_sizes])
        m = Memory(self.unique("m"), "SRAM", type_, size, ctx.thread)
        self.open(ctx, m, Access("own", "", size, ctx.thread))
        return [Stmt([f"SRAM<{type_}, {text}> {m.name};"], ("SRAM",)), *self.used(ctx, m)]

    def own_tile(self, ctx, array, size):
        """Base and valid elements of a tile that stays within what this thread owns."""
        first = self.random.randrange(ctx.thread.count) if self.chance(0.5) else 0
        room = ctx.thread.count - first
        base = f"{ctx.thread.own} + {first}" if first else ctx.thread.own
        if size <= room and self.chance(0.6):
            return [base], "view without valid"
        most = min(room, size)
        if self.chance(0.5):
            valid = literal(str(self.random.randint(0, most)))
        else:
            valid = Expr("i", [self.value(ctx, "i", 1), f" & {(1 << most.bit_length() - 1) - 1}"], (), 8, [8, 0])
        return [f"{base}, ", valid], "view with valid"

    def view(self, ctx, form, array, own):
        size = self.pick([1, 2, 3, 4, 4, 8, 8, 16, 32])
        if own:
            arguments, tag = self.own_tile(ctx, array, size)
        else:
            arguments, tag = [self.value(ctx, "i")], "view without valid"
            if self.chance(0.4):
                arguments += [", ", self.value(ctx, "i", 1)]
                tag = "view with valid"
        m = Memory(self.unique("w"), form, array.element, size, ctx.thread, array)
        self.open(ctx, m, Access("own", "", size, ctx.thread))
        tags = (form, tag, "ReadView of own DRAM") if own and form == "ReadView" else (form, tag)
        return [Stmt([f"{form}<{size}> {m.name}({array.name}, ", *arguments, ");"], tags), *self.used(ctx, m)]

    def make_read_view(self, ctx):
        if ctx.thread.own and self.chance(0.4):
            return self.view(ctx, "ReadView", self.pick(self.outputs), True)
        return self.view(ctx, "ReadView", self.pick(self.inputs), False)

    def writable(self, ctx):
        return [a for a in self.outputs if a.name not in ctx.frozen] if ctx.thread.own else []

    def make_write_view(self, ctx, form="WriteView"):
        arrays = self.writable(ctx)
        return self.view(ctx, form, self.pick(arrays), True) if arrays else None

    def make_modify_view(self, ctx):
        return self.make_write_view(ctx, "ModifyView")

    def make_read_it(self, ctx, form="ReadIt"):
        size = self.pick(ITERATOR_SIZES)
        name = self.unique("it")
        written = {m.array for m in ctx.visible() if isinstance(m, Memory) and m.form.endswith("WriteIt")}
        still = [a for a in self.outputs if a not in written] if ctx.thread.own else []
        if form == "ReadIt" and still and self.chance(0.25):
            # Nothing may write the array while the iterator is open; it moves within what the thread owns.
            array = self.pick(still)
            m = Memory(name, form, array.element, size, ctx.thread, array)
            m.moves, m.free_reads = ctx.thread.count - 1, False
            ctx.frozen = ctx.frozen | {array.name}
            self.open(ctx, m, Access("own", "", size, ctx.thread))
            return [Stmt([f"{form}<{size}> {name}({array.name}, {ctx.thread.own});"], (form, "ReadIt of own DRAM"))]
        array = self.pick(self.inputs)
        m = Memory(name, form, array.element, size, ctx.thread, array)
        if self.chance(0.15):
            position = literal(self.pick(["-1", "-5", "-2147483648", "4294967290u", "2147483645"]))
        else:
            position = self.value(ctx, "i", 1) if self.chance(0.2) else self.index(ctx, array.size)
        self.open(ctx, m, Access("own", "", size, ctx.thread))
        return [Stmt([f"{form}<{size}> {name}({array.name}, ", position, ");"], (form,)), *self.walk(ctx, m)]

    def make_peek_read_it(self, ctx):
        return self.make_read_it(ctx, "PeekReadIt")

    def walk(self, ctx, m):
        """Often a loop that runs along an iterator."""
        trips = self.trips(ctx)
        if not trips or self.chance(0.4):
            return []
        trips = max(trips, min(6, self.limit // ctx.runs()))
        counter = self.unique("c")
        body = self.loop_body(ctx, trips, Stmt([f"{counter}++;"]), counter)
        sum_, target = self.unique("h"), self.place(ctx, m.kind, 0)
        element = f"{m.name}[{counter} & 3]" if m.form == "PeekReadIt" and self.chance(0.5) else f"*{m.name}"
        body.insert_first([Stmt([f"{sum_} = {sum_} * 3 + {element};"], (f"read of {m.form}",))])
        body.parts.append(Stmt([f"{m.name}++;"], ("it++",)))
        test = Expr("i", [f"{counter} < ", literal(str(trips))], (), 10)
        if self.chance(0.7):
            test = binary("&&", test, Expr("i", [f"*{m.name}"], (f"read of {m.form}",), 18))
        made = [Stmt([f"{'float' if m.kind == 'f' else 'int'} {sum_} = 0;"]), Stmt([f"int {counter} = 0;"]),
                Stmt(["while (", test, ") ", body], ("while",))]
        return [*made, Stmt([target, f" = {sum_};"])] if target else made

    def make_write_it(self, ctx):
        arrays = self.writable(ctx)
        if not arrays:
            return None
        array, size = self.pick(arrays), self.pick(ITERATOR_SIZES)
        first = self.random.choice([0, 0, 1, self.random.randrange(ctx.thread.count)]) % ctx.thread.count
        m = Memory(self.unique("o"), "WriteIt", array.element, size, ctx.thread, array)
        m.moves = ctx.thread.count - first
        self.open(ctx, m, Access("own", "", size, ctx.thread))
        made = [Stmt([f"WriteIt<{size}> {m.name}({array.name}, {ctx.thread.own} + {first});"], ("WriteIt",))]
        trips = min(m.moves, self.limit // ctx.runs(), self.pick([2, 4, 5, 9, 20]))
        if trips > 1 and ctx.levels < self.most_levels and self.chance(0.7):
            m.moves -= trips
            counter = self.unique("j")
            scope = ctx.inner()
            scope.scopes[-1][counter] = Variable(counter, "int", ctx.thread, mutable=False)
            body = self.loop_body(scope, trips, tail=lambda inner: [
                self.at_times(inner, Stmt([f"*{m.name} = ", self.value(inner), ";"], ("write of WriteIt",))),
                Stmt([f"{m.name}++;"], ("it++",))])
            made.append(Stmt([f"for (int {counter} = 0; {counter} < ", literal(str(trips)), f"; {counter}++) ", body],
                             ("for",), f"int {counter} = 0;"))
        return made

    def make_manual_write_it(self, ctx):
        """A block of its own: which `next` is the last must be known."""
        arrays = self.writable(ctx)
        if not arrays or ctx.levels >= self.most_levels:
            return None
        array, size = self.pick(arrays), self.pick(ITERATOR_SIZES)
        first = self.random.choice([0, 0, 1, self.random.randrange(ctx.thread.count)]) % ctx.thread.count
        trips = min(ctx.thread.count - first, max(1, self.limit // ctx.runs()), self.pick([2, 4, 5, 9, 20]))
        name, counter = self.unique("o"), self.unique("j")
        scope = ctx.inner()
        m = Memory(name, "ManualWriteIt", array.element, size, ctx.thread, array)
        self.open(scope, m, Access("own", "", size, ctx.thread))
        declared = Stmt([f"ManualWriteIt<{size}> {name}({array.name}, {ctx.thread.own} + {first});"],
                        ("ManualWriteIt",))
        count = Expr("i", [self.value(scope, "i", 1), f" & {trips}"], (), 8, [8, 0])
        inner = scope.inner()
        inner.scopes[-1][counter] = Variable(counter, "int", ctx.thread, mutable=False)
        limit = self.unique("k")
        last, tag = self.pick([(f"{counter} == {limit} - 1", "next(last)"), ("false", "next(false)")])

        def tail(at):
            stores = [self.at_times(at, Stmt([f"*{name} = ", self.value(at), ";"], ("write of ManualWriteIt",)))]
            return [*(stores if self.chance(0.9) else []), Stmt([f"{name}.next({last});"], (tag,))]

        body = self.loop_body(inner, trips, tail=tail)
        loop = Stmt([f"for (int {counter} = 0; {counter} < {limit}; {counter}++) ", body], ("for",),
                    f"int {counter} = 0;")
        statements = [declared, Stmt([f"int {limit} = ", count, ";"]), loop]
        if tag == "next(false)" and trips < ctx.thread.count - first and self.chance(0.5):
            statements += [Stmt([f"*{name} = ", self.value(scope), ";"], ("write of ManualWriteIt",)),
                           Stmt([f"{name}.next(true);"], ("next(true)",))]
        return [Stmt([Block(statements)], ("block",))]

    def skip(self, ctx):
        if self.chance(0.2):
            return literal(self.pick(["4294967295u", "0", "4294967290u", "2147483647", "-4"]))
        return self.identity(ctx) if self.chance(0.5) else self.value(ctx, "i", 1)

    def make_move(self, ctx):
        """Something with an iterator that is open."""
        found = [m for m, _ in ctx.memories() if m.is_iterator()]
        if not found:
            return None
        m = self.pick(found)
        if m.form in ("WriteIt", "ManualWriteIt") and (m.form == "ManualWriteIt" or self.chance(0.4)):
            return [Stmt([f"*{m.name} = ", self.value(ctx), ";"], (f"write of {m.form}",))]
        bounded = m.form == "WriteIt" or not m.free_reads
        if bounded:
            runs = -(-ctx.runs() // m.declared_in)
            if m.moves < runs or (m.form == "WriteIt" and m.array.name in ctx.frozen):
                return None
            m.moves -= runs
        elif self.chance(0.4):
            return [Stmt([f"{m.name} += ", self.skip(ctx), ";"], ("it += k",))]
        return [Stmt([f"{m.name}++;"], ("it++",))]
