"""What is installed, and under which names."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_package_is_listed() -> None:
    """The list is written by hand, because ops/ lies outside of pywgsl/."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent for path in ROOT.joinpath("pywgsl").glob("**/__init__.py")}
    found = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert set(settings["packages"]) == found | {"pywgsl.ops"}
    assert settings["package-dir"] == {"pywgsl.ops": "ops"}


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout


def test_importing_the_package_does_not_import_wgpu() -> None:
    assert run("import pywgsl, sys; print('wgpu' in sys.modules)") == "False\n"


def test_the_kernel_library_is_imported_under_one_name() -> None:
    program = (
        "import pywgsl.ops.activations, sys; print([m for m in sys.modules if m[:3] == 'ops'])"
    )
    assert run(program) == "[]\n"


def test_importing_everything_leaves_pythons_names_alone() -> None:
    program = "before = max\nfrom pywgsl import *\nprint(max is before, global_id.id.value)"
    assert run(program) == "True global_id\n"
