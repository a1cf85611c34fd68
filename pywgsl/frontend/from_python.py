"""Python's `ast` to the untyped tree: says which Python the language is.

Whatever the language has no meaning for is reported under the token that stands for it, with a
change to paste where there is one. Reading goes on after a mistake, so that one run
reports all of them. What a name or a call means is not asked here.
"""

from __future__ import annotations

import ast
import re
from typing import TypeAlias

from pywgsl import syntax
from pywgsl.errors import CompileError, Diagnostic, Label
from pywgsl.frontend import refusals
from pywgsl.frontend.refusals import Refusal
from pywgsl.ir import BinaryOp, UnaryOp
from pywgsl.source import Source, Span

#: What takes a text, for `float("inf")`.
_READ_TEXT = ("float", "f32", "f16")

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Located: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.pattern

_BINARY: dict[type[ast.operator], BinaryOp] = {
    ast.Add: BinaryOp.ADD,
    ast.Sub: BinaryOp.SUB,
    ast.Mult: BinaryOp.MUL,
    ast.MatMult: BinaryOp.MUL,
    ast.Div: BinaryOp.DIV,
    ast.FloorDiv: BinaryOp.FLOOR_DIV,
    ast.Mod: BinaryOp.FLOOR_MOD,
    ast.Pow: BinaryOp.POW,
    ast.LShift: BinaryOp.SHL,
    ast.RShift: BinaryOp.SHR,
    ast.BitAnd: BinaryOp.BIT_AND,
    ast.BitOr: BinaryOp.BIT_OR,
    ast.BitXor: BinaryOp.BIT_XOR,
}

_COMPARE: dict[type[ast.cmpop], BinaryOp] = {
    ast.Eq: BinaryOp.EQ,
    ast.NotEq: BinaryOp.NE,
    ast.Lt: BinaryOp.LT,
    ast.LtE: BinaryOp.LE,
    ast.Gt: BinaryOp.GT,
    ast.GtE: BinaryOp.GE,
}


def read(node: FunctionNode, source: Source) -> tuple[syntax.Function, list[Diagnostic]]:
    """Return the tree of one function, and the mistakes that it stands without.

    A refused expression has its place in the tree, so that the checker can report its own mistakes
    too; a refused statement leaves nothing worth checking.

    Args:
        node: The function; its line numbers are those of the author's file.
        source: The text of at least this function, as `node` has it.

    Raises:
        CompileError: There are mistakes and no tree; with all of them, in the order of the text.
    """
    reader = _Reader(source)
    try:
        function = reader.function(node)
    except RecursionError:
        reader.refuse(reader.positions.name(node), refusals.too_deep(node.name))
    found = sorted(reader.diagnostics, key=lambda d: d.primary.span.start)
    if len(found) > reader.placeholders:
        raise CompileError(found)
    return function, found


class Positions:
    """Turns the line numbers and UTF-8 offsets of Python's `ast` into spans of a source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_ascii = source.text.isascii()

    def span(self, node: _Located) -> Span:
        """Return the span of a whole node."""
        end_line, end_byte = node.end_lineno, node.end_col_offset
        assert end_line is not None
        assert end_byte is not None
        start = self._offset(node.lineno, node.col_offset)
        return self._source.span(start, self._offset(end_line, end_byte))

    def word(self, node: _Located) -> Span:
        """Return the span of the name or keyword that a node starts with."""
        start = self._offset(node.lineno, node.col_offset)
        return self._match(r"\w*", start)

    def last_word(self, node: _Located) -> Span:
        """Return the span of the name that a node ends with."""
        # Not the length of the name in the tree: Python normalizes identifiers.
        span = self.span(node)
        found = re.search(r"\w+\Z", span.text)
        return span if found is None else self._source.span(span.start + found.start(), span.end)

    def name(self, node: FunctionNode) -> Span:
        """Return the span of a function's name."""
        start = self._offset(node.lineno, node.col_offset)
        return self._match(r"\w+", self._match(r"(async[\s\\]+)?def[\s\\]+", start).end)

    def between(self, before: _Located, after: _Located, pattern: str) -> Span:
        """Return the span of what matches a pattern between two nodes."""
        start, end = self.span(before).end, self.span(after).start
        found = re.compile(pattern).search(self._source.text, start, end)
        return self._source.span(*found.span()) if found else self._source.span(start, end)

    def after(self, node: _Located, character: str) -> Span:
        """Return the span of the first `character` behind a node."""
        start = self._source.text.find(character, self.span(node).end)
        return self._source.span(start, start + 1) if start >= 0 else self.span(node)

    def _match(self, pattern: str, start: int) -> Span:
        found = re.compile(pattern).match(self._source.text, start)
        return self._source.span(start, found.end() if found else start + 1)

    def _offset(self, line: int, byte: int) -> int:
        index = line - self._source.first_line
        # Indentation that was taken off is ASCII: as many bytes as characters.
        column = byte - self._source.first_column
        if not self._is_ascii:
            column = len(self._source.line_text(index).encode()[:column].decode())
        return self._source.line_starts[index] + column


class _Reader:
    """Reads one function and collects what is wrong with it."""

    def __init__(self, source: Source) -> None:
        self.positions = Positions(source)
        self.diagnostics: list[Diagnostic] = []
        self.placeholders = 0  # how many of them have a place in the tree

    def refuse(self, span: Span, refusal: Refusal) -> None:
        label = Label(span, refusal.label)
        self.diagnostics.append(Diagnostic(refusal.code, refusal.message, label, (), refusal.help))

    def _placeholder(self, span: Span) -> syntax.Expr:
        """Return what stands for an expression that has been refused."""
        self.placeholders += 1
        return syntax.Refused(span=span)

    def function(self, node: FunctionNode) -> syntax.Function:
        if isinstance(node, ast.AsyncFunctionDef):
            self.refuse(self.positions.word(node), refusals.async_function(node.name))
        return syntax.Function(
            node.name,
            self._params(node.args),
            self._block(node.body),
            ast.get_docstring(node) or "",
            self._result(node.returns),
            span=self.positions.name(node),
        )

    def _result(self, annotation: ast.expr | None) -> Span | None:
        nothing = isinstance(annotation, ast.Constant) and annotation.value in (None, "None")
        return None if annotation is None or nothing else self.positions.span(annotation)

    def _params(self, args: ast.arguments) -> tuple[syntax.Param, ...]:
        for stars, extra in (("*", args.vararg), ("**", args.kwarg)):
            if extra is not None:
                span = self.positions.word(extra)
                self.refuse(span, refusals.variable_parameters(stars + extra.arg))
        if args.posonlyargs:
            self._refuse_positional_only(args)
        names = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        return tuple(syntax.Param(arg.arg, span=self.positions.word(arg)) for arg in names)

    def _refuse_positional_only(self, args: ast.arguments) -> None:
        last: ast.arg | ast.expr = args.posonlyargs[-1]
        own_defaults = len(args.defaults) - len(args.args)
        if own_defaults > 0:
            last = args.defaults[own_defaults - 1]
        self.refuse(self.positions.after(last, "/"), refusals.POSITIONAL_ONLY)

    # ------------------------------------------------------------------------- statements

    def _block(self, statements: list[ast.stmt]) -> syntax.Block:
        block = (self._statement(statement) for statement in statements)
        return tuple(statement for statement in block if statement is not None)

    def _statement(self, node: ast.stmt) -> syntax.Stmt | None:  # noqa: C901
        """Return one statement, or None if it does nothing or is not allowed."""
        span = self.positions.span(node)
        match node:
            case ast.Assign():
                targets = tuple(self._target(target) for target in node.targets)
                return syntax.Assign(targets, self._expression(node.value), span=span)
            case ast.AnnAssign():
                return self._annotated(node)
            case ast.AugAssign():
                return syntax.Augmented(
                    self._target(node.target),
                    _BINARY[type(node.op)],
                    self._expression(node.value),
                    isinstance(node.op, ast.MatMult),
                    span=span,
                )
            case ast.Expr():
                return self._effect(node)
            case ast.If():
                return self._if(node)
            case ast.While():
                return syntax.While(
                    self._expression(node.test),
                    self._block(node.body),
                    self._block(node.orelse),
                    span=self.positions.word(node),
                )
            case ast.For():
                return self._for(node)
            case ast.Match():
                return self._match(node)
            case ast.Return():
                return self._return(node)
            case ast.Break():
                return syntax.Break(span=span)
            case ast.Continue():
                return syntax.Continue(span=span)
            case ast.Assert():
                return self._assert(node)
            case ast.Pass():
                return None
            case _:
                self._refuse_statement(node)
                return None

    def _refuse_statement(self, node: ast.stmt) -> None:
        refusal = refusals.statement(node)
        span = self.positions.word(node)
        self.refuse(span, refusal)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._block(getattr(node, "body", []))

    def _target(self, node: ast.expr) -> syntax.Expr:
        match node:
            case ast.List():
                self.refuse(self.positions.span(node), refusals.list_target(node))
                return syntax.Refused(span=self.positions.span(node))
            case ast.Tuple():
                items = tuple(self._target(item) for item in node.elts)
                return syntax.Tuple(items, span=self.positions.span(node))
            case _:
                return self._expression(node)

    def _annotated(self, node: ast.AnnAssign) -> syntax.Annotated | None:
        span = self.positions.span(node)
        if not isinstance(node.target, ast.Name):
            self.refuse(self.positions.span(node.annotation), refusals.annotated_place(node))
            return None
        return syntax.Annotated(
            syntax.Name(node.target.id, span=self.positions.span(node.target)),
            self._annotation(node.annotation),
            self._expression(node.value) if node.value else None,
            span=span,
        )

    def _annotation(self, node: ast.expr) -> syntax.Expr:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.refuse(self.positions.span(node), refusals.quoted_annotation(node.value))
            return self._placeholder(self.positions.span(node))
        return self._expression(node)

    def _effect(self, node: ast.Expr) -> syntax.Evaluate | None:
        value = node.value
        if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is ...):
            return None  # A docstring, a comment in quotes, or `...` for `pass`.
        if idle := refusals.idle(value):
            self.refuse(self.positions.span(value), idle)
            return None
        return syntax.Evaluate(self._expression(value), span=self.positions.span(node))

    def _if(self, node: ast.If) -> syntax.If:
        # An elif is an If alone in an orelse. The chain may be long, so it is not recursed into.
        chain = [node]
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            chain.append(node)
        orelse = self._block(node.orelse)
        for link in reversed(chain):
            read = syntax.If(
                self._expression(link.test),
                self._block(link.body),
                orelse,
                span=self.positions.word(link),
            )
            orelse = (read,)
        return read

    def _for(self, node: ast.For) -> syntax.For | None:
        target = node.target
        if not isinstance(target, ast.Name):
            self.refuse(self.positions.span(target), refusals.for_target(node))
        if refusal := refusals.for_iterable(node.iter):
            span = self.positions.span(node.iter)
            self.refuse(span, refusal)
            iterable = self._placeholder(span)
        else:
            iterable = self._expression(node.iter)
        body, orelse = self._block(node.body), self._block(node.orelse)
        if not isinstance(target, ast.Name):
            return None
        name = syntax.Name(target.id, span=self.positions.span(target))
        return syntax.For(name, iterable, body, orelse, span=self.positions.word(node))

    def _return(self, node: ast.Return) -> syntax.Return:
        value = node.value
        if isinstance(value, ast.Constant) and value.value is None:
            value = None
        result = self._expression(value) if value is not None else None
        return syntax.Return(result, span=self.positions.span(node))

    def _assert(self, node: ast.Assert) -> syntax.Assert:
        message = None
        if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str):
            message = node.msg.value
        elif node.msg is not None:
            self.refuse(self.positions.span(node.msg), refusals.ASSERT_MESSAGE)
        test = self._expression(node.test)
        return syntax.Assert(test, message, span=self.positions.span(node))

    # ------------------------------------------------------------------------------ match

    def _match(self, node: ast.Match) -> syntax.Match:
        subject = self._expression(node.subject)
        cases = tuple(self._case(case, node.subject) for case in node.cases)
        return syntax.Match(subject, cases, span=self.positions.word(node))

    def _case(self, case: ast.match_case, subject: ast.expr) -> syntax.MatchCase:
        pattern = case.pattern
        match case:
            case ast.match_case(ast.MatchAs(None, str(name)), ast.expr() as guard) if any(
                isinstance(part, ast.Name) and part.id == name for part in ast.walk(guard)
            ):
                refusal = refusals.guarded_capture(name, subject, guard)
                self.refuse(self.positions.span(pattern), refusal)
                pattern = ast.MatchAs()
        alternatives = _alternatives(pattern)
        wildcard = any(_is_wildcard(alternative) for alternative in alternatives)
        patterns = tuple(self._pattern(p) for p in alternatives if not _is_wildcard(p))
        return syntax.MatchCase(
            () if wildcard else patterns,
            self._block(case.body),
            self._expression(case.guard) if case.guard else None,
            span=self.positions.span(case.pattern),
        )

    def _pattern(self, pattern: ast.pattern) -> syntax.Expr:
        span = self.positions.span(pattern)
        refusal = refusals.pattern(pattern)
        if refusal is None:
            assert isinstance(pattern, ast.MatchValue)
            return self._expression(pattern.value)
        self.refuse(span, refusal)
        return self._placeholder(span)

    # ------------------------------------------------------------------------ expressions

    def _expression(self, node: ast.expr) -> syntax.Expr:  # noqa: C901
        span = self.positions.span(node)
        match node:
            case ast.Name():
                return syntax.Name(node.id, span=span)
            case ast.Constant(value=bool() | int() | float() as value):
                return syntax.Constant(value, span=span)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare():
                return self._compare(node)
            case ast.BoolOp():
                op = BinaryOp.LOGICAL_AND if isinstance(node.op, ast.And) else BinaryOp.LOGICAL_OR
                return syntax.BoolOp(op, self._expressions(node.values), span=span)
            case ast.IfExp():
                return self._conditional(node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                base, name = self._expression(node.value), self.positions.last_word(node)
                return syntax.Attribute(base, node.attr, name, span=span)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Tuple():
                return syntax.Tuple(self._expressions(node.elts), span=span)
            case _:
                return self._refuse_expression(node)

    def _expressions(self, nodes: list[ast.expr]) -> tuple[syntax.Expr, ...]:
        return tuple(self._expression(node) for node in nodes)

    def _refuse_expression(self, node: ast.expr) -> syntax.Expr:
        refusal = refusals.expression(node)
        span = self.positions.span(node)
        self.refuse(span, refusal)
        if isinstance(node, ast.NamedExpr | ast.Starred):
            return syntax.Refused(span=span)  # it assigns names, which would then be missing
        return self._placeholder(span)

    def _binary(self, node: ast.BinOp) -> syntax.Expr:
        # `a + b + … + z` leans to the left and may be long: down its spine without recursion.
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        result = self._expression(spine[-1].left)
        for link in reversed(spine):
            result = syntax.Binary(
                _BINARY[type(link.op)],
                result,
                self._expression(link.right),
                isinstance(link.op, ast.MatMult),
                span=self.positions.span(link),
            )
        return result

    def _unary(self, node: ast.UnaryOp) -> syntax.Expr:
        operand = self._expression(node.operand)
        match node.op:
            case ast.UAdd():
                return operand
            case ast.USub():
                op = UnaryOp.NEG
            case ast.Invert():
                op = UnaryOp.BIT_NOT
            case _:
                op = UnaryOp.NOT
        return syntax.Unary(op, operand, span=self.positions.span(node))

    def _compare(self, node: ast.Compare) -> syntax.Expr:
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
            if type(op) not in _COMPARE:
                # Its operands (None, a list) are often nothing that a kernel has either.
                span = self.positions.between(left, right, r"\b(is|in|not)\b(\s+(not|in)\b)?")
                self.refuse(span, refusals.comparison(left, op, right))
                return self._placeholder(span)
        first, *rest = self._expressions(operands)
        ops = tuple(_COMPARE[type(op)] for op in node.ops)
        return syntax.Compare(first, ops, tuple(rest), span=self.positions.span(node))

    def _conditional(self, node: ast.IfExp) -> syntax.Expr:
        # `a if p else b if q else …` leans to the right.
        chain = [node]
        while isinstance(chain[-1].orelse, ast.IfExp):
            chain.append(chain[-1].orelse)
        result = self._expression(chain[-1].orelse)
        for link in reversed(chain):
            test, body = self._expression(link.test), self._expression(link.body)
            result = syntax.Conditional(test, body, result, span=self.positions.span(link))
        return result

    def _subscript(self, node: ast.Subscript) -> syntax.Expr:
        base = self._expression(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = tuple(self._index(node.value, item) for item in items)
        return syntax.Subscript(base, indices, span=self.positions.span(node))

    def _index(self, array: ast.expr, item: ast.expr) -> syntax.Expr:
        if not isinstance(item, ast.Slice):
            return self._expression(item)
        span = self.positions.span(item)
        self.refuse(span, refusals.slice_of(array, item))
        return self._placeholder(span)

    def _call(self, node: ast.Call) -> syntax.Expr:
        callee = self._expression(node.func)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        prints, reads = name == "print", name in _READ_TEXT
        args = tuple(self._argument(arg, prints, reads) for arg in node.args)
        keywords = []
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse(self.positions.span(keyword), refusals.STARRED_ARGUMENT)
                continue
            value = self._argument(keyword.value, prints, reads)
            span = self.positions.word(keyword)
            keywords.append(syntax.Keyword(keyword.arg, value, span=span))
        return syntax.Call(callee, args, tuple(keywords), span=self.positions.span(node))

    def _argument(self, node: ast.expr, printed: bool, read: bool) -> syntax.Expr:
        span = self.positions.span(node)
        if isinstance(node, ast.Starred):
            refusal = refusals.STARRED_ARGUMENT
        elif printed and isinstance(node, ast.JoinedStr):
            refusal = refusals.formatted_print(node)
        elif (printed or read) and isinstance(node, ast.Constant) and isinstance(node.value, str):
            return syntax.Constant(node.value, span=span)
        else:
            return self._expression(node)
        self.refuse(span, refusal)
        return self._placeholder(span)


def _alternatives(pattern: ast.pattern) -> list[ast.pattern]:
    if isinstance(pattern, ast.MatchOr):
        return [each for inner in pattern.patterns for each in _alternatives(inner)]
    return [pattern]


def _is_wildcard(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None
