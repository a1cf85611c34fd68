"""The cross entropy of logits with classes or with probabilities, and its gradient.

Kernels see logits as [N, C, S]: C classes for each of N·S positions, one workgroup a position. So
PyTorch's [C], [N, C] and [N, C, d1, d2, …] are the same to them. The logarithm of the softmax is
z - m - log Σ exp(z - m), with m the largest logit, which neither overflows nor loses the digits of
unlikely classes. Natural logarithms: losses are in nats. Logits, probabilities and gradients by
them are f32 or f16, all of one call the same; sums are f32.
"""

import math

import pywgsl as pw
from pywgsl import Array, Array3D, Const, f32, i32
from pywgsl.ops.arrays import A, T, expect_shape, flat, floats, indices, result, same_device
from pywgsl.ops.axes import Lines, lines_along
from pywgsl.ops.reductions import (
    R,
    Reduction,
    expect_gradient,
    part_count,
    partials_of,
    reduction_scale,
    total,
)
from pywgsl.ops.softmax import exponential_sum

# ------------------------------------------------------------------------------------ classes


@pw.kernel
def cross_entropy_forward(
    logits: Array3D[T],
    target: Array[i32],
    loss: Array[R],
    ignore_index: i32 = -100,
    label_smoothing: f32 = 0.0,
) -> None:
    """`loss = -(1 - ε) log p[target] - ε / C Σ_c log p[c]`, with p the softmax and ε the smoothing.

    Shapes: logits [N, C, S], target and loss [N·S]. Launch over N·S workgroups. O(N·C·S), the
    logits read once, or twice with smoothing. The loss is 0 where the target is `ignore_index`, nan
    where it is no class.

    After `cross_entropy_forward_kernel` of RUMUS, which has classes as f32 (so not above 2²⁴),
    divides by N, and reads whatever lies at a class that there is not.
    """
    k = pw.workgroup_id.x
    n, s = k // logits.shape[2], k % logits.shape[2]
    classes = logits.shape[1]
    label = target[k]
    if label == ignore_index or label < 0 or label >= classes:
        if pw.local_index == 0:
            loss[k] = R(0.0 if label == ignore_index else math.nan)
        return
    largest, total = exponential_sum(logits, n, s)
    log_sum = pw.log(total)
    value = (1.0 - label_smoothing) * (log_sum - (f32(logits[n, label, s]) - largest))
    if label_smoothing > 0.0:
        distance = 0.0
        for c in range(pw.local_index, classes, pw.workgroup_size.x):
            distance += log_sum - (f32(logits[n, c, s]) - largest)
        value += label_smoothing / f32(classes) * pw.workgroup_sum(distance)
    if pw.local_index == 0:
        loss[k] = R(value)


@pw.kernel
def cross_entropy_gradient(
    grad_output: Array[R],
    logits: Array3D[T],
    target: Array[i32],
    grad_logits: Array3D[T],
    reduced: Const[bool] = False,
    ignore_index: i32 = -100,
    label_smoothing: f32 = 0.0,
) -> None:
    """`grad_logits = grad_output (p - (1 - ε) [c = target] - ε / C)`; p, ε as in the forward pass.

    Shapes: grad_output [N·S], or [1] if `reduced`; logits and grad_logits [N, C, S], target
    [N·S]. Launch over N·S workgroups. O(N·C·S), the logits read twice. 0 where the target is
    `ignore_index`, nan where it is no class.
    """
    k = pw.workgroup_id.x
    n, s = k // logits.shape[2], k % logits.shape[2]
    classes = logits.shape[1]
    label = target[k]
    if label == ignore_index:
        for c in range(pw.local_index, classes, pw.workgroup_size.x):
            grad_logits[n, c, s] = T(0.0)
        return
    grad = f32(grad_output[0 if reduced else k])
    if label < 0 or label >= classes:
        grad = math.nan
    largest, total = exponential_sum(logits, n, s)
    for c in range(pw.local_index, classes, pw.workgroup_size.x):
        expected = label_smoothing / f32(classes) + (1.0 - label_smoothing if c == label else 0.0)
        share = pw.exp(f32(logits[n, c, s]) - largest) / total
        grad_logits[n, c, s] = T(grad * (share - expected))


@pw.kernel
def partial_counts(target: Array[i32], counts: Array[i32], ignore_index: i32) -> None:
    """`counts[p]`: how many targets of part p are not `ignore_index`.

    Shapes: target [n], counts [P]; part p is that of `sum_forward`. Launch over P workgroups. O(n)
    in all.
    """
    part = pw.workgroup_id.x
    count = 0
    first = part * pw.workgroup_size.x + pw.local_index
    for i in range(first, target.size, counts.size * pw.workgroup_size.x):
        count += 0 if target[i] == ignore_index else 1
    count = pw.workgroup_sum(count)
    if pw.local_index == 0:
        counts[part] = count


@pw.kernel
def counted_mean(partials: Array[T], counts: Array[i32], output: Array[R]) -> None:
    """`output[0] = Σ partials / Σ counts`, nan of nothing. One workgroup."""
    total, count = 0.0, 0
    for p in range(pw.local_index, partials.size, pw.workgroup_size.x):
        total += f32(partials[p])
    for p in range(pw.local_index, counts.size, pw.workgroup_size.x):
        count += counts[p]
    total, count = pw.workgroup_sum(total), pw.workgroup_sum(count)
    if pw.local_index == 0:
        output[0] = R(math.nan if count == 0 else total / f32(count))


# ------------------------------------------------------------------------------ probabilities


@pw.kernel
def dense_cross_entropy_forward(
    logits: Array3D[T], target: Array3D[T], loss: Array[R], label_smoothing: f32 = 0.0
) -> None:
    """`loss = -Σ_c ((1 - ε) target[c] + ε / C) log p[c]`, with p the softmax and ε the smoothing.

    Shapes: logits and target [N, C, S], loss [N·S]. Launch over N·S workgroups. O(N·C·S), the
    logits read twice. After `cross_entropy` of meganeura, which has no smoothing.
    """
    k = pw.workgroup_id.x
    n, s = k // logits.shape[2], k % logits.shape[2]
    classes = logits.shape[1]
    largest, total = exponential_sum(logits, n, s)
    log_sum = pw.log(total)
    value = 0.0
    for c in range(pw.local_index, classes, pw.workgroup_size.x):
        smooth = (1.0 - label_smoothing) * f32(target[n, c, s]) + label_smoothing / f32(classes)
        value += smooth * (log_sum - (f32(logits[n, c, s]) - largest))
    value = pw.workgroup_sum(value)
    if pw.local_index == 0:
        loss[k] = R(value)


@pw.kernel
def dense_cross_entropy_gradient(
    grad_output: Array[R],
    logits: Array3D[T],
    target: Array3D[T],
    grad_logits: Array3D[T],
    scale: f32,
    reduced: Const[bool] = False,
    label_smoothing: f32 = 0.0,
) -> None:
    """`grad_logits = scale grad_output (p Σ t - t)`, with t the smoothed target, p the softmax.

    Shapes: grad_output [N·S], or [1] if `reduced`; the others [N, C, S]. Launch over N·S
    workgroups. O(N·C·S), logits and target read twice. After `cross_entropy` of meganeura.
    """
    k = pw.workgroup_id.x
    n, s = k // logits.shape[2], k % logits.shape[2]
    classes = logits.shape[1]
    grad = scale * f32(grad_output[0 if reduced else k])
    largest, total = exponential_sum(logits, n, s)
    part = 0.0
    for c in range(pw.local_index, classes, pw.workgroup_size.x):
        part += f32(target[n, c, s])
    mass = label_smoothing + (1.0 - label_smoothing) * pw.workgroup_sum(part)
    for c in range(pw.local_index, classes, pw.workgroup_size.x):
        smooth = (1.0 - label_smoothing) * f32(target[n, c, s]) + label_smoothing / f32(classes)
        share = pw.exp(f32(logits[n, c, s]) - largest) / total
        grad_logits[n, c, s] = T(grad * (mass * share - smooth))


# ---------------------------------------------------------------------------------- functions


def cross_entropy(
    logits: A,
    target: A,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
    *,
    out: A | None = None,
) -> A:
    """Return the cross entropy, as `torch.nn.functional.cross_entropy`. O(logits).

    Args:
        logits: [C], [N, C] or [N, C, d1, …].
        target: classes, i32 of the logits' shape without C; or probabilities, of the logits' shape
            and dtype. A class outside of 0…C-1 makes its loss nan.
        ignore_index: positions with this class do not count; not for probabilities.
        label_smoothing: 0…1, how much of the target is spread over all classes.
        reduction: `"mean"` (over the positions that count), `"sum"` or `"none"`.
        out: where to write the result, in nats.

    Raises:
        LaunchError: the arrays do not fit, or have other dtypes.
        ValueError: there is no such reduction, or label_smoothing is outside of 0…1.
    """
    name = "cross_entropy"
    (logits,) = floats(name, logits=logits)
    target, dense = _target(name, logits, target)
    lines = _lines(logits.shape)
    scale = _options(name, reduction, label_smoothing, lines.count)
    positions = _positions_shape(logits.shape)
    if reduction == "none":
        losses = result(name, logits, positions, out, logits.dtype)
    else:
        losses = result(name, logits, positions)
    if dense:
        lines.launch(
            dense_cross_entropy_forward,
            *(lines.of(logits), lines.of(target), flat(losses)),
            label_smoothing,
        )
    else:
        lines.launch(
            cross_entropy_forward,
            *(lines.of(logits), flat(target), flat(losses)),
            ignore_index,
            label_smoothing,
        )
    if reduction == "none":
        return losses
    if dense or reduction == "sum":
        return total(name, losses, scale, out=out, dtype=logits.dtype)
    output = result(name, logits, (), out, logits.dtype)
    _write_mean(name, losses, target, ignore_index, output)
    return output


def cross_entropy_backward(
    grad: A,
    logits: A,
    target: A,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
    *,
    out: A | None = None,
) -> A:
    """Return the gradient by the logits of `cross_entropy`. O(logits).

    Args:
        grad: the gradient by the loss: without axes, or of the loss's shape for `"none"`.
        logits: what `cross_entropy` took.
        target: what `cross_entropy` took.
        ignore_index: as in `cross_entropy`.
        label_smoothing: as in `cross_entropy`.
        reduction: as in `cross_entropy`.
        out: where to write the gradient, of the logits' shape.

    Raises:
        LaunchError: the arrays do not fit, or have other dtypes.
        ValueError: there is no such reduction, or label_smoothing is outside of 0…1.
    """
    name = "cross_entropy_backward"
    grad, logits = floats(name, grad=grad, logits=logits)
    target, dense = _target(name, logits, target)
    lines = _lines(logits.shape)
    scale = _options(name, reduction, label_smoothing, lines.count)
    reduced = reduction != "none"
    expect_gradient(name, grad, reduction, _positions_shape(logits.shape))
    output = result(name, logits, logits.shape, out, logits.dtype)
    if dense:
        lines.launch(
            dense_cross_entropy_gradient,
            *(flat(grad), lines.of(logits), lines.of(target), lines.of(output)),
            *(scale, reduced, label_smoothing),
        )
        return output
    if reduction == "mean":
        mean = result(name, logits, ())
        _write_mean(name, grad, target, ignore_index, mean)
        grad = mean
    lines.launch(
        cross_entropy_gradient,
        *(flat(grad), lines.of(logits), flat(target), lines.of(output)),
        *(reduced, ignore_index, label_smoothing),
    )
    return output


def _write_mean(function: str, values: A, target: A, ignore_index: int, output: A) -> None:
    """Write the sum of values, divided by how many targets count."""
    parts = part_count(target.size)
    counts = result(function, values, (parts,), dtype=target.dtype)
    partial_counts[pw.groups(parts)](flat(target), counts, ignore_index)
    counted_mean[pw.groups(1)](partials_of(function, values), counts, flat(output))


def _target(function: str, logits: A, target: A) -> tuple[A, bool]:
    """Return the target, contiguous, and whether it holds probabilities."""
    if not logits.shape:
        raise pw.LaunchError(f"{function}: `logits` takes at least one axis, the classes")
    dense = getattr(target, "dtype", None) == logits.dtype
    if dense:
        (target,) = floats(function, target=target)
    else:
        target = indices(function, "target", target)
    same_device(function, logits=logits, target=target)
    expect_shape(
        function, "target", target, logits.shape if dense else _positions_shape(logits.shape)
    )
    return target, dense


def _options(function: str, reduction: Reduction, label_smoothing: float, positions: int) -> float:
    """Check the options, and return the factor of the sum of so many losses."""
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"{function}: `label_smoothing` is 0…1, not {label_smoothing}")
    return reduction_scale(function, reduction, positions)


def _lines(shape: tuple[int, ...]) -> Lines:
    """Return logits as lines along the classes."""
    axis = 0 if len(shape) == 1 else 1
    return lines_along(shape, axis, axis)


def _positions_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of logits without the classes."""
    return () if len(shape) == 1 else (shape[0], *shape[2:])
