"""RMS normalization, which divides each row of an array by the root of its mean square.

With r = 1/√(mean(x²) + ε) over a row of n values, a layer computes x r weight. Kernels take the
array as rows [R, n]; the conventions are those of `layer_norms`.
"""

import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, Const, f32
from pywgsl.ops.arrays import A, T, expect_shape, flat, floats, operands, optional, outs, result
from pywgsl.ops.rows import (
    expect_statistics,
    loaded,
    or_unread,
    over_columns,
    rows_of,
    sized,
    sum_columns,
)

#: ε where a call gives none: that of the type that is computed in.
EPSILON = float(np.finfo(np.float32).eps)

# ----------------------------------------------------------------------------------- kernels


@pw.kernel
def rms_norm_forward(
    x: Array2D[T],
    weight: Array[T],
    output: Array2D[T],
    rstd: Array[f32],
    eps: f32,
    scaled: Const[bool] = True,
) -> None:
    """`output = x r weight`; `rstd = r` of each row, for the gradient.

    Shapes: x and output [R, n]; weight [n], read only if `scaled`; rstd [R]. A workgroup computes
    one row; launch over R workgroups. O(R·n), the rows read twice. After meganeura's `rms_norm`.
    """
    row = pw.workgroup_id.x
    total = 0.0
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        value = f32(x[row, c])
        total += value * value
    r = pw.inverse_sqrt(pw.workgroup_sum(total) / f32(x.shape[1]) + eps)
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        output[row, c] = T(f32(x[row, c]) * r * (f32(weight[c]) if scaled else 1.0))
    if pw.local_index == 0:
        rstd[row] = r


@pw.kernel
def short_rms_norm_forward(
    x: Array2D[T],
    weight: Array[T],
    output: Array2D[T],
    rstd: Array[f32],
    eps: f32,
    scaled: Const[bool] = True,
    full: Const[bool] = False,
    items: Const[int] = 4,
) -> None:
    """`rms_norm_forward` of rows that are kept in registers, `items` columns an invocation.

    Shapes: as there; n is at most `items` times the size of a workgroup, and exactly so much if
    `full`. Launch over R workgroups. O(R·n), the rows read once.
    """
    row, lane, width = pw.workgroup_id.x, pw.local_index, pw.workgroup_size.x
    values = pw.local_array(f32, items)
    total = 0.0
    for k in pw.static_range(items):
        values[k] = loaded(x, row, lane + k * width, full)
        total += values[k] * values[k]
    r = pw.inverse_sqrt(pw.workgroup_sum(total) / f32(x.shape[1]) + eps)
    for k in pw.static_range(items):
        if full or lane + k * width < x.shape[1]:
            scale = f32(weight[lane + k * width]) if scaled else 1.0
            output[row, lane + k * width] = T(values[k] * r * scale)
    if lane == 0:
        rstd[row] = r


@pw.kernel
def rms_norm_gradient(
    grad_output: Array2D[T],
    x: Array2D[T],
    rstd: Array[f32],
    weight: Array[T],
    grad_input: Array2D[T],
    weight_partials: Array2D[f32],
    scaled: Const[bool] = True,
    full: Const[bool] = False,
    items: Const[int] = 4,
) -> None:
    """`rms_norm_grad_x`, and sums of some rows each of what `rms_norm_grad_w` adds up.

    Row p of the partials is the sum over the rows p, p + P, … of x; `column_sums` of the partials
    is the gradient by weight.

    Shapes: as `rms_norm_grad_x`; weight_partials [P, n], with P ≤ R. A workgroup computes the rows
    of one p and holds a row at a time in registers, `items` columns in each invocation, so n is at
    most `items` times the size of a workgroup, and exactly so much if `full`. Launch over P
    workgroups. O(R·n), everything read once.
    """
    part, lane, width = pw.workgroup_id.x, pw.local_index, pw.workgroup_size.x
    rows, columns = x.shape[0], x.shape[1]
    scale = pw.local_array(f32, items)
    normal = pw.local_array(f32, items)
    slope = pw.local_array(f32, items)
    grad_weight = pw.local_array(f32, items)
    for k in pw.static_range(items):
        scale[k] = f32(weight[min(lane + k * width, columns - 1)]) if scaled else 1.0
    for row in range(part, rows, weight_partials.shape[0]):
        r = rstd[row]
        total = 0.0
        for k in pw.static_range(items):
            grad = loaded(grad_output, row, lane + k * width, full)
            normal[k] = loaded(x, row, lane + k * width, full) * r
            slope[k] = grad * scale[k]
            total += slope[k] * normal[k]
            grad_weight[k] += grad * normal[k]
        mean = pw.workgroup_sum(total) / f32(columns)
        for k in pw.static_range(items):
            if full or lane + k * width < columns:
                grad_input[row, lane + k * width] = T(r * (slope[k] - normal[k] * mean))
    for k in pw.static_range(items):
        if full or lane + k * width < columns:
            weight_partials[part, lane + k * width] = grad_weight[k]


@pw.kernel
def rms_norm_grad_x(
    grad_output: Array2D[T],
    x: Array2D[T],
    rstd: Array[f32],
    weight: Array[T],
    grad_input: Array2D[T],
    scaled: Const[bool] = True,
) -> None:
    """`grad_input = r (g - x r mean(g x r))`, with g = grad_output weight, the mean over a row.

    Shapes: grad_output, x and grad_input [R, n]; rstd (r) [R], which the forward pass saves; weight
    [n], read only if `scaled`. A workgroup computes one row; launch over R workgroups. O(R·n), the
    rows read twice.

    After meganeura's `rms_norm_grad_x`, which computes r anew, and in which invocations still read
    the sum of one reduction when others write the next: a race, and nan on some devices.
    """
    row = pw.workgroup_id.x
    r = rstd[row]
    total = 0.0
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        slope = f32(grad_output[row, c]) * (f32(weight[c]) if scaled else 1.0)
        total += slope * (f32(x[row, c]) * r)
    mean = pw.workgroup_sum(total) / f32(x.shape[1])
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        slope = f32(grad_output[row, c]) * (f32(weight[c]) if scaled else 1.0)
        grad_input[row, c] = T(r * (slope - f32(x[row, c]) * r * mean))


@pw.kernel(workgroup_size=(16, 16))
def rms_norm_grad_w(
    grad_output: Array2D[T], x: Array2D[T], rstd: Array[f32], grad_weight: Array[T]
) -> None:
    """`grad_weight[c] = Σ_r grad_output[r, c] x[r, c] rstd[r]`.

    Shapes: grad_output and x [R, n], rstd [R], grad_weight [n]. A workgroup sums as many columns as
    it has invocations along x: those along y every so-manieth row, then one of them their sums.
    Launch over ⌈n / x⌉ workgroups. O(R·n), everything read once.

    After meganeura's `rms_norm_grad_w`, in which every workgroup computes r of every row anew,
    O(R·n²) with few invocations.
    """
    parts = pw.workgroup_array(f32, pw.workgroup_size.y, pw.workgroup_size.x)
    column, lane, part = pw.global_id.x, pw.local_id.x, pw.local_id.y
    total = 0.0
    if column < x.shape[1]:
        for row in range(part, x.shape[0], pw.workgroup_size.y):
            total += f32(grad_output[row, column]) * (f32(x[row, column]) * rstd[row])
    parts[part, lane] = total
    pw.workgroup_barrier()
    if part == 0 and column < x.shape[1]:
        for other in range(1, pw.workgroup_size.y):
            total += parts[other, lane]
        grad_weight[column] = T(total)


# --------------------------------------------------------------------------------- functions


def rms_norm(
    x: A, weight: A | None = None, eps: float | None = None, *, out: tuple[A, A] | None = None
) -> tuple[A, A]:
    """Return x r weight and r, as `torch.nn.functional.rms_norm` and its saved rstd. O(size of x).

    Args:
        x: of any shape with at least one axis. A row is its last axes, those that `weight` has, or
            its last axis without it.
        weight: of the shape of a row, or None for ones.
        eps: ε, added to the mean square; without it `EPSILON`, 2⁻²³.
        out: where to write the results: of the shape of x, and (f32) that shape with 1 for each
            axis of a row.
    """
    name = "rms_norm"
    (x,) = floats(name, x=x)
    (weight,) = optional(name, x, weight=weight)
    rows = rows_of(name, x, weight=weight)
    out_y, out_rstd = outs(name, out, 2)
    y = result(name, x, x.shape, out_y, x.dtype)
    rstd = result(name, x, rows.statistics, out_rstd)
    kernel, constants = rms_norm_forward, {}
    if rows.fits_registers:
        kernel, constants = short_rms_norm_forward, rows.constants
    sized(kernel, rows.lanes)[pw.groups(rows.count)](
        rows.of(x),
        or_unread(weight, x),
        rows.of(y),
        flat(rstd),
        EPSILON if eps is None else eps,
        scaled=weight is not None,
        **constants,
    )
    return y, rstd


def rms_norm_backward(
    grad: A, x: A, rstd: A, weight: A | None = None, *, out: tuple[A, A] | None = None
) -> tuple[A, A]:
    """Return the gradients by x and weight of `rms_norm(x, weight)`. O(size of x).

    Args:
        grad: the gradient by the first result, of the shape of x.
        x: what `rms_norm` took.
        rstd: its second result, in any shape.
        weight: what it took; without it, the gradient by weight is that by ones of the shape of x's
            last axis.
        out: where to write the gradients.
    """
    name = "rms_norm_backward"
    grad, x = floats(name, grad=grad, x=x)
    (rstd,) = operands(name, rstd=rstd)
    (weight,) = optional(name, x, weight=weight)
    rows = rows_of(name, x, weight=weight)
    expect_shape(name, "grad", grad, x.shape)
    expect_statistics(name, rows.count, rstd=rstd)
    out_x, out_weight = outs(name, out, 2)
    row = x.shape[-1:] if weight is None else weight.shape
    grad_x = result(name, x, x.shape, out_x, x.dtype)
    grad_weight = result(name, x, row, out_weight, x.dtype)
    inputs = (rows.of(grad), rows.of(x), flat(rstd))
    by_x = (or_unread(weight, x), rows.of(grad_x))
    scaled = weight is not None
    if rows.fits_registers:
        by_weight = result(name, x, rows.partials)
        sized(rms_norm_gradient, rows.lanes)[pw.groups(rows.parts)](
            *inputs, *by_x, by_weight, scaled=scaled, **rows.constants
        )
        sum_columns(by_weight, grad_weight)
    else:
        sized(rms_norm_grad_x, rows.lanes)[pw.groups(rows.count)](*inputs, *by_x, scaled=scaled)
        over_columns(rms_norm_grad_w, rows.columns)(*inputs, flat(grad_weight))
    return grad_x, grad_weight
