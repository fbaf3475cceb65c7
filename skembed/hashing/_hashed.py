"""The straight line from rows to a CSR matrix: read, hash, spread, count, fold."""

from contextlib import closing

from ._ledger import Ledger
from ._tokens import spread


def hash_rows(parts, assembly, backend, seed, n_hashes, ledger=None):
    """Return the CSR matrix of what a reader yields.

    Parameters
    ----------
    parts : generator of Tokens
        A reader.
    assembly : Assembly
        The matrix to be.
    backend : Backend
        Hashes.
    seed, n_hashes : int
        Of the hash, and how many columns a token has.
    ledger : Ledger, default=None
        Counts the tokens.

    Returns
    -------
    csr_array
        One row for each row that was read.
    """
    with closing(parts):
        for tokens in parts:
            assembly.add(*spread(tokens, backend, seed, n_hashes))
            if ledger is not None:
                ledger.add(tokens)
    return assembly.finish()


def count_names(parts):
    """Return the `Ledger` of what a reader yields."""
    ledger = Ledger()
    with closing(parts):
        for tokens in parts:
            ledger.add(tokens)
    return ledger
