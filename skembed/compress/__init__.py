"""Compressors: what partitions of a fit send each other."""

from ._base import COMPRESSORS as COMPRESSORS
from ._base import Compressor as Compressor
from ._budget import Forecast as Forecast
from ._budget import MessageLaw as MessageLaw
from ._budget import RoundLaw as RoundLaw
from ._budget import Workers as Workers
from ._everything import Everything as Everything
from ._message import BROADCAST as BROADCAST
from ._message import OVERHEAD as OVERHEAD
from ._message import Header as Header
from ._plan import CompressionPlan
from ._topk import TopK

__all__ = ["CompressionPlan", "TopK"]
