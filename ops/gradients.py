"""What is done to gradients between the backward pass and the optimizer, all of it in place.

Kernels work on flat arrays [n] of f32, one invocation an element unless they say otherwise, O(n).
The functions end in an underscore, as PyTorch's do that change their arguments; they take an array
of any shape or a list of them. They raise `LaunchError` (a TypeError and ValueError) if arrays are
not f32 and contiguous, or do not fit each other.
"""

import pywgsl as pw
from pywgsl import Array, Const, f32, i32
from pywgsl.ops.arrays import A, Arrays, as_list, flat, in_place, result, update
from pywgsl.ops.reductions import part_count

# ----------------------------------------------------------------------------------- kernels


@pw.kernel
def gradient_clipping(grad: Array[f32], clip_value: f32) -> None:
    """`grad = grad` cut to -clip_value…clip_value, [n]; clip_value must not be negative.

    After `gradient_clipping_main` (gradient_operations of ruv-FANN), which stops after the first
    row of a weight's gradient: it counts the inputs of the layer, not the elements.
    """
    i = pw.global_id.x
    grad[i] = pw.clamp(grad[i], -clip_value, clip_value)


@pw.kernel
def l2_regularization(grad: Array[f32], weight: Array[f32], weight_decay: f32) -> None:
    """`grad += weight_decay · weight`, the gradient of weight_decay ‖weight‖² / 2. Arrays [n].

    After `l2_regularization_main` (gradient_operations of ruv-FANN), which stops after the first
    row.
    """
    i = pw.global_id.x
    grad[i] += weight_decay * weight[i]


@pw.kernel
def accumulate_gradients(accumulated: Array[f32], grad: Array[f32], scale: f32 = 1.0) -> None:
    """`accumulated = accumulated + scale · grad`. Arrays [n].

    After `accumulate_gradients` (adam_optimizer of ruv-FANN), which is not valid WGSL: it
    stores to a buffer that is only read, and it takes the mean of 32 whatever the batch.
    """
    i = pw.global_id.x
    accumulated[i] += scale * grad[i]


@pw.kernel
def scale_gradients(grad: Array[f32], factor: f32) -> None:
    """`grad = factor · grad`, [n]. After `scale_kernel` of RUMUS."""
    i = pw.global_id.x
    grad[i] = factor * grad[i]


@pw.kernel
def scale_by_array(
    grad: Array[f32], factor: Array[f32], skip_nonfinite: Const[bool] = False
) -> None:
    """`grad = factor[0] · grad`, [n]; the factor never leaves the device.

    If `skip_nonfinite`, a factor of 0 makes 0 of what is not finite too. After `broadcast_scale` of
    RUMUS.
    """
    i = pw.global_id.x
    if skip_nonfinite and factor[0] == 0.0:
        grad[i] = 0.0
    else:
        grad[i] = factor[0] * grad[i]


@pw.kernel
def drop_nonfinite(grad: Array[f32]) -> None:
    """`grad = grad` where it is finite, else 0, [n]."""
    i = pw.global_id.x
    if not pw.isfinite(grad[i]):
        grad[i] = 0.0


@pw.kernel
def fill(x: Array[f32], value: f32) -> None:
    """`x = value`, [n]."""
    x[pw.global_id.x] = value


@pw.kernel
def partial_squares(grad: Array[f32], partials: Array[f32], first: i32, count: i32) -> None:
    """`partials[first + p] = Σ grad²` over the part p of the elements, for each p < count.

    Shapes: grad [n], partials [at least first + count]. Part p is that of `sum_forward`. Launch
    over count workgroups. O(n) in all. After `reduce_sum_sq` of RUMUS, which is one workgroup for
    all elements.
    """
    part = pw.workgroup_id.x
    total = 0.0
    start = part * pw.workgroup_size.x + pw.local_index
    for i in range(start, grad.size, count * pw.workgroup_size.x):
        total += grad[i] * grad[i]
    total = pw.workgroup_sum(total)
    if pw.local_index == 0:
        partials[first + part] = total


@pw.kernel
def clip_coefficient(
    partials: Array[f32],
    norm: Array[f32],
    coefficient: Array[f32],
    max_norm: f32,
    skip_nonfinite: Const[bool] = False,
) -> None:
    """`norm = √Σ partials, coefficient = min(1, max_norm / (norm + 1e-6))`.

    Shapes: partials [P], norm and coefficient [1]. If `skip_nonfinite`, the coefficient of a norm
    that is not finite is 0. One workgroup. After `clip` of RUMUS, which computes this on the host
    after reading every norm back.
    """
    total = 0.0
    for p in range(pw.local_index, partials.size, pw.workgroup_size.x):
        total += partials[p]
    length = pw.sqrt(pw.workgroup_sum(total))
    if pw.local_index == 0:
        norm[0] = length
        if skip_nonfinite and not pw.isfinite(length):
            coefficient[0] = 0.0
        else:
            coefficient[0] = min(max_norm / (length + 1e-6), 1.0)


# --------------------------------------------------------------------------------- functions


def clip_grad_value_(grads: Arrays[A], clip_value: float) -> None:
    """Cut gradients to -clip_value…clip_value, as `torch.nn.utils.clip_grad_value_`. O(n).

    Raises:
        ValueError: clip_value is negative.
    """
    if clip_value < 0:
        raise ValueError(f"clip_grad_value_: `clip_value` is negative: {clip_value}")
    update("clip_grad_value_", gradient_clipping, clip_value, grads=grads)


def clip_grad_norm_(
    grads: Arrays[A],
    max_norm: float,
    *,
    skip_nonfinite: bool = False,
    out: A | None = None,
) -> A:
    """Scale gradients so that their common norm is at most max_norm. O(n).

    As `torch.nn.utils.clip_grad_norm_` with the Euclidean norm of all elements together. Nothing is
    read back from a device. A norm that is not finite makes the gradients nan or 0.

    Args:
        grads: the gradients, at least one array.
        max_norm: the norm that they may have.
        skip_nonfinite: make all gradients 0 if the norm is not finite.
        out: where to write the norm.

    Returns:
        The norm before scaling, an array without axes.
    """
    name = "clip_grad_norm_"
    arrays = [grad for (grad,) in as_list(name, grads=grads)]
    if not arrays:
        raise pw.LaunchError(f"{name}: `grads` takes at least one array")
    in_place(name, **{f"grads[{k}]": grad for k, grad in enumerate(arrays)})
    norm = result(name, arrays[0], (), out)
    counts = [part_count(grad.size) for grad in arrays]
    partials = result(name, arrays[0], (sum(counts),))
    first = 0
    for grad, count in zip(arrays, counts, strict=True):
        partial_squares[pw.groups(count)](flat(grad), partials, first, count)
        first += count
    coefficient = result(name, arrays[0], (1,))
    clip_coefficient[pw.groups(1)](partials, flat(norm), coefficient, max_norm, skip_nonfinite)
    for grad in arrays:
        scale_by_array[grad.size](flat(grad), coefficient, skip_nonfinite)
    return norm


def drop_nonfinite_(grads: Arrays[A]) -> None:
    """Make 0 of the elements of gradients that are nan or infinite. O(n)."""
    update("drop_nonfinite_", drop_nonfinite, grads=grads)


def add_weight_decay_(grads: Arrays[A], params: Arrays[A], weight_decay: float) -> None:
    """Add weight_decay · parameter to every gradient: `weight_decay` of PyTorch's SGD and Adam.

    Args:
        grads: the gradients.
        params: what they are the gradients by, in the same order.
        weight_decay: the factor.
    """
    update("add_weight_decay_", l2_regularization, weight_decay, grads=grads, params=params)


def accumulate_(accumulated: Arrays[A], grads: Arrays[A], scale: float = 1.0) -> None:
    """Add scale · gradient to every array of `accumulated`, as several backward passes do. O(n).

    Args:
        accumulated: where to add.
        grads: what to add, in the same order.
        scale: a factor, such as 1 / the number of passes.
    """
    update("accumulate_", accumulate_gradients, scale, accumulated=accumulated, grads=grads)


def scale_(grads: Arrays[A], factor: float) -> None:
    """Multiply every gradient by a factor. O(n)."""
    update("scale_", scale_gradients, factor, grads=grads)


def fill_(arrays: Arrays[A], value: float) -> None:
    """Set every element to a value; 0 forgets accumulated gradients. O(n)."""
    update("fill_", fill, value, arrays=arrays)
