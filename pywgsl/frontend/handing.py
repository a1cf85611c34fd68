"""Values on their way from the statement that computes them to where they go."""

from __future__ import annotations

from collections.abc import Callable

from pywgsl import ir
from pywgsl.frontend import fold
from pywgsl.frontend.context import Context
from pywgsl.frontend.operators import negated
from pywgsl.types import Scalar, Type


def hand_over(ctx: Context, new: ir.Expr, write: Callable[[ir.Expr], None]) -> None:
    """Write a value where it goes, without the temporary that would only hand it on.

    The value of a call is taken at once, and that of a conditional expression in each of its arms.
    """
    new = take_result(ctx, new)
    handed = new.operand if isinstance(new, ir.Convert) else new
    if not isinstance(handed, ir.Local) or len(ctx.out) < 2 or handed.name in ctx.kept:
        write(new)
        return
    declared, choice = ctx.out[-2:]
    if not isinstance(declared, ir.Var) or declared.name != handed.name or declared.value:
        write(new)
        return
    assert isinstance(choice, ir.If)
    assert new.type is not None
    del ctx.out[-2:]
    type_ = new.type

    def redirect(choice: ir.If) -> None:
        """Write a choice, with what each arm ends with going to where the value goes."""
        arms = []
        for *before, last in (choice.body, choice.orelse):
            with ctx.block() as out:
                out.extend(before)
                if isinstance(last, ir.If):
                    redirect(last)
                else:
                    assert isinstance(last, ir.Assign)
                    value = last.value
                    if value.type != type_ and ctx.program.has_effect(value):
                        value = ctx.temporary(value, "result")
                    hand_over(ctx, _converted(value, type_), write)
            arms.append(tuple(out))
        body, orelse = arms
        if body:
            ctx.emit(ir.If(choice.condition, body, orelse, span=choice.span))
        elif orelse:
            ctx.emit(ir.If(negated(choice.condition), orelse, span=choice.span))

    redirect(choice)


def _converted(value: ir.Expr, type_: Type) -> ir.Expr:
    """Return an arm's value as the conversion of the whole conditional expression has it."""
    if value.type == type_:
        return value
    if isinstance(value, ir.Literal) and isinstance(type_, Scalar):
        return fold.convert(value, type_)
    return ir.Convert(value, type_, span=value.span)


def take_result(ctx: Context, new: ir.Expr) -> ir.Expr:
    """Use a call directly where it would only be handed on by a temporary."""
    last = ctx.out[-1] if ctx.out else None
    if not isinstance(new, ir.Local) or new.name in ctx.scope.locals or new.name in ctx.kept:
        return new
    if isinstance(last, ir.Let) and last.name == new.name:
        ctx.out.pop()
        return last.value
    return new
