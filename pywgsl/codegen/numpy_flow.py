"""How control leaves blocks, as far as it can be seen without knowing masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pywgsl import ir
from pywgsl.codegen.numpy_scope import Exit
from pywgsl.ir import BinaryOp
from pywgsl.types import BOOL


class Survey:
    """What a function's body declares, and which of it is more than read and replaced."""

    def __init__(self, body: ir.Block) -> None:
        self.declared: set[str] = set()
        self.stored_in_parts: set[str] = set()
        for node in ir.walk_block(body):
            match node:
                case ir.Let(name=name) | ir.Var(name=name) | ir.ForRange(index=name):
                    self.declared.add(name)
                case ir.Assign(target=ir.Index() | ir.Member() | ir.Swizzle() as target):
                    root = ir.root(target)
                    if isinstance(root, ir.Local):
                        self.stored_in_parts.add(root.name)
                case _:
                    pass


def terminates(block: ir.Block) -> bool:
    """Whether control never gets past a block."""
    if not block:
        return False
    match block[-1]:
        case ir.Return() | ir.Break() | ir.Continue():
            return True
        case ir.If(body=body, orelse=orelse):
            return terminates(body) and terminates(orelse)
        case _:
            return False


def exits_of(block: ir.Block) -> frozenset[Exit]:
    """Return the ways in which control may leave a block other than at its end."""
    return frozenset(_exits(block))


def _exits(block: ir.Block) -> Iterator[Exit]:
    for statement in block:
        match statement:
            case ir.Return():
                yield Exit.RETURN
            case ir.Break():
                yield Exit.BREAK
            case ir.Continue():
                yield Exit.CONTINUE
            case ir.If(body=body, orelse=orelse):
                yield from _exits(body)
                yield from _exits(orelse)
            case ir.Switch(cases=cases, default=default):
                for case in cases:
                    yield from _exits(case.body)
                yield from _exits(default)
            case ir.ForRange(body=body) | ir.While(body=body):
                yield from (e for e in _exits(body) if e is Exit.RETURN)
            case _:
                pass


def leaves_partly(block: ir.Block, exit_: Exit) -> bool:
    """Whether lanes that leave a block this way must be remembered for what comes after it.

    They need not where the branch that they leave in always leaves: what follows is then the
    other branch, whose mask does without them.
    """
    for statement in block:
        match statement:
            case ir.If(body=body, orelse=orelse):
                for arm in (body, orelse):
                    if exit_ in exits_of(arm) and (
                        not terminates(arm) or leaves_partly(arm, exit_)
                    ):
                        return True
            case ir.ForRange() | ir.While() | ir.Switch():
                if exit_ in exits_of((statement,)):
                    return True
            case _:
                pass
    return False


def switched(node: ir.Switch, selector: ir.Local, nested: bool) -> ir.Block:
    """Return a switch as branches: each the other arm of the one before, or side by side."""
    if not nested:
        values = [value for case in node.cases for value in case.values]
        default = ir.If(_test(selector, values, BinaryOp.NE, BinaryOp.LOGICAL_AND), node.default)
        return (*(ir.If(_is_one(selector, case), case.body) for case in node.cases), default)
    branches = node.default
    for case in reversed(node.cases):
        branches = (ir.If(_is_one(selector, case), case.body, branches),)
    return branches


def _is_one(selector: ir.Local, case: ir.Case) -> ir.Expr:
    return _test(selector, case.values, BinaryOp.EQ, BinaryOp.LOGICAL_OR)


def _test(selector: ir.Local, values: Sequence[int], op: BinaryOp, joined: BinaryOp) -> ir.Expr:
    tests: list[ir.Expr] = [
        ir.Binary(op, selector, ir.Literal(value, selector.type), BOOL) for value in values
    ]
    if not tests:
        return ir.Literal(joined is BinaryOp.LOGICAL_AND, BOOL)
    result = tests[0]
    for test in tests[1:]:
        result = ir.Binary(joined, result, test, BOOL)
    return result
