"""Which names WGSL lets an author keep, and the least change to those it does not."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

_KEYWORDS = """
alias break case const const_assert continue continuing default diagnostic discard else enable
false fn for if let loop override requires return struct switch true var while
"""

_RESERVED = """
NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become
cast catch class co_await co_return co_yield coherent column_major common compile compile_fragment
concept const_cast consteval constexpr constinit crate debugger decltype delete demote
demote_to_helper do dynamic_cast enum explicit export extends extern external fallthrough filter
final finally friend from fxgroup get goto groupshared highp impl implements import inline
instanceof interface layout lowp macro macro_rules match mediump meta mod module move mut mutable
namespace new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null
nullptr of operator package packoffset partition pass patch pixelfragment precise precision
premerge priv protected pub public readonly ref regardless register reinterpret_cast require
resource restrict self set shared sizeof smooth snorm static static_assert static_cast std
subroutine super target template this thread_local throw trait try type typedef typeid typename
typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with
writeonly yield
"""

_TYPES = [
    *("array", "atomic", "bool", "f16", "f32", "i32", "ptr", "u32"),
    *(f"vec{n}{suffix}" for n in (2, 3, 4) for suffix in ("", "f", "h", "i", "u")),
    *(f"mat{c}x{r}{suffix}" for c in (2, 3, 4) for r in (2, 3, 4) for suffix in ("", "f", "h")),
]

# What expressions are spelled with even where the author calls no builtin.
_SPELLED = """
abs atomicLoad atomicStore bitcast clamp floor max min select trunc
"""

_ENUMERANTS = """
function private workgroup uniform storage read write read_write
"""

#: Words that no WGSL text may declare.
FORBIDDEN = frozenset((_KEYWORDS + _RESERVED).split())

#: Words that a function's locals leave alone, because its text may use their usual meaning.
SPOKEN_FOR = FORBIDDEN.union(_TYPES, _SPELLED.split())

#: Words that module-scope names leave alone: declarations use these too.
MODULE_SPOKEN_FOR = SPOKEN_FOR.union(_ENUMERANTS.split())


def rename(names: Iterable[str], taken: AbstractSet[str]) -> dict[str, str]:
    """Return a new name for each of `names`, all different and none in `taken`.

    A name that can stay does, so a changed one never takes a name that another has.
    """
    wanted = list(dict.fromkeys(names))
    renamed = {name: name for name in wanted if name not in taken and not _malformed(name)}
    used = set(renamed)
    for name in wanted:
        if name not in renamed:
            renamed[name] = fresh(name, taken, used)
            used.add(renamed[name])
    return {name: renamed[name] for name in wanted}


def fresh(name: str, *taken: AbstractSet[str]) -> str:
    """Return `name`, followed by as many `_` as make it new."""
    if _malformed(name):
        name = f"v{name}"
    while any(name in names for names in taken):
        name += "_"
    return name


def _malformed(name: str) -> bool:
    """Whether WGSL has no such identifier: a lone `_`, or two at the start."""
    return name == "_" or name.startswith("__")
