"""One BLAS thread: the bits of a product must not depend on how many there are."""

import threading
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


class _SingleBLAS:
    """Counts who needs one BLAS thread: the limit is of the whole process."""

    def __init__(self):
        self.lock, self.users, self.limits, self.libraries = threading.Lock(), 0, None, None

    @contextmanager
    def __call__(self):
        with self.lock:
            self.users += 1
            if self.users == 1:
                if self.libraries is None:  # looking for them takes milliseconds
                    self.libraries = ThreadpoolController()
                self.limits = self.libraries.limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    self.limits.restore_original_limits()


single_blas = _SingleBLAS()
