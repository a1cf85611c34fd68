"""What to write instead of a name that no one has defined."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import Any

from pywgsl import lang
from pywgsl.builtins import BUILTINS
from pywgsl.frontend.context import Context
from pywgsl.types import Matrix, Scalar, Vector

#: Python's own functions that a kernel can use.
_PYTHON_NAMES = ("bool", "float", "int", "len", "print", "range", "reversed")

_OF_THE_LANGUAGE = lang.Ids | lang.WorkgroupSize | lang.Form | Scalar | Vector | Matrix

#: Every name that the module `pywgsl` has for a kernel's body.
_LANGUAGE = sorted(
    {*BUILTINS, "array"}
    | {n for n, v in vars(lang).items() if isinstance(v, _OF_THE_LANGUAGE) and n.islower()}
)

_INVOCATION = (
    "the invocation's place in the launch is `{pw}.global_id`, in its workgroup `{pw}.local_id`"
)
_WORKGROUP = "the workgroup's place is `{pw}.workgroup_id`, its size `{pw}.workgroup_size`"
_BARRIER = "the workgroup waits for all its invocations at `{pw}.workgroup_barrier()`"

#: What other languages call things, by the name in lower case without underscores.
_ELSEWHERE = {
    **dict.fromkeys(
        (
            "gid",
            "getglobalid",
            "glglobalinvocationid",
            "globalid",
            "globalinvocationid",
            "invocationid",
            "programid",
            "threadid",
            "threadidx",
            "tid",
        ),
        _INVOCATION,
    ),
    **dict.fromkeys(
        ("blockdim", "blockid", "blockidx", "getgroupid", "groupid", "workgroupid"), _WORKGROUP
    ),
    **dict.fromkeys(("syncthreads", "barrier", "workgroupbarrier"), _BARRIER),
}

#: Less alike than that is another word: `min` for `missing`.
_ALIKE = 0.8


def module_name(ctx: Context) -> str:
    """Return what the author calls the module `pywgsl`."""
    module = sys.modules.get("pywgsl")
    around: dict[str, Any] = getattr(ctx.captured.function, "__globals__", {})
    return next((name for name, value in around.items() if value is module), "pw")


def for_name(ctx: Context, name: str) -> str | None:
    """Return what to write instead of a name that is not defined, or None."""
    pw = module_name(ctx)
    if name in _LANGUAGE:
        return f"write `{pw}.{name}`, or import it: `from pywgsl import {name}`"
    around = getattr(ctx.captured.function, "__globals__", {})
    public = (n for n in around if not n.startswith("_"))
    found = (
        closest(name, ctx.scope.locals)
        or closest(name, public)
        or closest(name, _PYTHON_NAMES)
        or closest(name, _LANGUAGE, f"{pw}.")
    )
    return found or _elsewhere(name, pw)


def for_attribute(ctx: Context, host: object, name: str) -> str | None:
    """Return what to write instead of an attribute that an object does not have, or None."""
    if host is sys.modules.get("pywgsl"):
        return closest(name, _LANGUAGE) or _elsewhere(name, module_name(ctx))
    return closest(name, (n for n in dir(host) if not n.startswith("_")))


def closest(name: str, known: Iterable[str], prefix: str = "") -> str | None:
    """Return a question whether the most alike of the known names was meant, or None."""
    close = difflib.get_close_matches(name, sorted(known), 1, _ALIKE)
    return f"did you mean `{prefix}{close[0]}`?" if close else None


def _elsewhere(name: str, pw: str) -> str | None:
    hint = _ELSEWHERE.get(name.lower().replace("_", ""))
    return hint.format(pw=pw) if hint else None
