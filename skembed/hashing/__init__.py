"""From what users have to hashed tokens, and from hashed tokens to CSR."""

from ._assembly import Assembly
from ._documents import documents_of, encode_documents, in_chunks
from ._hashed import count_names, hash_rows
from ._ledger import Ledger
from ._look_back import LookBack
from ._records import read_records
from ._rows import TableReader, read_matrix
from ._table import library_of, open_table
from ._tokens import Tokens

__all__ = [
    "Assembly",
    "Ledger",
    "LookBack",
    "TableReader",
    "Tokens",
    "count_names",
    "documents_of",
    "encode_documents",
    "hash_rows",
    "in_chunks",
    "library_of",
    "open_table",
    "read_matrix",
    "read_records",
]
