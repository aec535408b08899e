"""Random statements of one thread. Each maker gives a list of statements, or None where it cannot stand."""
from context import Variable
from expressions import ASSIGNMENTS, INTEGERS, Expressions, binary, literal
from tree import Block, Expr, Stmt

# Some are contextual words of the language, some the names of built-ins, which these then hide.
NAMES = ["a", "b", "d", "e", "g", "p", "q", "r", "t", "v", "x", "y", "z", "by", "to", "reduce", "scalar", "unroll",
         "pragma", "clz", "rotl", "mulhi", "next", "threads"]
COMMON = {"declaration": 16, "assignment": 16, "step": 5, "store": 18, "atomic": 5, "accumulate": 7, "if": 14,
          "while": 5, "do": 3, "for": 6, "endless": 3, "break": 2, "continue": 2, "return": 1, "exit": 1, "block": 3,
          "empty": 1, "call": 5, "foreach": 10, "reduction": 6, "replicate": 5, "fork": 5, "fork_loop": 4,
          "last_thread": 1, "sram": 7, "read_view": 4, "write_view": 4, "modify_view": 4, "read_it": 4,
          "peek_read_it": 3, "write_it": 4, "manual_write_it": 3, "move": 7}
TAGS = (["declaration", "declaration without value", "two declarators", "shadowing", "pragma threads", "pragma scalar",
         "pragma vector", "pragma unroll", "pragma fixed", "pragma eliminate_hierarchy"]
        + [f"variable of {t}" for t in [*INTEGERS, "float"]]
        + [f"statement {op}" for op in ASSIGNMENTS] + [f"statement {op}" for op in ("x++", "x--", "++x", "--x")]
        + ["if", "if else", "else if", "if without braces", "while", "while with step in condition", "do while", "for",
           "for downwards", "for with two variables", "while (true)", "for (;;)", "break", "continue", "return",
           "return value", "exit", "block", "empty statement", "statement after a jump", "call statement"])


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
                if self.chance(0.6):
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
        if self.chance(0.05):
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
