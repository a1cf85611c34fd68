"""`python -m benchmarks compile launch numpy`: each prints a table of ratios."""

from __future__ import annotations

import argparse
import importlib

BENCHMARKS = {
    "compile": "decorated function to WGSL, and importing the package",
    "launch": "launches, against wgpu-py written by hand",
    "numpy": "the NumPy back end, against NumPy written by hand",
    "normalization": "layer norm and batch norm, against PyTorch on CUDA",
    "softmax": "softmax and cross entropy, against PyTorch on CUDA",
    "optimizer": "AdamW and element-wise kernels, against PyTorch and a copy",
}


def main() -> None:
    listed = "\n".join(f"  {name:10} {text}" for name, text in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure side by side, in one run; these are ratios to compare, not times.",
        epilog=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("benchmark", nargs="+", choices=BENCHMARKS)
    parser.add_argument("--device", default="gpu", help="the device of launches")
    options = parser.parse_args()
    for name in options.benchmark:
        print(f"== {name}: {BENCHMARKS[name]}")
        importlib.import_module(f"benchmarks.{name}_").run(options.device)
        print()


if __name__ == "__main__":
    main()
