"""Compressors: what partitions of a fit send each other."""

from ._base import COMPRESSORS as COMPRESSORS
from ._base import Compressor as Compressor
from ._everything import Everything as Everything
from ._everything import pack_array as pack_array
from ._everything import unpack_array as unpack_array
from ._message import BROADCAST as BROADCAST
from ._message import Header as Header
from ._topk import TopK

__all__ = ["TopK"]
