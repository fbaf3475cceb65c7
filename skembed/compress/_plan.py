"""What `plan_compression` recommends."""

from dataclasses import dataclass

from ._budget import Costs
from ._topk import TopK


@dataclass(frozen=True, kw_only=True)
class CompressionPlan(Costs):
    """What every partition should send, and what that is predicted to take.

    Predictions are for the rounds until the score on held-out rows reaches `target`.

    Parameters
    ----------
    rounds : float
        Predicted rounds.
    seconds : float
        Predicted time, in s; in each round the slowest partition decides.
    joules : float
        Predicted energy, in J; 0 where neither steps nor messages were said to take any.
    bytes_up, bytes_down : float
        Predicted bytes of all partitions, each way.
    k : tuple of int
        Entries in a message of each partition.
    broadcast_k : int
        Entries in a message of the coordinator.
    local_steps : int or "epoch"
        Steps of each partition in a round.
    max_iter : int
        Rounds: those predicted, rounded up, or all that the budget allows.
    target : float
        Score that the predictions are for.

    See Also
    --------
    skembed.plan_compression : Makes plans.

    Examples
    --------
    >>> from skembed.compress import CompressionPlan
    >>> plan = CompressionPlan(
    ...     k=(800, 2400),
    ...     broadcast_k=1600,
    ...     local_steps="epoch",
    ...     max_iter=9,
    ...     target=0.5,
    ...     rounds=8.2,
    ...     seconds=31.0,
    ...     joules=0.0,
    ...     bytes_up=33e3,
    ...     bytes_down=34e3,
    ... )
    >>> plan.params["compressor"]
    TopK(k=[800, 2400])
    """

    k: tuple
    broadcast_k: int
    local_steps: int | str
    max_iter: int
    target: float

    @property
    def params(self):
        """Parameters for `PartitionedFit.set_params`."""
        return dict(
            compressor=TopK(k=list(self.k)),
            broadcast_compressor=TopK(k=self.broadcast_k),
            local_steps=self.local_steps,
            max_iter=self.max_iter,
        )
