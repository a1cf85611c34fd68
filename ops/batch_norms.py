"""Batch normalization, which gives each channel of a batch mean 0 and variance 1.

With μ and σ² the mean and variance of a channel over all samples, or in evaluation running averages
of them, r = 1/√(σ² + ε) and x̂ = (x - μ) r, a layer computes x̂ weight + bias. The functions take [N,
C], [N, C, L], [N, C, H, W] or more axes, and return results beside their inputs, or in `out`.
Arrays are f32 or f16, a layer's parameters and running averages not necessarily as x; saved
statistics are always f32. The functions raise `LaunchError` (a TypeError and ValueError) for other
arrays, for arrays on different devices, and for shapes that do not fit.
"""

import math

import pywgsl as pw
from pywgsl.ops.arrays import (
    FLOAT,
    A,
    expect_shape,
    flat,
    floats,
    floats_in_place,
    operands,
    outs,
    result,
    same_device,
)
from pywgsl.ops.batch_norm_kernels import (
    batch_norm_column_gradient_sums,
    batch_norm_column_moments,
    batch_norm_forward,
    batch_norm_grad_input,
    batch_norm_moments,
    batch_norm_running_statistics,
    batch_norm_statistics,
)
from pywgsl.ops.planes import Planes, channel_parameters, plane_sums, planes_of
from pywgsl.ops.rows import or_unread, over_columns, sized, sum_column_pairs


def batch_norm(
    x: A,
    weight: A | None,
    bias: A | None,
    running_mean: A | None,
    running_var: A | None,
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    out: tuple[A, A, A] | None = None,
) -> tuple[A, A, A]:
    """Return x̂ weight + bias, mean μ and r, as `torch.native_batch_norm`. O(size of x).

    In training, the statistics are those of x, and the running averages move towards them by
    `momentum`, the variance as divided by one less than the number of values. In evaluation they
    are the running averages, and the second and third result have no elements.

    Args:
        x: [N, C, …].
        weight: [C], or None for ones.
        bias: [C], or None for zeros.
        running_mean: [C], updated in place in training; or None to keep no averages.
        running_var: as `running_mean`.
        training: whether to take the statistics of x.
        momentum: the share of x in the running averages.
        eps: ε, added to the variance.
        out: where to write the three results: of the shape of x, and twice (f32) [C].

    Raises:
        LaunchError: there is one value per channel in training, which has no variance; or there are
            no running averages in evaluation.
    """
    name = "batch_norm"
    (x,) = floats(name, x=x)
    planes = planes_of(name, x)
    weight, bias = channel_parameters(name, planes, x, weight=weight, bias=bias)
    running = _running(name, planes, x, running_mean, running_var)
    if training and planes.samples * planes.size == 1:
        raise pw.LaunchError(f"{name}: one value per channel, of shape {x.shape}, has no variance")
    saved = (planes.channels if training else 0,)
    out_y, out_mean, out_invstd = outs(name, out, 3)
    y = result(name, x, x.shape, out_y, x.dtype)
    save_mean = result(name, x, saved, out_mean)
    save_invstd = result(name, x, saved, out_invstd)
    if training:
        mean, invstd = save_mean, save_invstd
        write_statistics(planes, x, mean, invstd, running, eps, momentum)
    else:
        mean, invstd = _running_statistics(name, x, running, eps)
    sized(batch_norm_forward, *planes.workgroup)[planes.launch](
        planes.of(x),
        mean,
        invstd,
        or_unread(weight, bias, mean),
        or_unread(bias, weight, mean),
        planes.of(y),
        scaled=weight is not None,
        shifted=bias is not None,
        items=planes.items,
    )
    return y, save_mean, save_invstd


def batch_norm_backward(
    grad: A,
    x: A,
    weight: A | None,
    running_mean: A | None,
    running_var: A | None,
    save_mean: A | None,
    save_invstd: A | None,
    training: bool = True,
    eps: float = 1e-5,
    *,
    out: tuple[A, A, A] | None = None,
) -> tuple[A, A, A]:
    """Return the gradients by x, weight and bias of `batch_norm`. O(size of x).

    Args:
        grad: the gradient by the first result, of the shape of x.
        x: what `batch_norm` took.
        weight: what it took; without it, the gradients by weight and bias are those by ones and
            zeros.
        running_mean: what it took; used in evaluation.
        running_var: what it took; used in evaluation.
        save_mean: its second result; used in training.
        save_invstd: its third result; used in training.
        training: what it took.
        eps: what it took; used in evaluation.
        out: where to write the three gradients.

    Raises:
        LaunchError: the statistics that it uses are missing.
    """
    name = "batch_norm_backward"
    grad, x = floats(name, grad=grad, x=x)
    planes = planes_of(name, x)
    expect_shape(name, "grad", grad, x.shape)
    (weight,) = channel_parameters(name, planes, x, weight=weight)
    if training:
        mean, invstd = _saved(name, planes, x, save_mean, save_invstd)
    else:
        running = _running(name, planes, x, running_mean, running_var)
        mean, invstd = _running_statistics(name, x, running, eps)
    out_x, out_weight, out_bias = outs(name, out, 3)
    dtype = x.dtype if weight is None else weight.dtype
    grad_x = result(name, x, x.shape, out_x, x.dtype)
    grad_weight = result(name, x, (planes.channels,), out_weight, dtype)
    grad_bias = result(name, x, (planes.channels,), out_bias, dtype)
    by_weight, by_bias = _gradient_sums(planes, grad, x, mean, invstd)
    totals = _added_up(by_weight, by_bias, grad_weight, grad_bias)
    sized(batch_norm_grad_input, *planes.workgroup)[planes.launch](
        planes.of(grad),
        planes.of(x),
        mean,
        invstd,
        or_unread(weight, mean),
        *totals,
        planes.of(grad_x),
        scaled=weight is not None,
        training=training,
        items=planes.items,
    )
    return grad_x, grad_weight, grad_bias


def _running(
    function: str, planes: Planes, x: A, mean: A | None, var: A | None
) -> tuple[A, A] | None:
    """Return the running averages, if there are any.

    Raises:
        LaunchError: there is one without the other, or they do not fit x.
    """
    if mean is None and var is None:
        return None
    if mean is None or var is None:
        raise pw.LaunchError(f"{function}: `running_mean` and `running_var` go together")
    for name, array in {"running_mean": mean, "running_var": var}.items():
        floats(function, **{name: array})
        same_device(function, x=x, **{name: array})
        expect_shape(function, name, array, (planes.channels,))
    floats_in_place(function, running_mean=mean, running_var=var)
    return mean, var


def write_statistics(
    planes: Planes,
    x: A,
    mean: A,
    invstd: A,
    running: tuple[A, A] | None,
    eps: float,
    momentum: float = 0.0,
) -> None:
    """Write the statistics of x, and let the running averages follow them."""
    if x.size == 0:
        mean.fill(math.nan)
        invstd.fill(math.nan)
        return
    if planes.size == 1:
        parts = planes.parts_of_columns
        moments = result("batch_norm", x, (3, parts, planes.channels))
        over_columns(batch_norm_column_moments, planes.channels, parts)(planes.as_rows(x), moments)
    else:
        moments = result("batch_norm", x, (3, planes.parts * planes.chunks, planes.channels))
        kernel = sized(batch_norm_moments, *planes.channel_tile)
        kernel[planes.groups](planes.of(x), moments, planes.items_at_once)
    unread = (flat(moments), flat(moments))
    batch_norm_statistics[pw.groups(planes.channels)](
        moments, mean, invstd, *(running or unread), eps, momentum, tracked=running is not None
    )


def _gradient_sums(planes: Planes, grad: A, x: A, mean: A, invstd: A) -> tuple[A, A]:
    """Return sums of some samples each whose sums are the gradients by weight and bias."""
    one = planes.size == 1
    parts = planes.parts_of_columns if one else planes.parts * planes.chunks
    shape = (parts, planes.channels)
    by_weight, by_bias = (result("batch_norm_backward", x, shape) for _ in range(2))
    if one:
        over_columns(batch_norm_column_gradient_sums, planes.channels, parts)(
            planes.as_rows(grad), planes.as_rows(x), mean, invstd, by_weight, by_bias
        )
    else:
        statistics = (mean.reshape(1, planes.channels), invstd.reshape(1, planes.channels))
        kernel, items = sized(plane_sums, *planes.channel_tile), planes.items_at_once
        kernel[planes.groups](planes.of(grad), planes.of(x), *statistics, by_weight, by_bias, items)
    return by_weight, by_bias


def _running_statistics(
    function: str, x: A, running: tuple[A, A] | None, eps: float
) -> tuple[A, A]:
    """Return the mean and 1/√(σ² + ε) that stand for x's in evaluation."""
    if running is None:
        raise pw.LaunchError(f"{function}: evaluation takes `running_mean` and `running_var`")
    channels = running[0].size
    mean, invstd = (result(function, x, (channels,)) for _ in range(2))
    batch_norm_running_statistics[channels](*running, mean, invstd, eps)
    return mean, invstd


def _saved(function: str, planes: Planes, x: A, mean: A | None, invstd: A | None) -> tuple[A, A]:
    """Return the statistics that the forward pass in training saved.

    Raises:
        LaunchError: they are missing, or do not fit x.
    """
    if mean is None or invstd is None:
        raise pw.LaunchError(f"{function}: training takes `save_mean` and `save_invstd`")
    mean, invstd = operands(function, save_mean=mean, save_invstd=invstd)
    same_device(function, x=x, save_mean=mean)
    expect_shape(function, "save_mean", mean, (planes.channels,))
    expect_shape(function, "save_invstd", invstd, (planes.channels,))
    return mean, invstd


def _added_up(weight_partials: A, bias_partials: A, grad_weight: A, grad_bias: A) -> tuple[A, A]:
    """Write the sums over the columns of partials; return them in f32."""
    sum_column_pairs(weight_partials, bias_partials, grad_weight, grad_bias)
    if grad_weight.dtype == FLOAT:
        return grad_weight, grad_bias
    shape = grad_weight.shape
    by_weight, by_bias = (result("batch_norm_backward", weight_partials, shape) for _ in range(2))
    sum_column_pairs(weight_partials, bias_partials, by_weight, by_bias)
    return by_weight, by_bias
