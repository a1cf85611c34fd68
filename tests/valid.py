"""What must hold of every module that the checker makes, as `pywgsl.ir` says."""

from __future__ import annotations

from pywgsl import ir
from pywgsl.builtins import BUILTINS
from pywgsl.types import BOOL, I32, U32, FixedArray, RuntimeArray, Scalar, Struct, Type, scalar_of

_CALLS_STAND_IN = (ir.Let, ir.Var, ir.Assign, ir.Return, ir.Effect)


def check(module: ir.Module) -> None:
    """Assert that a module keeps the rules of the intermediate representation."""
    effects: dict[str, bool] = {}
    for function in module.functions:
        assert function.result is None or not _is_abstract(function.result), function.name
        names = {p.name for p in function.params}
        assert len(names) == len(function.params)
        _Body(effects).run(function.body, names)
        effects[function.name] = function.result is None or _has_effect(function.body, effects)
    _Body(effects).run(module.body, set())
    assert ir.called(module.body) <= effects.keys()


def _has_effect(body: ir.Block, effects: dict[str, bool]) -> bool:
    for node in ir.walk_block(body):
        match node:
            case ir.Effect() | ir.Assert() | ir.Print():
                return True
            case ir.Assign(target=target) if isinstance(ir.root(target), ir.Global):
                return True
            case ir.Invoke(function=name) if effects[name]:
                return True
            case ir.Call(builtin=name) if BUILTINS[name].effect:
                return True
    return False


def _is_abstract(type_: Type) -> bool:
    match type_:
        case Struct(fields=fields):
            return any(_is_abstract(f.type) for f in fields)
        case FixedArray(element=element) | RuntimeArray(element=element):
            return _is_abstract(element)
    scalar = scalar_of(type_)
    return scalar is not None and scalar.is_abstract


class _Body:
    def __init__(self, effects: dict[str, bool]) -> None:
        self.effects = effects
        self.declared: set[str] = set()
        self.mutable: set[str] = set()

    def run(self, body: ir.Block, names: set[str]) -> None:
        self.declared = set(names)
        self.block(body, set(names), loops=0)

    def declare(self, name: str, visible: set[str]) -> None:
        assert name not in self.declared, f"{name} is declared twice"
        self.declared.add(name)
        visible.add(name)

    def block(self, body: ir.Block, visible: set[str], loops: int) -> None:
        visible = set(visible)
        for position, statement in enumerate(body):
            last = position == len(body) - 1
            assert last or not isinstance(statement, ir.Return | ir.Break | ir.Continue)
            self.statement(statement, visible, loops)

    def statement(self, node: ir.Stmt, visible: set[str], loops: int) -> None:  # noqa: C901
        for child in ir.children(node):
            if not isinstance(child, ir.Stmt | ir.Case):
                self.expression(child, visible, whole=isinstance(node, _CALLS_STAND_IN))
        match node:
            case ir.Let(name=name):
                self.declare(name, visible)
            case ir.Var(name=name, type=type_, value=value):
                assert value is None or value.type == type_
                self.declare(name, visible)
                self.mutable.add(name)
            case ir.Assign(target=target, value=value):
                assert target.type == value.type, (target, value)
                root = ir.root(target)
                assert isinstance(root, ir.Local | ir.Global)
                assert not isinstance(root, ir.Local) or root.name in self.mutable, root
                assert not isinstance(target, ir.Swizzle) or len(target.components) == 1
            case ir.If(condition=condition, body=body, orelse=orelse):
                assert condition.type is BOOL
                assert not isinstance(condition, ir.Literal), "a branch that is known"
                assert body, "an empty branch"
                self.block(body, visible, loops)
                self.block(orelse, visible, loops)
            case ir.ForRange(index=index, start=start, stop=stop, step=step, body=body):
                assert start.type == stop.type == step.type
                assert start.type in (I32, U32)
                inside = set(visible)
                self.declare(index, inside)
                self.block(body, inside, loops + 1)
            case ir.While(condition=condition, body=body):
                assert condition.type is BOOL
                self.block(body, visible, loops + 1)
            case ir.Switch(cases=cases, default=default):
                for case in cases:
                    self.block(case.body, visible, loops)
                self.block(default, visible, loops)
            case ir.Break() | ir.Continue():
                assert loops
            case _:
                pass

    def expression(self, node: ir.Node, visible: set[str], whole: bool) -> None:
        for part in ir.walk(node):
            type_ = getattr(part, "type", None)
            assert type_ is None or not _is_abstract(type_), part
            match part:
                case ir.Local(name=name):
                    assert name in visible, f"{name} is not visible"
                case ir.Invoke(function=name) if self.effects[name]:
                    assert whole, f"{name} has an effect in the middle of an expression"
                    assert part is node
                case ir.Binary(left=left, right=right):
                    a, b = scalar_of(ir.type_of(left)), scalar_of(ir.type_of(right))
                    assert a is b or part.op in (ir.BinaryOp.SHL, ir.BinaryOp.SHR), part
                case ir.Select(accept=accept, reject=reject):
                    assert accept.type == reject.type == type_
                    for arm in (accept, reject):
                        assert not any(isinstance(n, ir.Index | ir.Invoke) for n in ir.walk(arm))
                case ir.Convert(operand=operand):
                    assert isinstance(operand.type, Scalar) == isinstance(type_, Scalar)
                case _:
                    pass
