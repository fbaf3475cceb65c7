"""The hooks of scikit-learn's callback protocol, once an epoch."""


class SilentHooks:
    """Nobody to tell."""

    def begin_epoch(self):
        """An epoch begins."""

    def end_epoch(self, state):
        """An epoch has ended; nobody asks to stop."""
        return False


class EpochHooks:
    """Tells the callbacks of an estimator about its fit and its epochs.

    Parameters
    ----------
    estimator : estimator
        The estimator in fit.
    context : CallbackContext
        Its root context.
    X, y : object
        Data of the fit as the user gave it, for the hooks that ask for it.
    sample_weight : object
        Its weights, or None.
    fitted : callable
        Turns a `FitState` into the fitted attributes of an estimator that predicts.
    max_iter : int
        Epochs of this fit at most.
    """

    def __init__(self, estimator, context, X, y, sample_weight, fitted, max_iter):
        self.estimator, self.context, self.fitted = estimator, context, fitted
        self.max_iter, self.arguments = max_iter, dict(X=X, y=y)
        if sample_weight is not None:
            self.arguments["metadata"] = {"sample_weight": sample_weight}

    def begin(self):
        """The fit begins."""
        self.context.call_on_fit_task_begin(estimator=self.estimator, **self.arguments)

    def begin_epoch(self):
        """An epoch begins."""
        self.epoch = self.context.subcontext(task_name="epoch")
        self.epoch.call_on_fit_task_begin(estimator=self.estimator, **self.arguments)

    def end_epoch(self, state):
        """An epoch has ended; return whether a callback asks to stop."""
        if self.estimator.verbose:
            line = f"Epoch {len(state.loss_curve)}/{self.max_iter}"
            line += f", loss = {state.loss_curve[-1]:.6f}"
            if state.validation_scores:
                line += f", validation score = {state.validation_scores[-1]:.6f}"
            print(line, flush=True)
        return self._end(self.epoch, state)

    def end(self, state):
        """The fit has ended."""
        self._end(self.context, state)

    def _end(self, context, state):
        return context.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=lambda: self.fitted(state.copy()),
            **self.arguments,
        )
