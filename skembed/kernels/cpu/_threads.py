"""A team of threads that stays for one fit, and one BLAS thread inside it.

Two plain locks a worker hand work over in half the time a future needs (tens of microseconds, paid
twice a batch).
"""

import threading


class Team:
    """`n_jobs` threads, the caller among them.

    Parameters
    ----------
    n_jobs : int
        Number of threads, at least 1.
    """

    def __init__(self, n_jobs):
        self.workers = [_Worker() for _ in range(n_jobs - 1)]
        self.busy, self.first = [], None

    def run(self, fn, shares):
        """Return [fn(*share) for share in shares]; the caller does the first share itself."""
        if len(shares) == 1:
            return [fn(*shares[0])]
        self.start(fn, shares)
        return self.finish()

    def start(self, fn, shares):
        """Let all shares but the first begin; `finish` does that one and ends the call."""
        if self.first is not None:
            raise RuntimeError("Shares were started that nobody has finished.")
        self.busy, self.first = self.workers[: len(shares) - 1], (fn, shares[0])
        for worker, share in zip(self.busy, shares[1:], strict=True):
            worker.hand(fn, share)

    def finish(self):
        """Return what `run` would for the shares that were started."""
        (fn, share), busy, self.first = self.first, self.busy, None
        try:
            first = fn(*share)
        finally:
            self._wait()
        return [first, *(worker.take() for worker in busy)]

    def _wait(self):
        """Never go on while somebody still writes."""
        for worker in self.busy:
            worker.done.acquire()
        self.busy = []

    def close(self):
        """End the threads."""
        self._wait()
        for worker in self.workers:
            worker.hand(None, None)
            worker.thread.join()
        self.workers = []


class _Worker:
    def __init__(self):
        self.go, self.done = threading.Lock(), threading.Lock()
        self.go.acquire()
        self.done.acquire()
        self.thread = threading.Thread(target=self._live, daemon=True)
        self.thread.start()

    def hand(self, fn, args):
        self.fn, self.args, self.result, self.error = fn, args, None, None
        self.go.release()

    def take(self):
        if self.error is not None:
            raise self.error
        return self.result

    def _live(self):
        while True:
            self.go.acquire()
            if self.fn is None:
                return
            try:
                self.result = self.fn(*self.args)
            except BaseException as error:  # raised again in the caller
                self.error = error
            self.done.release()
