"""Places of the intermediate representation as NumPy: what is read and written, and how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from pywgsl import ir
from pywgsl.analysis.axes import UNIFORM, Axes
from pywgsl.codegen.numpy_scope import (
    ATOM,
    Lines,
    Mask,
    ModuleScope,
    Names,
    Value,
    Variable,
    depth_of,
    inner_shape,
)
from pywgsl.ir import type_of
from pywgsl.types import Struct, Type


@dataclass(frozen=True, slots=True)
class Place:
    """A place, taken apart.

    Members of structs come before indices, whatever their order is: NumPy has the array of each
    member of an array of structs.

    Attributes:
        base: the variable with its members, `particles["position"]`.
        root: what the place is in.
        depth: how many axes, apart from lanes, the base has.
        shape: their lengths, as far as they are known; a buffer's own are not.
        indices: one for each of the first of these axes.
    """

    base: Value
    root: ir.Expr
    depth: int
    shape: tuple[int | None, ...]
    indices: tuple[Value, ...]
    constants: tuple[int | None, ...]

    @property
    def inner(self) -> int:
        """How many axes of components the value at the place has."""
        return self.depth - len(self.indices)

    @property
    def index_axes(self) -> Axes:
        """The axes of all indices together."""
        axes = UNIFORM
        for index in self.indices:
            axes |= index.axes
        return axes

    @property
    def is_memory(self) -> bool:
        """Whether the place is in a storage buffer or in workgroup memory."""
        return is_memory(self.root)

    @property
    def is_even(self) -> bool:
        """Whether all indices are `Affine` or uniform."""
        return all(index.even or index.axes == UNIFORM for index in self.indices)

    @property
    def component(self) -> str | None:
        """The key of a part that constants in range name: `[..., 1, :]`."""
        key = []
        for constant, length in zip(self.constants, self.shape, strict=False):
            if constant is None or length is None or not 0 <= constant < length:
                return None
            key.append(str(constant))
        return f"[{', '.join(['...', *key, *[':'] * self.inner])}]"

    @property
    def index_texts(self) -> list[str]:
        """The indices, as arguments."""
        return [index.plain or index.text for index in self.indices]


class PlaceReader(ABC):
    """Reads places in one function; `Expressions` completes it."""

    def __init__(self, module: ModuleScope, names: Names) -> None:
        self.module = module
        self.names = names
        self.out = Lines(1)
        #: The lanes that the function is called for.
        self.root = Mask("True")
        #: The lanes that evaluate the expression that is being written.
        self.mask = self.root
        self.locals: dict[str, Variable] = {}
        #: The variable with the ids of the lanes for which code is being written.
        self.ids = "ids"

    @abstractmethod
    def value(self, node: ir.Expr) -> Value:
        """Return what an expression is in Python; an index may be an `Affine`."""

    @abstractmethod
    def array(self, node: ir.Expr) -> Value:
        """Return an expression as a NumPy value."""

    def variable(self, node: ir.Local | ir.Global) -> Variable:
        """Return what is known of a local or private variable."""
        known = self.locals if isinstance(node, ir.Local) else self.module.privates
        return known[node.name]

    def place(self, node: ir.Index | ir.Member | ir.Swizzle | ir.Global) -> Value:
        """Return the value at a place."""
        place = self.resolve(node)
        if not place.indices:
            return place.base
        axes = place.base.axes | place.index_axes
        spread = place.base.spread or any(i.spread for i in place.indices)
        if place.is_memory:
            function = "load" if place.is_even else "gather"
            text = f"{function}({', '.join([place.base.text, *place.index_texts])})"
            changes = self._changes(place.root)
            # Of one element NumPy gives a number, or a view of a struct.
            composite = bool(place.inner) or isinstance(node.type, Struct)
            view = changes and (axes != UNIFORM or composite)
            return Value(text, axes=axes, spread=spread, view=view)
        key = place.component
        if key is not None:
            return Value(place.base.text + key, axes=axes, spread=spread, view=place.base.view)
        texts = ", ".join(index.text for index in place.indices)
        text = f"pick({place.base.text}, {place.depth}, {texts})"
        return Value(text, axes=axes, spread=spread, view=place.base.view)

    def resolve(self, node: ir.Expr) -> Place:
        """Take a place apart."""
        accessors: list[ir.Index | ir.Member | ir.Swizzle] = []
        while isinstance(node, ir.Index | ir.Member) or (
            isinstance(node, ir.Swizzle) and len(node.components) == 1
        ):
            accessors.append(node)
            node = node.base
        shape = _axes_of(type_of(node))
        members = ""
        indices: list[Value] = []
        constants: list[int | None] = []
        if isinstance(node, ir.Global) and node.space is ir.Space.WORKGROUP:
            base = Value(self.module.shared[node.name])
            indices += self._groups(node)
            constants += [None] * len(indices)
            shape = (None,) * len(indices) + shape
        else:
            base = self.array(node)
        in_memory = is_memory(node)
        for accessor in reversed(accessors):
            match accessor:
                case ir.Member(base=owner, field=field):
                    assert isinstance(owner.type, Struct)
                    members += f"[{field!r}]"
                    shape += _axes_of(accessor.type)
                case ir.Swizzle(components=component):
                    position = "xyzw".index(component)
                    indices.append(Value(f"np.int32({position})", plain=str(position)))
                    constants.append(position)
                case ir.Index():
                    read = self.value if in_memory else self.array
                    indices += map(read, accessor.indices)
                    constants += map(_constant, accessor.indices)
        base = Value(base.at(ATOM) + members, axes=base.axes, spread=base.spread, view=base.view)
        return Place(base, node, len(shape), shape, tuple(indices), tuple(constants))

    def _groups(self, node: ir.Global) -> list[Value]:
        """The first indices of workgroup memory: whose it is, of the workgroups that run."""
        order = self.module.axes.order
        letters = order.along(self.module.axes.shared(node.name))
        return [
            Value(
                f"{self.ids}.nth({'XYZ'.index(letter)})",
                axes=order.axis(letter),
                spread=True,
                even=True,
            )
            for letter in reversed(letters)
        ] or [Value("0")]

    def _changes(self, memory: ir.Expr) -> bool:
        """Whether a buffer or workgroup memory is ever written."""
        assert isinstance(memory, ir.Global)
        return memory.space is ir.Space.WORKGROUP or memory.name in self.module.written


def is_memory(node: ir.Expr) -> bool:
    """Whether this is a storage buffer or workgroup memory."""
    spaces = (ir.Space.STORAGE, ir.Space.WORKGROUP)
    return isinstance(node, ir.Global) and node.space in spaces


def tuple_text(parts: Iterable[str]) -> str:
    """Return a tuple of these texts."""
    texts = list(parts)
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _axes_of(type_: Type) -> tuple[int | None, ...]:
    known = inner_shape(type_)
    return (None,) * (depth_of(type_) - len(known)) + known


def _constant(node: ir.Expr) -> int | None:
    return int(node.value) if isinstance(node, ir.Literal) else None
