"""Ctrl-C between two batches, never within one."""

import signal
import threading
from contextlib import contextmanager


@contextmanager
def interruptible():
    """Hold back KeyboardInterrupt; yield a function that raises it if one has come.

    Outside the main thread, where no interrupt arrives, nothing is held back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came = []
    previous = signal.getsignal(signal.SIGINT)
    if previous is not signal.default_int_handler:  # somebody else decides about Ctrl-C
        yield lambda: None
        return

    def check():
        if came:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, previous)
    check()
