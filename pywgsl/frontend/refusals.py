"""The Python that has no meaning in a kernel: what to call it, and what to write instead."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a message says about a piece of Python that the language leaves out."""

    code: str
    message: str
    help: str
    label: str = ""


_WITH = Refusal(
    "E0110",
    "a kernel has no `with` statement",
    "put the `with` around the launch, in the Python code that calls the kernel",
)
_TRY = Refusal(
    "E0111",
    "a kernel has no exceptions to catch",
    "test for the exceptional case with `if` before it happens",
)
_RAISE = Refusal(
    "E0111",
    "a kernel cannot raise an exception",
    'state what must hold: `assert condition, "message"`',
)
_IMPORT = Refusal(
    "E0112", "a kernel has no `import` statement", "import the module at the top of the file"
)
_OUTER_NAME = Refusal(
    "E0113",
    "a kernel cannot assign a name of the code around it",
    "store the result in an array that is a parameter",
)
_DELETE = Refusal(
    "E0114", "a kernel has no `del` statement", "leave it out: a local ends with the function"
)
_FUNCTION = Refusal(
    "E0115",
    "a function cannot be defined inside a kernel",
    "move it to module level and decorate it with `@pw.function`",
)
_CLASS = Refusal(
    "E0115",
    "a class cannot be defined inside a kernel",
    "move it to module level and decorate it with `@pw.struct`",
)
_ASYNC = Refusal("E0106", "a kernel has no `async` and no `await`", "write the plain statement")
_YIELD = Refusal(
    "E0107", "a kernel or helper cannot `yield`", "store each value in an array instead"
)

_STATEMENTS = {
    "With": _WITH,
    "Try": _TRY,
    "TryStar": _TRY,
    "Raise": _RAISE,
    "Import": _IMPORT,
    "ImportFrom": _IMPORT,
    "Global": _OUTER_NAME,
    "Nonlocal": _OUTER_NAME,
    "Delete": _DELETE,
    "FunctionDef": _FUNCTION,
    "ClassDef": _CLASS,
    "AsyncFunctionDef": _ASYNC,
    "AsyncFor": _ASYNC,
    "AsyncWith": _ASYNC,
}


def statement(node: ast.stmt) -> Refusal:
    """Return what to say about a statement that the language leaves out."""
    kind = type(node).__name__
    # What a newer Python brings is refused as well.
    return _STATEMENTS.get(kind) or Refusal(
        "E0116", f"a kernel has no statement of this kind ({kind})", "write it with `if` and `for`"
    )


ASSERT_MESSAGE = Refusal(
    "E0134",
    "the message of an `assert` is a plain text",
    'write `assert condition, "what must hold"`, and `print` the values',
)
POSITIONAL_ONLY = Refusal(
    "E0104",
    "a parameter cannot be positional-only",
    "remove the `/`: every parameter can be given by position or by name",
)
STARRED_ARGUMENT = Refusal(
    "E0124",
    "arguments cannot be unpacked with `*` or `**`",
    "write out each argument",
)

_EXPRESSIONS = {
    "Yield": _YIELD,
    "YieldFrom": _YIELD,
    "Await": _ASYNC,
    "Lambda": Refusal(
        "E0115",
        "a function cannot be defined inside a kernel",
        "move it to module level as a `def` decorated with `@pw.function`",
    ),
    "Dict": Refusal(
        "E0121",
        "a kernel has no dicts",
        "use a class decorated with `@pw.struct`, or an array for each entry",
    ),
    "Starred": Refusal(
        "E0124",
        "values cannot be packed or unpacked with `*`",
        "write out each element",
    ),
}


def expression(node: ast.expr) -> Refusal:
    """Return what to say about an expression that the language leaves out."""
    kind = type(node).__name__
    match node:
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return _comprehension(node)
        case ast.List(elts=elements) | ast.Set(elts=elements):
            items = ", ".join(ast.unparse(element) for element in elements)
            hint = f"for a fixed number of values: `pw.array[f32, {len(elements)}]({items})`"
            return Refusal("E0121", f"a kernel has no {kind.lower()}s", hint)
        case ast.JoinedStr() | ast.Constant(value=str()):
            return Refusal(
                "E0122",
                "a text is not a value of a kernel",
                "texts may stand in `print`, as the message of an `assert` and as the docstring",
            )
        case ast.Constant():
            return _constant(node)
        case ast.NamedExpr():
            hint = f"assign on a line of its own, before: `{ast.unparse(node)[1:-1]}`"
            return Refusal("E0125", "a kernel has no `:=`", hint.replace(":=", "=", 1))
        case _:
            return _EXPRESSIONS.get(kind) or Refusal(
                "E0116",
                f"a kernel has no expression of this kind ({kind})",
                "write it with names, numbers, operators and calls",
            )


def _comprehension(
    node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp,
) -> Refusal:
    headers = []
    for loop in node.generators:
        headers.append(f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}:")
        headers += [f"if {ast.unparse(test)}:" for test in loop.ifs]
    element = "…" if isinstance(node, ast.DictComp) else ast.unparse(node.elt)
    is_sum = isinstance(node, ast.GeneratorExp)
    innermost = f"total += {element}" if is_sum else f"values[…] = {element}"
    lines = ["    " * depth + line for depth, line in enumerate([*headers, innermost])]
    if is_sum:
        lines.insert(0, "total = 0")
    return Refusal(
        "E0120",
        "a kernel has no comprehensions or generators",
        "\n".join(["write the loop out:", *lines]),
    )


def slice_of(base: ast.expr, node: ast.Slice) -> Refusal:
    """Return what to say about a slice of `base`."""
    return Refusal(
        "E0123",
        "an array cannot be sliced in a kernel",
        f"loop over the indices: `for k in {_range(base, node)}:`",
    )


def _range(base: ast.expr, node: ast.Slice) -> str:
    """Return the range of the indices in a slice of `base`."""
    start = ast.unparse(node.lower) if node.lower else "0"
    stop = ast.unparse(node.upper) if node.upper else f"len({ast.unparse(base)})"
    step = f", {ast.unparse(node.step)}" if node.step else ""
    return f"range({start}, {stop}{step})"


_NO_NONE = "use a number or a truth value that marks what is missing"


def _constant(node: ast.Constant) -> Refusal:
    hint = {
        complex: "keep the real and the imaginary part in a `vec2f`",
        bytes: "pass the bytes as an `Array[u32]`",
        type(None): _NO_NONE,
    }.get(type(node.value), "write a number, `True` or `False`")
    return Refusal("E0128", f"`{ast.unparse(node)}` is not a value of a kernel", hint)


def comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Refusal:
    """Return what to say about `is`, `is not`, `in` and `not in`."""
    value, other = ast.unparse(left), ast.unparse(right)
    if isinstance(right, ast.Constant) and right.value is None:
        return Refusal("E0126", f"`{value}` is a number, which is never `None`", _NO_NONE)
    if isinstance(op, ast.Is | ast.IsNot):
        word, sign = ("is", "==") if isinstance(op, ast.Is) else ("is not", "!=")
        return Refusal(
            "E0126",
            f"values of a kernel have no identity for `{word}` to compare",
            f"use `{sign}`: `{value} {sign} {other}`",
        )
    word, sign, joint = ("in", "==", " or ")
    if isinstance(op, ast.NotIn):
        word, sign, joint = ("not in", "!=", " and ")
    elements = ["a", "b"]
    if isinstance(right, ast.Tuple | ast.List | ast.Set) and right.elts:
        elements = [ast.unparse(element) for element in right.elts]
    tests = joint.join(f"{value} {sign} {element}" for element in elements)
    return Refusal(
        "E0127", f"a kernel has no `{word}` operator", f"compare with each value: `{tests}`"
    )


def idle(node: ast.expr) -> Refusal | None:
    """Return what to say about an expression statement that was meant to do something."""
    text = ast.unparse(node)
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            hint = f"to assign, use `=`: `{ast.unparse(left)} = {ast.unparse(right)}`"
            return Refusal("E0129", f"the result of `{text}` is not used", hint)
    return None


def guarded_capture(name: str, subject: ast.expr, guard: ast.expr) -> Refusal:
    """Return what to say about `case name if guard`."""
    value = ast.unparse(subject)
    if isinstance(subject, ast.Name):
        renamed = _Renamed(name, value).visit(copy.deepcopy(guard))
        hint = f"write `case _ if {ast.unparse(renamed)}:`"
    else:
        test = ast.unparse(guard)
        hint = f"assign it before: `{name} = {value}`, `match {name}:`, `case _ if {test}:`"
    message = f"a `case` with a guard is a number or `_`, and does not assign `{name}`"
    return Refusal("E0132", message, hint)


class _Renamed(ast.NodeTransformer):
    """Gives a name in an expression another spelling."""

    def __init__(self, name: str, other: str) -> None:
        self.name = name
        self.other = other

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.other, node.ctx) if node.id == self.name else node


def pattern(node: ast.pattern) -> Refusal | None:
    """Return what to say about a pattern, or None if it is one of the language."""
    match node:
        case ast.MatchValue(value=ast.Attribute()):
            return None
        case ast.MatchValue(value=ast.Constant(value=int())):
            return None
        case ast.MatchValue(value=ast.UnaryOp(operand=ast.Constant(value=int()))):
            return None
        case ast.MatchAs(pattern=None, name=name):
            return Refusal(
                "E0132",
                f"`case {name}` matches every value and assigns it to `{name}`",
                f"for a constant, write its number or a dotted name: `case module.{name}:`; "
                "for every other value, `case _:`",
            )
        case ast.MatchAs(pattern=inner, name=name) if inner is not None:
            hint = f"write `case {ast.unparse(inner)}:` and assign `{name}` in its body"
            return Refusal("E0132", f"a pattern cannot be named with `as {name}`", hint)
        case _:
            return Refusal(
                "E0132",
                f"a `case` of a kernel is an integer or a dotted name, not `{ast.unparse(node)}`",
                "compare with `if` and `elif` instead",
            )


def formatted_print(node: ast.JoinedStr) -> Refusal:
    """Return what to say about `print(f"…")`, with the same call in parts."""
    parts = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            parts.append(ast.unparse(value.value))
        elif isinstance(value, ast.Constant) and (words := str(value.value).strip(" ")):
            text = repr(words)
            parts.append(text if '"' in text else f'"{text[1:-1]}"')
    return Refusal(
        "E0122",
        "a kernel has no f-strings",
        f"give `print` the parts, which it separates by spaces: `print({', '.join(parts)})`",
    )


def too_deep(function: str) -> Refusal:
    """Return what to say about nesting that Python's own stack cannot hold."""
    return Refusal(
        "E0109",
        f"an expression or block of `{function}` is nested too deeply to be read",
        "name its inner parts in statements of their own",
    )


def async_function(name: str) -> Refusal:
    """Return what to say about `async def`."""
    return Refusal("E0106", "a kernel or helper cannot be `async`", f"write `def {name}`")


def variable_parameters(spelling: str) -> Refusal:
    """Return what to say about `*args` and `**kwargs`."""
    return Refusal(
        "E0104",
        f"a kernel or helper has a fixed number of parameters, so no `{spelling}`",
        "write out each parameter with its type",
    )


def list_target(node: ast.List) -> Refusal:
    """Return what to say about `[a, b] = …`."""
    names = ", ".join(ast.unparse(item) for item in node.elts)
    return Refusal("E0121", "a list cannot be assigned to", f"write a tuple: `{names} = …`")


def annotated_place(node: ast.AnnAssign) -> Refusal:
    """Return what to say about an annotation on anything but a name."""
    target = ast.unparse(node.target)
    value = ast.unparse(node.value) if node.value else "…"
    return Refusal(
        "E0133",
        "only a local name can be annotated",
        f"write `{target} = {value}`",
        f"`{target}` has a type already",
    )


def quoted_annotation(text: str) -> Refusal:
    """Return what to say about a local's annotation in quotes."""
    return Refusal(
        "E0133",
        "the annotation of a local is a type, not a text",
        f"write it without quotes: `{text}`",
    )


def for_target(node: ast.For) -> Refusal:
    """Return what to say about a loop with several targets."""
    hint = "loop over an index and assign the rest in the body: `for k in range(n):`"
    match node.target, node.iter:
        case ast.Tuple(elts=[index, element]), ast.Call(func=ast.Name("enumerate"), args=[values]):
            k, array = ast.unparse(index), ast.unparse(values)
            hint = f"loop over the index: `for {k} in range(len({array})):` and in the body "
            hint += f"`{ast.unparse(element)} = {array}[{k}]`"
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name("zip"), args=arrays) if (
            len(targets) == len(arrays) > 0
        ):
            names = ", ".join(map(ast.unparse, targets))
            elements = ", ".join(f"{ast.unparse(array)}[k]" for array in arrays)
            hint = f"loop over the index: `for k in range(len({ast.unparse(arrays[0])})):` and in "
            hint += f"the body `{names} = {elements}`"
    return Refusal("E0130", "the target of a `for` is one name", hint)


def for_iterable(node: ast.expr) -> Refusal | None:
    """Return what to say about a loop over what is no value of the language at all."""
    hint = "for example `for k in range(n):`"
    match node:
        case ast.Subscript(value=base, slice=ast.Slice() as part):
            hint = f"loop over the index: `for i in {_range(base, part)}:`"
        case ast.List(elts=elements) | ast.Set(elts=elements):
            values = ", ".join(map(ast.unparse, elements)) + "," * (len(elements) == 1)
            hint = f"unroll it: `values = ({values})`, `for k in pw.static_range(len(values)):`"
        case ast.Constant(value=int() | float()):
            return None
        case ast.Dict() | ast.Constant() | ast.JoinedStr():
            pass
        case _:
            return None
    return Refusal("E0131", over(ast.unparse(node)), hint)


def over(values: str) -> str:
    """Return the message for a loop over anything but a range."""
    ranges = "`range(…)`, `reversed(range(…))` or `pw.static_range(…)`"
    return f"a `for` runs over {ranges}, not over `{values}`"
