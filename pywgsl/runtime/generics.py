"""What a kernel's type variables stand for: named by the caller, or read off a launch's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pywgsl.errors import LaunchError
from pywgsl.frontend.definition import KernelParameter, TypeParameter
from pywgsl.frontend.generics import variable_in
from pywgsl.runtime import elements
from pywgsl.runtime.arrays import DeviceArray
from pywgsl.types import RuntimeArray, Scalar


def check_type(kernel: str, parameter: TypeParameter, value: Any) -> Scalar:
    """Return the type that a caller names for a variable: `T=f16`, `T=np.float16`.

    Raises:
        LaunchError: the variable does not stand for it.
    """
    try:
        wanted = elements.as_dtype(value)
    except TypeError:
        wanted = None
    for choice in parameter.choices:
        if choice.dtype == wanted:
            return choice
    raise LaunchError(f"{kernel}: `{parameter.name}` is {_listed(parameter)}, but got {value!r}")


def types_of_launch(
    kernel: str,
    variables: Sequence[TypeParameter],
    parameters: Sequence[KernelParameter],
    values: Sequence[Any],
) -> dict[str, Scalar]:
    """Return what each variable stands for, by the dtypes of the arrays whose type it is in.

    Raises:
        LaunchError: arrays of one variable differ, or have a dtype that it does not stand for; or
            it is in no array's type.
    """
    return {v.name: _type_of_arrays(kernel, v, parameters, values) for v in variables}


def _type_of_arrays(
    kernel: str,
    variable: TypeParameter,
    parameters: Sequence[KernelParameter],
    values: Sequence[Any],
) -> Scalar:
    arrays = [
        (parameter.name, parameter.type.ndim, value)
        for parameter, value in zip(parameters, values, strict=True)
        if isinstance(parameter.type, RuntimeArray) and _is_of(parameter, variable)
    ]
    if not arrays:
        example = f"{kernel}.specialize({variable.name}={variable.choices[0]})"
        raise LaunchError(
            f"{kernel}: no array says what `{variable.name}` is; it is {_listed(variable)}: "
            f"`{example}[…](…)`"
        )
    chosen, first = None, ""
    for name, ndim, value in arrays:
        if not isinstance(value, np.ndarray | DeviceArray):
            continue  # what is no array is reported with all that is wrong with arrays
        found = next((c for c in variable.choices if c.dtype == value.dtype), None)
        if found is None:
            wanted = " or ".join(str(choice.dtype) for choice in variable.choices)
            raise LaunchError(
                f"{kernel}: parameter `{name}` takes a {ndim}-D array of {wanted}, but got "
                f"{elements.describe(value.dtype, value.shape)}; "
                f"convert it with `.astype(np.{variable.choices[0].dtype})`"
            )
        if chosen is not None and found is not chosen:
            raise LaunchError(
                f"{kernel}: parameters `{first}` and `{name}` are both arrays of "
                f"`{variable.name}`, but `{first}` is {chosen.dtype} and `{name}` {found.dtype}; "
                f"convert one with `.astype(np.{chosen.dtype})`"
            )
        chosen, first = found, first or name
    return chosen or variable.choices[0]


def _is_of(parameter: KernelParameter, variable: TypeParameter) -> bool:
    found = variable_in(parameter.type)
    return found is not None and found.__name__ == variable.name


def _listed(variable: TypeParameter) -> str:
    return " or ".join(map(str, variable.choices))
