"""Partitions on the workers of a Dask cluster."""

from contextlib import suppress
from itertools import count
from time import monotonic, sleep

from joblib import effective_n_jobs

from ._engine import ENGINES, Died, Engine, EngineLost, guarded
from ._worker import Assignment

SLICE = 1.0  # seconds between two looks at the connection
LARGE = 1 << 20  # bytes of an argument


def _distributed():
    try:
        import distributed
    except ImportError as error:
        raise ImportError('engine="dask" needs Dask: pip install "skembed[dask]"') from error
    return distributed


def _placed(function, *args):
    """Call a function on a worker; return its address and the answer."""
    from distributed import get_worker

    return get_worker().address, guarded(function, *args)


def _packed(call):
    """Make a call that came as one value."""
    return call[0](*call[1:])


def is_large(arg):
    """Tell whether an argument should not be part of the graph of tasks."""
    if isinstance(arg, bytes):
        return len(arg) > LARGE
    return isinstance(arg, Assignment)


@ENGINES.register("dask")
class DaskEngine(Engine):
    """Runs partitions on the workers of a Dask cluster.

    A partition stays on its worker, whose memory holds its state. If the worker is gone, another
    one gets the call, says that it has no state, and the partition is made again there. What Dask
    itself keeps are calls and answers, no state.

    Parameters
    ----------
    client : distributed.Client, str or None, default=None
        A client, or the address of a scheduler. None takes the client that is active, and starts a
        :class:`distributed.LocalCluster` where there is none.

    Examples
    --------
    >>> from skembed import EmbeddingBagClassifier, PartitionedFit
    >>> from skembed.partition import DaskEngine
    >>> bag = EmbeddingBagClassifier(n_components=4)
    >>> model = PartitionedFit(bag, engine=DaskEngine("tcp://10.0.0.1:8786"))
    """

    def __init__(self, client=None):
        self.client = client

    def start(self, n_partitions, n_jobs):
        distributed = _distributed()
        self._mine, self._homes, self._numbers = [], {}, count()
        self._client = self.client
        if self.client is None:
            try:
                self._client = distributed.default_client()
            except ValueError:
                jobs = effective_n_jobs(-1 if n_jobs is None else n_jobs)
                cluster = distributed.LocalCluster(
                    n_workers=min(jobs, n_partitions), threads_per_worker=1, dashboard_address=":0"
                )
                self._mine.append(cluster)
                self._client = cluster
        if not isinstance(self._client, distributed.Client):
            self._client = distributed.Client(self._client, set_as_default=False)
            self._mine.insert(0, self._client)

    def _workers(self):
        """Return the addresses of the workers, in a fixed order."""
        self._check_connection()
        return sorted(self._client.nthreads())

    def _check_connection(self):
        if self._client.status != "running":
            raise EngineLost("the connection to the Dask scheduler is gone")

    def _home(self, p, workers):
        """Return the worker of a partition: its last one, or the one with the fewest others."""
        if self._homes.get(p) not in workers:
            here = [home for q, home in self._homes.items() if q != p]
            self._homes[p] = min(workers, key=lambda worker: (here.count(worker), worker))
        return self._homes[p]

    def run(self, calls, timeout):
        end = monotonic() + timeout
        futures = {}
        try:
            workers = self._await_workers(end, list(calls))
            for p, call in calls.items():
                futures[p] = self._submit(p, call, workers)
            return {p: self._answer(p, future, end, futures) for p, future in futures.items()}
        except OSError as error:  # of Dask's own calls; those of partitions come as `Failed`
            if isinstance(error, TimeoutError):
                raise
            raise EngineLost(f"the connection to the Dask scheduler is gone ({error})") from error
        finally:
            with suppress(Exception):  # a client that is closed has nothing to cancel
                self._client.cancel([future for future in futures.values() if future is not None])

    def _await_workers(self, end, partitions):
        """Return the workers, once there is one."""
        while not (workers := self._workers()):
            if monotonic() > end:
                raise TimeoutError(partitions)
            sleep(SLICE / 10)
        return workers

    def _submit(self, p, call, workers):
        """Return the future of a call, or None where its worker went away meanwhile."""
        home = self._home(p, workers)
        if any(is_large(arg) for arg in call):
            try:  # beside the graph of tasks, which is for small things
                call = [_packed, self._client.scatter(call, workers=[home], hash=False)]
            except (KeyError, OSError, ValueError):
                self._check_connection()
                return None
        return self._client.submit(
            _placed, *call, workers=[home], allow_other_workers=True, pure=False,
            key=f"skembed-{id(self)}-{p}-{next(self._numbers)}",
        )  # fmt: skip

    def _answer(self, p, future, end, futures):
        """Wait for the answer of a partition."""
        from distributed import CancelledError, KilledWorker

        if future is None:
            return Died("its worker is gone")
        while True:
            try:
                seconds = max(0.0, min(SLICE, end - monotonic()))
                self._homes[p], answer = future.result(timeout=seconds)
                return answer
            except (TimeoutError, UnboundLocalError):  # the latter where Dask's own wait was cut
                self._check_connection()
                if monotonic() > end:
                    late = [q for q, f in futures.items() if f is not None and not f.done()]
                    raise TimeoutError(late) from None
            except CancelledError as error:
                if getattr(error, "reason", None) == "scheduler-connection-lost":
                    raise EngineLost("the Dask scheduler is gone") from error
                self._check_connection()
                return Died("its worker is gone")
            except KilledWorker as error:
                return Died(f"workers died of it: {error}")

    def everywhere(self, function, *args):
        with suppress(Exception):  # a worker that is gone has nothing to forget
            self._client.run(function, *args, on_error="ignore")

    def stop(self):
        for mine in self._mine:
            with suppress(Exception):
                mine.close()
        self._mine = []
