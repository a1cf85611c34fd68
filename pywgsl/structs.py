"""Structs: classes whose annotated members travel together, in buffers, uniforms and locals."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, dataclass_transform

from pywgsl.lang import as_type
from pywgsl.types import Field, FixedArray, Matrix, Scalar, Struct, Type, Vector

if TYPE_CHECKING:

    @dataclass_transform()
    def struct(cls: type[Any]) -> Any:
        """Make a class a struct."""

else:

    def struct(cls: type[Any]) -> Struct:
        """Make a class a struct: `@pw.struct class Particle: position: vec3f; mass: f32`.

        The struct is compared by its name and members. `Particle(position=…, mass=1.0)` makes a
        value, in a kernel and on the host; `Particle.dtype` is the dtype of an array of them.

        Raises:
            TypeError: the class is more than annotated members, or one has no type of the language.
        """
        if not isinstance(cls, type):
            raise TypeError(f"`struct` takes a class with annotated members, not {cls!r}")
        name = cls.__name__
        if cls.__bases__ != (object,):
            raise TypeError(f"struct `{name}` has base classes; write all its members in one class")
        around = sys._getframe(1).f_locals
        annotations = inspect.get_annotations(cls, locals=around, eval_str=True)
        _check_only_members(cls, annotations)
        return Struct(name, tuple(Field(m, _type(name, m, a)) for m, a in annotations.items()))


def _check_only_members(cls: type[Any], annotations: Mapping[str, Any]) -> None:
    name = cls.__name__
    if not annotations:
        raise TypeError(f"struct `{name}` has no members; annotate them: `mass: f32`")
    for other, value in vars(cls).items():
        if other in annotations:
            raise TypeError(
                f"member `{other}` of struct `{name}` has a value, but members have no defaults"
            )
        if inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod):
            raise TypeError(
                f"struct `{name}` has the method `{other}`; write a function with `@pw.function` "
                "that takes the struct"
            )
        if not other.startswith("__"):
            raise TypeError(
                f"`{other}` of struct `{name}` has no type; annotate it: `{other}: f32`"
            )


def _type(struct_name: str, member: str, annotation: Any) -> Type:
    where = f"member `{member}` of struct `{struct_name}`"
    type_ = as_type(annotation, where)
    inner = type_
    while isinstance(inner, FixedArray):
        inner = inner.element
    if not isinstance(inner, Scalar | Vector | Matrix | Struct):
        raise TypeError(
            f"{where} takes a type of fixed size, such as f32, vec3f or array[f32, 4], "
            f"not {annotation!r}"
        )
    return type_
