"""Builtins that join invocations: barriers, workgroup and subgroup operations, atomics.

Those of a workgroup own their shared memory and both barriers; every invocation of the workgroup
has to reach them, and so has every one of a subgroup for a subgroup's. An atomic's first
argument is a place: an array and an index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pywgsl.errors import PywgslError
from pywgsl.table import PRELUDE, Builtin, Scope, define, each


class OnlyInKernelsError(PywgslError, RuntimeError):
    """A form of the language used where no invocation is running."""


def _in_kernels(name: str) -> Callable[..., Any]:
    def only(*args: Any) -> Any:
        raise OnlyInKernelsError(f"`{name}` works only inside a kernel")

    return only


def _workgroup(name: str, rules: tuple[str, ...], doc: str, *, shared: bool = True) -> Builtin:
    only = _in_kernels(name)
    return define(name, rules, only, doc, wgsl=PRELUDE, scope=Scope.WORKGROUP, shared=shared)


def _barrier(name: str, doc: str) -> Builtin:
    return define(name, ("()",), _in_kernels(name), doc, scope=Scope.WORKGROUP, shared=True)


def _subgroup(name: str, rules: tuple[str, ...], doc: str) -> Builtin:
    return define(name, rules, _in_kernels(name), doc, scope=Scope.SUBGROUP)


def _atomic(name: str, rule: str, doc: str) -> Builtin:
    return define(name, (rule,), _in_kernels(name), doc, scope=Scope.ATOMIC)


_NUMBER = each(1, "number")
_ANY = ("(bool) -> bool",)
_BROADCAST = (
    "(T, i32) -> T where T: scalar",
    "(vec<N, T>, i32) -> vec<N, T> where T: scalar",
)
# ---------------------------------------------------------------------------------- barriers
workgroup_barrier = _barrier(
    "workgroup_barrier",
    "Wait for every invocation of the workgroup, and see what it stored in workgroup memory.",
)
storage_barrier = _barrier(
    "storage_barrier",
    "Wait for every invocation of the workgroup, and see what it stored in buffers.",
)
# -------------------------------------------------------------------------------- workgroups
workgroup_sum = _workgroup("workgroup_sum", _NUMBER, "The sum over the workgroup.")
workgroup_max = _workgroup("workgroup_max", _NUMBER, "The largest of the workgroup; nan if one is.")
workgroup_min = _workgroup(
    "workgroup_min", _NUMBER, "The smallest of the workgroup; nan if one is."
)
workgroup_any = _workgroup("workgroup_any", _ANY, "Whether it holds in some invocation.")
workgroup_all = _workgroup("workgroup_all", _ANY, "Whether it holds in every invocation.")
workgroup_broadcast = _workgroup(
    "workgroup_broadcast",
    _BROADCAST,
    "The value of the invocation with that `local_index`; 0 if there is none.",
)
workgroup_inclusive_scan = _workgroup(
    "workgroup_inclusive_scan",
    _NUMBER,
    "The sum over the invocations up to this one, in the order of `local_index`.",
    shared=False,
)
workgroup_exclusive_scan = _workgroup(
    "workgroup_exclusive_scan",
    _NUMBER,
    "The sum over the invocations before this one, in the order of `local_index`.",
    shared=False,
)
# --------------------------------------------------------------------------------- subgroups
subgroup_add = _subgroup("subgroup_add", _NUMBER, "The sum over the subgroup.")
subgroup_mul = _subgroup("subgroup_mul", _NUMBER, "The product over the subgroup.")
subgroup_max = _subgroup("subgroup_max", _NUMBER, "The largest of the subgroup.")
subgroup_min = _subgroup("subgroup_min", _NUMBER, "The smallest of the subgroup.")
subgroup_and = _subgroup("subgroup_and", each(1, "integer"), "The bitwise and of the subgroup.")
subgroup_or = _subgroup("subgroup_or", each(1, "integer"), "The bitwise or of the subgroup.")
subgroup_xor = _subgroup("subgroup_xor", each(1, "integer"), "The bitwise xor of the subgroup.")
subgroup_inclusive_add = _subgroup(
    "subgroup_inclusive_add", _NUMBER, "The sum over the subgroup's invocations up to this one."
)
subgroup_exclusive_add = _subgroup(
    "subgroup_exclusive_add", _NUMBER, "The sum over the subgroup's invocations before this one."
)
subgroup_any = _subgroup("subgroup_any", _ANY, "Whether it holds somewhere in the subgroup.")
subgroup_all = _subgroup("subgroup_all", _ANY, "Whether it holds in all of the subgroup.")
subgroup_elect = _subgroup(
    "subgroup_elect", ("() -> bool",), "Whether this is the first active one of the subgroup."
)
subgroup_broadcast = _subgroup(
    "subgroup_broadcast", _BROADCAST, "The value of that invocation, a constant."
)
subgroup_broadcast_first = _subgroup(
    "subgroup_broadcast_first", each(1, "scalar"), "The value of the first active invocation."
)
subgroup_shuffle = _subgroup("subgroup_shuffle", _BROADCAST, "The value of that invocation.")
subgroup_shuffle_xor = _subgroup(
    "subgroup_shuffle_xor", _BROADCAST, "The value of the invocation at this one's id ^ mask."
)
subgroup_shuffle_up = _subgroup(
    "subgroup_shuffle_up", _BROADCAST, "The value of the invocation at this one's id - delta."
)
subgroup_shuffle_down = _subgroup(
    "subgroup_shuffle_down", _BROADCAST, "The value of the invocation at this one's id + delta."
)
# ----------------------------------------------------------------------------------- atomics
_UPDATE = "(T, T) -> T where T: word"
_BITS = "(T, T) -> T where T: integer"
atomic_load = _atomic("atomic_load", "(T) -> T where T: word", "The element.")
atomic_store = _atomic("atomic_store", "(T, T) where T: word", "Replace the element.")
atomic_add = _atomic("atomic_add", _UPDATE, "Add to the element; returns what it was.")
atomic_sub = _atomic("atomic_sub", _UPDATE, "Subtract from the element; returns what it was.")
atomic_max = _atomic("atomic_max", _UPDATE, "The larger of both stays; returns what it was.")
atomic_min = _atomic("atomic_min", _UPDATE, "The smaller of both stays; returns what it was.")
atomic_and = _atomic("atomic_and", _BITS, "Bitwise and with the element; returns what it was.")
atomic_or = _atomic("atomic_or", _BITS, "Bitwise or with the element; returns what it was.")
atomic_xor = _atomic("atomic_xor", _BITS, "Bitwise xor with the element; returns what it was.")
atomic_exchange = _atomic("atomic_exchange", _UPDATE, "Replace the element; returns what it was.")
atomic_compare_exchange = _atomic(
    "atomic_compare_exchange",
    "(T, T, T) -> T where T: word",
    "`(array, i, expected, new)`: replace the element if its bits are those of `expected`; returns "
    "what it was.",
)
# Python's keywords need the underscore in `operator`, so some expect it here.
atomic_and_, atomic_or_ = atomic_and, atomic_or
