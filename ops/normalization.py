"""Normalization layers and their gradients, from the modules of their kinds."""

from pywgsl.ops.batch_norm_kernels import (
    batch_norm_backward_kernel,
    batch_norm_column_gradient_sums,
    batch_norm_column_moments,
    batch_norm_forward,
    batch_norm_grad_input,
    batch_norm_gradient,
    batch_norm_moments,
    batch_norm_running_statistics,
    batch_norm_statistics,
)
from pywgsl.ops.batch_norms import batch_norm, batch_norm_backward
from pywgsl.ops.group_norms import (
    group_norm,
    group_norm_apply,
    group_norm_backward,
    group_norm_forward,
    group_norm_grad_input,
    group_norm_means,
    instance_norm,
    instance_norm_backward,
)
from pywgsl.ops.layer_norms import (
    layer_norm,
    layer_norm_backward,
    layer_norm_forward,
    layer_norm_grad_wb,
    layer_norm_grad_x,
    layer_norm_gradient,
    short_layer_norm_forward,
)
from pywgsl.ops.planes import plane_sums
from pywgsl.ops.rms_norms import (
    rms_norm,
    rms_norm_backward,
    rms_norm_forward,
    rms_norm_grad_w,
    rms_norm_grad_x,
    rms_norm_gradient,
    short_rms_norm_forward,
)
from pywgsl.ops.rows import column_sum_pairs, column_sums

__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "batch_norm_backward_kernel",
    "batch_norm_column_gradient_sums",
    "batch_norm_column_moments",
    "batch_norm_forward",
    "batch_norm_grad_input",
    "batch_norm_gradient",
    "batch_norm_moments",
    "batch_norm_running_statistics",
    "batch_norm_statistics",
    "column_sum_pairs",
    "column_sums",
    "group_norm",
    "group_norm_apply",
    "group_norm_backward",
    "group_norm_forward",
    "group_norm_grad_input",
    "group_norm_means",
    "instance_norm",
    "instance_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "layer_norm_forward",
    "layer_norm_grad_wb",
    "layer_norm_grad_x",
    "layer_norm_gradient",
    "plane_sums",
    "rms_norm",
    "rms_norm_backward",
    "rms_norm_forward",
    "rms_norm_grad_w",
    "rms_norm_grad_x",
    "rms_norm_gradient",
    "short_layer_norm_forward",
    "short_rms_norm_forward",
]
