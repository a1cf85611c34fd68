"""A module of the intermediate representation as a NumPy program.

The program is one function. It runs a block of invocations at a time; what an id is in the block
comes in `ids`, buffers and parameters under the author's names. An id is an axis of arrays: see
`pywgsl.runtime.lanes`.
"""

from __future__ import annotations

import re

from pywgsl import ir
from pywgsl.codegen.numpy_scope import (
    SUPPORT,
    Mask,
    ModuleScope,
    Names,
    Value,
    Variable,
    dtype_text,
    inner_shape,
    module_scope,
)
from pywgsl.codegen.numpy_statements import Statements
from pywgsl.source import NOWHERE
from pywgsl.types import Struct

_WIDTH = 100


def to_numpy(module: ir.Module) -> str:
    """Return the Python text of the NumPy program; its last function is the kernel."""
    scope = module_scope(module)
    taken = [value.text for value in scope.globals.values()]
    taken += [variable.value.text for variable in scope.privates.values()]
    taken += [*scope.shared.values(), *scope.structs.values(), *scope.function_names.values()]
    body = _entry(scope, taken)
    # Callers come first: how they call a function decides how it is written.
    helpers = [
        _helper(scope, function, taken)
        for function in reversed(module.functions)
        if function.name in scope.called
    ]
    name = Names(taken).of(module.name)
    params = ", ".join(["ids", *(value.text for value in scope.globals.values())])
    lines = [*_structs(scope), "", "", f"def {name}({params}):"]
    lines += [f'    """{line}"""' for line in module.doc.strip().splitlines()[:1]]
    if module.span is not NOWHERE:
        lines.append(f"    # {module.span.source.name}:{module.span.line}")
    for helper in reversed(helpers):
        lines += [*([""] if lines[-1] else []), *helper, ""]
    text = "\n".join([*lines, *body, ""])
    return _imports(text) + text


def _entry(scope: ModuleScope, taken: list[str]) -> list[str]:
    entry = Statements(scope, ir.Function("", (), None, scope.module.body), taken)
    for variable in scope.privates.values():
        entry.private(variable)
    for memory in scope.module.variables:
        if memory.space is ir.Space.WORKGROUP:
            entry.shared(memory)
    return entry.function()


def _helper(scope: ModuleScope, function: ir.Function, taken: list[str]) -> list[str]:
    helper = Statements(scope, function, taken)
    helper.out.depth = 2
    helper.root = helper.mask = Mask(helper.names.new("mask"), scope.axes.called(function.name))
    params = [helper.root.text]
    for param in function.params:
        evenness = scope.even_params[function.name, param.name]
        axes = scope.axes.local(function.name, param.name)
        even = evenness == {True}
        value = Value(helper.names.of(param.name), axes=axes, spread=even, even=even)
        helper.locals[param.name] = Variable(value, param.type)
        params.append(value.text)
        if len(evenness) == 2:
            dtype = dtype_text(param.type, scope.structs)
            helper.out.line(f"{value.text} = as_lanes({value.text}, {dtype})")
    return [
        f"    def {scope.function_names[function.name]}({', '.join(params)}):",
        *helper.function(),
    ]


def _imports(text: str) -> str:
    """Return the import of all that a program calls."""
    called = set(re.findall(r"(?<![.\w])\w+(?=\()", text))
    lines = ["import numpy as np", ""]
    if "numerics." in text:
        lines.append("from pywgsl import numerics")
    for module, names in SUPPORT.items():
        used = [name for name in names if name in called]
        line = f"from {module} import {', '.join(used)}"
        if len(line) > _WIDTH:
            lines += [f"from {module} import (", *(f"    {name}," for name in used), ")"]
        elif used:
            lines.append(line)
    return "\n".join([*lines, ""])


def _structs(scope: ModuleScope) -> list[str]:
    lines = []
    for struct, name in scope.structs.items():
        lines += ["", f"{name} = np.dtype(["]
        lines += [f"    {_field(scope, struct, k)}," for k in range(len(struct.fields))]
        lines.append("])")
    return lines


def _field(scope: ModuleScope, struct: Struct, position: int) -> str:
    field = struct.fields[position]
    shape = inner_shape(field.type)
    parts = [
        repr(field.name),
        dtype_text(field.type, scope.structs),
        *([str(shape)] if shape else []),
    ]
    return f"({', '.join(parts)})"
