"""The cross entropy of logits with classes or with probabilities, and its gradient.

Kernels see logits as [N, C, S]: C classes for each of N·S positions, one invocation a position. So
PyTorch's [C], [N, C] and [N, C, d1, d2, …] are the same to them. The logarithm of the softmax is
z - m - log Σ exp(z - m), with m the largest logit, which neither overflows nor loses the digits of
unlikely classes. Natural logarithms: losses are in nats.
"""

import math

import pywgsl as pw
from pywgsl import Array, Array3D, Const, f32, i32
from pywgsl.ops.arrays import (
    A,
    expect_shape,
    flat,
    indices,
    operands,
    result,
    same_device,
)
from pywgsl.ops.reductions import (
    Reduction,
    expect_gradient,
    part_count,
    partials_of,
    reduction_scale,
    strided_sum,
    total,
)


@pw.function
def _largest(logits: Array3D[f32], n: i32, s: i32) -> f32:
    """The largest logit of a position."""
    largest = -math.inf
    for c in range(logits.shape[1]):
        largest = max(largest, logits[n, c, s])
    return largest


@pw.function
def _exponential_sum(logits: Array3D[f32], n: i32, s: i32, largest: f32) -> f32:
    """Σ exp(z - largest) over the logits of a position."""
    total = 0.0
    for c in range(logits.shape[1]):
        total += pw.exp(logits[n, c, s] - largest)
    return total


# ------------------------------------------------------------------------------------ classes


@pw.kernel
def cross_entropy_forward(
    logits: Array3D[f32],
    target: Array[i32],
    loss: Array[f32],
    ignore_index: i32 = -100,
    label_smoothing: f32 = 0.0,
) -> None:
    """`loss = -(1 - ε) log p[target] - ε / C Σ_c log p[c]`, with p the softmax and ε the smoothing.

    Shapes: logits [N, C, S], target and loss [N·S]. Launch over N·S. O(N·C·S). The loss is 0
    where the target is `ignore_index`, nan where it is no class.

    After `cross_entropy_forward_kernel` of RUMUS, which has classes as f32 (so not above 2²⁴),
    divides by N, and reads whatever lies at a class that there is not.
    """
    k = pw.global_id.x
    n, s = k // logits.shape[2], k % logits.shape[2]
    classes = logits.shape[1]
    label = target[k]
    if label == ignore_index:
        loss[k] = 0.0
        return
    if label < 0 or label >= classes:
        loss[k] = math.nan
        return
    largest = _largest(logits, n, s)
    log_sum = pw.log(_exponential_sum(logits, n, s, largest))
    value = (1.0 - label_smoothing) * (log_sum - (logits[n, label, s] - largest))
    if label_smoothing > 0.0:
        distance = 0.0
        for c in range(classes):
            distance += log_sum - (logits[n, c, s] - largest)
        value += label_smoothing / f32(classes) * distance
    loss[k] = value


@pw.kernel
def cross_entropy_gradient(
    grad_output: Array[f32],
    logits: Array3D[f32],
    target: Array[i32],
    grad_logits: Array3D[f32],
    reduced: Const[bool] = False,
    ignore_index: i32 = -100,
    label_smoothing: f32 = 0.0,
) -> None:
    """`grad_logits = grad_output (p - (1 - ε) [c = target] - ε / C)`; p, ε as in the forward pass.

    Shapes: grad_output [N·S], or [1] if `reduced`; logits and grad_logits [N, C, S], target
    [N·S]. Launch over N·S. O(N·C·S). 0 where the target is `ignore_index`, nan where it is no
    class.
    """
    k = pw.global_id.x
    n, s = k // logits.shape[2], k % logits.shape[2]
    classes = logits.shape[1]
    label = target[k]
    grad = grad_output[0 if reduced else k]
    if label == ignore_index:
        for c in range(classes):
            grad_logits[n, c, s] = 0.0
        return
    if label < 0 or label >= classes:
        grad = math.nan
    largest = _largest(logits, n, s)
    total = _exponential_sum(logits, n, s, largest)
    for c in range(classes):
        expected = label_smoothing / f32(classes) + (1.0 - label_smoothing if c == label else 0.0)
        grad_logits[n, c, s] = grad * (pw.exp(logits[n, c, s] - largest) / total - expected)


@pw.kernel
def partial_counts(target: Array[i32], counts: Array[i32], ignore_index: i32) -> None:
    """`counts[p]`: how many of target[p + k P] are not `ignore_index`, P the length of `counts`.

    Shapes: target [n], counts [P]. Launch over P. O(n) in all.
    """
    p = pw.global_id.x
    count = 0
    for i in range(p, target.size, counts.size):
        count += 0 if target[i] == ignore_index else 1
    counts[p] = count


@pw.kernel(workgroup_size=1)
def counted_mean(partials: Array[f32], counts: Array[i32], output: Array[f32]) -> None:
    """`output[0] = Σ partials / Σ counts`, nan of nothing. One invocation."""
    total = strided_sum(partials, 0, 1)
    count = 0
    for p in range(counts.size):
        count += counts[p]
    output[0] = math.nan if count == 0 else total / f32(count)


# ------------------------------------------------------------------------------ probabilities


@pw.kernel
def dense_cross_entropy_forward(
    logits: Array3D[f32], target: Array3D[f32], loss: Array[f32], label_smoothing: f32 = 0.0
) -> None:
    """`loss = -Σ_c ((1 - ε) target[c] + ε / C) log p[c]`, with p the softmax and ε the smoothing.

    Shapes: logits and target [N, C, S], loss [N·S]. Launch over N·S. O(N·C·S). After
    `cross_entropy` of meganeura, which has no smoothing.
    """
    k = pw.global_id.x
    n, s = k // logits.shape[2], k % logits.shape[2]
    classes = logits.shape[1]
    largest = _largest(logits, n, s)
    log_sum = pw.log(_exponential_sum(logits, n, s, largest))
    value = 0.0
    for c in range(classes):
        expected = (1.0 - label_smoothing) * target[n, c, s] + label_smoothing / f32(classes)
        value += expected * (log_sum - (logits[n, c, s] - largest))
    loss[k] = value


@pw.kernel
def dense_cross_entropy_gradient(
    grad_output: Array[f32],
    logits: Array3D[f32],
    target: Array3D[f32],
    grad_logits: Array3D[f32],
    scale: f32,
    reduced: Const[bool] = False,
    label_smoothing: f32 = 0.0,
) -> None:
    """`grad_logits = scale grad_output (p Σ t - t)`, with t the smoothed target, p the softmax.

    Shapes: grad_output [N·S], or [1] if `reduced`; the others [N, C, S]. Launch over N·S.
    O(N·C·S). After `cross_entropy` of meganeura.
    """
    k = pw.global_id.x
    n, s = k // logits.shape[2], k % logits.shape[2]
    classes = logits.shape[1]
    grad = scale * grad_output[0 if reduced else k]
    largest = _largest(logits, n, s)
    total = _exponential_sum(logits, n, s, largest)
    mass = label_smoothing
    for c in range(classes):
        mass += (1.0 - label_smoothing) * target[n, c, s]
    for c in range(classes):
        expected = (1.0 - label_smoothing) * target[n, c, s] + label_smoothing / f32(classes)
        share = pw.exp(logits[n, c, s] - largest) / total
        grad_logits[n, c, s] = grad * (mass * share - expected)


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
        logits: [C], [N, C] or [N, C, d1, …], f32.
        target: classes, i32 of the logits' shape without C; or probabilities, f32 of the
            logits' shape. A class outside of 0…C-1 makes its loss nan.
        ignore_index: positions with this class do not count; not for probabilities.
        label_smoothing: 0…1, how much of the target is spread over all classes.
        reduction: `"mean"` (over the positions that count), `"sum"` or `"none"`.
        out: where to write the result, in nats.

    Raises:
        LaunchError: the arrays do not fit, or have other dtypes.
        ValueError: there is no such reduction, or label_smoothing is outside of 0…1.
    """
    name = "cross_entropy"
    (logits,) = operands(name, logits=logits)
    target, dense = _target(name, logits, target)
    view = _three_axes(logits.shape)
    count = view[0] * view[2]
    scale = _options(name, reduction, label_smoothing, count)
    positions = _positions_shape(logits.shape)
    losses = result(name, logits, positions, out if reduction == "none" else None)
    shaped, written = logits.reshape(view), flat(losses)
    if dense:
        dense_cross_entropy_forward[count](shaped, target.reshape(view), written, label_smoothing)
    else:
        cross_entropy_forward[count](shaped, flat(target), written, ignore_index, label_smoothing)
    if reduction == "none":
        return losses
    if dense or reduction == "sum":
        return total(name, losses, scale, out=out)
    return _mean(name, losses, target, ignore_index, out)


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
    grad, logits = operands(name, grad=grad, logits=logits)
    target, dense = _target(name, logits, target)
    view = _three_axes(logits.shape)
    count = view[0] * view[2]
    scale = _options(name, reduction, label_smoothing, count)
    reduced = reduction != "none"
    expect_gradient(name, grad, reduction, _positions_shape(logits.shape))
    output = result(name, logits, logits.shape, out)
    shaped, written = logits.reshape(view), output.reshape(view)
    if dense:
        dense_cross_entropy_gradient[count](
            flat(grad), shaped, target.reshape(view), written, scale, reduced, label_smoothing
        )
        return output
    if reduction == "mean":
        grad = _mean(name, grad, target, ignore_index, None)
    cross_entropy_gradient[count](
        flat(grad), shaped, flat(target), written, reduced, ignore_index, label_smoothing
    )
    return output


def _mean(function: str, values: A, target: A, ignore_index: int, out: A | None) -> A:
    """Return the sum of values, divided by how many targets count."""
    output = result(function, values, (), out)
    count = part_count(target.size)
    counts = result(function, values, (count,), dtype=target.dtype)
    partial_counts[count](flat(target), counts, ignore_index)
    counted_mean[1](partials_of(function, values), counts, flat(output))
    return output


def _target(function: str, logits: A, target: A) -> tuple[A, bool]:
    """Return the target, contiguous, and whether it holds probabilities."""
    if not logits.shape:
        raise pw.LaunchError(f"{function}: `logits` takes at least one axis, the classes")
    dense = getattr(target, "dtype", None) == logits.dtype
    if dense:
        (target,) = operands(function, target=target)
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


def _three_axes(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the shape of logits as [N, C, S]."""
    if len(shape) == 1:
        return 1, shape[0], 1
    return shape[0], shape[1], math.prod(shape[2:])


def _positions_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of logits without the classes."""
    return () if len(shape) == 1 else (shape[0], *shape[2:])
