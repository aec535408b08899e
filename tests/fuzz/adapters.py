"""Random on-chip memories, views and iterators, and what is done with them.

A tile of an output array stays within what its thread owns. `Memory.moves` counts how often a writer
may still advance, a loop's trips included.
"""
from context import Access, Memory, Variable
from expressions import INTEGERS, binary, literal
from statements import Statements
from tree import Block, Expr, Stmt

ITERATOR_SIZES = [4, 4, 4, 8, 8, 16, 32, 64, 128, 256]
TAGS = ([f"write of {m}" for m in ("DRAM", "SRAM", "WriteView", "ModifyView", "WriteIt", "ManualWriteIt")]
        + ["SRAM", "ReadView", "WriteView", "ModifyView", "ReadIt", "PeekReadIt", "WriteIt", "ManualWriteIt"]
        + ["view with valid", "view without valid", "ReadView of own DRAM", "ReadIt of own DRAM", "it++", "it += k",
           "next(last)", "next(false)", "next(true)"])


class Adapters(Statements):
    def open(self, ctx, memory, access):
        ctx.scopes[-1][memory.name] = memory
        ctx.access[memory] = access
        memory.declared_in = ctx.runs()

    def used(self, ctx, memory):
        """A few accesses right behind a declaration, so that most memories have some."""
        made = self.sweep(ctx, memory) if self.chance(0.3) else []
        if memory.form == "SRAM" and memory.element in ("int", "uint") and self.chance(0.4):
            made += self.make_atomic(ctx) or []
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
