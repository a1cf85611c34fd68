"""Group and instance normalization, which give channels of a sample mean 0 and variance 1.

With μ and σ² the mean and variance of the D values of a group of channels of one sample, r = 1/√(σ²
+ ε) and x̂ = (x - μ) r, a layer computes x̂ weight + bias, with a weight and a bias for each channel.
In instance normalization each channel is a group. Kernels take arrays [N, C, S]: samples, channels,
values of a channel in a sample. The functions on arrays take [N, C, …]; the other conventions are
those of `layer_norms`.
"""

import pywgsl as pw
from pywgsl import Array, Array2D, Array3D, Const, f32, i32
from pywgsl.ops.arrays import (
    A,
    T,
    W,
    expect_shape,
    flat,
    floats,
    operands,
    outs,
    result,
    same_device,
)
from pywgsl.ops.batch_norms import write_statistics
from pywgsl.ops.planes import Planes, channel_parameters, plane_sums, planes_of
from pywgsl.ops.rows import or_unread, sized, sum_column_pairs

# ----------------------------------------------------------------------------------- kernels


@pw.function
def group_moments(x: Array3D[T], row: i32):  # type: ignore[no-untyped-def]  # three f32
    """As `row_moments`, of a group [C / G, S] of planes in a whole workgroup of two axes."""
    channels, size = x.shape[1], x.shape[2]
    count = f32(channels * size)
    total = 0.0
    for c in range(pw.local_id.y, channels, pw.workgroup_size.y):
        for s in range(pw.local_id.x, size, pw.workgroup_size.x):
            total += f32(x[row, c, s])
    mean = pw.workgroup_sum(total) / count
    sums = pw.vec2f(0.0)
    for c in range(pw.local_id.y, channels, pw.workgroup_size.y):
        for s in range(pw.local_id.x, size, pw.workgroup_size.x):
            difference = f32(x[row, c, s]) - mean
            sums += pw.vec2f(difference, difference * difference)
    means = pw.workgroup_sum(sums) / count
    return mean, means.x, max(means.y - means.x * means.x, 0.0)


@pw.kernel(workgroup_size=(64, 4))
def group_norm_forward(
    x: Array3D[T],
    weight: Array[W],
    bias: Array[W],
    output: Array3D[T],
    mean: Array2D[f32],
    rstd: Array2D[f32],
    eps: f32,
    scaled: Const[bool] = True,
    shifted: Const[bool] = True,
) -> None:
    """`output = x̂ weight + bias`; `mean = μ` and `rstd = r` of each group, for the gradient.

    Shapes: x and output [N·G, C / G, S]; weight and bias [C], read only if `scaled` and `shifted`;
    mean and rstd [N, G]. A workgroup computes one group, its invocations along x the values of a
    channel, those along y several channels. Launch over N·G workgroups. O(N·C·S), the groups read
    three times. After meganeura's `group_norm`.
    """
    row = pw.workgroup_id.x
    channels, groups = x.shape[1], mean.shape[1]
    group = row % groups
    mu, rest, variance = group_moments(x, row)
    r = pw.inverse_sqrt(variance + eps)
    for c in range(pw.local_id.y, channels, pw.workgroup_size.y):
        scale = f32(weight[group * channels + c]) if scaled else 1.0
        shift = f32(bias[group * channels + c]) if shifted else 0.0
        for s in range(pw.local_id.x, x.shape[2], pw.workgroup_size.x):
            output[row, c, s] = T((f32(x[row, c, s]) - mu - rest) * r * scale + shift)
    if pw.local_index == 0:
        mean[row // groups, group] = mu + rest
        rstd[row // groups, group] = r


@pw.kernel
def group_norm_apply(
    x: Array3D[T],
    mean: Array2D[f32],
    rstd: Array2D[f32],
    weight: Array[W],
    bias: Array[W],
    output: Array3D[T],
    scaled: Const[bool] = True,
    shifted: Const[bool] = True,
    items: Const[int] = 1,
) -> None:
    """`output = (x - mean) rstd weight + bias`, the end of `group_norm_forward` for few groups.

    Shapes: x and output [N, C, S]; mean and rstd [N, G]; weight and bias [C], read only if `scaled`
    and `shifted`. An invocation computes `items` values, S / items apart; launch over (S / items,
    C, N). O(N·C·S).
    """
    c, n = pw.global_id.y, pw.global_id.z
    group = c // (x.shape[1] // mean.shape[1])
    scale = rstd[n, group] * (f32(weight[c]) if scaled else 1.0)
    shift = f32(bias[c]) if shifted else 0.0
    step = x.shape[2] // items
    for k in pw.static_range(items):
        value = f32(x[n, c, pw.global_id.x + k * step])
        output[n, c, pw.global_id.x + k * step] = T((value - mean[n, group]) * scale + shift)


@pw.kernel(workgroup_size=(16, 16))
def group_norm_means(
    weight_sums: Array2D[f32],
    bias_sums: Array2D[f32],
    weight: Array[W],
    dot_means: Array2D[f32],
    grad_means: Array2D[f32],
    size: i32,
    scaled: Const[bool] = True,
) -> None:
    """`dot_means = mean(g x̂)`, `grad_means = mean(g)` of each group, with g = grad_output weight.

    Shapes: weight_sums and bias_sums [N·K, C], sums over K parts of each channel of grad_output x̂
    and grad_output, as `plane_sums` writes them, with `size` = S values in a channel; weight [C],
    read only if `scaled`; dot_means and grad_means [N, G]. An invocation computes one group; launch
    over (G, N). O(N·K·C).
    """
    group, n = pw.global_id.x, pw.global_id.y
    channels = weight_sums.shape[1] // dot_means.shape[1]
    chunks = weight_sums.shape[0] // dot_means.shape[0]
    dot = 0.0
    total = 0.0
    for c in range(group * channels, (group + 1) * channels):
        scale = f32(weight[c]) if scaled else 1.0
        for row in range(n * chunks, (n + 1) * chunks):
            dot += scale * weight_sums[row, c]
            total += scale * bias_sums[row, c]
    count = f32(channels * size)
    dot_means[n, group] = dot / count
    grad_means[n, group] = total / count


@pw.kernel
def group_norm_grad_input(
    grad_output: Array3D[T],
    x: Array3D[T],
    mean: Array2D[f32],
    rstd: Array2D[f32],
    weight: Array[W],
    dot_means: Array2D[f32],
    grad_means: Array2D[f32],
    grad_input: Array3D[T],
    scaled: Const[bool] = True,
    items: Const[int] = 1,
) -> None:
    """`grad_input = r (g - mean(g) - x̂ mean(g x̂))`, with g = grad_output weight.

    The means are over a group.

    Shapes: grad_output, x and grad_input [N, C, S]; mean (μ) and rstd (r) [N, G], which the forward
    pass saves; weight [C], read only if `scaled`; dot_means and grad_means [N, G], as
    `group_norm_means` writes them. An invocation computes `items` values, S / items apart; launch
    over (S / items, C, N). O(N·C·S). After meganeura's `group_norm_grad_input`, which computes μ
    and r anew, and σ² as mean(x²) - μ², which has no digits left where μ is large.
    """
    c, n = pw.global_id.y, pw.global_id.z
    group = c // (x.shape[1] // mean.shape[1])
    mu, r = mean[n, group], rstd[n, group]
    scale = f32(weight[c]) if scaled else 1.0
    mean_grad, mean_dot = grad_means[n, group], dot_means[n, group]
    step = x.shape[2] // items
    for k in pw.static_range(items):
        slope = f32(grad_output[n, c, pw.global_id.x + k * step]) * scale
        normal = (f32(x[n, c, pw.global_id.x + k * step]) - mu) * r
        grad_input[n, c, pw.global_id.x + k * step] = T(r * (slope - mean_grad - normal * mean_dot))


# --------------------------------------------------------------------------------- functions


def group_norm(
    x: A,
    num_groups: int,
    weight: A | None = None,
    bias: A | None = None,
    eps: float = 1e-5,
    *,
    out: tuple[A, A, A] | None = None,
) -> tuple[A, A, A]:
    """Return x̂ weight + bias, mean μ and rstd r, as `torch.native_group_norm`. O(size of x).

    Args:
        x: [N, C, …].
        num_groups: in how many groups of channels that follow each other; a divisor of C.
        weight: [C], or None for ones.
        bias: [C], or None for zeros.
        eps: ε, added to the variance.
        out: where to write the three results: of the shape of x, and twice (f32) [N, num_groups].

    Raises:
        LaunchError: there is one sample, and groups of one value, which has no variance.
    """
    name = "group_norm"
    planes = planes_of(name, x)
    groups = _groups_of(name, planes, num_groups)
    if planes.samples * groups.channels * groups.size == 1:
        raise pw.LaunchError(f"{name}: groups of one value, of shape {x.shape}, have no variance")
    return _forward(name, x, planes, num_groups, weight, bias, eps, out)


def group_norm_backward(
    grad: A,
    x: A,
    mean: A,
    rstd: A,
    weight: A | None,
    num_groups: int,
    *,
    out: tuple[A, A, A] | None = None,
) -> tuple[A, A, A]:
    """Return the gradients by x, weight and bias of `group_norm`. O(size of x).

    Args:
        grad: the gradient by the first result, of the shape of x.
        x: what `group_norm` took.
        mean: its second result.
        rstd: its third result.
        weight: what it took; without it, the gradients by weight and bias are those by ones and
            zeros.
        num_groups: what it took.
        out: where to write the three gradients.

    Raises:
        LaunchError: on a GPU, N is more than 65535.
    """
    return _backward("group_norm_backward", grad, x, mean, rstd, weight, num_groups, out)


def instance_norm(
    x: A,
    weight: A | None = None,
    bias: A | None = None,
    eps: float = 1e-5,
    *,
    out: tuple[A, A, A] | None = None,
) -> tuple[A, A, A]:
    """Return x̂ weight + bias, mean and rstd, as `torch.nn.functional.instance_norm`. O(size of x).

    It is `group_norm` with a group for each channel, and keeps no running averages.

    Args:
        x: [N, C, …].
        weight: [C], or None for ones.
        bias: [C], or None for zeros.
        eps: ε, added to the variance.
        out: where to write the three results: of the shape of x, and twice (f32) [N, C].

    Raises:
        LaunchError: channels have one value, which has no variance.
    """
    name = "instance_norm"
    planes = planes_of(name, x)
    if planes.size == 1:
        raise pw.LaunchError(f"{name}: channels of one value, of shape {x.shape}, have no variance")
    return _forward(name, x, planes, planes.channels, weight, bias, eps, out)


def instance_norm_backward(
    grad: A, x: A, mean: A, rstd: A, weight: A | None = None, *, out: tuple[A, A, A] | None = None
) -> tuple[A, A, A]:
    """Return the gradients by x, weight and bias of `instance_norm`. O(size of x).

    Args:
        grad: the gradient by the first result, of the shape of x.
        x: what `instance_norm` took.
        mean: its second result.
        rstd: its third result.
        weight: what it took; without it, the gradients by weight and bias are those by ones and
            zeros.
        out: where to write the three gradients.

    Raises:
        LaunchError: on a GPU, N is more than 65535.
    """
    name = "instance_norm_backward"
    return _backward(name, grad, x, mean, rstd, weight, planes_of(name, x).channels, out)


def _groups_of(function: str, planes: Planes, groups: int) -> Planes:
    """Return planes as samples that are one group of channels each.

    Raises:
        LaunchError: the channels do not make so many groups.
    """
    if groups < 1 or planes.channels % groups:
        raise pw.LaunchError(
            f"{function}: {planes.channels} channels do not make {groups} groups of one size"
        )
    return Planes(planes.samples * groups, planes.channels // groups, planes.size)


def _forward(
    function: str,
    x: A,
    planes: Planes,
    num_groups: int,
    weight: A | None,
    bias: A | None,
    eps: float,
    out: tuple[A, A, A] | None,
) -> tuple[A, A, A]:
    (x,) = floats(function, x=x)
    weight, bias = channel_parameters(function, planes, x, weight=weight, bias=bias)
    groups = _groups_of(function, planes, num_groups)
    out_y, out_mean, out_rstd = outs(function, out, 3)
    y = result(function, x, x.shape, out_y, x.dtype)
    mean = result(function, x, (planes.samples, num_groups), out_mean)
    rstd = result(function, x, (planes.samples, num_groups), out_rstd)
    scale, shift = or_unread(weight, bias, x), or_unread(bias, weight, x)
    constants = {"scaled": weight is not None, "shifted": bias is not None}
    parts = Planes(1, groups.samples, groups.channels * groups.size)
    if parts.chunks == 1:
        kernel = sized(group_norm_forward, *groups.sample_tile)[pw.groups(groups.samples)]
        kernel(groups.of(x), scale, shift, groups.of(y), mean, rstd, eps, **constants)
    else:
        write_statistics(parts, x, flat(mean), flat(rstd), None, eps)
        kernel = sized(group_norm_apply, *planes.workgroup)[planes.launch]
        kernel(
            planes.of(x), mean, rstd, scale, shift, planes.of(y), **constants, items=planes.items
        )
    return y, mean, rstd


def _backward(
    function: str,
    grad: A,
    x: A,
    mean: A,
    rstd: A,
    weight: A | None,
    num_groups: int,
    out: tuple[A, A, A] | None,
) -> tuple[A, A, A]:
    grad, x = floats(function, grad=grad, x=x)
    mean, rstd = operands(function, mean=mean, rstd=rstd)
    planes = planes_of(function, x)
    _groups_of(function, planes, num_groups)
    statistics = (planes.samples, num_groups)
    (weight,) = channel_parameters(function, planes, x, weight=weight)
    same_device(function, x=x, mean=mean)
    expect_shape(function, "grad", grad, x.shape)
    expect_shape(function, "mean", mean, statistics)
    expect_shape(function, "rstd", rstd, statistics)
    out_x, out_weight, out_bias = outs(function, out, 3)
    dtype = x.dtype if weight is None else weight.dtype
    grad_x = result(function, x, x.shape, out_x, x.dtype)
    grad_weight = result(function, x, (planes.channels,), out_weight, dtype)
    grad_bias = result(function, x, (planes.channels,), out_bias, dtype)
    shape = (planes.samples * planes.chunks, planes.channels)
    sums = (result(function, x, shape), result(function, x, shape))
    launch = pw.groups(planes.channels, planes.samples, planes.chunks)
    sized(plane_sums, planes.channel_tile[0], 1)[launch](
        planes.of(grad), planes.of(x), mean, rstd, *sums, planes.items_at_once
    )
    sum_column_pairs(*sums, grad_weight, grad_bias)
    scale, scaled = or_unread(weight, mean), weight is not None
    means = (
        result(function, x, statistics),
        result(function, x, statistics),
    )
    group_norm_means[num_groups, planes.samples](*sums, scale, *means, planes.size, scaled=scaled)
    sized(group_norm_grad_input, *planes.workgroup)[planes.launch](
        planes.of(grad),
        planes.of(x),
        mean,
        rstd,
        scale,
        *means,
        planes.of(grad_x),
        scaled=scaled,
        items=planes.items,
    )
    return grad_x, grad_weight, grad_bias
