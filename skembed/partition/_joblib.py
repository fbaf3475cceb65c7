"""Partitions on one machine, through joblib: here, on threads, or in processes."""

from concurrent.futures import wait
from contextlib import suppress

from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool
from sklearn.utils._param_validation import StrOptions

from ._engine import ENGINES, Died, Engine, guarded

NOTICE = 1.0  # seconds that processes get to hear that a fit has ended


@ENGINES.register("joblib")
class JoblibEngine(Engine):
    """Runs partitions in processes of joblib's loky, or on threads.

    A partition stays in its process from round to round, because its state does. With ``n_jobs=1``,
    which is also None outside a :class:`joblib.parallel_config`, all run in this process, one after
    the other; a time limit then does not interrupt a round.

    Parameters
    ----------
    prefer : {"processes", "threads"}, default="processes"
        Where partitions run.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier, PartitionedFit
    >>> from skembed.partition import JoblibEngine
    >>> bag = EmbeddingBagClassifier(n_components=4)
    >>> model = PartitionedFit(bag, engine=JoblibEngine("threads"), n_jobs=2)
    """

    _parameter_constraints = {"prefer": [StrOptions({"processes", "threads"})]}

    def __init__(self, prefer="processes"):
        self.prefer = prefer

    def start(self, n_partitions, n_jobs):
        self._validate_params()
        self._jobs = min(effective_n_jobs(n_jobs), n_partitions)
        self._in_processes = self._jobs > 1 and self.prefer == "processes"
        self.copies = self._in_processes
        self._pools = [self._pool() for _ in range(self._jobs)] if self._in_processes else []
        self._notices = []

    @staticmethod
    def _pool():
        return ProcessPoolExecutor(max_workers=1)  # one process each: a call finds its state

    def run(self, calls, timeout):
        if not self._in_processes:
            return self._run_here(calls, timeout)
        futures, place = {}, {p: p % self._jobs for p in calls}
        for p, call in calls.items():
            try:
                futures[p] = self._pools[place[p]].submit(guarded, *call)
            except BrokenProcessPool:  # it died between two rounds
                self._replace(place[p])
                futures[p] = self._pools[place[p]].submit(guarded, *call)
        late = wait(futures.values(), timeout).not_done
        if late:
            raise TimeoutError([p for p, future in futures.items() if future in late])
        broken = {place[p] for p, future in futures.items() if future.exception() is not None}
        answers = {p: self._answer(future) for p, future in futures.items()}
        for number in broken:
            self._replace(number)
        return answers

    @staticmethod
    def _answer(future):
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, BrokenProcessPool):
            return Died("its process ended")
        raise error  # what was sent or returned does not pickle

    def _replace(self, number):
        self._pools[number].shutdown(wait=False, kill_workers=True)
        self._pools[number] = self._pool()

    def _run_here(self, calls, timeout):
        if self._jobs == 1:
            return {p: guarded(*call) for p, call in calls.items()}
        parallel = Parallel(n_jobs=self._jobs, prefer="threads", timeout=timeout)
        try:
            answers = parallel(delayed(guarded)(*call) for call in calls.values())
        except TimeoutError:
            raise TimeoutError(list(calls)) from None
        return dict(zip(calls, answers, strict=True))

    def everywhere(self, function, *args):
        if not self._in_processes:
            function(*args)
        for pool in self._pools:
            with suppress(BrokenProcessPool):  # a process that has ended has nothing to do
                self._notices.append(pool.submit(function, *args))

    def stop(self):
        wait(self._notices, NOTICE)  # loky stumbles over answers of processes that it has killed
        for pool in self._pools:
            pool.shutdown(wait=True, kill_workers=True)
        self._pools = []
