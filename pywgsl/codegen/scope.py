"""The names of one WGSL text: which author's name became what, and how types are spelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from pywgsl import ir
from pywgsl.analysis.ranges import Ranges
from pywgsl.analysis.uses import IdKey, ModuleUses, Uses, structs_in
from pywgsl.builtins import BUILTINS
from pywgsl.codegen.atomics import Atomics
from pywgsl.codegen.collectives import LOCAL_INDEX, Collectives
from pywgsl.codegen.layout import (
    AxisLength,
    Grid,
    Origin,
    ParameterValue,
    UniformLayout,
    stored,
    uniform_layout,
)
from pywgsl.codegen.loop_names import shared_indices
from pywgsl.codegen.names import FORBIDDEN, MODULE_SPOKEN_FOR, SPOKEN_FOR, fresh, rename
from pywgsl.codegen.packed import fits_uniform, part_of, unpacked
from pywgsl.codegen.prelude import Prelude
from pywgsl.codegen.wgsl_literals import literal
from pywgsl.types import F32, I32, U32, Atomic, FixedArray, RuntimeArray, Scalar, Struct, Type

_ID_ORDER = {id_: position for position, id_ in enumerate(ir.Id)}


class ModuleScope:
    """What is declared at module scope, and what expressions anywhere must know of the module."""

    def __init__(
        self,
        module: ir.Module,
        grid: Grid,
        uses: ModuleUses,
        avoid: AbstractSet[str],
        *,
        subgroups: bool = False,
    ) -> None:
        self.module = module
        self.uses = uses
        self.layout: UniformLayout = uniform_layout(module, grid, uses)
        self.ranges = Ranges(module)
        self.buffers = {buffer.name: buffer for buffer in module.buffers}
        self.atomics: set[str] = set().union(*(u.atomics for u in uses.all()))
        self.structs = self._reachable_structs()
        self._loaders: dict[str, str] = {}
        self.loader_texts: list[str] = []
        called = {BUILTINS[name].wgsl or name for u in uses.all() for name in u.builtins}
        taken = MODULE_SPOKEN_FOR | called | avoid
        used = uses.globals()
        variables = [v.name for v in module.variables if v.name in used]
        # One kind after another: a helper may have the name of a buffer of its caller.
        self.entry_point = fresh(module.name, taken)
        taken |= {self.entry_point}
        self.globals = rename([*self.buffers, *variables], taken)
        taken |= set(self.globals.values())
        self.functions = rename(uses.functions, taken)
        taken |= set(self.functions.values())
        self.struct_names = rename(self.structs, taken)
        self._fields = {
            name: rename((f.name for f in struct.fields), FORBIDDEN)
            for name, struct in self.structs.items()
        }
        locals_ = (name for u in uses.all() for name in u.locals)
        self.prelude = Prelude(taken.union(self.struct_names.values(), locals_))
        self.collectives = Collectives(self.prelude, module.workgroup_size, subgroups)
        self.atomic_functions = Atomics(self)
        self.ids_of = self._ids_of_functions()
        self.uniforms = self.uniforms_type = ""
        self._uniform_fields: dict[Origin, str] = {}
        if self.layout.fields:
            self.uniforms = self.prelude.declare("uniforms")
            self.uniforms_type = self.prelude.declare("Uniforms")
            spelled = rename((f.name for f in self.layout.fields), FORBIDDEN)
            self._uniform_fields = {f.origin: spelled[f.name] for f in self.layout.fields}

    def body_of(self, function: str) -> ir.Block:
        """Return the body of a helper, or, for an empty name, of the entry point."""
        if not function:
            return self.module.body
        return next(f.body for f in self.module.functions if f.name == function)

    def ids_in(self, uses: Uses) -> Counter[IdKey]:
        """Return how often each id is read by the text of a function."""
        counts = Counter(uses.ids)
        for collective, times in uses.collectives.items():
            for key in self.collectives.ids(*collective):
                counts[key] += times
        if "subgroup_elect" in uses.builtins:
            counts[LOCAL_INDEX] += 2
        return counts

    def _ids_of_functions(self) -> dict[str, tuple[IdKey, ...]]:
        """The ids that each helper needs for itself and for those it calls: they are parameters."""
        found: dict[str, tuple[IdKey, ...]] = {}
        for name, used in self.uses.functions.items():
            keys = set(self.ids_in(used)).union(*(found[callee] for callee in used.functions))
            found[name] = tuple(sorted(keys, key=lambda key: (_ID_ORDER[key[0]], key[1])))
        return found

    def declared(self) -> set[str]:
        """Return the names that the author's declarations have."""
        names = (self.globals, self.functions, self.struct_names)
        return {self.entry_point}.union(*(renamed.values() for renamed in names))

    def loader(self, buffer: str) -> str:
        """Return the name of the function that reads a buffer where the index is inside, else 0."""
        if buffer not in self._loaders:
            self._loaders[buffer] = self.prelude.declare(f"load_{buffer}")
            self.loader_texts.append(self._loader_text(self.buffers[buffer]))
        return self._loaders[buffer]

    def _loader_text(self, buffer: ir.Buffer) -> str:
        type_ = buffer.type
        assert isinstance(type_, RuntimeArray)
        indices = self.index_names(buffer.name)
        inside = " && ".join(
            f"{index} < u32({self.uniform(AxisLength(buffer.name, axis))})"
            for axis, index in enumerate(indices)
        )
        element = stored(type_.element)
        value = f"{self.globals[buffer.name]}[{self.offset(buffer.name, indices)}]"
        if buffer.name in self.atomics:
            value = f"atomicLoad(&{value})"
            value = f"bitcast<f32>({value})" if element is F32 else value
        params = ", ".join(f"{index}: u32" for index in indices)
        return (
            f"fn {self._loaders[buffer.name]}({params}) -> {self.spell(element)} {{\n"
            f"    if ({inside}) {{\n        return {value};\n    }}\n"
            f"    return {self.zero(element)};\n}}"
        )

    def parameter(self, node: ir.Expr) -> str | None:
        """Return the text of a parameter in the uniform struct, or of a value in one held as words.

        None for anything else: other parts are written behind the whole.
        """
        found = part_of(node)
        if found is None:
            return None
        whole, offset = found
        words, type_ = self.uniform(ParameterValue(whole.name)), ir.type_of(node)
        if fits_uniform(whole.type):
            return words if node is whole else None
        if node is whole:
            return f"{self._unpacker(whole, words)}()"
        is_leaf = not isinstance(type_, Struct | FixedArray)
        return unpacked(type_, words, offset, self.spell) if is_leaf else None

    def _unpacker(self, parameter: ir.Global, words: str) -> str:
        """Return the name of the function that makes a struct of words."""
        struct, name = parameter.type, parameter.name
        assert isinstance(struct, Struct)
        if name not in self._loaders:
            self._loaders[name] = self.prelude.declare(f"load_{name}")
            members = "".join(
                f"        {unpacked(member.type, words, offset, self.spell)},\n"
                for member, offset in zip(struct.fields, struct.offsets, strict=True)
            )
            head = f"fn {self._loaders[name]}() -> {self.spell(struct)} {{"
            value = f"    return {self.spell(struct)}(\n{members}    );"
            self.loader_texts.append(f"{head}\n{value}\n}}")
        return self._loaders[name]

    def index_names(self, buffer: str, taken: AbstractSet[str] = frozenset()) -> list[str]:
        """Return names for the u32 indices of a buffer's element, in a function that takes them."""
        type_ = self.buffers[buffer].type
        assert isinstance(type_, RuntimeArray)
        reserved = {self.globals[buffer], self.uniforms}
        return [fresh(letter, reserved, taken) for letter in "ijkl"[: type_.ndim]]

    def offset(self, buffer: str, indices: Sequence[str]) -> str:
        """Return where an element with these u32 indices lies in its buffer."""
        offset = indices[0]
        for axis, index in enumerate(indices[1:], start=1):
            offset = f"({offset})" if "+" in offset else offset
            offset = f"{offset} * u32({self.uniform(AxisLength(buffer, axis))}) + {index}"
        return offset

    def uniform(self, origin: Origin) -> str:
        """Return the text that reads a field of the uniform struct."""
        return f"{self.uniforms}.{self._uniform_fields[origin]}"

    def uniform_field(self, origin: Origin) -> str:
        """Return the name that a field of the uniform struct has in the text."""
        return self._uniform_fields[origin]

    def field(self, struct: Struct, name: str) -> str:
        """Return the name that a member has in the text."""
        return self._fields[struct.name][name]

    def spell(self, type_: Type) -> str:
        """Return WGSL's spelling of a type."""
        match type_:
            case Struct(name=name):
                return self.struct_names[name]
            case FixedArray(element=element, length=length):
                return f"array<{self.spell(stored(element))}, {length}>"
            case RuntimeArray(element=element):
                return f"array<{self.spell(stored(element))}>"
            case _:
                return str(type_)

    def zero(self, type_: Type) -> str:
        """Return the text of a type's zero."""
        code = literal(ir.Literal(0, type_)) if isinstance(type_, Scalar) else None
        return code.text if code is not None else f"{self.spell(type_)}()"

    def spell_global(self, name: str, type_: Type) -> str:
        """Return the spelling of a variable's type; its scalars are atomic if it is used so."""
        return self.spell(atomic(type_) if name in self.atomics else type_)

    def _reachable_structs(self) -> dict[str, Struct]:
        types = self.uses.types().union(p.type for p in self.module.buffers)
        for name in self.uses.functions:
            function = next(f for f in self.module.functions if f.name == name)
            types.update(t for t in (function.result,) if t is not None)
        names = structs_in(types)
        return {s.name: s for s in self.module.structs if s.name in names}


class FunctionScope:
    """The names of one function; an id that it uses has a text of its own."""

    def __init__(self, module: ModuleScope, uses: Uses, function: str = "") -> None:
        self.module = module
        self.function = function
        mentioned = {module.globals[n] for n in uses.globals if n in module.globals}
        mentioned.update(module.functions[n] for n in uses.functions)
        mentioned.update(module.struct_names.values(), [module.uniforms])
        called = {BUILTINS[name].wgsl or name for name in uses.builtins}
        self._taken = SPOKEN_FOR | called | mentioned
        self.names = rename(uses.locals, self._taken)
        self._used = set(self.names.values())
        shared = shared_indices(module.body_of(function), set(uses.locals))
        self.names.update({index: self.names[name] for index, name in shared.items()})
        self.ids: dict[IdKey, str] = {}
        self._integers: dict[str, int] = {}

    def known_integer(self, node: ir.Expr) -> int | None:
        """Return the value of a constant, or of a local that is only a name for one."""
        if isinstance(node, ir.Literal) and node.type in (I32, U32):
            return int(node.value)
        return self._integers.get(node.name) if isinstance(node, ir.Local) else None

    def note_let(self, node: ir.Let) -> None:
        """Remember which integer a local is a name for."""
        value = self.known_integer(node.value)
        if value is not None:
            self._integers[node.name] = value

    def alias(self, node: ir.InvocationId, name: str, depth: int) -> None:
        """Call an id by the author's name from here on, if the whole function sees it."""
        if depth == 0:
            self.ids[node.id, node.axis] = name

    def declare(self, name: str) -> str:
        """Return a name for something that the author did not name."""
        name = fresh(name)
        unique, number = name, 1
        while unique in self._taken or unique in self._used:
            number += 1
            unique = f"{name}_{number}"
        self._used.add(unique)
        return unique


def atomic(type_: Type) -> Type:
    """Return the type of memory that invocations change together: an f32 lies there as its bits."""
    match type_:
        case FixedArray(element=element, length=length):
            return FixedArray(atomic(element), length)
        case RuntimeArray(element=element, ndim=ndim):
            return RuntimeArray(atomic(element), ndim)
        case Atomic() | Struct():
            return type_
        case _:
            assert isinstance(type_, Scalar)
            return Atomic(U32 if type_ is F32 else type_)
