"""What the command line understands, and which function answers.

Results go to standard output, diagnostics to standard error. The exit status is 0, or 1 after a
diagnostic, or 2 if the command itself is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pywgsl.errors import CompileError, PywgslError
from pywgsl.kernel import Kernel


class UsageError(Exception):
    """A command that asks for something that is not there."""


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line and return the exit status."""
    parser = _parser()
    try:
        options = _parse(parser, argv)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except PywgslError as error:
        report(error)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0


def report(error: PywgslError) -> None:
    """Show a diagnostic; one of the compiler says itself where it comes from."""
    prefix = "" if isinstance(error, CompileError) else "pywgsl: "
    print(f"{prefix}{error}", file=sys.stderr)


def _parse(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; NAME=VALUE arguments may stand before and after other options."""
    options, rest = parser.parse_known_args(argv)
    if not hasattr(options, "arguments") or any(item.startswith("-") for item in rest):
        return parser.parse_args(argv)
    options.arguments += rest
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pywgsl", description="Compile, inspect and run kernels written in Python."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> Any:
        added = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        added.set_defaults(command=command)
        return added

    for name, command, text in (
        ("wgsl", _wgsl, "print the WGSL of a kernel"),
        ("reflect", _reflect, "print what a host needs to launch a kernel, as JSON"),
        ("numpy", _numpy, "print the NumPy code of a kernel"),
    ):
        shown = add(name, command, text)
        _add_kernel(shown)
        shown.add_argument("-o", "--output", metavar="FILE", help="write it to a file")
    run = add("run", _run, "run a kernel on files and generated arrays")
    _add_kernel(run)
    run.add_argument(
        "--shape", required=True, metavar="N[,M[,K]]", help="invocations along x, y, z"
    )
    run.add_argument("--device", metavar="NAME", help="gpu, numpy, or a part of an adapter's name")
    run.add_argument(
        "--save", action="append", default=[], metavar="NAME=FILE.npy", help="keep an array"
    )
    run.add_argument(
        "arguments",
        nargs="*",
        metavar="NAME=VALUE",
        help="FILE.npy, zeros:1024, ones:64x64, random:1000, arange:10, or a number",
    )
    check = add("check", _check, "compile every kernel of modules or files, and report mistakes")
    check.add_argument("target", nargs="+", metavar="MODULE[:KERNEL]|FILE.py[:KERNEL]|FILE.wgsl")
    _add_constants(check)
    builtins = add("builtins", _builtins, "list the builtin functions, or explain one")
    builtins.add_argument("name", nargs="?", metavar="NAME")
    explain = add("explain", _explain, "explain an error code")
    explain.add_argument("code", metavar="CODE")
    add("devices", _devices, "list the devices that kernels can run on")
    demo = add("demo", _demo, "show a kernel, its WGSL, and its result")
    demo.add_argument("--device", metavar="NAME", help="gpu, numpy, or a part of an adapter's name")
    return parser


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="MODULE:KERNEL", help="or FILE.py:KERNEL")
    _add_constants(parser)


def _add_constants(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--const",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of a compile-time parameter",
    )


# -------------------------------------------------------------------------------- inspection


def _wgsl(options: argparse.Namespace) -> int:
    kernel, constants = _kernel_of(options)
    return _write(kernel.wgsl(**constants), options.output)


def _reflect(options: argparse.Namespace) -> int:
    kernel, constants = _kernel_of(options)
    return _write(json.dumps(kernel.reflection(**constants), indent=2) + "\n", options.output)


def _numpy(options: argparse.Namespace) -> int:
    kernel, constants = _kernel_of(options)
    return _write(kernel.numpy_source(**constants), options.output)


def _kernel_of(options: argparse.Namespace) -> tuple[Kernel, dict[str, Any]]:
    from pywgsl.commands.load import load_kernel, missing_constants, read_constants

    kernel = load_kernel(options.kernel)
    constants = read_constants([kernel], options.const)
    missing = missing_constants(kernel, constants)
    if missing:
        raise UsageError(f"{kernel.name} needs {missing}")
    return kernel, constants


def _write(text: str, path: str | None) -> int:
    if path is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return 0


# ----------------------------------------------------------------------------------- running


def _run(options: argparse.Namespace) -> int:
    from pywgsl.commands.run import run

    return run(options)


def _check(options: argparse.Namespace) -> int:
    from pywgsl.commands.check import check

    return check(options.target, options.const)


def _demo(options: argparse.Namespace) -> int:
    from pywgsl.commands.demo import demo

    return demo(options.device)


# --------------------------------------------------------------------------------- reference


def _builtins(options: argparse.Namespace) -> int:
    from pywgsl.builtins import BUILTINS

    if options.name is None:
        width = max(map(len, BUILTINS))
        for row in BUILTINS.values():
            print(f"{row.name:{width}}  {row.doc}")
        return 0
    name = options.name.removeprefix("pw.")
    if name not in BUILTINS:
        raise UsageError(f"there is no builtin `{name}`{_close(name, BUILTINS)}")
    row = BUILTINS[name]
    print(f"{row.name}: {row.doc}\n")
    for rule in row.rules:
        print(f"    {row.name}{rule}")
    spelled = f"`{row.wgsl}`" if row.wgsl else "a helper that the compiler writes"
    print(f"\nIn WGSL: {spelled}.")
    tolerance = row.tolerance
    if tolerance.relative or tolerance.absolute:
        print(
            f"A device may differ from NumPy by {tolerance.relative:g} relative "
            f"plus {tolerance.absolute:g}."
        )
    else:
        print("Devices and NumPy agree on every finite normal result.")
    return 0


def _explain(options: argparse.Namespace) -> int:
    from pywgsl.codes import explain, explanations

    code = options.code.upper()
    if code not in explanations():
        raise UsageError(f"there is no error code `{options.code}`{_close(code, explanations())}")
    print(explain(code))
    return 0


def _devices(options: argparse.Namespace) -> int:
    from pywgsl.runtime.devices import devices

    del options
    for found in devices():
        notes = ["default"] if found.default else []
        if found.kind == "gpu" and found.software:
            notes.append("software")
        print(f"{found.name}  [{', '.join([found.backend, *notes])}]")
    return 0


def _close(name: str, known: Any) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean `{close[0]}`?" if close else ""
