"""A file is there whole, or as it was before."""

import os
import secrets
from contextlib import contextmanager, suppress


@contextmanager
def atomic_write(path):
    """Yield a binary file that takes the place of `path` when the block ends without an error.

    What is written goes to a temporary file beside the target, which is flushed to the disk and
    renamed. On any error, such as a full disk, the temporary file is removed and the old one is as
    it was. A process that is killed may leave a temporary file behind, whose name is that of the
    target between a dot and ``.tmp``.

    Parameters
    ----------
    path : str or path-like
        The target; a symbolic link is followed.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, os.stat(path).st_mode)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder):
    """Bring a new name to the disk, where folders can be opened for that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
