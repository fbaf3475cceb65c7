"""From what users have to hashed tokens, and from hashed tokens to CSR."""

from ._assembly import Assembly
from ._documents import documents_of, encode_documents, in_chunks

__all__ = ["Assembly", "documents_of", "encode_documents", "in_chunks"]
