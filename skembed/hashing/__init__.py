"""From what users have to hashed tokens, and from hashed tokens to CSR."""

from ._assembly import Assembly

__all__ = ["Assembly"]
