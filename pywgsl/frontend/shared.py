"""What invocations share: workgroup memory, atomics, and the flow that they have to agree on."""

from __future__ import annotations

from collections.abc import Sequence

from pywgsl import ir, syntax
from pywgsl.analysis.uniformity import Divergence, divergences
from pywgsl.analysis.uses import synchronizes
from pywgsl.errors import Diagnostic, Label
from pywgsl.frontend.access import index
from pywgsl.frontend.context import Context, TupleValue, Undeclared, Value, is_memory
from pywgsl.frontend.convert import describe, number_of
from pywgsl.source import Span
from pywgsl.table import Builtin
from pywgsl.types import F32, I32, U32, RuntimeArray


def declare_shared(ctx: Context, target: syntax.Name, memory: Undeclared) -> ir.Global:
    """Return the workgroup variable that a name stands for.

    A helper has its own for each kind of call; checking a body again gives the same one.
    """
    program = ctx.program
    key = (program.in_progress[-1] if program.in_progress else None, target)
    variable = program.variables.get(key)
    if variable is None or variable.type != memory.type:
        name = program.global_name(target.id) if variable is None else variable.name
        variable = ir.Variable(name, memory.type, ir.Space.WORKGROUP, span=target.span)
        program.variables[key] = variable
    return ir.Global(variable.name, variable.type, variable.space, span=target.span)


def atomic_place(ctx: Context, row: Builtin, args: Sequence[Value], span: Span) -> ir.Expr:
    """Return the element that an atomic operation works on, given as an array and an index."""
    if len(args) < 2:
        ctx.error(
            "E0311",
            f"`{row.name}` takes an array and an index first",
            span,
            help=f"for example `pw.{row.name}(counts, i{', 1' * (len(row.rules[0]) > 20)})`",
        )
    array, at = args[0], args[1]
    if not isinstance(array, ir.Global) or not is_memory(array):
        ctx.error(
            "E0334",
            f"`{row.name}` works on a buffer or a workgroup array, but this is {describe(array)}",
            array.span,
            help=_apart(row, array),
        )
    items = at.items if isinstance(at, TupleValue) else (at,)
    indices = [number_of(ctx, item) for item in items]
    base = syntax.Name(array.span.text, span=array.span)
    names = tuple(syntax.Name(i.span.text, span=i.span) for i in indices)
    place = index(ctx, array, indices, syntax.Subscript(base, names, span=span))
    assert isinstance(place, ir.Index)
    if place.type not in (I32, U32, F32):
        ctx.error(
            "E0334",
            f"`{row.name}` works on elements of `i32`, `u32` or `f32`, but these are "
            f"{describe(place)}",
            array.span,
        )
    if isinstance(array.type, RuntimeArray):
        ctx.program.written.add(array.name)
    return place


def _apart(row: Builtin, array: Value) -> str | None:
    """Return how to write an atomic operation that was given the element itself."""
    if not isinstance(array, ir.Index) or not is_memory(array.base):
        return None
    indices = ", ".join(i.span.text for i in array.indices)
    at = indices if len(array.indices) == 1 else f"({indices})"
    rest = ", …" * (len(row.signatures[0].parameters) > 1)
    return (
        f"give the array and the index apart: `pw.{row.name}({array.base.span.text}, {at}{rest})`"
    )


def check_uniform_flow(module: ir.Module) -> list[Diagnostic]:
    """Return a diagnostic for each operation of a workgroup that some invocations may not reach."""
    if not synchronizes(module):
        return []
    return [_divergence(found) for found in divergences(module)]


def _divergence(found: Divergence) -> Diagnostic:
    labels = [Label(found.branch.span, found.branch.text)]
    if found.source.span != found.branch.span:
        labels.append(Label(found.source.span, found.source.text))
    return Diagnostic(
        "E0405",
        f"not every invocation of the workgroup may reach this `{found.builtin}`",
        Label(found.span),
        tuple(labels),
        found.help,
    )
