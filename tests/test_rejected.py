"""The exact message for each kernel in tests/rejected: one mistake a file."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from pywgsl.codes import NAMES, SYNTAX, TYPES, VALIDITY
from pywgsl.errors import CompileError
from pywgsl.kernel import Kernel

FOLDER = Path(__file__).parent / "rejected"
FILES = sorted(path for path in FOLDER.glob("*.py") if path.name != "conftest.py")

#: Mistakes that no single file can hold, with the test of each in test_capture, test_from_python or
#: test_check.
ELSEWHERE = {"E0103", "E0109", "E0116", "E0404"}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"rejected_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_kernels(path: Path) -> None:
    """Compile the kernels of a file and of the classes in it."""
    names = vars(load(path))
    scopes = [names, *(vars(value) for value in names.values() if isinstance(value, type))]
    for scope in scopes:
        for value in scope.values():
            if isinstance(value, Kernel):
                value.wgsl()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_message_is_exact(path: Path, request: pytest.FixtureRequest) -> None:
    with pytest.raises(CompileError) as caught:
        compile_kernels(path)
    message = str(caught.value).replace(str(path), path.name) + "\n"
    expected = path.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        expected.write_text(message, encoding="utf-8")
    assert message == expected.read_text(encoding="utf-8")


def test_every_expected_message_has_its_kernel() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in FILES}


def test_every_code_of_the_python_front_end_has_a_file() -> None:
    shown = {
        code
        for path in FOLDER.glob("*.txt")
        for code in re.findall(r"E\d{4}", path.read_text(encoding="utf-8"))
    }
    text = "\n".join([SYNTAX, NAMES, TYPES, VALIDITY])
    explained = set(re.findall(r"^(E\d{4}):", text, re.MULTILINE))
    assert explained - shown == ELSEWHERE
