"""The command line: what it prints, and how it ends."""

import json
from pathlib import Path

import numpy as np
import pytest

from pywgsl.commands.main import main

KERNELS = """
import pywgsl as pw
from pywgsl import Array, Const, f32, i32

@pw.kernel
def scale(x: Array[f32], y: Array[f32], factor: f32 = 2.0, times: Const[int] = 1):
    i = pw.global_id.x
    value = x[i]
    for _ in pw.static_range(times):
        value *= factor
    y[i] = value

@pw.kernel
def count(y: Array[i32]):
    y[pw.global_id.x] = pw.global_id.x

not_a_kernel = 1
"""

TYPED = """
from typing import TypeVar
import pywgsl as pw
from pywgsl import Array, f16, f32, i32

T = TypeVar("T", f32, f16)

@pw.kernel
def halve(x: Array[T]):
    x[pw.global_id.x] *= 0.5

@pw.struct
class Pair:
    first: f32
    second: i32

@pw.kernel
def pair(x: Array[Pair]):
    i = pw.global_id.x
    x[i] = Pair(0.5, i)
"""

WRONG = """
import pywgsl as pw
from pywgsl import Array, f32

@pw.kernel
def wrong(x: Array[f32]):
    x[pw.global_id.x] = missing
"""


@pytest.fixture
def kernels(tmp_path: Path) -> str:
    path = tmp_path / "some_kernels.py"
    path.write_text(KERNELS)
    return str(path)


@pytest.fixture
def typed(tmp_path: Path) -> str:
    path = tmp_path / "typed_kernels.py"
    path.write_text(TYPED)
    return str(path)


def test_wgsl_is_printed(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wgsl", f"{kernels}:count"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("struct Uniforms")
    assert "fn count(" in out
    assert err == ""


def test_a_constant_is_given_by_name(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wgsl", f"{kernels}:scale", "--const", "times=3"]) == 0
    assert capsys.readouterr().out.count("value *= uniforms.factor;") == 3


def test_a_type_is_given_by_name(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wgsl", f"{typed}:halve", "--const", "T=f16"]) == 0
    assert "array<f16>" in capsys.readouterr().out
    assert main(["wgsl", f"{typed}:halve", "--const", "T=f8"]) == 2
    assert "`T` takes f32 or f16, but got `f8`" in capsys.readouterr().err
    run = ["run", f"{typed}:halve", "--shape", "2", "--device", "numpy", "x=ones:2"]
    assert main([*run, "--const", "T=f16"]) == 0
    assert capsys.readouterr().out == "x: float16[2] on numpy\n[0.5 0.5]\n"


def test_structs_start_as_zeros(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", f"{typed}:pair", "--shape", "2", "--device", "numpy"]
    assert main([*run, "x=zeros:2"]) == 0
    assert capsys.readouterr().out == (
        "x: structured (first, second)[2] on numpy\n[(0.5, 0) (0.5, 1)]\n"
    )
    assert main([*run, "x=random:2"]) == 2
    assert "`x` holds structs, which come from a file or zeros:N" in capsys.readouterr().err


def test_output_goes_to_a_file(
    kernels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "count.wgsl"
    assert main(["wgsl", f"{kernels}:count", "-o", str(target)]) == 0
    assert "fn count(" in target.read_text()
    assert capsys.readouterr().out == ""


def test_reflection_is_json(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reflect", f"{kernels}:scale"]) == 0
    reflection = json.loads(capsys.readouterr().out)
    assert reflection["entry_point"] == "scale"
    assert reflection["constants"] == {"times": 1}


def test_numpy_source_is_printed(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["numpy", f"{kernels}:count"]) == 0
    compile(capsys.readouterr().out, "numpy", "exec")


def test_a_kernel_of_a_module_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wgsl", "pywgsl.commands.demo:gelu"]) == 0
    assert "fn gelu(" in capsys.readouterr().out


def test_run_reads_and_saves_arrays(
    kernels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    arguments = [f"x={tmp_path}/x.npy", "y=zeros:4", "factor=3"]
    saved = tmp_path / "y.npy"
    command = ["run", f"{kernels}:scale", "--shape", "4", "--device", "numpy"]
    assert main([*command, *arguments, "--save", f"y={saved}"]) == 0
    np.testing.assert_array_equal(np.load(saved), np.array([0, 3, 6, 9], np.float32))
    assert capsys.readouterr().out == "y: float32[4] on numpy\n[0. 3. 6. 9.]\n"


@pytest.mark.gpu
def test_run_uses_a_gpu(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", f"{kernels}:count", "--shape", "3", "--device", "gpu", "y=ones:3"]) == 0
    assert capsys.readouterr().out.endswith("[0 1 2]\n")


def test_a_wrong_kernel_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong_kernels.py"
    path.write_text(WRONG)
    assert main(["check", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "error[E0201]: `missing` is not defined\n"
        f" --> {path}:7:25\n"
        "  |\n"
        "7 |     x[pw.global_id.x] = missing\n"
        "  |                         ^^^^^^^\n"
    )


def test_right_kernels_are_named(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", kernels]) == 0
    assert capsys.readouterr().out == "some_kernels:scale: ok\nsome_kernels:count: ok\n"


@pytest.mark.gpu
def test_check_reads_wgsl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = tmp_path / "right.wgsl", tmp_path / "wrong.wgsl"
    right.write_text("@compute @workgroup_size(1) fn main() {}")
    wrong.write_text("@compute @workgroup_size(1) fn main() { let x: i32 = 1.5; }")
    assert main(["check", str(right)]) == 0
    assert main(["check", str(wrong)]) == 1
    assert "1.5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["wgsl", "some_kernels"], "expected MODULE:KERNEL or FILE.py:KERNEL"),
        (["wgsl", "no_such_module_here:k"], "there is no module no_such_module_here"),
        (["wgsl", "no_such_file.py:k"], "there is no file no_such_file.py"),
        (["explain", "E9999"], "there is no error code `E9999`"),
        (["builtins", "sqt"], "there is no builtin `sqt`; did you mean `sqrt`?"),
    ],
)
def test_a_wrong_command_ends_with_2(
    command: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"pywgsl: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x=zeros:4"], "scale: `y` is missing: `y=FILE.npy` or `y=zeros:64`"),
        (["x=zeros:4", "z=1"], "scale has no parameter `z`; it has `x`, `y`, `factor`"),
        (["x=nothing.npy", "y=zeros:4"], "`x` takes a file or one of zeros:N"),
        (["x=zeros:4", "y=zeros:4", "factor=two"], "`factor` takes a number, but got `two`"),
        (["x"], "expected NAME=VALUE, but got `x`"),
        (["x=zeros:4", "y=zeros:4", "x=ones:4"], "`x` is given twice: `zeros:4` and `ones:4`"),
        (["x=random:-8", "y=zeros:4"], "`x=random:…` takes integers from 0, such as `64` or `8x8`"),
        (["x=zeros:", "y=zeros:4"], "`x=zeros:…` takes integers from 0"),
        (["x=zeros:1000000000000000", "y=zeros:4"], "does not fit in memory: "),
    ],
)
def test_wrong_arguments_of_a_run_end_with_2(
    kernels: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", f"{kernels}:scale", "--shape", "4", "--const", "times=1"]
    assert main([*command, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_file_of_doubles_is_refused(
    kernels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.zeros(4))
    arguments = [f"x={tmp_path}/x.npy", "y=zeros:4"]
    assert main(["run", f"{kernels}:scale", "--shape", "4", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("pywgsl: `x`: an array of float64 cannot live on a device")


def test_what_a_launch_refuses_is_said_by_pywgsl(
    kernels: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--shape", "4", "x=zeros:4x4", "y=zeros:4"]
    assert main(["run", f"{kernels}:scale", *arguments]) == 1
    err = capsys.readouterr().err
    assert err == (
        "pywgsl: scale: parameter `x` takes a 1-D float32 array, but got one of shape (4, 4)\n"
    )


def test_a_constant_without_a_default_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "constant_kernels.py"
    path.write_text(KERNELS.replace("f32 = 2.0, times: Const[int] = 1", "f32, times: Const[int]"))
    name = f"{path}:scale"
    assert main(["wgsl", name]) == 2
    assert capsys.readouterr().err == "pywgsl: scale needs --const times=…\n"
    command = [
        "run",
        name,
        "--shape",
        "2",
        "--device",
        "numpy",
        "x=ones:2",
        "y=zeros:2",
        "factor=2",
    ]
    assert main(command) == 2
    assert capsys.readouterr().err == "pywgsl: scale: `times` is missing: `--const times=1`\n"
    for given in (["--const", "times=3"], ["times=3"]):
        assert main([*command, *given]) == 0
        assert capsys.readouterr().out.endswith("[8. 8.]\n")


def test_check_takes_one_kernel(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{kernels}:count"]) == 0
    assert capsys.readouterr().out == "some_kernels:count: ok\n"
    assert main(["check", f"{kernels}:nope"]) == 2
    assert "`nope` does not exist in " in capsys.readouterr().err


def test_a_kernel_that_is_not_there_shows_those_that_are(
    kernels: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wgsl", f"{kernels}:cuont"]) == 2
    assert "whose kernels are: `scale`, `count`; did you mean `count`?" in capsys.readouterr().err
    assert main(["wgsl", f"{kernels}:not_a_kernel"]) == 2
    assert "`not_a_kernel` is not a kernel" in capsys.readouterr().err


def test_a_module_that_fails_shows_its_own_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "failing_kernels.py"
    path.write_text("import math\nmath.sqrt(-1)\n")
    assert main(["check", str(path)]) == 1
    err = capsys.readouterr().err
    assert f'File "{path}", line 2' in err
    assert err.rstrip().endswith("ValueError: math domain error")
    assert "importlib" not in err


def test_explain_shows_the_mistake_and_its_correction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "e0101"]) == 0
    assert capsys.readouterr().out.startswith("E0101: ")


def test_builtins_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["builtins"]) == 0
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["inverse_sqrt", "`1 / sqrt(x)`."] in rows
    assert main(["builtins", "pw.inverse_sqrt"]) == 0
    out = capsys.readouterr().out
    assert "inverse_sqrt(T) -> T where T: float" in out
    assert "In WGSL: `inverseSqrt`." in out


def test_devices_end_with_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("numpy")


def test_the_demo_checks_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--device", "numpy"]) == 0
    out = capsys.readouterr().out
    assert "fn gelu(" in out
    assert "on numpy" in out
    assert "the same as the NumPy reference" in out


def test_help_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert main([]) == 2
    assert "COMMAND" in capsys.readouterr().err
