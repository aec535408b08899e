"""Makes a failing random program smaller while it fails in the same way.

Works on the generator's tree with edits that know nothing of the language: what does not compile, or
races, is rejected like any other program and the edit is taken back. Passes over the tree repeat
until none helps: statements taken out in halves, then quarters and so on; a block in place of the
statement that owns it; operands or constants in place of expressions; smaller numbers.
"""
import re
import struct
import time

from differential import read
from tree import LOWEST, Block, Expr, File, Stmt

CODES = {"i32": "i", "u32": "I", "i16": "h", "u16": "H", "i8": "b", "u8": "B", "f32": "f"}
SHOWN = 64  # elements of an expected output that a file spells out


class Reducer:
    def __init__(self, program, verdict, runner, seconds):
        self.program, self.verdict, self.runner = program, verdict, runner
        self.end = time.monotonic() + seconds

    def fails(self):
        return self.runner.check(self.program, only=self.verdict.run).same_as(self.verdict)

    def over(self):
        return time.monotonic() > self.end

    def attempt(self, node, attribute, value):
        """Sets an attribute; whether the program still fails with it, else it is as before."""
        old = getattr(node, attribute)
        setattr(node, attribute, value)
        if self.over() or not self.fails():
            setattr(node, attribute, old)
            return False
        return True

    def attempt_parts(self, node, parts, need=None):
        old = node.parts, node.need
        node.parts, node.need = parts, need or [LOWEST] * len(parts)
        if self.over() or not self.fails():
            node.parts, node.need = old
            return False
        return True

    def run(self):
        while not self.over():
            before = self.program.text()
            self.statements()
            self.structure()
            self.expressions()
            self.numbers()
            self.data()
            if self.program.text() == before:
                break

    def nodes(self, kind):
        return [n for n in self.program.tree.walk() if isinstance(n, kind)]

    # --- edits ---

    def statements(self):
        for block in self.nodes((Block, File)):
            size = max(1, len(block.parts) // 2)
            while size >= 1 and not self.over():
                at = 0
                while at < len(block.parts):
                    if not self.attempt_parts(block, block.parts[:at] + block.parts[at + size:]):
                        at += size
                size //= 2

    def structure(self):
        """Blocks in place of what owns them, and shorter chains of else."""
        for block in self.nodes(Block):
            at = 0
            while at < len(block.parts) and not self.over():
                statement = block.parts[at]
                inner = [c for c in statement.children() if isinstance(c, (Block, Stmt))]
                tries = []
                for c in inner:
                    content = c.parts if isinstance(c, Block) else [c]
                    start = [Stmt([statement.hoist])] if statement.hoist else []
                    tries += [start + content, [Stmt([Block(start + content)])]]
                if isinstance(statement.parts[0], Block) and len(statement.parts) == 1:
                    tries = tries[:1]  # itself again
                if any(self.attempt_parts(block, block.parts[:at] + t + block.parts[at + 1:]) for t in tries):
                    continue
                cuts = [i for i, p in enumerate(statement.parts) if isinstance(p, str) and p.startswith(" else")]
                for i in cuts:
                    if i < len(statement.parts) and self.attempt_parts(statement, statement.parts[:i],
                                                                       statement.need[:i]):
                        break
                at += 1

    def expressions(self):
        todo = [self.program.tree]
        while todo and not self.over():
            node = todo.pop()
            for i in range(len(node.parts)):
                part = node.parts[i]
                if isinstance(part, Expr):
                    self.simplify(node, i)
                if not isinstance(node.parts[i], str):
                    todo.append(node.parts[i])

    def simplify(self, node, i):
        """Replaces the i'th part, an expression, by something smaller as long as that works."""
        while not self.over():
            part = node.parts[i]
            if part.parts in (["0"], ["1"]):
                return
            options = [Expr("i", ["0"]), Expr("i", ["1"]), *(e for e in part.children() if isinstance(e, Expr))]
            if not any(self.attempt_parts(node, [*node.parts[:i], o, *node.parts[i + 1:]], node.need) for o in options):
                return

    def numbers(self):
        """Smaller numbers in the text of statements and operators: sizes, trip counts, masks."""
        for node in self.nodes((Stmt, Expr)):
            for i, part in enumerate(node.parts):
                if not isinstance(part, str):
                    continue
                for match in reversed(list(re.finditer(r"(?<![\w.])\d+", part))):
                    n = int(match[0])
                    for smaller in dict.fromkeys([0, 1, 2, n // 2, n - 1]):
                        if 0 <= smaller < n:
                            text = node.parts[i][:match.start()] + str(smaller) + node.parts[i][match.end():]
                            if self.attempt_parts(node, [*node.parts[:i], text, *node.parts[i + 1:]], node.need):
                                break

    def data(self):
        """Arguments that nobody names go; contents become zeros where they do not matter."""
        main = next((s for s in self.program.tree.parts if str(s.parts[0]).startswith("void main(")), None)
        for argument in list(self.program.arguments) if main else []:
            rest = [a for a in self.program.arguments if a != argument]
            old = main.parts[0]
            main.parts[0] = f"void main({', '.join(f'{t} {n}' for n, t, _ in rest)}) "
            if not self.attempt(self.program, "arguments", rest):
                main.parts[0] = old
        for a in self.program.arrays():
            if a.content:
                for simple in ("0 0 0 0", " ".join(["0"] * a.size)):
                    if a.content == simple or self.attempt(a, "content", simple):
                        break


def reduced(program, verdict, runner, seconds):
    """Makes `program` smaller in place."""
    Reducer(program, verdict, runner, seconds).run()


def write(path, program, verdict, runner):
    """A file that tests/run_program.py can run: what the interpreter gives is what is expected."""
    final = runner.check(program, only=verdict.run)
    outputs = final.outputs or read(runner.folder / "first")
    lines = [f"// Random program {program.seed}. {verdict.run}: {verdict.what}."]
    lines += program.header().splitlines()
    for a in program.declared():
        content = outputs.get(a.name)
        kind = program.file_type(a)
        if content is not None and len(content) // struct.calcsize(CODES[kind]) <= SHOWN:
            values = struct.unpack(f"<{len(content) // struct.calcsize(CODES[kind])}{CODES[kind]}", content)
            lines.append(f"// out: {a.name} = {kind} {' '.join(map(str, values))}")
    path.write_text("\n".join(lines) + "\n\n" + program.body())
