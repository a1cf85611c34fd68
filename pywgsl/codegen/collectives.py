"""WGSL functions for what the invocations of a workgroup compute together.

Each owns the workgroup memory that it works in and the barriers around it: one before anything
is read, and one after everything is, so that the next function may use the same memory at once,
and all functions of a type share one array. Reductions end in `workgroupUniformLoad`, which has
both barriers and tells Tint that the result is the same for all.

Reductions can join subgroups first, if a workgroup has one axis, since naga numbers subgroups along
one axis only, and the size of a power of two, since some drivers (Mesa's llvmpipe) forget a last
subgroup that is not full. That is for naga alone: Tint would not see that results are uniform.

A sum is the same in every run, but its rounding depends on the workgroup's size and, by subgroups,
on theirs. f16 is added up in f32. If one value is nan, so are the largest and the smallest.
"""

from __future__ import annotations

import math
from string import Template

from pywgsl import ir
from pywgsl.analysis.uses import Collective, IdKey
from pywgsl.codegen.prelude import Prelude, spelling
from pywgsl.codegen.wgsl_literals import literal
from pywgsl.types import BOOL, F32, U32, FixedArray, Scalar, Type, scalar_of, with_scalar

#: The number of an invocation in its workgroup.
LOCAL_INDEX: IdKey = (ir.Id.LOCAL_INDEX, 0)

# What tells subgroups apart.
_SUBGROUP: tuple[IdKey, ...] = (
    (ir.Id.SUBGROUP_INVOCATION, 0),
    (ir.Id.SUBGROUP, 0),
    (ir.Id.NUM_SUBGROUPS, 0),
)

# What the functions call the ids that they take.
_PARAMETER = {
    ir.Id.LOCAL_INDEX: "lane",
    ir.Id.SUBGROUP_INVOCATION: "lane",
    ir.Id.SUBGROUP: "subgroup",
    ir.Id.NUM_SUBGROUPS: "subgroups",
}

_REDUCTIONS = ("sum", "max", "min", "any", "all")

# Pairs that lie half of the memory apart are joined, then the results, until one is left.
_TREE = """
fn $name(x: $type, lane: i32) -> $type {
    $scratch[lane] = x;
    for (var reach = $reach; reach > 0; reach >>= 1u) {
        workgroupBarrier();
        if ($inside) {
            $join
        }
    }
    return workgroupUniformLoad(&$scratch[0]);
}"""

_ALONE = """
fn $name(x: $type, lane: i32) -> $type {
    $scratch[lane] = x;
    return workgroupUniformLoad(&$scratch[0]);
}"""

_BY_SUBGROUPS = """
fn $name(x: $type, lane: i32, subgroup: i32, subgroups: i32) -> $type {
    let part = $part;
    if (lane == 0) {
        $scratch[subgroup] = part;
    }
    workgroupBarrier();
    var total = $scratch[0];
    for (var other = 1; other < subgroups; other++) {
        $join
    }
    workgroupBarrier();
    return total;
}"""

# Zero if there is no such lane.
_BROADCAST = """
fn $name(x: $type, source: i32, lane: i32) -> $type {
    let inside = u32(source) < ${lanes}u;
    if (lane == select(0, source, inside)) {
        $scratch[0] = select($zero, x, inside);
    }
    return workgroupUniformLoad(&$scratch[0]);
}"""

# In each round every invocation adds the sum of those that lie `reach` before it.
_INCLUSIVE_SCAN = """
fn $name(x: $type, lane: i32) -> $type {
    var total = x;
    for (var reach = 1; reach < $lanes; reach <<= 1u) {
        $scratch[lane] = total;
        workgroupBarrier();
        if (lane >= reach) {
            total = $scratch[lane - reach] + total;
        }
        workgroupBarrier();
    }
    return total;
}"""

_EXCLUSIVE_SCAN = """
fn $name(x: $type, lane: i32) -> $type {
    $scratch[lane] = $inclusive_scan(x, lane);
    workgroupBarrier();
    var before = $zero;
    if (lane > 0) {
        before = $scratch[lane - 1];
    }
    workgroupBarrier();
    return before;
}"""


class Collectives:
    """The functions of one text that a workgroup runs together, and their memory.

    Attributes:
        variables: the workgroup variables, by name.
    """

    def __init__(
        self, prelude: Prelude, workgroup_size: tuple[int, int, int], subgroups: bool
    ) -> None:
        self._prelude = prelude
        self._lanes = math.prod(workgroup_size)
        is_power = self._lanes & (self._lanes - 1) == 0
        self._subgroups = (
            subgroups and is_power and self._lanes > 1 and self._lanes == workgroup_size[0]
        )
        self._names: dict[Collective, str] = {}
        self._scratch: dict[Type, str] = {}
        self.variables: dict[str, FixedArray] = {}

    def use(self, builtin: str, type_: Type) -> str:
        """Return the name of the function for a builtin and values of a type."""
        key = builtin, type_
        if key not in self._names:
            self._names[key] = self._prelude.declare(spelling(builtin, (type_,)))
            self._prelude.functions.append(self._text(*key))
        return self._names[key]

    def ids(self, builtin: str, type_: Type) -> tuple[IdKey, ...]:
        """Return the ids that the function takes as its last parameters."""
        return _SUBGROUP if self.by_subgroups(builtin, type_) else (LOCAL_INDEX,)

    def by_subgroups(self, builtin: str, type_: Type) -> bool:
        """Whether a function adds up subgroups first."""
        operation = builtin.removeprefix("workgroup_")
        # A nan would have to be found in each component of a vector.
        fits = operation == "sum" or isinstance(type_, Scalar)
        return self._subgroups and fits and operation in _REDUCTIONS

    def _text(self, builtin: str, type_: Type) -> str:
        operation = builtin.removeprefix("workgroup_")
        if _carrier(type_) != type_:
            return self._through(operation, type_)
        match operation:
            case "sum" | "max" | "min":
                return self._reduction(operation, type_)
            case "broadcast":
                return self._fill(_BROADCAST, operation, type_)
            case "inclusive_scan":
                return self._fill(_INCLUSIVE_SCAN, operation, type_)
            case "exclusive_scan":
                inclusive = self.use("workgroup_inclusive_scan", type_)
                return self._fill(_EXCLUSIVE_SCAN, operation, type_, inclusive_scan=inclusive)
            case _:
                raise AssertionError(builtin)

    def _through(self, operation: str, type_: Type) -> str:
        """A function for values that travel as another type: bool as u32, f16 as f32."""
        carried = _carrier(type_)
        inner = {"any": "max", "all": "min"}.get(operation, operation)
        names = ["source"] if operation == "broadcast" else []
        names += [_PARAMETER[id_] for id_, _ in self.ids(f"workgroup_{operation}", type_)]
        function = self.use(f"workgroup_{inner}", carried)
        value = f"{function}({', '.join([f'{carried}(x)', *names])})"
        value = f"{value} != {_zero(carried)}" if scalar_of(type_) is BOOL else f"{type_}({value})"
        params = ", ".join([f"x: {type_}", *(f"{name}: i32" for name in names)])
        name = self._names[f"workgroup_{operation}", type_]
        return f"fn {name}({params}) -> {type_} {{\n    return {value};\n}}"

    def _reduction(self, operation: str, type_: Type) -> str:
        scratch = self._memory(type_)
        if self.by_subgroups(operation, type_):
            join = self._join(operation, type_, "total", f"{scratch}[other]")
            part = self._part(operation, type_)
            return self._fill(_BY_SUBGROUPS, operation, type_, join=join, part=part)
        if self._lanes == 1:
            return self._fill(_ALONE, operation, type_)
        reach = 1 << ((self._lanes - 1).bit_length() - 1)
        inside = "lane < reach"
        if 2 * reach != self._lanes:
            inside += f" && lane + reach < {self._lanes}"
        join = self._join(operation, type_, f"{scratch}[lane]", f"{scratch}[lane + reach]")
        return self._fill(_TREE, operation, type_, reach=str(reach), inside=inside, join=join)

    def _join(self, operation: str, type_: Type, result: str, other: str) -> str:
        """The statement that takes another value into a result."""
        if operation == "sum":
            return f"{result} += {other};"
        function = operation
        if scalar_of(type_) is F32:
            function = self._prelude.use(
                "larger" if operation == "max" else "smaller", type_, type_
            )
        return f"{result} = {function}({result}, {other});"

    def _part(self, operation: str, type_: Type) -> str:
        """A subgroup's own result; what its operations make of a nan is open, hence the vote."""
        if operation == "sum":
            return "subgroupAdd(x)"
        part = f"subgroup{operation.capitalize()}(x)"
        if scalar_of(type_) is not F32:
            return part
        nan, isnan = self._prelude.use("nan"), self._prelude.use("isnan", type_)
        return f"select({part}, {nan}(), subgroupAny({isnan}(x)))"

    def _memory(self, type_: Type) -> str:
        """The name of the workgroup variable with one value of a type for each invocation."""
        if type_ not in self._scratch:
            name = self._prelude.declare(spelling("scratch", (type_,)))
            self._scratch[type_] = name
            self.variables[name] = FixedArray(type_, self._lanes)
        return self._scratch[type_]

    def _fill(self, text: str, operation: str, type_: Type, **parts: str) -> str:
        parts |= {
            "name": self._names[f"workgroup_{operation}", type_],
            "type": str(type_),
            "zero": _zero(type_),
            "lanes": str(self._lanes),
            "scratch": self._memory(type_),
        }
        return Template(text).substitute(parts).strip()


def _zero(type_: Type) -> str:
    code = literal(ir.Literal(0, type_)) if isinstance(type_, Scalar) else None
    return f"{type_}()" if code is None else code.text


def _carrier(type_: Type) -> Type:
    """The type in which values of a type are kept and added up."""
    match scalar_of(type_):
        case Scalar.BOOL:
            return with_scalar(type_, U32)
        case Scalar.F16:
            return with_scalar(type_, F32)
        case _:
            return type_
