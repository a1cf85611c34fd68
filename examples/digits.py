"""Train a two-layer network on scikit-learn's handwritten digits, with `pywgsl.ops` only.

    pip install --group examples
    python examples/digits.py --device gpu

All arrays of the network live on the device; a step queues its kernels and waits for nothing. At
the end the accuracy on digits that it never saw is printed, and the curves of loss and accuracy are
written as a picture (or shown as text, if matplotlib is missing).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import pywgsl as pw
from pywgsl import ops

CLASSES, PIXELS = 10, 64


@dataclass
class Data:
    """Digits as rows of 64 brightnesses from 0 to 1, and which digit each row is."""

    train_x: np.ndarray[Any, Any]
    train_y: np.ndarray[Any, Any]
    test_x: np.ndarray[Any, Any]
    test_y: np.ndarray[Any, Any]


def load(seed: int) -> Data:
    """Return the digits in a random order, a fifth of them kept for the test."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    x = (digits.data[order] / 16.0).astype(np.float32)
    y = digits.target[order].astype(np.int32)
    held = len(x) // 5
    return Data(x[held:], y[held:], x[:held], y[:held])


class Network:
    """Linear, ReLU, linear; Adam updates its parameters."""

    def __init__(self, device: pw.Device, hidden: int, seed: int) -> None:
        generator = np.random.default_rng(seed)

        def weight(rows: int, columns: int) -> Any:
            bound = 1.0 / np.sqrt(columns)
            values = generator.uniform(-bound, bound, (rows, columns)).astype(np.float32)
            return device.array(values)

        self.parameters = [
            weight(hidden, PIXELS),
            device.zeros(hidden, np.float32),
            weight(CLASSES, hidden),
            device.zeros(CLASSES, np.float32),
        ]
        self.moments = [device.zeros(p.shape, np.float32) for p in self.parameters]
        self.squares = [device.zeros(p.shape, np.float32) for p in self.parameters]
        self.steps = 0

    def logits(self, x: Any) -> Any:
        """Return how strongly each row of `x` looks like each digit."""
        w1, b1, w2, b2 = self.parameters
        return ops.linear(ops.relu(ops.linear(x, w1, b1)), w2, b2)

    def step(self, x: Any, y: Any, lr: float) -> Any:
        """Change the parameters so that they fit a batch better; return its loss, on the device."""
        w1, b1, w2, b2 = self.parameters
        hidden = ops.linear(x, w1, b1)
        active = ops.relu(hidden)
        logits = ops.linear(active, w2, b2)
        loss = ops.cross_entropy(logits, y)
        one = x.device.full((), 1.0, np.float32)
        d_logits = ops.cross_entropy_backward(one, logits, y)
        d_active, d_w2, d_b2 = ops.linear_backward(d_logits, active, w2)
        d_hidden = ops.relu_backward(d_active, hidden)
        _, d_w1, d_b1 = ops.linear_backward(d_hidden, x, w1)
        self.steps += 1
        gradients = [d_w1, d_b1, d_w2, d_b2]
        ops.adam_step(
            self.parameters, gradients, self.moments, self.squares, step=self.steps, lr=lr
        )
        return loss


@dataclass
class Curves:
    """What was measured after each epoch."""

    loss: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)


def batches(data: Data, size: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yield the training digits in a new random order, `size` at a time."""
    order = np.random.default_rng(seed).permutation(len(data.train_x))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield data.train_x[rows], data.train_y[rows]


def train(device: pw.Device, options: argparse.Namespace) -> Curves:
    """Train, showing progress, and return the curves."""
    data = load(options.seed)
    network = Network(device, options.hidden, options.seed)
    test_x = device.array(data.test_x)
    curves = Curves()
    progress = tqdm(range(options.epochs), desc=device.name, unit="epoch", disable=options.quiet)
    for epoch in progress:
        losses = [
            network.step(device.array(x), device.array(y), options.lr)
            for x, y in batches(data, options.batch, options.seed + epoch)
        ]
        curves.loss.append(float(np.mean([loss.numpy() for loss in losses])))
        guesses = network.logits(test_x).numpy().argmax(axis=1)
        curves.accuracy.append(float(np.mean(guesses == data.test_y)))
        progress.set_postfix(loss=f"{curves.loss[-1]:.4f}", accuracy=f"{curves.accuracy[-1]:.1%}")
    return curves


def plot(curves: dict[str, Curves], path: Path) -> None:
    """Write the curves as a picture, or show them as text without matplotlib."""
    try:
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot
    except ImportError:
        for name, curve in curves.items():
            print(f"{name:>12} loss     {bars(curve.loss)}")
            print(f"{name:>12} accuracy {bars(curve.accuracy)}")
        return
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for name, curve in curves.items():
        epochs = range(1, len(curve.loss) + 1)
        left.plot(epochs, curve.loss, label=name)
        right.plot(epochs, [100 * a for a in curve.accuracy], label=name)
    left.set(title="training loss", xlabel="epoch", yscale="log")
    right.set(title="test accuracy, %", xlabel="epoch")
    right.legend()
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


def bars(values: list[float]) -> str:
    """Return numbers as a row of blocks of their heights."""
    low, high = min(values), max(values)
    scale = 7 / (high - low) if high > low else 0.0
    return "".join("▁▂▃▄▅▆▇█"[round((v - low) * scale)] for v in values)


def main() -> None:
    """Read the options, train, and show what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--device",
        action="append",
        help="gpu, numpy, or a part of an adapter's name; given twice, the curves are compared",
    )
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path, default=Path("digits.png"), metavar="FILE.png")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args()
    curves: dict[str, Curves] = {}
    for name in options.device or [None]:
        device = pw.device(name)
        curves[device.name] = train(device, options)
        last = curves[device.name]
        print(f"{device.name}: loss {last.loss[-1]:.4f}, test accuracy {last.accuracy[-1]:.2%}")
    if len(curves) > 1:
        first, second = list(curves.values())[:2]
        apart = max(abs(a - b) for a, b in zip(first.loss, second.loss, strict=True))
        print(f"the loss curves are at most {apart:.1e} apart")
    plot(curves, options.plot)


if __name__ == "__main__":
    main()
