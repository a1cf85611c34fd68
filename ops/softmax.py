"""Softmax along any axis, its logarithm, and their gradients.

Kernels see arrays as [N, C, S] and go along C for each of the N·S lines: one workgroup a line, its
invocations C in strides. Arrays are f32 or f16, all of one call the same; sums are f32. As in
PyTorch, a line that is -inf throughout, or has +inf or nan, becomes nan. The functions on arrays
return results beside their inputs, or in `out`. They raise `LaunchError` (a TypeError and
ValueError) for other arrays, for arrays on different devices, and for shapes and axes that do not
fit.
"""

import pywgsl as pw
from pywgsl import Array3D, Const, f32, i32
from pywgsl.ops.arrays import A, T, floats, result, same_shape
from pywgsl.ops.axes import axis_of, lines_along
from pywgsl.ops.modules import make_callable

# ----------------------------------------------------------------------------------- kernels

# The lowest f32: below every logit but -inf, whose exponential it makes 0 rather than nan.
_LOWEST = -3.4028234663852886e38


@pw.function
def exponential_sum(x: Array3D[T], n: i32, s: i32):  # type: ignore[no-untyped-def]  # two f32
    """The largest element m of a line, and Σ exp(x - m), in a whole workgroup.

    The line is read once: an invocation scales the sum that it has whenever it meets an element
    larger than those before.
    """
    largest = _LOWEST
    total = 0.0
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        value = f32(x[n, c, s])
        ratio = pw.exp(-abs(value - largest))
        if value > largest:
            total = total * ratio + 1.0
            largest = value
        else:
            total += ratio
    common = pw.workgroup_max(largest)
    return common, pw.workgroup_sum(total * pw.exp(largest - common))


@pw.kernel
def softmax_forward(x: Array3D[T], output: Array3D[T]) -> None:
    """`output = exp(x - m) / Σ exp(x - m)`, with m the largest of a line.

    Shapes: [N, C, S]. Launch over N·S workgroups. O(N·C·S), x read twice. After
    `softmax_forward_kernel` of RUMUS, which reads x three times and takes every exponential twice.
    """
    n, s = pw.workgroup_id.x // x.shape[2], pw.workgroup_id.x % x.shape[2]
    largest, total = exponential_sum(x, n, s)
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        output[n, c, s] = T(pw.exp(f32(x[n, c, s]) - largest) / total)


@pw.kernel
def log_softmax_forward(x: Array3D[T], output: Array3D[T]) -> None:
    """`output = x - m - log Σ exp(x - m)`, with m the largest of a line.

    Shapes: [N, C, S]. Launch over N·S workgroups. O(N·C·S), x read twice. The logarithm of a
    rounded softmax, as meganeura has it, is -inf where this has digits left.
    """
    n, s = pw.workgroup_id.x // x.shape[2], pw.workgroup_id.x % x.shape[2]
    largest, total = exponential_sum(x, n, s)
    log_total = pw.log(total)
    for c in range(pw.local_index, x.shape[1], pw.workgroup_size.x):
        output[n, c, s] = T(f32(x[n, c, s]) - largest - log_total)


@pw.kernel
def softmax_gradient(grad_output: Array3D[T], output: Array3D[T], grad_input: Array3D[T]) -> None:
    """`grad_input = output (grad_output - Σ grad_output output)`, the sum over a line.

    Shapes: [N, C, S]. Launch over N·S workgroups. O(N·C·S). After `softmax_backward_kernel` of
    RUMUS.
    """
    n, s = pw.workgroup_id.x // output.shape[2], pw.workgroup_id.x % output.shape[2]
    part = 0.0
    for c in range(pw.local_index, output.shape[1], pw.workgroup_size.x):
        part += f32(grad_output[n, c, s]) * f32(output[n, c, s])
    total = pw.workgroup_sum(part)
    for c in range(pw.local_index, output.shape[1], pw.workgroup_size.x):
        slope = f32(grad_output[n, c, s]) - total
        grad_input[n, c, s] = T(f32(output[n, c, s]) * slope)


@pw.kernel
def short_softmax_gradient(
    grad_output: Array3D[T],
    output: Array3D[T],
    grad_input: Array3D[T],
    items: Const[int] = 4,
) -> None:
    """`softmax_gradient` of lines that are kept in registers, `items` elements an invocation.

    Shapes: [N, C, S], with C at most `items` times the size of a workgroup. Launch over N·S
    workgroups. O(N·C·S), everything read once.
    """
    n, s = pw.workgroup_id.x // output.shape[2], pw.workgroup_id.x % output.shape[2]
    grad = pw.local_array(f32, items)
    y = pw.local_array(f32, items)
    part = 0.0
    for k in pw.static_range(items):
        c = pw.local_index + k * pw.workgroup_size.x
        if c < output.shape[1]:
            grad[k] = f32(grad_output[n, c, s])
            y[k] = f32(output[n, c, s])
            part += grad[k] * y[k]
    total = pw.workgroup_sum(part)
    for k in pw.static_range(items):
        c = pw.local_index + k * pw.workgroup_size.x
        if c < output.shape[1]:
            grad_input[n, c, s] = T(y[k] * (grad[k] - total))


@pw.kernel
def log_softmax_gradient(
    grad_output: Array3D[T], output: Array3D[T], grad_input: Array3D[T]
) -> None:
    """`grad_input = grad_output - exp(output) Σ grad_output`, the sum over a line.

    Shapes: [N, C, S]. Launch over N·S workgroups. O(N·C·S).
    """
    n, s = pw.workgroup_id.x // output.shape[2], pw.workgroup_id.x % output.shape[2]
    part = 0.0
    for c in range(pw.local_index, output.shape[1], pw.workgroup_size.x):
        part += f32(grad_output[n, c, s])
    total = pw.workgroup_sum(part)
    for c in range(pw.local_index, output.shape[1], pw.workgroup_size.x):
        share = pw.exp(f32(output[n, c, s]))
        grad_input[n, c, s] = T(f32(grad_output[n, c, s]) - share * total)


# --------------------------------------------------------------------------------- functions


def softmax(x: A, dim: int = -1, *, out: A | None = None) -> A:
    """Return exp(x) / Σ exp(x), as `torch.nn.functional.softmax`. O(size of x).

    Args:
        x: of any shape.
        dim: the axis of the sum.
        out: where to write the result, of the shape of x.
    """
    return _forward("softmax", softmax_forward, x, dim, out)


def log_softmax(x: A, dim: int = -1, *, out: A | None = None) -> A:
    """Return x - log Σ exp(x), as `torch.nn.functional.log_softmax`. O(size of x).

    Args:
        x: of any shape.
        dim: the axis of the sum.
        out: where to write the result, of the shape of x.
    """
    return _forward("log_softmax", log_softmax_forward, x, dim, out)


def softmax_backward(grad: A, output: A, dim: int = -1, *, out: A | None = None) -> A:
    """Return the gradient by x of `softmax(x, dim)`. O(size of x).

    Args:
        grad: the gradient by the result.
        output: the result.
        dim: what `softmax` took.
        out: where to write the gradient.
    """
    name = "softmax_backward"
    return _backward(name, softmax_gradient, short_softmax_gradient, grad, output, dim, out)


def log_softmax_backward(grad: A, output: A, dim: int = -1, *, out: A | None = None) -> A:
    """Return the gradient by x of `log_softmax(x, dim)`. O(size of x).

    Args:
        grad: the gradient by the result.
        output: the result.
        dim: what `log_softmax` took.
        out: where to write the gradient.
    """
    return _backward("log_softmax_backward", log_softmax_gradient, None, grad, output, dim, out)


def _forward(function: str, kernel: pw.Kernel, x: A, dim: int, out: A | None) -> A:
    """Return what a kernel makes of the lines of x."""
    (x,) = floats(function, x=x)
    axis = axis_of(function, dim, x.ndim)
    lines = lines_along(x.shape, axis, axis)
    output = result(function, x, x.shape, out, x.dtype)
    lines.launch(kernel, lines.of(x), lines.of(output))
    return output


def _backward(
    function: str,
    kernel: pw.Kernel,
    short: pw.Kernel | None,
    grad: A,
    output: A,
    dim: int,
    out: A | None,
) -> A:
    """Return what a kernel, or one for short lines, makes of a gradient and a result."""
    grad, output = floats(function, grad=grad, output=output)
    same_shape(function, grad=grad, output=output)
    axis = axis_of(function, dim, output.ndim)
    lines = lines_along(output.shape, axis, axis)
    grad_input = result(function, output, output.shape, out, output.dtype)
    arrays = lines.of(grad), lines.of(output), lines.of(grad_input)
    if short is not None and lines.fits_registers:
        lines.launch(short, *arrays, lines.items)
    else:
        lines.launch(kernel, *arrays)
    return grad_input


make_callable(__name__)
