"""Losses of single elements and their gradients, as PyTorch has them; see `cross_entropies` too.

The functions on arrays take a `reduction`: `"mean"` and `"sum"` give an array without axes,
`"none"` the loss of every element. Backward functions take `grad`, the gradient by what the loss
returned: of the same shape as that, or any one number for a mean or sum. Results lie beside the
inputs, or in `out`. Sums are the same on every run.

All raise `LaunchError` (a TypeError and ValueError) if arrays are not f32, live on different
devices or differ in shape, and ValueError for another reduction.
"""

import pywgsl as pw
from pywgsl import Array, Const, Kernel, f32
from pywgsl.ops.arrays import A, elementwise, flat, operands, result, same_shape
from pywgsl.ops.cross_entropies import (
    cross_entropy,
    cross_entropy_backward,
    cross_entropy_forward,
    cross_entropy_gradient,
    dense_cross_entropy_forward,
    dense_cross_entropy_gradient,
)
from pywgsl.ops.reductions import Reduction, expect_gradient, reduction_scale, total

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_backward",
    "binary_cross_entropy_forward",
    "binary_cross_entropy_gradient",
    "cross_entropy",
    "cross_entropy_backward",
    "cross_entropy_forward",
    "cross_entropy_gradient",
    "dense_cross_entropy_forward",
    "dense_cross_entropy_gradient",
    "mse_loss",
    "mse_loss_backward",
    "mse_loss_forward",
    "mse_loss_gradient",
]

# The logarithm of a probability is cut here, and 1 / (p (1 - p)) at this denominator.
_LOG_FLOOR = -100.0
_DENOMINATOR_FLOOR = 1e-12


# ------------------------------------------------------------------------------ squared error


@pw.kernel
def mse_loss_forward(prediction: Array[f32], target: Array[f32], loss: Array[f32]) -> None:
    """`loss = (prediction - target)²`. Arrays [n], O(n). After `MseLoss` of RUMUS, CPU only."""
    i = pw.global_id.x
    difference = prediction[i] - target[i]
    loss[i] = difference * difference


@pw.kernel
def mse_loss_gradient(
    grad_output: Array[f32],
    prediction: Array[f32],
    target: Array[f32],
    grad_input: Array[f32],
    scale: f32,
    reduced: Const[bool] = False,
) -> None:
    """`grad_input = 2 scale (prediction - target) grad_output`.

    Arrays [n]; of grad_output [1] if `reduced`, the gradient by the sum or mean. O(n).
    """
    i = pw.global_id.x
    grad = grad_output[0 if reduced else i]
    grad_input[i] = 2.0 * scale * (prediction[i] - target[i]) * grad


def mse_loss(
    input: A,  # noqa: A002  # torch's name
    target: A,
    reduction: Reduction = "mean",
    *,
    out: A | None = None,
) -> A:
    """Return the squared error, as `torch.nn.functional.mse_loss`. O(n).

    Args:
        input: predictions, of any shape.
        target: what they should be, of the same shape.
        reduction: `"mean"`, `"sum"` or `"none"`.
        out: where to write the result.
    """
    return _loss("mse_loss", mse_loss_forward, input, target, reduction, out)


def mse_loss_backward(
    grad: A,
    input: A,  # noqa: A002  # torch's name
    target: A,
    reduction: Reduction = "mean",
    *,
    out: A | None = None,
) -> A:
    """Return the gradient by the input of `mse_loss`. O(n).

    Args:
        grad: the gradient by the loss: without axes, or of the input's shape for `"none"`.
        input: what `mse_loss` took.
        target: what `mse_loss` took.
        reduction: as in `mse_loss`.
        out: where to write the gradient, of the input's shape.
    """
    name = "mse_loss_backward"
    return _loss_backward(name, mse_loss_gradient, grad, input, target, reduction, out)


# ----------------------------------------------------------------------- binary cross entropy


@pw.kernel
def binary_cross_entropy_forward(
    probability: Array[f32], target: Array[f32], loss: Array[f32]
) -> None:
    """`loss = -t max(log(p), -100) - (1 - t) max(log(1 - p), -100)`, in nats. Arrays [n], O(n).

    p is the probability, 0…1, and t the target, 0…1. After `bce` of meganeura, which cuts p to
    1e-7…1-1e-7 and so ends at 16.1, and whose host binds the gradients of all elements and the
    loss to one buffer of a single element.
    """
    i = pw.global_id.x
    p, t = probability[i], target[i]
    # Not every device's log(0) is -inf.
    log_p = _LOG_FLOOR if p == 0.0 else max(pw.log(p), _LOG_FLOOR)
    log_q = _LOG_FLOOR if p == 1.0 else max(pw.log1p(-p), _LOG_FLOOR)
    loss[i] = (t - 1.0) * log_q - t * log_p


@pw.kernel
def binary_cross_entropy_gradient(
    grad_output: Array[f32],
    probability: Array[f32],
    target: Array[f32],
    grad_input: Array[f32],
    scale: f32,
    reduced: Const[bool] = False,
) -> None:
    """`grad_input = scale (p - t) / max(p (1 - p), 1e-12) grad_output`.

    Arrays [n]; of grad_output [1] if `reduced`, the gradient by the sum or mean. O(n). meganeura
    divides by p (1 - p) as it is, which is 0 at the ends.
    """
    i = pw.global_id.x
    p = probability[i]
    grad = grad_output[0 if reduced else i]
    slope = (p - target[i]) / max((1.0 - p) * p, _DENOMINATOR_FLOOR)
    grad_input[i] = scale * slope * grad


def binary_cross_entropy(
    input: A,  # noqa: A002  # torch's name
    target: A,
    reduction: Reduction = "mean",
    *,
    out: A | None = None,
) -> A:
    """Return the cross entropy of coins, as `torch.nn.functional.binary_cross_entropy`. O(n).

    Logarithms end at -100. Where PyTorch refuses an input outside of 0…1, the loss is nan here.

    Args:
        input: probabilities, 0…1, of any shape.
        target: probabilities or 0 and 1, of the same shape.
        reduction: `"mean"`, `"sum"` or `"none"`.
        out: where to write the result, in nats.
    """
    name = "binary_cross_entropy"
    return _loss(name, binary_cross_entropy_forward, input, target, reduction, out)


def binary_cross_entropy_backward(
    grad: A,
    input: A,  # noqa: A002  # torch's name
    target: A,
    reduction: Reduction = "mean",
    *,
    out: A | None = None,
) -> A:
    """Return the gradient by the input of `binary_cross_entropy`. O(n).

    Args:
        grad: the gradient by the loss: without axes, or of the input's shape for `"none"`.
        input: what `binary_cross_entropy` took.
        target: what `binary_cross_entropy` took.
        reduction: as in `binary_cross_entropy`.
        out: where to write the gradient, of the input's shape.
    """
    name = "binary_cross_entropy_backward"
    return _loss_backward(name, binary_cross_entropy_gradient, grad, input, target, reduction, out)


# ---------------------------------------------------------------------------------- reduction


def _loss(
    function: str, kernel: Kernel, prediction: A, target: A, reduction: Reduction, out: A | None
) -> A:
    """Return the losses of the elements that a kernel writes, or their sum or mean."""
    scale = reduction_scale(function, reduction, prediction.size)
    if reduction == "none":
        return elementwise(function, kernel, out, input=prediction, target=target)
    losses = elementwise(function, kernel, None, input=prediction, target=target)
    return total(function, losses, scale, out=out)


def _loss_backward(
    function: str,
    kernel: Kernel,
    grad: A,
    prediction: A,
    target: A,
    reduction: Reduction,
    out: A | None,
) -> A:
    """Return the gradients by the predictions that a kernel writes."""
    grad, prediction, target = operands(function, grad=grad, input=prediction, target=target)
    same_shape(function, input=prediction, target=target)
    scale = reduction_scale(function, reduction, prediction.size)
    expect_gradient(function, grad, reduction, prediction.shape)
    output = result(function, prediction, prediction.shape, out)
    arrays = map(flat, (grad, prediction, target, output))
    kernel[output.size](*arrays, scale, reduction != "none")
    return output
