"""Trajectories of PyTorch's EmbeddingBag with a linear head, in float64."""

import numpy as np
import pytest

from lines import N_OUTPUTS, Line, rough_csr, targets
from skembed.kernels import get_backend
from skembed.solvers import SOLVERS
from skembed.training import run_epoch

torch = pytest.importorskip("torch")
torch.sparse.check_sparse_tensor_invariants.enable()  # or torch warns that it was not asked
N, BATCH, N_FEATURES, D = 500, 50, 300, 7
SOLVERS_AND_OPTIONS = {
    "adagrad": (0.1, {"initial_accumulator": 0.0}),
    "sgd": (0.5, {}),
    "lazy_adam": (0.01, {"bias_correction": "global"}),
}


def optimizers(name, lr, embedding, head):
    if name == "sgd":
        return [torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=lr)]
    if name == "adagrad":
        return [
            torch.optim.Adagrad([embedding.weight, head.weight], lr=lr),
            torch.optim.Adagrad([head.bias], lr=lr, initial_accumulator_value=1e-6),
        ]
    return [
        torch.optim.SparseAdam([embedding.weight], lr=lr),
        torch.optim.Adam(head.parameters(), lr=lr),
    ]


def train_torch(X, y, start, loss, name, lr, mode, n_epochs):
    table, coef, intercept = start
    embedding = torch.nn.EmbeddingBag(N_FEATURES, D, mode=mode, sparse=True, dtype=torch.float64)
    head = torch.nn.Linear(D, len(coef), dtype=torch.float64)
    with torch.no_grad():
        embedding.weight.copy_(torch.from_numpy(table))
        head.weight.copy_(torch.from_numpy(coef))
        head.bias.copy_(torch.from_numpy(intercept))
    steps = optimizers(name, lr, embedding, head)
    indptr, ids, x = (torch.from_numpy(a) for a in (X.indptr, X.indices, X.data))
    criterion = {
        "softmax": torch.nn.CrossEntropyLoss(),
        "log_loss": lambda z, y: torch.nn.functional.binary_cross_entropy_with_logits(
            z[:, 0], y.double()
        ),
        "squared_error": lambda z, y: 0.5 * ((z - y) ** 2).sum(1).mean(),
    }[loss]
    target = torch.from_numpy(y)
    for _ in range(n_epochs):
        for s in range(0, N, BATCH):
            a, b = int(indptr[s]), int(indptr[s + BATCH])
            weights = x[a:b] if mode == "sum" else None
            z = head(embedding(ids[a:b], indptr[s : s + BATCH] - a, per_sample_weights=weights))
            value = criterion(z, target[s : s + BATCH])
            for step in steps:
                step.zero_grad()
            value.backward()
            for step in steps:
                step.step()
    return embedding.weight, head.weight, head.bias


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("name", sorted(SOLVERS_AND_OPTIONS))
@pytest.mark.parametrize("loss", sorted(N_OUTPUTS))
def test_fifty_steps_agree(mode, name, loss):
    rng = np.random.default_rng(0)
    X = rough_csr(rng, N, N_FEATURES, np.float64, np.int64, rough=False)
    if mode == "mean":
        X.data[:] = 1
    y = targets(rng, loss, N)
    lr, options = SOLVERS_AND_OPTIONS[name]
    lr = lr / 10 if loss == "squared_error" else lr
    line = Line(
        X, y, get_backend(), loss=loss, pooling=mode, d=D, batch_size=BATCH, lr=lr,
        solver=SOLVERS[name](**options),
    )  # fmt: skip
    start = line.start, line.state.params["coef_0"], line.state.params["intercept_0"].ravel()
    theirs = train_torch(X, y, start, loss, name, lr, mode, n_epochs=5)
    for _ in range(5):
        run_epoch(line.problem, line.state, line.data, line.data.rows, line.backend)
    assert line.state.step == 50
    table, *head = line.dense()
    moved = line.active
    assert np.abs(table - line.start)[moved].max() > 0.02
    theirs = [a.detach().numpy() for a in theirs]
    np.testing.assert_allclose(table[moved], theirs[0][moved], atol=1e-10)
    for ours, other in zip(head, theirs[1:], strict=True):
        np.testing.assert_allclose(ours, other, atol=1e-10)
