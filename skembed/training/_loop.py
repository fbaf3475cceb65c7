"""The straight line: batch -> forward -> loss -> row gradient -> transforms -> solver -> table."""

import math

import numpy as np

from skembed.core import NEGATIVES, SHUFFLE, ParamTable, PendingRowGradient, stream

from ._interrupts import interruptible


class TrainingDiverged(ValueError):
    """A loss, gradient or parameter is not finite any more."""

    def __init__(self, epoch, batch, what):
        super().__init__(
            f"Training diverged at epoch {epoch}, batch {batch}: {what} is not finite. "
            "Lower learning_rate_init or set clip_norm on the solver; with pooling='sum' also "
            "scale the values of X."
        )


def epoch_order(problem, state, data, number):
    """Rows in the order of an epoch; drawn only where it changes the batches."""
    if not problem.shuffle or problem.batch_size >= len(data.rows):
        return data.rows
    return stream(state.seed, SHUFFLE, number, state.partition).permutation(data.rows)


def _total(grads):
    """Sum of squares of the small gradients: finite if and only if all of them are usable."""
    total = 0.0
    for g in grads.values():
        if not isinstance(g, np.ndarray):
            g = g.d_pooled if isinstance(g, PendingRowGradient) else g.values
        flat = g.reshape(-1)
        total += float(np.dot(flat, flat))
    return total


def _step(problem, state, data, rows, backend, missed, decays):
    """Make one step on the given rows; return the mean loss and the weight of the batch."""
    params, solver, step = state.params, problem.solver, state.step + 1
    batch, y = data.batch(rows), data.y[rows]
    weight = None if data.sample_weight is None else data.sample_weight[rows]
    groups = named = None
    if problem.loss.sampled:
        rng = stream(state.seed, NEGATIVES, step, state.partition)
        batch, y, named = problem.model.sample(problem.loss, data, batch, y, weight, rng, backend)
    if missed:
        table = params["table"]
        groups = backend.group(batch, table.values, table.n_trainable)
        for name, late in missed.items():
            late.bring(groups.ids if name == "table" else problem.model.listed(named), backend)
    value, grads = problem.model.loss_and_gradient(
        problem.loss, params, batch, y, weight, backend, groups, named
    )
    if not math.isfinite(value):
        raise FloatingPointError("the loss")
    grads = {name: g for name, g in grads.items() if problem.trains(name)}
    lr = problem.schedule.rate(step)
    if not math.isfinite(lr * _total(grads)):
        raise FloatingPointError("the gradient")
    if problem.transforms:
        grads = {
            name: g.sum(backend) if isinstance(g, PendingRowGradient) else g
            for name, g in grads.items()
        }
    for transform in problem.transforms:
        grads = transform(grads)
    for name, p in params.items():  # the table first: whatever fails there has written nothing
        if name not in grads:
            continue
        g, slots, keep = grads[name], state.solver_state[name], 1 - lr * decays[name]
        if not isinstance(p, ParamTable):
            solver.step_dense(p, slots, g, name=name, lr=lr, keep=keep, step=step, backend=backend)
            continue
        rates = dict(lr=lr, keep=keep, step=step)
        solver.step(p, slots, g, **rates, backend=backend)
        if name in missed:
            missed[name].advance(g.indices, **rates, backend=backend)
        if name == "table":
            backend.count_updates(state.n_updates.values, g.indices)
    state.step = step
    return value, len(rows) if weight is None else float(weight.sum(dtype=np.float64))


def _missed_steps(problem, state):
    """Return, by name of a table, what brings its rows up to date before they are read."""
    found = {}
    for name, p in state.params.items():
        if isinstance(p, ParamTable) and problem.trains(name):
            slots, decay = state.solver_state[name], problem.decay_of(name)
            found[name] = problem.solver.catch_up(p, slots, decay, state.step)
    return {name: missed for name, missed in found.items() if missed is not None}


def run_epoch(problem, state, data, order, backend):
    """Pass once over `order` in batches; append the weighted mean loss to the state.

    Raises
    ------
    TrainingDiverged
        Before anything of the batch is written.
    KeyboardInterrupt
        Between two batches.
    """
    losses, weights, size = [], [], problem.batch_size
    missed = _missed_steps(problem, state)
    decays = {name: problem.decay_of(name) for name in state.params}
    with interruptible() as check, np.errstate(all="ignore"):
        try:
            for s in range(0, len(order), size):
                check()
                rows = order[s : s + size]
                value, weight = _step(problem, state, data, rows, backend, missed, decays)
                losses.append(value)
                weights.append(weight)
        except FloatingPointError as error:
            epoch = len(state.loss_curve) + 1
            raise TrainingDiverged(epoch, len(losses) + 1, error) from None
        finally:
            for table in missed.values():
                table.finish(backend)
    state.loss_curve.append(float(np.average(losses, weights=weights)))


class LocalEpochs:
    """Epochs over the rows of one data set.

    Parameters
    ----------
    problem : FitProblem
        What to fit and how.
    state : FitState
        What is trained, in place.
    data : TrainingRows
        The data.
    backend : Backend
        Runs the operations.
    """

    def __init__(self, problem, state, data, backend):
        self.line = problem, state, data
        self.backend = backend
        backend.prepare(data.indices, state.params["table"].n_trainable)

    def run(self):
        """Train for one epoch."""
        problem, state, data = self.line
        order = epoch_order(problem, state, data, len(state.loss_curve))
        run_epoch(problem, state, data, order, self.backend)


def fit_epochs(problem, state, epochs, backend, *, max_iter, stopping, hooks, held_out=None):
    """Train for at most `max_iter` epochs.

    Parameters
    ----------
    problem : FitProblem
        What to fit and how.
    state : FitState
        Where to begin; changed in place.
    epochs : LocalEpochs or Rounds
        Its `run` trains the state for an epoch and appends to its `loss_curve`.
    backend : Backend
        Runs the operations.
    max_iter : int
        Epochs at most.
    stopping : Plateau
        Decides from the score of each epoch: that of the rows held out, or minus the loss. Keeps
        the best state.
    hooks : EpochHooks
        Told about each epoch; may ask to stop.
    held_out : HeldOut or None
        Rows to score. With them, the state of the best epoch is restored at the end.

    Returns
    -------
    converged : bool
        Whether `stopping` or a callback ended the fit.
    """
    converged = False
    while not converged and len(state.loss_curve) < max_iter:
        hooks.begin_epoch()
        epochs.run()
        score = -state.loss_curve[-1]
        if held_out is not None:
            with np.errstate(all="ignore"):
                score = held_out.score(problem, state, backend)
            state.validation_scores.append(score)
        done = stopping.update(score)
        if held_out is not None and stopping.is_best:
            stopping.kept = state.copy(into=stopping.kept)
        converged = hooks.end_epoch(state) or done
    state.best_epoch = len(state.loss_curve)
    if stopping.kept is not None:
        state.restore(stopping.kept)
        state.best_epoch = stopping.best_epoch
    return converged
