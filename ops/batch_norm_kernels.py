"""The kernels of batch normalization; `batch_norms` has the functions on arrays.

With μ and σ² the mean and variance of a channel over all samples, r = 1/√(σ² + ε) and x̂ = (x - μ)
r, a layer computes x̂ weight + bias. Arrays are [N, C, S]: samples, channels, and the values of a
channel in a sample.
"""

import pywgsl as pw
from pywgsl import Array, Array2D, Array3D, Const, f32, i32
from pywgsl.ops.arrays import T, W
from pywgsl.ops.rows import over_rows

# ----------------------------------------------------------------------------------- forward


@pw.function
def chunk_length(size: i32, block: i32, chunk: i32, chunks: i32) -> i32:
    """How many of `size` values are in the blocks `chunk`, `chunk + chunks`, … of `block` each."""
    whole = size // block
    rest = size % block if whole % chunks == chunk else 0
    return (whole + chunks - 1 - chunk) // chunks * block + rest


@pw.function
def write_moments(
    moments: Array3D[f32], part: i32, channel: i32, count: f32, mean: f32, sums: pw.vec2f
) -> None:
    """Store a part's moments, given the sums of its differences from about the mean."""
    rest = sums.x / max(count, 1.0)
    moments[0, part, channel] = count
    moments[1, part, channel] = mean + rest
    moments[2, part, channel] = max(sums.y - rest * sums.x, 0.0)


@pw.kernel(workgroup_size=(64, 4))
def batch_norm_moments(x: Array3D[T], moments: Array3D[f32], items: Const[int] = 1) -> None:
    """`moments[:, p, c]`: the number of values in part p of channel c, their mean m, Σ (x - m)².

    Shapes: x [N, C, S], moments [3, P, C]. A workgroup computes one part: its invocations along x
    go through a plane, `items` values at once, those along y each through every so-manieth sample
    of all workgroups. Launch over (C, samples' parts, planes' parts) workgroups, P being the
    product of the latter. O(N·C·S), everything read twice. An empty part has mean 0.
    """
    c, part, chunk = pw.workgroup_id.x, pw.workgroup_id.y, pw.workgroup_id.z
    size, width = x.shape[2], pw.workgroup_size.x
    block, chunks = items * width, pw.num_workgroups.z
    step = pw.workgroup_size.y * pw.num_workgroups.y
    samples = 0.0
    total = 0.0
    for n in range(pw.global_id.y, x.shape[0], step):
        samples += 1.0
        for first in range(chunk * block + pw.local_id.x, size, chunks * block):
            for k in pw.static_range(items):
                if first + k * width < size:
                    total += f32(x[n, c, first + k * width])
    # The samples are counted by each of the invocations along x.
    samples = pw.workgroup_sum(samples) / f32(width)
    count = samples * f32(chunk_length(size, block, chunk, chunks))
    mean = pw.workgroup_sum(total) / max(count, 1.0)
    sums = pw.vec2f(0.0)
    for n in range(pw.global_id.y, x.shape[0], step):
        for first in range(chunk * block + pw.local_id.x, size, chunks * block):
            for k in pw.static_range(items):
                if first + k * width < size:
                    difference = f32(x[n, c, first + k * width]) - mean
                    sums += pw.vec2f(difference, difference * difference)
    sums = pw.workgroup_sum(sums)
    if pw.local_index == 0:
        write_moments(moments, part * chunks + chunk, c, count, mean, sums)


@pw.kernel(workgroup_size=(16, 16))
def batch_norm_column_moments(x: Array2D[T], moments: Array3D[f32]) -> None:
    """`batch_norm_moments` of samples with one value in each channel.

    Shapes: x [N, C], moments [3, P, C]. A workgroup computes a part of as many channels as it has
    invocations along x, those along y each going through every so-manieth sample of all workgroups.
    Launch over (⌈C / x⌉, P) workgroups. O(N·C), everything read twice. An empty part has mean 0.
    """
    c, step = pw.global_id.x, pw.workgroup_size.y * pw.num_workgroups.y
    inside = c < x.shape[1]
    share = pw.vec2f(0.0)
    if inside:
        for n in range(pw.global_id.y, x.shape[0], step):
            share += pw.vec2f(1.0, f32(x[n, c]))
    total = over_rows(share)
    mean = total.y / max(total.x, 1.0)
    share = pw.vec2f(0.0)
    if inside:
        for n in range(pw.global_id.y, x.shape[0], step):
            difference = f32(x[n, c]) - mean
            share += pw.vec2f(difference, difference * difference)
    sums = over_rows(share)
    if pw.local_id.y == 0 and inside:
        write_moments(moments, pw.workgroup_id.y, c, total.x, mean, sums)


@pw.kernel(workgroup_size=32)
def batch_norm_statistics(
    moments: Array3D[f32],
    mean: Array[f32],
    invstd: Array[f32],
    running_mean: Array[W],
    running_var: Array[W],
    eps: f32,
    momentum: f32,
    tracked: Const[bool] = True,
) -> None:
    """`mean = μ` and `invstd = r` of each channel, from those of its parts; the running averages.

    `running += momentum (statistic - running)`, with the variance divided by one less than the
    number of values.

    Shapes: moments [3, P, C], as `batch_norm_moments` writes them; mean and invstd [C];
    running_mean and running_var [C], used only if `tracked`. A workgroup computes one channel;
    launch over C workgroups. O(P·C). The variance is Σ (Σ (x - m)² + count (m - μ)²) / n, with m
    the mean of a part. RUMUS's `batch_norm_forward_kernel` averages the variance divided by n,
    unlike PyTorch.
    """
    c = pw.workgroup_id.x
    first = moments[1, 0, c]
    sums = pw.vec2f(0.0)
    for part in range(pw.local_index, moments.shape[1], pw.workgroup_size.x):
        count = moments[0, part, c]
        sums += pw.vec2f(count, count * (moments[1, part, c] - first))
    total = pw.workgroup_sum(sums)
    mu = first + total.y / total.x
    squares = 0.0
    for part in range(pw.local_index, moments.shape[1], pw.workgroup_size.x):
        difference = moments[1, part, c] - mu
        squares += moments[2, part, c] + moments[0, part, c] * difference * difference
    squares = pw.workgroup_sum(squares)
    if pw.local_index == 0:
        mean[c] = mu
        invstd[c] = pw.inverse_sqrt(squares / total.x + eps)
        if tracked:
            old_mean, old_var = f32(running_mean[c]), f32(running_var[c])
            running_mean[c] = W(old_mean + momentum * (mu - old_mean))
            running_var[c] = W(old_var + momentum * (squares / (total.x - 1.0) - old_var))


@pw.kernel
def batch_norm_running_statistics(
    running_mean: Array[W],
    running_var: Array[W],
    mean: Array[f32],
    invstd: Array[f32],
    eps: f32,
) -> None:
    """`mean = running_mean`, `invstd = 1/√(running_var + ε)`. Arrays [C]; launch over C. O(C)."""
    c = pw.global_id.x
    mean[c] = f32(running_mean[c])
    invstd[c] = pw.inverse_sqrt(f32(running_var[c]) + eps)


@pw.kernel
def batch_norm_forward(
    x: Array3D[T],
    mean: Array[f32],
    invstd: Array[f32],
    weight: Array[W],
    bias: Array[W],
    output: Array3D[T],
    scaled: Const[bool] = True,
    shifted: Const[bool] = True,
    items: Const[int] = 1,
) -> None:
    """`output = (x - mean) invstd weight + bias`.

    Shapes: x and output [N, C, S]; mean and invstd [C]; weight and bias [C], read only if `scaled`
    and `shifted`. An invocation computes `items` values, S / items apart; launch over (S / items,
    C, N). O(N·C·S). After RUMUS's `batch_norm_forward_kernel`, which computes the statistics in the
    same launch, with one workgroup a channel.
    """
    c, n = pw.global_id.y, pw.global_id.z
    scale = invstd[c] * (f32(weight[c]) if scaled else 1.0)
    shift = f32(bias[c]) if shifted else 0.0
    step = x.shape[2] // items
    for k in pw.static_range(items):
        value = f32(x[n, c, pw.global_id.x + k * step])
        output[n, c, pw.global_id.x + k * step] = T((value - mean[c]) * scale + shift)


# --------------------------------------------------------------------------------- gradients


@pw.kernel
def batch_norm_grad_input(
    grad_output: Array3D[T],
    x: Array3D[T],
    mean: Array[f32],
    invstd: Array[f32],
    weight: Array[W],
    grad_weight: Array[f32],
    grad_bias: Array[f32],
    grad_input: Array3D[T],
    scaled: Const[bool] = True,
    training: Const[bool] = True,
    items: Const[int] = 1,
) -> None:
    """`grad_input = weight r (dy - grad_bias / n - x̂ grad_weight / n)`, if `training`.

    In evaluation, where the statistics do not depend on x, `grad_input = weight r dy`.

    Shapes: grad_output (dy), x and grad_input [N, C, S]; mean and invstd (r) [C]; weight [C], read
    only if `scaled`; grad_weight and grad_bias [C], the gradients by weight and bias; n = N·S. An
    invocation computes `items` values, S / items apart; launch over (S / items, C, N).
    O(N·C·S).
    """
    c, n = pw.global_id.y, pw.global_id.z
    count = f32(x.shape[0] * x.shape[2])
    r = invstd[c]
    scale = r * (f32(weight[c]) if scaled else 1.0)
    mean_grad, mean_dot = grad_bias[c] / count, grad_weight[c] / count
    step = x.shape[2] // items
    for k in pw.static_range(items):
        grad = f32(grad_output[n, c, pw.global_id.x + k * step])
        if training:
            normal = (f32(x[n, c, pw.global_id.x + k * step]) - mean[c]) * r
            grad -= mean_grad + normal * mean_dot
        grad_input[n, c, pw.global_id.x + k * step] = T(scale * grad)


@pw.kernel(workgroup_size=(16, 16))
def batch_norm_column_gradient_sums(
    grad_output: Array2D[T],
    x: Array2D[T],
    mean: Array[f32],
    invstd: Array[f32],
    weight_partials: Array2D[f32],
    bias_partials: Array2D[f32],
) -> None:
    """`plane_sums` of samples with one value in each channel.

    Shapes: grad_output and x [N, C], mean and invstd [C], partials [P, C]. A workgroup computes the
    sums of as many channels as it has invocations along x, those along y each going through every
    so-manieth sample of all workgroups. Launch over (⌈C / x⌉, P) workgroups. O(N·C), everything
    read once.
    """
    c, part = pw.global_id.x, pw.workgroup_id.y
    share = pw.vec2f(0.0)
    if c < x.shape[1]:
        mu, r = mean[c], invstd[c]
        for n in range(pw.global_id.y, x.shape[0], pw.workgroup_size.y * pw.num_workgroups.y):
            grad = f32(grad_output[n, c])
            share += pw.vec2f(grad * ((f32(x[n, c]) - mu) * r), grad)
    total = over_rows(share)
    if pw.local_id.y == 0 and c < x.shape[1]:
        weight_partials[part, c] = total.x
        bias_partials[part, c] = total.y


@pw.kernel(workgroup_size=(64, 4))
def batch_norm_backward_kernel(
    grad_output: Array3D[T],
    x: Array3D[T],
    weight: Array[W],
    mean: Array[f32],
    invstd: Array[f32],
    grad_input: Array3D[T],
    grad_weight: Array[W],
    grad_bias: Array[W],
    scaled: Const[bool] = True,
) -> None:
    """The three gradients in training, with one launch: see `batch_norm_grad_input`.

    Shapes: as there, and grad_weight and grad_bias [C]. A workgroup computes one channel, its
    invocations along x the values of one sample, those along y several samples. Launch over C
    workgroups. O(N·C·S), everything read twice.

    After RUMUS's `batch_norm_backward_kernel`, which computes the same grad_input with 64
    invocations a channel, but neither of the others, and takes mean and invstd as the columns of
    one array [C, 2]. In f16 it would also add up in f16, and divide by a count that may not fit.
    """
    c = pw.workgroup_id.x
    samples, size = x.shape[0], x.shape[2]
    mu, r = mean[c], invstd[c]
    sums = pw.vec2f(0.0)
    for n in range(pw.local_id.y, samples, pw.workgroup_size.y):
        for s in range(pw.local_id.x, size, pw.workgroup_size.x):
            grad = f32(grad_output[n, c, s])
            sums += pw.vec2f(grad, grad * ((f32(x[n, c, s]) - mu) * r))
    total = pw.workgroup_sum(sums)
    means = total / f32(samples * size)
    scale = r * (f32(weight[c]) if scaled else 1.0)
    for n in range(pw.local_id.y, samples, pw.workgroup_size.y):
        for s in range(pw.local_id.x, size, pw.workgroup_size.x):
            normal = (f32(x[n, c, s]) - mu) * r
            grad = f32(grad_output[n, c, s]) - means.x - normal * means.y
            grad_input[n, c, s] = T(scale * grad)
    if pw.local_index == 0:
        grad_bias[c] = W(total.x)
        grad_weight[c] = W(total.y)


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
