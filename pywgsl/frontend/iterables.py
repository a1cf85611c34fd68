"""What to say about a loop over anything but a range."""

from __future__ import annotations

import builtins as python
from typing import NoReturn

import numpy as np

from pywgsl import syntax
from pywgsl.frontend import refusals
from pywgsl.frontend.access import tuple_items
from pywgsl.frontend.annotations import as_parameter
from pywgsl.frontend.context import Context, Host, TupleValue, Value
from pywgsl.frontend.suggestions import module_name
from pywgsl.types import FixedArray, RuntimeArray, Scalar, Vector


def refuse_call(ctx: Context, node: syntax.For, call: syntax.Call, callee: object) -> NoReturn:
    """Say what to write instead of a loop over a call such as `enumerate(x)`."""
    target, arguments = node.target.id, [arg.span.text for arg in call.args]
    fix = f"for example `for {target} in range(n):`"
    if callee is np.arange:
        fix = f"write `for {target} in range({', '.join(arguments)}):`"
    elif callee in (python.enumerate, python.zip) and arguments:
        fix = f"loop over the index: `for {_index(ctx)} in range(len({arguments[0]})):`"
    ctx.error("E0327", "a loop runs over a `range`", node.iterable.span, help=fix)


def refuse_value(ctx: Context, node: syntax.For, found: Value) -> NoReturn:
    """Say what to write instead of a loop over a value."""
    span = node.iterable.span
    ctx.error("E0131", refusals.over(span.text), span, help=_help(ctx, node, found))


def _help(ctx: Context, node: syntax.For, found: Value) -> str:
    text, target, k = node.iterable.span.text, node.target.id, _index(ctx)
    if tuple_items(found) is not None:
        name = "values" if isinstance(node.iterable, syntax.Tuple) else text
        before = "" if name == text else f"name it, `{name} = {text}`, and "
        header = f"for {k} in {module_name(ctx)}.static_range(len({name})):"
        return f"{before}unroll the loop: `{header}`, and use `{name}[{k}]`"
    if isinstance(found, Host | TupleValue):
        parameter = as_parameter(text, found.value) if isinstance(found, Host) else None
        if parameter is not None:
            return f"{parameter}\nand loop over the index: `for {k} in range(len({text})):`"
    elif isinstance(found.type, RuntimeArray) and found.type.ndim > 1:
        return f"loop over the index of each axis: `for {k} in range({text}.shape[0]):`"
    elif isinstance(found.type, RuntimeArray | FixedArray | Vector):
        return f"loop over the index: `for {k} in range(len({text})):`, and use `{text}[{k}]`"
    elif isinstance(found.type, Scalar) and found.type.is_integer:
        return f"for the numbers below it, write `for {target} in range({text}):`"
    return f"for example `for {target} in range(n):`"


def _index(ctx: Context) -> str:
    """Return a name for an index that the function does not use."""
    return next((name for name in "kjm" if name not in ctx.scope.locals), "index")
