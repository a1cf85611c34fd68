"""Random well-typed expressions of bools and vectors, as text."""

from __future__ import annotations

from strategies_expressions import (
    LETTERS,
    PART,
    SCALARS,
    VECTORS,
    WHOLE,
    Numbers,
    Piece,
    scalar_of,
    width_of,
)


class Expressions(Numbers):
    """Writes expressions of any type."""

    # -------------------------------------------------------------------------------- bools

    def truth(self, depth: int) -> Piece:
        if depth <= 0:
            return self.try_all(
                [
                    lambda: self.variable("bool"),
                    lambda: self.comparison(0),
                    lambda: self.load("bool"),
                    self.known_truth,
                    lambda: self.comparison(0),
                ]
            )
        return self.try_all(
            [
                lambda: self.comparison(depth),
                lambda: self.connected(depth),
                lambda: self.truth(0),
                lambda: self.chain(depth),
                lambda: Piece(f"(not {self.truth(depth - 1).text})"),
                lambda: Piece(f"bool({self.nonconstant(self.pick(SCALARS), depth - 1).text})"),
                lambda: self.vector_test(depth),
                lambda: self.call("bool", depth),
                lambda: self.special(depth),
                lambda: self.comparison(depth),
            ]
        )

    def known_truth(self) -> Piece:
        constants = [n for n, t in self.scope.constants.items() if t == "bool"]
        return Piece(self.pick((*constants, "True", "False")), constant=True)

    def comparison(self, depth: int) -> Piece:
        type_ = self.pick(SCALARS)
        left = self.nonconstant(type_, depth - 1)
        right = self.expression(type_, depth - 1)
        if type_ == "f32":
            right = self.operand(depth - 1)
        op = self.pick(("<", "<=", "==", "!=", ">=", ">"))
        left, right = self.pick(((left, right), (right, left)))
        return Piece(f"({left.text} {op} {right.text})")

    def chain(self, depth: int) -> Piece:
        type_ = self.pick(SCALARS)
        terms = [self.nonconstant(type_, depth - 1).text for _ in range(self.rng.randint(3, 4))]
        ops = [self.pick(("<", "<=", "==", "!=", ">=", ">")) for _ in terms[1:]]
        return Piece(
            f"({terms[0]}{''.join(f' {o} {t}' for o, t in zip(ops, terms[1:], strict=True))})"
        )

    def connected(self, depth: int) -> Piece:
        op = self.pick(("and", "or", "and", "or", "&", "|", "^", "==", "!="))
        count = self.rng.randint(2, 3) if op in ("and", "or") else 2
        terms = [self.truth(depth - 1).text for _ in range(count)]
        return Piece(f"({f' {op} '.join(terms)})")

    def vector_test(self, depth: int) -> Piece:
        type_ = self.pick(VECTORS)
        left, right = self.vector(type_, depth - 1), self.vector(type_, depth - 1)
        op = self.pick(("<", "<=", "==", "!=", ">=", ">"))
        return Piece(f"pw.{self.pick(('all', 'any'))}({left.text} {op} {right.text})")

    def special(self, depth: int) -> Piece | None:
        if self.exact:
            return None
        operand = self.nonconstant("f32", depth - 1)
        return Piece(f"{self.pick(('math', 'pw'))}.{self.pick(('isnan', 'isinf'))}({operand.text})")

    # ------------------------------------------------------------------------------ vectors

    def vector(self, type_: str, depth: int) -> Piece:
        if depth <= 0:
            return self.try_all(
                [
                    lambda: self.variable(type_),
                    lambda: self.load(type_),
                    lambda: self.constructed(type_, 0),
                ]
            )
        return self.try_all(
            [
                lambda: self.vector(type_, 0),
                lambda: self.constructed(type_, depth),
                lambda: self.swizzle(type_),
                lambda: self.vector_arithmetic(type_, depth),
                lambda: self.vector_call(type_, depth),
                lambda: self.converted(type_, depth),
                lambda: self.conditional(type_, depth),
                lambda: self.call(type_, depth),
                lambda: self.vector_arithmetic(type_, depth),
            ]
        )

    def constructed(self, type_: str, depth: int) -> Piece:
        scalar, left = scalar_of(type_), width_of(type_)
        if self.chance(20):
            return Piece(f"{type_}({self.value(scalar, depth - 1)})")
        parts = []
        while left:
            if left >= 2 and self.chance(25):
                parts.append(self.value(f"vec2{type_[4]}", depth - 1))
                left -= 2
            else:
                parts.append(self.value(scalar, depth - 1))
                left -= 1
        return Piece(f"{type_}({', '.join(parts)})")

    def swizzle(self, type_: str) -> Piece | None:
        letter, width = type_[4], width_of(type_)
        names = [
            (n, t)
            for n, t in self.scope.variables.items()
            if t.startswith("vec") and t[4] == letter
        ]
        if not names:
            return None
        name, source = self.pick(names)
        picked = "".join("xyzw"[self.rng.randint(0, width_of(source) - 1)] for _ in range(width))
        return Piece(f"{name}.{picked}")

    def vector_arithmetic(self, type_: str, depth: int) -> Piece:
        scalar = scalar_of(type_)
        left = self.fit(type_, self.vector(type_, depth - 1))
        if self.chance(10):
            return Piece(f"(-{left.text})")
        if self.chance(50):
            right = self.fit(type_, self.vector(type_, depth - 1))
        else:
            right = self.fit(scalar, self.expression(scalar, depth - 1))
        if scalar == "f32":
            op = self.pick(("+", "-", "*"))
            if not self.exact:
                op = self.pick(("+", "-", "*", "/", "//", "%"))
        else:
            op = self.pick(("+", "-", "*", "//", "%", "&", "|", "^"))
        left, right = self.pick(((left, right), (right, left)))
        return Piece(f"({left.text} {op} {right.text})", False, WHOLE * 2, PART * 2)

    def vector_call(self, type_: str, depth: int) -> Piece:
        left = self.vector(type_, depth - 1)
        if self.chance(40):
            return Piece(f"abs({left.text})", False, left.whole, left.part)
        if type_[4] == "f" and self.chance(40):
            name = self.pick(("floor", "ceil", "round", "trunc"))
            return Piece(f"pw.{name}({left.text})", False, left.whole + 1, 0)
        right = self.vector(type_, depth - 1)
        whole, part = max(left.whole, right.whole), max(left.part, right.part)
        return Piece(f"{self.pick(('min', 'max'))}({left.text}, {right.text})", False, whole, part)

    def converted(self, type_: str, depth: int) -> Piece:
        letter = self.pick([x for x in LETTERS if x != type_[4]])
        source = f"vec{width_of(type_)}{letter}"
        operand = self.vector(source, depth - 1).text
        if type_[4] == "f" and self.exact:
            operand = f"({operand} & 15)"
        return Piece(f"{type_}({operand})", False, 4, 0)
