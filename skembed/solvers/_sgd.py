"""Stochastic gradient descent."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ._base import SOLVERS, Solver, with_row_options


@SOLVERS.register("sgd")
@with_row_options
class SGD(Solver):
    """Stochastic gradient descent, with or without momentum.

    ``w = (1 - lr weight_decay) w - lr g``; with momentum ``u = momentum u + g`` and g is replaced
    by u, or by ``g + momentum u`` (Nesterov). Without momentum a row that was not in the batch has
    gradient zero and rests, as in dense SGD. With momentum it rests too, and so does its u: the
    momentum is lazy, unlike that of dense SGD, where u fades and the row moves on at every step.
    PyTorch's SGD densifies sparse gradients as soon as momentum is on. The gradient is that of the
    mean over the batch.

    Parameters
    ----------
    momentum : float, default=0.0
        Factor on the velocity u, in [0, 1).
    nesterov : bool, default=False
        Whether to look ahead along the velocity.
    {row_options}

    References
    ----------
    I. Sutskever, J. Martens, G. Dahl, G. Hinton, "On the importance of initialization and momentum
    in deep learning", ICML 2013.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier
    >>> from skembed.solvers import SGD
    >>> clf = EmbeddingBagClassifier(solver=SGD(momentum=0.9), learning_rate_init=0.5)
    """

    default_learning_rate = 2.0
    _parameter_constraints = {
        **Solver._parameter_constraints,
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "nesterov": ["boolean"],
    }

    def __init__(
        self,
        momentum=0.0,
        nesterov=False,
        *,
        clip_norm=None,
        clip_value=None,
        max_norm=None,
        frequency_scaling=None,
        decay_scope="touched",
        decay_toward="zero",
    ):
        super().__init__(
            clip_norm=clip_norm,
            clip_value=clip_value,
            max_norm=max_norm,
            frequency_scaling=frequency_scaling,
            decay_scope=decay_scope,
            decay_toward=decay_toward,
        )
        self.momentum = momentum
        self.nesterov = nesterov

    @property
    def name(self):
        """Name of the kernels in a backend."""
        return "momentum" if self.momentum else "sgd"

    @property
    def slots(self):
        """State arrays by kind."""
        return {"velocity": "element"} if self.momentum else {}

    def rate_for(self, loss):
        return 0.5 if loss.targets == "numbers" else self.default_learning_rate

    @property
    def memory(self):
        return {"velocity": 1 / (1 - self.momentum)} if self.momentum else {}

    def row_rates(self, slots, *, lr, step):
        n = len(slots["velocity"]) if self.momentum else 1
        return np.full(n, lr / (1 - self.momentum))

    def _mix(self):
        """Shares of gradient and velocity in a step."""
        return (1.0, self.momentum) if self.nesterov else (0.0, 1.0)

    def kernel_args(self, *, lr, keep, step, d, name):
        args = (keep, lr, self.momentum, *self._mix()) if self.momentum else (keep, lr)
        return tuple(map(float, args))

    def rule(self, w, g, slots, *, lr, keep, step, d, name, xp):
        if not self.momentum:
            return keep * w - lr * g, {}
        a, b = self._mix()
        u = self.momentum * slots["velocity"] + g
        return keep * w - lr * (a * g + b * u), {"velocity": u}
