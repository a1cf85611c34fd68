"""Layer normalization, which gives each row of an array mean 0 and variance 1.

With μ and σ² the mean and variance of a row of n values, r = 1/√(σ² + ε) and x̂ = (x - μ) r, a layer
computes x̂ weight + bias. Kernels take the array as rows [R, n]; the functions on arrays take any
leading shape and return results beside their inputs, or in `out`. Arrays are f32 or f16, all of one
call the same, but statistics are always f32. The functions raise `LaunchError` (a TypeError and
ValueError) for other arrays, for arrays on different devices, and for shapes that do not fit.
"""

import pywgsl as pw
from pywgsl import Array, Array2D, Const, f32
from pywgsl.ops.arrays import A, T, expect_shape, flat, floats, operands, optional, outs, result
from pywgsl.ops.rows import (
    expect_statistics,
    loaded,
    or_unread,
    over_columns,
    over_rows,
    row_moments,
    rows_of,
    sized,
    sum_column_pairs,
)

# ----------------------------------------------------------------------------------- kernels


@pw.kernel
def layer_norm_forward(
    x: Array2D[T],
    weight: Array[T],
    bias: Array[T],
    output: Array2D[T],
    mean: Array[f32],
    rstd: Array[f32],
    eps: f32,
    scaled: Const[bool] = True,
    shifted: Const[bool] = True,
) -> None:
    """`output = x̂ weight + bias`; `mean = μ` and `rstd = r` of each row, for the gradient.

    Shapes: x and output [R, n]; weight and bias [n], read only if `scaled` and `shifted`; mean and
    rstd [R]. A workgroup computes one row; launch over R workgroups. O(R·n), the rows read three
    times. After meganeura's `layer_norm`, which computes σ² as mean(x²) - μ² and so is off by 0.2
    where the mean is 1000.
    """
    row = pw.workgroup_id.x
    mu, rest, variance = row_moments(x, row)
    r = pw.inverse_sqrt(variance + eps)
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        y = (f32(x[row, c]) - mu - rest) * r
        if scaled:
            y *= f32(weight[c])
        if shifted:
            y += f32(bias[c])
        output[row, c] = T(y)
    if pw.local_index == 0:
        mean[row] = mu + rest
        rstd[row] = r


@pw.kernel
def short_layer_norm_forward(
    x: Array2D[T],
    weight: Array[T],
    bias: Array[T],
    output: Array2D[T],
    mean: Array[f32],
    rstd: Array[f32],
    eps: f32,
    scaled: Const[bool] = True,
    shifted: Const[bool] = True,
    full: Const[bool] = False,
    items: Const[int] = 4,
) -> None:
    """`layer_norm_forward` of rows that are kept in registers, `items` columns an invocation.

    Shapes: as there; n is at most `items` times the size of a workgroup, and exactly so much if
    `full`. Launch over R workgroups. O(R·n), the rows read once.
    """
    row, lane, width = pw.workgroup_id.x, pw.local_index, pw.workgroup_size.x
    columns = x.shape[1]
    values = pw.local_array(f32, items)
    total = 0.0
    for k in pw.static_range(items):
        values[k] = loaded(x, row, lane + k * width, full)
        total += values[k]
    mu = pw.workgroup_sum(total) / f32(columns)
    sums = pw.vec2f(0.0)
    for k in pw.static_range(items):
        difference = values[k] - mu
        values[k] = difference if full or lane + k * width < columns else 0.0
        sums += pw.vec2f(values[k], values[k] * values[k])
    means = pw.workgroup_sum(sums) / f32(columns)
    r = pw.inverse_sqrt(max(means.y - means.x * means.x, 0.0) + eps)
    for k in pw.static_range(items):
        if full or lane + k * width < columns:
            scale = f32(weight[lane + k * width]) if scaled else 1.0
            shift = f32(bias[lane + k * width]) if shifted else 0.0
            output[row, lane + k * width] = T((values[k] - means.x) * r * scale + shift)
    if lane == 0:
        mean[row] = mu + means.x
        rstd[row] = r


@pw.kernel
def layer_norm_gradient(
    grad_output: Array2D[T],
    x: Array2D[T],
    mean: Array[f32],
    rstd: Array[f32],
    weight: Array[T],
    grad_input: Array2D[T],
    weight_partials: Array2D[f32],
    bias_partials: Array2D[f32],
    scaled: Const[bool] = True,
    full: Const[bool] = False,
    items: Const[int] = 4,
) -> None:
    """`layer_norm_grad_x`, and sums of some rows each of what `layer_norm_grad_wb` adds up.

    Row p of the partials is the sum over the rows p, p + P, … of x; `column_sum_pairs` of the
    partials are the gradients by weight and bias.

    Shapes: as `layer_norm_grad_x`; weight_partials and bias_partials [P, n], with P ≤ R. A
    workgroup computes the rows of one p and holds a row at a time in registers, `items` columns in
    each invocation, so n is at most `items` times the size of a workgroup, and exactly so much if
    `full`. Launch over P workgroups. O(R·n), everything read once.
    """
    part, lane, width = pw.workgroup_id.x, pw.local_index, pw.workgroup_size.x
    rows, columns = x.shape[0], x.shape[1]
    scale = pw.local_array(f32, items)
    normal = pw.local_array(f32, items)
    slope = pw.local_array(f32, items)
    grad_weight = pw.local_array(f32, items)
    grad_bias = pw.local_array(f32, items)
    for k in pw.static_range(items):
        scale[k] = f32(weight[min(lane + k * width, columns - 1)]) if scaled else 1.0
    for row in range(part, rows, weight_partials.shape[0]):
        mu, r = mean[row], rstd[row]
        sums = pw.vec2f(0.0)
        for k in pw.static_range(items):
            grad = loaded(grad_output, row, lane + k * width, full)
            normal[k] = (loaded(x, row, lane + k * width, full) - mu) * r
            slope[k] = grad * scale[k]
            sums += pw.vec2f(slope[k], slope[k] * normal[k])
            grad_weight[k] += grad * normal[k]
            grad_bias[k] += grad
        means = pw.workgroup_sum(sums) / f32(columns)
        for k in pw.static_range(items):
            if full or lane + k * width < columns:
                slope[k] -= means.x + normal[k] * means.y
                grad_input[row, lane + k * width] = T(r * slope[k])
    for k in pw.static_range(items):
        if full or lane + k * width < columns:
            weight_partials[part, lane + k * width] = grad_weight[k]
            bias_partials[part, lane + k * width] = grad_bias[k]


@pw.kernel
def layer_norm_grad_x(
    grad_output: Array2D[T],
    x: Array2D[T],
    mean: Array[f32],
    rstd: Array[f32],
    weight: Array[T],
    grad_input: Array2D[T],
    scaled: Const[bool] = True,
) -> None:
    """`grad_input = r (g - mean(g) - x̂ mean(g x̂))`, with g = grad_output weight, means over a row.

    Shapes: grad_output, x and grad_input [R, n]; mean (μ) and rstd (r) [R], which the forward pass
    saves; weight [n], read only if `scaled`. A workgroup computes one row; launch over R
    workgroups. O(R·n), the rows read twice.

    After `layer_norm_grad_x` of meganeura 0.2, which computes the same: one invocation a row, with
    μ and r computed anew from x and from the bits of ε in a u32, dy, x and weight in buffers called
    `src_a`, `src_b` and `bias`. A comment there divides mean(g) by n once more; the code does not.
    """
    row = pw.workgroup_id.x
    mu, r = mean[row], rstd[row]
    sums = pw.vec2f(0.0)
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        slope = f32(grad_output[row, c]) * (f32(weight[c]) if scaled else 1.0)
        sums += pw.vec2f(slope, slope * ((f32(x[row, c]) - mu) * r))
    means = pw.workgroup_sum(sums) / f32(x.shape[1])
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        slope = f32(grad_output[row, c]) * (f32(weight[c]) if scaled else 1.0)
        normal = (f32(x[row, c]) - mu) * r
        grad_input[row, c] = T(r * (slope - means.x - normal * means.y))


@pw.kernel(workgroup_size=(16, 16))
def layer_norm_grad_wb(
    grad_output: Array2D[T],
    x: Array2D[T],
    mean: Array[f32],
    rstd: Array[f32],
    grad_weight: Array[T],
    grad_bias: Array[T],
) -> None:
    """`grad_weight[c] = Σ_r grad_output[r, c] x̂[r, c]`, `grad_bias[c] = Σ_r grad_output[r, c]`.

    Shapes: grad_output and x [R, n], mean (μ) and rstd (r) [R], grad_weight and grad_bias [n]. A
    workgroup sums as many columns as it has invocations along x: those along y every so-manieth
    row, then one of them their sums. Launch over ⌈n / x⌉ workgroups. O(R·n), everything read once.

    After `layer_norm_grad_wb` of meganeura 0.2, which computes μ and r of every row anew for every
    column, O(R·n²), and promises both gradients in one array [2n], but writes only the first.
    """
    column = pw.global_id.x
    share = pw.vec2f(0.0)
    if column < x.shape[1]:
        for row in range(pw.local_id.y, x.shape[0], pw.workgroup_size.y):
            grad = f32(grad_output[row, column])
            share += pw.vec2f(grad * ((f32(x[row, column]) - mean[row]) * rstd[row]), grad)
    total = over_rows(share)
    if pw.local_id.y == 0 and column < x.shape[1]:
        grad_weight[column] = T(total.x)
        grad_bias[column] = T(total.y)


# --------------------------------------------------------------------------------- functions


def layer_norm(
    x: A,
    weight: A | None = None,
    bias: A | None = None,
    eps: float = 1e-5,
    *,
    out: tuple[A, A, A] | None = None,
) -> tuple[A, A, A]:
    """Return x̂ weight + bias, mean μ and rstd r, as `torch.native_layer_norm`. O(size of x).

    Args:
        x: of any shape with at least one axis. A row is its last axes, those that `weight` and
            `bias` have, or its last axis without both.
        weight: of the shape of a row, or None for ones.
        bias: of the shape of a row, or None for zeros.
        eps: ε, added to the variance.
        out: where to write the three results: of the shape of x, and twice (f32) that shape with 1
            for each axis of a row.
    """
    name = "layer_norm"
    (x,) = floats(name, x=x)
    weight, bias = optional(name, x, weight=weight, bias=bias)
    rows = rows_of(name, x, weight=weight, bias=bias)
    out_y, out_mean, out_rstd = outs(name, out, 3)
    y = result(name, x, x.shape, out_y, x.dtype)
    mean = result(name, x, rows.statistics, out_mean)
    rstd = result(name, x, rows.statistics, out_rstd)
    constants: dict[str, int] = {"scaled": weight is not None, "shifted": bias is not None}
    kernel = layer_norm_forward
    if rows.fits_registers:
        kernel, constants = short_layer_norm_forward, constants | rows.constants
    sized(kernel, rows.lanes)[pw.groups(rows.count)](
        rows.of(x),
        or_unread(weight, x),
        or_unread(bias, x),
        rows.of(y),
        flat(mean),
        flat(rstd),
        eps,
        **constants,
    )
    return y, mean, rstd


def layer_norm_backward(
    grad: A,
    x: A,
    mean: A,
    rstd: A,
    weight: A | None = None,
    *,
    out: tuple[A, A, A] | None = None,
) -> tuple[A, A, A]:
    """Return the gradients by x, weight and bias of `layer_norm(x, weight, bias)`. O(size of x).

    Args:
        grad: the gradient by the first result, of the shape of x.
        x: what `layer_norm` took.
        mean: its second result, in any shape.
        rstd: its third result, in any shape.
        weight: what it took; without it, the gradients by weight and bias are those by ones and
            zeros of the shape of x's last axis.
        out: where to write the three gradients.
    """
    name = "layer_norm_backward"
    grad, x = floats(name, grad=grad, x=x)
    mean, rstd = operands(name, mean=mean, rstd=rstd)
    (weight,) = optional(name, x, weight=weight)
    rows = rows_of(name, x, weight=weight)
    expect_shape(name, "grad", grad, x.shape)
    expect_statistics(name, rows.count, mean=mean, rstd=rstd)
    out_x, out_weight, out_bias = outs(name, out, 3)
    row = x.shape[-1:] if weight is None else weight.shape
    grad_x = result(name, x, x.shape, out_x, x.dtype)
    grad_weight = result(name, x, row, out_weight, x.dtype)
    grad_bias = result(name, x, row, out_bias, x.dtype)
    inputs = (rows.of(grad), rows.of(x), flat(mean), flat(rstd))
    by_x = (or_unread(weight, x), rows.of(grad_x))
    scaled = weight is not None
    if rows.fits_registers:
        by_weight, by_bias = (result(name, x, rows.partials) for _ in range(2))
        sized(layer_norm_gradient, rows.lanes)[pw.groups(rows.parts)](
            *inputs, *by_x, by_weight, by_bias, scaled=scaled, **rows.constants
        )
        sum_column_pairs(by_weight, by_bias, grad_weight, grad_bias)
    else:
        sized(layer_norm_grad_x, rows.lanes)[pw.groups(rows.count)](*inputs, *by_x, scaled=scaled)
        sums = (flat(grad_weight), flat(grad_bias))
        over_columns(layer_norm_grad_wb, rows.columns)(*inputs, *sums)
    return grad_x, grad_weight, grad_bias
