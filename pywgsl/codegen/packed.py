"""Structs that uniform buffers do not take as they are: read out of words, part by part.

There, WGSL wants arrays to have strides, and structs to have places, that are multiples of 16. The
bytes of such a parameter lie as everywhere, in an `array<vec4u, N>`.
"""

from __future__ import annotations

from collections.abc import Callable

from pywgsl import ir
from pywgsl.codegen.layout import stored
from pywgsl.types import F16, U32, FixedArray, Matrix, Scalar, Struct, Type, Vector, size_of


def fits_uniform(type_: Type) -> bool:
    """Whether WGSL lets a uniform buffer hold a type."""
    match type_:
        case FixedArray(element=element, stride=stride):
            return stride % 16 == 0 and fits_uniform(element)
        case Struct(fields=fields, offsets=offsets):
            ends = [*offsets[1:], type_.size]
            return all(
                fits_uniform(member.type) and _has_room(member.type, offset, end)
                for member, offset, end in zip(fields, offsets, ends, strict=True)
            )
        case _:
            return True


def _has_room(type_: Type, offset: int, end: int) -> bool:
    if not isinstance(type_, Struct | FixedArray):
        return True
    return offset % 16 == 0 and (isinstance(type_, FixedArray) or end - offset >= _rounded(type_))


def _rounded(type_: Type) -> int:
    return -(-size_of(type_) // 16) * 16


def packed_type(type_: Type) -> str:
    """Return the spelling of the words that hold a struct."""
    return f"array<vec4u, {_rounded(type_) // 16}>"


def part_of(node: ir.Expr) -> tuple[ir.Global, int] | None:
    """Return the parameter that a place is in, and its first byte there, if both are constants."""
    match node:
        case ir.Global(space=ir.Space.UNIFORM):
            return node, 0
        case ir.Member(base=base, field=name) if isinstance(base.type, Struct):
            names = [member.name for member in base.type.fields]
            inside = base.type.offsets[names.index(name)]
        case ir.Swizzle(base=base, components=component) if len(component) == 1:
            assert isinstance(base.type, Vector)
            inside = "xyzw".index(component) * base.type.scalar.size
        case ir.Index(base=base, indices=(ir.Literal(value=position),)):
            stride = _stride(base.type)
            if stride is None:
                return None
            inside = int(position) * stride
        case _:
            return None
    outer = part_of(base)
    return None if outer is None else (outer[0], outer[1] + inside)


def _stride(type_: Type | None) -> int | None:
    match type_:
        case FixedArray(stride=stride):
            return stride
        case Matrix(columns=columns, size=size):
            return size // columns
        case _:
            return None


def unpacked(type_: Type, words: str, offset: int, spell: Callable[[Type], str]) -> str:
    """Return the text of the value at a byte of `words`, as it is kept in a struct."""

    def all_of(parts: list[tuple[Type, int]]) -> str:
        values = ", ".join(unpacked(part, words, start, spell) for part, start in parts)
        return f"{spell(stored(type_))}({values})"

    match type_:
        case Scalar():
            return _scalar(stored(type_), words, offset)
        case Vector(width=width, scalar=scalar) if scalar is not F16:
            start = offset % 16 // 4
            row = f"{words}[{offset // 16}]"
            row = row if width == 4 else f"{row}.{'xyzw'[start : start + width]}"
            kept = stored(type_)
            return row if kept == Vector(width, U32) else f"bitcast<{kept}>({row})"
        case Vector(width=width, scalar=scalar):
            return all_of([(scalar, offset + 2 * k) for k in range(width)])
        case Matrix(columns=columns, column=column, size=size):
            return all_of([(column, offset + k * size // columns) for k in range(columns)])
        case FixedArray(element=element, length=length, stride=stride):
            return all_of([(element, offset + k * stride) for k in range(length)])
        case Struct(fields=fields, offsets=offsets):
            starts = zip(fields, offsets, strict=True)
            return all_of([(member.type, offset + start) for member, start in starts])
        case _:
            raise TypeError(f"{type_} is no part of a struct")


def _scalar(type_: Type, words: str, offset: int) -> str:
    word = f"{words}[{offset // 16}].{'xyzw'[offset % 16 // 4]}"
    if type_ is U32:
        return word
    if type_ is F16:
        # Naga has no bitcast to two f16; this conversion is exact.
        return f"f16(unpack2x16float({word}).{'xy'[offset % 4 // 2]})"
    return f"bitcast<{type_}>({word})"
