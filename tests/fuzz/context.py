"""What a place in a random program knows: names, memories, its thread, and how often it runs."""


class Variable:
    def __init__(self, name, type_, thread, mutable=True, tag=None):
        self.name, self.type, self.thread, self.mutable, self.tag = name, type_, thread, mutable, tag
        self.kind = "f" if type_ == "float" else "i"


class Memory:
    """On-chip memory or an iterator. `moves` is how often a writer may still advance."""

    def __init__(self, name, form, element, size, thread, array=None):
        self.name, self.form, self.element, self.size, self.thread = name, form, element, size, thread
        self.kind = "f" if element == "float" else "i"
        self.array = array
        self.moves = 0
        self.declared_in = 1  # how often its declaration runs
        self.free_reads = True

    def is_iterator(self):
        return self.form.endswith("It")


class Access:
    """What a thread may do with a memory: `own` elements base..base+count, `read` any, or one atomic."""

    def __init__(self, mode, base, count, thread, operators=None):
        self.mode, self.base, self.count, self.thread, self.operators = mode, base, count, thread, operators
        self.forks = thread.forks

    def holds(self):
        # The copies of a thread that forked since would all own the same elements.
        return self.mode != "own" or self.thread.forks == self.forks


class Thread:
    """The text of one thread: main, the child of a foreach, or a function.

    `own` names the variable with the first of the `count` elements that it owns in every output
    array; `width` the one that a fork divides. `factor` is how many copies the `forks` make at most.
    """

    def __init__(self, own, count, width=None, kind="foreach"):
        self.own, self.count, self.width, self.kind = own, count, width, kind
        self.factor = 1
        self.forks = 0


class Context:
    """A place in the program. `mult` bounds how often it runs."""

    def __init__(self, thread):
        self.thread = thread
        self.scopes = [{}]
        self.access = {}
        self.mult = 1
        self.levels = 1
        self.loop = False  # break and continue may stand here
        self.in_loop = False
        self.result = None  # kind of value that return takes: None, "i", "f", "exact" or "factor" (see result_value)
        self.can_return = True
        self.frozen = frozenset()  # arrays that must not be written

    def inner(self, **changes):
        out = Context.__new__(Context)
        out.__dict__.update(self.__dict__)
        out.scopes = [*self.scopes, {}]
        out.access = dict(self.access)
        out.__dict__.update(changes)
        return out

    def runs(self):
        return self.mult * self.thread.factor

    def find(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def visible(self):
        seen = {}
        for scope in reversed(self.scopes):
            for name, what in scope.items():
                seen.setdefault(name, what)
        return list(seen.values())

    def variables(self, kind=None):
        return [v for v in self.visible() if isinstance(v, Variable) and kind in (None, v.kind)]

    def assignable(self, kind=None):
        return [v for v in self.variables(kind) if v.mutable and v.thread is self.thread]

    def memories(self):
        """Visible memories with what this thread may do with them."""
        out = []
        for m in self.visible():
            access = self.access.get(m) if isinstance(m, Memory) else None
            if access and access.holds() and not (m.is_iterator() and m.thread is not self.thread):
                out.append((m, access))
        return out

    def has_open_memory(self):
        return any(isinstance(m, Memory) and m.thread is self.thread for s in self.scopes for m in s.values())
