"""Where partitions live: the interface of all engines."""

from dataclasses import dataclass

from sklearn.base import BaseEstimator

from skembed.core import LaterDefaults, Registry

ENGINES = Registry("engine")
KINDS = (ValueError, TypeError, MemoryError, OSError, RuntimeError)


class EngineLost(RuntimeError):
    """The engine itself is gone, with all that it knew."""


@dataclass(frozen=True, slots=True)
class Died:
    """A call that has no answer because its place is gone.

    Attributes
    ----------
    reason : str
        What is known about it.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """An error of a call, in a form that travels.

    Attributes
    ----------
    kind : type
        Kind of the exception.
    message : str
        Its message.
    """

    kind: type
    message: str


def guarded(function, *args):
    """Return what a call returns, or its error as `Failed`."""
    try:
        return function(*args)
    except Exception as error:
        for kind in KINDS:
            if isinstance(error, kind):
                return Failed(kind, f"{error}")
        return Failed(RuntimeError, repr(error))


class Engine(LaterDefaults, BaseEstimator):
    """Base of the engines: hands calls to places where partitions live.

    A call of a partition goes to the place of its last one as long as that lives.

    Attributes
    ----------
    copies : bool
        Whether what is handed over is copied on its way.

    Examples
    --------
    >>> from skembed.partition import Engine, JoblibEngine
    >>> isinstance(JoblibEngine(), Engine)
    True
    """

    copies = True

    def start(self, n_partitions, n_jobs):
        """Be ready for calls.

        Parameters
        ----------
        n_partitions : int
            How many partitions there are at most.
        n_jobs : int or None
            How many may run at a time, as in scikit-learn.
        """
        raise NotImplementedError

    def run(self, calls, timeout):
        """Make calls at the places of their partitions.

        Parameters
        ----------
        calls : dict of int to tuple
            For each partition a function and its arguments.
        timeout : float
            Seconds to wait at most.

        Returns
        -------
        dict
            For each partition what the function returned, or `Failed`, or `Died`; in the order of
            `calls`.

        Raises
        ------
        TimeoutError
            With the partitions that have not answered as its only argument.
        EngineLost
            If there will be no more answers.
        """
        raise NotImplementedError

    def stop(self):
        """End what `start` began."""
        raise NotImplementedError

    def everywhere(self, function, *args):
        """Call a function in every process where partitions live; nobody waits for it.

        Parameters
        ----------
        function : callable
            The function.
        *args : object
            Its arguments.
        """
        raise NotImplementedError
