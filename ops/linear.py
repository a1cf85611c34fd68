"""Linear layers and their gradients, and matrix products.

A layer holds `weight` [out, in] and `bias` [out], as in PyTorch, and maps `x` [rows, in] to [rows,
out]. Kernels take two axes of rows and columns; the functions on arrays take any leading shape and
return results beside their inputs, or in `out`. They raise `LaunchError` (a TypeError and
ValueError) if arrays are not f32, live on different devices, or have shapes that do not fit.

`_product` is the one place that chooses a kernel for a product of matrices.
"""

import math

import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, Array3D, Const, f32
from pywgsl.ops.arrays import A, AnyArray, expect_shape, operands, outs, result
from pywgsl.ops.modules import make_callable

#: A workgroup computes so many rows and columns of a product.
TILE = 16

# ----------------------------------------------------------------------------------- kernels


@pw.kernel(workgroup_size=(16, 16))
def matrix_product(
    a: Array3D[f32],
    b: Array3D[f32],
    output: Array3D[f32],
    transpose_a: Const[bool] = False,
    transpose_b: Const[bool] = False,
) -> None:
    """`output[p, r, c] = Σ_k a[p, r, k] b[p, k, c]`, a batch of matrix products.

    Shapes: a [P, R, K], or [P, K, R] if `transpose_a`; b [P, K, C], or [P, C, K] if `transpose_b`;
    output [P, R, C]. A batch of one matrix is used for every p. An invocation sums one element in
    order; launch over (C, R, P). O(P·R·C·K). After `matmul_kernel` of RUMUS.
    """
    column, row, page = pw.global_id.x, pw.global_id.y, pw.global_id.z
    page_a = page if a.shape[0] > 1 else 0
    page_b = page if b.shape[0] > 1 else 0
    total = 0.0
    for k in range(a.shape[1] if transpose_a else a.shape[2]):
        left = a[page_a, k, row] if transpose_a else a[page_a, row, k]
        right = b[page_b, column, k] if transpose_b else b[page_b, k, column]
        total += left * right
    output[page, row, column] = total


@pw.kernel(workgroup_size=(TILE, TILE))
def tiled_matrix_product(
    a: Array3D[f32],
    b: Array3D[f32],
    output: Array3D[f32],
    transpose_a: Const[bool] = False,
    transpose_b: Const[bool] = False,
) -> None:
    """`output[p, r, c] = Σ_k a[p, r, k] b[p, k, c]`, a batch of matrix products.

    Shapes: a [P, R, K], or [P, K, R] if `transpose_a`; b [P, K, C], or [P, C, K] if `transpose_b`;
    output [P, R, C]. A batch of one matrix is used for every p. A workgroup computes a tile of
    16 by 16, whose parts of a and b it reads once into its memory; each element is summed in
    order, as `matrix_product` does. Launch over ⌈C/16⌉, ⌈R/16⌉, P workgroups. O(P·R·C·K).
    """
    x, y = pw.local_id.x, pw.local_id.y
    column, row, page = pw.global_id.x, pw.global_id.y, pw.workgroup_id.z
    first_column, first_row = column - x, row - y
    page_a = page if a.shape[0] > 1 else 0
    page_b = page if b.shape[0] > 1 else 0
    rows, columns = output.shape[1], output.shape[2]
    depth = a.shape[1] if transpose_a else a.shape[2]
    # One more than the tile is wide, so that a column's elements lie in different banks.
    left = pw.workgroup_array(f32, TILE, TILE + 1)
    right = pw.workgroup_array(f32, TILE, TILE + 1)
    total = 0.0
    for first in range(0, depth, TILE):
        # Neighbours in x read neighbours in memory, whichever way a matrix lies.
        value = 0.0
        if transpose_a:
            if first + y < depth and first_row + x < rows:
                value = a[page_a, first + y, first_row + x]
            left[x, y] = value
        else:
            if row < rows and first + x < depth:
                value = a[page_a, row, first + x]
            left[y, x] = value
        value = 0.0
        if transpose_b:
            if first_column + y < columns and first + x < depth:
                value = b[page_b, first_column + y, first + x]
            right[x, y] = value
        else:
            if first + y < depth and column < columns:
                value = b[page_b, first + y, column]
            right[y, x] = value
        pw.workgroup_barrier()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        pw.workgroup_barrier()
    if row < rows and column < columns:
        output[page, row, column] = total


@pw.kernel(workgroup_size=(16, 16))
def add_bias(bias: Array[f32], output: Array2D[f32]) -> None:
    """`output[b, o] += bias[o]`. Shapes: bias [O], output [B, O]; launch over (O, B). O(B·O)."""
    o, b = pw.global_id.x, pw.global_id.y
    output[b, o] += bias[o]


@pw.kernel(workgroup_size=(16, 16))
def linear_forward(
    x: Array2D[f32], weight: Array2D[f32], bias: Array[f32], output: Array2D[f32]
) -> None:
    """`output[b, o] = bias[o] + Σ_i x[b, i] weight[o, i]`.

    Shapes: x [B, I], weight [O, I], bias [O], output [B, O]. Launch over (O, B). O(B·I·O). After
    `matrix_vector_multiply` of ruv-FANN, which has no bias.
    """
    o, b = pw.global_id.x, pw.global_id.y
    total = bias[o]
    for i in range(x.shape[1]):
        total += x[b, i] * weight[o, i]
    output[b, o] = total


@pw.kernel(workgroup_size=(16, 16))
def weight_gradient(x: Array2D[f32], grad_output: Array2D[f32], grad_weight: Array2D[f32]) -> None:
    """`grad_weight[o, i] = Σ_b x[b, i] grad_output[b, o]`.

    Shapes: x [B, I], grad_output [B, O], grad_weight [O, I]. Launch over (I, O). O(B·I·O). After
    `weight_gradient_main` (gradient_operations of ruv-FANN), whose result is divided by B
    and multiplied by a learning rate: a step, not a gradient.
    """
    i, o = pw.global_id.x, pw.global_id.y
    total = 0.0
    for b in range(x.shape[0]):
        total += x[b, i] * grad_output[b, o]
    grad_weight[o, i] = total


@pw.kernel(workgroup_size=(16, 16))
def input_gradient(
    grad_output: Array2D[f32], weight: Array2D[f32], grad_input: Array2D[f32]
) -> None:
    """`grad_input[b, i] = Σ_o grad_output[b, o] weight[o, i]`.

    Shapes: grad_output [B, O], weight [O, I], grad_input [B, I]. Launch over (I, B). O(B·I·O).
    After `input_gradient_main` (gradient_operations of ruv-FANN), which computes the same, launched
    over B·I along one axis.
    """
    i, b = pw.global_id.x, pw.global_id.y
    total = 0.0
    for o in range(weight.shape[0]):
        total += grad_output[b, o] * weight[o, i]
    grad_input[b, i] = total


@pw.kernel
def bias_gradient(grad_output: Array2D[f32], grad_bias: Array[f32]) -> None:
    """`grad_bias[o] = Σ_b grad_output[b, o]`.

    Shapes: grad_output [B, O], grad_bias [O]. An invocation sums one column, in order of the rows;
    launch over O. O(B·O). Missing in the gradient_operations of ruv-FANN; after `sum_rows` of
    meganeura.
    """
    o = pw.global_id.x
    total = 0.0
    for b in range(grad_output.shape[0]):
        total += grad_output[b, o]
    grad_bias[o] = total


# ------------------------------------------------------------------------------------- layers


def linear(x: A, weight: A, bias: A | None = None, *, out: A | None = None) -> A:
    """Return x weightᵀ + bias, as `torch.nn.functional.linear`. O(rows·in·out).

    Args:
        x: [..., in].
        weight: [out, in].
        bias: [out], or nothing to add.
        out: where to write the result, [..., out].
    """
    x, weight = operands("linear", x=x, weight=weight)
    rows, features = _check_layer("linear", x, weight)
    output = result("linear", x, (*x.shape[:-1], features), out)
    if bias is not None:
        _, bias = operands("linear", x=x, bias=bias)
        expect_shape("linear", "bias", bias, (features,))
    _product(_page(x, rows), _page(weight, features), _page(output, rows), False, True)
    if bias is not None:
        add_bias[features, rows](bias, _rows(output, rows))
    return output


def linear_backward(
    grad: A, x: A, weight: A, *, out: tuple[A, A, A] | None = None
) -> tuple[A, A, A]:
    """Return the gradients by x, weight and bias of `linear(x, weight, bias)`. O(rows·in·out).

    Args:
        grad: the gradient by the result, [..., out].
        x: what `linear` took, [..., in].
        weight: what `linear` took, [out, in].
        out: where to write the three gradients.
    """
    name = "linear_backward"
    grad, x, weight = operands(name, grad=grad, x=x, weight=weight)
    rows, features = _check_layer(name, x, weight)
    expect_shape(name, "grad", grad, (*x.shape[:-1], features))
    out_x, out_weight, out_bias = outs(name, out, 3)
    grad_x = result(name, x, x.shape, out_x)
    grad_weight = result(name, x, weight.shape, out_weight)
    grad_bias = result(name, x, (features,), out_bias)
    _product(_page(grad, rows), _page(weight, features), _page(grad_x, rows), False, False)
    _product(_page(grad, rows), _page(x, rows), _page(grad_weight, features), True, False)
    bias_gradient[features](_rows(grad, rows), grad_bias)
    return grad_x, grad_weight, grad_bias


def _check_layer(function: str, x: A, weight: A) -> tuple[int, int]:
    """Return the number of rows of x, and the number of results for each."""
    if weight.ndim != 2:
        raise pw.LaunchError(
            f"{function}: `weight` takes [out, in], but has the shape {weight.shape}"
        )
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise pw.LaunchError(
            f"{function}: `weight` of shape {weight.shape} takes rows of {weight.shape[1]}, "
            f"but `x` has the shape {x.shape}"
        )
    return math.prod(x.shape[:-1]), weight.shape[0]


def _rows(array: A, rows: int) -> A:
    """Return a contiguous array as so many rows."""
    return array.reshape(rows, array.shape[-1])  # type: ignore[return-value]  # as `array`


def _page(array: AnyArray, rows: int) -> AnyArray:
    """Return a contiguous array as a batch of one matrix with so many rows."""
    return array.reshape(1, rows, array.shape[-1])


# ------------------------------------------------------------------------------------ products


def matmul(
    a: A, b: A, transpose_a: bool = False, transpose_b: bool = False, *, out: A | None = None
) -> A:
    """Return the matrix product, as `torch.matmul`. O(pages·R·K·C).

    Args:
        a: [..., R, K], or [K] for a row.
        b: [..., K, C], or [K] for a column.
        transpose_a: a is [..., K, R].
        transpose_b: b is [..., C, K].
        out: where to write the result, [..., R, C] without the axis of a row or column.

    Raises:
        LaunchError: the shapes do not fit. Leading shapes have to be equal, or one of them that of
            a single matrix.
    """
    a, b = operands("matmul", a=a, b=b)
    shape_a = _matrix_shape("a", a.shape, transpose_a, column=False)
    shape_b = _matrix_shape("b", b.shape, transpose_b, column=True)
    rows, inner = _swapped(shape_a[-2:], transpose_a)
    inner_b, columns = _swapped(shape_b[-2:], transpose_b)
    if inner != inner_b:
        raise pw.LaunchError(
            f"matmul: `a` of shape {a.shape} and `b` of shape {b.shape} do not fit: "
            f"rows of {inner} meet columns of {inner_b}"
        )
    lead = _common_lead(shape_a[:-2], shape_b[:-2])
    kept = (*((rows,) if a.ndim > 1 else ()), *((columns,) if b.ndim > 1 else ()))
    output = result("matmul", a, (*lead, *kept), out)
    _product(
        _pages(a, shape_a),
        _pages(b, shape_b),
        _pages(output, (*lead, rows, columns)),
        transpose_a,
        transpose_b,
    )
    return output


def _product(
    a: AnyArray, b: AnyArray, output: AnyArray, transpose_a: bool, transpose_b: bool
) -> None:
    """Write the products of two batches of matrices, each with three axes."""
    pages, rows, columns = output.shape
    if isinstance(output, np.ndarray) or output.device.kind == "numpy":
        # The host's caches do what tiles do for a GPU.
        matrix_product[columns, rows, pages](a, b, output, transpose_a, transpose_b)
        return
    tiles = pw.groups(-(-columns // TILE), -(-rows // TILE), pages)
    tiled_matrix_product[tiles](a, b, output, transpose_a, transpose_b)


def _matrix_shape(
    name: str, shape: tuple[int, ...], transposed: bool, *, column: bool
) -> tuple[int, ...]:
    """Return the shape of an argument as matrices: a vector is a row, or a column."""
    if not shape:
        raise pw.LaunchError(f"matmul: `{name}` takes at least one axis")
    if len(shape) > 1:
        return shape
    return _swapped((*shape, 1) if column else (1, *shape), transposed)


def _swapped(shape: tuple[int, ...], transposed: bool) -> tuple[int, ...]:
    return shape[::-1] if transposed else shape


def _common_lead(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the leading shape of a product of matrices with these leading shapes."""
    if a != b and math.prod(a) != 1 and math.prod(b) != 1:
        raise pw.LaunchError(
            f"matmul: the leading shapes {a} and {b} differ, and neither is of a single matrix"
        )
    return np.broadcast_shapes(a, b)


def _pages(array: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Return a contiguous array as a batch of matrices, given its shape as matrices."""
    return array.reshape(math.prod(shape[:-2]), *shape[-2:])


make_callable(__name__)
