"""List the mutants of a module, by cosmic-ray's operators and one more, and draw a sample of them."""

import ast
from dataclasses import dataclass
from hashlib import sha256

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider

# Names to replace have to be given; a decorator here compiles a loop or makes a record, and is tested by every import.
LEFT_OUT = {"VariableReplacer", "VariableInserter", "RemoveDecorator"}


class RemoveStatement(Operator):
    """An operator that puts `pass` in the place of a call, an assignment to a part of something, `raise`, `continue`.

    An assignment to a name is left: without it, the next line that reads the name fails.
    """

    def mutation_positions(self, node):
        if node.type in {"atom_expr", "power"} and node.parent.type == "simple_stmt":
            if any(child.type == "trailer" and child.children[0] == "(" for child in node.children):
                yield node.start_pos, node.end_pos
        elif node.type == "expr_stmt":
            target, sign = node.children[:2]
            if target.type in {"atom_expr", "power"} or getattr(sign, "value", "=") not in {"=", ":"}:
                yield node.start_pos, node.end_pos
        elif node.type == "raise_stmt" or (node.type == "keyword" and node.value == "continue"):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        assert index == 0
        return parso.python.tree.Keyword("pass", node.start_pos, node.get_first_leaf().prefix)

    @classmethod
    def examples(cls):
        return ()


KNOWN = OperatorProvider()
OPERATORS = {name: KNOWN[name]() for name in KNOWN if name not in LEFT_OUT} | {"RemoveStatement": RemoveStatement()}
# Families of many operators for one kind of node each, so that they are not asked about all the others.
MANY = {"operator": "ReplaceBinaryOperator", "comparison": "ReplaceComparisonOperator"}
ALWAYS = [name for name in OPERATORS if not name.startswith(tuple(MANY.values()))]
ASKED = {kind: [name for name in OPERATORS if name.startswith(some)] + ALWAYS for kind, some in MANY.items()}


def family(operator):
    """Give the name that operators of one kind share."""
    return operator.split("_")[0]


@dataclass(frozen=True)
class Mutant:
    """One change of one module: the `occurrence`-th place where the operator applies."""

    module: str
    operator: str
    occurrence: int
    row: int
    column: int
    before: str

    @property
    def place(self):
        """Name where the change is by the text of its line, so that other changes of the module do not move it."""
        return f"{self.module}:{self.before}:{self.column}:{family(self.operator)}"

    def text(self, source):
        """Give the module's changed text, None where the change says the same or is no Python."""
        changed = mutate_code(source, OPERATORS[self.operator], self.occurrence)
        try:
            return None if changed is None or meaning(changed) == meaning(source) else changed
        except SyntaxError:
            return None


def meaning(source):
    """Give what a text says, without annotations and documentation, which do nothing.

    `strict` of `zip` is left out, too: lists of one length are zipped, by construction.
    """
    return ast.dump(_Bare().visit(ast.parse(source)))


class _Bare(ast.NodeTransformer):
    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_keyword(self, node):
        return ast.keyword("strict", ast.Constant(None)) if node.arg == "strict" else self.generic_visit(node)

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        node.annotation = ast.Constant(None)
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_Expr(self, node):
        return ast.Expr(ast.Constant(None)) if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_If(self, node):
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return ast.Pass()
        return self.generic_visit(node)


def mutants(module, source):
    """List all mutants of a module's text; some may say the same as it, see `Mutant.text`."""
    lines, seen, found = source.splitlines(), {}, []
    for node in ast_nodes(get_ast(source)):
        for name in ASKED.get(node.type, ALWAYS):
            for (row, column), _ in OPERATORS[name].mutation_positions(node):
                seen[name] = seen.get(name, -1) + 1
                found.append(Mutant(module, name, seen[name], row, column, lines[row - 1].strip()))
    return found


def order(seed, *words):
    """Give words a place in an order that is by chance, and the same on every machine."""
    return sha256(":".join([str(seed), *words]).encode()).hexdigest()


def sample(every, count, seed, texts):
    """Draw `count` mutants: places by chance, all alike, and one mutant of each.

    A place's turn follows from its own text alone, so a change of the code elsewhere leaves the others in the sample.
    """
    places = {}
    for mutant in every:
        places.setdefault(mutant.place, []).append(mutant)
    drawn = []
    for place in sorted(places, key=lambda place: order(seed, place)):
        if len(drawn) == count:
            break
        some = sorted(places[place], key=lambda m: order(seed, place, m.operator, str(m.occurrence)))
        drawn += next(([m] for m in some if m.text(texts[m.module]) is not None), [])
    return drawn
