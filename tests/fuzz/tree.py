"""The tree that a random program is made of, its text, and what it covers.

A node is a list of parts, each text or a node. The reducer changes trees without knowing the language:
it takes statements out of blocks, puts blocks in place of the statements that own them, and operands
or constants in place of expressions.
"""

PRIMARY, UNARY, ASSIGN, LOWEST = 20, 18, 2, 1


class Node:
    """`need` holds for each part the precedence below which an expression gets parentheses."""

    __slots__ = ("parts", "need", "tags")

    def __init__(self, parts, tags=(), need=None):
        self.parts = list(parts)
        self.need = need or [LOWEST] * len(self.parts)
        self.tags = tags

    def children(self):
        return [p for p in self.parts if isinstance(p, Node)]

    def walk(self):
        yield self
        for child in self.children():
            yield from child.walk()


class Expr(Node):
    """`kind` is "i" for integers and bool, "f" for float; `prec` how tightly its operator binds."""

    __slots__ = ("kind", "prec")

    def __init__(self, kind, parts, tags=(), prec=PRIMARY, need=None):
        super().__init__(parts, tags, need)
        self.kind = kind
        self.prec = prec


class Stmt(Node):
    """`hoist` is the declaration that the statement's block needs when it stands alone."""

    __slots__ = ("hoist",)

    def __init__(self, parts, tags=(), hoist=""):
        super().__init__(parts, tags)
        self.hoist = hoist


class Block(Node):
    """Statements in braces; `head` is what stands behind the opening one, as the index of a foreach."""

    __slots__ = ("head",)

    def __init__(self, statements, head="", tags=()):
        super().__init__(statements, tags)
        self.head = head

    def insert_first(self, statements):
        """Behind the pragma, which must stay first."""
        first = self.parts[0].parts[0] if self.parts else ""
        at = 1 if isinstance(first, str) and first.startswith("pragma(") else 0
        self.parts[at:at] = statements


    def forget_pragma(self, name):
        first = self.parts[0].parts[0] if self.parts else ""
        if not isinstance(first, str) or not first.startswith("pragma("):
            return
        names = [n for n in first[len("pragma("):-len(");")].split(", ") if n != name]
        tags = tuple(t for t in self.parts[0].tags if t != f"pragma {name}")
        self.parts[:1] = [Stmt([f"pragma({', '.join(names)});"], tags)] if names else []


class File(Node):
    """Top-level items, one per part: Stmt nodes."""

    __slots__ = ()


def text_of(node, indent=0):
    pad = "  " * (indent + 1)
    if isinstance(node, Block):
        lines = "".join(f"{pad}{text_of(s, indent + 1)}\n" for s in node.parts)
        return "{" + node.head + "\n" + lines + "  " * indent + "}"
    if isinstance(node, File):
        return "".join(text_of(item) + "\n" for item in node.parts)
    out = ""
    for part, need in zip(node.parts, node.need):
        if isinstance(part, Node):
            piece = text_of(part, indent)
            if isinstance(part, Expr) and part.prec < need:
                piece = f"({piece})"
        else:
            piece = part
        # `- -x` is not `--x`.
        if out and piece and out[-1] == piece[0] and piece[0] in "+-&|":
            out += " "
        out += piece
    return out


def coverage(node, counts):
    for n in node.walk():
        for tag in n.tags:
            counts[tag] = counts.get(tag, 0) + 1
