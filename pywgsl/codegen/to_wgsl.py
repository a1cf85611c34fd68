"""The intermediate representation as WGSL text, meant to be read."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePath

from pywgsl import ir
from pywgsl.analysis.uses import ModuleUses, Uses, module_uses
from pywgsl.builtins import BUILTINS, Scope
from pywgsl.codegen.layout import Grid, UniformLayout, stored
from pywgsl.codegen.packed import fits_uniform, packed_type
from pywgsl.codegen.scope import FunctionScope, ModuleScope
from pywgsl.codegen.wgsl_entry import Head, id_name, workgroup_size
from pywgsl.codegen.wgsl_statements import MAX_CHAIN, Statements, chain_length
from pywgsl.codegen.writer import Writer
from pywgsl.source import NOWHERE, Span
from pywgsl.types import F16, FixedArray, RuntimeArray, Struct, Type, scalar_of, size_of


@dataclass(frozen=True, slots=True)
class Binding:
    """A buffer's place in group 0. `name` is the author's."""

    name: str
    binding: int
    access: ir.Access


@dataclass(frozen=True, slots=True)
class Wgsl:
    """A WGSL text and what is needed to run it.

    `lines` tells which piece of the author's source each line of the text came from. Buffers
    have bindings 0, 1, … in the author's order; the uniform struct, if it has fields, the next.
    `features` are WebGPU's names of what the text needs of a device, `workgroup_bytes` the memory
    that its workgroup variables take. `prints` are the calls of `print` that the text leaves out.
    """

    text: str
    entry_point: str
    lines: tuple[Span | None, ...]
    bindings: tuple[Binding, ...]
    uniform_binding: int | None
    uniforms: UniformLayout
    features: tuple[str, ...]
    workgroup_bytes: int
    prints: tuple[Span, ...]

    def span_of(self, line: int) -> Span | None:
        """Return where a line (from 1) of the text came from, or else the nearest before it."""
        for span in reversed(self.lines[:line]):
            if span is not None:
                return span
        return None


def to_wgsl(
    module: ir.Module,
    *,
    grid: Grid = Grid.PLAIN,
    target: str = "portable",
    subgroups: bool = False,
) -> Wgsl:
    """Return a module as WGSL.

    Args:
        module: A valid module.
        grid: How the launch lays its workgroups.
        target: `"portable"`, `"wgpu"` or `"web"`: they differ where naga and Tint want different
            directives.
        subgroups: Whether operations of a workgroup may use those of its subgroups; only naga
            takes that.
    """
    uses = module_uses(module)
    scope, out = _emit(module, grid, uses, frozenset(), subgroups)
    # A name such as `exp` is free unless the text turns out to use WGSL's.
    clash = scope.prelude.called() & scope.declared()
    if clash:
        scope, out = _emit(module, grid, uses, clash, subgroups)
    features = _features(scope, uses)
    head = Writer()
    for feature in features:
        # Naga has subgroups without the directive, and refuses it; Tint insists on it.
        if feature != "subgroups" or target == "web":
            head.line(f"enable {feature.removeprefix('shader-')};")
    if head.lines:
        head.line("")
    head.extend(out)
    return Wgsl(
        text="\n".join(head.lines) + "\n",
        entry_point=scope.entry_point,
        lines=tuple(head.spans),
        bindings=tuple(Binding(b.name, n, _access(scope, b)) for n, b in enumerate(module.buffers)),
        uniform_binding=len(module.buffers) if scope.layout.fields else None,
        uniforms=scope.layout,
        features=features,
        workgroup_bytes=_workgroup_bytes(scope),
        prints=tuple(node.span for used in uses.all() for node in used.prints),
    )


def _emit(
    module: ir.Module, grid: Grid, uses: ModuleUses, avoid: AbstractSet[str], subgroups: bool
) -> tuple[ModuleScope, Writer]:
    """Write everything but the directives, with no declaration named as a word in `avoid`."""
    scope = ModuleScope(module, grid, uses, avoid, subgroups=subgroups)
    functions = [_function(scope, f) for f in module.functions if f.name in uses.functions]
    functions.append(_entry_point(scope, grid))
    out = Writer()
    for name, struct in scope.structs.items():
        _struct(scope, struct, scope.struct_names[name], out)
    _uniforms(scope, out)
    _bindings(scope, out)
    _variables(scope, out)
    for text in (*scope.prelude.functions, *scope.loader_texts):
        for line in text.split("\n"):
            out.line(line)
        out.line("")
    for function in functions[:-1]:
        out.extend(function)
        out.line("")
    out.extend(functions[-1])
    return scope, out


def _struct(scope: ModuleScope, struct: Struct, name: str, out: Writer) -> None:
    out.open(f"struct {name}")
    for member in struct.fields:
        out.line(f"{scope.field(struct, member.name)}: {scope.spell(stored(member.type))},")
    out.close()
    out.line("")


def _uniforms(scope: ModuleScope, out: Writer) -> None:
    if not scope.layout.fields:
        return
    out.open(f"struct {scope.uniforms_type}")
    for field in scope.layout.fields:
        type_ = field.type
        name, spelled, attributes = scope.uniform_field(field.origin), scope.spell(type_), ""
        if not fits_uniform(type_):
            spelled = packed_type(type_)
        elif isinstance(type_, Struct | FixedArray):
            # Uniform buffers want structs at multiples of 16, and nothing in the rest of the last.
            attributes = f"@align(16) @size({-(-field.size // 16) * 16}) "
        out.line(f"{attributes}{name}: {spelled},")
    out.close()
    out.line("")


def _bindings(scope: ModuleScope, out: Writer) -> None:
    buffers = scope.module.buffers
    for number, buffer in enumerate(buffers):
        name, type_ = scope.globals[buffer.name], scope.spell_global(buffer.name, buffer.type)
        declaration = f"var<storage, {_access(scope, buffer).value}> {name}: {type_};"
        out.line(f"@group(0) @binding({number}) {declaration}", buffer.span)
    if scope.layout.fields:
        declaration = f"var<uniform> {scope.uniforms}: {scope.uniforms_type};"
        out.line(f"@group(0) @binding({len(buffers)}) {declaration}")
    if buffers or scope.layout.fields:
        out.line("")


def _access(scope: ModuleScope, buffer: ir.Buffer) -> ir.Access:
    """Atomics want to write, even one that only loads."""
    return ir.Access.READ_WRITE if buffer.name in scope.atomics else buffer.access


def _variables(scope: ModuleScope, out: Writer) -> None:
    variables = [v for v in scope.module.variables if v.name in scope.globals]
    for variable in variables:
        type_ = scope.spell_global(variable.name, variable.type)
        name = scope.globals[variable.name]
        out.line(f"var<{variable.space.value}> {name}: {type_};", variable.span)
    scratch = scope.collectives.variables
    for name, memory in scratch.items():
        out.line(f"var<workgroup> {name}: {memory};")
    if variables or scratch:
        out.line("")


def _function(scope: ModuleScope, function: ir.Function) -> Writer:
    """A helper; the ids that it reads are its last parameters."""
    names = FunctionScope(scope, scope.uses.functions[function.name], function.name)
    params = [f"{names.names[p.name]}: {scope.spell(p.type)}" for p in function.params]
    for key in scope.ids_of[function.name]:
        names.ids[key] = names.declare(id_name(key))
        params.append(f"{names.ids[key]}: i32")
    result = f" -> {scope.spell(function.result)}" if function.result is not None else ""
    out = Writer()
    out.open(f"fn {scope.functions[function.name]}({', '.join(params)}){result}", function.span)
    statements = Statements(names, out)
    statements.parameters(function.params)
    statements.block(_without_last_return(function.body))
    if function.result is not None and not _returns(function.body):
        # Never reached, but naga and Tint do not see that of a loop.
        out.line(f"return {scope.zero(function.result)};", function.span)
    out.close()
    return out


def _entry_point(scope: ModuleScope, grid: Grid) -> Writer:
    module = scope.module
    names = FunctionScope(scope, scope.uses.entry)
    head = Head(names, grid)
    out = Writer()
    where = "" if module.span is NOWHERE else f", {_location(module.span)}"
    constants = ", ".join(f"{name} = {value}" for name, value in module.constants)
    out.line(f"// {module.name}{where}{f' ({constants})' if constants else ''}", module.span)
    out.line(f"@compute @workgroup_size({workgroup_size(module.workgroup_size)})", module.span)
    head.open(out, f"fn {scope.entry_point}", module.span)
    out.nest(head.lines)
    Statements(names, out).block(_without_last_return(module.body))
    out.close()
    return out


def _location(span: Span) -> str:
    return f"{PurePath(span.source.name).name}:{span.line}"


def _without_last_return(body: ir.Block) -> ir.Block:
    if body and isinstance(body[-1], ir.Return) and body[-1].value is None:
        return body[:-1]
    return body


def _returns(body: ir.Block) -> bool:
    """Whether both compilers see that the end of a body is not reached."""
    match body[-1] if body else None:
        case ir.Return():
            return True
        case ir.If(body=accept, orelse=reject) as node if chain_length(node) <= MAX_CHAIN:
            return _returns(accept) and _returns(reject)
        case _:
            return False


def _workgroup_bytes(scope: ModuleScope) -> int:
    types: list[Type] = [
        variable.type
        for variable in scope.module.variables
        if variable.space is ir.Space.WORKGROUP and variable.name in scope.globals
    ]
    types += scope.collectives.variables.values()
    # WebGPU rounds each variable up to 16 bytes.
    return sum(-(-size_of(type_) // 16) * 16 for type_ in types)


def _features(scope: ModuleScope, uses: ModuleUses) -> tuple[str, ...]:
    found: list[str] = []
    if any(_has_f16(type_) for type_ in _types(scope, uses)):
        found.append("shader-f16")
    if any(_joins_subgroups(scope, used) for used in uses.all()):
        found.append("subgroups")
    return tuple(found)


def _joins_subgroups(scope: ModuleScope, uses: Uses) -> bool:
    return (
        any(BUILTINS[name].scope is Scope.SUBGROUP for name in uses.builtins)
        or any(
            id_.value.startswith("subgroup") or id_ is ir.Id.NUM_SUBGROUPS for id_, _ in uses.ids
        )
        or any(scope.collectives.by_subgroups(*collective) for collective in uses.collectives)
    )


def _types(scope: ModuleScope, uses: ModuleUses) -> set[Type]:
    types = uses.types().union(b.type for b in scope.module.buffers)
    types.update(field.type for field in scope.layout.fields)
    return types


def _has_f16(type_: Type) -> bool:
    match type_:
        case FixedArray(element=element) | RuntimeArray(element=element):
            return _has_f16(element)
        case Struct(fields=fields):
            return any(_has_f16(field.type) for field in fields)
        case _:
            return scalar_of(type_) is F16
