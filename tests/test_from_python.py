"""Python's `ast` to the untyped tree: every construct, its place, and what is refused."""

import ast
import textwrap
from dataclasses import fields

import pytest

from pywgsl import syntax
from pywgsl.errors import CompileError
from pywgsl.frontend.from_python import read
from pywgsl.ir import BinaryOp, UnaryOp
from pywgsl.source import Source


def function(text: str) -> syntax.Function:
    text = textwrap.dedent(text).strip("\n")
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    tree, mistakes = read(node, Source("a.py", text))
    if mistakes:
        raise CompileError(mistakes)
    return tree


def body(text: str) -> syntax.Block:
    return function("def f():\n" + textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")).body


def expression(text: str) -> syntax.Expr:
    (statement,) = body(f"return {text}")
    assert isinstance(statement, syntax.Return)
    assert statement.value is not None
    return statement.value


def show(node: object) -> object:
    """Return a node as nested tuples, to compare."""
    match node:
        case syntax.Name(id=name):
            return name
        case syntax.Constant(value=value):
            return value
        case syntax.Node():
            parts = [getattr(node, field.name) for field in fields(node) if field.name != "span"]
            return (type(node).__name__, *(show(part) for part in parts if part != ()))
        case tuple():
            return [show(item) for item in node]
        case BinaryOp() | UnaryOp():
            return node.name
        case _:
            return node


def mistakes(text: str) -> list[tuple[str, str]]:
    """Return the code and the underlined text of every mistake."""
    with pytest.raises(CompileError) as caught:
        body(text)
    return [(d.code, d.primary.span.text) for d in caught.value.diagnostics]


# ----------------------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("a + b", "ADD"),
        ("a - b", "SUB"),
        ("a * b", "MUL"),
        ("a / b", "DIV"),
        ("a // b", "FLOOR_DIV"),
        ("a % b", "FLOOR_MOD"),
        ("a ** b", "POW"),
        ("a << b", "SHL"),
        ("a >> b", "SHR"),
        ("a & b", "BIT_AND"),
        ("a | b", "BIT_OR"),
        ("a ^ b", "BIT_XOR"),
    ],
)
def test_binary_operators(text: str, op: str) -> None:
    assert show(expression(text)) == ("Binary", op, "a", "b", False)


def test_a_matrix_product_is_a_marked_multiplication() -> None:
    assert show(expression("a @ b")) == ("Binary", "MUL", "a", "b", True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-a", ("Unary", "NEG", "a")),
        ("~a", ("Unary", "BIT_NOT", "a")),
        ("not a", ("Unary", "NOT", "a")),
        ("+a", "a"),
        ("a < b <= c", ("Compare", "a", ["LT", "LE"], ["b", "c"])),
        ("a == b != c", ("Compare", "a", ["EQ", "NE"], ["b", "c"])),
        ("a > b >= c", ("Compare", "a", ["GT", "GE"], ["b", "c"])),
        ("a and b and c", ("BoolOp", "LOGICAL_AND", ["a", "b", "c"])),
        ("a or b", ("BoolOp", "LOGICAL_OR", ["a", "b"])),
        ("a if b else c", ("Conditional", "b", "a", "c")),
        ("a if b else c if d else e", ("Conditional", "b", "a", ("Conditional", "d", "c", "e"))),
        ("f(a, 1, k=2)", ("Call", "f", ["a", 1], [("Keyword", "k", 2)])),
        ("a[i]", ("Subscript", "a", ["i"])),
        ("a[i, j][k]", ("Subscript", ("Subscript", "a", ["i", "j"]), ["k"])),
        ("(a, b)", ("Tuple", ["a", "b"])),
        ("a, b", ("Tuple", ["a", "b"])),
        ("True", True),
        ("1.5", 1.5),
        ("2 ** 100 // 3", ("Binary", "FLOOR_DIV", ("Binary", "POW", 2, 100, False), 3, False)),
        (str(10**40), 10**40),
        ("__x + _", ("Binary", "ADD", "__x", "_", False)),
    ],
)
def test_expressions(text: str, shown: object) -> None:
    assert show(expression(text)) == shown


def test_an_attribute_knows_where_its_name_is() -> None:
    node = expression("pw . global_id  .x")
    assert isinstance(node, syntax.Attribute)
    assert (node.name, node.name_span.text, node.span.text) == ("x", "x", "pw . global_id  .x")
    assert isinstance(node.base, syntax.Attribute)
    assert node.base.name_span.text == "global_id"


def test_long_chains_are_read_without_recursion() -> None:
    total = expression(" + ".join(f"x{i}" for i in range(2000)))
    assert sum(isinstance(node, syntax.Binary) for node in syntax.walk(total)) == 1999
    either = expression(" or ".join(f"x{i}" for i in range(2000)))
    assert isinstance(either, syntax.BoolOp)
    assert len(either.operands) == 2000
    mixed = expression(" + ".join(f"x{i} * y{i}" for i in range(1500)))
    assert isinstance(mixed, syntax.Binary)


def test_long_elif_chains_are_read_without_recursion() -> None:
    arms = [f"{'el' if i else ''}if x == {i}:\n    y = {i}" for i in range(800)]
    (read_if,) = body("\n".join(arms) + "\nelse:\n    y = -1")
    assert sum(isinstance(node, syntax.If) for node in syntax.walk(read_if)) == 800


def test_long_conditional_chains_are_read_without_recursion() -> None:
    text = " else ".join(f"{i} if x == {i}" for i in range(800)) + " else -1"
    chain = expression(text)
    assert sum(isinstance(node, syntax.Conditional) for node in syntax.walk(chain)) == 800


def test_nesting_that_cannot_be_read_is_a_diagnostic() -> None:
    node: ast.expr = ast.parse("x", mode="eval").body
    for _ in range(5000):
        node = ast.copy_location(ast.UnaryOp(ast.USub(), node), node)
    definition = ast.parse("def f(): return x").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = [ast.copy_location(ast.Return(node), node)]
    with pytest.raises(CompileError) as caught:
        read(definition, Source("a.py", "def f(): return x"))
    assert [d.code for d in caught.value.diagnostics] == ["E0109"]


class Novelty(ast.stmt):
    """A statement of a Python to come."""


def test_python_that_is_newer_is_refused() -> None:
    definition = ast.parse("def f(): pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = [ast.copy_location(Novelty(), definition.body[0])]
    with pytest.raises(CompileError) as caught:
        read(definition, Source("a.py", "def f(): pass"))
    assert [d.code for d in caught.value.diagnostics] == ["E0116"]


# ------------------------------------------------------------------------------ statements


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x = 1", ("Assign", ["x"], 1)),
        ("x = y = 1", ("Assign", ["x", "y"], 1)),
        ("a, b = b, a", ("Assign", [("Tuple", ["a", "b"])], ("Tuple", ["b", "a"]))),
        ("a[i], v.x = t", None),
        ("x: f32 = 0", ("Annotated", "x", "f32", 0)),
        ("x: f32", ("Annotated", "x", "f32", None)),
        ("x += 1", ("Augmented", "x", "ADD", 1, False)),
        ("m @= n", ("Augmented", "m", "MUL", "n", True)),
        ("a[i] //= 2", ("Augmented", ("Subscript", "a", ["i"]), "FLOOR_DIV", 2, False)),
        ("f(x)", ("Evaluate", ("Call", "f", ["x"]))),
        ("return", ("Return", None)),
        ("return None", ("Return", None)),
        ("return x", ("Return", "x")),
        ("assert x", ("Assert", "x", None)),
        ("assert x, 'must hold'", ("Assert", "x", "must hold")),
        ("if a: break\nelse: continue", ("If", "a", [("Break",)], [("Continue",)])),
        ("while a: b()\nelse: c()", None),
        ("for i in range(3): pass", ("For", "i", ("Call", "range", [3]))),
        ("print('x =', x, end='')", None),
    ],
)
def test_statements(text: str, shown: object) -> None:
    (statement,) = body(text)
    if shown is not None:
        assert show(statement) == shown


def test_pass_docstrings_and_loose_texts_leave_nothing() -> None:
    read_function = function('def f():\n    """Doc."""\n    pass\n    "note"\n    ...\n')
    assert read_function.body == ()
    assert read_function.doc == "Doc."


def test_an_elif_is_an_if_in_the_else() -> None:
    (statement,) = body("if a: x = 1\nelif b: x = 2\nelse: x = 3")
    one, two, three = (("Assign", ["x"], value) for value in (1, 2, 3))
    assert show(statement) == ("If", "a", [one], [("If", "b", [two], [three])])


def test_loops_keep_their_else() -> None:
    (loop,) = body("for i in range(n):\n    f(i)\nelse:\n    g()")
    assert isinstance(loop, syntax.For)
    assert show(loop.orelse) == [("Evaluate", ("Call", "g"))]


def test_patterns() -> None:
    (match,) = body(
        """
        match x:
            case 1: a()
            case -2 | 3 | Color.RED if x > y: b()
            case (4 | 5) | 6: c()
            case _: d()
        """
    )
    assert isinstance(match, syntax.Match)
    assert [show(case.patterns) for case in match.cases] == [
        [1],
        [("Unary", "NEG", 2), 3, ("Attribute", "Color", "RED", match_span())],
        [4, 5, 6],
        [],
    ]
    assert show(match.cases[1].guard) == ("Compare", "x", ["GT"], ["y"])


def match_span() -> object:
    """Return what equals any span."""

    class Any:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment] # equal to everything

    return Any()


def test_a_wildcard_among_alternatives_matches_everything() -> None:
    (match,) = body("match x:\n    case 1 | _: a()")
    assert isinstance(match, syntax.Match)
    assert match.cases[0].patterns == ()


# ---------------------------------------------------------------------------------- places


def test_a_function_and_its_parameters_are_placed_at_their_names() -> None:
    read_function = function("def  step(x: Array[f32], *, rate=1.0) -> None: pass")
    assert read_function.span.text == "step"
    assert [p.span.text for p in read_function.params] == ["x", "rate"]
    assert read_function.params[1].span.column == 29


def test_compound_statements_are_placed_at_their_keyword() -> None:
    text = """
    if a: pass
    elif b: pass
    while a: pass
    for i in r(): pass
    match a:
        case 1: pass
    """
    texts = [n.span.text for s in body(text) for n in syntax.walk(s) if isinstance(n, COMPOUND)]
    assert texts == ["if", "elif", "while", "for", "match"]


COMPOUND = (syntax.If, syntax.While, syntax.For, syntax.Match)


def test_a_keyword_is_placed_at_its_name() -> None:
    call = expression("f(a, key = 1)")
    assert isinstance(call, syntax.Call)
    assert call.keywords[0].span.text == "key"


def test_places_count_characters() -> None:
    text = "def f(é):\n    ö = é + 漢字 ; x = ö.ﬁ\n    return '漢', y"
    with pytest.raises(CompileError) as caught:
        function(text)
    assert caught.value.diagnostics[0].primary.span.text == "'漢'"
    assign = function("def f(é):\n    ö = é + 漢字 ; x = ö.ﬁx")
    second = assign.body[1]
    assert isinstance(second, syntax.Assign)
    assert isinstance(second.value, syntax.Attribute)
    # Python normalizes the ligature in the name, not in the text.
    assert (second.value.name, second.value.name_span.text) == ("fix", "ﬁx")
    assert second.value.name_span.column == 24


def test_places_survive_tabs_form_feeds_and_continued_lines() -> None:
    text = "def f(a):\n\tx = a \\\n + b\n\x0c\ty = (a\n# note\n  .zed)"
    read_function = function(text)
    names = {n.id: n.span for n in syntax.walk(read_function) if isinstance(n, syntax.Name)}
    assert (names["b"].line, names["b"].column) == (3, 4)
    second = read_function.body[1]
    assert isinstance(second, syntax.Assign)
    assert (second.targets[0].span.line, second.targets[0].span.column) == (4, 3)
    assert isinstance(second.value, syntax.Attribute)
    assert second.value.name_span.text == "zed"


# ---------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ("with lock: pass", "E0110", "with"),
        ("try: pass\nfinally: pass", "E0111", "try"),
        ("raise ValueError", "E0111", "raise"),
        ("import math", "E0112", "import"),
        ("from math import pi", "E0112", "from"),
        ("global n", "E0113", "global"),
        ("nonlocal n", "E0113", "nonlocal"),
        ("del x", "E0114", "del"),
        ("def g(): pass", "E0115", "def"),
        ("class A: pass", "E0115", "class"),
        ("f = lambda x: x", "E0115", "lambda x: x"),
        ("async def g(): pass", "E0106", "async"),
        ("y = [x for x in a]", "E0120", "[x for x in a]"),
        ("y = {x for x in a}", "E0120", "{x for x in a}"),
        ("y = {x: x for x in a}", "E0120", "{x: x for x in a}"),
        ("y = sum(x for x in a)", "E0120", "(x for x in a)"),
        ("y = [1, 2]", "E0121", "[1, 2]"),
        ("y = {1, 2}", "E0121", "{1, 2}"),
        ("y = {1: 2}", "E0121", "{1: 2}"),
        ("[a, b] = t", "E0121", "[a, b]"),
        ("y = f'{x}'", "E0122", "f'{x}'"),
        ("y = 'text'", "E0122", "'text'"),
        ("f('text')", "E0122", "'text'"),
        ("print(f'{x}')", "E0122", "f'{x}'"),
        ("y = a[1:2]", "E0123", "1:2"),
        ("y = a[i, ::2]", "E0123", "::2"),
        ("a, *b = t", "E0124", "*b"),
        ("y = (*a, b)", "E0124", "*a"),
        ("f(*a)", "E0124", "*a"),
        ("f(**a)", "E0124", "**a"),
        ("f(y := 1)", "E0125", "y := 1"),
        ("y = a is b", "E0126", "is"),
        ("y = (a) is not (b)", "E0126", "is not"),
        ("y = a is None", "E0126", "is"),
        ("y = a in b", "E0127", "in"),
        ("y = a in [1, 2]", "E0127", "in"),
        ("y = a not  in b", "E0127", "not  in"),
        ("y = None", "E0128", "None"),
        ("y = 1j", "E0128", "1j"),
        ("y = b'x'", "E0128", "b'x'"),
        ("y = ...", "E0128", "..."),
        ("x == 1", "E0129", "x == 1"),
        ("for i, j in f(): pass", "E0130", "i, j"),
        ("for a[0] in f(): pass", "E0130", "a[0]"),
        ("for x in a[2:]: pass", "E0131", "a[2:]"),
        ("for x in [1, 2]: pass", "E0131", "[1, 2]"),
        ("match x:\n    case 1.5: pass", "E0132", "1.5"),
        ("match x:\n    case 'a': pass", "E0132", "'a'"),
        ("match x:\n    case y: pass", "E0132", "y"),
        ("match x:\n    case [1, 2]: pass", "E0132", "[1, 2]"),
        ("match x:\n    case {'a': 1}: pass", "E0132", "{'a': 1}"),
        ("match x:\n    case Point(): pass", "E0132", "Point()"),
        ("match x:\n    case None: pass", "E0132", "None"),
        ("match x:\n    case True: pass", "E0132", "True"),
        ("match x:\n    case 1 as y: pass", "E0132", "1 as y"),
        ("a[i]: f32 = 1.0", "E0133", "f32"),
        ("v.x: f32", "E0133", "f32"),
        ("x: 'f32' = 1.0", "E0133", "'f32'"),
        ("assert x, f'{x}'", "E0134", "f'{x}'"),
        ("yield x", "E0107", "yield x"),
        ("x = yield", "E0107", "yield"),
        ("yield from x", "E0107", "yield from x"),
    ],
)
def test_python_without_a_meaning_is_refused(text: str, code: str, underlined: str) -> None:
    assert mistakes(text) == [(code, underlined)]


@pytest.mark.parametrize(
    ("parameters", "underlined"),
    [
        ("*args", "args"),
        ("a, **rest", "rest"),
        ("a, b=1/2, /, c=3", "/"),
        ("a, /", "/"),
    ],
)
def test_parameters_without_a_meaning_are_refused(parameters: str, underlined: str) -> None:
    text = f"def f({parameters}): pass"
    with pytest.raises(CompileError) as caught:
        function(text)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.primary.span.text) == ("E0104", underlined)
    if underlined == "/":
        assert diagnostic.primary.span.start == text.rindex("/")


def test_async_functions_and_statements_are_refused() -> None:
    with pytest.raises(CompileError) as caught:
        function(
            """
            async def f(x):
                await x
                async for i in x: pass
                async with x: pass
            """
        )
    assert [d.code for d in caught.value.diagnostics] == ["E0106"] * 4


def test_every_mistake_is_reported_in_the_order_of_the_text() -> None:
    found = mistakes(
        """
        with lock:
            x = y is z
            x = None
        for v in {a}:
            del v
        return [1], {2}
        """
    )
    codes = [code for code, _ in found]
    assert codes == ["E0110", "E0126", "E0128", "E0131", "E0114", "E0121", "E0121"]


def test_a_sum_is_written_out_as_a_loop() -> None:
    with pytest.raises(CompileError) as caught:
        body("y = sum(x[i] * w for i in range(n) if i != k)")
    assert caught.value.diagnostics[0].help == (
        "write the loop out:\n"
        "total = 0\n"
        "for i in range(n):\n"
        "    if i != k:\n"
        "        total += x[i] * w"
    )


def test_a_formatted_print_is_taken_apart() -> None:
    with pytest.raises(CompileError) as caught:
        body("print(f'x = {x + 1} of {n}')")
    assert caught.value.diagnostics[0].help == (
        'give `print` the parts, which it separates by spaces: `print("x =", x + 1, "of", n)`'
    )
