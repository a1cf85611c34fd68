"""One step of an optimizer, in place, as PyTorch's.

Kernels work on flat arrays [n] of f32, one invocation an element, O(n). The step functions take for
params, grads and each kind of state an array of any shape, or a list of arrays in the same order.
State starts as zeros, unless said otherwise; `step` counts from 1. A learning rate has the unit
of a parameter by that of its update.

Where f32 has too few digits for a number, such as 1 - beta, the host works it out and the kernel
takes it as an argument.

All raise `LaunchError` (a TypeError and ValueError) if arrays are not f32 and contiguous or do not
fit each other, and ValueError for numbers that PyTorch refuses.
"""

import math

import pywgsl as pw
from pywgsl import Array, Const, f32
from pywgsl.ops.arrays import A, Arrays, update


@pw.function
def _toward(old: f32, new: f32, rate: f32) -> f32:
    """The moving average: `old` moved toward `new`."""
    return old + (new - old) * rate


# --------------------------------------------------------------------------------------- SGD


@pw.kernel
def sgd_update(param: Array[f32], grad: Array[f32], lr: f32, weight_decay: f32 = 0.0) -> None:
    """`param -= lr (grad + weight_decay param)`. After `sgd` of meganeura."""
    i = pw.global_id.x
    p = param[i]
    param[i] = p - lr * (grad[i] + weight_decay * p)


@pw.kernel
def momentum_update(
    param: Array[f32],
    grad: Array[f32],
    momentum_buffer: Array[f32],
    lr: f32,
    momentum: f32,
    dampening: f32 = 0.0,
    weight_decay: f32 = 0.0,
    nesterov: Const[bool] = False,
) -> None:
    """`v = momentum v + (1 - dampening) g`, `param -= lr v`; Nesterov: `lr (g + momentum v)`.

    g is grad + weight_decay param, v the momentum_buffer.

    After `momentum_update_main` (gradient_operations of ruv-FANN), which writes v over the gradient
    and leaves the parameters alone, knows no learning rate, and stops after the first row of a
    matrix.
    """
    i = pw.global_id.x
    p = param[i]
    g = grad[i] + weight_decay * p
    v = momentum * momentum_buffer[i] + (1.0 - dampening) * g
    momentum_buffer[i] = v
    param[i] = p - lr * (g + momentum * v if nesterov else v)


def sgd_step(
    params: Arrays[A],
    grads: Arrays[A],
    momentum_buffers: Arrays[A] | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    step: int = 1,
) -> None:
    """Do a step of stochastic gradient descent, as `torch.optim.SGD`. O(n).

    Args:
        params: the parameters.
        grads: the gradients by them.
        momentum_buffers: the moving sums of the gradients; needed for a momentum.
        lr: the learning rate.
        momentum: how much of the moving sum is kept.
        dampening: how much of the gradient is left out of it, except in the first step.
        nesterov: look ahead; needs a momentum and no dampening.
        weight_decay: the factor of the parameters that is added to the gradients.
        step: the number of this step; only a dampening depends on it.

    Raises:
        ValueError: a number is negative, or nesterov stands without what it needs.
    """
    name = "sgd_step"
    _check_not_negative(name, lr=lr, momentum=momentum, weight_decay=weight_decay)
    _check_step(name, step)
    if nesterov and (momentum == 0.0 or dampening != 0.0):
        raise ValueError(f"{name}: `nesterov` needs a momentum and no dampening")
    if momentum == 0.0:
        update(name, sgd_update, lr, weight_decay, params=params, grads=grads)
        return
    buffers = _needed(name, "momentum", "momentum_buffers", momentum_buffers)
    arrays = {"params": params, "grads": grads, "momentum_buffers": buffers}
    damped = dampening if step > 1 else 0.0
    update(name, momentum_update, lr, momentum, damped, weight_decay, nesterov, **arrays)


# -------------------------------------------------------------------------------------- Adam


@pw.kernel
def adam_update(
    param: Array[f32],
    grad: Array[f32],
    exp_avg: Array[f32],
    exp_avg_sq: Array[f32],
    step_size: f32,
    rate1: f32,
    rate2: f32,
    eps: f32,
    correction: f32,
    weight_decay: f32 = 0.0,
    shrink: f32 = 0.0,
) -> None:
    """`param = (1 - shrink) param - step_size m / (√v correction + eps)`, of Adam and AdamW.

    g is grad + weight_decay param; m, the exp_avg, moves toward g by rate1 = 1 - β₁ and v, the
    exp_avg_sq, toward g² by rate2 = 1 - β₂. In step t, step_size is lr / (1 - β₁ᵗ) and correction
    1 / √(1 - β₂ᵗ). Adam decays by weight_decay, AdamW by shrink = lr · its weight decay.

    After `adam_update_main` (gradient_operations of ruv-FANN), a placeholder: it replaces the
    gradient by lr times its sign, in the first row. The `adam_update` and `adamw_update` of its
    adam_optimizer, not valid WGSL, correct both averages twice and so take too small steps.
    """
    i = pw.global_id.x
    p = param[i]
    g = grad[i] + weight_decay * p
    m = _toward(exp_avg[i], g, rate1)
    v = _toward(exp_avg_sq[i], g * g, rate2)
    exp_avg[i] = m
    exp_avg_sq[i] = v
    param[i] = (p - shrink * p) - step_size * (m / (pw.sqrt(v) * correction + eps))


@pw.kernel
def amsgrad_update(
    param: Array[f32],
    grad: Array[f32],
    exp_avg: Array[f32],
    exp_avg_sq: Array[f32],
    max_exp_avg_sq: Array[f32],
    step_size: f32,
    rate1: f32,
    rate2: f32,
    eps: f32,
    correction: f32,
    weight_decay: f32 = 0.0,
    shrink: f32 = 0.0,
) -> None:
    """`adam_update` with the largest v so far, kept in max_exp_avg_sq, in the denominator."""
    i = pw.global_id.x
    p = param[i]
    g = grad[i] + weight_decay * p
    m = _toward(exp_avg[i], g, rate1)
    v = _toward(exp_avg_sq[i], g * g, rate2)
    exp_avg[i] = m
    exp_avg_sq[i] = v
    largest = max(v, max_exp_avg_sq[i])
    max_exp_avg_sq[i] = largest
    param[i] = (p - shrink * p) - step_size * (m / (pw.sqrt(largest) * correction + eps))


def adam_step(
    params: Arrays[A],
    grads: Arrays[A],
    exp_avgs: Arrays[A],
    exp_avg_sqs: Arrays[A],
    *,
    step: int,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    max_exp_avg_sqs: Arrays[A] | None = None,
) -> None:
    """Do a step of Adam, as `torch.optim.Adam`. O(n).

    Args:
        params: the parameters.
        grads: the gradients by them.
        exp_avgs: the moving averages of the gradients.
        exp_avg_sqs: those of their squares.
        step: the number of this step, from 1.
        lr: the learning rate.
        betas: how much of the two averages is kept.
        eps: added to the denominator.
        weight_decay: the factor of the parameters that is added to the gradients.
        amsgrad: divide by the largest average of squares so far.
        max_exp_avg_sqs: where these are kept; needed for amsgrad.

    Raises:
        ValueError: a number is out of range.
    """
    arrays = {"params": params, "grads": grads, "exp_avgs": exp_avgs, "exp_avg_sqs": exp_avg_sqs}
    numbers = _adam_numbers("adam_step", step, lr, betas, eps, weight_decay)
    _adam("adam_step", arrays, amsgrad, max_exp_avg_sqs, (*numbers, weight_decay, 0.0))


def adamw_step(
    params: Arrays[A],
    grads: Arrays[A],
    exp_avgs: Arrays[A],
    exp_avg_sqs: Arrays[A],
    *,
    step: int,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    amsgrad: bool = False,
    max_exp_avg_sqs: Arrays[A] | None = None,
) -> None:
    """Do a step of Adam with decoupled weight decay, as `torch.optim.AdamW`. O(n).

    The parameters shrink by lr · weight_decay, and the gradients stay as they are. Arguments and
    errors are those of `adam_step`.
    """
    arrays = {"params": params, "grads": grads, "exp_avgs": exp_avgs, "exp_avg_sqs": exp_avg_sqs}
    numbers = _adam_numbers("adamw_step", step, lr, betas, eps, weight_decay)
    _adam("adamw_step", arrays, amsgrad, max_exp_avg_sqs, (*numbers, 0.0, lr * weight_decay))


def _adam(
    function: str,
    arrays: dict[str, Arrays[A]],
    amsgrad: bool,
    max_exp_avg_sqs: Arrays[A] | None,
    numbers: tuple[float, ...],
) -> None:
    """Launch Adam's kernel, with or without the largest average of squares."""
    if not amsgrad:
        update(function, adam_update, *numbers, **arrays)
        return
    largest = _needed(function, "amsgrad", "max_exp_avg_sqs", max_exp_avg_sqs)
    update(function, amsgrad_update, *numbers, **arrays, max_exp_avg_sqs=largest)


def _adam_numbers(
    function: str,
    step: int,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
) -> tuple[float, ...]:
    """Return the step size, the rates of the averages, eps and the correction of the root."""
    _check_step(function, step)
    _check_not_negative(function, lr=lr, eps=eps, weight_decay=weight_decay)
    for beta in betas:
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{function}: `betas` are at least 0 and below 1, not {betas}")
    beta1, beta2 = betas
    step_size = lr / (1.0 - beta1**step)
    return step_size, 1.0 - beta1, 1.0 - beta2, eps, 1.0 / math.sqrt(1.0 - beta2**step)


# ----------------------------------------------------------------------------------- RMSprop


@pw.kernel
def rmsprop_update(
    param: Array[f32],
    grad: Array[f32],
    square_avg: Array[f32],
    lr: f32,
    rate: f32,
    eps: f32,
    weight_decay: f32 = 0.0,
) -> None:
    """`param -= lr g / (√v + eps)`.

    g is grad + weight_decay param; v, the square_avg, moves toward g² by rate.
    """
    i = pw.global_id.x
    p = param[i]
    g = grad[i] + weight_decay * p
    v = _toward(square_avg[i], g * g, rate)
    square_avg[i] = v
    param[i] = p - lr * (g / (pw.sqrt(v) + eps))


@pw.kernel
def rmsprop_momentum_update(
    param: Array[f32],
    grad: Array[f32],
    square_avg: Array[f32],
    momentum_buffer: Array[f32],
    lr: f32,
    rate: f32,
    eps: f32,
    weight_decay: f32,
    momentum: f32,
) -> None:
    """`param -= lr b`, with the momentum_buffer `b = momentum b + g / (√v + eps)`.

    g and v as in `rmsprop_update`.
    """
    i = pw.global_id.x
    p = param[i]
    g = grad[i] + weight_decay * p
    v = _toward(square_avg[i], g * g, rate)
    square_avg[i] = v
    b = momentum * momentum_buffer[i] + g / (pw.sqrt(v) + eps)
    momentum_buffer[i] = b
    param[i] = p - lr * b


@pw.kernel
def rmsprop_centered_update(
    param: Array[f32],
    grad: Array[f32],
    square_avg: Array[f32],
    grad_avg: Array[f32],
    lr: f32,
    rate: f32,
    eps: f32,
    weight_decay: f32 = 0.0,
) -> None:
    """`param -= lr g / (√(v - a²) + eps)`.

    g and v as in `rmsprop_update`; a, the grad_avg, moves toward g by rate.
    """
    i = pw.global_id.x
    p = param[i]
    g = grad[i] + weight_decay * p
    v = _toward(square_avg[i], g * g, rate)
    a = _toward(grad_avg[i], g, rate)
    square_avg[i] = v
    grad_avg[i] = a
    param[i] = p - lr * (g / (pw.sqrt(v - a * a) + eps))


@pw.kernel
def rmsprop_centered_momentum_update(
    param: Array[f32],
    grad: Array[f32],
    square_avg: Array[f32],
    grad_avg: Array[f32],
    momentum_buffer: Array[f32],
    lr: f32,
    rate: f32,
    eps: f32,
    weight_decay: f32,
    momentum: f32,
) -> None:
    """`param -= lr b`, with the momentum_buffer `b = momentum b + g / (√(v - a²) + eps)`.

    g, v and a as in `rmsprop_centered_update`.
    """
    i = pw.global_id.x
    p = param[i]
    g = grad[i] + weight_decay * p
    v = _toward(square_avg[i], g * g, rate)
    a = _toward(grad_avg[i], g, rate)
    square_avg[i] = v
    grad_avg[i] = a
    b = momentum * momentum_buffer[i] + g / (pw.sqrt(v - a * a) + eps)
    momentum_buffer[i] = b
    param[i] = p - lr * b


def rmsprop_step(
    params: Arrays[A],
    grads: Arrays[A],
    square_avgs: Arrays[A],
    grad_avgs: Arrays[A] | None = None,
    momentum_buffers: Arrays[A] | None = None,
    *,
    lr: float = 1e-2,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    centered: bool = False,
) -> None:
    """Do a step of RMSprop, as `torch.optim.RMSprop`. O(n).

    Args:
        params: the parameters.
        grads: the gradients by them.
        square_avgs: the moving averages of the squares of the gradients.
        grad_avgs: those of the gradients; needed if centered.
        momentum_buffers: the moving sums of the steps; needed for a momentum.
        lr: the learning rate.
        alpha: how much of the averages is kept.
        eps: added to the denominator.
        weight_decay: the factor of the parameters that is added to the gradients.
        momentum: how much of the moving sum is kept.
        centered: divide by the deviation of the gradients, not their size.

    Raises:
        ValueError: a number is negative.
    """
    name = "rmsprop_step"
    _check_not_negative(
        name, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum
    )
    arrays = {"params": params, "grads": grads, "square_avgs": square_avgs}
    if centered:
        arrays["grad_avgs"] = _needed(name, "centered", "grad_avgs", grad_avgs)
    if momentum == 0.0:
        kernel = rmsprop_centered_update if centered else rmsprop_update
        update(name, kernel, lr, 1.0 - alpha, eps, weight_decay, **arrays)
        return
    arrays["momentum_buffers"] = _needed(name, "momentum", "momentum_buffers", momentum_buffers)
    kernel = rmsprop_centered_momentum_update if centered else rmsprop_momentum_update
    update(name, kernel, lr, 1.0 - alpha, eps, weight_decay, momentum, **arrays)


# ------------------------------------------------------------------------------------- Rprop


@pw.kernel
def rprop_update(
    param: Array[f32],
    grad: Array[f32],
    prev: Array[f32],
    step_size: Array[f32],
    eta_minus: f32 = 0.5,
    eta_plus: f32 = 1.2,
    smallest: f32 = 1e-6,
    largest: f32 = 50.0,
) -> None:
    """`param -= sign(grad) step_size`, where the step size follows the sign of grad prev.

    It grows by eta_plus where the sign of the gradient stayed and shrinks by eta_minus where it
    changed, within smallest…largest; there, the parameter waits and prev becomes 0. Else prev
    becomes grad. After the CPU code in training/rprop of ruv-FANN, which has no kernel.
    """
    i = pw.global_id.x
    g = grad[i]
    agreement = g * prev[i]
    factor = eta_plus if agreement > 0.0 else eta_minus if agreement < 0.0 else 1.0
    size = pw.clamp(step_size[i] * factor, smallest, largest)
    step_size[i] = size
    g = 0.0 if agreement < 0.0 else g
    param[i] -= pw.sign(g) * size
    prev[i] = g


def rprop_step(
    params: Arrays[A],
    grads: Arrays[A],
    prevs: Arrays[A],
    step_sizes: Arrays[A],
    *,
    etas: tuple[float, float] = (0.5, 1.2),
    limits: tuple[float, float] = (1e-6, 50.0),
) -> None:
    """Do a step of resilient backpropagation, as `torch.optim.Rprop`. O(n).

    Args:
        params: the parameters.
        grads: the gradients by them.
        prevs: the gradients of the step before.
        step_sizes: the sizes of the steps, which start as the learning rate (PyTorch's is 0.01).
        etas: the factors of a step size where the sign of the gradient changes and where it stays.
        limits: the smallest and the largest step size, PyTorch's `step_sizes`.

    Raises:
        ValueError: the etas are not 0 < eta⁻ < 1 < eta⁺.
    """
    if not 0.0 < etas[0] < 1.0 < etas[1]:
        raise ValueError(f"rprop_step: `etas` are 0 < eta⁻ < 1 < eta⁺, not {etas}")
    arrays = {"params": params, "grads": grads, "prevs": prevs, "step_sizes": step_sizes}
    update("rprop_step", rprop_update, *etas, *limits, **arrays)


# ------------------------------------------------------------------------------------- checks


def _check_step(function: str, step: int) -> None:
    if step < 1:
        raise ValueError(f"{function}: `step` counts from 1, but is {step}")


def _check_not_negative(function: str, **numbers: float) -> None:
    for name, value in numbers.items():
        if not value >= 0.0:
            raise ValueError(f"{function}: `{name}` is at least 0, not {value}")


def _needed(function: str, option: str, name: str, arrays: Arrays[A] | None) -> Arrays[A]:
    """Return the state that an option needs."""
    if arrays is None:
        raise pw.LaunchError(f"{function}: `{option}` needs `{name}`, which start as zeros")
    return arrays
