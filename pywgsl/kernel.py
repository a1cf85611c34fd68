"""What the decorators `kernel` and `function` make, and what can be asked of it.

The compiler is imported where it is first needed, so that `import pywgsl` stays quick.
"""

from __future__ import annotations

import functools
import math
import textwrap
import threading
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from pywgsl.errors import LaunchError
from pywgsl.from_source import execute
from pywgsl.frontend.definition import (
    MISSING,
    Captured,
    Helper,
    KernelParameter,
    Kind,
    Launchable,
    TypeParameter,
)
from pywgsl.runtime.devices import Device, device
from pywgsl.runtime.shapes import read_shape
from pywgsl.types import Scalar

if TYPE_CHECKING:
    from pywgsl import ir
    from pywgsl.frontend.check import KernelDefinition
    from pywgsl.runtime.launch import Launcher
    from pywgsl.runtime.specialization import Specialization

Constant = bool | int | float | Scalar
WorkgroupSize = int | tuple[int, ...] | None

#: Launchers kept for each kernel, one a shape.
_MAX_LAUNCHERS = 256
#: Specializations kept for the same constants, one for each state of the captured globals.
_MAX_STATES = 8


class Kernel(Launchable):
    """A compiled function; made by the decorator `kernel`.

    `kernel[shape](*args)` runs it: `shape` is the number of invocations along x, y and z (an int
    or up to three), or `pw.groups(…)` workgroups. It is compiled when it is first used, once for
    each set of values of its `Const` parameters and dtypes of its type variables, and again when a
    global that it captured has changed.

    Attributes:
        options: the decorator's, by name.
        constants: the values of `Const` parameters and type variables that `specialize` has set.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        workgroup_size: WorkgroupSize = None,
        checked: bool = False,
        constants: Mapping[str, Constant] | None = None,
    ) -> None:
        # The text is taken now, so that an edit of the file does not change what runs.
        self._source = _text(function)
        functools.update_wrapper(self, function)
        self.options: dict[str, Any] = {"workgroup_size": workgroup_size, "checked": checked}
        self.constants: dict[str, Constant] = dict(constants or {})
        self._function = function
        self._lock = threading.RLock()
        self._specializations: dict[tuple[Any, ...], list[Specialization]] = {}
        self._launchers: dict[Any, Launcher] = {}

    @property
    def name(self) -> str:
        """The function's name."""
        return self._function.__name__

    @functools.cached_property
    def definition(self) -> KernelDefinition:
        """The function as the compiler read it.

        Raises:
            CompileError: its signature is not a kernel's.
        """
        from pywgsl.frontend.check import define_kernel

        with self._lock:
            return define_kernel(self._function, source=self._source, **self.options)

    @functools.cached_property
    def parameters(self) -> tuple[KernelParameter, ...]:
        """The parameters that a launch takes: all but the constants that `specialize` has set."""
        types = {n: value for n, value in self.constants.items() if isinstance(value, Scalar)}
        parameters = self.definition.with_types(types).parameters
        return tuple(p for p in parameters if p.name not in self.constants)

    @functools.cached_property
    def type_parameters(self) -> tuple[TypeParameter, ...]:
        """The type variables that a launch's arrays decide, or `specialize`."""
        return tuple(t for t in self.definition.type_parameters if t.name not in self.constants)

    def __getitem__(self, shape: Any) -> Launcher:
        # 1, 1.0 and True are equal as keys, so only a plain int is looked up as it is.
        if type(shape) is int and (known := self._launchers.get(shape)) is not None:
            return known
        return self.launcher(shape, None)

    def launcher(self, shape: Any, where: Device | None) -> Launcher:
        """Return `kernel[shape]`, for arrays on any device, or to be taken to one.

        Raises:
            LaunchError: it is not a shape.
        """
        from pywgsl.runtime.launch import Launcher

        key = _key(shape, where)
        found = None if key is None else self._launchers.get(key)
        if found is None:
            found = Launcher(self, read_shape(self.name, shape), where)
            with self._lock:
                if len(self._launchers) >= _MAX_LAUNCHERS:
                    self._launchers.clear()
                self._launchers[key] = found
        return found

    def on(self, where: str | Device) -> KernelOnDevice:
        """Return the kernel bound to a device: `kernel.on("gpu")[n](*ndarrays)`.

        A launch uploads its ndarrays, runs, and brings back those that the kernel writes.

        Args:
            where: a device, or a name for `pw.device`.
        """
        return KernelOnDevice(self, where if isinstance(where, Device) else device(where))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise a `LaunchError` that says how a kernel is run."""
        raise LaunchError(
            f"a kernel runs over a shape: write `{self.name}[n](…)`, where n is the number of "
            "invocations"
        )

    def specialize(self, workgroup_size: WorkgroupSize = None, **constants: Constant) -> Kernel:
        """Return the same kernel with some `Const` parameters set, which it then no longer takes.

        Args:
            workgroup_size: another size of its workgroups.
            constants: values of `Const` parameters and type variables, by name: `n=4, T=f16`.

        Raises:
            LaunchError: there is no such parameter, or it has another type.
        """
        values = self.constants | self._checked_constants(constants)
        size = self.options["workgroup_size"] if workgroup_size is None else workgroup_size
        options = {**self.options, "workgroup_size": size}
        return Kernel(self._function, constants=values, **options)

    def specialization(self, constants: Mapping[str, Constant]) -> Specialization:
        """Return the kernel compiled for these values of the constants it still takes."""
        from pywgsl.frontend.check import check_kernel
        from pywgsl.runtime.specialization import Specialization

        values = self.constants | dict(constants)
        key = tuple(sorted((name, repr(value)) for name, value in values.items()))
        with self._lock:
            for known in self._specializations.get(key, ()):
                if known.captures.current():
                    return known
            checked = check_kernel(self.definition, values)
            made = Specialization(checked.module, checked.captures)
            states = self._specializations.setdefault(key, [])
            states[:] = [made, *states[: _MAX_STATES - 1]]
            return made

    def wgsl(self, target: str = "portable", **constants: Constant) -> str:
        """Return the WGSL text.

        Args:
            target: `"portable"` for text that naga and Tint accept; `"wgpu"` or `"web"` where the
                two need different text (subgroup operations).
            constants: values of the `Const` parameters without a default, and of type variables,
                each of which is its first type without one.
        """
        from pywgsl.codegen.to_wgsl import to_wgsl

        return to_wgsl(self._module(constants), target=target).text

    def numpy_source(self, **constants: Constant) -> str:
        """Return the NumPy code that the reference runs, as text."""
        return self.complete(constants).numpy.source

    def reflection(self, **constants: Constant) -> dict[str, Any]:
        """Return what a host needs to launch the WGSL, ready for JSON; see `pywgsl.reflection`."""
        from pywgsl.reflection import reflect

        return reflect(self._module(constants))

    def _module(self, constants: Mapping[str, Constant]) -> ir.Module:
        return self.complete(constants).module

    def complete(self, constants: Mapping[str, Constant]) -> Specialization:
        """Return a specialization for constants by name; the others have their defaults."""
        from pywgsl.runtime.arguments import check_constant

        values = self._checked_constants(constants)
        for parameter in self.parameters:
            if parameter.kind is Kind.CONST and parameter.name not in values:
                if parameter.default is MISSING:
                    raise LaunchError(
                        f"{self.name}: the compile-time parameter `{parameter.name}` needs a "
                        f"value: `{parameter.name}=…`"
                    )
                values[parameter.name] = check_constant(self.name, parameter, parameter.default)
        first = {t.name: t.choices[0] for t in self.type_parameters}
        return self.specialization(first | values)

    def _checked_constants(self, constants: Mapping[str, Any]) -> dict[str, Constant]:
        from pywgsl.runtime.arguments import check_constant
        from pywgsl.runtime.generics import check_type

        parameters = {p.name: p for p in self.parameters if p.kind is Kind.CONST}
        types = {t.name: t for t in self.type_parameters}
        checked: dict[str, Constant] = {}
        for name, value in constants.items():
            if name in parameters:
                checked[name] = check_constant(self.name, parameters[name], value)
            elif name in types:
                checked[name] = check_type(self.name, types[name], value)
            else:
                known = ", ".join(f"`{n}`" for n in (*parameters, *types)) or "none"
                raise LaunchError(
                    f"{self.name}: there is no compile-time parameter `{name}`; there are: {known}"
                )
        return checked

    def __repr__(self) -> str:
        fixed = "".join(f", {name}={value!r}" for name, value in self.constants.items())
        return f"<kernel {self.__module__}.{self.__qualname__}{fixed}>"

    def __reduce__(self) -> tuple[Any, ...]:
        from pywgsl.pickling import reduce_kernel

        return reduce_kernel(self, self._function)


class KernelOnDevice:
    """A kernel bound to a device; made by `Kernel.on`."""

    def __init__(self, kernel: Kernel, where: Device) -> None:
        self._kernel = kernel
        self._device = where

    def __getitem__(self, shape: Any) -> Launcher:
        return self._kernel.launcher(shape, self._device)


class Function(Helper):
    """A helper that kernels call; made by the decorator `function`. On the host, plain Python."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        self._source = _text(function)
        functools.update_wrapper(self, function)
        self._function = function

    @functools.cached_property
    def captured(self) -> Captured:
        """The function, read.

        Raises:
            CompileError: it is not of the language.
        """
        from pywgsl.frontend.capture import capture

        return capture(self._function, source=self._source)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the Python function."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__module__}.{self.__qualname__} for kernels>"

    def __reduce__(self) -> tuple[Any, ...]:
        from pywgsl.pickling import reduce_function

        return reduce_function(self, self._function)


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(
    *, workgroup_size: WorkgroupSize = None, checked: bool = False
) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    workgroup_size: WorkgroupSize = None,
    checked: bool = False,
) -> Any:
    """Make a function a kernel: `@pw.kernel`, or `@pw.kernel(workgroup_size=(16, 16))`.

    Args:
        function: the function.
        workgroup_size: invocations in a workgroup along x, y and z (one to three ints); 256 along x
            without it.
        checked: make indices outside an array harmless everywhere: a load gives 0, a store is
            dropped.
    """
    if function is None:
        return functools.partial(Kernel, workgroup_size=workgroup_size, checked=checked)
    return Kernel(function, workgroup_size=workgroup_size, checked=checked)


def function(function: Callable[..., Any], /) -> Function:
    """Make a function one that kernels can call; called on the host, it is plain Python."""
    return Function(function)


def kernel_from_source(text: str, name: str | None = None) -> Kernel:
    """Return a kernel that is given as text.

    The text sees `pw`, `math` and every public name of pywgsl; it may import more. A function
    without a decorator is a kernel too, if it is the one that is meant.

    Args:
        text: Python source with one or more functions.
        name: which function is the kernel; needed if there are several.

    Raises:
        SyntaxError: the text is not Python.
        LaunchError: it is no text, or holds no kernel, or several and no name, or none of that
            name.
    """
    import pywgsl

    if not isinstance(text, str):
        raise LaunchError(f"a kernel's source is a text, not {text!r}")
    namespace = {n: getattr(pywgsl, n) for n in pywgsl.__all__} | {"pw": pywgsl, "math": math}
    before = dict(namespace)
    filename = execute(textwrap.dedent(text), namespace)
    made = {n: v for n, v in namespace.items() if v is not before.get(n)}
    kernels = {n: v for n, v in made.items() if isinstance(v, Kernel)}
    functions = {
        n: Kernel(v)
        for n, v in made.items()
        if isinstance(v, FunctionType) and v.__code__.co_filename == filename
    }
    if name is not None:
        if name not in kernels | functions:
            known = ", ".join(f"`{n}`" for n in kernels | functions) or "nothing"
            raise LaunchError(f"the text defines no kernel `{name}`; it defines {known}")
        return (functions | kernels)[name]
    candidates = kernels or functions
    if len(candidates) != 1:
        known = ", ".join(f"`{n}`" for n in candidates)
        hint = f"; say which of {known} with `name=…`" if candidates else "; write one with `def`"
        raise LaunchError(f"the text defines {len(candidates)} kernels{hint}")
    return next(iter(candidates.values()))


def _text(function: Callable[..., Any]) -> tuple[str, str] | None:
    """Return the name and text of a function's file.

    Raises:
        CompileError: it is no function made by `def`.
    """
    from pywgsl.frontend.capture import capture
    from pywgsl.frontend.locate import text_of

    if not isinstance(function, FunctionType):
        capture(function)
    assert isinstance(function, FunctionType)
    return text_of(function)


def _key(shape: Any, where: Device | None) -> Any:
    """Return a dictionary key that no other shape and device share; None for what is no shape."""
    if where is None and type(shape) is int:
        return shape
    types = tuple(map(type, shape)) if isinstance(shape, tuple | list) else type(shape)
    key = (tuple(shape) if isinstance(shape, list) else shape, types, where)
    try:
        hash(key)
    except TypeError:
        return None
    return key
