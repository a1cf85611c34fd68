"""The names that a kernel's author imports: types, parameter annotations, ids and forms.

They mean something to the checker; outside a kernel most of them only say so. Builtins such as
`sqrt` are in `pywgsl.builtins`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar

from pywgsl import ir
from pywgsl.collectives import OnlyInKernelsError
from pywgsl.types import (
    F16,
    F32,
    I32,
    U32,
    FixedArray,
    Matrix,
    RuntimeArray,
    Scalar,
    Struct,
    Type,
    Vector,
)

T = TypeVar("T")

if TYPE_CHECKING:
    # To a type checker a value of the language allows everything: what a kernel may do with it is
    # the business of pywgsl's own checker.
    f32: TypeAlias = Any
    f16: TypeAlias = Any
    i32: TypeAlias = Any
    u32: TypeAlias = Any
    vec2f: TypeAlias = Any
    vec3f: TypeAlias = Any
    vec4f: TypeAlias = Any
    vec2h: TypeAlias = Any
    vec3h: TypeAlias = Any
    vec4h: TypeAlias = Any
    vec2i: TypeAlias = Any
    vec3i: TypeAlias = Any
    vec4i: TypeAlias = Any
    vec2u: TypeAlias = Any
    vec3u: TypeAlias = Any
    vec4u: TypeAlias = Any
    mat2x2f: TypeAlias = Any
    mat2x3f: TypeAlias = Any
    mat2x4f: TypeAlias = Any
    mat3x2f: TypeAlias = Any
    mat3x3f: TypeAlias = Any
    mat3x4f: TypeAlias = Any
    mat4x2f: TypeAlias = Any
    mat4x3f: TypeAlias = Any
    mat4x4f: TypeAlias = Any
    mat2x2h: TypeAlias = Any
    mat2x3h: TypeAlias = Any
    mat2x4h: TypeAlias = Any
    mat3x2h: TypeAlias = Any
    mat3x3h: TypeAlias = Any
    mat3x4h: TypeAlias = Any
    mat4x2h: TypeAlias = Any
    mat4x3h: TypeAlias = Any
    mat4x4h: TypeAlias = Any

    class Array(Generic[T]):
        """A storage buffer with one axis."""

        shape: tuple[int, ...]
        size: int

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __len__(self) -> int: ...

    class Array2D(Array[T]):
        """A storage buffer with two axes."""

    class Array3D(Array[T]):
        """A storage buffer with three axes."""

    class Array4D(Array[T]):
        """A storage buffer with four axes."""

    Const = Annotated[T, "known when the kernel is compiled"]

    class array(Any):  # type: ignore[misc]  # as above
        """A fixed-size value."""

        def __class_getitem__(cls, item: Any) -> Any: ...

else:
    f32, f16, i32, u32 = F32, F16, I32, U32
    vec2f, vec3f, vec4f = (Vector(n, F32) for n in (2, 3, 4))
    vec2h, vec3h, vec4h = (Vector(n, F16) for n in (2, 3, 4))
    vec2i, vec3i, vec4i = (Vector(n, I32) for n in (2, 3, 4))
    vec2u, vec3u, vec4u = (Vector(n, U32) for n in (2, 3, 4))
    mat2x2f, mat2x3f, mat2x4f = (Matrix(2, n, F32) for n in (2, 3, 4))
    mat3x2f, mat3x3f, mat3x4f = (Matrix(3, n, F32) for n in (2, 3, 4))
    mat4x2f, mat4x3f, mat4x4f = (Matrix(4, n, F32) for n in (2, 3, 4))
    mat2x2h, mat2x3h, mat2x4h = (Matrix(2, n, F16) for n in (2, 3, 4))
    mat3x2h, mat3x3h, mat3x4h = (Matrix(3, n, F16) for n in (2, 3, 4))
    mat4x2h, mat4x3h, mat4x4h = (Matrix(4, n, F16) for n in (2, 3, 4))

    class _ArrayForm:
        """`Array[T]` and its n-D forms, as annotations."""

        def __init__(self, ndim: int) -> None:
            self.ndim = ndim

        def __getitem__(self, element: Any) -> RuntimeArray:
            return RuntimeArray(as_type(element, f"{self!r}[…]"), self.ndim)

        def __repr__(self) -> str:
            return "Array" if self.ndim == 1 else f"Array{self.ndim}D"

    Array, Array2D, Array3D, Array4D = (_ArrayForm(n) for n in (1, 2, 3, 4))

    class _ConstForm:
        """`Const[int]`, `Const[float]`, `Const[bool]`, as annotations."""

        def __getitem__(self, kind: type) -> ConstType:
            if kind not in (int, float, bool):
                raise TypeError(f"Const[…] takes int, float or bool, not {kind!r}")
            return ConstType(kind)

        def __repr__(self) -> str:
            return "Const"

    Const = _ConstForm()

    class _FixedArrayForm:
        """`array[T, N]`: a fixed-size value, as an annotation or constructor."""

        def __getitem__(self, item: Any) -> FixedArray:
            if not isinstance(item, tuple) or len(item) != 2:
                raise TypeError("array[…] takes an element type and a length: `array[f32, 4]`")
            element, length = item
            if not isinstance(length, int) or length < 1:
                raise TypeError(f"array[…] takes a length of at least 1, not {length!r}")
            return FixedArray(as_type(element, "array[…]"), length)

        def __repr__(self) -> str:
            return "array"

    array = _FixedArrayForm()


@dataclass(frozen=True, slots=True)
class ConstType:
    """The annotation of a compile-time parameter."""

    kind: type

    def __repr__(self) -> str:
        return f"Const[{self.kind.__name__}]"


_TYPES = TypeVar | Scalar | Vector | Matrix | FixedArray | Struct | RuntimeArray


def as_type(annotation: Any, where: str) -> Type:
    """Return the type that an object stands for; Python's `float` is f32, its `int` i32."""
    if annotation in (float, int, bool):
        return {float: F32, int: I32, bool: Scalar.BOOL}[annotation]
    if isinstance(annotation, _TYPES):
        return annotation  # type: ignore[return-value]  # a variable is replaced later
    raise TypeError(f"{where} takes a type such as f32, i32 or vec4f, not {annotation!r}")


@dataclass(frozen=True, slots=True)
class Ids:
    """An id with the components x, y and z, each an i32 (three axes), or a single i32 (none)."""

    id: ir.Id

    @property
    def x(self) -> Any:
        """The component along x."""
        raise OnlyInKernelsError(f"`{self.id.value}` has a value only inside a kernel")

    @property
    def y(self) -> Any:
        """The component along y."""
        return self.x

    @property
    def z(self) -> Any:
        """The component along z."""
        return self.x

    def __repr__(self) -> str:
        return f"pywgsl.{self.id.value}"


@dataclass(frozen=True, slots=True)
class WorkgroupSize:
    """The workgroup's size, a constant with the components x, y and z."""

    def __repr__(self) -> str:
        return "pywgsl.workgroup_size"


@dataclass(frozen=True, slots=True)
class Form:
    """A function that only the checker can carry out."""

    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Say that this is for kernels."""
        raise OnlyInKernelsError(f"`{self.name}` works only inside a kernel")

    def __repr__(self) -> str:
        return f"pywgsl.{self.name}"


#: The invocation's place in the whole launch, in its workgroup, and its workgroup's place.
global_id: Any = Ids(ir.Id.GLOBAL)
local_id: Any = Ids(ir.Id.LOCAL)
workgroup_id: Any = Ids(ir.Id.WORKGROUP)
num_workgroups: Any = Ids(ir.Id.NUM_WORKGROUPS)
#: The invocation's number in its workgroup, row by row.
local_index: Any = Ids(ir.Id.LOCAL_INDEX)
workgroup_size: Any = WorkgroupSize()
#: How many invocations a subgroup has, and which of them this one is.
subgroup_size: Any = Ids(ir.Id.SUBGROUP_SIZE)
subgroup_invocation_id: Any = Ids(ir.Id.SUBGROUP_INVOCATION)

#: The ids that are one number.
WITHOUT_AXES = frozenset({ir.Id.LOCAL_INDEX, ir.Id.SUBGROUP_SIZE, ir.Id.SUBGROUP_INVOCATION})

#: `for k in static_range(4)`: a range unrolled when the kernel is compiled.
static_range: Any = Form("static_range")
#: `local_array(f32, 8)`: an array of the invocation's own, all zero; more lengths make it nested.
local_array: Any = Form("local_array")
#: `workgroup_array(f32, 16, 17)`: memory that a workgroup shares, all zero; assign it to a name.
workgroup_array: Any = Form("workgroup_array")
#: `bitcast(u32, x)`: the same bits as another type.
bitcast: Any = Form("bitcast")
