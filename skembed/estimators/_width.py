"""Rules for the width of embeddings."""


def suggest_n_components(n_active, *, n_outputs=1, multi_label=False, rule="auto"):
    """Suggest a width for the embeddings.

    Parameters
    ----------
    n_active : int
        Features that occur.
    n_outputs : int, default=1
        Outputs of the model: 1 for two classes or one target, K for K classes, labels or targets.
    multi_label : bool, default=False
        Whether any number of the K labels can be true.
    rule : {"auto", "half", "fourth_root"}, default="auto"
        ``"auto"``: 8 for one output, min(2 K, 64) for K, 128 for more than 100 labels.
        ``"half"``: min(50, (c + 1) // 2) for c active features, as fast.ai does for categories.
        ``"fourth_root"``: the fourth root of c, as TensorFlow's guide to feature columns says.

    Returns
    -------
    n_components : int
        The width.

    Examples
    --------
    >>> from skembed import suggest_n_components
    >>> suggest_n_components(10_000, n_outputs=77)
    64
    >>> suggest_n_components(10_000, rule="fourth_root")
    10
    """
    if rule == "half":
        return max(1, min(50, (n_active + 1) // 2))
    if rule == "fourth_root":
        return max(1, round(n_active**0.25))
    if rule != "auto":
        raise ValueError(f"rule must be 'auto', 'half' or 'fourth_root', got {rule!r}.")
    if n_outputs == 1:
        return 8
    return 128 if multi_label and n_outputs > 100 else min(2 * n_outputs, 64)
