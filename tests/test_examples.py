"""The examples do what they say."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def digits() -> ModuleType:
    pytest.importorskip("sklearn", reason="pip install --group examples")
    pytest.importorskip("tqdm", reason="pip install --group examples")
    spec = importlib.util.spec_from_file_location("digits", EXAMPLES / "digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.gpu
def test_digits_are_learned_alike_on_both_devices(digits: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "digits.py"), "--device", "numpy", "--device", "gpu"]
    options = ["--quiet", "--epochs", "12", "--plot", str(tmp_path / "digits.png")]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    run = subprocess.run(
        [*command, *options], capture_output=True, text=True, env=environment, check=True
    )
    numpy_line, gpu_line, apart_line, *_ = run.stdout.splitlines()
    for line in (numpy_line, gpu_line):
        assert float(line.rpartition(" ")[2].rstrip("%")) >= 96.0
    assert float(apart_line.split()[-2]) <= 1e-3


def test_curves_are_shown_as_text(digits: ModuleType) -> None:
    assert digits.bars([0.0, 0.5, 1.0]) == "▁▅█"
    assert digits.bars([2.0, 2.0]) == "▁▁"
