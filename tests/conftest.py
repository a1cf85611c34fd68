"""What all tests share: golden files, the two WGSL compilers, and the GPU that they may need."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import validators
from hypothesis import HealthCheck, settings

_GOLDEN = Path(__file__).parent / "golden"

settings.register_profile(
    "dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), max_examples=500, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )


def unavailable(what: str) -> None:
    """Skip a test for want of something outside; on CI, where it must be there, fail."""
    if os.environ.get("PYWGSL_REQUIRE_GPU") == "1":
        pytest.fail(f"{what}, and PYWGSL_REQUIRE_GPU is 1")
    pytest.skip(what)


@pytest.fixture(scope="session")
def adapter() -> object:
    """The adapter that tests marked `gpu` run on."""
    wgpu = pytest.importorskip("wgpu")
    try:
        return wgpu.gpu.request_adapter_sync()
    except RuntimeError:
        return None


@pytest.fixture(autouse=True)
def _gpu(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("gpu") and request.getfixturevalue("adapter") is None:
        unavailable("there is no GPU adapter, not even a software one")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file `golden/<test module>/<name>`."""
    folder = _GOLDEN / request.path.stem.removeprefix("test_")
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = folder / name
        if update:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"{path} is missing: run with --update-golden and read what it holds")
        expected = path.read_text(encoding="utf-8")
        if text != expected:
            diff = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), str(path), "now", lineterm=""
            )
            pytest.fail("\n".join(diff), pytrace=False)

    return compare


@pytest.fixture(scope="session")
def compilers() -> Iterator[list[validators.Validator]]:
    """The WGSL compilers that are installed."""
    found = [validator for validator in (validators.naga(), validators.tint()) if validator]
    yield found
    for validator in found:
        validator.close()


@pytest.fixture(scope="session")
def accepted(compilers: list[validators.Validator]) -> Callable[[str], None]:
    """Assert that naga and Tint, or those of them that there are, take a WGSL text."""
    if len(compilers) < 2 and os.environ.get("PYWGSL_REQUIRE_GPU") == "1":
        pytest.fail("naga or Tint is missing, and PYWGSL_REQUIRE_GPU is 1")

    def check(text: str) -> None:
        for compiler in compilers:
            errors = compiler.errors(text)
            if errors:
                pytest.fail(f"{compiler.name} rejects it: {errors}\n{text}", pytrace=False)

    return check
