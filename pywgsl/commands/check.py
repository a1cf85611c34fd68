"""`pywgsl check`: compile every kernel there is, and let a driver's compiler see the text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pywgsl.commands.load import (
    kernels_of,
    load_kernel,
    load_module,
    missing_constants,
    read_constants,
)
from pywgsl.commands.main import UsageError, report
from pywgsl.errors import DeviceError, PywgslError
from pywgsl.frontend.definition import Kind
from pywgsl.kernel import Kernel

if TYPE_CHECKING:
    from pywgsl.runtime.gpu import GpuDevice


def check(targets: Sequence[str], constants: Sequence[str]) -> int:
    """Compile the kernels of modules and files; return 1 if one has a mistake."""
    gpu = _gpu()
    failed = False
    for target in targets:
        if target.endswith(".wgsl"):
            failed |= not _check_text(target, gpu)
            continue
        kernels = _kernels(target)
        values = read_constants(kernels, constants)
        for kernel in kernels:
            failed |= not _check_kernel(kernel, values, gpu)
        if not kernels:
            print(f"{target}: no kernels")
    return int(failed)


def _kernels(target: str) -> list[Kernel]:
    """Return the kernel that a target names, or all those of the module or file that it is."""
    if ":" in target and not target.endswith(".py"):
        return [load_kernel(target)]
    return list(kernels_of(load_module(target)).values())


def _gpu() -> GpuDevice | None:
    """Return a GPU, whose compiler then sees each text too; None if there is none."""
    from pywgsl.runtime.devices import device

    try:
        found = device("gpu")
    except DeviceError:
        return None
    return found  # type: ignore[return-value]  # "gpu" never gives NumPy


def _check_kernel(kernel: Kernel, values: dict[str, Any], gpu: GpuDevice | None) -> bool:
    from pywgsl.codegen.layout import Grid

    wanted = [p for p in kernel.parameters if p.kind is Kind.CONST]
    missing = missing_constants(kernel, values)
    name = f"{kernel.__module__}:{kernel.name}"
    if missing:
        print(f"{name}: not compiled, it needs {missing}")
        return True
    own = {p.name: values[p.name] for p in wanted if p.name in values}
    try:
        specialization = kernel.complete(own)
        if gpu is not None:
            specialization.gpu(gpu, Grid.PLAIN)
    except PywgslError as error:
        report(error)
        return False
    print(f"{name}: ok")
    return True


def _check_text(path: str, gpu: GpuDevice | None) -> bool:
    """Let a GPU's compiler read a WGSL file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if gpu is None:
        raise UsageError(f"{path}: checking WGSL needs a GPU adapter; a software one will do")
    import wgpu

    try:
        gpu.gpu.create_shader_module(code=text)
    except wgpu.GPUError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return False
    print(f"{path}: ok")
    return True
