"""Ten steps of every optimizer against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from pywgsl import ops

Recorded = Mapping[str, np.ndarray[Any, Any]]
Step = Callable[..., None]

#: For each name in the recording: the function, how many kinds of state it takes by position, the
#: names of others, and its numbers.
OPTIMIZERS: dict[str, tuple[Step, int, tuple[str, ...], dict[str, Any]]] = {
    "sgd": (ops.sgd_step, 0, (), {"lr": 0.1}),
    "sgd_decay": (ops.sgd_step, 0, (), {"lr": 0.1, "weight_decay": 0.05}),
    "sgd_momentum": (ops.sgd_step, 1, (), {"lr": 0.1, "momentum": 0.9}),
    "sgd_dampening": (
        ops.sgd_step,
        1,
        (),
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05},
    ),
    "sgd_nesterov": (
        ops.sgd_step,
        1,
        (),
        {"lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.05},
    ),
    "adam": (ops.adam_step, 2, (), {}),
    "adam_options": (
        ops.adam_step,
        2,
        (),
        {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1},
    ),
    "adam_amsgrad": (
        ops.adam_step,
        2,
        ("max_exp_avg_sqs",),
        {"lr": 0.05, "betas": (0.9, 0.5), "amsgrad": True},
    ),
    "adamw": (ops.adamw_step, 2, (), {"lr": 0.05}),
    "adamw_amsgrad": (
        ops.adamw_step,
        2,
        ("max_exp_avg_sqs",),
        {"lr": 0.05, "betas": (0.9, 0.5), "weight_decay": 0.1, "amsgrad": True},
    ),
    "rmsprop": (ops.rmsprop_step, 1, (), {}),
    "rmsprop_momentum": (
        ops.rmsprop_step,
        1,
        ("momentum_buffers",),
        {"lr": 0.02, "alpha": 0.9, "momentum": 0.7, "weight_decay": 0.05},
    ),
    "rmsprop_centered": (
        ops.rmsprop_step,
        1,
        ("grad_avgs",),
        {"lr": 0.02, "alpha": 0.9, "centered": True},
    ),
    "rmsprop_both": (
        ops.rmsprop_step,
        1,
        ("grad_avgs", "momentum_buffers"),
        {"lr": 0.02, "alpha": 0.9, "centered": True, "momentum": 0.7},
    ),
}
RPROP: dict[str, tuple[float, dict[str, Any]]] = {
    "rprop": (0.01, {}),
    "rprop_options": (0.3, {"etas": (0.4, 1.5), "limits": (0.1, 0.5)}),
}
COUNTED = (ops.sgd_step, ops.adam_step, ops.adamw_step)
# Adam's first steps divide by the size of a gradient that may be tiny.
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_ten_steps_are_torchs(name: str, put: Any, close: Any, recorded: Recorded) -> None:
    step, states, others, numbers = OPTIMIZERS[name]
    # Two arrays, so that lists are in it too.
    starts = np.split(recorded["start"], [20])
    params = [put(start) for start in starts]
    zeros = [[put(np.zeros_like(start)) for start in starts] for _ in range(states + len(others))]
    state, named = zeros[:states], dict(zip(others, zeros[states:], strict=True))
    for number, (grad, expected) in enumerate(
        zip(recorded["grads"], recorded[name], strict=True), 1
    ):
        count = {"step": number} if step in COUNTED else {}
        grads = [put(part) for part in np.split(grad, [20])]
        step(params, grads, *state, **named, **numbers, **count)
        for param, part in zip(params, np.split(expected, [20]), strict=True):
            close(param, part, **TOLERANCE)


@pytest.mark.parametrize("name", RPROP)
def test_ten_steps_of_rprop_are_torchs(name: str, put: Any, close: Any, recorded: Recorded) -> None:
    lr, numbers = RPROP[name]
    param, prev = put(recorded["start"]), put(np.zeros_like(recorded["start"]))
    sizes = put(np.full_like(recorded["start"], lr))
    for grad, expected in zip(recorded["grads"], recorded[name], strict=True):
        ops.rprop_step(param, put(grad), prev, sizes, **numbers)
        close(param, expected)


def test_momentum_without_dampening_needs_no_count(
    put: Any, close: Any, recorded: Recorded
) -> None:
    param, buffer = put(recorded["start"]), put(np.zeros_like(recorded["start"]))
    for grad in recorded["grads"]:
        ops.sgd_step(param, put(grad), buffer, lr=0.1, momentum=0.9)
    close(param, recorded["sgd_momentum"][-1], **TOLERANCE)


def test_no_parameters_are_no_work(put: Any) -> None:
    empty = [put(np.zeros((0, 3), np.float32)) for _ in range(4)]
    ops.adam_step(*empty, step=1)
    ops.adam_step([], [], [], [], step=1)


def test_a_parameter_of_any_shape(put: Any, close: Any) -> None:
    param = put(np.ones((2, 3), np.float32))
    ops.sgd_step(param, put(np.ones((2, 3), np.float32)), lr=0.5)
    close(param, np.full((2, 3), 0.5, np.float32))


P = np.ones(3, np.float32)
STATE = (P, P.copy(), P.copy(), P.copy())

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.sgd_step(P, P, lr=-1.0), "`lr` is at least 0, not -1.0"),
    (lambda: ops.sgd_step(P, P, lr=1.0, step=0), "`step` counts from 1, but is 0"),
    (lambda: ops.sgd_step(P, P, lr=1.0, momentum=0.9), "`momentum` needs `momentum_buffers`"),
    (lambda: ops.sgd_step(P, P, lr=1.0, nesterov=True), "`nesterov` needs a momentum"),
    (lambda: ops.sgd_step(P, P, lr=1.0), "share memory"),
    (lambda: ops.adam_step(*STATE, step=1, betas=(0.9, 1.0)), "`betas` are at least 0 and below 1"),
    (lambda: ops.adam_step(*STATE, step=0), "`step` counts from 1"),
    (lambda: ops.adam_step(*STATE, step=1, amsgrad=True), "`amsgrad` needs `max_exp_avg_sqs`"),
    (lambda: ops.adam_step([P], P, P, P[:2], step=1), "`exp_avg_sqs` the shape (2,)"),
    (lambda: ops.adam_step([P, P], [P], [P], [P], step=1), "2 `params`, but 1 `grads`"),
    (lambda: ops.rmsprop_step(P, P, P, centered=True), "`centered` needs `grad_avgs`"),
    (lambda: ops.rmsprop_step(P, P, P, momentum=0.5), "`momentum` needs `momentum_buffers`"),
    (lambda: ops.rprop_step(*STATE, etas=(1.2, 0.5)), "`etas` are 0 < eta⁻ < 1 < eta⁺"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_reported_before_anything_runs(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert message in str(caught.value)
    np.testing.assert_array_equal(P, 1.0)
