"""Kernels for neural networks: activations, layers, losses and optimizers, with their gradients.

Functions on arrays, importable from here, do what PyTorch does under the same name; they take and
return ndarrays or arrays of a device. The kernels that they launch are public too, in the module of
their subject: those that come from a collection of shaders keep the name they have there
(`sigmoid_gradient`), the others end in `_forward`, `_gradient` or `_update`. FANN's activations,
some of which have names that mean something else in PyTorch, are in `fann`.
"""

from typing import TYPE_CHECKING

from pywgsl.ops import fann
from pywgsl.ops.activations import (
    elu,
    elu_backward,
    hardtanh,
    hardtanh_backward,
    leaky_relu,
    leaky_relu_backward,
    relu,
    relu_backward,
    sigmoid,
    sigmoid_backward,
    softplus,
    softplus_backward,
    softsign,
    softsign_backward,
    tanh,
    tanh_backward,
)
from pywgsl.ops.cross_entropies import cross_entropy, cross_entropy_backward
from pywgsl.ops.elementwise import abs, add, gt, log, mul, neg, reciprocal, sub  # noqa: A004
from pywgsl.ops.gated import gelu, gelu_backward, silu, silu_backward, swiglu, swiglu_backward
from pywgsl.ops.gradients import (
    accumulate_,
    add_weight_decay_,
    clip_grad_norm_,
    clip_grad_value_,
    drop_nonfinite_,
    fill_,
    scale_,
)
from pywgsl.ops.linear import linear_backward, matmul
from pywgsl.ops.losses import (
    binary_cross_entropy,
    binary_cross_entropy_backward,
    mse_loss,
    mse_loss_backward,
)
from pywgsl.ops.normalization import (
    batch_norm,
    batch_norm_backward,
    group_norm,
    group_norm_backward,
    instance_norm,
    instance_norm_backward,
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
)
from pywgsl.ops.optimizers import adam_step, adamw_step, rmsprop_step, rprop_step, sgd_step
from pywgsl.ops.random import dropout, dropout_backward, normal_, uniform_
from pywgsl.ops.reductions import argmax, max, mean, min, norm, sum  # noqa: A004
from pywgsl.ops.softmax import log_softmax, log_softmax_backward, softmax_backward

# Each of these is a module that can be called as the function in it that has its name.
if TYPE_CHECKING:
    from pywgsl.ops.linear import linear
    from pywgsl.ops.softmax import softmax
else:
    from pywgsl.ops import linear, softmax

__all__ = [
    "abs",
    "accumulate_",
    "adam_step",
    "adamw_step",
    "add",
    "add_weight_decay_",
    "argmax",
    "batch_norm",
    "batch_norm_backward",
    "binary_cross_entropy",
    "binary_cross_entropy_backward",
    "clip_grad_norm_",
    "clip_grad_value_",
    "cross_entropy",
    "cross_entropy_backward",
    "drop_nonfinite_",
    "dropout",
    "dropout_backward",
    "elu",
    "elu_backward",
    "fann",
    "fill_",
    "gelu",
    "gelu_backward",
    "group_norm",
    "group_norm_backward",
    "gt",
    "hardtanh",
    "hardtanh_backward",
    "instance_norm",
    "instance_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "leaky_relu",
    "leaky_relu_backward",
    "linear",
    "linear_backward",
    "log",
    "log_softmax",
    "log_softmax_backward",
    "matmul",
    "max",
    "mean",
    "min",
    "mse_loss",
    "mse_loss_backward",
    "mul",
    "neg",
    "norm",
    "normal_",
    "reciprocal",
    "relu",
    "relu_backward",
    "rms_norm",
    "rms_norm_backward",
    "rmsprop_step",
    "rprop_step",
    "scale_",
    "sgd_step",
    "sigmoid",
    "sigmoid_backward",
    "silu",
    "silu_backward",
    "softmax",
    "softmax_backward",
    "softplus",
    "softplus_backward",
    "softsign",
    "softsign_backward",
    "sub",
    "sum",
    "swiglu",
    "swiglu_backward",
    "tanh",
    "tanh_backward",
    "uniform_",
]
