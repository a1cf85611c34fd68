"""Normalization layers and their gradients."""

import pywgsl as pw
from pywgsl import Array, Array2D, f32


@pw.kernel
def batch_norm_gradient(
    grad_output: Array2D[f32],
    x: Array2D[f32],
    weight: Array[f32],
    save_mean: Array[f32],
    save_invstd: Array[f32],
    grad_input: Array2D[f32],
) -> None:
    """`grad_input = w r (dy - mean(dy) - x̂ mean(dy x̂))`, with `x̂ = (x - μ) r`, means over rows.

    Shapes: grad_output (dy), x and grad_input [B, C]; weight (w), save_mean (μ) and save_invstd (r
    = 1/√(σ² + ε)) [C], which the forward pass in training saves. An invocation computes one
    feature; launch over C. O(B·C), the rows read twice.

    After `batch_norm_gradient_main` (gradient_operations of ruv-FANN), a placeholder: it writes
    mean(dy (x - μ)) to the first row of grad_input and knows neither variance nor weight.
    """
    c = pw.global_id.x
    rows = x.shape[0]
    mean = save_mean[c]
    invstd = save_invstd[c]
    grad_sum = 0.0
    dot_sum = 0.0
    for b in range(rows):
        grad = grad_output[b, c]
        grad_sum += grad
        dot_sum += grad * ((x[b, c] - mean) * invstd)
    grad_mean = grad_sum / f32(rows)
    dot_mean = dot_sum / f32(rows)
    scale = weight[c] * invstd
    for b in range(rows):
        normalized = (x[b, c] - mean) * invstd
        grad_input[b, c] = scale * (grad_output[b, c] - grad_mean - normalized * dot_mean)
